/*
 * test_read_turns.c - of many reads that one host keeps in flight, none waits until all others are done.
 *
 * Where the network is slower than the volume the host's socket is always full, so most of its reads are given back
 * and read again (doc/decisions/0005-reads-given-back.md): those have their turn among the ones that came later.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab/rig.h"

static void
no_read_waits_for_all_that_come_later(void **state)
{
	static const uint32_t depths[] = { 16, 64, 256 };
	struct arena arena;

	arena_init(&arena, 0);
	for (unsigned i = 0; i < 3; i++) {
		struct lab_outcome *outcome;
		struct lab_setup setup;
		struct lab lab;
		double mean;

		lab_init(&lab, &arena, &lab_maker_plain, 1);
		lab_setup_init(&setup, LAB_FABRIC);
		lab_setup_device(&setup, "mem:64M");
		lab_setup_job(&setup, "reads", LAB_READ, 131072, depths[i]);
		lab_setup_phase(&setup, "warm-up", 20 * LAB_MS, false);
		lab_setup_phase(&setup, "measure", 200 * LAB_MS, true);
		outcome = lab_run(&lab, &setup);
		assert_non_null(outcome);
		assert_int_equal(lab_failed(outcome), 0);
		mean = lab_metric_of(outcome, 0, 1, LAB_READ, LAB_MEAN);
		/* Little's law: all of them, and not a few, take part. */
		assert_true(mean * lab_metric_of(outcome, 0, 1, LAB_READ, LAB_IOPS) / 1e6 > 0.95 * depths[i]);
		assert_true(lab_metric_of(outcome, 0, 1, LAB_READ, LAB_MAX) < 2 * mean);
		/* And the network is as full as it can be. */
		assert_true(lab_metric_of(outcome, 0, 1, LAB_READ, LAB_MBPS) > 3000);
	}
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_read_waits_for_all_that_come_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
