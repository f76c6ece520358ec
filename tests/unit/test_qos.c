/* test_qos.c - the switch as a whole, in front of devices that take as long as a test says. */
#include "qos_bench.h"

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
	bench_begin(&b, 2);
	slow(&b);
	b.qos.rate.tokens[QOS_WRITE] = 0;
	for (int i = 0; i < 4; i++)
		bench_arrive(&b, 0, i, QOS_OP_WRITE, 4 * KIB);
	for (int i = 0; i < 20; i++)
		bench_arrive(&b, 1, i, QOS_OP_READ, 4 * KIB);
	while ((io = bench_go(&b)) != NULL)
		io->kind == QOS_READ ? reads++ : writes++;
	assert_int_equal(reads, 20);
	assert_int_equal(writes, 0);
	assert_true(qos_deadline(&b.qos, b.now) > b.now);
	b.now = qos_deadline(&b.qos, b.now);
	assert_ptr_equal(bench_go(&b), &b.ios[0][0]);
}

static void
but_reads_do_not_go_on_without_end(void **state)
{
	struct bench b;
	struct qos_io *io;

	(void)state;
	bench_begin(&b, 2);
	slow(&b);
	b.qos.rate.tokens[QOS_WRITE] = 0;
	b.qos.rate.tokens[QOS_READ] = UINT64_C(1) << 50;
	bench_arrive(&b, 0, 0, QOS_OP_WRITE, 128 * KIB);
	for (int i = 0; i < IOS; i++)
		bench_arrive(&b, 1, i, QOS_OP_READ, 64 * KIB);
	while ((io = bench_go(&b)) != NULL) {
		uint64_t bytes = io->bytes;

		assert_ptr_equal(io->tenant, &b.tenants[1]);
		bench_end(&b, io, 100 * US);
		assert_true(bytes > 0);
	}
	/* the write saves up for nine rounds, and then waits for tokens */
	assert_in_range(b.went[1], 9 * b.params.quantum_bytes, (9 + QOS_ROUNDS_AHEAD + 1) * b.params.quantum_bytes);
	/* what it has saved up is still its own */
	b.now = qos_deadline(&b.qos, b.now);
	assert_ptr_equal(bench_go(&b), &b.ios[0][0]);
}

/* Who waits for tokens goes on with the turn that it had begun. */
static void
a_turn_is_not_over_because_there_are_no_tokens(void **state)
{
	struct bench b;
	struct qos_io *io;

	(void)state;
	bench_begin(&b, 2);
	for (int i = 0; i < IOS; i++) {
		bench_arrive(&b, 0, i, QOS_OP_READ, 4 * KIB);
		bench_arrive(&b, 1, i, QOS_OP_READ, 128 * KIB);
	}
	for (int n = 0; n < 20000; n++) {
		slow(&b);
		while ((io = bench_go(&b)) != NULL) {
			int t = io->tenant == &b.tenants[1], i = (int)(io - b.ios[t]);
			uint32_t bytes = io->bytes;

			bench_end(&b, io, 300 * US);
			bench_arrive(&b, t, i, QOS_OP_READ, bytes);
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
		while (bench_go(b) != NULL)
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
		bench_arrive(b, 1, i, QOS_OP_READ, 4 * KIB);
	assert_int_equal(bench_go(b) != NULL, other != NONE);
	assert_null(bench_go(b));
}

/* How many of a tenant's 128 KiB reads are in flight after a while in which it always had some waiting. */
static uint32_t
in_flight(enum other other)
{
	struct bench b;

	bench_begin(&b, 2);
	begin_other(&b, other);
	for (int i = 0; i < IOS; i++)
		bench_arrive(&b, 0, i, QOS_OP_READ, 128 * KIB);
	go_for(&b, b.params.linger_ns);
	assert_true(other == NONE || b.tenants[0].inflight == b.qos.share.slots_each);
	go_for(&b, 10 * MS);
	bench_end(&b, &b.ios[0][0], 100 * US);
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
	bench_begin(&b, 2);
	b.now += S;
	for (int t = 0; t < 2; t++)
		for (int i = 0; i < IOS; i++)
			bench_arrive(&b, t, i, QOS_OP_READ, 128 * KIB);
	go_for(&b, b.params.linger_ns);
	bench_end(&b, &b.ios[0][0], 100 * US);
	go_for(&b, b.params.linger_ns);
	assert_false(b.qos.share.turns_decide);
	bench_end(&b, &b.ios[1][0], 100 * US);
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
	bench_begin(&b, 2);
	begin_other(&b, SATED);
	for (int i = 0; i < IOS; i++)
		bench_arrive(&b, 0, i, QOS_OP_FLUSH, 0);
	while (bench_go(&b) != NULL)
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
	bench_begin(&b, 1);
	for (int size = 0; size < QOS_SIZES; size++)
		b.params.size_rate[QOS_READ][size] = b.params.size_rate[QOS_WRITE][size] = UINT64_C(1) << 30;
	qos_tune(&b.qos, &b.params);
	bench_arrive(&b, 0, 0, QOS_OP_FLUSH, 0);
	bench_end(&b, bench_go(&b), 1 * MS);
	assert_int_equal(b.qos.cost.busy_ns[QOS_WRITE], UINT64_C(4096) * S >> 30);
}

static void
what_says_nothing_of_the_device_is_not_learnt_from(void **state)
{
	struct bench b;
	uint64_t target;

	(void)state;
	bench_begin(&b, 1);
	target = b.qos.rate.target;
	bench_arrive(&b, 0, 0, QOS_OP_FLUSH, 0);
	bench_end(&b, bench_go(&b), 50 * MS);
	bench_arrive(&b, 0, 0, QOS_OP_READ, 4 * KIB);
	assert_ptr_equal(bench_go(&b), &b.ios[0][0]);
	b.where[0][0] = OUT;
	qos_done(&b.qos, &b.ios[0][0], 50 * MS, false, b.now);
	assert_int_equal(b.qos.counts[QOS_READ].failed, 1);
	assert_int_equal(b.qos.rate.target, target);
	assert_int_equal(qos_monitor_ns(&b.qos.monitors[QOS_READ]), 0);
	bench_arrive(&b, 0, 0, QOS_OP_READ, 4 * KIB);
	bench_end(&b, bench_go(&b), 50 * MS);
	assert_true(b.qos.rate.target < target);
}

/* ---- what is in flight ---- */

static void
what_is_in_flight_is_bounded(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, TENANTS);
	b.qos.rate.tokens[QOS_READ] = UINT64_C(1) << 50;
	for (int t = 0; t < TENANTS - 1; t++)
		for (int i = 0; i < IOS; i++)
			bench_arrive(&b, t, i, QOS_OP_READ, 64 * KIB);
	while (bench_go(&b) != NULL)
		continue;
	assert_in_range(b.qos.occupied, b.params.inflight_bytes, b.params.inflight_bytes + 64 * KIB);
	bench_arrive(&b, TENANTS - 1, 0, QOS_OP_READ, 4 * KIB); /* has nothing there yet */
	assert_ptr_equal(bench_go(&b), &b.ios[TENANTS - 1][0]);
	assert_null(bench_go(&b));
}

/* Though each of them has a slot, and nothing in it: of a thousand that would be 128 MiB. */
static void
what_many_have_in_flight_is_bounded_too(void **state)
{
	enum { CROWD = 1000 };
	static struct qos_tenant crowd[CROWD];
	static struct qos_io ios[CROWD];
	struct bench b;
	struct qos_io *io;
	unsigned went = 0;

	(void)state;
	bench_begin(&b, 0);
	b.qos.rate.tokens[QOS_READ] = UINT64_C(1) << 50;
	for (int t = 0; t < CROWD; t++) {
		qos_tenant_init(&crowd[t], NULL, 1);
		qos_io_init(&ios[t], QOS_OP_READ, 16 * KIB, 0);
		qos_arrive(&b.qos, &crowd[t], &ios[t]);
	}
	while ((io = qos_next(&b.qos, b.now)) != NULL)
		went++;
	assert_true(went < CROWD);
	assert_in_range(b.qos.occupied, b.params.inflight_bytes, b.params.inflight_bytes / 4 * 5 + 16 * KIB);
}

static void
other_parameters_are_those_of_what_is_under_way(void **state)
{
	struct qos_io *went[32];
	struct qos_params more;
	struct bench b;
	int count = 0;

	(void)state;
	bench_begin(&b, 2);
	for (int i = 0; i < IOS; i++)
		bench_arrive(&b, 0, i, QOS_OP_READ, 64 * KIB);
	while ((went[count] = bench_go(&b)) != NULL)
		count++;
	more = b.params;
	more.inflight_bytes *= 2;
	more.slots *= 2;
	more.rate_most = more.rate_first = more.rate_least = UINT64_C(8) << 30;
	more.size_cost[QOS_READ][4] *= 2;
	qos_tune(&b.qos, &more);
	assert_int_equal(b.qos.rate.target, more.rate_least);
	b.now += MS;
	assert_non_null(went[count++] = bench_go(&b));
	for (int i = 0; i < count; i++)
		bench_end(&b, went[i], 100 * US);
	assert_int_equal(b.qos.occupied, 0);
}

/* What has ended in a second is not little because nothing was asked for half of the time. */
static void
time_without_work_is_not_measured(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, 1);
	for (int i = 0; i < 200; i++) {
		struct qos_io *io;

		bench_arrive(&b, 0, 0, QOS_OP_READ, 128 * KIB);
		io = bench_go(&b);
		b.now += 625 * US;
		bench_end(&b, io, 300 * US);
		b.now += 100 * MS;
	}
	assert_in_range(b.qos.rate.ended_rate / MIB, 199, 201);
}

static void
who_pauses_is_counted_for_a_while(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, 2);
	bench_arrive(&b, 0, 0, QOS_OP_READ, 4 * KIB);
	bench_end(&b, bench_go(&b), 100 * US);
	b.now += b.params.linger_ns - 1;
	bench_arrive(&b, 1, 0, QOS_OP_READ, 4 * KIB);
	assert_int_equal(b.qos.share.counted, 2);
	assert_int_equal(b.qos.share.slots_each, b.params.slots_least);
	b.now++;
	bench_end(&b, bench_go(&b), 100 * US);
	assert_int_equal(b.qos.share.counted, 1);
	assert_int_equal(b.qos.share.slots_each, b.params.slots);
	assert_int_equal(qos_tenants(&b.qos, b.now + b.params.linger_ns - 1), 1);
	assert_int_equal(qos_tenants(&b.qos, b.now + b.params.linger_ns), 0); /* though nobody asked for anything */
}

/* Some of each tenant's I/Os, as many in turn, go and end. */
static void
play(struct bench *b, int tenants, uint64_t bytes)
{
	struct qos_io *went[16 * TENANTS];
	int count = 0, ended = 0;

	for (int i = 0; i < 16; i++)
		for (int t = 0; t < tenants; t++)
			bench_arrive(b, t, i, QOS_OP_READ, bytes);
	for (; ended < 16 * tenants; b->now += 10 * US) {
		struct qos_io *io = bench_go(b);

		if (io != NULL)
			went[count++] = io;
		else if (ended < count)
			bench_end(b, went[ended++], 100 * US);
	}
}

/* No less than slots hold, and what may be in flight by turns, or up to an eighth less; beside others twice that. */
static void
credits_are_more_than_may_be_in_flight(void **state)
{
	uint32_t credits[2];
	struct bench b;

	(void)state;
	bench_begin(&b, 1);
	assert_int_equal(qos_credits(&b.qos, &b.tenants[0]), 32 * b.params.slots);
	play(&b, 1, 32 * KIB);
	assert_in_range(qos_credits(&b.qos, &b.tenants[0]), b.params.inflight_bytes / (32 * KIB) / 8 * 7,
	    b.params.inflight_bytes / (32 * KIB));
	/* of two, each his part */
	bench_begin(&b, 2);
	qos_tenant_weigh(&b.qos.share, &b.tenants[1], 3);
	play(&b, 2, 32 * KIB);
	for (int t = 0; t < 2; t++)
		credits[t] = qos_credits(&b.qos, &b.tenants[t]);
	assert_in_range(credits[0], b.qos.most / (16 * KIB) / 4 / 8 * 7, b.qos.most / (16 * KIB) / 4);
	assert_in_range(credits[1], b.qos.most / (16 * KIB) / 4 * 3 / 8 * 7, b.qos.most / (16 * KIB) / 4 * 3);
	/* a little more or less changes nothing: there are few such numbers */
	for (int t = 0; t < 2; t++)
		assert_true(credits[t] >> __builtin_ctz(credits[t]) < 16);
}

static void
a_device_that_has_stalled_is_seen(void **state)
{
	struct bench b;
	struct qos_io *io, *later, *last;

	(void)state;
	bench_begin(&b, 1);
	assert_false(qos_stalled(&b.qos, b.now + 100 * (uint64_t)S));
	bench_arrive(&b, 0, 0, QOS_OP_READ, 4 * KIB);
	io = bench_go(&b);
	assert_false(qos_stalled(&b.qos, b.now + b.params.stall_ns));
	assert_true(qos_stalled(&b.qos, b.now + b.params.stall_ns + 1));
	/* whatever goes after it and ends before it */
	b.now += b.params.stall_ns;
	bench_arrive(&b, 0, 1, QOS_OP_READ, 4 * KIB);
	assert_non_null(later = bench_go(&b));
	assert_true(qos_stalled(&b.qos, b.now + 1));
	bench_arrive(&b, 0, 2, QOS_OP_READ, 4 * KIB);
	assert_non_null(last = bench_go(&b));
	bench_end(&b, later, US);
	assert_true(qos_stalled(&b.qos, b.now + 1));
	bench_end(&b, io, S);
	assert_false(qos_stalled(&b.qos, b.now + 1));
	bench_end(&b, last, US);
	assert_false(qos_stalled(&b.qos, b.now + 100 * (uint64_t)S));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
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
		cmocka_unit_test(what_many_have_in_flight_is_bounded_too),
		cmocka_unit_test(other_parameters_are_those_of_what_is_under_way),
		cmocka_unit_test(time_without_work_is_not_measured),
		cmocka_unit_test(who_pauses_is_counted_for_a_while),
		cmocka_unit_test(credits_are_more_than_may_be_in_flight),
		cmocka_unit_test(a_device_that_has_stalled_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
