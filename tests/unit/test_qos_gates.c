/* test_qos_gates.c - who waits for tokens, behind caps and for a device that is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "qos/qos.h"

enum { TENANTS = 8, IOS = 8, KIB = 1024, US = 1000, MS = 1000 * US, S = 1000 * MS };

struct bench {
	struct qos_params params;
	struct qos qos;
	struct qos_tenant tenants[TENANTS];
	struct qos_group group;
	struct qos_cap caps[2];
	struct qos_io ios[TENANTS][IOS];
	unsigned went[TENANTS];
	uint64_t now;
};

/* As slow as it gets, and without tokens for reads. */
static void
begin(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->now = S;
	qos_params_default(&b->params);
	b->params.inflight_bytes = 2 * QOS_SLOT_BYTES;
	qos_init(&b->qos, &b->params);
	assert_null(qos_next(&b->qos, b->now));
	b->qos.rate.target = b->params.rate_least;
	for (int kind = 0; kind < QOS_KINDS; kind++)
		b->qos.rate.fill[kind] = b->params.rate_least / 2 * (1 << QOS_TOKEN_SHIFT) / S;
	b->qos.rate.tokens[QOS_READ] = 0;
	qos_group_init(&b->group, 1);
	for (int t = 0; t < TENANTS; t++)
		qos_tenant_init(&b->tenants[t], NULL, 1);
}

static void
ask(struct bench *b, int t, int count, enum qos_op op, uint64_t bytes)
{
	for (int i = 0; i < count; i++) {
		qos_io_init(&b->ios[t][i], op, bytes, 0);
		qos_arrive(&b->qos, &b->tenants[t], &b->ios[t][i]);
	}
}

static struct qos_cap *
cap(struct bench *b, int n, enum qos_cap_of of, uint64_t read_ios)
{
	const struct qos_limit limits[QOS_KINDS] = { { read_ios, 0 }, { 0, 0 } };

	qos_cap_init(&b->caps[n], limits, 0);
	qos_use_cap(&b->qos, &b->caps[n], of);
	return &b->caps[n];
}

/* Whoever may go goes, and its I/O ends at once; how many did. */
static unsigned
go_all(struct bench *b)
{
	struct qos_io *io;
	unsigned count = 0;

	for (; (io = qos_next(&b->qos, b->now)) != NULL; count++) {
		b->went[io->tenant - b->tenants]++;
		qos_done(&b->qos, io, 300 * US, true, b->now);
	}
	return count;
}

static void
run(struct bench *b, uint64_t until)
{
	for (uint64_t next; b->now < until; b->now = next < until ? next : until) {
		go_all(b);
		next = qos_deadline(&b->qos, b->now);
		assert_true(next > b->now);
	}
}

/* Tokens are of no use where it is I/Os that must end. */
static void
who_waits_for_a_full_device_is_not_asked_meanwhile(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.qos.rate.tokens[QOS_WRITE] = UINT64_C(1) << 50;
	ask(&b, 0, 1, QOS_OP_READ, 4 * KIB);
	assert_null(qos_next(&b.qos, b.now));
	assert_in_range(qos_deadline(&b.qos, b.now), b.now + 1, b.now + MS);
	b.params.write_cost_worst = QOS_COST_ONE;
	qos_cost_init(&b.qos.cost, &b.params);
	ask(&b, 1, IOS, QOS_OP_WRITE, 128 * KIB);
	for (int i = 0; i < 2; i++)
		assert_non_null(qos_next(&b.qos, b.now));
	assert_null(qos_next(&b.qos, b.now));
	assert_true(b.qos.occupied >= b.qos.most);
	assert_int_equal(b.qos.tokens[QOS_READ].waiting, 1);
	assert_int_equal(qos_deadline(&b.qos, b.now), UINT64_MAX);
	qos_done(&b.qos, &b.ios[1][0], 300 * US, true, b.now);
	assert_true(qos_deadline(&b.qos, b.now) < UINT64_MAX);
}

/* Some wait for tokens, and some for a cap of all, when there is both: who is let in here is not sent back there. */
static void
who_was_let_in_at_a_cap_may_wait_for_tokens(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.qos.cap = cap(&b, 0, QOS_CAP_ALL, 100);
	ask(&b, 0, 2, QOS_OP_READ, 4 * KIB);
	for (int t = 1; t < 4; t++)
		ask(&b, t, 1, QOS_OP_READ, 64 * KIB);
	assert_int_equal(go_all(&b), 0);
	assert_int_equal(b.qos.tokens[QOS_READ].waiting, 4);
	b.now += 200 * US;
	assert_int_equal(go_all(&b), 1);
	for (int t = 4; t < TENANTS; t++)
		ask(&b, t, 1, QOS_OP_READ, 64 * KIB);
	assert_int_equal(go_all(&b), 0);
	assert_int_equal(b.qos.tokens[QOS_READ].waiting, 3);
	assert_int_equal(b.caps[0].entries[QOS_READ].stile.waiting, 5);
	b.now += 20 * MS;
	run(&b, b.now + 100 * MS);
	for (int t = 0; t < TENANTS; t++)
		assert_int_equal(b.went[t], t == 0 ? 2 : 1);
}

/* The same where some wait at the cap of their group, and others, of none, at that of all. */
static void
who_was_let_in_at_a_cap_is_not_sent_back_to_the_one_before(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.qos.rate.tokens[QOS_READ] = UINT64_C(1) << 50;
	b.group.cap = cap(&b, 0, QOS_CAP_GROUP, 300);
	b.qos.cap = cap(&b, 1, QOS_CAP_ALL, 400);
	for (int t = 0; t < TENANTS; t++) {
		qos_move(&b.qos, &b.tenants[t], t < TENANTS / 2 ? &b.group : NULL, 1);
		ask(&b, t, IOS, QOS_OP_READ, 4 * KIB);
	}
	run(&b, b.now + S);
	for (int t = 0; t < TENANTS; t++)
		assert_int_equal(b.went[t], IOS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_a_full_device_is_not_asked_meanwhile),
		cmocka_unit_test(who_was_let_in_at_a_cap_may_wait_for_tokens),
		cmocka_unit_test(who_was_let_in_at_a_cap_is_not_sent_back_to_the_one_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
