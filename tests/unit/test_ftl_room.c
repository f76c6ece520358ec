/*
 * test_ftl_room.c - a die never runs out of free blocks, and is never overfull, whatever hosts write.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ftl_play.h"

enum { BLOCKS = 64, UNITS = 32, LOW = 4 };

static uint32_t
valid_of(const struct ftl_bench *b, uint32_t block)
{
	uint32_t valid = 0;

	for (uint32_t i = 0; i < b->geometry.block_units; i++)
		valid += ftl_owner(b->ftl, block * b->geometry.block_units + i) != FTL_NO_UNIT;
	return valid;
}

/* A unit of the block that has the most: so none ever has few, and each victim is as bad as can be. */
static uint32_t
worst_unit(struct ftl_bench *b)
{
	uint32_t worst = 0, most = 0, unit;

	for (uint32_t block = 0; block < b->geometry.blocks; block++) {
		uint32_t valid = ftl_state_of(b->ftl, block) == FTL_CLOSED ? valid_of(b, block) : 0;

		if (valid > most) {
			most = valid;
			worst = block;
		}
	}
	do
		unit = ftl_owner(b->ftl, worst * UNITS + (uint32_t)rng_below(&b->rng, UNITS));
	while (unit == FTL_NO_UNIT);
	return unit;
}

static void
with_the_worst_victims_as_many_blocks_stay_free(void **state)
{
	const uint32_t gap[] = { 0, 2 };

	(void)state;
	for (int wear = 0; wear < 2; wear++) {
		struct ftl_bench b;

		ftl_bench_shape(&b, 1, BLOCKS, UNITS, (BLOCKS - LOW - 5) * UNITS);
		b.profile.gc_low = (uint32_t)(LOW + wear);
		b.profile.wear_gap = gap[wear];
		ftl_bench_open(&b);
		ftl_bench_fill(&b);
		ftl_bench_random(&b, 4 * UNITS, 0, b.geometry.units);
		for (int i = 0; i < 20000; i++) {
			if (wear == 0)
				ftl_write(b.ftl, worst_unit(&b));
			else
				ftl_bench_random(&b, 1, 0, b.geometry.units / 2); /* the other half is cold */
			assert_in_range(ftl_free_blocks(b.ftl, 0), LOW - 3, LOW + 1 + wear);
		}
		assert_null(ftl_check(b.ftl));
		assert_true(wear == 0 || ftl_counts(b.ftl)->wear_units > 0);
		ftl_bench_close(&b);
	}
}

/* Between two rows of hosts no more is moved than twice what is on average. */
static void
what_is_collected_is_spread_evenly_over_the_rows_of_hosts(void **state)
{
	uint64_t most = 0, sum = 0, units = (256 - 4) * 128 * 1000 / 1140;
	struct ftl_bench b;
	enum { ROWS = 20000 };

	(void)state;
	ftl_bench_shape(&b, 1, 256, 128, units);
	ftl_bench_open(&b);
	ftl_bench_fill(&b);
	ftl_bench_random(&b, units * 2, 0, units);
	for (int row = 0; row < ROWS; row++) {
		uint64_t before = ftl_counts(b.ftl)->gc_units, moved;

		ftl_bench_random(&b, b.geometry.row_units, 0, units);
		moved = ftl_counts(b.ftl)->gc_units - before;
		sum += moved;
		most = moved > most ? moved : most;
	}
	assert_true(most * ROWS < 2 * sum);
	ftl_bench_close(&b);
}

/* All that lies on one die is written again and again: it goes to all dies, that one included, so that what lies on the
 * others would become ever more if they took it. */
static void
a_die_takes_no_more_than_it_can_collect_with_gain(void **state)
{
	enum { DIES = 4 };
	struct ftl_bench b;

	(void)state;
	ftl_bench_shape(&b, DIES, BLOCKS, UNITS, DIES * (BLOCKS - 12) * UNITS);
	ftl_bench_open(&b);
	ftl_bench_fill(&b);
	for (int round = 0; round < 40; round++) {
		for (uint32_t unit = 0; unit < b.geometry.units; unit++)
			if (flash_die_of(&b.geometry, ftl_map(b.ftl)[unit]) != (uint32_t)round / 10)
				ftl_write(b.ftl, unit);
		assert_null(ftl_check(b.ftl));
	}
	assert_in_range(ftl_bench_permille(&b, &(struct ftl_counts){ 0 }), 1000, 12000);
	ftl_bench_close(&b);
}

/* As much as a die can hold, and a victim's last units wait for others in a row: hosts get on nevertheless. */
static void
a_drive_that_is_kept_full_gets_on(void **state)
{
	(void)state;
	for (uint32_t low = 2; low < 5; low++) {
		struct play p = { .impatient = low == 3 };

		ftl_bench_shape(&p.b, 2, 16, 32, 2 * (16 - low - 3) * 32 - 2 * 32);
		p.b.profile.gc_low = low;
		play_open(&p);
		ftl_bench_fill(&p.b);
		ftl_finish_rows(p.b.ftl);
		for (uint32_t unit = 0; unit < p.b.geometry.units; unit++)
			p.media[ftl_map(p.b.ftl)[unit]] = p.newest[unit] = p.barred[unit] = ++p.writes;
		play_orderly(&p, 20000);
		play_judge(&p);
		play_close(&p);
	}
}

static void
a_drive_without_room_to_collect_is_refused(void **state)
{
	struct ftl_bench b;

	(void)state;
	ftl_bench_shape(&b, 2, 16, 32, 2 * 10 * 32 + 2);
	assert_int_equal(ftl_create(&b.arena, &b.geometry, &b.profile, &b.ftl), -EINVAL);
	b.geometry.units -= 2;
	ftl_bench_open(&b);
	ftl_bench_close(&b);
	b.profile.gc_low = 1;
	assert_int_equal(ftl_create(&b.arena, &b.geometry, &b.profile, &b.ftl), -EINVAL);
	for (int i = 1; i <= 7; i++) {
		b.profile.gc_low = 3;
		b.arena.fail_at = (uint64_t)i;
		assert_int_equal(ftl_create(&b.arena, &b.geometry, &b.profile, &b.ftl), -ENOMEM);
		assert_int_equal(b.arena.bytes, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_the_worst_victims_as_many_blocks_stay_free),
		cmocka_unit_test(what_is_collected_is_spread_evenly_over_the_rows_of_hosts),
		cmocka_unit_test(a_die_takes_no_more_than_it_can_collect_with_gain),
		cmocka_unit_test(a_drive_that_is_kept_full_gets_on),
		cmocka_unit_test(a_drive_without_room_to_collect_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
