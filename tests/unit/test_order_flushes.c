/*
 * test_order_flushes.c - a stream at its host: when what is complete is durable, where flush marks go, and what there
 * is no room for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order_host_bench.h"

/* ---- flushes ---- */

static void
with_caches_it_is_durable_behind_flush_marks_of_all_servers(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, false, 8);
	struct order_item *first, *second;

	(void)state;
	seq_submit(bench, 0, 1, 0);
	seq_submit(bench, 8, 1, ORDER_END);
	seq_answer_all(bench);
	seq_assert_groups(bench, 1, 0);
	/* To the other server something has gone since, and is on its way. */
	seq_submit(bench, 1, 1, ORDER_END | ORDER_DURABLE);
	first = seq_assert_next(bench, 0, 2, 2, 1, 2, 1, LAST | FLUSH);
	second = seq_assert_next(bench, 1, 2, 2, 1, 0, 1, FLUSH);
	assert_int_equal(second->blocks_in_all, 0);
	seq_answered(bench, first);
	seq_assert_groups(bench, 1, 0);
	seq_answered(bench, second);
	seq_assert_groups(bench, 2, 2);
	assert_int_equal(bench->sequencer.free_count, ITEMS);
	/* Only one of them has had anything. */
	seq_submit(bench, 2, 1, ORDER_END | ORDER_DURABLE);
	seq_answered(bench, seq_assert_next(bench, 0, 3, 3, 2, 1, 1, LAST | FLUSH));
	assert_null(seq_next(bench, 1));
	seq_assert_groups(bench, 3, 3);
	free(bench);
}

/* With what waits there, though its group is an earlier one. */
static void
a_flush_mark_goes_with_what_is_in_the_line(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, false, 8);
	uint32_t group;

	(void)state;
	seq_submit(bench, 8, 1, ORDER_END);
	seq_submit(bench, 0, 1, ORDER_END);
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 2);
	seq_answered(bench, seq_assert_next(bench, 1, 1, 1, 0, 1, 1, LAST | FLUSH));
	seq_assert_groups(bench, 1, 1);
	seq_answered(bench, seq_assert_next(bench, 0, 2, 2, 0, 1, 1, LAST | FLUSH));
	seq_assert_groups(bench, 2, 2);
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 2);
	assert_null(seq_next(bench, 0));
	/* What has a mark is merged with what was before, but not with what comes. */
	seq_submit(bench, 1, 1, ORDER_END);
	seq_submit(bench, 2, 1, ORDER_END | ORDER_DURABLE);
	seq_submit(bench, 3, 1, ORDER_END);
	seq_assert_next(bench, 0, 3, 4, 2, 1, 1, LAST | MERGED | FLUSH);
	seq_assert_next(bench, 0, 5, 5, 4, 1, 1, LAST);
	/* All is on its way: it is a group of its own. */
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 6);
	seq_assert_next(bench, 0, 6, 6, 5, 1, 1, LAST | FLUSH);
	/* With what a group ends with. */
	seq_submit(bench, 1, 1, 0);
	order_sequencer_end(&bench->sequencer, ORDER_DURABLE);
	seq_assert_next(bench, 0, 7, 7, 6, 1, 1, LAST | FLUSH);
	free(bench);
}

static void
a_group_that_has_begun_is_flushed_when_it_ends(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, false, 128);
	uint32_t group;

	(void)state;
	seq_submit(bench, 0, 1, 0);
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 1);
	seq_answered(bench, seq_assert_next(bench, 0, 1, 1, 0, 0, 1, 0));
	seq_submit(bench, 9, 1, ORDER_END);
	seq_answered(bench, seq_assert_next(bench, 0, 1, 1, 0, 2, 1, LAST | FLUSH));
	seq_assert_groups(bench, 1, 1);
	seq_submit(bench, 19, 1, ORDER_END);
	seq_assert_next(bench, 0, 2, 2, 1, 1, 1, LAST);
	free(bench);
}

static void
what_drives_keep_needs_no_flush(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);
	uint32_t group;

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END | ORDER_DURABLE);
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 1);
	seq_answered(bench, seq_assert_next(bench, 0, 1, 1, 0, 1, 1, LAST));
	seq_assert_groups(bench, 1, 1);
	free(bench);
}

/* Of two drives of a server one keeps what it answers. */
static void
a_group_on_both_kinds_is_durable_when_both_say_so(void **state)
{
	struct seq_bench *bench = seq_begin(1, 2, true, 8);
	struct order_item *kept, *cached;

	(void)state;
	bench->members[1].keeps = false;
	order_sequencer_init(&bench->sequencer, &bench->layout, bench->items, ITEMS, ORDER_NO_GROUP);
	order_sequencer_up(&bench->sequencer, 0, ORDER_NO_GROUP, GUARANTEED);
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 8, 1, ORDER_END);
	kept = seq_assert_next(bench, 0, 1, 1, 0, 1, 1, LAST);
	cached = seq_assert_next(bench, 0, 2, 2, 1, 1, 1, LAST);
	seq_answered(bench, cached);
	seq_assert_groups(bench, 0, 0);
	seq_answered(bench, kept);
	seq_assert_groups(bench, 2, 1);
	order_sequencer_flush(&bench->sequencer, &(uint32_t){ 0 });
	seq_answered(bench, seq_assert_next(bench, 0, 3, 3, 2, 1, 1, LAST | FLUSH));
	seq_assert_groups(bench, 3, 3);
	free(bench);
	/* Of two servers: that with the drive that keeps it has no flush marks. */
	bench = seq_begin(2, 1, true, 8);
	bench->members[1].keeps = false;
	order_sequencer_init(&bench->sequencer, &bench->layout, bench->items, ITEMS, ORDER_NO_GROUP);
	order_sequencer_up(&bench->sequencer, 0, ORDER_NO_GROUP, GUARANTEED);
	order_sequencer_up(&bench->sequencer, 1, ORDER_NO_GROUP, GUARANTEED);
	seq_submit(bench, 8, 1, 0);
	seq_submit(bench, 0, 1, ORDER_END | ORDER_DURABLE);
	seq_answered(bench, seq_assert_next(bench, 0, 1, 1, 0, 2, 1, LAST));
	seq_answered(bench, seq_assert_next(bench, 1, 1, 1, 0, 0, 1, FLUSH));
	seq_assert_groups(bench, 1, 1);
	seq_submit(bench, 0, 1, 0);
	seq_submit(bench, 8, 1, ORDER_END | ORDER_DURABLE);
	seq_assert_next(bench, 0, 2, 2, 1, 0, 1, 0);
	seq_assert_next(bench, 1, 2, 2, 1, 2, 1, LAST | FLUSH);
	free(bench);
}

/* As the server says how much room it has; only with the last piece of a group. */
static void
it_flushes_before_the_log_is_full(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, false, 128);
	struct order_item *item;

	(void)state;
	seq_submit(bench, 100, 1, ORDER_END);
	item = seq_assert_next(bench, 0, 1, 1, 0, 1, 1, LAST);
	assert_true(order_sequencer_answered(&bench->sequencer, item, 3));
	for (uint32_t group = 2; group < GUARANTEED / 2; group++) {
		seq_submit(bench, 2 * group, 1, ORDER_END);
		item = seq_assert_next(bench, 0, group, group, group - 1, 1, 1, LAST);
		assert_true(order_sequencer_answered(&bench->sequencer, item, 3));
	}
	seq_submit(bench, 60, 1, 0);
	seq_assert_next(bench, 0, 12, 12, 11, 0, 1, 0);
	seq_submit(bench, 64, 1, ORDER_END);
	item = seq_assert_next(bench, 0, 12, 12, 11, 2, 1, LAST | FLUSH);
	seq_submit(bench, 66, 1, ORDER_END);
	seq_assert_next(bench, 0, 13, 13, 12, 1, 1, LAST);
	/* It needs a flush, and the one before it does not any more. */
	assert_true(bench->sequencer.ways[0].dirty);
	/* All before it were answered, but for one. */
	assert_false(order_sequencer_answered(&bench->sequencer, item, 3));
	free(bench);
}

static void
it_flushes_no_sooner_than_it_has_to(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, false, 128);
	uint32_t flushed;

	(void)state;
	for (uint32_t group = 1; group <= ITEMS / 4; group++) {
		seq_submit(bench, 2 * group, 1, ORDER_END);
		seq_answered(bench, seq_assert_next(bench, 0, group, group, group - 1, 1, 1, LAST));
	}
	assert_true(order_sequencer_flush(&bench->sequencer, &flushed));
	seq_answered(bench, seq_next(bench, 0));
	seq_assert_groups(bench, flushed, flushed);
	/* One that goes with a mark as the server has no room is behind all that there is. */
	for (uint32_t i = 0; i < GUARANTEED / 2; i++) {
		seq_submit(bench, 60 + 2 * i, 1, ORDER_END);
		assert_true(order_sequencer_answered(&bench->sequencer, seq_next(bench, 0), 0));
	}
	seq_assert_groups(bench, flushed + GUARANTEED / 2, flushed + GUARANTEED / 2);
	assert_true(order_sequencer_flush(&bench->sequencer, &flushed));
	assert_null(seq_next(bench, 0));
	free(bench);
}

static void
it_flushes_before_there_are_no_items(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, false, 8);
	unsigned flushes = 0;
	uint32_t group = 0;

	(void)state;
	for (unsigned i = 0; i < 10 * ITEMS; i++) {
		if (order_sequencer_submit(&bench->sequencer, 2 * (i % 128), 1, bench->data, ORDER_END, &group) !=
		    ORDER_TAKEN)
			seq_answer_all(bench);
		for (struct order_item *item; (item = seq_next(bench, 0)) != NULL;) {
			flushes += (item->attribute.flags & FLUSH) != 0;
			seq_answered(bench, item);
		}
	}
	seq_answer_all(bench);
	assert_in_range(flushes, 10 * ITEMS / ITEMS, 10 * ITEMS / 8);
	assert_in_range(bench->sequencer.durable, group - ITEMS, group);
	free(bench);
}

/* ---- room ---- */

static void
a_group_that_is_too_large_can_be_ended(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, false, 128);
	uint32_t group, taken = 0;
	enum order_submitted submitted;

	(void)state;
	while ((submitted = order_sequencer_submit(&bench->sequencer, 2 * taken, 1, bench->data, 0, &group)) ==
	    ORDER_TAKEN) {
		seq_next(bench, 0);
		taken++;
	}
	assert_int_equal(submitted, ORDER_TOO_LARGE);
	assert_int_equal(taken, GUARANTEED / 2 - 2);
	order_sequencer_end(&bench->sequencer, ORDER_DURABLE);
	seq_assert_next(bench, 0, 1, 1, 0, taken + 1, 1, LAST | FLUSH);
	free(bench);
}

static void
what_there_is_no_room_for_changes_nothing(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);
	uint32_t taken = 0, group = 77;

	(void)state;
	while (order_sequencer_submit(&bench->sequencer, 2 * taken, 1, bench->data, ORDER_END, &group) == ORDER_TAKEN)
		taken++;
	assert_int_equal(order_sequencer_submit(&bench->sequencer, 0, 1, bench->data, ORDER_END, &group), ORDER_FULL);
	assert_int_equal(group, taken);
	assert_int_equal(taken, ITEMS - 2);
	seq_answered(bench, seq_next(bench, 0));
	assert_int_equal(seq_submit(bench, 0, 1, ORDER_END), taken + 1);
	free(bench);
}

/* ---- floors ---- */

static void
each_tells_what_is_durable_when_it_goes(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, true, 8);
	uint32_t floor = 77;

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 10, 1, ORDER_END);
	seq_answered(bench, seq_next(bench, 0));
	assert_int_equal(seq_next(bench, 1)->attribute.floor, 1);
	assert_false(order_sequencer_floor(&bench->sequencer, 1, &floor));
	assert_true(order_sequencer_floor(&bench->sequencer, 0, &floor));
	assert_int_equal(floor, 1);
	assert_false(order_sequencer_floor(&bench->sequencer, 0, &floor));
	order_sequencer_down(&bench->sequencer, 0);
	assert_false(order_sequencer_floor(&bench->sequencer, 0, &floor));
	/* And anew, to a server that may have lost it. */
	order_sequencer_up(&bench->sequencer, 0, ORDER_NO_GROUP, GUARANTEED);
	assert_true(order_sequencer_floor(&bench->sequencer, 0, &floor));
	free(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_caches_it_is_durable_behind_flush_marks_of_all_servers),
		cmocka_unit_test(a_flush_mark_goes_with_what_is_in_the_line),
		cmocka_unit_test(a_group_that_has_begun_is_flushed_when_it_ends),
		cmocka_unit_test(what_drives_keep_needs_no_flush),
		cmocka_unit_test(a_group_on_both_kinds_is_durable_when_both_say_so),
		cmocka_unit_test(it_flushes_before_the_log_is_full),
		cmocka_unit_test(it_flushes_no_sooner_than_it_has_to),
		cmocka_unit_test(it_flushes_before_there_are_no_items),
		cmocka_unit_test(a_group_that_is_too_large_can_be_ended),
		cmocka_unit_test(what_there_is_no_room_for_changes_nothing),
		cmocka_unit_test(each_tells_what_is_durable_when_it_goes),
	};

	return cmocka_run_group_tests_name("order_flushes", tests, NULL, NULL);
}
