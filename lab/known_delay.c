/*
 * known_delay.c - does the laboratory find what is known before?
 *
 * A device that takes a millisecond for everything, whatever is in flight, seen directly and over the fabric: latency
 * and I/Os per second follow from the depth by multiplication.
 */
#include "experiments.h"
#include "lab/sweep.h"

enum { DIRECT, FABRIC, SERIES };

static const char *const series[SERIES] = { "direct", "over the fabric" };
static const double depths[] = { 1, 2, 4, 8, 16, 32 };

enum { DEPTHS = sizeof(depths) / sizeof(depths[0]) };
enum { LATENCY, RATE, DRAWINGS };

static const struct sweep_drawing drawings[DRAWINGS] = {
	[LATENCY] = { .name = "latency", .title = "Latency of a device that takes 1 ms", .axis = "mean latency",
		.job = LAB_ALL_JOBS, .op = LAB_ALL_OPS, .metric = LAB_MEAN },
	[RATE] = { .name = "iops", .title = "I/Os per second of a device that takes 1 ms", .axis = "I/Os per second",
		.job = LAB_ALL_JOBS, .op = LAB_ALL_OPS, .metric = LAB_IOPS },
};

static void
make(unsigned which, double depth, struct lab_setup *setup, const void *arg)
{
	lab_setup_init(setup, which == DIRECT ? LAB_DIRECT : LAB_FABRIC);
	lab_setup_device(setup, "fault:delay=1@mem:16M");
	lab_setup_job(setup, "reads", LAB_READ, 4096, (uint32_t)depth);
	lab_setup_phase(setup, "warm-up", 5 * LAB_MS, false);
	lab_setup_phase(setup, "measure", 100 * LAB_MS, true);
}

static void
run(struct lab *lab, struct result *result)
{
	const struct sweep sweep = {
		.x = { "depth", "", RESULT_LOG2 }, .series = series, .series_count = SERIES, .points = depths,
		.point_count = DEPTHS, .make = make, .phase = 1, .drawings = drawings, .drawing_count = DRAWINGS,
		.caption = "4 KiB reads of fault:delay=1@mem:16M.",
	};
	struct result_series *known;
	struct swept *swept = lab_alloc(lab, sizeof(*swept));

	if (!sweep_run(&sweep, lab, result, swept))
		return;
	known = result_series(swept->figures[RATE], "depth / 1 ms", true);
	for (unsigned i = 0; i < DEPTHS; i++)
		result_point(known, depths[i], depths[i] * 1000);
	result_check(result, "latency, direct, at depth 1", "us", 2, swept->values[LATENCY][DIRECT][0], RESULT_WITHIN,
	    1000, 0.1);
	result_check(result, "I/Os per second, direct, at depth 32", "1/s", 0, swept->values[RATE][DIRECT][DEPTHS - 1],
	    RESULT_WITHIN, 32000, 1);
	/* There and back, ten microseconds each. */
	result_check(result, "what the fabric adds at depth 1", "us", 2,
	    swept->values[LATENCY][FABRIC][0] - swept->values[LATENCY][DIRECT][0], RESULT_AT_LEAST, 20, 0);
	result_metric(result, "latency over the fabric at depth 1", "us", 2, swept->values[LATENCY][FABRIC][0]);
	result_metric(result, "what the fabric adds at depth 1", "us", 2,
	    swept->values[LATENCY][FABRIC][0] - swept->values[LATENCY][DIRECT][0]);
}

const struct experiment known_delay = {
	.name = "known-delay", .group = "house",
	.question = "does the laboratory find the latency and the rate of a device for which both are known?",
	.known = "A device that takes 1 ms for each I/O has a latency of 1 ms, and 1000 I/Os per second for each one "
	    "in flight; the network of 10 us each way adds 20 us at least.",
	.run = run,
};
