/*
 * test_order_sequencer.c - a stream at its host: what each piece says, what is merged and split, when groups are
 * complete and durable, and what goes again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order/entry.h"
#include "order/group.h"
#include "order/sequencer.h"

enum {
	LAST = ORDER_ENTRY_LAST, SPLIT = ORDER_ENTRY_SPLIT, MERGED = ORDER_ENTRY_MERGED, FLUSH = ORDER_ENTRY_FLUSH,
	IN_PLACE = ORDER_ENTRY_IN_PLACE,
};
enum { ITEMS = 64, GUARANTEED = 24, PLENTY = 1000 };

struct bench {
	struct order_member members[4];
	struct order_layout layout;
	struct order_sequencer sequencer;
	struct order_item items[ITEMS];
	char data[1024];
};

static struct bench *
begin(unsigned servers, unsigned drives, bool keeps, uint32_t stripe)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	unsigned count = 0;

	for (unsigned drive = 0; drive < drives; drive++)
		for (unsigned server = 0; server < servers; server++)
			bench->members[count++] = (struct order_member){ server, drive + 1, 8, keeps };
	bench->layout = (struct order_layout){
		.members = bench->members, .count = count, .servers = servers, .block_length = 1, .stripe = stripe,
		.blocks = 128,
	};
	order_sequencer_init(&bench->sequencer, &bench->layout, bench->items, ITEMS, ORDER_NO_GROUP);
	for (unsigned server = 0; server < servers; server++) {
		struct order_there none = { 0 };
		uint32_t cut;

		assert_null(order_sequencer_next(&bench->sequencer, server));
		assert_true(order_sequencer_cut(&bench->sequencer, server, &none, &cut));
		assert_int_equal(cut, ORDER_NO_GROUP);
		order_sequencer_up(&bench->sequencer, server, ORDER_NO_GROUP, GUARANTEED);
	}
	return bench;
}

static uint32_t
submit(struct bench *bench, uint64_t lba, uint32_t blocks, unsigned flags)
{
	uint32_t group = ORDER_NO_GROUP;

	assert_int_equal(order_sequencer_submit(&bench->sequencer, lba, blocks, bench->data + lba, flags, &group),
	    ORDER_TAKEN);
	return group;
}

static struct order_item *
next(struct bench *bench, unsigned server)
{
	return order_sequencer_next(&bench->sequencer, server);
}

static void
answered(struct bench *bench, struct order_item *item)
{
	assert_true(order_sequencer_answered(&bench->sequencer, item, PLENTY));
}

/* What goes to a server next. */
static struct order_item *
assert_next(struct bench *bench, unsigned server, uint32_t first, uint32_t last, uint32_t prev, unsigned num,
    unsigned count, unsigned flags)
{
	struct order_item *item = next(bench, server);
	const struct order_attribute *attribute;

	assert_non_null(item);
	attribute = &item->attribute;
	assert_int_equal(item->member->server, server);
	assert_int_equal(attribute->first, first);
	assert_int_equal(attribute->last, last);
	assert_int_equal(attribute->prev, prev);
	assert_int_equal(attribute->num, num);
	assert_int_equal(attribute->count, count);
	assert_int_equal(attribute->flags, flags);
	return item;
}

static void
assert_groups(struct bench *bench, uint32_t complete, uint32_t durable)
{
	assert_int_equal(bench->sequencer.complete, complete);
	assert_int_equal(bench->sequencer.durable, durable);
}

static void
answer_all(struct bench *bench)
{
	for (unsigned server = 0; server < bench->layout.servers; server++)
		for (struct order_item *item; (item = next(bench, server)) != NULL;)
			answered(bench, item);
}

/* ---- what they say ---- */

static void
each_says_what_is_before_it_there(void **state)
{
	struct bench *bench = begin(2, 1, true, 8);

	(void)state;
	assert_int_equal(submit(bench, 0, 1, 0), 1);
	assert_int_equal(submit(bench, 9, 1, 0), 1);
	assert_int_equal(submit(bench, 4, 1, ORDER_END), 1);
	assert_int_equal(submit(bench, 12, 1, ORDER_END), 2);
	assert_int_equal(submit(bench, 2, 1, ORDER_END), 3);
	assert_next(bench, 0, 1, 1, 0, 0, 1, 0);
	assert_next(bench, 0, 1, 1, 0, 3, 1, LAST);
	assert_next(bench, 0, 3, 3, 1, 1, 1, LAST);
	assert_null(next(bench, 0));
	assert_int_equal(assert_next(bench, 1, 1, 1, 0, 0, 1, 0)->lba, 1);
	assert_next(bench, 1, 2, 2, 1, 1, 1, LAST);
	assert_null(next(bench, 1));
	free(bench);
}

static void
groups_are_complete_in_order(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);
	struct order_item *items[4];

	(void)state;
	submit(bench, 0, 1, 0);
	submit(bench, 9, 1, ORDER_END);
	submit(bench, 19, 1, ORDER_END);
	submit(bench, 29, 1, 0);
	for (int i = 0; i < 4; i++)
		items[i] = next(bench, 0);
	answered(bench, items[2]);
	answered(bench, items[1]);
	assert_groups(bench, 0, 0);
	answered(bench, items[0]);
	assert_groups(bench, 2, 2);
	answered(bench, items[3]);
	assert_groups(bench, 2, 2);
	/* All of it was on its way: a piece without blocks says that it has ended. */
	order_sequencer_end(&bench->sequencer, 0);
	answered(bench, assert_next(bench, 0, 3, 3, 2, 2, 1, LAST | FLUSH));
	assert_groups(bench, 3, 3);
	order_sequencer_end(&bench->sequencer, 0);
	assert_null(next(bench, 0));
	free(bench);
}

static void
a_group_ends_with_what_is_in_the_line(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);

	(void)state;
	submit(bench, 0, 1, 0);
	submit(bench, 9, 1, 0);
	order_sequencer_end(&bench->sequencer, 0);
	assert_next(bench, 0, 1, 1, 0, 0, 1, 0);
	assert_next(bench, 0, 1, 1, 0, 2, 1, LAST);
	assert_null(next(bench, 0));
	free(bench);
}

/* ---- what is split, and what is merged ---- */

/* Each block of the volume is one of a member, and the run over all of them is cut where stripes end. */
static void
a_volume_has_each_block_once(void **state)
{
	struct bench *bench = begin(2, 2, true, 4);
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
	struct bench *bench = begin(2, 1, true, 16);
	struct order_item *item;

	(void)state;
	/* 10 blocks of the first stripe, in two commands, and 2 of the next. */
	submit(bench, 6, 12, ORDER_END);
	item = assert_next(bench, 0, 1, 1, 0, 0, 1, SPLIT);
	assert_int_equal(item->lba, 6);
	assert_int_equal(item->blocks_in_all, 8);
	assert_ptr_equal(item->data, bench->data + 6);
	item = assert_next(bench, 0, 1, 1, 0, 0, 1, SPLIT);
	assert_int_equal(item->lba, 14);
	assert_int_equal(item->blocks_in_all, 2);
	assert_ptr_equal(item->data, bench->data + 14);
	assert_null(next(bench, 0));
	item = assert_next(bench, 1, 1, 1, 0, 3, 1, LAST | SPLIT);
	assert_int_equal(item->lba, 0);
	assert_int_equal(item->blocks_in_all, 2);
	assert_ptr_equal(item->data, bench->data + 16);
	free(bench);
}

static void
what_is_next_to_each_other_in_a_group_is_merged(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);
	struct order_item *item;

	(void)state;
	submit(bench, 0, 2, 0);
	submit(bench, 2, 3, 0);
	submit(bench, 5, 1, 0);
	submit(bench, 7, 1, 0); /* a hole */
	submit(bench, 8, 1, ORDER_IN_PLACE | ORDER_END);
	item = assert_next(bench, 0, 1, 1, 0, 0, 3, MERGED);
	assert_int_equal(item->blocks_in_all, 6);
	assert_int_equal(item->blocks, 2);
	assert_ptr_equal(item->more->data, bench->data + 2);
	assert_ptr_equal(item->more->more->data, bench->data + 5);
	assert_null(item->more->more->more);
	assert_next(bench, 0, 1, 1, 0, 0, 1, 0);
	assert_next(bench, 0, 1, 1, 0, 5, 1, LAST | IN_PLACE);
	free(bench);
}

static void
groups_that_are_whole_are_merged(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 1, 1, 0);
	submit(bench, 2, 1, ORDER_END);
	submit(bench, 3, 5, ORDER_END);
	submit(bench, 8, 1, ORDER_END);  /* it would be too large */
	submit(bench, 9, 1, 0);
	submit(bench, 20, 1, ORDER_END); /* two pieces */
	submit(bench, 21, 1, ORDER_END);
	submit(bench, 22, 1, ORDER_END);
	answered(bench, assert_next(bench, 0, 1, 3, 0, 1, 1, LAST | MERGED));
	assert_groups(bench, 3, 3);
	assert_next(bench, 0, 4, 4, 3, 1, 1, LAST);
	assert_next(bench, 0, 5, 5, 4, 0, 1, 0);
	assert_next(bench, 0, 5, 5, 4, 2, 1, LAST);
	assert_next(bench, 0, 6, 7, 5, 1, 1, LAST | MERGED);
	assert_null(next(bench, 0));
	free(bench);
}

static void
what_was_sent_or_goes_elsewhere_is_not_merged(void **state)
{
	struct bench *bench = begin(2, 1, true, 4);

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	assert_next(bench, 0, 1, 1, 0, 1, 1, LAST);
	submit(bench, 1, 1, ORDER_END);
	submit(bench, 4, 1, ORDER_END); /* between them there is one of the other server */
	submit(bench, 2, 1, ORDER_END);
	assert_next(bench, 0, 2, 2, 1, 1, 1, LAST);
	assert_next(bench, 0, 4, 4, 2, 1, 1, LAST);
	assert_next(bench, 1, 3, 3, 0, 1, 1, LAST);
	/* On a member they are next to each other, with a stripe of the other one between. */
	submit(bench, 3, 1, 0);
	submit(bench, 8, 1, ORDER_END);
	assert_next(bench, 0, 5, 5, 4, 2, 2, LAST | MERGED);
	/* Not what was split. */
	submit(bench, 9, 4, 0);
	submit(bench, 13, 1, 0);
	submit(bench, 14, 3, ORDER_END);
	assert_next(bench, 0, 6, 6, 5, 0, 1, SPLIT);
	assert_next(bench, 0, 6, 6, 5, 5, 1, SPLIT | LAST);
	assert_next(bench, 1, 6, 6, 3, 0, 1, SPLIT);
	assert_next(bench, 1, 6, 6, 3, 0, 1, 0);
	assert_next(bench, 1, 6, 6, 3, 0, 1, SPLIT);
	/* Nor a group of which there is more elsewhere. */
	submit(bench, 20, 1, ORDER_END);
	submit(bench, 0, 1, 0);
	submit(bench, 21, 1, ORDER_END);
	assert_next(bench, 1, 7, 7, 6, 1, 1, LAST);
	assert_next(bench, 1, 8, 8, 7, 2, 1, LAST);
	free(bench);
	/* Nor what is on another drive. */
	bench = begin(1, 2, true, 8);
	submit(bench, 7, 1, 0);
	submit(bench, 24, 1, ORDER_END);
	assert_next(bench, 0, 1, 1, 0, 0, 1, 0);
	assert_next(bench, 0, 1, 1, 0, 2, 1, LAST);
	free(bench);
}

/* 32 of them: as many pieces of memory as go with one command. */
static void
no_more_are_merged_than_one_command_takes(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);

	(void)state;
	bench->members[0].most = 64;
	for (uint64_t lba = 0; lba < 34; lba++)
		submit(bench, lba, 1, lba % 2 != 0 ? ORDER_END : 0);
	assert_int_equal(assert_next(bench, 0, 1, 16, 0, 1, 1, LAST | MERGED)->in_it, ORDER_TOGETHER_MAX);
	assert_next(bench, 0, 17, 17, 16, 2, 2, LAST | MERGED);
	free(bench);
}

/* ---- flushes ---- */

static void
with_caches_it_is_durable_behind_flush_marks_of_all_servers(void **state)
{
	struct bench *bench = begin(2, 1, false, 8);
	struct order_item *first, *second;

	(void)state;
	submit(bench, 0, 1, 0);
	submit(bench, 8, 1, ORDER_END);
	answer_all(bench);
	assert_groups(bench, 1, 0);
	/* To the other server something has gone since, and is on its way. */
	submit(bench, 1, 1, ORDER_END | ORDER_DURABLE);
	first = assert_next(bench, 0, 2, 2, 1, 2, 1, LAST | FLUSH);
	second = assert_next(bench, 1, 2, 2, 1, 0, 1, FLUSH);
	assert_int_equal(second->blocks_in_all, 0);
	answered(bench, first);
	assert_groups(bench, 1, 0);
	answered(bench, second);
	assert_groups(bench, 2, 2);
	assert_int_equal(bench->sequencer.free_count, ITEMS);
	/* Only one of them has had anything. */
	submit(bench, 2, 1, ORDER_END | ORDER_DURABLE);
	answered(bench, assert_next(bench, 0, 3, 3, 2, 1, 1, LAST | FLUSH));
	assert_null(next(bench, 1));
	assert_groups(bench, 3, 3);
	free(bench);
}

/* With what waits there, though its group is an earlier one. */
static void
a_flush_mark_goes_with_what_is_in_the_line(void **state)
{
	struct bench *bench = begin(2, 1, false, 8);
	uint32_t group;

	(void)state;
	submit(bench, 8, 1, ORDER_END);
	submit(bench, 0, 1, ORDER_END);
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 2);
	answered(bench, assert_next(bench, 1, 1, 1, 0, 1, 1, LAST | FLUSH));
	assert_groups(bench, 1, 1);
	answered(bench, assert_next(bench, 0, 2, 2, 0, 1, 1, LAST | FLUSH));
	assert_groups(bench, 2, 2);
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 2);
	assert_null(next(bench, 0));
	/* What has a mark is merged with what was before, but not with what comes. */
	submit(bench, 1, 1, ORDER_END);
	submit(bench, 2, 1, ORDER_END | ORDER_DURABLE);
	submit(bench, 3, 1, ORDER_END);
	assert_next(bench, 0, 3, 4, 2, 1, 1, LAST | MERGED | FLUSH);
	assert_next(bench, 0, 5, 5, 4, 1, 1, LAST);
	/* All is on its way: it is a group of its own. */
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 6);
	assert_next(bench, 0, 6, 6, 5, 1, 1, LAST | FLUSH);
	/* With what a group ends with. */
	submit(bench, 1, 1, 0);
	order_sequencer_end(&bench->sequencer, ORDER_DURABLE);
	assert_next(bench, 0, 7, 7, 6, 1, 1, LAST | FLUSH);
	free(bench);
}

static void
a_group_that_has_begun_is_flushed_when_it_ends(void **state)
{
	struct bench *bench = begin(1, 1, false, 128);
	uint32_t group;

	(void)state;
	submit(bench, 0, 1, 0);
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 1);
	answered(bench, assert_next(bench, 0, 1, 1, 0, 0, 1, 0));
	submit(bench, 9, 1, ORDER_END);
	answered(bench, assert_next(bench, 0, 1, 1, 0, 2, 1, LAST | FLUSH));
	assert_groups(bench, 1, 1);
	submit(bench, 19, 1, ORDER_END);
	assert_next(bench, 0, 2, 2, 1, 1, 1, LAST);
	free(bench);
}

static void
what_drives_keep_needs_no_flush(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);
	uint32_t group;

	(void)state;
	submit(bench, 0, 1, ORDER_END | ORDER_DURABLE);
	assert_true(order_sequencer_flush(&bench->sequencer, &group));
	assert_int_equal(group, 1);
	answered(bench, assert_next(bench, 0, 1, 1, 0, 1, 1, LAST));
	assert_groups(bench, 1, 1);
	free(bench);
}

/* Of two drives of a server one keeps what it answers. */
static void
a_group_on_both_kinds_is_durable_when_both_say_so(void **state)
{
	struct bench *bench = begin(1, 2, true, 8);
	struct order_item *kept, *cached;

	(void)state;
	bench->members[1].keeps = false;
	order_sequencer_init(&bench->sequencer, &bench->layout, bench->items, ITEMS, ORDER_NO_GROUP);
	order_sequencer_up(&bench->sequencer, 0, ORDER_NO_GROUP, GUARANTEED);
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 8, 1, ORDER_END);
	kept = assert_next(bench, 0, 1, 1, 0, 1, 1, LAST);
	cached = assert_next(bench, 0, 2, 2, 1, 1, 1, LAST);
	answered(bench, cached);
	assert_groups(bench, 0, 0);
	answered(bench, kept);
	assert_groups(bench, 2, 1);
	order_sequencer_flush(&bench->sequencer, &(uint32_t){ 0 });
	answered(bench, assert_next(bench, 0, 3, 3, 2, 1, 1, LAST | FLUSH));
	assert_groups(bench, 3, 3);
	free(bench);
	/* Of two servers: that with the drive that keeps it has no flush marks. */
	bench = begin(2, 1, true, 8);
	bench->members[1].keeps = false;
	order_sequencer_init(&bench->sequencer, &bench->layout, bench->items, ITEMS, ORDER_NO_GROUP);
	order_sequencer_up(&bench->sequencer, 0, ORDER_NO_GROUP, GUARANTEED);
	order_sequencer_up(&bench->sequencer, 1, ORDER_NO_GROUP, GUARANTEED);
	submit(bench, 8, 1, 0);
	submit(bench, 0, 1, ORDER_END | ORDER_DURABLE);
	answered(bench, assert_next(bench, 0, 1, 1, 0, 2, 1, LAST));
	answered(bench, assert_next(bench, 1, 1, 1, 0, 0, 1, FLUSH));
	assert_groups(bench, 1, 1);
	submit(bench, 0, 1, 0);
	submit(bench, 8, 1, ORDER_END | ORDER_DURABLE);
	assert_next(bench, 0, 2, 2, 1, 0, 1, 0);
	assert_next(bench, 1, 2, 2, 1, 2, 1, LAST | FLUSH);
	free(bench);
}

/* As the server says how much room it has; only with the last piece of a group. */
static void
it_flushes_before_the_log_is_full(void **state)
{
	struct bench *bench = begin(1, 1, false, 128);
	struct order_item *item;

	(void)state;
	submit(bench, 100, 1, ORDER_END);
	item = assert_next(bench, 0, 1, 1, 0, 1, 1, LAST);
	assert_true(order_sequencer_answered(&bench->sequencer, item, 3));
	for (uint32_t group = 2; group < GUARANTEED / 2; group++) {
		submit(bench, 2 * group, 1, ORDER_END);
		item = assert_next(bench, 0, group, group, group - 1, 1, 1, LAST);
		assert_true(order_sequencer_answered(&bench->sequencer, item, 3));
	}
	submit(bench, 60, 1, 0);
	assert_next(bench, 0, 12, 12, 11, 0, 1, 0);
	submit(bench, 64, 1, ORDER_END);
	item = assert_next(bench, 0, 12, 12, 11, 2, 1, LAST | FLUSH);
	submit(bench, 66, 1, ORDER_END);
	assert_next(bench, 0, 13, 13, 12, 1, 1, LAST);
	/* It needs a flush, and the one before it does not any more. */
	assert_true(bench->sequencer.ways[0].dirty);
	/* All before it were answered, but for one. */
	assert_false(order_sequencer_answered(&bench->sequencer, item, 3));
	free(bench);
}

static void
it_flushes_no_sooner_than_it_has_to(void **state)
{
	struct bench *bench = begin(1, 1, false, 128);
	uint32_t flushed;

	(void)state;
	for (uint32_t group = 1; group <= ITEMS / 4; group++) {
		submit(bench, 2 * group, 1, ORDER_END);
		answered(bench, assert_next(bench, 0, group, group, group - 1, 1, 1, LAST));
	}
	assert_true(order_sequencer_flush(&bench->sequencer, &flushed));
	answered(bench, next(bench, 0));
	assert_groups(bench, flushed, flushed);
	/* One that goes with a mark as the server has no room is behind all that there is. */
	for (uint32_t i = 0; i < GUARANTEED / 2; i++) {
		submit(bench, 60 + 2 * i, 1, ORDER_END);
		assert_true(order_sequencer_answered(&bench->sequencer, next(bench, 0), 0));
	}
	assert_groups(bench, flushed + GUARANTEED / 2, flushed + GUARANTEED / 2);
	assert_true(order_sequencer_flush(&bench->sequencer, &flushed));
	assert_null(next(bench, 0));
	free(bench);
}

static void
it_flushes_before_there_are_no_items(void **state)
{
	struct bench *bench = begin(2, 1, false, 8);
	unsigned flushes = 0;
	uint32_t group = 0;

	(void)state;
	for (unsigned i = 0; i < 10 * ITEMS; i++) {
		if (order_sequencer_submit(&bench->sequencer, 2 * (i % 128), 1, bench->data, ORDER_END, &group) !=
		    ORDER_TAKEN)
			answer_all(bench);
		for (struct order_item *item; (item = next(bench, 0)) != NULL;) {
			flushes += (item->attribute.flags & FLUSH) != 0;
			answered(bench, item);
		}
	}
	answer_all(bench);
	assert_in_range(flushes, 10 * ITEMS / ITEMS, 10 * ITEMS / 8);
	assert_in_range(bench->sequencer.durable, group - ITEMS, group);
	free(bench);
}

/* ---- room ---- */

static void
a_group_that_is_too_large_can_be_ended(void **state)
{
	struct bench *bench = begin(1, 1, false, 128);
	uint32_t group, taken = 0;
	enum order_submitted submitted;

	(void)state;
	while ((submitted = order_sequencer_submit(&bench->sequencer, 2 * taken, 1, bench->data, 0, &group)) ==
	    ORDER_TAKEN) {
		next(bench, 0);
		taken++;
	}
	assert_int_equal(submitted, ORDER_TOO_LARGE);
	assert_int_equal(taken, GUARANTEED / 2 - 2);
	order_sequencer_end(&bench->sequencer, ORDER_DURABLE);
	assert_next(bench, 0, 1, 1, 0, taken + 1, 1, LAST | FLUSH);
	free(bench);
}

static void
what_there_is_no_room_for_changes_nothing(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);
	uint32_t taken = 0, group = 77;

	(void)state;
	while (order_sequencer_submit(&bench->sequencer, 2 * taken, 1, bench->data, ORDER_END, &group) == ORDER_TAKEN)
		taken++;
	assert_int_equal(order_sequencer_submit(&bench->sequencer, 0, 1, bench->data, ORDER_END, &group), ORDER_FULL);
	assert_int_equal(group, taken);
	assert_int_equal(taken, ITEMS - 2);
	answered(bench, next(bench, 0));
	assert_int_equal(submit(bench, 0, 1, ORDER_END), taken + 1);
	free(bench);
}

/* ---- floors ---- */

static void
each_tells_what_is_durable_when_it_goes(void **state)
{
	struct bench *bench = begin(2, 1, true, 8);
	uint32_t floor = 77;

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 10, 1, ORDER_END);
	answered(bench, next(bench, 0));
	assert_int_equal(next(bench, 1)->attribute.floor, 1);
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

/* ---- what goes again ---- */

static uint32_t
come_back(struct bench *bench, unsigned server, struct order_there there, uint32_t last)
{
	uint32_t cut = 77;

	assert_true(order_sequencer_cut(&bench->sequencer, server, &there, &cut));
	order_sequencer_up(&bench->sequencer, server, last, GUARANTEED);
	return cut;
}

static void
what_a_server_has_lost_goes_again(void **state)
{
	struct bench *bench = begin(2, 1, true, 8);
	struct order_item *other;

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 8, 1, ORDER_END);
	submit(bench, 2, 1, ORDER_END);
	submit(bench, 4, 1, ORDER_END);
	other = next(bench, 1);
	for (int i = 0; i < 3; i++)
		next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	/* The first two of it are there, though neither was answered; and what comes meanwhile goes behind it. */
	submit(bench, 6, 1, ORDER_END);
	assert_null(next(bench, 0));
	assert_int_equal(come_back(bench, 0, (struct order_there){ 3, 1, 1 }, 3), 3);
	assert_groups(bench, 1, 1);
	answered(bench, other);
	assert_groups(bench, 3, 3);
	answered(bench, assert_next(bench, 0, 4, 4, 3, 1, 1, LAST));
	answered(bench, assert_next(bench, 0, 5, 5, 4, 1, 1, LAST));
	assert_groups(bench, 5, 5);
	free(bench);
}

/* What was answered is lost with a drive's cache; of groups that were told complete nobody says otherwise. */
static void
what_was_answered_and_not_durable_goes_again(void **state)
{
	struct bench *bench = begin(1, 1, false, 128);

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 9, 1, ORDER_END | ORDER_DURABLE);
	submit(bench, 19, 1, ORDER_END);
	answered(bench, next(bench, 0));
	order_sequencer_down(&bench->sequencer, 0);
	assert_groups(bench, 1, 0);
	/* Nothing of it is listed: what is before it there is nothing. */
	assert_int_equal(come_back(bench, 0, (struct order_there){ 0 }, ORDER_NO_GROUP), ORDER_NO_GROUP);
	assert_groups(bench, 1, 0);
	answered(bench, assert_next(bench, 0, 1, 1, 0, 1, 1, LAST));
	answered(bench, assert_next(bench, 0, 2, 2, 1, 1, 1, LAST | FLUSH));
	assert_groups(bench, 2, 2);
	free(bench);
}

/* The server has one of two, and cannot know of the other one. */
static void
of_a_group_of_which_more_was_sent_all_goes_again(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 9, 1, 0);
	submit(bench, 19, 1, ORDER_END);
	for (int i = 0; i < 3; i++)
		next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	assert_int_equal(come_back(bench, 0, (struct order_there){ 2, 1, 1 }, 1), 1);
	assert_groups(bench, 1, 1);
	answered(bench, assert_next(bench, 0, 2, 2, 1, 0, 1, 0));
	answered(bench, assert_next(bench, 0, 2, 2, 1, 2, 1, LAST));
	assert_groups(bench, 2, 2);
	free(bench);
}

/* From when it is cut; before that the group could have ended, and been durable. */
static void
of_a_group_that_has_not_ended_all_goes_again(void **state)
{
	struct bench *bench = begin(2, 1, true, 8);
	struct order_there there = { 2, 1, 1 };
	uint32_t cut;

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 2, 1, 0);
	answered(bench, next(bench, 0));
	answered(bench, next(bench, 0));
	order_sequencer_down(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 1);
	submit(bench, 8, 1, ORDER_END);
	answered(bench, assert_next(bench, 1, 2, 2, 0, 2, 1, LAST));
	assert_groups(bench, 1, 1);
	submit(bench, 4, 1, ORDER_END);
	/* The server has forgotten group 1 since. */
	order_sequencer_up(&bench->sequencer, 0, ORDER_NO_GROUP, GUARANTEED);
	answered(bench, assert_next(bench, 0, 2, 2, ORDER_NO_GROUP, 0, 1, 0));
	assert_groups(bench, 2, 2);
	assert_next(bench, 0, 3, 3, 2, 1, 1, LAST);
	free(bench);
}

/* What has begun there goes on with what the server says is before it. */
static void
a_group_goes_on_behind_what_is_there(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 2, 1, 0);
	next(bench, 0);
	next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	assert_int_equal(come_back(bench, 0, (struct order_there){ 1, 1, 0 }, ORDER_NO_GROUP), 1);
	submit(bench, 4, 1, ORDER_END);
	submit(bench, 6, 1, ORDER_END);
	assert_next(bench, 0, 2, 2, ORDER_NO_GROUP, 0, 1, 0);
	assert_next(bench, 0, 2, 2, ORDER_NO_GROUP, 2, 1, LAST);
	assert_next(bench, 0, 3, 3, 2, 1, 1, LAST);
	/* And where nothing goes again, too. */
	order_sequencer_down(&bench->sequencer, 0);
	assert_int_equal(come_back(bench, 0, (struct order_there){ 3, 1, 2 }, ORDER_NO_GROUP), 3);
	submit(bench, 8, 1, ORDER_END);
	assert_next(bench, 0, 4, 4, ORDER_NO_GROUP, 1, 1, LAST);
	free(bench);
}

/* What it was the first time is taken back. */
static void
what_goes_again_is_merged_with_what_comes(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	submit(bench, 1, 1, ORDER_END);
	come_back(bench, 0, (struct order_there){ 0 }, ORDER_NO_GROUP);
	submit(bench, 2, 1, ORDER_END);
	assert_next(bench, 0, 1, 1, 0, 1, 1, LAST);
	assert_next(bench, 0, 2, 3, 1, 1, 1, LAST | MERGED);
	order_sequencer_down(&bench->sequencer, 0);
	come_back(bench, 0, (struct order_there){ 1, 1, 0 }, 1);
	submit(bench, 3, 1, ORDER_END);
	answered(bench, assert_next(bench, 0, 2, 4, 1, 1, 1, LAST | MERGED));
	assert_groups(bench, 4, 4);
	free(bench);
}

/* Its last piece goes again as that, and is not what the server has, which has as many. */
static void
what_was_to_go_again_does_so_though_the_server_is_asked_again(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);
	struct order_there there = { 2, 2, 1 };
	uint32_t cut;

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 9, 1, 0);
	submit(bench, 19, 1, 0);
	for (int i = 0; i < 3; i++)
		answered(bench, next(bench, 0));
	order_sequencer_down(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 1);
	order_sequencer_end(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 1);
	assert_groups(bench, 1, 1);
	order_sequencer_up(&bench->sequencer, 0, 1, GUARANTEED);
	answered(bench, assert_next(bench, 0, 2, 2, 1, 0, 1, 0));
	assert_next(bench, 0, 2, 2, 1, 2, 1, LAST);
	/* And when that was lost on its way it is asked anew. */
	order_sequencer_down(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 2);
	assert_groups(bench, 2, 2);
	free(bench);
}

/* Its floor may be later than what it has, and a cut is never before that. */
static void
what_is_durable_without_a_server_is_not_cut_off_there(void **state)
{
	struct bench *bench = begin(2, 1, true, 8);
	struct order_there there = { 1, 1, 0 };
	uint32_t cut;

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 8, 1, ORDER_END);
	submit(bench, 2, 1, ORDER_END);
	answered(bench, next(bench, 0));
	next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 1);
	answered(bench, next(bench, 1));
	assert_groups(bench, 2, 2);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 2);
	order_sequencer_up(&bench->sequencer, 0, 1, GUARANTEED);
	assert_next(bench, 0, 3, 3, 1, 1, 1, LAST);
	free(bench);
}

static void
what_was_durable_must_be_there(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);
	struct order_there there = { 1, 1, 0 };
	uint32_t cut;

	(void)state;
	submit(bench, 0, 1, ORDER_END);
	submit(bench, 2, 1, ORDER_END);
	answer_all(bench);
	order_sequencer_down(&bench->sequencer, 0);
	assert_false(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_groups(bench, 2, 2);
	free(bench);
}

/* ---- numbers ---- */

static void
groups_come_round(void **state)
{
	struct bench *bench = begin(1, 1, true, 128);

	(void)state;
	order_sequencer_init(&bench->sequencer, &bench->layout, bench->items, ITEMS, UINT32_MAX - 1);
	order_sequencer_up(&bench->sequencer, 0, ORDER_NO_GROUP, GUARANTEED);
	assert_int_equal(submit(bench, 0, 1, ORDER_END), UINT32_MAX);
	assert_int_equal(submit(bench, 1, 1, ORDER_END), 1);
	submit(bench, 3, 1, ORDER_END);
	answered(bench, assert_next(bench, 0, UINT32_MAX, 1, 0, 1, 1, LAST | MERGED));
	answered(bench, assert_next(bench, 0, 2, 2, 1, 1, 1, LAST));
	assert_groups(bench, 2, 2);
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
		cmocka_unit_test(what_a_server_has_lost_goes_again),
		cmocka_unit_test(what_was_answered_and_not_durable_goes_again),
		cmocka_unit_test(of_a_group_of_which_more_was_sent_all_goes_again),
		cmocka_unit_test(of_a_group_that_has_not_ended_all_goes_again),
		cmocka_unit_test(a_group_goes_on_behind_what_is_there),
		cmocka_unit_test(what_goes_again_is_merged_with_what_comes),
		cmocka_unit_test(what_was_to_go_again_does_so_though_the_server_is_asked_again),
		cmocka_unit_test(what_is_durable_without_a_server_is_not_cut_off_there),
		cmocka_unit_test(what_was_durable_must_be_there),
		cmocka_unit_test(groups_come_round),
	};

	return cmocka_run_group_tests_name("order_sequencer", tests, NULL, NULL);
}
