/*
 * test_ftl_slc.c - blocks with one bit per cell: when they are written to, and when they are folded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ftl_bench.h"

enum { BLOCKS = 64, UNITS = 96, ROW = 12, SLC_MOST = 20, SLC_FIXED = 5, SHARE = 50 * UNITS };

static void
shape_slc(struct ftl_bench *b)
{
	ftl_bench_shape(b, 1, BLOCKS, UNITS, SHARE);
	b->geometry.row_units = ROW;
	b->geometry.block_rows = UNITS / ROW;
	b->geometry.slc_row_units = ROW / 3;
	b->geometry.slc_block_units = UNITS / 3;
	b->geometry.slc_blocks = SLC_MOST;
	b->geometry.slc_fixed_blocks = SLC_FIXED;
}

static void
open_slc(struct ftl_bench *b)
{
	shape_slc(b);
	ftl_bench_open(b);
}

static uint32_t
in_slc_mode(const struct ftl_bench *b)
{
	uint32_t count = 0;

	for (uint32_t block = 0; block < BLOCKS; block++)
		count += ftl_is_slc(b->ftl, block);
	return count;
}

/* Where what is collected goes. */
struct row {
	flash_place at;
	uint32_t left;
};

/* A page is moved, and what is empty is erased.  Of how many units; 0: there is nothing, or no space. */
static uint32_t
collect(struct ftl_bench *b, struct row *row)
{
	flash_place from[4];
	uint32_t count = ftl_collect(b->ftl, 0, from, 4), block;

	for (uint32_t i = 0; i < count; i++, row->left--) {
		if (row->left == 0)
			row->at = ftl_begin_row(b->ftl, 0, FTL_GC, &row->left);
		ftl_programmed(b->ftl, row->at++, ftl_owner(b->ftl, from[i]), from[i]);
	}
	while ((block = ftl_to_erase(b->ftl, 0)) != FTL_NO_BLOCK) {
		ftl_erase(b->ftl, block);
		ftl_erased(b->ftl, block);
	}
	return count;
}

/* All that can be folded is. */
static void
idle(struct ftl_bench *b)
{
	struct row row = { 0 };

	do
		while (collect(b, &row) > 0)
			;
	while (ftl_fold(b->ftl, 0));
	while (row.left-- > 0)
		ftl_programmed(b->ftl, row.at++, FTL_NO_UNIT, FTL_NOWHERE);
	assert_null(ftl_check(b->ftl));
}

static void
hosts_write_to_them_first_as_long_as_there_are_enough(void **state)
{
	struct ftl_bench b;

	(void)state;
	open_slc(&b);
	for (uint32_t unit = 0; unit < SLC_MOST * UNITS / 3; unit++) {
		ftl_write(b.ftl, unit);
		assert_true(ftl_is_slc(b.ftl, ftl_map(b.ftl)[unit] / UNITS));
	}
	assert_int_equal(in_slc_mode(&b), SLC_MOST);
	assert_int_equal(ftl_host_stream(b.ftl, 0), FTL_HOST);
	ftl_write(b.ftl, SHARE - 1);
	assert_false(ftl_is_slc(b.ftl, ftl_map(b.ftl)[SHARE - 1] / UNITS));
	assert_int_equal(ftl_counts(b.ftl)->fold_units, 0);
	ftl_bench_close(&b);
}

static void
what_nobody_asks_for_is_folded_and_the_mode_is_there_again(void **state)
{
	struct ftl_bench b;

	(void)state;
	open_slc(&b);
	for (uint32_t unit = 0; unit < SLC_MOST * UNITS / 3; unit++)
		ftl_write(b.ftl, unit % 100); /* most of it is written anew before */
	idle(&b);
	assert_int_equal(in_slc_mode(&b), 0);
	assert_int_equal(ftl_counts(b.ftl)->fold_units, 100);
	assert_int_equal(ftl_host_stream(b.ftl, 0), FTL_SLC);
	assert_false(ftl_fold(b.ftl, 0));
	for (uint32_t unit = 0; unit < UNITS; unit++)
		ftl_write(b.ftl, unit);
	for (uint32_t unit = 0; unit < 20; unit++) { /* as long as it says that there is something, there is */
		flash_place from;

		assert_true(ftl_fold(b.ftl, 0));
		assert_int_equal(ftl_collect(b.ftl, 0, &from, 1), 1);
		ftl_trim(b.ftl, ftl_owner(b.ftl, from));
		ftl_not_moved(b.ftl, from);
	}
	ftl_bench_close(&b);
}

/* What is always there is neither used for space nor folded while hosts write, and costs nothing when they do. */
static void
a_full_drive_keeps_only_what_is_always_in_that_mode(void **state)
{
	struct ftl_counts since;
	struct ftl_bench b;
	uint32_t space;

	(void)state;
	open_slc(&b);
	ftl_bench_fill(&b);
	ftl_bench_random(&b, SHARE * 3, 0, SHARE);
	assert_int_equal(in_slc_mode(&b), SLC_FIXED);
	assert_true(ftl_counts(b.ftl)->fold_units > 0);
	since = *ftl_counts(b.ftl);
	ftl_bench_random(&b, SHARE, 0, SHARE);
	assert_in_range(ftl_counts(b.ftl)->fold_units - since.fold_units, 0, SLC_FIXED * UNITS / 3);
	ftl_finish_rows(b.ftl);
	idle(&b);
	since = *ftl_counts(b.ftl);
	space = ftl_free_blocks(b.ftl, 0);
	for (uint32_t unit = 0; unit < SLC_FIXED * UNITS / 3; unit++) {
		ftl_write(b.ftl, unit);
		assert_true(ftl_is_slc(b.ftl, ftl_map(b.ftl)[unit] / UNITS));
	}
	assert_int_equal(ftl_host_stream(b.ftl, 0), FTL_HOST);
	assert_int_equal(ftl_counts(b.ftl)->gc_units, since.gc_units);
	assert_int_equal(ftl_free_blocks(b.ftl, 0), space);
	assert_null(ftl_check(b.ftl));
	ftl_bench_close(&b);
}

/* The blocks that are always in that mode hold nothing else, however long hosts write, and no others are spare. */
static void
what_is_always_in_that_mode_is_for_nothing_else(void **state)
{
	struct ftl_bench b;

	(void)state;
	open_slc(&b);
	b.profile.wear_gap = 2;
	ftl_bench_fill(&b);
	for (uint32_t turn = 0; turn < 50; turn++) {
		ftl_bench_random(&b, SHARE / 4, 0, SHARE);
		for (uint32_t block = 0; block < SLC_FIXED; block++)
			assert_true(ftl_state_of(b.ftl, block) == FTL_FREE || ftl_is_slc(b.ftl, block));
		assert_true(ftl_free_blocks(b.ftl, 0) > 0);
		ftl_finish_rows(b.ftl);
		if (turn % 2 == 0)
			idle(&b);
	}
	assert_true(ftl_erases_of(b.ftl, 0) > 20);
	ftl_bench_close(&b);
}

/* Hosts who do not wait take all that they may while a block that is always in that mode is folded, and nothing of that
 * is told: there is space for what is folded, and for the next that is collected, which is as full as it can be. */
static void
folding_leaves_collection_a_block(void **state)
{
	enum { FULL_BLOCKS = 24, FULL_SHARE = 17 * UNITS };
	struct row row = { 0 };
	struct ftl_bench b;
	uint32_t units;

	(void)state;
	shape_slc(&b);
	b.geometry.blocks = FULL_BLOCKS;
	b.geometry.units = FULL_SHARE;
	b.geometry.slc_blocks = b.geometry.slc_fixed_blocks = 1;
	b.profile.gc_low = 2;
	ftl_bench_open(&b);
	ftl_bench_fill(&b);
	ftl_bench_random(&b, FULL_SHARE * 3, 0, FULL_SHARE);
	ftl_finish_rows(b.ftl);
	idle(&b);
	ftl_bench_random(&b, UNITS / 3, 0, FULL_SHARE);
	assert_true(ftl_fold(b.ftl, 0));
	while (ftl_can_begin(b.ftl, 0, FTL_HOST))
		(void)ftl_begin_row(b.ftl, 0, FTL_HOST, &units);
	for (uint32_t i = 0; i < 4 * UNITS && ftl_can_begin(b.ftl, 0, FTL_HOST) == false; i++)
		assert_true(collect(&b, &row) > 0);
	assert_true(ftl_can_begin(b.ftl, 0, FTL_HOST));
	ftl_bench_close(&b);
}

static void
the_oldest_is_folded_first(void **state)
{
	struct ftl_bench b;
	uint32_t first;

	(void)state;
	open_slc(&b);
	ftl_write(b.ftl, 0);
	first = ftl_map(b.ftl)[0] / UNITS;
	for (uint32_t unit = 0; unit < 3 * UNITS / 3; unit++)
		ftl_write(b.ftl, unit);
	ftl_trim(b.ftl, 0);
	assert_true(ftl_fold(b.ftl, 0));
	assert_int_equal(ftl_state_of(b.ftl, first), FTL_VICTIM);
	ftl_bench_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_write_to_them_first_as_long_as_there_are_enough),
		cmocka_unit_test(what_nobody_asks_for_is_folded_and_the_mode_is_there_again),
		cmocka_unit_test(a_full_drive_keeps_only_what_is_always_in_that_mode),
		cmocka_unit_test(what_is_always_in_that_mode_is_for_nothing_else),
		cmocka_unit_test(folding_leaves_collection_a_block),
		cmocka_unit_test(the_oldest_is_folded_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
