/* test_qos_share.c - whose turn it is: parts, rounds, slots and priorities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "qos/share.h"

enum { TENANTS = 12, IOS = 64, KIB = 1024 };

/* Tenants that ask again as soon as something of theirs went, or ended. */
struct bench {
	struct qos_params params;
	struct qos_share share;
	struct qos_group groups[2];
	struct qos_tenant tenants[TENANTS];
	struct qos_io ios[TENANTS][IOS];
	uint64_t spent[TENANTS], went[TENANTS];
	uint64_t looks;          /* how often it was asked whether a tenant's I/O may go */
	struct qos_cost cost;
};

static void
begin(struct bench *b)
{
	*b = (struct bench){ 0 };
	qos_params_default(&b->params);
	qos_cost_init(&b->cost, &b->params);
	qos_cost_set_write(&b->cost, QOS_COST_ONE);
	qos_share_init(&b->share, &b->params);
	qos_share_slots(&b->share, QOS_SLOTS_MAX);
}

/* So many I/Os of so many bytes wait. */
static void
ask(struct bench *b, int t, int count, uint32_t bytes, enum qos_kind kind)
{
	for (int i = 0; i < count; i++) {
		b->ios[t][i] = (struct qos_io){ .bytes = bytes, .at = qos_cost_place(bytes), .kind = (uint8_t)kind };
		qos_share_arrive(&b->share, &b->tenants[t], &b->ios[t][i]);
	}
}

static struct qos_io *
peek(struct bench *b)
{
	struct qos_tenant *tenant;
	struct qos_io *io;

	do {
		while ((tenant = qos_share_first(&b->share)) != NULL) {
			io = qos_share_next(&b->share, tenant, &b->cost);
			b->looks++;
			if (io != NULL)
				return io;
		}
	} while (qos_share_go_on(&b->share, UINT64_MAX));
	return NULL;
}

static struct qos_io *
go(struct bench *b)
{
	struct qos_io *io = peek(b);

	if (io == NULL)
		return NULL;
	b->spent[io->tenant - b->tenants] += io->weight;
	b->went[io->tenant - b->tenants]++;
	qos_share_take(&b->share, io);
	return io;
}

/* It goes, ends at once, and its tenant asks for the same again. */
static struct qos_io *
go_on(struct bench *b)
{
	struct qos_io *io = go(b);

	if (io != NULL) {
		qos_share_ended(&b->share, io);
		qos_share_arrive(&b->share, io->tenant, io);
	}
	return io;
}

static uint64_t
distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* ---- parts ---- */

static void
costs_differ_by_no_more_than_a_quantum_and_an_io(void **state)
{
	static const uint32_t sizes[] = { 4 * KIB, 12 * KIB, 128 * KIB, 1024 * KIB };
	struct bench b;

	(void)state;
	begin(&b);
	qos_cost_set_write(&b.cost, 9 * QOS_COST_ONE);
	for (int t = 0; t < 4; t++)
		qos_tenant_init(&b.tenants[t], NULL, 1);
	for (int t = 0; t < 4; t++)
		ask(&b, t, IOS, sizes[t], t % 2 == 0 ? QOS_READ : QOS_WRITE);
	for (int i = 0; i < 200000; i++) {
		assert_non_null(go_on(&b));
		for (int t = 1; t < 4; t++) /* their I/Os cost the more, the higher their number is */
			assert_true(distance(b.spent[t], b.spent[0]) <=
			    b.params.quantum_bytes + (uint64_t)sizes[t] * (t % 2 == 0 ? 1 : 9));
	}
}

static void
weights_are_parts(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int t = 0; t < 3; t++) {
		qos_tenant_init(&b.tenants[t], NULL, 1u << t);
		ask(&b, t, IOS, 4u * KIB << t, QOS_READ);
	}
	for (int i = 0; i < 100000; i++)
		go_on(&b);
	assert_in_range(b.spent[1] * 100 / b.spent[0], 199, 201);
	assert_in_range(b.spent[2] * 100 / b.spent[0], 398, 402);
	qos_tenant_weigh(&b.share, &b.tenants[0], 8);
	for (int t = 0; t < 3; t++)
		b.spent[t] = 0;
	for (int i = 0; i < 100000; i++)
		go_on(&b);
	assert_in_range(b.spent[0] * 100 / b.spent[1], 398, 402);
}

static void
a_group_is_as_one_tenant_to_others(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	qos_group_init(&b.groups[0], 3);
	for (int t = 0; t < 3; t++) {
		qos_tenant_init(&b.tenants[t], t < 2 ? &b.groups[0] : NULL, t == 1 ? 2 : 1);
		ask(&b, t, IOS, 16 * KIB, QOS_READ);
	}
	for (int i = 0; i < 100000; i++)
		go_on(&b);
	assert_in_range(b.spent[0] * 100 / b.spent[2], 99, 101);
	assert_in_range(b.spent[1] * 100 / b.spent[2], 198, 202);
	qos_group_weigh(&b.share, &b.groups[0], 1);
	for (int t = 0; t < 3; t++)
		b.spent[t] = 0;
	for (int i = 0; i < 100000; i++)
		go_on(&b);
	assert_in_range(b.spent[2] * 100 / b.spent[0], 297, 303);
	assert_in_range(b.spent[1] * 100 / b.spent[0], 198, 202);
}

/* ---- rounds ---- */

/* The published code went through nine rounds of all tenants for one write of 128 KiB. */
static void
rounds_are_counted_and_not_gone_through(void **state)
{
	struct bench b;
	uint64_t before;

	(void)state;
	begin(&b);
	qos_cost_set_write(&b.cost, 9 * QOS_COST_ONE);
	for (int t = 0; t < TENANTS; t++) {
		qos_tenant_init(&b.tenants[t], NULL, t == 0 ? 100 : 1);
		ask(&b, t, IOS, 128 * KIB, QOS_WRITE);
	}
	for (int i = 0; i < 1000; i++)
		go_on(&b);
	before = b.looks;
	for (int i = 0; i < 100000; i++)
		assert_non_null(go_on(&b));
	/* by who goes, and by who has to save up */
	assert_true(b.looks - before < 100000 * 2 + 1000);
	assert_in_range(b.went[0] / b.went[1], 98, 102);
}

static void
who_comes_and_goes_has_one_quantum_in_a_round(void **state)
{
	struct bench b;
	uint64_t round, had = 0;

	(void)state;
	begin(&b);
	for (int t = 0; t < 2; t++)
		qos_tenant_init(&b.tenants[t], NULL, 1);
	ask(&b, 0, IOS, 4 * KIB, QOS_READ);
	for (int i = 0; i < 2000; i++) {
		struct qos_io *io;

		if (b.tenants[1].waiting == 0)
			ask(&b, 1, 1, 16 * KIB, QOS_READ);
		round = b.share.round;
		io = go(&b);
		qos_share_ended(&b.share, io);
		if (io->tenant == &b.tenants[0])
			qos_share_arrive(&b.share, io->tenant, io);
		had = (b.share.round == round ? had : 0) + (io->tenant == &b.tenants[1] ? 16 * KIB : 0);
		assert_true(had <= b.params.quantum_bytes);
	}
	assert_true(distance(b.spent[0], b.spent[1]) <= b.params.quantum_bytes);
}

/* Of what it was given for the next round, too. */
static void
who_changes_its_mind_gains_nothing(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int t = 0; t < 2; t++)
		qos_tenant_init(&b.tenants[t], NULL, 1);
	ask(&b, 0, IOS, 4 * KIB, QOS_READ);
	ask(&b, 1, 1, 128 * KIB, QOS_READ);
	while (b.went[1] == 0)
		qos_share_ended(&b.share, go(&b));
	for (int i = 0; i < 10; i++) {
		ask(&b, 1, 1, 128 * KIB, QOS_READ);
		qos_share_cancel(&b.share, &b.ios[1][0]);
	}
	ask(&b, 1, 1, 128 * KIB, QOS_READ);
	assert_int_equal(b.tenants[1].round, b.share.round + 1);
	assert_int_equal(b.tenants[1].deficit, b.params.quantum_bytes);
}

static void
who_asks_for_little_does_not_wait_for_the_round(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int t = 0; t < TENANTS; t++)
		qos_tenant_init(&b.tenants[t], NULL, 1);
	for (int t = 1; t < TENANTS; t++)
		ask(&b, t, IOS, 128 * KIB, QOS_READ);
	for (int t = 1; t < TENANTS; t++)
		go_on(&b);
	for (int i = 0; i < 100; i++) {
		ask(&b, 0, 1, 4 * KIB, QOS_READ);
		assert_ptr_equal(go(&b), &b.ios[0][0]);
		qos_share_ended(&b.share, &b.ios[0][0]);
		for (int t = 1; t < TENANTS; t++)
			go_on(&b);
	}
}

/* ---- slots ---- */

static void
who_has_no_slot_left_is_deferred_and_saves_nothing_up(void **state)
{
	struct bench b;
	struct qos_io *went[4];

	(void)state;
	begin(&b);
	qos_share_slots(&b.share, 2);
	qos_tenant_init(&b.tenants[0], NULL, 1);
	ask(&b, 0, IOS, 64 * KIB, QOS_READ);
	for (int i = 0; i < 4; i++)
		assert_non_null(went[i] = go(&b));
	assert_null(go(&b));
	assert_int_equal(b.tenants[0].state, QOS_DEFERRED);
	assert_int_equal(b.tenants[0].deficit, 0);
	qos_share_ended(&b.share, went[0]);
	qos_share_ended(&b.share, went[2]);
	assert_null(go(&b)); /* of each slot one is left */
	qos_share_ended(&b.share, went[1]);
	assert_int_equal(b.tenants[0].slot_ios, 2);
	assert_non_null(go(&b));
	assert_non_null(go(&b));
	assert_null(go(&b));
}

static void
a_slot_that_is_open_is_kept_for_who_pauses(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	qos_share_slots(&b.share, 1);
	for (int t = 0; t < 2; t++)
		qos_tenant_init(&b.tenants[t], NULL, 1);
	ask(&b, 0, 1, 4 * KIB, QOS_READ);
	ask(&b, 1, IOS, 128 * KIB, QOS_READ);
	assert_ptr_equal(go(&b), &b.ios[0][0]);
	assert_non_null(go(&b));
	qos_share_ended(&b.share, &b.ios[0][0]);
	assert_int_equal(b.tenants[0].slots_taken, 1);
	assert_null(go(&b));
	ask(&b, 0, 1, 4 * KIB, QOS_READ);
	assert_ptr_equal(go(&b), &b.ios[0][0]);
	assert_int_equal(b.ios[0][0].slot, b.tenants[0].slot[QOS_READ]);
}

/* However much of it is under way; and where slots decide again, it is. */
static void
slots_hold_nobody_back_where_turns_decide(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.share.turns_decide = true;
	qos_tenant_init(&b.tenants[0], NULL, 1);
	ask(&b, 0, IOS, 128 * KIB, QOS_READ);
	for (int i = 0; i < IOS - 1; i++)
		assert_non_null(go(&b));
	assert_int_equal(b.tenants[0].slots_full, QOS_SLOTS_MAX - 1);
	assert_int_equal(b.tenants[0].slot_ios, 1); /* the last one has more than there is room for */
	b.share.turns_decide = false;
	assert_non_null(go(&b)); /* into the slot that is open, which it fills */
	assert_int_equal(b.tenants[0].state, QOS_DEFERRED);
	for (int i = 0; i < IOS; i++)
		qos_share_ended(&b.share, &b.ios[0][i]);
	assert_int_equal(b.tenants[0].slots_taken, 0);
}

/* Where they take longer those of the other kind go on, in the slots that are left. */
static void
reads_and_writes_are_in_slots_of_their_own(void **state)
{
	struct bench b;
	struct qos_io *went[4];

	(void)state;
	begin(&b);
	qos_share_slots(&b.share, 2);
	qos_tenant_init(&b.tenants[0], NULL, 1);
	for (int i = 0; i < 5; i++) {
		b.ios[0][i] = (struct qos_io){ .bytes = 64 * KIB, .at = qos_cost_place(64 * KIB),
			.kind = i % 2 == 0 ? QOS_READ : QOS_WRITE };
		qos_share_arrive(&b.share, &b.tenants[0], &b.ios[0][i]);
	}
	for (int i = 0; i < 4; i++)
		assert_non_null(went[i] = go(&b));
	assert_int_equal(went[0]->slot, went[2]->slot);
	assert_int_equal(went[1]->slot, went[3]->slot);
	assert_int_not_equal(went[0]->slot, went[1]->slot);
	assert_int_equal(b.tenants[0].slots_full, 2);
	assert_null(go(&b));
	qos_share_ended(&b.share, went[0]);
	qos_share_ended(&b.share, went[2]);
	assert_int_equal(b.tenants[0].slots_full, 1); /* of writes */
	assert_ptr_equal(go(&b), &b.ios[0][4]);
}

static void
a_larger_part_has_larger_slots(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	qos_share_slots(&b.share, 1);
	for (int t = 0; t < 2; t++) {
		qos_tenant_init(&b.tenants[t], NULL, t == 0 ? 1 : 3);
		ask(&b, t, IOS, 4 * KIB, QOS_READ);
	}
	while (go(&b) != NULL)
		continue;
	assert_int_equal(b.went[0], 16);
	assert_int_equal(b.went[1], 48);
}

/* ---- within a tenant ---- */

static void
priorities_are_taken_in_turn(void **state)
{
	static const unsigned quotas[QOS_PRIORITIES] = { 16, 4, 2, 1 };
	unsigned went[QOS_PRIORITIES] = { 0 };
	struct bench b;

	(void)state;
	begin(&b);
	qos_tenant_init(&b.tenants[0], NULL, 1);
	for (int i = 0; i < IOS; i++) {
		b.ios[0][i] = (struct qos_io){ .bytes = 4 * KIB, .at = 1, .priority = (uint8_t)(i % QOS_PRIORITIES) };
		qos_share_arrive(&b.share, &b.tenants[0], &b.ios[0][i]);
	}
	for (int i = 0; i < 23000; i++)
		went[go_on(&b)->priority]++;
	for (int p = 0; p < QOS_PRIORITIES; p++)
		assert_in_range(went[p], quotas[p] * 999, quotas[p] * 1001);
}

static void
without_priorities_the_order_is_that_of_arrival(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	qos_tenant_init(&b.tenants[0], NULL, 1);
	for (int i = 0; i < IOS; i++) {
		b.ios[0][i] = (struct qos_io){ .bytes = 4 * KIB, .at = 1, .kind = i % 3 == 0 ? QOS_WRITE : QOS_READ };
		qos_share_arrive(&b.share, &b.tenants[0], &b.ios[0][i]);
	}
	for (int i = 0; i < IOS; i++)
		assert_ptr_equal(go(&b), &b.ios[0][i]);
}

static void
nobody_waits_there(struct qos_lane *lane)
{
	(void)lane;
}

static void
a_kind_that_is_shut_out_lets_the_other_pass(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	qos_tenant_init(&b.tenants[0], NULL, 1);
	b.ios[0][0] = (struct qos_io){ .bytes = 4 * KIB, .at = 1, .kind = QOS_WRITE };
	b.ios[0][1] = (struct qos_io){ .bytes = 4 * KIB, .at = 1 };
	for (int i = 0; i < 2; i++)
		qos_share_arrive(&b.share, &b.tenants[0], &b.ios[0][i]);
	qos_share_shut(&b.share, peek(&b), QOS_SHUT_TURN, nobody_waits_there);
	assert_ptr_equal(go(&b), &b.ios[0][1]);
	assert_null(go(&b));
	assert_int_equal(b.tenants[0].state, QOS_IDLE);
	qos_share_open(&b.share, &b.tenants[0].lanes[QOS_WRITE]);
	assert_true(qos_share_goes(&b.tenants[0].lanes[QOS_WRITE]));
	assert_ptr_equal(go(&b), &b.ios[0][0]);
	assert_false(qos_share_goes(&b.tenants[0].lanes[QOS_WRITE]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_differ_by_no_more_than_a_quantum_and_an_io),
		cmocka_unit_test(weights_are_parts),
		cmocka_unit_test(a_group_is_as_one_tenant_to_others),
		cmocka_unit_test(rounds_are_counted_and_not_gone_through),
		cmocka_unit_test(who_comes_and_goes_has_one_quantum_in_a_round),
		cmocka_unit_test(who_changes_its_mind_gains_nothing),
		cmocka_unit_test(who_asks_for_little_does_not_wait_for_the_round),
		cmocka_unit_test(who_has_no_slot_left_is_deferred_and_saves_nothing_up),
		cmocka_unit_test(a_slot_that_is_open_is_kept_for_who_pauses),
		cmocka_unit_test(slots_hold_nobody_back_where_turns_decide),
		cmocka_unit_test(reads_and_writes_are_in_slots_of_their_own),
		cmocka_unit_test(a_larger_part_has_larger_slots),
		cmocka_unit_test(priorities_are_taken_in_turn),
		cmocka_unit_test(without_priorities_the_order_is_that_of_arrival),
		cmocka_unit_test(a_kind_that_is_shut_out_lets_the_other_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
