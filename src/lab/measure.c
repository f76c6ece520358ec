#include "lab/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

const struct lab_metric_row lab_metrics[LAB_METRICS] = {
	[LAB_IOPS] = { "IOPS", "1/s", 0 },
	[LAB_MBPS] = { "throughput", "MB/s", 1 },
	[LAB_MEAN] = { "mean", "us", 2 },
	[LAB_P50] = { "p50", "us", 1 },
	[LAB_P95] = { "p95", "us", 1 },
	[LAB_P99] = { "p99", "us", 1 },
	[LAB_P999] = { "p99.9", "us", 1 },
	[LAB_MAX] = { "max", "us", 1 },
};

/* As the simulation does: where this machine has no memory left, nothing can be measured. */
static void *
room(struct arena *arena, size_t bytes)
{
	void *memory = arena_alloc(arena, bytes);

	if (memory == NULL)
		abort();
	return memory;
}

struct lab_outcome *
lab_outcome_create(struct arena *arena, const struct lab_setup *setup)
{
	struct lab_outcome *outcome = room(arena, sizeof(*outcome));
	size_t measures = (size_t)setup->job_count * setup->phase_count;

	outcome->setup = setup;
	outcome->measures = room(arena, measures * sizeof(*outcome->measures));
	outcome->readings = room(arena,
	    (size_t)setup->device_count * (setup->phase_count + 1) * sizeof(*outcome->readings));
	for (size_t i = 0; i < measures; i++)
		for (unsigned op = 0; op < LAB_OPS; op++) {
			hist_init(&outcome->measures[i].latency[op]);
			hist_init(&outcome->measures[i].served[op]);
		}
	outcome->bin_count = lab_setup_bins(setup);
	if (outcome->bin_count > 0) {
		outcome->bins = room(arena, (size_t)setup->job_count * outcome->bin_count * sizeof(*outcome->bins));
		outcome->views = room(arena,
		    (size_t)setup->device_count * outcome->bin_count * sizeof(*outcome->views));
	}
	return outcome;
}

struct lab_bin *
lab_bins_of(const struct lab_outcome *outcome, unsigned job)
{
	return &outcome->bins[(size_t)job * outcome->bin_count];
}

const struct policy_view *
lab_view_of(const struct lab_outcome *outcome, unsigned device, unsigned bin)
{
	return &outcome->views[(size_t)device * outcome->bin_count + bin];
}

const struct lab_measure *
lab_measure_of(const struct lab_outcome *outcome, unsigned job, unsigned phase)
{
	return &outcome->measures[job * outcome->setup->phase_count + phase];
}

struct lab_reading *
lab_reading_of(const struct lab_outcome *outcome, unsigned device, unsigned phase)
{
	return &outcome->readings[device * (outcome->setup->phase_count + 1) + phase];
}

static uint64_t
value_of(const struct lab_reading *reading, const char *name)
{
	for (unsigned i = 0; i < reading->count; i++)
		if (strcmp(reading->counters[i].name, name) == 0)
			return reading->counters[i].value;
	return 0;
}

uint64_t
lab_counted(const struct lab_outcome *outcome, unsigned device, unsigned phase, const char *name)
{
	return value_of(lab_reading_of(outcome, device, phase + 1), name) -
	    value_of(lab_reading_of(outcome, device, phase), name);
}

uint64_t
lab_failed(const struct lab_outcome *outcome)
{
	uint64_t failed = 0;

	for (unsigned i = 0; i < outcome->setup->job_count * outcome->setup->phase_count; i++)
		failed += outcome->measures[i].failed;
	return failed;
}

/* What was asked for, together; its latency, or the part of it in the device. */
static uint64_t
gather(const struct lab_outcome *outcome, int job, unsigned phase, int op, bool served, struct hist *all)
{
	uint64_t bytes = 0;

	hist_init(all);
	for (unsigned j = 0; j < outcome->setup->job_count; j++) {
		const struct lab_measure *measure = lab_measure_of(outcome, j, phase);

		if (job != LAB_ALL_JOBS && (unsigned)job != j)
			continue;
		for (unsigned o = 0; o < LAB_OPS; o++) {
			if (op != LAB_ALL_OPS && (unsigned)op != o)
				continue;
			hist_merge(all, served ? &measure->served[o] : &measure->latency[o]);
			bytes += measure->bytes[o];
		}
	}
	return bytes;
}

static double
quantile_us(const struct hist *hist, uint32_t ppm)
{
	return (double)hist_quantile(hist, ppm) / 1e3;
}

double
lab_metric_of(const struct lab_outcome *outcome, int job, unsigned phase, int op, enum lab_metric metric)
{
	double seconds = (double)outcome->setup->phases[phase].ns / 1e9;
	struct hist all;
	uint64_t bytes = gather(outcome, job, phase, op, false, &all);

	if (metric == LAB_IOPS)
		return (double)all.count / seconds;
	if (metric == LAB_MBPS)
		return (double)bytes / seconds / 1e6;
	if (all.count == 0)
		return NAN;
	switch (metric) {
	case LAB_IOPS: case LAB_MBPS: case LAB_METRICS: break;
	case LAB_MEAN: return (double)all.sum / (double)all.count / 1e3;
	case LAB_P50: return quantile_us(&all, 500000);
	case LAB_P95: return quantile_us(&all, 950000);
	case LAB_P99: return quantile_us(&all, 990000);
	case LAB_P999: return quantile_us(&all, 999000);
	case LAB_MAX: return (double)all.max / 1e3;
	}
	return NAN;
}

double
lab_served_us(const struct lab_outcome *outcome, int job, unsigned phase, int op, uint32_t ppm)
{
	struct hist all;

	(void)gather(outcome, job, phase, op, true, &all);
	return all.count > 0 ? quantile_us(&all, ppm) : NAN;
}

const char *
lab_op_name(enum lab_op op)
{
	static const char *const names[LAB_OPS] = {
		[LAB_READ] = "read", [LAB_WRITE] = "write", [LAB_FLUSH] = "flush", [LAB_TRIM] = "trim",
	};

	return names[op];
}
