/* test_qos_cap.c - hard limits: of tenants, groups and volumes, exact in the long run and changed at run time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "qos/qos.h"

enum { TENANTS = 4, IOS = 16, KIB = 1024, MIB = 1024 * KIB, US = 1000, MS = 1000 * US, S = 1000 * MS };

/* Tenants whose I/Os take no time, and come again at once. */
struct bench {
	struct qos_params params;
	struct qos qos;
	struct qos_tenant tenants[TENANTS];
	struct qos_group group;
	struct qos_cap caps[TENANTS];
	struct qos_io ios[TENANTS][IOS];
	uint64_t went[TENANTS][QOS_KINDS], bytes[TENANTS][QOS_KINDS];
	struct rng rng;
	uint64_t now, late_ns;
};

static void
begin(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->now = S;
	rng_seed(&b->rng, 1);
	qos_params_default(&b->params);
	b->params.rate_first = b->params.rate_most = UINT64_C(64) << 30;
	b->params.write_cost_worst = QOS_COST_ONE;
	qos_init(&b->qos, &b->params);
	assert_null(qos_next(&b->qos, b->now));
	qos_group_init(&b->group, 1);
	for (int t = 0; t < TENANTS; t++)
		qos_tenant_init(&b->tenants[t], NULL, 1);
}

static struct qos_cap *
cap(struct bench *b, int n, enum qos_cap_of of, uint64_t read_ios, uint64_t read_bytes, uint64_t write_ios,
    uint64_t write_bytes)
{
	const struct qos_limit limits[QOS_KINDS] = { { read_ios, read_bytes }, { write_ios, write_bytes } };

	assert_null(qos_cap_wrong(limits, 0));
	qos_cap_init(&b->caps[n], limits, 0);
	qos_use_cap(&b->qos, &b->caps[n], of);
	return &b->caps[n];
}

static void
ask(struct bench *b, int t, int from, int count, enum qos_op op, uint32_t bytes)
{
	for (int i = from; i < from + count; i++) {
		qos_io_init(&b->ios[t][i], op, bytes, 0);
		qos_arrive(&b->qos, &b->tenants[t], &b->ios[t][i]);
	}
}

/* Until then; whoever is to be asked is asked a little late. */
static void
run(struct bench *b, uint64_t until)
{
	while (b->now < until) {
		struct qos_io *io;
		uint64_t next;

		while ((io = qos_next(&b->qos, b->now)) != NULL) {
			struct qos_tenant *tenant = io->tenant;
			ptrdiff_t t = tenant - b->tenants;

			b->went[t][io->kind]++;
			b->bytes[t][io->kind] += io->bytes;
			qos_done(&b->qos, io, 10 * US, true, b->now);
			qos_arrive(&b->qos, tenant, io);
		}
		next = qos_deadline(&b->qos, b->now);
		assert_true(next > b->now);
		next = next < until ? next : until;
		b->now = next + (b->late_ns > 0 ? rng_below(&b->rng, b->late_ns) : 0);
	}
}

static uint64_t
distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* ---- how exact they are ---- */

static void
ios_are_as_many_as_they_may_be(void **state)
{
	static const uint64_t rates[] = { 1, 7, 100, 3333, 50000, 400000 };

	(void)state;
	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		uint64_t rate = rates[r], ns = 200 / rate > 10 ? 200 / rate * (uint64_t)S : 10 * (uint64_t)S, before;
		struct bench b;

		begin(&b);
		b.late_ns = 20 * US;
		b.tenants[0].cap = cap(&b, 0, QOS_CAP_TENANT, rate, 0, 0, 0);
		ask(&b, 0, 0, IOS, QOS_OP_READ, 4 * KIB);
		run(&b, b.now + S / 10);
		before = b.went[0][QOS_READ];
		run(&b, b.now + ns);
		assert_true(distance(b.went[0][QOS_READ] - before, rate * (ns / S)) <= rate * (ns / S) / 100);
	}
}

static void
bytes_are_as_many_as_they_may_be(void **state)
{
	static const uint64_t rates[] = { MIB, 77777777, UINT64_C(3000000000) };

	(void)state;
	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct bench b;
		uint64_t before;

		begin(&b);
		b.late_ns = 20 * US;
		b.tenants[0].cap = cap(&b, 0, QOS_CAP_TENANT, 0, 0, 0, rates[r]);
		ask(&b, 0, 0, IOS, QOS_OP_WRITE, 64 * KIB);
		run(&b, b.now + S / 10);
		before = b.bytes[0][QOS_WRITE];
		run(&b, b.now + 10 * (uint64_t)S);
		assert_true(distance(b.bytes[0][QOS_WRITE] - before, 10 * rates[r]) <= rates[r] / 10 + 64 * KIB);
	}
}

static void
what_was_not_used_is_made_up_for_as_long_as_the_burst_says(void **state)
{
	const struct qos_limit limits[QOS_KINDS] = { { 100, 0 }, { 0, 0 } };
	struct bench b;

	(void)state;
	begin(&b);
	b.tenants[0].cap = cap(&b, 0, QOS_CAP_TENANT, 100, 0, 0, 0);
	qos_change_cap(&b.caps[0], limits, 2000);
	ask(&b, 0, 0, IOS, QOS_OP_READ, 4 * KIB);
	run(&b, b.now + MS);
	assert_in_range(b.went[0][QOS_READ], 200, 202);
	run(&b, b.now + S);
	assert_in_range(b.went[0][QOS_READ], 300, 303);
}

/* ---- whom they hold back ---- */

static void
writes_are_held_back_and_reads_are_not(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.tenants[0].cap = cap(&b, 0, QOS_CAP_TENANT, 1000, 0, 10, 0);
	ask(&b, 0, 0, IOS / 2, QOS_OP_WRITE, 4 * KIB);
	ask(&b, 0, IOS / 2, IOS / 2, QOS_OP_READ, 4 * KIB);
	run(&b, b.now + 10 * (uint64_t)S);
	assert_in_range(b.went[0][QOS_WRITE], 99, 102);
	assert_in_range(b.went[0][QOS_READ], 9990, 10010);
}

static void
a_tenants_cap_is_nobody_elses(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.tenants[0].cap = cap(&b, 0, QOS_CAP_TENANT, 10, 0, 0, 0);
	b.tenants[1].cap = cap(&b, 1, QOS_CAP_TENANT, 5000, 0, 0, 0);
	for (int t = 0; t < 2; t++)
		ask(&b, t, 0, IOS, QOS_OP_READ, 4 * KIB);
	run(&b, b.now + 10 * (uint64_t)S);
	assert_in_range(b.went[0][QOS_READ], 99, 102);
	assert_in_range(b.went[1][QOS_READ], 49950, 50050);
}

/* By what their I/Os cost, as without it. */
static void
tenants_take_turns_at_the_cap_of_their_group(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.group.cap = cap(&b, 0, QOS_CAP_GROUP, 0, 20 * MIB, 0, 0);
	for (int t = 0; t < 3; t++) {
		qos_tenant_init(&b.tenants[t], &b.group, t == 2 ? 2 : 1);
		ask(&b, t, 0, IOS, QOS_OP_READ, t == 0 ? 4 * KIB : 128 * KIB);
	}
	run(&b, b.now + 100 * (uint64_t)S);
	assert_in_range((b.bytes[0][QOS_READ] + b.bytes[1][QOS_READ] + b.bytes[2][QOS_READ]) / MIB, 1990, 2010);
	assert_in_range(b.bytes[1][QOS_READ] * 100 / b.bytes[0][QOS_READ], 97, 103);
	assert_in_range(b.bytes[2][QOS_READ] * 100 / b.bytes[0][QOS_READ], 194, 206);
}

static void
the_cap_of_the_volume_is_one_of_all(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.qos.cap = cap(&b, 0, QOS_CAP_ALL, 3000, 0, 0, 0);
	b.tenants[0].cap = cap(&b, 1, QOS_CAP_TENANT, 100, 0, 0, 0);
	for (int t = 0; t < TENANTS; t++)
		ask(&b, t, 0, IOS, QOS_OP_READ, 4 * KIB);
	run(&b, b.now + 10 * (uint64_t)S);
	assert_in_range(b.went[0][QOS_READ], 990, 1010);
	for (int t = 1; t < TENANTS; t++)
		assert_in_range(b.went[t][QOS_READ], 29000 / 3 - 200, 29000 / 3 + 200);
}

static void
who_is_held_back_is_given_what_goes_in_a_tenth_of_a_second(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(qos_credits_capped(&b.qos, &b.tenants[0], QOS_READ, 4 * KIB), UINT32_MAX);
	b.tenants[0].cap = cap(&b, 0, QOS_CAP_TENANT, 500, 0, 1, 10 * MIB);
	assert_int_equal(qos_credits_capped(&b.qos, &b.tenants[0], QOS_READ, 4 * KIB), 50);
	assert_int_equal(qos_credits_capped(&b.qos, &b.tenants[0], QOS_WRITE, 4 * KIB), 1);
	assert_int_equal(qos_credits_capped(&b.qos, &b.tenants[1], QOS_READ, 4 * KIB), UINT32_MAX);
	/* by its bytes, where those are fewer; and of its group's no more than of its own */
	b.group.cap = cap(&b, 1, QOS_CAP_GROUP, 100000, 10 * MIB, 0, 0);
	qos_tenant_init(&b.tenants[1], &b.group, 1);
	assert_int_equal(qos_credits_capped(&b.qos, &b.tenants[1], QOS_READ, 4 * KIB), 256);
	assert_int_equal(qos_credits_capped(&b.qos, &b.tenants[1], QOS_READ, 4 * MIB), 1);
	assert_int_equal(qos_credits_capped(&b.qos, &b.tenants[1], QOS_WRITE, 4 * KIB), UINT32_MAX);
	b.qos.cap = cap(&b, 2, QOS_CAP_ALL, 1000, 0, 0, 0);
	assert_int_equal(qos_credits_capped(&b.qos, &b.tenants[1], QOS_READ, 4 * KIB), 100);
	/* of which those that wait have equal parts */
	for (int t = 1; t < TENANTS; t++)
		ask(&b, t, 0, IOS, QOS_OP_READ, 4 * KIB);
	run(&b, b.now + S);
	assert_in_range(qos_credits_capped(&b.qos, &b.tenants[1], QOS_READ, 4 * KIB), 33, 50);
}

/* ---- at run time ---- */

static void
other_limits_are_those_of_who_waits(void **state)
{
	const struct qos_limit more[QOS_KINDS] = { { 1000, 0 }, { 0, 0 } }, none[QOS_KINDS] = { { 0 } };
	struct bench b;
	struct qos_io *io;

	(void)state;
	begin(&b);
	b.tenants[0].cap = cap(&b, 0, QOS_CAP_TENANT, 1, 0, 0, 0);
	ask(&b, 0, 0, IOS, QOS_OP_READ, 4 * KIB);
	run(&b, b.now + 1);
	assert_in_range(qos_deadline(&b.qos, b.now), b.now + S / 2, b.now + S);
	qos_change_cap(&b.caps[0], more, 0);
	run(&b, b.now + S);
	assert_in_range(b.went[0][QOS_READ], 990, 1010);
	qos_change_cap(&b.caps[0], none, 0);
	for (int i = 0; i < 50; i++) {
		assert_non_null(io = qos_next(&b.qos, b.now));
		qos_done(&b.qos, io, 10 * US, true, b.now);
		qos_arrive(&b.qos, &b.tenants[0], io);
	}
}

/* As when an operator says all anew: everybody is moved, and then all caps are others. */
static void
tenants_change_their_groups_while_they_wait(void **state)
{
	struct qos_group other;
	struct bench b;

	(void)state;
	begin(&b);
	qos_group_init(&other, 1);
	b.group.cap = cap(&b, 0, QOS_CAP_GROUP, 1, 0, 1, 0);
	b.qos.cap = cap(&b, 1, QOS_CAP_ALL, 2, 0, 2, 0);
	for (int t = 0; t < TENANTS; t++) {
		qos_move(&b.qos, &b.tenants[t], t < 2 ? &b.group : NULL, 1);
		ask(&b, t, 0, IOS / 2, QOS_OP_READ, 4 * KIB);
		ask(&b, t, IOS / 2, IOS / 2, QOS_OP_WRITE, 4 * KIB);
	}
	run(&b, b.now + S / 4);
	assert_true(b.qos.share.shut > 0);
	for (int t = 0; t < TENANTS; t++)
		qos_move(&b.qos, &b.tenants[t], NULL, 1);
	assert_int_equal(b.qos.share.shut, 0);
	b.group.cap = b.qos.cap = NULL;
	qos_drop_cap(&b.qos, &b.caps[0]);
	qos_drop_cap(&b.qos, &b.caps[1]);
	other.cap = cap(&b, 2, QOS_CAP_GROUP, 1000, 0, 500, 0);
	for (int t = 2; t < TENANTS; t++)
		qos_move(&b.qos, &b.tenants[t], &other, 1);
	memset(b.went, 0, sizeof(b.went));
	run(&b, b.now + 10 * (uint64_t)S);
	for (int t = 2; t < TENANTS; t++) {
		assert_in_range(b.went[t][QOS_READ], 4950, 5050);
		assert_in_range(b.went[t][QOS_WRITE], 2475, 2525);
	}
	for (int t = 0; t < 2; t++)
		assert_true(b.went[t][QOS_READ] > 10000 && b.went[t][QOS_WRITE] > 10000);
}

static void
who_is_cancelled_waits_for_nothing(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.tenants[0].cap = cap(&b, 0, QOS_CAP_TENANT, 1, 0, 0, 0);
	ask(&b, 0, 0, 3, QOS_OP_READ, 4 * KIB);
	assert_non_null(qos_next(&b.qos, b.now));
	qos_done(&b.qos, &b.ios[0][0], 10 * US, true, b.now);
	assert_null(qos_next(&b.qos, b.now));
	qos_cancel(&b.qos, &b.ios[0][1], b.now);
	qos_cancel(&b.qos, &b.ios[0][2], b.now);
	b.now += 10 * (uint64_t)S;
	assert_null(qos_next(&b.qos, b.now));
	qos_leave(&b.qos, &b.tenants[0]);
	b.tenants[0].cap = NULL;
	qos_drop_cap(&b.qos, &b.caps[0]);
	assert_int_equal(qos_deadline(&b.qos, b.now), UINT64_MAX);
}

static void
absurd_limits_are_refused(void **state)
{
	const struct qos_limit ios[QOS_KINDS] = { { QOS_CAP_IOS_MAX + 1, 0 }, { 0, 0 } };
	const struct qos_limit bytes[QOS_KINDS] = { { 0, 0 }, { 0, QOS_CAP_BYTES_MAX + 1 } };
	const struct qos_limit right[QOS_KINDS] = { { QOS_CAP_IOS_MAX, QOS_CAP_BYTES_MAX }, { 0, 0 } };

	(void)state;
	assert_non_null(qos_cap_wrong(ios, 0));
	assert_non_null(qos_cap_wrong(bytes, 0));
	assert_null(qos_cap_wrong(right, QOS_CAP_BURST_MAX_MS));
	assert_non_null(qos_cap_wrong(right, QOS_CAP_BURST_MAX_MS + 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ios_are_as_many_as_they_may_be),
		cmocka_unit_test(bytes_are_as_many_as_they_may_be),
		cmocka_unit_test(what_was_not_used_is_made_up_for_as_long_as_the_burst_says),
		cmocka_unit_test(writes_are_held_back_and_reads_are_not),
		cmocka_unit_test(a_tenants_cap_is_nobody_elses),
		cmocka_unit_test(tenants_take_turns_at_the_cap_of_their_group),
		cmocka_unit_test(the_cap_of_the_volume_is_one_of_all),
		cmocka_unit_test(who_is_held_back_is_given_what_goes_in_a_tenth_of_a_second),
		cmocka_unit_test(other_limits_are_those_of_who_waits),
		cmocka_unit_test(tenants_change_their_groups_while_they_wait),
		cmocka_unit_test(who_is_cancelled_waits_for_nothing),
		cmocka_unit_test(absurd_limits_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
