/*
 * Files that fail, stall, are slow or change by themselves, as they are told
 * while the simulation runs.  The actor is the writer of tests/sim/toy.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "toy.h"

enum { MS = 1000 * 1000 };

struct patient {
	struct sim *sim;
	struct sim_process *process;
	struct toy_writer writer;
};

static void
patient_begin(struct patient *patient, uint64_t seed, uint32_t ops, const struct sim_file_faults *faults)
{
	struct sim_options options = sim_options_default();

	*patient = (struct patient){ .sim = sim_create(seed, &options), .writer = { .path = "f", .ops = ops } };
	if (faults != NULL)
		sim_file_set_faults(patient->sim, "f", faults);
	patient->process = toy_process(patient->sim, "writer", 1, toy_writer_start, &patient->writer);
}

static void
run_to_the_end(struct patient *patient)
{
	assert_int_equal(sim_run_until(patient->sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(patient->writer.done);
}

static void
heal(struct patient *patient)
{
	sim_file_set_faults(patient->sim, "f", &(struct sim_file_faults){ .slow = 0 });
	assert_true(list_empty(&patient->sim->sicknesses));
}

static uint32_t
version(struct patient *patient, uint32_t page, bool durable)
{
	uint8_t bytes[TOY_PAGE];

	sim_file_peek(sim_file_find(patient->sim, "f"), (uint64_t)page * TOY_PAGE, bytes, sizeof(bytes), durable);
	return toy_page_version(bytes, page);
}

static unsigned
pages_written(struct patient *patient)
{
	unsigned count = 0;

	for (uint32_t page = 0; page < TOY_PAGES; page++)
		count += version(patient, page, false) != 0;
	return count;
}

static void
a_file_fails_before_it_is_there_and_until_it_is_told_not_to(void **state)
{
	struct patient patient;

	patient_begin(&patient, 1, 60, &(struct sim_file_faults){ .error_ppm = 1000000 });
	run_to_the_end(&patient);
	assert_int_equal(patient.writer.failed, 60);
	assert_int_equal(pages_written(&patient), 0);
	heal(&patient);
	patient.writer.ops += 60;
	sim_process_crash(patient.process, 0);
	sim_process_start(patient.process);
	run_to_the_end(&patient);
	assert_int_equal(patient.writer.failed, 60);
	assert_true(pages_written(&patient) > 0);
	sim_destroy(patient.sim);
}

static void
a_late_error_comes_after_the_effect(void **state)
{
	struct patient patient;

	patient_begin(&patient, 2, 60, &(struct sim_file_faults){ .late_error_ppm = 1000000 });
	run_to_the_end(&patient);
	assert_int_equal(patient.writer.failed, 60);
	for (uint32_t page = 0; page < TOY_PAGES; page++)
		assert_int_equal(version(&patient, page, false), patient.writer.submitted[page]);
	sim_destroy(patient.sim);
}

static void
some_of_a_file_s_operations_fail_where_some_shall(void **state)
{
	struct patient patient;

	patient_begin(&patient, 3, 400, &(struct sim_file_faults){ .error_ppm = 200000, .late_error_ppm = 200000 });
	run_to_the_end(&patient);
	assert_in_range(patient.writer.failed, 400 * 36 / 100 - 50, 400 * 36 / 100 + 50);
	sim_destroy(patient.sim);
}

/* The writer takes a short write for a failed one; what has landed of it are whole sectors. */
static void
a_short_write_moves_whole_sectors_and_not_all(void **state)
{
	struct patient patient;
	uint8_t bytes[TOY_PAGE];
	unsigned short_ones = 0;

	patient_begin(&patient, 4, 20, &(struct sim_file_faults){ .short_ppm = 1000000 });
	run_to_the_end(&patient);
	assert_int_equal(patient.writer.failed, 20 - 20 / 7); /* syncs are not meant */
	for (uint32_t page = 0; page < TOY_PAGES; page++) {
		if (patient.writer.submitted[page] != 1)
			continue;
		sim_file_peek(sim_file_find(patient.sim, "f"), (uint64_t)page * TOY_PAGE, bytes, sizeof(bytes), false);
		assert_int_equal(bytes[0], 1);
		assert_int_equal(bytes[TOY_PAGE - 512], 0);
		for (size_t at = 0; at < TOY_PAGE; at += 8)
			assert_int_equal(bytes[at], bytes[at / 512 * 512]);
		short_ones++;
	}
	assert_true(short_ones > 0);
	sim_destroy(patient.sim);
}

static void
no_count_but_that_of_a_read_or_write_is_short(void **state)
{
	struct patient patient;
	struct sim_file *file;

	patient_begin(&patient, 4, 1, &(struct sim_file_faults){ .short_ppm = 1000000 });
	run_to_the_end(&patient);
	file = sim_file_find(patient.sim, "f");
	for (int op = FILE_READ; op <= FILE_ZERO; op++) {
		int64_t most = sim_faults_draw(file, &(struct file_io){ .op = (enum file_op)op }, 8192, 512);

		assert_true(op == FILE_READ || op == FILE_WRITE ? most > 0 && most < 8192 : most == 0);
	}
	assert_int_equal(sim_faults_draw(file, &(struct file_io){ .op = FILE_WRITE }, 512, 512), 0);
	sim_destroy(patient.sim);
}

static void
nothing_ends_while_a_file_is_stalled(void **state)
{
	struct patient patient;

	patient_begin(&patient, 5, 100, &(struct sim_file_faults){ .stalled = true });
	assert_int_equal(sim_run_until(patient.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(patient.writer.in_flight == patient.writer.issued && patient.writer.issued > 0);
	assert_int_equal(pages_written(&patient), 0);
	heal(&patient);
	run_to_the_end(&patient);
	assert_int_equal(patient.writer.failed, 0);
	for (uint32_t page = 0; page < TOY_PAGES; page++)
		assert_int_equal(version(&patient, page, false), patient.writer.written[page]);
	sim_destroy(patient.sim);
}

static bool
has_begun(void *arg)
{
	return ((struct patient *)arg)->writer.issued > 0;
}

/* Some of what is stalled, or would be, lands, some does not, also where it would fail then; none after the crash. */
static void
a_crash_tears_what_is_stalled(void **state)
{
	unsigned landed = 0, lost = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		uint32_t late_ppm = seed < 10 ? 0 : 1000000;
		struct patient patient;

		patient_begin(&patient, seed, 4,
		    &(struct sim_file_faults){ .stalled = true, .late_error_ppm = late_ppm });
		sim_run_until(patient.sim, TOY_FOREVER, seed % 3 == 0 ? has_begun : NULL, &patient);
		assert_int_equal(patient.writer.in_flight, 4);
		sim_process_crash(patient.process, SIM_CRASH_KEEPS_WRITES);
		landed += pages_written(&patient);
		lost += 4 - pages_written(&patient);
		sim_process_start(patient.process);
		if (seed % 2 == 0)
			heal(&patient);
		assert_int_equal(sim_run_until(patient.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		sim_destroy(patient.sim);
	}
	assert_true(landed > 20 && lost > 20);
}

static uint64_t
time_taken(uint32_t slow)
{
	struct patient patient;
	uint64_t ns;

	patient_begin(&patient, 6, 50, &(struct sim_file_faults){ .slow = slow });
	run_to_the_end(&patient);
	ns = sim_now(patient.sim);
	sim_destroy(patient.sim);
	return ns;
}

static void
a_slow_file_takes_so_many_times_as_long(void **state)
{
	uint64_t ns = time_taken(1);

	assert_int_equal(time_taken(0), ns);
	assert_in_range(time_taken(20), 10 * ns, 20 * ns);
}

static void
what_changes_by_itself_is_read_so_and_outlives_a_crash(void **state)
{
	struct patient patient;
	struct sim_file *file;
	uint8_t was[TOY_PAGE], bytes[TOY_PAGE];

	patient_begin(&patient, 7, 40, NULL);
	patient.sim->options.writeback_ppm = 0;
	run_to_the_end(&patient);
	file = sim_file_find(patient.sim, "f");
	for (uint64_t page = 0; page < TOY_PAGES; page++) { /* some of them are written and not safe */
		sim_file_peek(file, page * TOY_PAGE, was, sizeof(was), true);
		sim_file_corrupt(file, page * TOY_PAGE + 100, "wrong", 5);
		sim_file_peek(file, page * TOY_PAGE, bytes, sizeof(bytes), false);
		assert_memory_equal(bytes + 100, "wrong", 5);
		memcpy(was + 100, "wrong", 5);
		sim_file_peek(file, page * TOY_PAGE, bytes, sizeof(bytes), true);
		assert_memory_equal(bytes, was, sizeof(was));
	}
	sim_process_crash(patient.process, 0);
	for (uint64_t page = 0; page < TOY_PAGES; page++) {
		sim_file_peek(file, page * TOY_PAGE, bytes, sizeof(bytes), false);
		assert_memory_equal(bytes + 100, "wrong", 5);
	}
	sim_destroy(patient.sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_fails_before_it_is_there_and_until_it_is_told_not_to),
		cmocka_unit_test(a_late_error_comes_after_the_effect),
		cmocka_unit_test(some_of_a_file_s_operations_fail_where_some_shall),
		cmocka_unit_test(a_short_write_moves_whole_sectors_and_not_all),
		cmocka_unit_test(no_count_but_that_of_a_read_or_write_is_short),
		cmocka_unit_test(nothing_ends_while_a_file_is_stalled),
		cmocka_unit_test(a_crash_tears_what_is_stalled),
		cmocka_unit_test(a_slow_file_takes_so_many_times_as_long),
		cmocka_unit_test(what_changes_by_itself_is_read_so_and_outlives_a_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
