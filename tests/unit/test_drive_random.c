/*
 * test_drive_random.c - any load on drives of every shape: what is read is what was written, each command is answered
 * once, in time, and the same seed is the same history.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drive_bench.h"

static void
shape_open(struct drive_bench *b, int shape, bool kept, uint64_t seed)
{
	struct flash_profile p;

	drive_bench_profile(&p);
	drive_bench_shapes[shape].change(&p);
	p.power_loss_protection = kept;
	drive_bench_open(b, &p, drive_bench_shapes[shape].units, seed);
}

/* The hash of its history. */
static uint64_t
play(int shape, bool kept, bool at_next, uint32_t rounds)
{
	struct drive_bench b;
	uint64_t hash;

	shape_open(&b, shape, kept, 1);
	b.at_next = at_next;
	drive_bench_fill(&b);
	for (uint32_t i = 0; i < rounds; i++) {
		drive_bench_any_mood(&b);
		drive_bench_load(&b, 200);
		drive_bench_settle(&b);
		drive_bench_check(&b, false);
		if (i % 16 == 0) {
			drive_bench_read_all(&b);
			drive_bench_idle(&b);
		}
	}
	hash = b.hash;
	drive_bench_close(&b);
	return hash;
}

/* Who means to change how drives behave puts the new history here. */
static void
the_same_seed_is_the_same_history_everywhere(void **state)
{
	uint64_t hash = 0;

	(void)state;
	for (int shape = 0; shape < DRIVE_BENCH_SHAPES; shape++)
		for (int kept = 0; kept < 2; kept++)
			hash = hash * 31 + play(shape, kept, false, 60);
	assert_int_equal(hash, UINT64_C(0x28952f67399d9bc3));
}

static void
it_does_not_matter_in_which_steps_time_passes(void **state)
{
	(void)state;
	for (int shape = 0; shape < DRIVE_BENCH_SHAPES; shape++)
		for (int kept = 0; kept < 2; kept++)
			assert_int_equal(play(shape, kept, true, 30), play(shape, kept, false, 30));
}

/* ---- what is worst ---- */

static void
write_unit(struct drive_bench *b, uint64_t unit, bool fua)
{
	drive_bench_send(b, drive_bench_slot(b), DRIVE_WRITE, unit * b->sectors, b->sectors, fua);
	if (b->number % 512 == 0)
		drive_bench_settle(b);
}

static void
a_full_drive_takes_sequential_writes_after_random_ones(void **state)
{
	(void)state;
	for (int shape = 0; shape < DRIVE_BENCH_SHAPES; shape++)
		for (int kept = 0; kept < 2; kept++) {
			struct drive_bench b;

			shape_open(&b, shape, kept, 2);
			drive_bench_fill(&b);
			for (uint32_t i = 0; i < 2 * b.geometry.units; i++)
				write_unit(&b, rng_below(&b.rng, b.geometry.units), false);
			for (uint32_t i = 0; i < 3 * b.geometry.units; i++)
				write_unit(&b, i % b.geometry.units, false);
			drive_bench_settle(&b);
			drive_bench_read_all(&b);
			drive_bench_idle(&b);
			drive_bench_close(&b);
		}
}

/* What was dealt to one die is written again and again, so that all its blocks become empty and the others full. */
static void
a_full_drive_takes_writes_to_the_units_of_one_die(void **state)
{
	(void)state;
	for (int shape = 0; shape < DRIVE_BENCH_SHAPES; shape++)
		for (int kept = 0; kept < 2; kept++) {
			struct drive_bench b;

			shape_open(&b, shape, kept, 3);
			drive_bench_fill(&b);
			for (uint32_t i = 0; i < 4 * b.geometry.units; i++) {
				uint64_t unit = rng_below(&b.rng, b.geometry.units);
				flash_place place = ftl_map(drive_ftl(b.drive))[unit];

				if (place != FTL_NOWHERE && flash_die_of(&b.geometry, place) == 0)
					write_unit(&b, unit, false);
			}
			drive_bench_settle(&b);
			drive_bench_idle(&b);
			drive_bench_close(&b);
		}
}

static void
a_full_drive_takes_writes_that_are_to_be_durable_at_once(void **state)
{
	(void)state;
	for (int shape = 0; shape < DRIVE_BENCH_SHAPES; shape++) {
		struct drive_bench b;

		shape_open(&b, shape, false, 4);
		drive_bench_fill(&b);
		for (uint32_t i = 0; i < 2000; i++) {
			write_unit(&b, rng_below(&b.rng, b.geometry.units), true);
			if (i % 3 == 0)
				drive_bench_drain(&b);
		}
		drive_bench_settle(&b);
		drive_bench_idle(&b);
		drive_bench_close(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_seed_is_the_same_history_everywhere),
		cmocka_unit_test(it_does_not_matter_in_which_steps_time_passes),
		cmocka_unit_test(a_full_drive_takes_sequential_writes_after_random_ones),
		cmocka_unit_test(a_full_drive_takes_writes_to_the_units_of_one_die),
		cmocka_unit_test(a_full_drive_takes_writes_that_are_to_be_durable_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
