/*
 * test_drive_power.c - after each of 100,000 random cuts a drive without power-loss protection holds exactly what
 * doc/flash.md allows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drive_bench.h"

static void
cut(void **state)
{
	const struct drive_bench_shape *shape = *state;
	const struct ftl_counts *counts;
	struct flash_profile p;
	struct drive_bench b;

	drive_bench_profile(&p);
	shape->change(&p);
	p.power_loss_protection = 0;
	drive_bench_open(&b, &p, shape->units, 1);
	drive_bench_cuts(&b, shape->cuts);
	counts = ftl_counts(drive_ftl(b.drive));
	assert_true(counts->erases > shape->cuts / 4 && counts->gc_units > shape->cuts / 4);
	assert_true((counts->fold_units > shape->cuts / 4) == (p.slc_permille > 0));
	assert_true(b.lost > shape->cuts / 10); /* it does lose what it may */
	drive_bench_close(&b);
}

int
main(void)
{
	struct CMUnitTest tests[DRIVE_BENCH_SHAPES];

	for (int i = 0; i < DRIVE_BENCH_SHAPES; i++)
		tests[i] = (struct CMUnitTest){ .name = drive_bench_shapes[i].name, .test_func = cut,
			.initial_state = (void *)(uintptr_t)&drive_bench_shapes[i] };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
