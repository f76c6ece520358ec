/*
 * test_lab_experiment.c - sweeps, and what their metrics depend on.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lab/sweep.h"

/* ---- a device whose delay is its constant: ten milliseconds, in so many words ---- */

static int
toy_open(struct reactor *reactor, const struct lab_device *device, const struct lab_variation *variation,
    struct blk **blk, char why[LAB_WHY])
{
	char with_delay[BLK_SPEC + 32];

	snprintf(with_delay, sizeof(with_delay), "fault:delay=%d@%s",
	    variation != NULL && strcmp(variation->constant, "toy.delay") == 0 ? 10 + variation->percent / 10 : 10,
	    device->spec);
	return blk_open(reactor, with_delay, device->block_size, blk, why);
}

static const char *
toy_constant(const struct lab_device *device, unsigned n)
{
	static const char *const names[] = { "toy.colour", "toy.delay" };

	return n < 2 ? names[n] : NULL;
}

static void
toy_profile(const struct lab_device *device, char text[LAB_PROFILE])
{
	snprintf(text, LAB_PROFILE, "toy 0123");
}

static void
toy_read(const struct blk *blk, struct lab_reading *reading)
{
	static uint64_t looks;

	reading->counters[reading->count++] = (struct lab_counter){ "looks", looks += 3 };
	reading->counters[reading->count++] = (struct lab_counter){ "what does not grow", 7 };
}

static const struct lab_maker toy = {
	.open = toy_open, .constant = toy_constant, .read = toy_read, .profile = toy_profile,
};

/* ---- an experiment with it ---- */

static const char *spec;

static void
make(unsigned series, double depth, struct lab_setup *setup, const void *arg)
{
	lab_setup_init(setup, LAB_DIRECT);
	lab_setup_device(setup, "%s", spec);
	lab_setup_job(setup, "one", series == 0 ? LAB_READ : LAB_WRITE, 4096, (uint32_t)depth);
	lab_setup_phase(setup, "measure", LAB_S, true);
}

static double
twice(const struct lab_outcome *outcome)
{
	return 2 * lab_metric_of(outcome, LAB_ALL_JOBS, 0, LAB_ALL_OPS, LAB_IOPS);
}

static struct swept swept;

static void
run(struct lab *lab, struct result *result)
{
	static const char *const series[] = { "reads", "writes" };
	static const double depths[] = { 1, 4, 16 };
	static const struct sweep_drawing drawings[] = {
		{ .name = "latency", .title = "L", .job = 0, .op = LAB_ALL_OPS, .metric = LAB_P99, .spread = true },
		{ .name = "twice", .title = "T", .axis = "doubled", .unit = "1", .value = twice },
	};
	const struct sweep sweep = {
		.x = { "depth", "", RESULT_LOG2 }, .series = series, .series_count = 2, .points = depths,
		.point_count = 3, .make = make, .phase = 0, .drawings = drawings, .drawing_count = 2, .caption = "C.",
	};

	if (!sweep_run(&sweep, lab, result, &swept))
		return;
	result_metric(result, "latency", "us", 1, swept.values[0][0][0]);
	result_metric(result, "nothing", "", 1, 0);
}

static const struct experiment experiment = {
	.name = "toy", .group = "tests", .question = "q", .known = "k", .run = run,
};

struct bench {
	struct arena arena, scratch;
	struct lab lab;
	struct result result;
};

static void
begin(struct bench *bench, const char *device)
{
	spec = device;
	arena_init(&bench->arena, 0);
	arena_init(&bench->scratch, 0);
	lab_init(&bench->lab, &bench->arena, &toy, 5);
	result_init(&bench->result, &bench->arena, "toy", 5);
}

static void
end(struct bench *bench)
{
	arena_drop(&bench->scratch);
	arena_drop(&bench->arena);
}

static unsigned
count_rows(const struct result_table *table)
{
	unsigned count = 0;

	result_each(&table->rows, struct result_row, row) {
		assert_int_equal(row->filled, table->column_count);
		count++;
	}
	return count;
}

static void
test_a_sweep_is_a_table_and_figures(void **state)
{
	const struct result_figure *figure;
	const struct result_series *series;
	const struct result_point *point;
	struct bench bench;

	begin(&bench, "mem:16M");
	assert_true(experiment_run(&experiment, &bench.lab, &bench.result));
	assert_int_equal(bench.lab.runs, 6);
	assert_true(bench.result.hash == bench.lab.hash && bench.result.hash != 0 && bench.result.events > 0);
	assert_int_equal(count_rows(result_first(&bench.result.tables, struct result_table)), 6);
	figure = result_first(&bench.result.figures, struct result_figure);
	assert_string_equal(figure->y.name, "p99");
	assert_string_equal(figure->y.unit, "us");
	assert_string_equal(figure->caption, "C. Bars reach from the median to the 99th percentile.");
	series = result_next(result_first(&figure->series, struct result_series), struct result_series);
	assert_string_equal(series->name, "writes");
	point = result_next(result_first(&series->points, struct result_point), struct result_point);
	assert_true(point->x == 4 && fabs(point->y - 10000) < 200 && point->low <= point->y);
	assert_true(point->y == swept.values[0][1][1]);
	figure = result_next(figure, struct result_figure);
	assert_string_equal(figure->y.name, "doubled");
	assert_true(fabs(swept.values[1][0][2] - 3200) < 40);
	assert_true(result_all_met(&bench.result));
	assert_string_equal(result_first(&bench.result.givens, struct result_given)->text, "toy 0123");
	end(&bench);
}

static void
test_what_devices_count_is_a_table(void **state)
{
	const struct result_table *table;
	struct bench bench;

	begin(&bench, "mem:16M");
	assert_true(experiment_run(&experiment, &bench.lab, &bench.result));
	table = result_next(result_first(&bench.result.tables, struct result_table), struct result_table);
	assert_string_equal(table->name, "counted");
	assert_int_equal(count_rows(table), 6);
	result_each(&table->rows, struct result_row, row) {
		assert_string_equal(row->cells[2].text, "mem:16M");
		assert_string_equal(row->cells[3].text, "looks");
		assert_true(row->cells[4].number == 3);
	}
	end(&bench);
}

static void
test_failed_ios_are_not_passed_over(void **state)
{
	struct bench bench;

	begin(&bench, "fault:dead=1@mem:16M");
	assert_true(experiment_run(&experiment, &bench.lab, &bench.result));
	assert_false(result_all_met(&bench.result));
	assert_int_equal(count_rows(result_first(&bench.result.tables, struct result_table)), 0);
	end(&bench);
}

static void
test_what_cannot_be_run_says_why(void **state)
{
	struct bench bench;

	begin(&bench, "mem:17");
	assert_false(experiment_run(&experiment, &bench.lab, &bench.result));
	assert_non_null(strstr(bench.lab.why, "smaller than 1M"));
	end(&bench);
}

static const struct result_row *
row_of(const struct result_table *table, const char *constant, const char *metric)
{
	result_each(&table->rows, struct result_row, row)
		if (strcmp(row->cells[1].text, constant) == 0 && strcmp(row->cells[0].text, metric) == 0)
			return row;
	fail_msg("no row for %s and %s", constant, metric);
	return NULL;
}

static void
test_a_metric_changes_with_what_it_depends_on(void **state)
{
	const struct result_table *table;
	const struct result_figure *figure;
	const struct result_series *less;
	const struct result_row *row;
	struct bench bench;
	uint64_t hash;

	begin(&bench, "mem:16M");
	assert_true(experiment_run(&experiment, &bench.lab, &bench.result));
	hash = bench.result.hash;
	assert_true(experiment_vary(&experiment, &bench.lab, &bench.result, 30, &bench.scratch, NULL));
	assert_true(bench.result.hash == hash && bench.lab.why[0] == '\0');
	table = result_first(&bench.result.tables, struct result_table);
	table = result_next(result_next(table, struct result_table), struct result_table);
	/* Of two of the device, and the turn, one changes one of two metrics. */
	assert_int_equal(count_rows(table), 1);
	row = row_of(table, "toy.delay", "latency");
	assert_true(fabs(row->cells[2].number + 30) < 2 && fabs(row->cells[3].number - 30) < 2);
	/* A figure for each metric; what matters most is on top. */
	figure = result_first(&bench.result.figures, struct result_figure);
	figure = result_next(result_next(figure, struct result_figure), struct result_figure);
	assert_string_equal(figure->name, "sensitivity-1");
	assert_int_equal(figure->shape, RESULT_BARS);
	less = result_first(&figure->series, struct result_series);
	assert_string_equal(less->name, "30 % less");
	assert_string_equal(result_first(&less->points, struct result_point)->label, "toy.delay");
	assert_true(result_first(&less->points, struct result_point)->x < -28);
	assert_null(result_next(result_first(&less->points, struct result_point), struct result_point));
	assert_non_null(strstr(figure->caption, " as they are. 2 more change it by 0.00 % at most."));
	end(&bench);
}

static void
run_untimed(struct lab *lab, struct result *result)
{
	lab_expect(lab, 1);
	lab_measured(lab, 0);
	result_metric(result, "amplification", "", 2, 1.5);
}

static void
test_what_depends_on_no_constant_is_not_repeated(void **state)
{
	static const struct experiment untimed = { .name = "toy", .group = "tests", .run = run_untimed };
	const struct result_given *given;
	struct bench bench;

	begin(&bench, "mem:16M");
	assert_true(experiment_run(&untimed, &bench.lab, &bench.result));
	assert_true(experiment_vary(&untimed, &bench.lab, &bench.result, 30, &bench.scratch, NULL));
	assert_int_equal(bench.lab.progress.measured, 1);
	assert_null(result_first(&bench.result.tables, struct result_table));
	assert_null(result_first(&bench.result.figures, struct result_figure));
	given = result_first(&bench.result.givens, struct result_given);
	while (given != NULL && strcmp(given->name, "sensitivity") != 0)
		given = result_next(given, struct result_given);
	assert_non_null(given);
	end(&bench);
}

/* ---- how far it is ---- */

struct seen {
	uint64_t calls, measured, of, virtual_ns;
};

static void
see(void *arg, const struct lab_progress *progress)
{
	struct seen *seen = arg;

	assert_true(progress->measured >= seen->measured && progress->of >= seen->of);
	assert_true(progress->measured <= progress->of && progress->virtual_ns >= seen->virtual_ns);
	*seen = (struct seen){ seen->calls + 1, progress->measured, progress->of, progress->virtual_ns };
}

/* After each measurement, of as many as it takes. */
static void
test_who_watches_sees_how_far_it_is(void **state)
{
	struct seen seen = { 0 };
	struct bench bench;

	begin(&bench, "mem:16M");
	bench.lab.watch = see;
	bench.lab.watch_arg = &seen;
	assert_true(experiment_run(&experiment, &bench.lab, &bench.result));
	assert_int_equal(seen.measured, bench.lab.runs);
	assert_int_equal(seen.of, bench.lab.runs);
	assert_true(seen.calls > bench.lab.runs && bench.lab.runs > 1);
	assert_int_equal(seen.virtual_ns % bench.lab.runs, 0);
	assert_true(seen.virtual_ns > 0);
	end(&bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sweep_is_a_table_and_figures),
		cmocka_unit_test(test_what_devices_count_is_a_table),
		cmocka_unit_test(test_failed_ios_are_not_passed_over),
		cmocka_unit_test(test_what_cannot_be_run_says_why),
		cmocka_unit_test(test_what_depends_on_no_constant_is_not_repeated),
		cmocka_unit_test(test_who_watches_sees_how_far_it_is),
		cmocka_unit_test(test_a_metric_changes_with_what_it_depends_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
