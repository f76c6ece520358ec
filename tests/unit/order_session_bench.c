#include "order_session_bench.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order/group.h"
#include "order/travel.h"

/* ---- at a server ---- */

static bool
keeps(void *arg, uint32_t nsid)
{
	(void)nsid;
	return ((struct sess_server *)arg)->keeps;
}

static void
look(struct sess_server *server)
{
	server->known_count = order_track_list(&server->serve.log, &server->stream.track, 0, server->known);
	server->read = (struct order_stream){ 0 };
	if (server->known_count == 0)
		return;
	order_known_sort(server->known, server->known_count);
	order_stream_read(server->known, server->known_count, keeps, server, server->room, &server->read);
	assert_null(server->read.lost);
}

static void
do_write(struct sess_bench *bench, struct sess_server *server, struct order_write *write)
{
	const struct sess_flight *flight = container_of(write, struct sess_flight, write);
	bool fails = rng_below(&bench->rng, 100) < bench->fails;

	for (uint32_t i = 0; !fails && i < write->blocks; i++)
		server->media[write->lba + i] = flight->values[i];
	order_serve_ended(&server->serve, write, !fails);
}

static void
answer(struct sess_bench *bench, struct order_write *write)
{
	struct sess_flight *flight = container_of(write, struct sess_flight, write);

	(void)bench;
	assert_true(flight->is == SESS_ARRIVED || flight->is == SESS_LOST);
	flight->error = write->outcome == ORDER_DONE ? 0 : write->outcome == ORDER_FAILED ? -EIO : -ECANCELED;
	flight->is = flight->is == SESS_LOST ? SESS_FREE : SESS_BACK;
}

static void
turn(struct sess_bench *bench, struct sess_server *server)
{
	struct order_commit commit;
	struct order_served *stream;
	struct order_write *write;

	order_serve_append(&server->serve);
	if (order_log_take(&server->serve.log, &commit))
		order_serve_durable(&server->serve);
	order_log_sweep(&server->serve.log);
	while ((write = order_serve_go(&server->serve)) != NULL)
		do_write(bench, server, write);
	while ((stream = order_serve_flush(&server->serve)) != NULL)
		order_serve_flushed(&server->serve, stream, true);
	while ((write = order_serve_answer(&server->serve)) != NULL)
		answer(bench, write);
}

static void
list(struct sess_bench *bench, unsigned at)
{
	struct sess_server *server = &bench->servers[at];
	uint8_t page[ORDER_LISTING_BYTES] = { 0 };
	struct weir_list_head head = {
		.log = { server->log }, .stream = le16_of(SESS_STREAM), .holder = le32_of(server->holder),
	};
	uint32_t from = le32_get(server->question.cdw11), bytes = (le32_get(server->question.cdw12) + 1) * 4;

	look(server);
	head.term = le16_of(server->read.term);
	head.floor = le32_of(server->read.list.floor);
	head.count = le32_of(server->known_count);
	head.guaranteed = le32_of(server->serve.log.guaranteed);
	head.flags = le32_of((server->stream.stopped ? WEIR_LIST_STOPPED : 0) |
	    (server->known_count == 0 ? WEIR_LIST_NEW : 0));
	memcpy(page, &head, sizeof(head));
	for (uint32_t i = 0; from + i < server->known_count && sizeof(head) + (i + 1) * 40 <= bytes; i++)
		order_put_known(&server->known[from + i], (void *)(page + sizeof(head) + i * 40));
	order_session_told(&bench->session, at, false, NVME_OK, 0, page);
}

static void
begin_cut(struct sess_server *server)
{
	look(server);
	server->cutting = true;
	server->holder = le32_get(server->question.cdw13);
	assert_null(order_cut_begin(&server->cut, &server->serve, &server->stream, server->known, server->known_count,
	    &server->read, le32_get(server->question.cdw11), (le32_get(server->question.cdw12) & WEIR_CUT_GONE) != 0,
	    ORDER_NO_GROUP));
}

static void
take_back(struct sess_server *server)
{
	look(server);
	for (uint32_t i = 0; i < server->known_count; i++) {
		const struct order_entry *entry = &server->known[i].entry;

		if (order_is_taken_back(&server->known[i], server->cut.after))
			memset(&server->media[entry->lba], 0, entry->blocks * sizeof(server->media[0]));
	}
	order_cut_taken_back(&server->cut);
}

/* False: it is not over. */
static bool
cut_on(struct sess_server *server)
{
	switch (order_cut_next(&server->cut)) {
	case ORDER_CUT_WAITS:
		return false;
	case ORDER_CUT_TAKES_BACK:
		take_back(server);
		return false;
	case ORDER_CUT_GOES_ON:
		server->cutting = false;
		return true;
	}
	return false;
}

static bool
is_taken(const struct sess_server *server)
{
	return server->holder != 0 && server->holder != le32_get(server->question.cdw13);
}

static bool
do_cut(struct sess_bench *bench, unsigned at)
{
	struct sess_server *server = &bench->servers[at];

	if (!server->cutting && (!server->stream.stopped || is_taken(server))) {
		order_session_told(&bench->session, at, false, nvme_status_of(NVME_SC_SEQUENCE, true), 0, NULL);
		return true;
	}
	if (!server->cutting)
		begin_cut(server);
	if (!cut_on(server))
		return false;
	server->qid = (uint16_t)(le32_get(server->question.cdw10) >> 16);
	server->serial = server->asked_serial;
	order_session_told(&bench->session, at, false, NVME_OK, server->cut.last, NULL);
	return true;
}

/* What is under way in another connection is done, and nobody is told. */
static bool
do_question(struct sess_bench *bench, unsigned at)
{
	struct sess_server *server = &bench->servers[at];
	const struct nvme_sqe *sqe = &server->question;

	switch ((enum weir_admin_opcode)sqe->opcode) {
	case WEIR_ADMIN_LIST:
		if ((le32_get(sqe->cdw10) & WEIR_LIST_TAKE) != 0)
			server->holder = le32_get(sqe->cdw13);
		if ((le32_get(sqe->cdw10) & WEIR_LIST_STOP) != 0 && !is_taken(server))
			order_serve_stop(&server->serve, &server->stream);
		if (server->stream.stopped && (!order_serve_is_still(&server->stream) || server->cutting))
			return false;
		list(bench, at);
		return true;
	case WEIR_ADMIN_CUT:
		return do_cut(bench, at);
	case WEIR_ADMIN_FLOOR:
		order_track_tell(&server->stream.track, le32_get(sqe->cdw11));
		order_session_told(&bench->session, at, false, NVME_OK, 0, NULL);
		return true;
	case WEIR_ADMIN_FENCE:
		break;
	}
	fail_msg("opcode %02xh", sqe->opcode);
	return false;
}

static void
arrive(struct sess_bench *bench, struct sess_flight *flight)
{
	struct sess_server *server = &bench->servers[flight->server];
	struct order_write *write = &flight->write;
	uint16_t stream;

	*write = (struct order_write){
		.lba = le32_get(flight->sqe.cdw10), .nsid = SESS_NSID, .keeps = server->keeps,
		.blocks = flight->sqe.opcode == NVME_WRITE ? (le32_get(flight->sqe.cdw12) & 0xffff) + 1 : 0,
	};
	assert_true(order_get(&flight->sqe, &write->attribute, &stream));
	assert_int_equal(stream, SESS_STREAM);
	if (server->serial != flight->serial) {
		flight->error = -EINVAL;
		flight->is = SESS_BACK;
		return;
	}
	flight->is = SESS_ARRIVED;
	assert_null(order_serve_arrive(&server->serve, &server->stream, write));
	if (!server->stream.stopped)
		order_serve_ready(&server->serve, write);
}

/* ---- at the host ---- */

static void
fill(struct sess_flight *flight, const struct order_item *item)
{
	uint32_t at = 0;

	flight->sqe = (struct nvme_sqe){
		.opcode = item->blocks_in_all > 0 ? NVME_WRITE : NVME_FLUSH, .nsid = le32_of(item->member->nsid),
		.cdw10 = le32_of((uint32_t)item->lba),
		.cdw12 = le32_of(item->blocks_in_all > 0 ? item->blocks_in_all - 1 : 0),
	};
	order_put(&item->attribute, SESS_STREAM, &flight->sqe);
	for (const struct order_item *one = item; one != NULL; one = one->more)
		for (uint32_t i = 0; i < one->blocks; i++)
			memcpy(&flight->values[at++], one->data + 4 * i, 4);
}

static bool
send(struct sess_bench *bench, unsigned server)
{
	struct sess_flight *flight = bench->flights;
	struct order_item *item;

	while (flight < &bench->flights[SESS_FLIGHTS] && flight->is != SESS_FREE)
		flight++;
	if (flight == &bench->flights[SESS_FLIGHTS] || !bench->session.begun)
		return false;
	item = order_session_next(&bench->session, server);
	if (item == NULL)
		return false;
	assert_true(bench->servers[server].linked);
	*flight = (struct sess_flight){
		.is = SESS_THERE, .item = item, .server = server, .number = bench->sent++,
		.epoch = bench->session.links[server].epoch, .serial = bench->servers[server].link_serial,
	};
	fill(flight, item);
	return true;
}

static bool
ask(struct sess_bench *bench, unsigned at)
{
	struct sess_server *server = &bench->servers[at];
	uint32_t bytes;

	if (server->asked || !order_session_ask(&bench->session, at, &server->question, &bytes))
		return false;
	assert_true(server->linked);
	server->asked = true;
	server->asked_serial = server->link_serial;
	return true;
}

static void
note(struct sess_bench *bench)
{
	const struct order_sequencer *sequencer = &bench->session.sequencer;

	if (!bench->session.begun)
		return;
	assert_false(order_after(bench->durable, sequencer->durable));
	assert_false(order_after(sequencer->durable, sequencer->complete));
	bench->durable = sequencer->durable;
}

/* The oldest one of a server that is so. */
static struct sess_flight *
oldest(struct sess_bench *bench, unsigned server, enum sess_flight_is is)
{
	struct sess_flight *found = NULL;

	for (unsigned i = 0; i < SESS_FLIGHTS; i++) {
		struct sess_flight *flight = &bench->flights[i];

		if (flight->is == is && flight->server == server &&
		    (found == NULL || flight->number < found->number))
			found = flight;
	}
	return found;
}

static bool
get_back(struct sess_bench *bench, unsigned server)
{
	struct sess_flight *flight = oldest(bench, server, SESS_BACK);

	if (flight == NULL || bench->deaf)
		return false;
	flight->is = SESS_FREE;
	order_session_answered(&bench->session, server, flight->item, flight->epoch, flight->error,
	    order_log_left(&bench->servers[server].serve.log, &bench->servers[server].stream.track));
	note(bench);
	return true;
}

static bool
happen(struct sess_bench *bench, unsigned what)
{
	unsigned at = (unsigned)rng_below(&bench->rng, bench->session.servers);
	struct sess_server *server = &bench->servers[at];
	struct sess_flight *flight;

	switch (what) {
	case 0:
		return send(bench, at);
	case 1:
		flight = oldest(bench, at, SESS_THERE);
		if (flight != NULL)
			arrive(bench, flight);
		return flight != NULL;
	case 2:
		turn(bench, server);
		return false;
	case 3:
		return get_back(bench, at);
	case 4:
		return ask(bench, at);
	default:
		if (!server->asked || !do_question(bench, at))
			return false;
		server->asked = false;
		note(bench);
		return true;
	}
}

void
sess_step(struct sess_bench *bench)
{
	(void)happen(bench, (unsigned)rng_below(&bench->rng, 6));
	if (rng_below(&bench->rng, 8) == 0)
		order_session_wake(&bench->session);
}

void
sess_settle(struct sess_bench *bench)
{
	enum { IDLE = 400, STEPS = 100000 };

	for (unsigned idle = 0, steps = 0; idle < IDLE; idle++, steps++) {
		assert_true(steps < STEPS);
		if (happen(bench, (unsigned)rng_below(&bench->rng, 6)))
			idle = 0;
		order_session_wake(&bench->session);
	}
}

/* ---- what a test does ---- */

void
sess_join(struct sess_bench *bench, unsigned at)
{
	struct sess_server *server = &bench->servers[at];

	assert_false(server->linked);
	server->linked = true;
	server->link_serial = ++bench->serials;
	order_session_joined(&bench->session, at, SESS_QID);
}

/* What has arrived goes on there; nobody hears of it. */
static void
lose_flight(struct sess_bench *bench, struct sess_flight *flight, bool host)
{
	flight->is = flight->is == SESS_ARRIVED ? SESS_LOST : SESS_FREE;
	if (host)
		order_session_answered(&bench->session, flight->server, flight->item, flight->epoch, -ECONNRESET, 0);
}

static void
lose(struct sess_bench *bench, unsigned at, bool host)
{
	struct sess_server *server = &bench->servers[at];

	for (unsigned i = 0; i < SESS_FLIGHTS; i++)
		if (bench->flights[i].is != SESS_FREE && bench->flights[i].is != SESS_LOST &&
		    bench->flights[i].server == at)
			lose_flight(bench, &bench->flights[i], host);
	/* A cut that has begun is gone on with. */
	while (server->cutting && !cut_on(server))
		turn(bench, server);
	if (server->asked && host)
		order_session_told(&bench->session, at, true, NVME_OK, 0, NULL);
	server->asked = server->linked = false;
}

void
sess_lose(struct sess_bench *bench, unsigned at)
{
	lose(bench, at, true);
	order_session_parted(&bench->session, at);
	note(bench);
}

bool
sess_submit(struct sess_bench *bench, uint32_t blocks, unsigned flags)
{
	uint32_t group;
	uint64_t lba = bench->next;

	if (lba + blocks > bench->layout.blocks * bench->layout.count)
		return false;
	for (uint32_t i = 0; i < blocks; i++)
		bench->values[lba + i] = ++bench->value;
	if (order_sequencer_submit(&bench->session.sequencer, lba, blocks, &bench->values[lba], flags, &group) !=
	    ORDER_TAKEN)
		return false;
	for (uint32_t i = 0; i < blocks; i++)
		bench->groups[lba + i] = group;
	bench->next += blocks;
	return true;
}

void
sess_hold(const struct sess_bench *bench, uint32_t group)
{
	for (uint64_t lba = 0; lba < bench->next; lba++) {
		struct order_extent extent = order_layout_first(&bench->layout, lba, 1);
		uint32_t there = bench->servers[extent.member->server].media[extent.lba];

		if (bench->groups[lba] != ORDER_NO_GROUP)
			assert_int_equal(there, order_above(bench->groups[lba], group) ? 0 : bench->values[lba]);
	}
}

void
sess_go(struct sess_bench *bench)
{
	assert_true(order_session_is_ready(&bench->session));
	assert_false(order_above(bench->durable, bench->session.there));
	sess_hold(bench, bench->session.there);
	/* What is after it was never written. */
	for (uint64_t lba = 0; lba < bench->next; lba++)
		if (order_above(bench->groups[lba], bench->session.there))
			bench->groups[lba] = ORDER_NO_GROUP;
	bench->durable = bench->session.there;
	order_session_go(&bench->session, &bench->layout, bench->items, SESS_ITEMS);
}

void
sess_host(struct sess_bench *bench)
{
	unsigned servers = bench->layout.servers;

	for (unsigned server = 0; server < servers; server++)
		lose(bench, server, false);
	order_session_init(&bench->session, SESS_STREAM, servers, SESS_SLOTS, bench->entries, bench->in_place);
	bench->session.holder = ++bench->hosts;
}

struct sess_bench *
sess_begin(uint64_t seed, unsigned servers, unsigned keep)
{
	struct sess_bench *bench = calloc(1, sizeof(*bench));

	rng_seed(&bench->rng, seed);
	for (unsigned i = 0; i < servers; i++) {
		struct sess_server *server = &bench->servers[i];

		server->keeps = (keep >> i & 1) != 0;
		server->log = (uint8_t)(1 + i);
		order_log_init(&server->serve.log, server->slots, SESS_SLOTS, SEED, server->states, server->is,
		    server->words);
		order_serve_init(&server->serve);
		order_track_init(&server->serve.log, &server->stream.track, 1, SESS_STREAM);
		order_serve_stream(&server->stream);
		bench->members[i] = (struct order_member){
			.server = i, .nsid = SESS_NSID, .most = 16, .keeps = server->keeps,
		};
	}
	bench->layout = (struct order_layout){
		.members = bench->members, .count = servers, .servers = servers, .block_length = 4, .stripe = 4,
		.blocks = SESS_BLOCKS,
	};
	sess_host(bench);
	return bench;
}
