/*
 * trial/history: what a block may hold, rule by rule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "trial/history.h"

enum { BLOCKS = 4, BLOCK = 2, A = 0xa, B = 0xb, C = 0xc, D = 0xd };

static struct arena arena;
static struct history *h;
static uint64_t now_ns;

static int
begin(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	now_ns = 0;
	h = history_create(&arena, BLOCKS);
	return h == NULL;
}

static int
end(void **state)
{
	(void)state;
	arena_drop(&arena);
	return 0;
}

static uint64_t
tick(void)
{
	return now_ns += 100000;
}

static struct history_op
begun(enum history_kind kind, uint32_t who, uint64_t expected, uint64_t value)
{
	struct history_op op = { .block = BLOCK, .kind = kind, .who = who, .value = value, .expected = expected };

	assert_true(history_has_room(h, BLOCK));
	history_begin(h, &op, tick());
	return op;
}

static struct history_op
reads(uint32_t who)
{
	return begun(HISTORY_READ, who, 0, 0);
}

static struct history_op
writes(uint32_t who, uint64_t value)
{
	return begun(HISTORY_WRITE, who, 0, value);
}

static struct history_op
swaps(uint32_t who, uint64_t expected, uint64_t value)
{
	return begun(HISTORY_SWAP, who, expected, value);
}

static bool
found(struct history_op *op, uint64_t value)
{
	return history_found(h, op, value, tick());
}

static bool
done(struct history_op *op)
{
	return history_done(h, op, false, tick());
}

static bool
durable(struct history_op *op)
{
	return history_done(h, op, true, tick());
}

static bool
differs(struct history_op *op)
{
	return history_differs(h, op, tick());
}

static bool
failed(struct history_op *op)
{
	return history_had_no_effect(h, op, tick());
}

/* One after another, by host 1. */
static void
written(uint64_t value)
{
	struct history_op op = writes(1, value);

	assert_true(done(&op));
}

static bool
is_read(uint64_t value)
{
	struct history_op op = reads(2);

	return found(&op, value);
}

static bool
compares(uint64_t value)
{
	struct history_op op = begun(HISTORY_COMPARE, 2, value, 0);

	return done(&op);
}

static bool
flushed(uint32_t who)
{
	struct history_flush flush;

	history_flush_begin(h, &flush, who, tick());
	return history_flush_done(h, &flush, false, tick());
}

static void
power_lost(void)
{
	history_power_lost(h, tick());
}

/* ---- what is answered ---- */

static void
a_block_is_zeros_at_first(void **state)
{
	(void)state;
	assert_true(is_read(HISTORY_ZEROS));
	assert_null(history_wrong(h));
	assert_false(is_read(A));
	assert_non_null(history_wrong(h));
}

static void
a_read_finds_what_was_written_last_and_nothing_older(void **state)
{
	(void)state;
	written(A);
	assert_true(is_read(A));
	written(B);
	assert_true(is_read(B));
	assert_false(is_read(A));
}

static void
a_read_may_find_what_is_being_written_or_what_was_there(void **state)
{
	struct history_op write, old, new;

	(void)state;
	written(A);
	write = writes(1, B);
	old = reads(2);
	new = reads(3);
	assert_true(found(&old, A));
	assert_true(found(&new, B));
	assert_true(done(&write));
	assert_false(is_read(A));
}

static void
what_one_read_has_found_the_next_does_not_undo(void **state)
{
	struct history_op write;

	(void)state;
	written(A);
	write = writes(1, B);
	assert_true(is_read(B));
	assert_false(is_read(A));
	(void)write;
}

static void
a_read_may_find_what_was_overwritten_while_it_lasted(void **state)
{
	struct history_op read;

	(void)state;
	written(A);
	read = reads(2);
	written(B);
	written(C);
	assert_true(found(&read, B));
	read = reads(2);
	written(D);
	assert_false(found(&read, B));
}

static void
two_writes_at_once_end_in_either_order_but_in_one(void **state)
{
	struct history_op a, b;

	(void)state;
	a = writes(1, A);
	b = writes(2, B);
	assert_true(done(&a));
	assert_true(done(&b));
	assert_true(is_read(A));
	assert_true(is_read(A));
	assert_false(is_read(B));
}

static void
what_is_torn_is_never_right(void **state)
{
	struct history_op write;

	(void)state;
	written(A);
	write = writes(1, B);
	assert_false(is_read(HISTORY_GARBAGE));
	(void)write;
}

static void
a_write_that_failed_is_not_found(void **state)
{
	struct history_op write;

	(void)state;
	written(A);
	write = writes(1, B);
	assert_true(failed(&write));
	assert_true(is_read(A));
	assert_false(is_read(B));
}

static void
what_was_found_has_not_failed(void **state)
{
	struct history_op write = writes(1, A);

	(void)state;
	assert_true(is_read(A));
	assert_false(failed(&write));
	assert_non_null(history_wrong(h));
}

static void
zeros_are_found_after_they_were_written_twice(void **state)
{
	struct history_op zeros, more;

	(void)state;
	written(A);
	zeros = writes(1, HISTORY_ZEROS);
	more = writes(2, HISTORY_ZEROS);
	assert_true(done(&zeros));
	assert_true(is_read(HISTORY_ZEROS));
	written(B);
	assert_true(is_read(B));
	assert_true(is_read(HISTORY_ZEROS)); /* the second's */
	assert_true(done(&more));
	assert_false(is_read(B));
}

static void
a_block_is_unreadable_until_it_is_written(void **state)
{
	struct history_op bad;

	(void)state;
	written(A);
	bad = writes(1, HISTORY_UNREADABLE);
	assert_true(durable(&bad));
	assert_true(is_read(HISTORY_UNREADABLE));
	power_lost();
	assert_true(is_read(HISTORY_UNREADABLE));
	written(B);
	assert_true(is_read(B));
	assert_false(is_read(HISTORY_UNREADABLE));
}

/* ---- what compares ---- */

static void
a_compare_finds_what_is_there(void **state)
{
	struct history_op compare;

	(void)state;
	written(A);
	assert_true(compares(A));
	compare = begun(HISTORY_COMPARE, 2, B, 0);
	assert_true(differs(&compare));
	assert_null(history_wrong(h));
	assert_false(compares(B));
}

static void
a_compare_does_not_differ_from_what_is_there_all_the_time(void **state)
{
	struct history_op compare;

	(void)state;
	written(A);
	compare = begun(HISTORY_COMPARE, 2, A, 0);
	assert_false(differs(&compare));
}

static void
of_two_swaps_of_the_same_one_finds_something_else(void **state)
{
	struct history_op first, second;

	(void)state;
	first = swaps(1, HISTORY_ZEROS, A);
	second = swaps(2, HISTORY_ZEROS, B);
	assert_true(done(&first));
	assert_true(differs(&second));
	assert_true(is_read(A));
}

static void
an_update_is_not_lost_by_two_swaps(void **state)
{
	struct history_op first, second;

	(void)state;
	first = swaps(1, HISTORY_ZEROS, A);
	second = swaps(2, HISTORY_ZEROS, B);
	assert_true(done(&first));
	assert_false(done(&second));
}

static void
swaps_may_follow_one_another_in_any_order_of_their_answers(void **state)
{
	struct history_op first, second, third;

	(void)state;
	first = swaps(1, HISTORY_ZEROS, A);
	second = swaps(2, A, B);
	third = swaps(3, B, C);
	assert_true(done(&third));
	assert_true(done(&first));
	assert_true(done(&second));
	assert_true(is_read(C));
}

static void
a_swap_that_differed_has_not_written(void **state)
{
	struct history_op swap, write;

	(void)state;
	swap = swaps(1, HISTORY_ZEROS, A);
	write = writes(2, B);
	assert_true(done(&write));
	assert_true(differs(&swap));
	assert_false(is_read(A));
}

static void
a_swap_does_not_differ_where_it_must_have_matched(void **state)
{
	struct history_op swap;

	(void)state;
	written(A);
	swap = swaps(1, A, B);
	assert_false(differs(&swap));
}

static void
a_swap_sent_twice_may_differ_from_what_it_has_written(void **state)
{
	struct history_op swap;

	(void)state;
	written(A);
	swap = swaps(1, A, B);
	history_shake(h, &swap);
	assert_true(differs(&swap));
	assert_true(is_read(B));
}

/* ---- what is sent twice, and what is never answered ---- */

static void
a_write_comes_twice_only_if_it_was_sent_again(void **state)
{
	for (int again = 0; again < 2; again++) {
		struct history_op write;

		end(state);
		begin(state);
		write = writes(1, A);
		assert_true(is_read(A));
		written(B);
		assert_true(is_read(B));
		if (again)
			history_shake(h, &write);
		assert_int_equal(is_read(A), again);
	}
}

static void
a_write_sent_twice_does_not_come_after_it_was_answered(void **state)
{
	struct history_op write;

	(void)state;
	write = writes(1, A);
	history_shake(h, &write);
	assert_true(done(&write));
	written(B);
	assert_true(is_read(B));
	assert_false(is_read(A));
}

static void
a_write_sent_twice_may_have_happened_before_it_failed(void **state)
{
	struct history_op write;

	(void)state;
	write = writes(1, A);
	history_shake(h, &write);
	assert_true(failed(&write));
	assert_true(is_read(A));
}

static void
what_nobody_answers_lands_late_but_once(void **state)
{
	struct history_op write;

	(void)state;
	write = writes(1, A);
	history_unknown(h, &write, tick());
	written(B);
	assert_true(is_read(B));
	assert_true(is_read(A));
	written(C);
	assert_false(is_read(A));
}

static void
what_is_settled_does_not_land_any_more(void **state)
{
	struct history_op write, other;

	(void)state;
	write = writes(1, A);
	other = writes(2, D);
	history_unknown(h, &write, tick());
	history_unknown(h, &other, tick());
	written(B);
	history_settled(h, 1);
	assert_true(is_read(B)); /* nobody has seen A: it came before, or never */
	assert_true(is_read(D));
	assert_false(is_read(A));
}

static void
what_is_settled_may_have_happened(void **state)
{
	struct history_op write;

	(void)state;
	write = writes(1, A);
	history_unknown(h, &write, tick());
	history_settled(h, 1);
	assert_true(is_read(A));
	assert_false(is_read(HISTORY_ZEROS));
}

static void
what_nobody_answers_may_have_come_between(void **state)
{
	struct history_op first, between, last;

	(void)state;
	first = writes(1, A);
	written(B);
	between = swaps(2, A, C);
	history_unknown(h, &between, tick());
	last = writes(3, D);
	assert_true(done(&last));
	assert_true(done(&first));
	assert_true(is_read(D));
	history_settled(h, 2);
	power_lost();
	assert_true(is_read(C)); /* B, A, C, D */
}

static void
what_nobody_hears_of_leaves_room_when_it_is_found_or_settled(void **state)
{
	struct history_op ops[HISTORY_PENDING_MAX];

	(void)state;
	for (unsigned i = 0; i < HISTORY_PENDING_MAX; i++) {
		ops[i] = writes(i, A + i);
		history_unknown(h, &ops[i], tick());
		assert_true(history_has_room(h, BLOCK) == (i + 1 < HISTORY_PENDING_MAX));
	}
	history_settled(h, 3);
	assert_true(history_has_room(h, BLOCK));
	ops[0] = reads(7);
	assert_false(history_has_room(h, BLOCK));
	assert_true(found(&ops[0], A + 5));
	for (unsigned i = 0; i < 2; i++)
		ops[i] = reads(7);
	assert_false(history_has_room(h, BLOCK));
}

/* ---- what lasts ---- */

static void
what_was_not_flushed_may_be_lost(void **state)
{
	(void)state;
	written(A);
	assert_true(flushed(1));
	written(B);
	written(C);
	power_lost();
	assert_true(is_read(A));
	assert_false(is_read(B)); /* what was found is durable */
}

static void
what_was_not_flushed_may_last(void **state)
{
	(void)state;
	written(A);
	assert_true(flushed(1));
	written(B);
	written(C);
	power_lost();
	assert_true(is_read(B));
	power_lost();
	assert_false(is_read(C));
}

static void
what_was_flushed_is_not_lost(void **state)
{
	(void)state;
	written(A);
	written(B);
	assert_true(flushed(3));
	power_lost();
	assert_false(is_read(A));
}

static void
what_was_written_at_once_and_flushed_is_not_lost(void **state)
{
	struct history_op a, b;

	(void)state;
	a = writes(1, A);
	b = writes(2, B);
	assert_true(done(&b));
	assert_true(done(&a));
	assert_true(flushed(3));
	power_lost();
	assert_false(is_read(HISTORY_ZEROS));
}

static void
what_was_written_first_of_many_may_be_left(void **state)
{
	(void)state;
	for (uint64_t value = 10; value < 50; value++)
		written(value);
	power_lost();
	assert_true(is_read(10));
	assert_false(is_read(11));
}

static void
what_was_forgotten_may_be_left(void **state)
{
	struct history_op fua;

	(void)state;
	fua = writes(2, A);
	for (uint64_t value = 10; value < 150; value++)
		written(value);
	assert_true(durable(&fua)); /* perhaps it came first */
	power_lost();
	assert_true(is_read(12));
}

static void
what_is_done_through_the_cache_is_not_lost(void **state)
{
	struct history_op fua;

	(void)state;
	written(A);
	fua = writes(1, B);
	assert_true(durable(&fua));
	power_lost();
	assert_false(is_read(A));
}

static void
a_flush_does_not_cover_what_was_answered_after_it_began(void **state)
{
	struct history_flush flush;

	(void)state;
	written(A);
	assert_true(flushed(1));
	history_flush_begin(h, &flush, 1, tick());
	written(B);
	assert_true(history_flush_done(h, &flush, false, tick()));
	power_lost();
	assert_true(is_read(A));
}

static void
a_flush_that_failed_covers_nothing(void **state)
{
	struct history_flush flush;

	(void)state;
	written(A);
	history_flush_begin(h, &flush, 1, tick());
	power_lost();
	assert_true(is_read(HISTORY_ZEROS));
}

static void
a_flush_does_not_speak_of_what_was_lost_before_it_began(void **state)
{
	(void)state;
	written(A);
	power_lost();
	assert_true(flushed(1));
	assert_true(is_read(HISTORY_ZEROS));
}

static void
a_flush_lies_that_succeeds_after_what_it_covers_was_lost(void **state)
{
	struct history_flush flush;

	(void)state;
	written(A);
	history_flush_begin(h, &flush, 1, tick());
	power_lost();
	assert_true(is_read(HISTORY_ZEROS));
	for (uint64_t value = 10; value < 30; value++) {
		struct history_op write = writes(1, value);

		assert_true(failed(&write));
	}
	assert_false(history_flush_done(h, &flush, false, tick()));
	assert_non_null(strstr(history_wrong(h), "block 2: the Flush of host 1 from"));
}

static void
a_flush_that_succeeds_late_forbids_what_it_excludes(void **state)
{
	struct history_flush flush;

	(void)state;
	written(A);
	history_flush_begin(h, &flush, 1, tick());
	power_lost();
	assert_true(history_flush_done(h, &flush, false, tick()));
	assert_false(is_read(HISTORY_ZEROS));
}

static void
a_flush_sent_twice_speaks_of_its_host_alone(void **state)
{
	for (uint32_t who = 1; who < 3; who++) {
		struct history_flush flush;

		end(state);
		begin(state);
		written(A); /* by host 1 */
		history_flush_begin(h, &flush, who, tick());
		assert_true(history_flush_done(h, &flush, true, tick()));
		power_lost();
		assert_int_equal(is_read(HISTORY_ZEROS), who != 1);
	}
}

static void
what_is_in_flight_when_power_is_lost_may_last_or_come_later(void **state)
{
	for (int way = 0; way < 3; way++) {
		struct history_op write;

		end(state);
		begin(state);
		written(A);
		assert_true(flushed(1));
		write = writes(1, B);
		power_lost();
		assert_true(is_read(way == 0 ? B : A));
		if (way == 2)
			assert_true(is_read(B));
		assert_true(done(&write)); /* in way 1 it was lost, and its answer under way */
	}
}

static void
a_durable_write_answered_late_was_not_lost(void **state)
{
	struct history_op write;

	(void)state;
	written(A);
	write = writes(1, B);
	assert_true(is_read(B));
	power_lost();
	assert_true(is_read(A));
	assert_false(durable(&write));
	assert_non_null(strstr(history_wrong(h), "the write of host 1"));
}

static void
a_volume_in_memory_is_zeros_when_its_process_is_gone(void **state)
{
	struct history_op fua;

	(void)state;
	fua = writes(1, A);
	assert_true(durable(&fua));
	assert_true(flushed(1));
	history_wiped(h, tick());
	assert_true(flushed(1));
	assert_true(is_read(HISTORY_ZEROS));
	history_wiped(h, tick());
	power_lost();
	assert_false(is_read(A));
}

static void
a_block_that_changed_by_itself_is_anything_until_it_is_found(void **state)
{
	(void)state;
	written(A);
	history_corrupted(h, BLOCK);
	assert_true(is_read(HISTORY_GARBAGE));
	assert_true(is_read(HISTORY_GARBAGE));
	assert_false(is_read(A));
}

static void
a_block_that_changed_by_itself_is_right_when_it_is_written(void **state)
{
	struct history_op write;

	(void)state;
	write = writes(1, A);
	history_corrupted(h, BLOCK);
	assert_true(done(&write));
	assert_true(is_read(0x1234)); /* it changed after it was written */
	written(B);
	assert_true(is_read(B));
	assert_false(is_read(HISTORY_GARBAGE));
}

/* ---- how it says so, and what it costs ---- */

static void
what_is_wrong_is_said_in_words(void **state)
{
	struct history_op read;

	(void)state;
	written(0x2004b);
	written(0x20051);
	read = reads(3);
	writes(2, 0x20052);
	power_lost();
	assert_true(flushed(2));
	assert_true(is_read(0x20051));
	assert_false(found(&read, 0x2004c));
	assert_string_equal(history_wrong(h), "block 2: host 3 read 0x2004c (not one of the last that were written "
	    "there) from 0.500 ms to 1.200 ms; allowed was 0x20051 (host 1, 0.300 ms) or 0x20052 (host 2, 0.600 ms); "
	    "power was lost last at 0.700 ms");
	assert_false(is_read(HISTORY_ZEROS) && is_read(HISTORY_GARBAGE));
	assert_non_null(strstr(history_wrong(h), "0x2004c")); /* the first of all */
}

static void
who_wrote_what_is_stale_is_said(void **state)
{
	(void)state;
	written(A);
	written(B);
	assert_false(is_read(A));
	assert_string_equal(history_wrong(h), "block 2: host 2 read 0xa (written by host 1 at 0.100 ms) from 0.500 ms "
	    "to 0.600 ms; allowed was 0xb (host 1, 0.300 ms)");
}

static void
much_that_was_not_flushed_is_forgotten_but_for_what_is_there(void **state)
{
	size_t bytes = 0;

	(void)state;
	for (uint64_t value = 10; value < 100000; value++) {
		written(value);
		if (value == 1000)
			bytes = arena.bytes;
	}
	assert_int_equal(arena.bytes, bytes);
	assert_true(is_read(99999));
	power_lost();
	assert_true(is_read(99998));
	assert_false(is_read(99999));
}

static void
what_lasts_long_among_many_writes_is_judged(void **state)
{
	struct history_op read = reads(2);

	(void)state;
	for (uint64_t value = 10; value < 1000; value++)
		written(value);
	assert_true(is_read(999));
	assert_true(found(&read, 990));
	read = reads(2);
	for (uint64_t value = 1000; value < 1010; value++)
		written(value);
	assert_false(found(&read, 990));
}

static void
many_states_are_borne_without_a_false_word(void **state)
{
	struct history_op ops[HISTORY_PENDING_MAX];

	(void)state;
	for (uint64_t value = 10; value < 70; value++)
		written(value);
	for (unsigned i = 0; i < HISTORY_PENDING_MAX; i++)
		ops[i] = i < 4 ? writes(i, 100 + i) : swaps(i, 100, 100 + i);
	power_lost();
	power_lost();
	for (unsigned i = 0; i < 4; i++)
		assert_true(done(&ops[i]));
	assert_true(differs(&ops[4]));
	assert_true(done(&ops[5]));
	assert_true(is_read(105));
	written(A);
	assert_true(is_read(A));
	assert_false(is_read(B));
	assert_in_range(history_states(h), 64, HISTORY_STATES_MAX + 1);
}

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
one_after_another_costs_next_to_nothing(void **state)
{
	enum { ROUNDS = 1000000 };
	uint64_t from = cpu_ns(), each;
	struct history_op op = { .block = BLOCK, .who = 1, .value = 100 };

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		op.kind = i % 2 == 0 ? HISTORY_WRITE : HISTORY_READ;
		op.value += i % 2 == 0;
		history_begin(h, &op, i);
		assert_true(i % 2 == 0 ? history_done(h, &op, i % 16 == 0, i) : history_found(h, &op, op.value, i));
	}
	each = (cpu_ns() - from) / ROUNDS;
	print_message("# %llu ns each\n", (unsigned long long)each);
	assert_in_range(each, 0, 2000);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
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
		T(a_write_comes_twice_only_if_it_was_sent_again),
		T(a_write_sent_twice_does_not_come_after_it_was_answered),
		T(a_write_sent_twice_may_have_happened_before_it_failed),
		T(what_nobody_answers_lands_late_but_once),
		T(what_is_settled_does_not_land_any_more),
		T(what_is_settled_may_have_happened),
		T(what_nobody_answers_may_have_come_between),
		T(what_nobody_hears_of_leaves_room_when_it_is_found_or_settled),
		T(what_was_not_flushed_may_be_lost),
		T(what_was_not_flushed_may_last),
		T(what_was_flushed_is_not_lost),
		T(what_was_written_at_once_and_flushed_is_not_lost),
		T(what_was_written_first_of_many_may_be_left),
		T(what_was_forgotten_may_be_left),
		T(what_is_done_through_the_cache_is_not_lost),
		T(a_flush_does_not_cover_what_was_answered_after_it_began),
		T(a_flush_that_failed_covers_nothing),
		T(a_flush_does_not_speak_of_what_was_lost_before_it_began),
		T(a_flush_lies_that_succeeds_after_what_it_covers_was_lost),
		T(a_flush_that_succeeds_late_forbids_what_it_excludes),
		T(a_flush_sent_twice_speaks_of_its_host_alone),
		T(what_is_in_flight_when_power_is_lost_may_last_or_come_later),
		T(a_durable_write_answered_late_was_not_lost),
		T(a_volume_in_memory_is_zeros_when_its_process_is_gone),
		T(a_block_that_changed_by_itself_is_anything_until_it_is_found),
		T(a_block_that_changed_by_itself_is_right_when_it_is_written),
		T(what_is_wrong_is_said_in_words),
		T(who_wrote_what_is_stale_is_said),
		T(much_that_was_not_flushed_is_forgotten_but_for_what_is_there),
		T(what_lasts_long_among_many_writes_is_judged),
		T(many_states_are_borne_without_a_false_word),
		T(one_after_another_costs_next_to_nothing),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
