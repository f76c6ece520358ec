/*
 * flash_depth.c - how do latency and throughput of each drive depend on the depth, the size, the mix, and the drive's
 * state?
 */
#include <stdio.h>

#include "experiments.h"
#include "place/stats.h"
#include "lab/sweep.h"

static const struct {
	const char *name, *spec;
	unsigned settle_ms; /* until writes have filled its buffer */
} drives[] = {
	{ "tlc-plp, sequential", "flash:tlc-plp,8G,state=sequential,data=no", 300 },
	{ "tlc-plp, fragmented", "flash:tlc-plp,8G,state=fragmented,data=no", 400 },
	{ "tlc-consumer, sequential", "flash:tlc-consumer,8G,state=sequential,data=no", 400 },
	{ "tlc-consumer, fragmented", "flash:tlc-consumer,8G,state=fragmented,data=no", 1000 },
	{ "optane", "flash:optane,8G,data=no", 5 },
	{ "qlc, sequential", "flash:qlc,64G,state=sequential,data=no", 1500 },
	{ "qlc, fragmented", "flash:qlc,64G,state=fragmented,data=no", 1500 },
};

enum { DRIVES = sizeof(drives) / sizeof(drives[0]), PLP_SEQUENTIAL = 0, PLP_FRAGMENTED = 1, OPTANE = 4 };
enum { SETTLE, MEASURE };
enum { LATENCY, TAIL, THROUGHPUT, DRAWINGS };
enum { READS = 100, MIXED = 70, WRITES = 0 }; /* percent of reads, */
static const uint32_t reads = READS, mixed = MIXED, writes = WRITES; /* as those have it who are asked by a sweep */

static const double depths[] = { 1, 4, 16, 64, 256 };
static const double sizes[] = { 4, 16, 64, 128 }; /* KiB */

enum { DEPTHS = sizeof(depths) / sizeof(depths[0]), SIZES = sizeof(sizes) / sizeof(sizes[0]), SIZED_DEPTH = 32 };

static void
add_load(struct lab_setup *setup, unsigned drive, uint32_t bytes, uint32_t depth, uint32_t percent)
{
	struct lab_job *job;

	lab_setup_device(setup, "%s", drives[drive].spec);
	job = lab_setup_job(setup, "load", LAB_READ, bytes, depth);
	job->percent[LAB_READ] = percent;
	job->percent[LAB_WRITE] = 100 - percent;
	lab_setup_phase(setup, "settle", (percent == READS ? 5 : drives[drive].settle_ms) * LAB_MS, false);
	lab_setup_phase(setup, "measure", (percent == READS ? 50 : 500) * LAB_MS, true);
}

/* `arg`: percent of reads. */
static void
make_depths(unsigned series, double depth, struct lab_setup *setup, const void *arg)
{
	const uint32_t *percent = arg;

	add_load(setup, series, 4096, (uint32_t)depth, *percent);
}

/* First all drives with reads, then all with writes. */
static void
make_sizes(unsigned series, double kib, struct lab_setup *setup, const void *arg)
{
	add_load(setup, series % DRIVES, (uint32_t)kib * 1024, SIZED_DEPTH, series < DRIVES ? READS : WRITES);
}

static const struct sweep_drawing drawings[DRAWINGS] = {
	[LATENCY] = { .name = "latency", .title = "Mean latency", .axis = "mean latency", .scale = RESULT_LOG,
		.job = LAB_ALL_JOBS, .op = LAB_ALL_OPS, .metric = LAB_MEAN },
	[TAIL] = { .name = "p99", .title = "99th percentile of latency", .axis = "99th percentile", .scale = RESULT_LOG,
		.job = LAB_ALL_JOBS, .op = LAB_ALL_OPS, .metric = LAB_P99 },
	[THROUGHPUT] = { .name = "throughput", .title = "Throughput", .axis = "throughput", .scale = RESULT_LOG,
		.job = LAB_ALL_JOBS, .op = LAB_ALL_OPS, .metric = LAB_MBPS },
};

static bool
run_sweep(struct lab *lab, struct result *result, struct sweep *sweep, struct swept *swept)
{
	sweep->rig = LAB_DIRECT;
	sweep->phase = MEASURE;
	sweep->drawings = drawings;
	sweep->drawing_count = DRAWINGS;
	return sweep_run(sweep, lab, result, swept);
}

static const struct swept *
run_depths(struct lab *lab, struct result *result, const uint32_t *percent, const char *caption)
{
	const char *names[DRIVES];
	struct sweep sweep = {
		.x = { "depth", "", RESULT_LOG2 }, .series = names, .series_count = DRIVES, .points = depths,
		.point_count = DEPTHS, .make = make_depths, .arg = percent, .caption = caption,
	};
	struct swept *swept = lab_alloc(lab, sizeof(*swept));

	for (unsigned d = 0; d < DRIVES; d++)
		names[d] = drives[d].name;
	if (!run_sweep(lab, result, &sweep, swept))
		return NULL;
	for (unsigned d = 0; d < DRIVES; d++) {
		char name[64];

		snprintf(name, sizeof(name), "%s: mean latency at depth 1", drives[d].name);
		result_metric(result, name, "us", 1, swept->values[LATENCY][d][0]);
		snprintf(name, sizeof(name), "%s: throughput at depth 256", drives[d].name);
		result_metric(result, name, "MB/s", 1, swept->values[THROUGHPUT][d][DEPTHS - 1]);
	}
	return swept;
}

static void
run_reads(struct lab *lab, struct result *result)
{
	const struct swept *swept = run_depths(lab, result, &reads, "4 KiB reads at random places.");
	double fell = 1;

	for (unsigned d = 0; swept != NULL && d < DRIVES; d++)
		for (unsigned i = 1; i < DEPTHS; i++)
			fell = stats_worse(fell, swept->values[THROUGHPUT][d][i - 1] / swept->values[THROUGHPUT][d][i]);
	if (swept != NULL)
		result_check(result, "least throughput over that at the depth before", "", 3, 1 / fell, RESULT_AT_LEAST,
		    0.99, 0);
}

static void
run_mixed(struct lab *lab, struct result *result)
{
	const struct swept *swept = run_depths(lab, result, &mixed,
	    "4 KiB at random places, 70 % reads; once the buffer is full.");

	if (swept != NULL)
		result_check(result, "depth 256: tlc-plp, fragmented, over optane", "", 3,
		    swept->values[THROUGHPUT][PLP_FRAGMENTED][DEPTHS - 1] /
		    swept->values[THROUGHPUT][OPTANE][DEPTHS - 1], RESULT_AT_MOST, 0.5, 0);
}

static void
run_writes(struct lab *lab, struct result *result)
{
	const struct swept *swept = run_depths(lab, result, &writes,
	    "4 KiB writes at random places; where they outrun the drive, once the buffer is full.");

	if (swept != NULL)
		result_check(result, "depth 256: tlc-plp, sequential over fragmented", "", 2,
		    swept->values[THROUGHPUT][PLP_SEQUENTIAL][DEPTHS - 1] /
		    swept->values[THROUGHPUT][PLP_FRAGMENTED][DEPTHS - 1], RESULT_AT_LEAST, 3, 0);
}

static void
run_sizes(struct lab *lab, struct result *result)
{
	char texts[2 * DRIVES][64];
	const char *names[2 * DRIVES];
	struct sweep sweep = {
		.x = { "size", "KiB", RESULT_LOG2 }, .series = names, .series_count = 2 * DRIVES, .points = sizes,
		.point_count = SIZES, .make = make_sizes,
		.caption = "32 in flight at random places; writes once the buffer is full.",
	};
	struct swept *swept = lab_alloc(lab, sizeof(*swept));

	for (unsigned s = 0; s < 2 * DRIVES; s++) {
		snprintf(texts[s], sizeof(texts[s]), "%s, %s", drives[s % DRIVES].name,
		    s < DRIVES ? "reads" : "writes");
		names[s] = texts[s];
	}
	if (!run_sweep(lab, result, &sweep, swept))
		return;
	for (unsigned s = 0; s < 2 * DRIVES; s++) {
		char name[96];

		snprintf(name, sizeof(name), "%.60s: throughput of 128 KiB", texts[s]);
		result_metric(result, name, "MB/s", 1, swept->values[THROUGHPUT][s][SIZES - 1]);
	}
}

const struct experiment flash_depth = {
	.name = "flash-depth", .group = "flash",
	.question = "how do reads of each drive depend on how many are in flight?",
	.known = "At depth 1 a read takes as long as the media and the controller do, 85 us (tlc-plp) and 9 us "
	    "(optane); the more are in flight the more dies work, until dies, channels or the front end are busy.",
	.run = run_reads,
};

const struct experiment flash_depth_mixed = {
	.name = "flash-depth-mixed", .group = "flash",
	.question = "how do reads and writes, 70 to 30, of each drive depend on how many are in flight?",
	.known = "Writes that programs and collection are behind take from reads more than their share; media that "
	    "are written in place have no such thing.",
	.run = run_mixed,
};

const struct experiment flash_depth_write = {
	.name = "flash-depth-write", .group = "flash",
	.question = "how do writes of each drive depend on how many are in flight?",
	.known = "Below what dies can program a write takes as long as the buffer, beyond that as long as its turn; "
	    "a fragmented drive programs several times what is written.",
	.run = run_writes,
};

const struct experiment flash_size = {
	.name = "flash-size", .group = "flash",
	.question = "how do reads and writes of each drive depend on their size?",
	.known = "Large reads are in many dies at a time, up to what the link moves; writes smaller than a unit (64 "
	    "KiB of the QLC drive) have it read and written whole.",
	.run = run_sizes,
};
