/*
 * flash_interference.c - what do one tenant's writes do to another's reads, and to themselves?
 *
 * Writes arrive at random, at a share of the rate that the drive can take; another host reads a little all the while.
 * Both go through the target.  The largest rate is measured first, with writes that come as others end.
 */
#include <stdio.h>

#include "experiments.h"
#include "lab/sweep.h"

enum { PLP, CONSUMER, SERIES };
enum { READER, WRITER };
enum { SETTLE, MEASURE };
enum { READ_LATENCY, WRITE_LATENCY, WRITE_TAIL, WRITES, DRAWINGS };

static const struct {
	const char *name, *spec;
} drives[SERIES] = {
	[PLP] = { "tlc-plp", "flash:tlc-plp,8G,state=fragmented,data=no" },
	[CONSUMER] = { "tlc-consumer", "flash:tlc-consumer,8G,state=fragmented,data=no" },
};

/* Percent of the largest rate; at 100 writes come as others end. */
static const double shares[] = { 5, 13, 30, 52, 65, 78, 85, 90, 95, 98, 100 };

enum { SHARES = sizeof(shares) / sizeof(shares[0]), LIGHT = 1, HALF = 3, BEFORE = 5, FULL = SHARES - 1 };

static const struct sweep_drawing drawings[DRAWINGS] = {
	[READ_LATENCY] = { .name = "read", .title = "Reads of one tenant beside another's writes",
		.axis = "read latency, mean", .scale = RESULT_LOG, .job = READER, .op = LAB_READ, .metric = LAB_MEAN,
		.spread = true },
	[WRITE_LATENCY] = { .name = "write", .title = "Writes, the nearer to what the drive can take",
		.axis = "write latency, median", .scale = RESULT_LOG, .job = WRITER, .op = LAB_WRITE, .metric = LAB_P50,
		.spread = true },
	[WRITE_TAIL] = { .name = "write-mean", .title = "Writes, the nearer to what the drive can take",
		.axis = "write latency, mean", .scale = RESULT_LOG, .job = WRITER, .op = LAB_WRITE, .metric =
		    LAB_MEAN },
	[WRITES] = { .name = "rate", .title = "Writes that were served", .axis = "writes per second", .job = WRITER,
		.op = LAB_WRITE, .metric = LAB_IOPS },
};

/*
 * What is published of a PM9A3 of 960 GB (SSD-iq, finallat10), in us, over writes a second of 76,500: reads on average,
 * and the median of writes.
 */
static const struct {
	double share, read, write;
} pm9a3[] = { { 13, 75, 11 }, { 52, 105, 12 }, { 78, 127, 15 }, { 90, 135, 23 }, { 100, 953, 3376 } };

/* `arg`: the largest rate of each drive, in writes a second. */
static void
make(unsigned which, double share, struct lab_setup *setup, const void *arg)
{
	const double *most = arg;
	struct lab_job *writer;

	setup->hosts = 2;
	lab_setup_device(setup, "%s", drives[which].spec);
	lab_setup_job(setup, "reader", LAB_READ, 4096, 64)->rate = 5000;
	writer = lab_setup_job(setup, "writer", LAB_WRITE, 4096, 128);
	writer->host = 1;
	if (share < 100)
		writer->rate = (uint64_t)(most[which] * share / 100);
	lab_setup_phase(setup, "settle", 1000 * LAB_MS, false);
	lab_setup_phase(setup, "measure", 1000 * LAB_MS, true);
}

static bool
find_most(struct lab *lab, unsigned which, double *most)
{
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	const struct lab_outcome *outcome;

	lab_setup_init(setup, LAB_FABRIC);
	make(which, 100, setup, most);
	outcome = lab_run(lab, setup);
	if (outcome != NULL)
		most[which] = lab_metric_of(outcome, WRITER, MEASURE, LAB_WRITE, LAB_IOPS);
	return outcome != NULL;
}

static void
conclude(struct result *result, const struct swept *swept, const double *most)
{
	const double *reads = swept->values[READ_LATENCY][PLP], *writes = swept->values[WRITE_LATENCY][PLP];
	struct result_series *published_reads = result_series(swept->figures[READ_LATENCY], "PM9A3, without a fabric",
	    true);
	struct result_series *published_writes = result_series(swept->figures[WRITE_LATENCY], "PM9A3, without a fabric",
	    true);

	for (unsigned i = 0; i < sizeof(pm9a3) / sizeof(pm9a3[0]); i++) {
		result_point(published_reads, pm9a3[i].share, pm9a3[i].read);
		result_point(published_writes, pm9a3[i].share, pm9a3[i].write);
	}
	result_check(result, "tlc-plp: writes at 78 % over those at 13 %", "", 2, writes[BEFORE] / writes[LIGHT],
	    RESULT_AT_MOST, 1.5, 0);
	result_check(result, "tlc-plp: writes at 100 % over those at 78 %", "", 2, writes[FULL] / writes[BEFORE],
	    RESULT_AT_LEAST, 10, 0);
	result_check(result, "tlc-plp: reads at 78 % over those at 13 %", "", 2, reads[BEFORE] / reads[LIGHT],
	    RESULT_AT_LEAST, 1.1, 0);
	for (unsigned s = 0; s < SERIES; s++) {
		char name[96];

		snprintf(name, sizeof(name), "%s: largest rate of writes", drives[s].name);
		result_metric(result, name, "1/s", 0, most[s]);
		snprintf(name, sizeof(name), "%s: mean read at 13 %%", drives[s].name);
		result_metric(result, name, "us", 1, swept->values[READ_LATENCY][s][LIGHT]);
		snprintf(name, sizeof(name), "%s: mean read at 78 %%", drives[s].name);
		result_metric(result, name, "us", 1, swept->values[READ_LATENCY][s][BEFORE]);
		snprintf(name, sizeof(name), "%s: median write at 100 %%", drives[s].name);
		result_metric(result, name, "us", 1, swept->values[WRITE_LATENCY][s][FULL]);
	}
}

static void
run(struct lab *lab, struct result *result)
{
	const char *names[SERIES];
	double most[SERIES];
	const struct sweep sweep = {
		.x = { "writes, of the largest rate", "%", RESULT_LINEAR }, .series = names, .series_count = SERIES,
		.points = shares, .point_count = SHARES, .make = make, .arg = most, .rig = LAB_FABRIC, .phase = MEASURE,
		.drawings = drawings, .drawing_count = DRAWINGS,
		.caption = "5000 random reads a second of one host, and random writes of another (4 KiB, at random "
		    "instants; at 100 %: 128 in flight) on fragmented drives of 8 GiB, through the target.",
	};
	struct swept *swept = lab_alloc(lab, sizeof(*swept));

	lab_expect(lab, SERIES);
	for (unsigned s = 0; s < SERIES; s++) {
		names[s] = drives[s].name;
		if (!find_most(lab, s, most))
			return;
	}
	if (sweep_run(&sweep, lab, result, swept))
		conclude(result, swept, most);
}

const struct experiment flash_interference = {
	.name = "flash-interference", .group = "flash",
	.question = "what do one tenant's writes do to another's reads, and to themselves?",
	.known = "Writes take 8 to 15 us until about 85 to 90 % of what a drive can take, then a hundred times as "
	    "long; reads get slower little by little before (SSD-iq's measurements of a PM9A3 and others).",
	.run = run,
};
