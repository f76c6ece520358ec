/*
 * test_lab_calibrate.c - the laboratory measures a drive as `weir calibrate` does, and finds the same each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flash_device.h"
#include "lab/calibrate.h"

static struct lab_device
drive_of(const char *spec, uint32_t times_percent)
{
	struct lab_device device = { .block_size = 4096, .times_percent = times_percent };

	assert_true(strlen(spec) < sizeof(device.spec));
	memcpy(device.spec, spec, strlen(spec));
	return device;
}

static struct qos_params
measured(struct lab *lab, uint32_t times_percent)
{
	const struct lab_device device = drive_of("flash:optane,1G,data=no", times_percent);
	struct calibrate calibrate;
	struct qos_params params;

	assert_true(lab_calibrate(lab, &device, 2 * LAB_S, &calibrate));
	assert_null(calibrate_params(&calibrate, &params));
	return params;
}

static void
what_is_found_is_the_drives(void **state)
{
	struct lab *lab = *state;
	const struct qos_params params = measured(lab, 0), slower = measured(lab, 200);

	assert_int_equal(params.inflight_bytes, 2 * QOS_SLOT_BYTES);
	assert_in_range(params.thresh_min_ns, 190 * LAB_US, 210 * LAB_US);
	assert_in_range(params.write_cost_worst, 11 * QOS_COST_ONE / 10, 13 * QOS_COST_ONE / 10);
	assert_in_range(slower.thresh_min_ns, 380 * LAB_US, 420 * LAB_US);
	assert_int_equal(lab->profile_count, 1);
	assert_memory_equal(lab->profiles[0], "optane ", 7);
	assert_true(lab->constant_count > 4);
	assert_true(lab->runs == 2 && lab->progress.measured == 2 && lab->progress.of == 2);
}

static void
a_seed_is_a_history(void **state)
{
	struct lab *lab = *state, again;
	const struct qos_params params = measured(lab, 0);
	struct qos_params same;

	lab_init(&again, lab->arena, &lab_maker_flash, 1);
	same = measured(&again, 0);
	assert_int_equal(lab->hash, again.hash);
	assert_memory_equal(&params, &same, sizeof(params));
}

static void
what_cannot_be_measured_is_refused(void **state)
{
	struct lab *lab = *state;
	const struct lab_device none = drive_of("flash:nothing,1G,data=no", 0);
	const struct lab_device failing = drive_of("fault:read-error=0@mem:1M", 0);
	struct calibrate calibrate;

	assert_false(lab_calibrate(lab, &none, LAB_S, &calibrate));
	assert_non_null(strstr(lab->why, "nothing"));
	lab->why[0] = '\0';
	assert_false(lab_calibrate(lab, &failing, LAB_S, &calibrate));
	assert_non_null(strstr(lab->why, "an I/O failed while it was measured"));
}

static int
setup(void **state)
{
	static struct arena arena;
	static struct lab lab;

	arena_init(&arena, 0);
	lab_init(&lab, &arena, &lab_maker_flash, 1);
	*state = &lab;
	return 0;
}

static int
teardown(void **state)
{
	arena_drop(((struct lab *)*state)->arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_found_is_the_drives, setup, teardown),
		cmocka_unit_test_setup_teardown(a_seed_is_a_history, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_measured_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
