/*
 * trial/history: what is answered of a block, rule by rule; and how it says that something is wrong.
 */
#include <string.h>

#include "history_steps.h"

/* ---- what is answered ---- */

static void
a_block_is_zeros_at_first(void **state)
{
	(void)state;
	assert_true(block_is(HISTORY_ZEROS));
	assert_null(history_wrong(steps.history));
	assert_false(block_is(A));
	assert_non_null(history_wrong(steps.history));
}

static void
a_read_finds_what_was_written_last_and_nothing_older(void **state)
{
	(void)state;
	block_written(A);
	assert_true(block_is(A));
	block_written(B);
	assert_true(block_is(B));
	assert_false(block_is(A));
}

static void
a_read_may_find_what_is_being_written_or_what_was_there(void **state)
{
	struct history_op write, old, new;

	(void)state;
	block_written(A);
	write = op_writes(1, B);
	old = op_reads(2);
	new = op_reads(3);
	assert_true(op_found(&old, A));
	assert_true(op_found(&new, B));
	assert_true(op_done(&write));
	assert_false(block_is(A));
}

static void
what_one_read_has_found_the_next_does_not_undo(void **state)
{
	struct history_op write;

	(void)state;
	block_written(A);
	write = op_writes(1, B);
	assert_true(block_is(B));
	assert_false(block_is(A));
	(void)write;
}

static void
a_read_may_find_what_was_overwritten_while_it_lasted(void **state)
{
	struct history_op read;

	(void)state;
	block_written(A);
	read = op_reads(2);
	block_written(B);
	block_written(C);
	assert_true(op_found(&read, B));
	read = op_reads(2);
	block_written(D);
	assert_false(op_found(&read, B));
}

static void
two_writes_at_once_end_in_either_order_but_in_one(void **state)
{
	struct history_op a, b;

	(void)state;
	a = op_writes(1, A);
	b = op_writes(2, B);
	assert_true(op_done(&a));
	assert_true(op_done(&b));
	assert_true(block_is(A));
	assert_true(block_is(A));
	assert_false(block_is(B));
}

static void
what_is_torn_is_never_right(void **state)
{
	struct history_op write;

	(void)state;
	block_written(A);
	write = op_writes(1, B);
	assert_false(block_is(HISTORY_GARBAGE));
	(void)write;
}

static void
a_write_that_failed_is_not_found(void **state)
{
	struct history_op write;

	(void)state;
	block_written(A);
	write = op_writes(1, B);
	assert_true(op_failed(&write));
	assert_true(block_is(A));
	assert_false(block_is(B));
}

static void
what_was_found_has_not_failed(void **state)
{
	struct history_op write = op_writes(1, A);

	(void)state;
	assert_true(block_is(A));
	assert_false(op_failed(&write));
	assert_non_null(history_wrong(steps.history));
}

static void
zeros_are_found_after_they_were_written_twice(void **state)
{
	struct history_op zeros, more;

	(void)state;
	block_written(A);
	zeros = op_writes(1, HISTORY_ZEROS);
	more = op_writes(2, HISTORY_ZEROS);
	assert_true(op_done(&zeros));
	assert_true(block_is(HISTORY_ZEROS));
	block_written(B);
	assert_true(block_is(B));
	assert_true(block_is(HISTORY_ZEROS)); /* the second's */
	assert_true(op_done(&more));
	assert_false(block_is(B));
}

static void
a_block_is_unreadable_until_it_is_written(void **state)
{
	struct history_op bad;

	(void)state;
	block_written(A);
	bad = op_writes(1, HISTORY_UNREADABLE);
	assert_true(op_durable(&bad));
	assert_true(block_is(HISTORY_UNREADABLE));
	lose_power();
	assert_true(block_is(HISTORY_UNREADABLE));
	block_written(B);
	assert_true(block_is(B));
	assert_false(block_is(HISTORY_UNREADABLE));
}

/* ---- what compares ---- */

static void
a_compare_finds_what_is_there(void **state)
{
	struct history_op compare;

	(void)state;
	block_written(A);
	assert_true(block_compares(A));
	compare = op_begins(HISTORY_COMPARE, 2, B, 0);
	assert_true(op_differs(&compare));
	assert_null(history_wrong(steps.history));
	assert_false(block_compares(B));
}

static void
a_compare_does_not_differ_from_what_is_there_all_the_time(void **state)
{
	struct history_op compare;

	(void)state;
	block_written(A);
	compare = op_begins(HISTORY_COMPARE, 2, A, 0);
	assert_false(op_differs(&compare));
}

static void
of_two_swaps_of_the_same_one_finds_something_else(void **state)
{
	struct history_op first, second;

	(void)state;
	first = op_swaps(1, HISTORY_ZEROS, A);
	second = op_swaps(2, HISTORY_ZEROS, B);
	assert_true(op_done(&first));
	assert_true(op_differs(&second));
	assert_true(block_is(A));
}

static void
an_update_is_not_lost_by_two_swaps(void **state)
{
	struct history_op first, second;

	(void)state;
	first = op_swaps(1, HISTORY_ZEROS, A);
	second = op_swaps(2, HISTORY_ZEROS, B);
	assert_true(op_done(&first));
	assert_false(op_done(&second));
}

static void
swaps_may_follow_one_another_in_any_order_of_their_answers(void **state)
{
	struct history_op first, second, third;

	(void)state;
	first = op_swaps(1, HISTORY_ZEROS, A);
	second = op_swaps(2, A, B);
	third = op_swaps(3, B, C);
	assert_true(op_done(&third));
	assert_true(op_done(&first));
	assert_true(op_done(&second));
	assert_true(block_is(C));
}

static void
a_swap_that_differed_has_not_written(void **state)
{
	struct history_op swap, write;

	(void)state;
	swap = op_swaps(1, HISTORY_ZEROS, A);
	write = op_writes(2, B);
	assert_true(op_done(&write));
	assert_true(op_differs(&swap));
	assert_false(block_is(A));
}

static void
a_swap_does_not_differ_where_it_must_have_matched(void **state)
{
	struct history_op swap;

	(void)state;
	block_written(A);
	swap = op_swaps(1, A, B);
	assert_false(op_differs(&swap));
}

static void
a_swap_sent_twice_may_differ_from_what_it_has_written(void **state)
{
	struct history_op swap;

	(void)state;
	block_written(A);
	swap = op_swaps(1, A, B);
	history_shake(steps.history, &swap);
	assert_true(op_differs(&swap));
	assert_true(block_is(B));
}

/* ---- how it says so, and what it bears ---- */

static void
what_is_wrong_is_said_in_words(void **state)
{
	struct history_op read;

	(void)state;
	block_written(0x2004b);
	block_written(0x20051);
	read = op_reads(3);
	op_writes(2, 0x20052);
	lose_power();
	assert_true(flush_by(2));
	assert_true(block_is(0x20051));
	assert_false(op_found(&read, 0x2004c));
	assert_string_equal(history_wrong(steps.history), "block 2: host 3 read 0x2004c (not one of the last that were "
	    "written there) from 0.500 ms to 1.200 ms; allowed was 0x20051 (host 1, 0.300 ms) or 0x20052 (host 2, "
	    "0.600 ms); power was lost last at 0.700 ms");
	assert_false(block_is(HISTORY_ZEROS) && block_is(HISTORY_GARBAGE));
	assert_non_null(strstr(history_wrong(steps.history), "0x2004c")); /* the first of all */
}

static void
who_wrote_what_is_stale_is_said(void **state)
{
	(void)state;
	block_written(A);
	block_written(B);
	assert_false(block_is(A));
	assert_string_equal(history_wrong(steps.history), "block 2: host 2 read 0xa (written by host 1 at 0.100 ms) "
	    "from 0.500 ms to 0.600 ms; allowed was 0xb (host 1, 0.300 ms)");
}

static void
much_that_was_not_flushed_is_forgotten_but_for_what_is_there(void **state)
{
	size_t bytes = 0;

	(void)state;
	for (uint64_t value = 10; value < 100000; value++) {
		block_written(value);
		if (value == 1000)
			bytes = steps.arena.bytes;
	}
	assert_int_equal(steps.arena.bytes, bytes);
	assert_true(block_is(99999));
	lose_power();
	assert_true(block_is(99998));
	assert_false(block_is(99999));
}

static void
what_lasts_long_among_many_writes_is_judged(void **state)
{
	struct history_op read = op_reads(2);

	(void)state;
	for (uint64_t value = 10; value < 1000; value++)
		block_written(value);
	assert_true(block_is(999));
	assert_true(op_found(&read, 990));
	read = op_reads(2);
	for (uint64_t value = 1000; value < 1010; value++)
		block_written(value);
	assert_false(op_found(&read, 990));
}

static void
many_states_are_borne_without_a_false_word(void **state)
{
	struct history_op ops[HISTORY_PENDING_MAX];

	(void)state;
	for (uint64_t value = 10; value < 70; value++)
		block_written(value);
	for (unsigned i = 0; i < HISTORY_PENDING_MAX; i++)
		ops[i] = i < 4 ? op_writes(i, 100 + i) : op_swaps(i, 100, 100 + i);
	lose_power();
	lose_power();
	for (unsigned i = 0; i < 4; i++)
		assert_true(op_done(&ops[i]));
	assert_true(op_differs(&ops[4]));
	assert_true(op_done(&ops[5]));
	assert_true(block_is(105));
	block_written(A);
	assert_true(block_is(A));
	assert_false(block_is(B));
	assert_in_range(history_states(steps.history), 64, HISTORY_STATES_MAX);
	assert_true(history_track_lost(steps.history) > 0);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, steps_setup, steps_teardown)
	const struct CMUnitTest tests[] = {
		T(a_block_is_zeros_at_first),
		T(a_read_finds_what_was_written_last_and_nothing_older),
		T(a_read_may_find_what_is_being_written_or_what_was_there),
		T(what_one_read_has_found_the_next_does_not_undo),
		T(a_read_may_find_what_was_overwritten_while_it_lasted),
		T(two_writes_at_once_end_in_either_order_but_in_one),
		T(what_is_torn_is_never_right),
		T(a_write_that_failed_is_not_found),
		T(what_was_found_has_not_failed),
		T(zeros_are_found_after_they_were_written_twice),
		T(a_block_is_unreadable_until_it_is_written),
		T(a_compare_finds_what_is_there),
		T(a_compare_does_not_differ_from_what_is_there_all_the_time),
		T(of_two_swaps_of_the_same_one_finds_something_else),
		T(an_update_is_not_lost_by_two_swaps),
		T(swaps_may_follow_one_another_in_any_order_of_their_answers),
		T(a_swap_that_differed_has_not_written),
		T(a_swap_does_not_differ_where_it_must_have_matched),
		T(a_swap_sent_twice_may_differ_from_what_it_has_written),
		T(what_is_wrong_is_said_in_words),
		T(who_wrote_what_is_stale_is_said),
		T(much_that_was_not_flushed_is_forgotten_but_for_what_is_there),
		T(what_lasts_long_among_many_writes_is_judged),
		T(many_states_are_borne_without_a_false_word),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
