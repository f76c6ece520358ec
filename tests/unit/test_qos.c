/* test_qos.c - the switch as a whole, in front of devices that take as long as a test says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "qos/qos.h"

enum { TENANTS = 8, IOS = 64, KIB = 1024, MIB = 1024 * KIB, US = 1000, MS = 1000 * US, S = 1000 * MS };

enum where { OUT, WAITS, FLIES };

struct bench {
	struct qos_params params;
	struct qos qos;
	struct qos_tenant tenants[TENANTS];
	struct qos_group group;
	struct qos_cap caps[3]; /* of a tenant, of the group, of all */
	struct qos_io ios[TENANTS][IOS];
	enum where where[TENANTS][IOS];
	uint64_t went[TENANTS]; /* bytes */
	uint8_t had[TENANTS];   /* full slots, when it was looked last */
	uint64_t now;
};

static void
begin(struct bench *b, int tenants)
{
	memset(b, 0, sizeof(*b));
	b->now = S;
	if (b->params.slots == 0)
		qos_params_default(&b->params);
	qos_init(&b->qos, &b->params);
	assert_null(qos_next(&b->qos, b->now));
	for (int t = 0; t < tenants; t++)
		qos_tenant_init(&b->tenants[t], NULL, 1);
}

static void
arrive(struct bench *b, int t, int i, enum qos_op op, uint64_t bytes)
{
	assert_int_equal(b->where[t][i], OUT);
	b->where[t][i] = WAITS;
	qos_io_init(&b->ios[t][i], op, bytes, 0);
	qos_arrive(&b->qos, &b->tenants[t], &b->ios[t][i]);
}

static enum where *
where_of(struct bench *b, const struct qos_io *io)
{
	int t = (int)(io->tenant - b->tenants);

	return &b->where[t][io - b->ios[t]];
}

static struct qos_io *
go(struct bench *b)
{
	struct qos_io *io = qos_next(&b->qos, b->now);

	if (io == NULL)
		return NULL;
	assert_int_equal(*where_of(b, io), WAITS);
	*where_of(b, io) = FLIES;
	b->went[io->tenant - b->tenants] += io->bytes;
	return io;
}

static void
end(struct bench *b, struct qos_io *io, uint64_t latency_ns)
{
	assert_int_equal(*where_of(b, io), FLIES);
	*where_of(b, io) = OUT;
	qos_done(&b->qos, io, latency_ns, true, b->now);
}

/* ---- what always holds ---- */

/* Something of it waits that no cap holds back. */
static bool
waits_for_turn(const struct qos_tenant *tenant)
{
	for (int queue = 0; queue < QOS_QUEUES; queue++)
		if (!list_empty(&tenant->queues[queue]) && tenant->lanes[queue % QOS_KINDS].shut != QOS_SHUT_CAP)
			return true;
	return false;
}

static void
check(struct bench *b)
{
	unsigned most_each = b->qos.share.turns_decide ? QOS_SLOTS_MAX : b->qos.share.slots_each;
	unsigned flies = 0, counted = 0, backlogged = 0;
	uint64_t occupied = 0;

	for (int t = 0; t < TENANTS; t++) {
		const struct qos_tenant *tenant = &b->tenants[t];
		unsigned waits = 0, flying = 0, in_slots = 0, full = 0;

		for (int i = 0; i < IOS; i++) {
			waits += b->where[t][i] == WAITS;
			flying += b->where[t][i] == FLIES;
			if (b->where[t][i] == FLIES)
				occupied += b->ios[t][i].occupies;
		}
		for (unsigned s = 0; s < QOS_SLOTS_ROOM; s++) {
			bool is_taken = (tenant->slots_taken & UINT64_C(1) << s) != 0;
			bool open = s == tenant->slot[QOS_READ] || s == tenant->slot[QOS_WRITE];

			full += is_taken && !open;
			if (is_taken)
				in_slots += tenant->slots[s].begun - tenant->slots[s].ended;
			assert_true(is_taken || !open);
			assert_true(!is_taken || open || tenant->slots[s].ended < tenant->slots[s].begun);
		}
		assert_int_equal(tenant->waiting, waits);
		assert_int_equal(tenant->inflight, flying);
		assert_int_equal(in_slots, flying);
		assert_int_equal(full, tenant->slots_full);
		/* no more than there are for each, or than it had when there were more, and one that it fills then */
		assert_true(full <= most_each || full <= b->had[t] ||
		    (full == b->had[t] + 1u && tenant->state == QOS_DEFERRED));
		b->had[t] = (uint8_t)full;
		assert_true(tenant->state != QOS_DEFERRED || (tenant->deficit == 0 && flying > 0));
		assert_true(tenant->counted || waits + flying == 0);
		flies += flying;
		counted += tenant->counted;
		backlogged += waits_for_turn(tenant);
	}
	assert_int_equal(b->qos.share.counted, counted);
	assert_int_equal(b->qos.share.backlogged, backlogged);
	assert_int_equal(b->qos.occupied, occupied);
	assert_int_equal(list_empty(&b->qos.flying), flies == 0);
}

/* Something waits: then something will happen, by itself or at a time that is said. */
static void
check_alive(struct bench *b)
{
	bool waits = false, flies = false;

	for (int t = 0; t < TENANTS; t++) {
		waits |= b->tenants[t].waiting > 0;
		flies |= b->tenants[t].inflight > 0;
	}
	if (waits && !flies)
		assert_true(qos_deadline(&b->qos, b->now) < b->now + S);
}

/* Nobody knows it any more. */
static void
check_gone(const struct bench *b, const struct qos_tenant *tenant)
{
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		assert_ptr_not_equal(b->qos.tokens[kind].passing, &tenant->lanes[kind]);
		for (int of = QOS_CAP_TENANT; of <= QOS_CAP_ALL; of++)
			assert_ptr_not_equal(b->caps[of].entries[kind].stile.passing, &tenant->lanes[kind]);
	}
}

/* Some limits, each of them not often. */
static void
draw_limits(struct rng *rng, struct qos_limit limits[QOS_KINDS])
{
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		limits[kind].ios = rng_below(rng, 3) == 0 ? 10 + rng_below(rng, 20000) : 0;
		limits[kind].bytes = rng_below(rng, 3) == 0 ? 20 * MIB + rng_below(rng, 1 << 30) : 0;
	}
}

static void
draw_tenants(struct bench *b, struct rng *rng)
{
	struct qos_limit limits[QOS_KINDS];

	qos_group_init(&b->group, (uint32_t)(1 + rng_below(rng, 100)));
	for (int t = 0; t < TENANTS; t++)
		qos_tenant_init(&b->tenants[t], t % 2 == 0 ? &b->group : NULL, (uint32_t)(1 + rng_below(rng, 100)));
	for (int of = QOS_CAP_TENANT; of <= QOS_CAP_ALL; of++) {
		draw_limits(rng, limits);
		qos_cap_init(&b->caps[of], limits, 0);
		qos_use_cap(&b->qos, &b->caps[of], (enum qos_cap_of)of);
	}
	b->tenants[0].cap = rng_below(rng, 2) == 0 ? &b->caps[QOS_CAP_TENANT] : NULL;
	b->group.cap = rng_below(rng, 2) == 0 ? &b->caps[QOS_CAP_GROUP] : NULL;
	b->qos.cap = rng_below(rng, 2) == 0 ? &b->caps[QOS_CAP_ALL] : NULL;
}

static void
play(struct bench *b, struct rng *rng)
{
	static const uint32_t sizes[] = { 512, 4 * KIB, 16 * KIB, 100 * KIB, 128 * KIB, MIB };
	int t = (int)rng_below(rng, TENANTS), i = (int)rng_below(rng, IOS);
	struct qos_limit limits[QOS_KINDS];
	struct qos_io *io;

	switch (rng_below(rng, 9)) {
	case 0:
		if (b->where[t][i] == WAITS) {
			qos_cancel(&b->qos, &b->ios[t][i], b->now);
			b->where[t][i] = OUT;
		}
		break;
	case 1:
	case 2:
		if (b->where[t][i] == OUT)
			arrive(b, t, i, (enum qos_op)rng_below(rng, QOS_OP_COMPARE_WRITE + 1),
			    sizes[rng_below(rng, 6)]);
		break;
	case 3:
	case 4:
		while ((io = go(b)) != NULL)
			check(b);
		break;
	case 5:
		if (b->where[t][i] == FLIES)
			end(b, &b->ios[t][i], rng_below(rng, 3 * MS));
		break;
	case 6:
		if (b->tenants[t].waiting == 0 && b->tenants[t].inflight == 0) {
			struct qos_tenant was = b->tenants[t];

			qos_leave(&b->qos, &b->tenants[t]);
			check_gone(b, &b->tenants[t]);
			memset(&b->tenants[t], 0xff, sizeof(b->tenants[t])); /* nobody may look at it */
			while (go(b) != NULL)
				continue;
			for (int other = 0; other < TENANTS; other++)
				b->had[other] = b->tenants[other].slots_full;
			qos_tenant_init(&b->tenants[t], was.group, was.weight);
			b->tenants[t].cap = was.cap;
		}
		break;
	case 7:
		b->now += rng_below(rng, 300 * US);
		break;
	case 8:
		draw_limits(rng, limits);
		if (rng_below(rng, 20) == 0)
			qos_change_cap(&b->caps[rng_below(rng, 3)], limits, (uint32_t)rng_below(rng, 100));
		break;
	}
}

static void
whatever_comes_the_books_are_right(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct bench b;
		struct rng rng;

		rng_seed(&rng, seed);
		begin(&b, TENANTS);
		draw_tenants(&b, &rng);
		for (int i = 0; i < 3000; i++) {
			play(&b, &rng);
			check(&b);
			while (i % 100 == 0 && go(&b) != NULL)
				check(&b);
			if (i % 100 == 0)
				check_alive(&b);
		}
		/* all of it comes to an end */
		for (int left = 1, rounds = 0; left > 0; rounds++) {
			assert_true(rounds < 100000);
			left = 0;
			while (go(&b) != NULL)
				continue;
			check_alive(&b);
			b.now += 100 * US;
			for (int t = 0; t < TENANTS; t++)
				for (int i = 0; i < IOS; i++) {
					left += b.where[t][i] == WAITS;
					if (b.where[t][i] == FLIES)
						end(&b, &b.ios[t][i], 100 * US);
				}
		}
		for (int t = 0; t < TENANTS; t += 2) {
			qos_leave(&b.qos, &b.tenants[t]);
			check_gone(&b, &b.tenants[t]);
		}
		b.now += S;
		assert_null(go(&b));
		check(&b);
		assert_int_equal(b.qos.share.counted, 0);
		assert_int_equal(b.qos.share.weights, 0);
		assert_int_equal(qos_deadline(&b.qos, b.now), UINT64_MAX);
	}
}

/* ---- tokens ---- */

/* As slow as it gets. */
static void
slow(struct bench *b)
{
	for (int kind = 0; kind < QOS_KINDS; kind++)
		b->qos.rate.fill[kind] = b->params.rate_least / 2 * (1 << QOS_TOKEN_SHIFT) / S;
	b->qos.rate.target = b->params.rate_least;
}

/* In the published code what had no tokens stood in everybody's way. */
static void
writes_without_tokens_do_not_block_reads(void **state)
{
	struct bench b;
	struct qos_io *io;
	unsigned reads = 0, writes = 0;

	(void)state;
	begin(&b, 2);
	slow(&b);
	b.qos.rate.tokens[QOS_WRITE] = 0;
	for (int i = 0; i < 4; i++)
		arrive(&b, 0, i, QOS_OP_WRITE, 4 * KIB);
	for (int i = 0; i < 20; i++)
		arrive(&b, 1, i, QOS_OP_READ, 4 * KIB);
	while ((io = go(&b)) != NULL)
		io->kind == QOS_READ ? reads++ : writes++;
	assert_int_equal(reads, 20);
	assert_int_equal(writes, 0);
	assert_true(qos_deadline(&b.qos, b.now) > b.now);
	b.now = qos_deadline(&b.qos, b.now);
	assert_ptr_equal(go(&b), &b.ios[0][0]);
}

static void
but_reads_do_not_go_on_without_end(void **state)
{
	struct bench b;
	struct qos_io *io;

	(void)state;
	begin(&b, 2);
	slow(&b);
	b.qos.rate.tokens[QOS_WRITE] = 0;
	b.qos.rate.tokens[QOS_READ] = UINT64_C(1) << 50;
	arrive(&b, 0, 0, QOS_OP_WRITE, 128 * KIB);
	for (int i = 0; i < IOS; i++)
		arrive(&b, 1, i, QOS_OP_READ, 64 * KIB);
	while ((io = go(&b)) != NULL) {
		uint64_t bytes = io->bytes;

		assert_ptr_equal(io->tenant, &b.tenants[1]);
		end(&b, io, 100 * US);
		assert_true(bytes > 0);
	}
	/* the write saves up for nine rounds, and then waits for tokens */
	assert_in_range(b.went[1], 9 * b.params.quantum_bytes, (9 + QOS_ROUNDS_AHEAD + 1) * b.params.quantum_bytes);
	/* what it has saved up is still its own */
	b.now = qos_deadline(&b.qos, b.now);
	assert_ptr_equal(go(&b), &b.ios[0][0]);
}

/* Who waits for tokens goes on with the turn that it had begun. */
static void
a_turn_is_not_over_because_there_are_no_tokens(void **state)
{
	struct bench b;
	struct qos_io *io;

	(void)state;
	begin(&b, 2);
	for (int i = 0; i < IOS; i++) {
		arrive(&b, 0, i, QOS_OP_READ, 4 * KIB);
		arrive(&b, 1, i, QOS_OP_READ, 128 * KIB);
	}
	for (int n = 0; n < 20000; n++) {
		slow(&b);
		while ((io = go(&b)) != NULL) {
			int t = io->tenant == &b.tenants[1], i = (int)(io - b.ios[t]);
			uint32_t bytes = io->bytes;

			end(&b, io, 300 * US);
			arrive(&b, t, i, QOS_OP_READ, bytes);
		}
		b.now = qos_deadline(&b.qos, b.now);
	}
	assert_in_range(b.went[0] * 100 / b.went[1], 97, 103);
}

/* ---- slots ---- */

static void
go_for(struct bench *b, uint64_t ns)
{
	for (uint64_t until = b->now + ns; b->now < until; b->now += 100 * US)
		while (go(b) != NULL)
			continue;
}

/* What another tenant has beside its one I/O in flight: nothing; or one that a cap holds back. */
enum other { NONE, SATED, HELD_BACK };

static void
begin_other(struct bench *b, enum other other)
{
	static const struct qos_limit limits[QOS_KINDS] = { { .ios = 1, .bytes = 0 } };

	qos_cap_init(&b->caps[0], limits, 1);
	qos_use_cap(&b->qos, &b->caps[0], QOS_CAP_TENANT);
	b->tenants[1].cap = &b->caps[0];
	for (int i = 0; i < (int)other; i++)
		arrive(b, 1, i, QOS_OP_READ, 4 * KIB);
	assert_int_equal(go(b) != NULL, other != NONE);
	assert_null(go(b));
}

/* How many of a tenant's 128 KiB reads are in flight after a while in which it always had some waiting. */
static uint32_t
in_flight(enum other other)
{
	struct bench b;

	begin(&b, 2);
	begin_other(&b, other);
	for (int i = 0; i < IOS; i++)
		arrive(&b, 0, i, QOS_OP_READ, 128 * KIB);
	go_for(&b, b.params.linger_ns);
	assert_true(other == NONE || b.tenants[0].inflight == b.qos.share.slots_each);
	go_for(&b, 10 * MS);
	end(&b, &b.ios[0][0], 100 * US);
	go_for(&b, 10 * MS);
	assert_int_equal(b.tenants[1].waiting, other == HELD_BACK);
	return b.tenants[0].inflight;
}

static void
slots_hold_back_nobody_where_all_have_something_waiting(void **state)
{
	(void)state;
	assert_int_equal(in_flight(SATED), 4);
	assert_int_equal(in_flight(HELD_BACK), 4); /* who may not have more is as one who cannot */
	assert_int_equal(in_flight(NONE), 20);     /* all */
}

/* Not even where both have something waiting from the first moment on, after a long time without any. */
static void
slots_decide_for_a_while_when_tenants_have_come(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 2);
	b.now += S;
	for (int t = 0; t < 2; t++)
		for (int i = 0; i < IOS; i++)
			arrive(&b, t, i, QOS_OP_READ, 128 * KIB);
	go_for(&b, b.params.linger_ns);
	end(&b, &b.ios[0][0], 100 * US);
	go_for(&b, b.params.linger_ns);
	assert_false(b.qos.share.turns_decide);
	end(&b, &b.ios[1][0], 100 * US);
	go_for(&b, b.params.linger_ns);
	assert_true(b.qos.share.turns_decide);
}

/* ---- what moves nothing ---- */

static void
each_command_is_counted_for_something(void **state)
{
	static const struct {
		enum qos_op op;
		uint64_t bytes;
		enum qos_kind kind;
		uint32_t counted;
		bool measures;
	} commands[] = {
		{ QOS_OP_READ, 8 * KIB, QOS_READ, 8 * KIB, true },
		{ QOS_OP_WRITE, 8 * KIB, QOS_WRITE, 8 * KIB, true },
		{ QOS_OP_FLUSH, 0, QOS_WRITE, 4 * KIB, false },
		{ QOS_OP_ZEROES, 4 * KIB, QOS_WRITE, 4 * KIB, false },
		{ QOS_OP_ZEROES, MIB + 1, QOS_WRITE, 8 * KIB, false },
		{ QOS_OP_TRIM, 0, QOS_WRITE, 4 * KIB, false },
		{ QOS_OP_TRIM, 10 * MIB, QOS_WRITE, 40 * KIB, false },
		{ QOS_OP_TRIM, UINT64_C(1) << 60, QOS_WRITE, QOS_BYTES_MOST, false },
		{ QOS_OP_COMPARE, 8 * KIB, QOS_READ, 8 * KIB, false },
		{ QOS_OP_COMPARE_WRITE, 8 * KIB, QOS_WRITE, 16 * KIB, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct qos_io io;

		qos_io_init(&io, commands[i].op, commands[i].bytes, 0);
		assert_int_equal(io.kind, commands[i].kind);
		assert_int_equal(io.bytes, commands[i].counted);
		assert_int_equal(io.measures, commands[i].measures);
	}
}

static void
a_flush_is_not_for_nothing(void **state)
{
	struct bench b;
	unsigned went = 0;

	(void)state;
	begin(&b, 2);
	begin_other(&b, SATED);
	for (int i = 0; i < IOS; i++)
		arrive(&b, 0, i, QOS_OP_FLUSH, 0);
	while (go(&b) != NULL)
		went++;
	assert_true(went < IOS);
	assert_int_equal(b.tenants[0].state, QOS_DEFERRED);
}

/* Writes are not to blame for all of the device's time. */
static void
a_flush_takes_time_too(void **state)
{
	struct bench b;

	(void)state;
	qos_params_default(&b.params);
	begin(&b, 1);
	for (int size = 0; size < QOS_SIZES; size++)
		b.params.size_rate[QOS_READ][size] = b.params.size_rate[QOS_WRITE][size] = UINT64_C(1) << 30;
	qos_tune(&b.qos, &b.params);
	arrive(&b, 0, 0, QOS_OP_FLUSH, 0);
	end(&b, go(&b), 1 * MS);
	assert_int_equal(b.qos.cost.busy_ns[QOS_WRITE], UINT64_C(4096) * S >> 30);
}

static void
what_says_nothing_of_the_device_is_not_learnt_from(void **state)
{
	struct bench b;
	uint64_t target;

	(void)state;
	begin(&b, 1);
	target = b.qos.rate.target;
	arrive(&b, 0, 0, QOS_OP_FLUSH, 0);
	end(&b, go(&b), 50 * MS);
	arrive(&b, 0, 0, QOS_OP_READ, 4 * KIB);
	assert_ptr_equal(go(&b), &b.ios[0][0]);
	b.where[0][0] = OUT;
	qos_done(&b.qos, &b.ios[0][0], 50 * MS, false, b.now);
	assert_int_equal(b.qos.counts[QOS_READ].failed, 1);
	assert_int_equal(b.qos.rate.target, target);
	assert_int_equal(qos_monitor_ns(&b.qos.monitors[QOS_READ]), 0);
	arrive(&b, 0, 0, QOS_OP_READ, 4 * KIB);
	end(&b, go(&b), 50 * MS);
	assert_true(b.qos.rate.target < target);
}

/* ---- what is in flight ---- */

static void
what_is_in_flight_is_bounded(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, TENANTS);
	b.qos.rate.tokens[QOS_READ] = UINT64_C(1) << 50;
	for (int t = 0; t < TENANTS - 1; t++)
		for (int i = 0; i < IOS; i++)
			arrive(&b, t, i, QOS_OP_READ, 64 * KIB);
	while (go(&b) != NULL)
		continue;
	assert_in_range(b.qos.occupied, b.params.inflight_bytes, b.params.inflight_bytes + 64 * KIB);
	arrive(&b, TENANTS - 1, 0, QOS_OP_READ, 4 * KIB); /* has nothing there yet */
	assert_ptr_equal(go(&b), &b.ios[TENANTS - 1][0]);
	assert_null(go(&b));
}

static void
other_parameters_are_those_of_what_is_under_way(void **state)
{
	struct qos_io *went[32];
	struct qos_params more;
	struct bench b;
	int count = 0;

	(void)state;
	begin(&b, 2);
	for (int i = 0; i < IOS; i++)
		arrive(&b, 0, i, QOS_OP_READ, 64 * KIB);
	while ((went[count] = go(&b)) != NULL)
		count++;
	more = b.params;
	more.inflight_bytes *= 2;
	more.slots *= 2;
	more.rate_most = more.rate_first = more.rate_least = UINT64_C(8) << 30;
	more.size_cost[QOS_READ][4] *= 2;
	qos_tune(&b.qos, &more);
	assert_int_equal(b.qos.rate.target, more.rate_least);
	b.now += MS;
	assert_non_null(went[count++] = go(&b));
	for (int i = 0; i < count; i++)
		end(&b, went[i], 100 * US);
	assert_int_equal(b.qos.occupied, 0);
}

/* What has ended in a second is not little because nothing was asked for half of the time. */
static void
time_without_work_is_not_measured(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1);
	for (int i = 0; i < 200; i++) {
		struct qos_io *io;

		arrive(&b, 0, 0, QOS_OP_READ, 128 * KIB);
		io = go(&b);
		b.now += 625 * US;
		end(&b, io, 300 * US);
		b.now += 100 * MS;
	}
	assert_in_range(b.qos.rate.ended_rate / MIB, 199, 201);
}

static void
who_pauses_is_counted_for_a_while(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 2);
	arrive(&b, 0, 0, QOS_OP_READ, 4 * KIB);
	end(&b, go(&b), 100 * US);
	b.now += b.params.linger_ns - 1;
	arrive(&b, 1, 0, QOS_OP_READ, 4 * KIB);
	assert_int_equal(b.qos.share.counted, 2);
	assert_int_equal(b.qos.share.slots_each, b.params.slots_least);
	b.now++;
	end(&b, go(&b), 100 * US);
	assert_int_equal(b.qos.share.counted, 1);
	assert_int_equal(b.qos.share.slots_each, b.params.slots);
	assert_int_equal(qos_tenants(&b.qos, b.now + b.params.linger_ns - 1), 1);
	assert_int_equal(qos_tenants(&b.qos, b.now + b.params.linger_ns), 0); /* though nobody asked for anything */
}

static void
credits_are_what_slots_have_room_for(void **state)
{
	struct qos_io *went[16];
	struct bench b;

	(void)state;
	begin(&b, 1);
	assert_int_equal(qos_credits(&b.qos, &b.tenants[0]), 32 * b.params.slots);
	for (int i = 0; i < 16; i++)
		arrive(&b, 0, i, QOS_OP_READ, 32 * KIB);
	for (int i = 0; i < 16; i++, b.now += MS)
		assert_non_null(went[i] = go(&b));
	for (int i = 0; i < 16; i++)
		end(&b, went[i], 100 * US);
	assert_int_equal(qos_credits(&b.qos, &b.tenants[0]), 4 * b.params.slots);
}

static void
a_device_that_has_stalled_is_seen(void **state)
{
	struct bench b;
	struct qos_io *io;

	(void)state;
	begin(&b, 1);
	assert_false(qos_stalled(&b.qos, b.now + 100 * (uint64_t)S));
	arrive(&b, 0, 0, QOS_OP_READ, 4 * KIB);
	io = go(&b);
	assert_false(qos_stalled(&b.qos, b.now + b.params.stall_ns));
	assert_true(qos_stalled(&b.qos, b.now + b.params.stall_ns + 1));
	end(&b, io, S);
	assert_false(qos_stalled(&b.qos, b.now + 100 * (uint64_t)S));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_comes_the_books_are_right),
		cmocka_unit_test(writes_without_tokens_do_not_block_reads),
		cmocka_unit_test(but_reads_do_not_go_on_without_end),
		cmocka_unit_test(a_turn_is_not_over_because_there_are_no_tokens),
		cmocka_unit_test(slots_hold_back_nobody_where_all_have_something_waiting),
		cmocka_unit_test(slots_decide_for_a_while_when_tenants_have_come),
		cmocka_unit_test(each_command_is_counted_for_something),
		cmocka_unit_test(a_flush_is_not_for_nothing),
		cmocka_unit_test(a_flush_takes_time_too),
		cmocka_unit_test(what_says_nothing_of_the_device_is_not_learnt_from),
		cmocka_unit_test(what_is_in_flight_is_bounded),
		cmocka_unit_test(other_parameters_are_those_of_what_is_under_way),
		cmocka_unit_test(time_without_work_is_not_measured),
		cmocka_unit_test(who_pauses_is_counted_for_a_while),
		cmocka_unit_test(credits_are_what_slots_have_room_for),
		cmocka_unit_test(a_device_that_has_stalled_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
