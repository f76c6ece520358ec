/*
 * test_ftl_wear.c - what is written seldom does not keep its blocks from being worn with the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ftl_bench.h"

enum { DIES = 2, BLOCKS = 64, UNITS = 64, GAP = 16 };

/* The most and the fewest erases of a block, of all. */
static uint32_t
spread(const struct ftl_bench *b)
{
	uint32_t most = 0, fewest = UINT32_MAX;

	for (uint32_t block = 0; block < DIES * BLOCKS; block++) {
		uint32_t erases = ftl_erases_of(b->ftl, block);

		most = erases > most ? erases : most;
		fewest = erases < fewest ? erases : fewest;
	}
	return most - fewest;
}

/* Half of the units are never written again. */
static void
age(struct ftl_bench *b, uint32_t gap)
{
	ftl_bench_shape(b, DIES, BLOCKS, UNITS, DIES * (BLOCKS - 12) * UNITS);
	b->profile.wear_gap = gap;
	ftl_bench_open(b);
	ftl_bench_fill(b);
	ftl_bench_random(b, b->geometry.units * 60, 0, b->geometry.units / 2);
	assert_null(ftl_check(b->ftl));
}

static void
what_is_cold_is_moved_to_what_is_worn(void **state)
{
	struct ftl_bench b;

	(void)state;
	age(&b, GAP);
	assert_in_range(spread(&b), 1, GAP + GAP / 2);
	assert_true(ftl_counts(b.ftl)->wear_units > 0);
	assert_in_range(ftl_counts(b.ftl)->wear_units, 1, ftl_counts(b.ftl)->host_units / 10);
	ftl_bench_close(&b);
}

static void
without_levelling_some_blocks_are_not_worn_at_all(void **state)
{
	struct ftl_bench b;

	(void)state;
	age(&b, 0);
	assert_true(spread(&b) > 4 * GAP);
	assert_int_equal(ftl_counts(b.ftl)->wear_units, 0);
	ftl_bench_close(&b);
}

static void
every_erase_is_counted(void **state)
{
	struct ftl_bench b;
	uint64_t sum = 0;

	(void)state;
	age(&b, GAP);
	for (uint32_t block = 0; block < DIES * BLOCKS; block++)
		sum += ftl_erases_of(b.ftl, block);
	assert_int_equal(sum, ftl_counts(b.ftl)->erases);
	ftl_bench_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_cold_is_moved_to_what_is_worn),
		cmocka_unit_test(without_levelling_some_blocks_are_not_worn_at_all),
		cmocka_unit_test(every_erase_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
