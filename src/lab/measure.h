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
	uint64_t bytes[LAB_OPS];
	uint64_t failed;
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
};

/* For rigs: room for it, zeroed. */
struct lab_outcome *lab_outcome_create(struct arena *arena, const struct lab_setup *setup);

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

const char *lab_op_name(enum lab_op op);

#endif
