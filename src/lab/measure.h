/*
 * measure.h - what was measured: of each job in each phase, and of each device.
 */
#ifndef WEIR_LAB_MEASURE_H
#define WEIR_LAB_MEASURE_H

#include "base/hist.h"
#include "lab/setup.h"

struct arena;

enum {
	LAB_COUNTERS_MAX = 24,
	LAB_WHY = 256,
};

/* What ended in a phase. */
struct lab_measure {
	struct hist latency[LAB_OPS]; /* ns: from submit to the first turn that sees the end; of what arrives by itself,
				       * since it arrived */
	struct hist served[LAB_OPS];  /* ns: of that, since it went to the device; only where that has a policy */
	uint64_t bytes[LAB_OPS];
	uint64_t failed;
};

/* What ended in a piece of time. */
struct lab_bin {
	uint64_t bytes[LAB_OPS];
};

/* A number that a device counts, which only grows, by a name that outlives it. */
struct lab_counter {
	const char *name;
	uint64_t value;
};

struct lab_reading {
	struct lab_counter counters[LAB_COUNTERS_MAX];
	unsigned count;
};

struct lab_outcome {
	const struct lab_setup *setup;
	uint64_t hash, events;         /* of the simulation, at the end */
	struct lab_measure *measures;  /* [job * setup->phase_count + phase]; only measured phases count anything */
	struct lab_reading *readings;  /* [device * (setup->phase_count + 1) + phase]: where each phase begins, and
					* where the last one ends */
	struct lab_bin *bins;          /* [job * bin_count + n] */
	struct policy_view *views;     /* [device * bin_count + n]: of its policy where that piece of time ends */
	unsigned bin_count;
};

/* For rigs: room for it, zeroed. */
struct lab_outcome *lab_outcome_create(struct arena *arena, const struct lab_setup *setup);

struct lab_bin *lab_bins_of(const struct lab_outcome *outcome, unsigned job);
const struct policy_view *lab_view_of(const struct lab_outcome *outcome, unsigned device, unsigned bin);
const struct lab_measure *lab_measure_of(const struct lab_outcome *outcome, unsigned job, unsigned phase);
struct lab_reading *lab_reading_of(const struct lab_outcome *outcome, unsigned device, unsigned phase);

/* By how much the device's counter grew in the phase; 0: it has none of this name. */
uint64_t lab_counted(const struct lab_outcome *outcome, unsigned device, unsigned phase, const char *name);

/* I/Os that failed, of all jobs in measured phases. */
uint64_t lab_failed(const struct lab_outcome *outcome);

enum lab_metric {
	LAB_IOPS, LAB_MBPS,             /* 10^6 bytes a second */
	LAB_MEAN, LAB_P50, LAB_P95, LAB_P99, LAB_P999, LAB_MAX, /* us */
	LAB_METRICS,
};

struct lab_metric_row {
	const char *name, *unit;
	unsigned decimals;
};

extern const struct lab_metric_row lab_metrics[LAB_METRICS];

enum { LAB_ALL_JOBS = -1, LAB_ALL_OPS = -1 };

/* A metric of one job, or all; of one operation, or all.  NAN: there was no such I/O, and it is of latency. */
double lab_metric_of(const struct lab_outcome *outcome, int job, unsigned phase, int op, enum lab_metric metric);

/* A quantile, in us, of the time in the device, of a job's I/Os or all; NAN: there was none. */
double lab_served_us(const struct lab_outcome *outcome, int job, unsigned phase, int op, uint32_t ppm);

const char *lab_op_name(enum lab_op op);

#endif
