#include "qos/calibrate.h"

#include <stddef.h>
#include <string.h>

enum {
	MIB = 1024 * 1024,
	DEPTH_LEAST = 8, DEPTH_MOST = 32, /* where a size is measured with 1 MiB under way */
	SIZE_LARGE = QOS_SIZES - 1,
	NEARLY = 97,            /* percent of the most that a device gives */
	SETTLE = 4,             /* a measurement settles for one part in so many of its time */
	ONE = 1024, TAKEN_LEAST = 64,
};

static const uint32_t depths[CALIBRATE_DEPTHS] = { 1, 2, 3, 4, 6, 8, 12, 16, 20, 24 };
static const uint32_t slots[CALIBRATE_SLOTS] = { 1, 2, 4, 8 };
static const uint32_t bounds[CALIBRATE_BOUNDS] = { 2, 3, 4, 6 }; /* half so many times what saturates it */

uint32_t
calibrate_depth(unsigned index)
{
	return depths[index];
}

/* ---- arithmetic ---- */

static uint32_t
size_of(unsigned size)
{
	return (uint32_t)QOS_SIZE_LEAST << size;
}

static uint32_t
within(uint64_t value, uint32_t least, uint32_t most)
{
	return value < least ? least : value > most ? most : (uint32_t)value;
}

static uint32_t
cost_of(uint64_t best, uint64_t rate, uint32_t least)
{
	return rate == 0 ? QOS_COST_MAX : within(best * QOS_COST_ONE / rate, least, QOS_COST_MAX);
}

/* The first that is nearly as large as the largest. */
static unsigned
nearly_most(const uint64_t *values, unsigned count)
{
	uint64_t most = 0;
	unsigned index = 0;

	for (unsigned i = 0; i < count; i++)
		if (values[i] > most)
			most = values[i];
	while (values[index] < most / 100 * NEARLY)
		index++;
	return index;
}

unsigned
calibrate_saturated(const struct calibrate *calibrate)
{
	uint64_t rates[CALIBRATE_DEPTHS];

	for (unsigned i = 0; i < CALIBRATE_DEPTHS; i++)
		rates[i] = calibrate->depths[i].rate;
	return nearly_most(rates, CALIBRATE_DEPTHS);
}

static uint32_t
bound_of(const struct calibrate *calibrate, unsigned index)
{
	return calibrate_depth(calibrate_saturated(calibrate)) * bounds[index] / 2 * QOS_SLOT_BYTES;
}

static void
find_costs(const struct calibrate *calibrate, struct qos_params *params)
{
	for (unsigned kind = 0; kind < QOS_KINDS; kind++)
		for (unsigned size = 0; size < QOS_SIZES; size++) {
			const struct gauge_heard *full = calibrate->full[kind], *alone = calibrate->alone[kind];
			uint64_t least_ns = alone[0].median_ns, ns = alone[size].median_ns;

			if (full[SIZE_LARGE].rate != 0)
				params->size_cost[kind][size] = cost_of(full[SIZE_LARGE].rate, full[size].rate, 1);
			params->size_ns[kind][size] = ns > least_ns ? within(ns - least_ns, 0, UINT32_MAX) : 0;
		}
	if (calibrate->full[QOS_WRITE][SIZE_LARGE].rate != 0)
		params->write_cost_worst = cost_of(calibrate->full[QOS_READ][SIZE_LARGE].rate,
		    calibrate->full[QOS_WRITE][SIZE_LARGE].rate, QOS_COST_ONE);
}

static uint64_t
rate_of(uint64_t bytes, uint64_t least)
{
	uint64_t most = UINT64_C(1) << 40;

	bytes = bytes / MIB * MIB;
	return bytes < least ? least : bytes > most ? most : bytes;
}

/* Of the time for which reads keep the device busy, so many 1024ths are taken from writes.  Beside reads writes have
 * less than alone: by so much reads took of all time. */
static uint64_t
taken_by_reads(const struct calibrate *calibrate)
{
	uint64_t read = calibrate->mixed[QOS_READ].rate, write = calibrate->mixed[QOS_WRITE].rate;
	uint64_t read_alone = calibrate->most[0].rate, write_alone = calibrate->full[QOS_WRITE][0].rate;
	uint64_t lost = 0;

	if (read == 0 || read_alone == 0 || write_alone == 0)
		return ONE;
	if (write < write_alone)
		lost = (write_alone - write) * ONE / write_alone;
	return within(lost * read_alone / read, TAKEN_LEAST, ONE);
}

/* Of writes where a byte in 128 KiB costs what one read does. */
static void
find_size_rates(const struct calibrate *calibrate, struct qos_params *params)
{
	uint64_t taken = taken_by_reads(calibrate);

	for (unsigned size = 0; size < QOS_SIZES; size++) {
		uint64_t read = calibrate->most[size].rate, write = calibrate->full[QOS_READ][SIZE_LARGE].rate;

		if (read == 0 || calibrate->full[QOS_WRITE][size].rate == 0)
			continue;
		write = write * QOS_COST_ONE / params->size_cost[QOS_WRITE][size];
		params->size_rate[QOS_READ][size] = rate_of(read * ONE / taken, MIB);
		params->size_rate[QOS_WRITE][size] = rate_of(write, MIB);
	}
}

/* A device whose writes now and then take long though it has nothing to do is not overloaded by that. */
static void
find_thresholds(const struct calibrate *calibrate, struct qos_params *params)
{
	uint64_t least_ns = calibrate->alone[QOS_READ][SIZE_LARGE].median_ns * 12 / 10;
	uint64_t most_ns = least_ns * 5, write_ns = calibrate->alone[QOS_WRITE][0].p99_ns * 25 / 10;

	params->thresh_min_ns = within(least_ns, 1000, UINT32_MAX / 5);
	params->thresh_max_ns = within(write_ns > most_ns ? write_ns : most_ns, 5000, UINT32_MAX);
}

/* Room above what it gives for the rate to grow, and below what it gives at its slowest to fall. */
static void
find_rates(const struct calibrate *calibrate, struct qos_params *params)
{
	uint64_t best = calibrate->depths[calibrate_saturated(calibrate)].rate, least = best / 32;

	for (unsigned size = 0; size < QOS_SIZES; size++) {
		uint64_t half = calibrate->full[QOS_WRITE][size].rate / 2;

		if (half != 0 && half < least)
			least = half;
	}
	params->rate_least = rate_of(least, MIB);
	params->rate_first = rate_of(best / 2, params->rate_least);
	params->rate_most = rate_of(best * 2, params->rate_first);
}

const char *
calibrate_params(const struct calibrate *calibrate, struct qos_params *params)
{
	qos_params_default(params);
	if (calibrate->full[QOS_READ][SIZE_LARGE].rate == 0 || calibrate->depths[0].rate == 0)
		return "no read of 128 KiB ended in the time that there was";
	find_costs(calibrate, params);
	find_size_rates(calibrate, params);
	find_thresholds(calibrate, params);
	params->inflight_bytes = bound_of(calibrate, nearly_most(calibrate->bounds, CALIBRATE_BOUNDS));
	params->slots_least = slots[nearly_most(calibrate->slots, CALIBRATE_SLOTS)];
	params->slots = 2 * params->slots_least;
	find_rates(calibrate, params);
	return qos_params_wrong(params);
}

/* ---- the plan ---- */

static struct gauge_load
alone(enum qos_kind kind, unsigned size)
{
	return (struct gauge_load){ kind, size_of(size), 1, 1 };
}

static struct gauge_load
full(enum qos_kind kind, unsigned size)
{
	return (struct gauge_load){ kind, size_of(size), within(MIB / size_of(size), DEPTH_LEAST, DEPTH_MOST), 1 };
}

/* Tenants that have little in common, of whom each is known alone: with what is known by now. */
static void
plan_shared(const struct calibrate *calibrate, struct gauge_task *task, unsigned tenants)
{
	task->loads[0] = full(QOS_READ, 0);
	task->loads[1] = full(QOS_READ, SIZE_LARGE);
	task->loads[0].tenants = task->loads[1].tenants = tenants / 2;
	task->load_count = 2;
	task->switched = true;
	(void)calibrate_params(calibrate, &task->params); /* where it fails they are those of the paper's drive */
}

static uint64_t
least_part(const struct calibrate *calibrate, const struct gauge_heard heard[GAUGE_LOADS])
{
	const struct gauge_heard *known = calibrate->full[QOS_READ];
	uint64_t small = known[0].rate, large = known[SIZE_LARGE].rate;

	if (small == 0 || large == 0)
		return 0;
	small = heard[0].rate * 1000 / small;
	large = heard[1].rate * 1000 / large;
	return small < large ? small : large;
}

/* Reads and what hardly burdens the device come first, and what writes it all over last. */
enum stage { PREPARE, ALONE_READS, FULL_READS, MOST_READS, DEPTHS, ALONE_WRITES, SLOTS, BOUNDS, FULL_WRITES, MIXED,
	STAGES };

static const struct {
	unsigned steps, parts;  /* how often, and how long each time */
} stages[STAGES] = {
	[PREPARE] = { 2, 0 }, [ALONE_READS] = { QOS_SIZES, 1 }, [FULL_READS] = { QOS_SIZES, 3 },
	[MOST_READS] = { QOS_SIZES, 3 }, [DEPTHS] = { CALIBRATE_DEPTHS, 3 }, [ALONE_WRITES] = { QOS_SIZES, 1 },
	[SLOTS] = { CALIBRATE_SLOTS, 6 }, [BOUNDS] = { CALIBRATE_BOUNDS, 6 }, [FULL_WRITES] = { QOS_SIZES, 12 },
	[MIXED] = { 1, 12 },
};

/* Which stage a step is of, and the how manieth; STAGES: of none. */
static enum stage
stage_of(unsigned step, unsigned *index)
{
	enum stage stage = PREPARE;

	for (*index = step; stage < STAGES && *index >= stages[stage].steps; stage++)
		*index -= stages[stage].steps;
	return stage;
}

unsigned
calibrate_left(const struct calibrate *calibrate)
{
	unsigned steps = 0;

	for (enum stage stage = PREPARE; stage < STAGES; stage++)
		steps += stages[stage].steps;
	return steps - calibrate->step;
}

void
calibrate_init(struct calibrate *calibrate, uint64_t time_ns, bool prepare)
{
	unsigned parts = 0;

	for (enum stage stage = PREPARE; stage < STAGES; stage++)
		parts += stages[stage].steps * stages[stage].parts;
	*calibrate = (struct calibrate){ .part_ns = time_ns / parts, .step = prepare ? 0 : stages[PREPARE].steps };
}

bool
calibrate_next(const struct calibrate *calibrate, struct gauge_task *task)
{
	unsigned index;
	enum stage stage = stage_of(calibrate->step, &index);
	uint64_t time_ns;

	if (stage == STAGES)
		return false;
	*task = (struct gauge_task){ .load_count = 1 };
	switch (stage) {
	case PREPARE:
		task->whole = true;
		task->in_order = index == 0;
		task->loads[0] = full(QOS_WRITE, index == 0 ? SIZE_LARGE : 0);
		break;
	case ALONE_READS: task->loads[0] = alone(QOS_READ, index); break;
	case FULL_READS: task->loads[0] = full(QOS_READ, index); break;
	case MOST_READS:
		task->loads[0] = full(QOS_READ, index);
		task->loads[0].tenants = GAUGE_TENANTS;
		break;
	case DEPTHS: task->loads[0] = (struct gauge_load){ QOS_READ, QOS_SIZE_MOST, depths[index], 1 }; break;
	case ALONE_WRITES: task->loads[0] = alone(QOS_WRITE, index); break;
	case SLOTS:
		plan_shared(calibrate, task, 2);
		task->params.slots_least = slots[index];
		task->params.slots = 2 * slots[index];
		break;
	case BOUNDS:
		plan_shared(calibrate, task, GAUGE_TENANTS);
		task->params.inflight_bytes = bound_of(calibrate, index);
		break;
	case FULL_WRITES: task->loads[0] = full(QOS_WRITE, index); break;
	case MIXED:
		for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
			task->loads[kind] = full((enum qos_kind)kind, 0);
			task->loads[kind].tenants = GAUGE_TENANTS / QOS_KINDS;
		}
		task->load_count = QOS_KINDS;
		break;
	case STAGES: break;
	}
	time_ns = calibrate->part_ns * stages[stage].parts;
	task->settle_ns = time_ns / SETTLE;
	task->measure_ns = time_ns - task->settle_ns;
	return true;
}

void
calibrate_take(struct calibrate *calibrate, const struct gauge_heard heard[GAUGE_LOADS])
{
	unsigned index;

	switch (stage_of(calibrate->step++, &index)) {
	case PREPARE: break;
	case ALONE_READS: calibrate->alone[QOS_READ][index] = heard[0]; break;
	case FULL_READS: calibrate->full[QOS_READ][index] = heard[0]; break;
	case MOST_READS: calibrate->most[index] = heard[0]; break;
	case DEPTHS: calibrate->depths[index] = heard[0]; break;
	case ALONE_WRITES: calibrate->alone[QOS_WRITE][index] = heard[0]; break;
	case SLOTS: calibrate->slots[index] = least_part(calibrate, heard); break;
	case BOUNDS: calibrate->bounds[index] = least_part(calibrate, heard); break;
	case FULL_WRITES: calibrate->full[QOS_WRITE][index] = heard[0]; break;
	case MIXED: memcpy(calibrate->mixed, heard, sizeof(calibrate->mixed)); break;
	case STAGES: break;
	}
}
