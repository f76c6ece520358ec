/*
 * test_order_sequencer.c - a stream at its host: what each piece says, what is split and merged, and when groups are
 * complete.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order_host_bench.h"

/* ---- what they say ---- */

static void
each_says_what_is_before_it_there(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, true, 8);

	(void)state;
	assert_int_equal(seq_submit(bench, 0, 1, 0), 1);
	assert_int_equal(seq_submit(bench, 9, 1, 0), 1);
	assert_int_equal(seq_submit(bench, 4, 1, ORDER_END), 1);
	assert_int_equal(seq_submit(bench, 12, 1, ORDER_END), 2);
	assert_int_equal(seq_submit(bench, 2, 1, ORDER_END), 3);
	seq_assert_next(bench, 0, 1, 1, 0, 0, 1, 0);
	seq_assert_next(bench, 0, 1, 1, 0, 3, 1, LAST);
	seq_assert_next(bench, 0, 3, 3, 1, 1, 1, LAST);
	assert_null(seq_next(bench, 0));
	assert_int_equal(seq_assert_next(bench, 1, 1, 1, 0, 0, 1, 0)->lba, 1);
	seq_assert_next(bench, 1, 2, 2, 1, 1, 1, LAST);
	assert_null(seq_next(bench, 1));
	free(bench);
}

static void
groups_are_complete_in_order(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);
	struct order_item *items[4];

	(void)state;
	seq_submit(bench, 0, 1, 0);
	seq_submit(bench, 9, 1, ORDER_END);
	seq_submit(bench, 19, 1, ORDER_END);
	seq_submit(bench, 29, 1, 0);
	for (int i = 0; i < 4; i++)
		items[i] = seq_next(bench, 0);
	seq_answered(bench, items[2]);
	seq_answered(bench, items[1]);
	seq_assert_groups(bench, 0, 0);
	seq_answered(bench, items[0]);
	seq_assert_groups(bench, 2, 2);
	seq_answered(bench, items[3]);
	seq_assert_groups(bench, 2, 2);
	/* All of it was on its way: a piece without blocks says that it has ended. */
	order_sequencer_end(&bench->sequencer, 0);
	seq_answered(bench, seq_assert_next(bench, 0, 3, 3, 2, 2, 1, LAST | FLUSH));
	seq_assert_groups(bench, 3, 3);
	order_sequencer_end(&bench->sequencer, 0);
	assert_null(seq_next(bench, 0));
	free(bench);
}

static void
a_group_ends_with_what_is_in_the_line(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);

	(void)state;
	seq_submit(bench, 0, 1, 0);
	seq_submit(bench, 9, 1, 0);
	order_sequencer_end(&bench->sequencer, 0);
	seq_assert_next(bench, 0, 1, 1, 0, 0, 1, 0);
	seq_assert_next(bench, 0, 1, 1, 0, 2, 1, LAST);
	assert_null(seq_next(bench, 0));
	free(bench);
}

/* ---- what is split, and what is merged ---- */

/* Each block of the volume is one of a member, and the run over all of them is cut where stripes end. */
static void
a_volume_has_each_block_once(void **state)
{
	struct seq_bench *bench = seq_begin(2, 2, true, 4);
	const struct order_layout *layout = &bench->layout;
	bool seen[4][128] = { { false } };
	uint64_t lba = 0;
	uint32_t count = 0;

	(void)state;
	while (lba < 4 * 128) {
		struct order_extent extent = order_layout_first(layout, lba, 4 * 128 - (uint32_t)lba);

		assert_int_equal(extent.blocks, 4);
		for (uint32_t i = 0; i < extent.blocks; i++) {
			assert_false(seen[extent.member - bench->members][extent.lba + i]);
			seen[extent.member - bench->members][extent.lba + i] = true;
		}
		lba += extent.blocks;
		count++;
	}
	assert_int_equal(count, order_layout_count(layout, 0, 4 * 128));
	assert_int_equal(order_layout_count(layout, 3, 2), 2);
	assert_true(order_layout_has(layout, 511, 1));
	assert_false(order_layout_has(layout, 511, 2));
	assert_false(order_layout_has(layout, 512, 1));
	assert_false(order_layout_has(layout, 0, 0));
	free(bench);
}

static void
what_is_too_large_or_over_a_border_is_split(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, true, 16);
	struct order_item *item;

	(void)state;
	/* 10 blocks of the first stripe, in two commands, and 2 of the next. */
	seq_submit(bench, 6, 12, ORDER_END);
	item = seq_assert_next(bench, 0, 1, 1, 0, 0, 1, SPLIT);
	assert_int_equal(item->lba, 6);
	assert_int_equal(item->blocks_in_all, 8);
	assert_ptr_equal(item->data, bench->data + 6);
	item = seq_assert_next(bench, 0, 1, 1, 0, 0, 1, SPLIT);
	assert_int_equal(item->lba, 14);
	assert_int_equal(item->blocks_in_all, 2);
	assert_ptr_equal(item->data, bench->data + 14);
	assert_null(seq_next(bench, 0));
	item = seq_assert_next(bench, 1, 1, 1, 0, 3, 1, LAST | SPLIT);
	assert_int_equal(item->lba, 0);
	assert_int_equal(item->blocks_in_all, 2);
	assert_ptr_equal(item->data, bench->data + 16);
	free(bench);
}

static void
what_is_next_to_each_other_in_a_group_is_merged(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);
	struct order_item *item;

	(void)state;
	seq_submit(bench, 0, 2, 0);
	seq_submit(bench, 2, 3, 0);
	seq_submit(bench, 5, 1, 0);
	seq_submit(bench, 7, 1, 0); /* a hole */
	seq_submit(bench, 8, 1, ORDER_IN_PLACE | ORDER_END);
	item = seq_assert_next(bench, 0, 1, 1, 0, 0, 3, MERGED);
	assert_int_equal(item->blocks_in_all, 6);
	assert_int_equal(item->blocks, 2);
	assert_ptr_equal(item->more->data, bench->data + 2);
	assert_ptr_equal(item->more->more->data, bench->data + 5);
	assert_null(item->more->more->more);
	seq_assert_next(bench, 0, 1, 1, 0, 0, 1, 0);
	seq_assert_next(bench, 0, 1, 1, 0, 5, 1, LAST | IN_PLACE);
	free(bench);
}

static void
groups_that_are_whole_are_merged(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 1, 1, 0);
	seq_submit(bench, 2, 1, ORDER_END);
	seq_submit(bench, 3, 5, ORDER_END);
	seq_submit(bench, 8, 1, ORDER_END);  /* it would be too large */
	seq_submit(bench, 9, 1, 0);
	seq_submit(bench, 20, 1, ORDER_END); /* two pieces */
	seq_submit(bench, 21, 1, ORDER_END);
	seq_submit(bench, 22, 1, ORDER_END);
	seq_answered(bench, seq_assert_next(bench, 0, 1, 3, 0, 1, 1, LAST | MERGED));
	seq_assert_groups(bench, 3, 3);
	seq_assert_next(bench, 0, 4, 4, 3, 1, 1, LAST);
	seq_assert_next(bench, 0, 5, 5, 4, 0, 1, 0);
	seq_assert_next(bench, 0, 5, 5, 4, 2, 1, LAST);
	seq_assert_next(bench, 0, 6, 7, 5, 1, 1, LAST | MERGED);
	assert_null(seq_next(bench, 0));
	free(bench);
}

static void
what_was_sent_or_goes_elsewhere_is_not_merged(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, true, 4);

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_assert_next(bench, 0, 1, 1, 0, 1, 1, LAST);
	seq_submit(bench, 1, 1, ORDER_END);
	seq_submit(bench, 4, 1, ORDER_END); /* between them there is one of the other server */
	seq_submit(bench, 2, 1, ORDER_END);
	seq_assert_next(bench, 0, 2, 2, 1, 1, 1, LAST);
	seq_assert_next(bench, 0, 4, 4, 2, 1, 1, LAST);
	seq_assert_next(bench, 1, 3, 3, 0, 1, 1, LAST);
	/* On a member they are next to each other, with a stripe of the other one between. */
	seq_submit(bench, 3, 1, 0);
	seq_submit(bench, 8, 1, ORDER_END);
	seq_assert_next(bench, 0, 5, 5, 4, 2, 2, LAST | MERGED);
	/* Not what was split. */
	seq_submit(bench, 9, 4, 0);
	seq_submit(bench, 13, 1, 0);
	seq_submit(bench, 14, 3, ORDER_END);
	seq_assert_next(bench, 0, 6, 6, 5, 0, 1, SPLIT);
	seq_assert_next(bench, 0, 6, 6, 5, 5, 1, SPLIT | LAST);
	seq_assert_next(bench, 1, 6, 6, 3, 0, 1, SPLIT);
	seq_assert_next(bench, 1, 6, 6, 3, 0, 1, 0);
	seq_assert_next(bench, 1, 6, 6, 3, 0, 1, SPLIT);
	/* Nor a group of which there is more elsewhere. */
	seq_submit(bench, 20, 1, ORDER_END);
	seq_submit(bench, 0, 1, 0);
	seq_submit(bench, 21, 1, ORDER_END);
	seq_assert_next(bench, 1, 7, 7, 6, 1, 1, LAST);
	seq_assert_next(bench, 1, 8, 8, 7, 2, 1, LAST);
	free(bench);
	/* Nor what is on another drive. */
	bench = seq_begin(1, 2, true, 8);
	seq_submit(bench, 7, 1, 0);
	seq_submit(bench, 24, 1, ORDER_END);
	seq_assert_next(bench, 0, 1, 1, 0, 0, 1, 0);
	seq_assert_next(bench, 0, 1, 1, 0, 2, 1, LAST);
	free(bench);
}

/* 32 of them: as many pieces of memory as go with one command. */
static void
no_more_are_merged_than_one_command_takes(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);

	(void)state;
	bench->members[0].most = 64;
	for (uint64_t lba = 0; lba < 34; lba++)
		seq_submit(bench, lba, 1, lba % 2 != 0 ? ORDER_END : 0);
	assert_int_equal(seq_assert_next(bench, 0, 1, 16, 0, 1, 1, LAST | MERGED)->in_it, ORDER_TOGETHER_MAX);
	seq_assert_next(bench, 0, 17, 17, 16, 2, 2, LAST | MERGED);
	free(bench);
}

/* ---- numbers ---- */

static void
groups_come_round(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);

	(void)state;
	order_sequencer_init(&bench->sequencer, &bench->layout, bench->items, ITEMS, UINT32_MAX - 1);
	order_sequencer_up(&bench->sequencer, 0, ORDER_NO_GROUP, GUARANTEED);
	assert_int_equal(seq_submit(bench, 0, 1, ORDER_END), UINT32_MAX);
	assert_int_equal(seq_submit(bench, 1, 1, ORDER_END), 1);
	seq_submit(bench, 3, 1, ORDER_END);
	seq_answered(bench, seq_assert_next(bench, 0, UINT32_MAX, 1, 0, 1, 1, LAST | MERGED));
	seq_answered(bench, seq_assert_next(bench, 0, 2, 2, 1, 1, 1, LAST));
	seq_assert_groups(bench, 2, 2);
	free(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_says_what_is_before_it_there),
		cmocka_unit_test(groups_are_complete_in_order),
		cmocka_unit_test(a_group_ends_with_what_is_in_the_line),
		cmocka_unit_test(a_volume_has_each_block_once),
		cmocka_unit_test(what_is_too_large_or_over_a_border_is_split),
		cmocka_unit_test(what_is_next_to_each_other_in_a_group_is_merged),
		cmocka_unit_test(groups_that_are_whole_are_merged),
		cmocka_unit_test(what_was_sent_or_goes_elsewhere_is_not_merged),
		cmocka_unit_test(no_more_are_merged_than_one_command_takes),
		cmocka_unit_test(groups_come_round),
	};

	return cmocka_run_group_tests_name("order_sequencer", tests, NULL, NULL);
}
