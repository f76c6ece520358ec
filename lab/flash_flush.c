/*
 * flash_flush.c - what does it cost that writes are durable?
 *
 * A flush after so much was written; and as many writers that each wait for a flush, or write with FUA, after every
 * write.
 */
#include <stdio.h>

#include "experiments.h"
#include "lab/sweep.h"

enum { PLP, CONSUMER, OPTANE, QLC, CONSUMER_FULL, DRIVES };

static const char *const names[DRIVES] = { "tlc-plp", "tlc-consumer", "optane", "qlc", "tlc-consumer, full" };
static const char *const specs[DRIVES] = {
	[PLP] = "flash:tlc-plp,8G,state=fragmented,data=no",
	[CONSUMER] = "flash:tlc-consumer,8G,data=no",
	[OPTANE] = "flash:optane,8G,data=no",
	[QLC] = "flash:qlc,64G,state=fragmented,data=no",
	[CONSUMER_FULL] = "flash:tlc-consumer,8G,state=fragmented,data=no",
};

enum { SETTLE, MEASURE };

static void
add_phases(struct lab_setup *setup, uint64_t settle_ms)
{
	lab_setup_phase(setup, "settle", settle_ms * LAB_MS, false);
	lab_setup_phase(setup, "measure", 400 * LAB_MS, true);
}

/* ---- after so much was written ---- */

static const double dirty[] = { 4, 16, 64, 256, 1024, 4096 }; /* KiB */

enum { DIRTY = sizeof(dirty) / sizeof(dirty[0]) };

static void
make_dirty(unsigned which, double kib, struct lab_setup *setup, const void *arg)
{
	lab_setup_device(setup, "%s", specs[which]);
	lab_setup_job(setup, "writer", LAB_WRITE, 4096, 1)->flush_every = (uint32_t)kib / 4;
	add_phases(setup, which == CONSUMER_FULL ? 1500 : 50); /* what a full drive has free is used by then */
}

static void
run_dirty(struct lab *lab, struct result *result)
{
	static const struct sweep_drawing drawing = {
		.name = "flush", .title = "A flush after so much was written", .axis = "flush, mean", .scale =
		    RESULT_LOG,
		.job = LAB_ALL_JOBS, .op = LAB_FLUSH, .metric = LAB_MEAN,
	};
	const struct sweep sweep = {
		.x = { "written since the last flush", "KiB", RESULT_LOG2 }, .series = names, .series_count = DRIVES,
		.points = dirty, .point_count = DIRTY, .make = make_dirty, .rig = LAB_DIRECT, .phase = MEASURE,
		.drawings = &drawing, .drawing_count = 1,
		.caption = "4 KiB writes at random places, one at a time; tlc-plp, qlc and the drive that is full are "
		    "fragmented, the others new.",
	};
	struct swept *swept = lab_alloc(lab, sizeof(*swept));

	if (!sweep_run(&sweep, lab, result, swept))
		return;
	/* 990 PRO: 1643 us with the write of 8 KiB (Poder 2025); such drives 0.9 to 5 ms (Callaghan 2026). */
	result_check(result, "tlc-consumer: flush after 4 KiB", "us", 0, swept->values[0][CONSUMER][0],
	    RESULT_AT_LEAST, 900, 0);
	result_check(result, "tlc-consumer: flush after 4 MiB", "us", 0, swept->values[0][CONSUMER][DIRTY - 1],
	    RESULT_AT_MOST, 5000, 0);
	result_check(result, "tlc-consumer, full: flush after 4 KiB", "us", 0, swept->values[0][CONSUMER_FULL][0],
	    RESULT_AT_MOST, 5000, 0);
	for (unsigned d = 0; d < DRIVES; d++) {
		char name[64];

		if (d != CONSUMER && d != CONSUMER_FULL) {
			snprintf(name, sizeof(name), "%s: flush after 4 MiB", names[d]);
			result_check(result, name, "us", 1, swept->values[0][d][DIRTY - 1], RESULT_AT_MOST, 58, 0);
		}
		snprintf(name, sizeof(name), "%s: flush after 4 KiB", names[d]);
		result_metric(result, name, "us", 1, swept->values[0][d][0]);
		snprintf(name, sizeof(name), "%s: flush after 4 MiB", names[d]);
		result_metric(result, name, "us", 1, swept->values[0][d][DIRTY - 1]);
	}
}

/* ---- many that wait ---- */

enum { FLUSHED, FUA, NEITHER, WAYS, RATE = 0, LATENCY, DRAWINGS };

static const double writers[] = { 1, 2, 4, 8, 16, 32 };

enum { WRITERS = sizeof(writers) / sizeof(writers[0]) };

static const char *const ways[] = {
	"tlc-plp, flush", "tlc-plp, FUA", "tlc-plp, neither", "tlc-consumer, flush", "tlc-consumer, FUA",
	"tlc-consumer, neither", "optane, flush", "optane, FUA", "optane, neither",
};

static void
make_writers(unsigned which, double count, struct lab_setup *setup, const void *arg)
{
	struct lab_job *job;

	lab_setup_device(setup, "%s", specs[which / WAYS]);
	job = lab_setup_job(setup, "writers", LAB_WRITE, 4096, (uint32_t)count);
	job->flush_every = which % WAYS == FLUSHED;
	job->fua = which % WAYS == FUA;
	add_phases(setup, 50);
}

static void
run_writers(struct lab *lab, struct result *result)
{
	static const struct sweep_drawing drawings[DRAWINGS] = {
		[RATE] = { .name = "rate", .title = "Writes a second of so many writers that wait for each to be "
		    "durable",
			.axis = "writes per second", .scale = RESULT_LOG, .job = LAB_ALL_JOBS, .op = LAB_WRITE,
			.metric = LAB_IOPS },
		[LATENCY] = { .name = "write", .title = "One write of those", .axis = "write, mean", .scale =
		    RESULT_LOG,
			.job = LAB_ALL_JOBS, .op = LAB_WRITE, .metric = LAB_MEAN },
	};
	const struct sweep sweep = {
		.x = { "writers", "", RESULT_LOG2 }, .series = ways, .series_count = (OPTANE + 1) * WAYS, .points =
		    writers,
		.point_count = WRITERS, .make = make_writers, .rig = LAB_DIRECT, .phase = MEASURE, .drawings = drawings,
		.drawing_count = DRAWINGS,
		.caption = "4 KiB writes at random places, each followed by a flush, or with FUA, or neither.",
	};
	struct swept *swept = lab_alloc(lab, sizeof(*swept));
	const double *consumer;

	if (!sweep_run(&sweep, lab, result, swept))
		return;
	for (unsigned s = 0; s < sweep.series_count; s++) {
		char name[64];

		snprintf(name, sizeof(name), "%s: one writer", ways[s]);
		result_metric(result, name, "1/s", 0, swept->values[RATE][s][0]);
	}
	consumer = swept->values[RATE][CONSUMER * WAYS + FLUSHED];
	result_check(result, "tlc-consumer: 32 in flight without a flush, over one writer with", "", 0,
	    swept->values[RATE][CONSUMER * WAYS + NEITHER][WRITERS - 1] / consumer[0], RESULT_AT_LEAST, 100, 0);
	result_check(result, "tlc-plp: one writer without a flush, over one with", "", 2,
	    swept->values[RATE][PLP * WAYS + NEITHER][0] / swept->values[RATE][PLP * WAYS + FLUSHED][0], RESULT_AT_MOST,
	    4, 0);
}

const struct experiment flash_flush = {
	.name = "flash-flush", .group = "flash",
	.question = "what does a flush cost, after so much was written?",
	.known = "A drive with power-loss protection or in-place media 12 to 58 us with its write, others 0.9 to 5 ms "
	    "(Callaghan 2026; a 990 PRO 1.6 ms with a write of 8 KiB, Poder 2025).",
	.run = run_dirty,
};

const struct experiment flash_flush_writers = {
	.name = "flash-flush-writers", .group = "flash",
	.question = "how many writes a second are durable one by one, with a flush after each or with FUA?",
	.known = "On a drive with a volatile cache two orders of magnitude fewer than without order, on Optane "
	    "hardly fewer (Rio, EuroSys 2023).",
	.run = run_writers,
};
