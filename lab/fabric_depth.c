/*
 * fabric_depth.c - what does a queue's depth make of latency and throughput, where the device costs nothing?
 *
 * One host and one queue at a volume in RAM: what is seen is the target, the host and the network, as the simulation
 * charges for them.  Little's law holds them to one another, and the network's cards are a wall for large I/Os.
 */

#include "experiments.h"
#include "place/stats.h"
#include "lab/sweep.h"

enum { SMALL_READS, SMALL_WRITES, LARGE_READS, SERIES };

static const char *const series[SERIES] = { "4 KiB reads", "4 KiB writes", "128 KiB reads" };
static const double depths[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 };

enum { DEPTHS = sizeof(depths) / sizeof(depths[0]), CARD_MBPS = 3125 /* 25 Gbit/s */ };
enum { LATENCY, RATE, THROUGHPUT, DRAWINGS };

static const struct sweep_drawing drawings[DRAWINGS] = {
	[LATENCY] = { .name = "latency", .title = "Latency against depth, RAM over the fabric", .axis = "mean latency",
		.scale = RESULT_LOG, .job = LAB_ALL_JOBS, .op = LAB_ALL_OPS, .metric = LAB_MEAN, .spread = true },
	[RATE] = { .name = "iops", .title = "I/Os per second against depth, RAM over the fabric",
		.axis = "I/Os per second", .scale = RESULT_LOG, .job = LAB_ALL_JOBS, .op = LAB_ALL_OPS,
		.metric = LAB_IOPS },
	[THROUGHPUT] = { .name = "throughput", .title = "Throughput against depth, RAM over the fabric",
		.job = LAB_ALL_JOBS, .op = LAB_ALL_OPS, .metric = LAB_MBPS },
};

static void
make(unsigned which, double depth, struct lab_setup *setup, const void *arg)
{
	bool large = which == LARGE_READS;

	lab_setup_init(setup, LAB_FABRIC);
	lab_setup_device(setup, "mem:64M");
	lab_setup_job(setup, series[which], which == SMALL_WRITES ? LAB_WRITE : LAB_READ, large ? 131072 : 4096,
	    (uint32_t)depth);
	/* A hundred times what an I/O takes when all queues are full, and more. */
	lab_setup_phase(setup, "warm-up", (large ? 20 : 2) * LAB_MS, false);
	lab_setup_phase(setup, "measure", (large ? 200 : 20) * LAB_MS, true);
}

/* By how many percent I/Os per second times latency differ from the depth, at most. */
static double
little_error(const struct swept *swept)
{
	double most = 0;

	for (unsigned s = 0; s < SERIES; s++)
		for (unsigned i = 0; i < DEPTHS; i++)
			most = stats_worse(most, stats_percent_error(
			    swept->values[RATE][s][i] * swept->values[LATENCY][s][i] / 1e6, depths[i]));
	return most;
}

static void
run(struct lab *lab, struct result *result)
{
	const struct sweep sweep = {
		.x = { "depth", "", RESULT_LOG2 }, .series = series, .series_count = SERIES, .points = depths,
		.point_count = DEPTHS, .make = make, .phase = 1, .drawings = drawings, .drawing_count = DRAWINGS,
		.caption = "One host, one queue, one reactor of the target, and mem:64M.",
	};
	struct swept *swept = lab_alloc(lab, sizeof(*swept));

	if (!sweep_run(&sweep, lab, result, swept))
		return;
	result_check(result, "difference from Little's law, at most", "%", 2, little_error(swept), RESULT_AT_MOST, 2,
	    0);
	result_check(result, "latency of a 4 KiB read at depth 1", "us", 2, swept->values[LATENCY][SMALL_READS][0],
	    RESULT_AT_LEAST, 20, 0);
	result_check(result, "throughput of 128 KiB reads at depth 256", "MB/s", 0,
	    swept->values[THROUGHPUT][LARGE_READS][DEPTHS - 1], RESULT_AT_MOST, CARD_MBPS, 0);
	result_metric(result, "latency of a 4 KiB read at depth 1", "us", 2, swept->values[LATENCY][SMALL_READS][0]);
	result_metric(result, "4 KiB reads per second at depth 256", "1/s", 0,
	    swept->values[RATE][SMALL_READS][DEPTHS - 1]);
	result_metric(result, "throughput of 128 KiB reads at depth 256", "MB/s", 0,
	    swept->values[THROUGHPUT][LARGE_READS][DEPTHS - 1]);
}

const struct experiment fabric_depth = {
	.name = "fabric-depth", .group = "house",
	.question = "what does the depth of one queue make of latency and throughput, where the device costs nothing?",
	.known = "Little's law: what is in flight is the rate times the latency. There and back are 20 us of network, "
	    "and no more than 3125 MB/s cross a card of 25 Gbit/s.",
	.run = run,
};
