/* test_qos_gates.c - who waits for tokens, and for a device that is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "qos/qos.h"

enum { TENANTS = 2, IOS = 8, KIB = 1024, US = 1000, MS = 1000 * US, S = 1000 * MS };

struct bench {
	struct qos_params params;
	struct qos qos;
	struct qos_tenant tenants[TENANTS];
	struct qos_io ios[TENANTS][IOS];
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_a_full_device_is_not_asked_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
