/*
 * trial/history: what is sent twice, and what is never answered.
 */
#include "history_steps.h"

static void
a_write_comes_twice_only_if_it_was_sent_again(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		struct history_op write;

		steps_again();
		write = op_writes(1, A);
		assert_true(block_is(A));
		block_written(B);
		assert_true(block_is(B));
		if (again)
			history_shake(steps.history, &write);
		assert_int_equal(block_is(A), again);
	}
}

static void
a_write_sent_twice_does_not_come_after_it_was_answered(void **state)
{
	struct history_op write;

	(void)state;
	write = op_writes(1, A);
	history_shake(steps.history, &write);
	assert_true(op_done(&write));
	block_written(B);
	assert_true(block_is(B));
	assert_false(block_is(A));
}

static void
a_write_sent_twice_may_have_happened_before_it_failed(void **state)
{
	struct history_op write;

	(void)state;
	write = op_writes(1, A);
	history_shake(steps.history, &write);
	assert_true(op_failed(&write));
	assert_true(block_is(A));
}

static void
what_nobody_answers_lands_late_but_once(void **state)
{
	struct history_op write;

	(void)state;
	write = op_writes(1, A);
	history_unknown(steps.history, &write, steps_tick());
	block_written(B);
	assert_true(block_is(B));
	assert_true(block_is(A));
	block_written(C);
	assert_false(block_is(A));
}

static void
what_is_settled_does_not_land_any_more(void **state)
{
	struct history_op write, other;

	(void)state;
	write = op_writes(1, A);
	other = op_writes(2, D);
	history_unknown(steps.history, &write, steps_tick());
	history_unknown(steps.history, &other, steps_tick());
	block_written(B);
	history_settled(steps.history, 1);
	assert_true(block_is(B)); /* nobody has seen A: it came before, or never */
	assert_true(block_is(D));
	assert_false(block_is(A));
}

static void
what_is_settled_may_have_happened(void **state)
{
	struct history_op write;

	(void)state;
	write = op_writes(1, A);
	history_unknown(steps.history, &write, steps_tick());
	history_settled(steps.history, 1);
	assert_true(block_is(A));
	assert_false(block_is(HISTORY_ZEROS));
}

static void
what_nobody_answers_may_have_come_between(void **state)
{
	struct history_op first, between, last;

	(void)state;
	first = op_writes(1, A);
	block_written(B);
	between = op_swaps(2, A, C);
	history_unknown(steps.history, &between, steps_tick());
	last = op_writes(3, D);
	assert_true(op_done(&last));
	assert_true(op_done(&first));
	assert_true(block_is(D));
	history_settled(steps.history, 2);
	lose_power();
	assert_true(block_is(C)); /* B, A, C, D */
}

static void
what_nobody_hears_of_leaves_room_when_it_is_found_or_settled(void **state)
{
	struct history_op ops[HISTORY_PENDING_MAX];

	(void)state;
	for (unsigned i = 0; i < HISTORY_PENDING_MAX; i++) {
		ops[i] = op_writes(i, A + i);
		history_unknown(steps.history, &ops[i], steps_tick());
		assert_true(history_has_room(steps.history, STEPS_BLOCK) == (i + 1 < HISTORY_PENDING_MAX));
	}
	history_settled(steps.history, 3);
	assert_true(history_has_room(steps.history, STEPS_BLOCK));
	ops[0] = op_reads(7);
	assert_false(history_has_room(steps.history, STEPS_BLOCK));
	assert_true(op_found(&ops[0], A + 5));
	for (unsigned i = 0; i < 2; i++)
		ops[i] = op_reads(7);
	assert_false(history_has_room(steps.history, STEPS_BLOCK));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, steps_setup, steps_teardown)
	const struct CMUnitTest tests[] = {
		T(a_write_comes_twice_only_if_it_was_sent_again),
		T(a_write_sent_twice_does_not_come_after_it_was_answered),
		T(a_write_sent_twice_may_have_happened_before_it_failed),
		T(what_nobody_answers_lands_late_but_once),
		T(what_is_settled_does_not_land_any_more),
		T(what_is_settled_may_have_happened),
		T(what_nobody_answers_may_have_come_between),
		T(what_nobody_hears_of_leaves_room_when_it_is_found_or_settled),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
