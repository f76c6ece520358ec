/*
 * trial/history: what may be found after power was lost, and after a block has changed by itself.
 */
#include <string.h>

#include "history_steps.h"

/* A is flushed; B and C, which come after it, are not. */
static void
lose_two_of_three(void)
{
	block_written(A);
	assert_true(flush_by(1));
	block_written(B);
	block_written(C);
	lose_power();
}

static void
what_was_not_flushed_may_be_lost(void **state)
{
	(void)state;
	lose_two_of_three();
	assert_true(block_is(A));
	assert_false(block_is(B)); /* what was found is durable */
}

static void
what_was_not_flushed_may_last(void **state)
{
	(void)state;
	lose_two_of_three();
	assert_true(block_is(B));
	lose_power();
	assert_false(block_is(C));
}

static void
what_was_flushed_is_not_lost(void **state)
{
	(void)state;
	block_written(A);
	block_written(B);
	assert_true(flush_by(3));
	lose_power();
	assert_false(block_is(A));
}

static void
what_was_written_at_once_and_flushed_is_not_lost(void **state)
{
	struct history_op a, b;

	(void)state;
	a = op_writes(1, A);
	b = op_writes(2, B);
	assert_true(op_done(&b));
	assert_true(op_done(&a));
	assert_true(flush_by(3));
	lose_power();
	assert_false(block_is(HISTORY_ZEROS));
}

static void
what_was_written_first_of_many_may_be_left(void **state)
{
	(void)state;
	for (uint64_t value = 10; value < 50; value++)
		block_written(value);
	lose_power();
	assert_true(block_is(10));
	assert_false(block_is(11));
}

static void
what_was_forgotten_may_be_left(void **state)
{
	struct history_op fua;

	(void)state;
	fua = op_writes(2, A);
	for (uint64_t value = 10; value < 150; value++)
		block_written(value);
	assert_true(op_durable(&fua)); /* perhaps it came first */
	lose_power();
	assert_true(block_is(12));
}

static void
what_is_done_through_the_cache_is_not_lost(void **state)
{
	struct history_op fua;

	(void)state;
	block_written(A);
	fua = op_writes(1, B);
	assert_true(op_durable(&fua));
	lose_power();
	assert_false(block_is(A));
}

static void
a_flush_does_not_cover_what_was_answered_after_it_began(void **state)
{
	struct history_flush flush;

	(void)state;
	block_written(A);
	assert_true(flush_by(1));
	history_flush_begin(steps.history, &flush, 1, steps_tick());
	block_written(B);
	assert_true(history_flush_done(steps.history, &flush, false, steps_tick()));
	lose_power();
	assert_true(block_is(A));
}

static void
a_flush_that_failed_covers_nothing(void **state)
{
	struct history_flush flush;

	(void)state;
	block_written(A);
	history_flush_begin(steps.history, &flush, 1, steps_tick());
	lose_power();
	assert_true(block_is(HISTORY_ZEROS));
}

static void
a_flush_does_not_speak_of_what_was_lost_before_it_began(void **state)
{
	(void)state;
	block_written(A);
	lose_power();
	assert_true(flush_by(1));
	assert_true(block_is(HISTORY_ZEROS));
}

static void
a_flush_lies_that_succeeds_after_what_it_covers_was_lost(void **state)
{
	struct history_flush flush;

	(void)state;
	block_written(A);
	history_flush_begin(steps.history, &flush, 1, steps_tick());
	lose_power();
	assert_true(block_is(HISTORY_ZEROS));
	for (uint64_t value = 10; value < 30; value++) {
		struct history_op write = op_writes(1, value);

		assert_true(op_failed(&write));
	}
	assert_false(history_flush_done(steps.history, &flush, false, steps_tick()));
	assert_non_null(strstr(history_wrong(steps.history), "block 2: the Flush of host 1 from"));
}

/* Who has come anew knows nothing of what it wrote in a former life; sent again its Flush speaks for this one alone. */
static void
a_flush_that_was_sent_again_covers_what_its_host_wrote_since_it_came(void **state)
{
	struct history_flush flush;

	(void)state;
	block_written(A);
	history_flush_begin(steps.history, &flush, 1, steps_tick());
	flush.came_ns = flush.begun_ns;
	lose_power();
	assert_true(history_flush_done(steps.history, &flush, true, steps_tick()));
	assert_true(block_is(HISTORY_ZEROS));
	block_written(B);
	history_flush_begin(steps.history, &flush, 1, steps_tick());
	lose_power();
	assert_true(history_flush_done(steps.history, &flush, true, steps_tick()));
	assert_false(block_is(HISTORY_ZEROS));
}

static void
a_flush_that_succeeds_late_forbids_what_it_excludes(void **state)
{
	struct history_flush flush;

	(void)state;
	block_written(A);
	history_flush_begin(steps.history, &flush, 1, steps_tick());
	lose_power();
	assert_true(history_flush_done(steps.history, &flush, false, steps_tick()));
	assert_false(block_is(HISTORY_ZEROS));
}

static void
a_flush_sent_twice_speaks_of_its_host_alone(void **state)
{
	(void)state;
	for (uint32_t who = 1; who < 3; who++) {
		struct history_flush flush;

		steps_again();
		block_written(A); /* by host 1 */
		history_flush_begin(steps.history, &flush, who, steps_tick());
		assert_true(history_flush_done(steps.history, &flush, true, steps_tick()));
		lose_power();
		assert_int_equal(block_is(HISTORY_ZEROS), who != 1);
	}
}

static void
what_is_in_flight_when_power_is_lost_may_last_or_come_later(void **state)
{
	(void)state;
	for (int way = 0; way < 3; way++) {
		struct history_op write;

		steps_again();
		block_written(A);
		assert_true(flush_by(1));
		write = op_writes(1, B);
		lose_power();
		assert_true(block_is(way == 0 ? B : A));
		if (way == 2)
			assert_true(block_is(B));
		assert_true(op_done(&write)); /* in way 1 it was lost, and its answer under way */
	}
}

static void
a_durable_write_answered_late_was_not_lost(void **state)
{
	struct history_op write;

	(void)state;
	block_written(A);
	write = op_writes(1, B);
	assert_true(block_is(B));
	lose_power();
	assert_true(block_is(A));
	assert_false(op_durable(&write));
	assert_non_null(strstr(history_wrong(steps.history), "the write of host 1"));
}

/* No Flush writes it any more; and what is written again is as any other. */
static void
what_a_failed_sync_has_lost_may_go_whatever_is_flushed(void **state)
{
	(void)state;
	block_written(A);
	assert_true(flush_by(1));
	block_written(B);
	history_unsynced(steps.history, STEPS_BLOCK);
	assert_true(flush_by(1));
	assert_true(block_is(B));
	lose_power();
	assert_true(block_is(A)); /* what was flushed before is there */
	block_written(B);
	history_unsynced(steps.history, STEPS_BLOCK);
	block_written(A);
	assert_true(flush_by(1));
	lose_power();
	assert_false(block_is(B));
}

static void
a_volume_in_memory_is_zeros_when_its_process_is_gone(void **state)
{
	struct history_op fua;

	(void)state;
	fua = op_writes(1, A);
	assert_true(op_durable(&fua));
	assert_true(flush_by(1));
	history_wiped(steps.history, steps_tick());
	assert_true(flush_by(1));
	assert_true(block_is(HISTORY_ZEROS));
	history_wiped(steps.history, steps_tick());
	lose_power();
	assert_false(block_is(A));
}

static void
a_block_that_changed_by_itself_is_anything_until_it_is_found(void **state)
{
	(void)state;
	block_written(A);
	history_corrupted(steps.history, STEPS_BLOCK);
	assert_true(block_is(HISTORY_GARBAGE));
	assert_true(block_is(HISTORY_GARBAGE));
	assert_false(block_is(A));
}

static void
a_block_that_changed_by_itself_is_right_when_it_is_written(void **state)
{
	struct history_op write;

	(void)state;
	write = op_writes(1, A);
	history_corrupted(steps.history, STEPS_BLOCK);
	assert_true(op_done(&write));
	assert_true(block_is(0x1234)); /* it changed after it was written */
	block_written(B);
	assert_true(block_is(B));
	assert_false(block_is(HISTORY_GARBAGE));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, steps_setup, steps_teardown)
	const struct CMUnitTest tests[] = {
		T(what_was_not_flushed_may_be_lost),
		T(what_was_not_flushed_may_last),
		T(what_was_flushed_is_not_lost),
		T(what_was_written_at_once_and_flushed_is_not_lost),
		T(what_was_written_first_of_many_may_be_left),
		T(what_was_forgotten_may_be_left),
		T(what_a_failed_sync_has_lost_may_go_whatever_is_flushed),
		T(what_is_done_through_the_cache_is_not_lost),
		T(a_flush_does_not_cover_what_was_answered_after_it_began),
		T(a_flush_that_failed_covers_nothing),
		T(a_flush_does_not_speak_of_what_was_lost_before_it_began),
		T(a_flush_lies_that_succeeds_after_what_it_covers_was_lost),
		T(a_flush_that_was_sent_again_covers_what_its_host_wrote_since_it_came),
		T(a_flush_that_succeeds_late_forbids_what_it_excludes),
		T(a_flush_sent_twice_speaks_of_its_host_alone),
		T(what_is_in_flight_when_power_is_lost_may_last_or_come_later),
		T(a_durable_write_answered_late_was_not_lost),
		T(a_volume_in_memory_is_zeros_when_its_process_is_gone),
		T(a_block_that_changed_by_itself_is_anything_until_it_is_found),
		T(a_block_that_changed_by_itself_is_right_when_it_is_written),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
