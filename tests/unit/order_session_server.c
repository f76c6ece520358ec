/* order_session_server.c - a server of order_session_bench.h. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "order/group.h"
#include "order/travel.h"
#include "order_session_bench.h"

void
sess_new(struct sess_server *server)
{
	memset(server->slots, 0, sizeof(server->slots));
	order_log_init(&server->serve.log, server->slots, SESS_SLOTS, SEED, server->states, server->is,
	    server->words);
	order_serve_init(&server->serve);
	order_track_init(&server->serve.log, &server->stream.track, 1, SESS_STREAM);
	server->stream = (struct order_served){ .track = server->stream.track };
	order_serve_stream(&server->stream);
	server->forgot = false;
}

static bool
keeps(void *arg, uint32_t nsid)
{
	(void)nsid;
	return ((struct sess_server *)arg)->keeps;
}

static void
look(struct sess_server *server)
{
	server->known_count = server->forgot && !server->remembers ? 0 :
	    order_track_list(&server->serve.log, &server->stream.track, 0, server->known);
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

void
sess_turn(struct sess_bench *bench, struct sess_server *server)
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
bool
sess_cut_on(struct sess_server *server)
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
	if (server->forgot && !server->remembers)
		sess_new(server);
	server->forgot = false;
	if (!server->cutting)
		begin_cut(server);
	if (!sess_cut_on(server))
		return false;
	server->qid = (uint16_t)(le32_get(server->question.cdw10) >> 16);
	server->serial = server->asked_serial;
	order_session_told(&bench->session, at, false, NVME_OK, server->cut.last, NULL);
	return true;
}

/* Nobody needs it: then all servers know that, and all that there was is durable. */
static void
forget(struct sess_bench *bench, struct sess_server *server)
{
	for (unsigned i = 0; i < bench->session.servers; i++)
		assert_int_equal(bench->servers[i].stream.track.floor, server->stream.track.floor);
	look(server);
	for (uint32_t i = 0; i < server->known_count; i++)
		assert_false(order_is_taken_back(&server->known[i], server->stream.track.floor));
	server->forgot = true;
	server->holder = 0;
}

/* It is durable at once. */
static struct nvme_status
do_floor(struct sess_bench *bench, struct sess_server *server)
{
	bool ends = (le32_get(server->question.cdw12) & WEIR_FLOOR_ENDS) != 0;

	if ((server->forgot && !server->remembers) || is_taken(server) || (ends && !server->stream.stopped))
		return nvme_status_of(NVME_SC_SEQUENCE, true);
	order_track_tell(&server->stream.track, le32_get(server->question.cdw11));
	assert_true(order_log_stand(&server->serve.log, &server->stream.track));
	sess_turn(bench, server);
	if (ends)
		forget(bench, server);
	return NVME_OK;
}

void
sess_lose_answer(struct sess_bench *bench, unsigned at)
{
	struct sess_server *server = &bench->servers[at];

	if (server->question.opcode == WEIR_ADMIN_FLOOR)
		(void)do_floor(bench, server);
}

/* What is under way in another connection is done, and nobody is told. */
bool
sess_do_question(struct sess_bench *bench, unsigned at)
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
		order_session_told(&bench->session, at, false, do_floor(bench, server), 0, NULL);
		return true;
	case WEIR_ADMIN_FENCE:
		break;
	}
	fail_msg("opcode %02xh", sqe->opcode);
	return false;
}

void
sess_arrive(struct sess_bench *bench, struct sess_flight *flight)
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
