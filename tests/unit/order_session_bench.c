#include "order_session_bench.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order/group.h"
#include "order/travel.h"

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
			sess_arrive(bench, flight);
		return flight != NULL;
	case 2:
		sess_turn(bench, server);
		return false;
	case 3:
		return get_back(bench, at);
	case 4:
		return ask(bench, at);
	default:
		if (!server->asked || !sess_do_question(bench, at))
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
	while (server->cutting && !sess_cut_on(server))
		sess_turn(bench, server);
	if (server->asked && rng_below(&bench->rng, 2) == 0)
		sess_lose_answer(bench, at);
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
		server->remembers = (seed + i) % 2 == 0;
		sess_new(server);
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

void
sess_join_all(struct sess_bench *bench)
{
	for (unsigned server = 0; server < bench->session.servers; server++)
		if (!bench->servers[server].linked)
			sess_join(bench, server);
}

struct sess_bench *
sess_started(uint64_t seed, unsigned servers, unsigned keeps)
{
	struct sess_bench *bench = sess_begin(seed, servers, keeps);

	sess_join_all(bench);
	sess_settle(bench);
	sess_go(bench);
	return bench;
}

void
sess_finish(struct sess_bench *bench)
{
	uint32_t group;

	bench->fails = 0;
	sess_join_all(bench);
	order_sequencer_end(&bench->session.sequencer, 0);
	sess_settle(bench);
	assert_true(order_sequencer_flush(&bench->session.sequencer, &group));
	sess_settle(bench);
	assert_int_equal(bench->session.error, 0);
	assert_true(order_session_is_well(&bench->session));
	assert_int_equal(bench->session.sequencer.durable, group);
	sess_hold(bench, group);
}
