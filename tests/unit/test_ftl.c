/*
 * test_ftl.c - whatever is done in whatever order, each unit is where it was written last, and hosts get on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ftl_play.h"

enum { STEPS = 20000 };

/* A drive of three dies that is nearly as full as it can be. */
static void
shape(struct play *p)
{
	ftl_bench_shape(&p->b, 3, 16, 32, 3 * 285);
}

/* A third of a row fits into one in SLC mode; one block may always be so, four in all. */
static void
shape_slc(struct play *p)
{
	ftl_bench_shape(&p->b, 3, 20, 48, 3 * 500);
	p->b.geometry.row_units = 12;
	p->b.geometry.block_rows = 4;
	p->b.geometry.slc_row_units = 4;
	p->b.geometry.slc_block_units = 16;
	p->b.geometry.slc_blocks = 4;
	p->b.geometry.slc_fixed_blocks = 1;
}

static void
play(struct play *p)
{
	for (int i = 0; i < STEPS; i++) {
		play_step(p);
		play_judge(p);
	}
	assert_true(p->rows_begun > STEPS / 40);
	play_orderly(p, 1000);
	play_judge(p);
}

static void
each_unit_is_where_it_was_written_last(void **state)
{
	struct play p = { 0 };

	(void)state;
	shape(&p);
	play_open(&p);
	play(&p);
	play_close(&p);
}

static void
hosts_that_do_not_wait_for_collection_get_no_other_units(void **state)
{
	struct play p = { .impatient = true };

	(void)state;
	shape(&p);
	p.b.profile.policy = FLASH_COST_BENEFIT;
	p.b.profile.wear_gap = 4;
	p.b.profile.gc_low = 2;
	play_open(&p);
	play(&p);
	play_close(&p);
}

static void
in_slc_mode_too_each_unit_is_where_it_was_written_last(void **state)
{
	struct play p = { 0 };

	(void)state;
	shape_slc(&p);
	play_open(&p);
	play(&p);
	assert_true(ftl_counts(p.b.ftl)->fold_units > 0);
	play_close(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_unit_is_where_it_was_written_last),
		cmocka_unit_test(hosts_that_do_not_wait_for_collection_get_no_other_units),
		cmocka_unit_test(in_slc_mode_too_each_unit_is_where_it_was_written_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
