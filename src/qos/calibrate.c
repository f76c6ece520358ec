#include "qos/calibrate.h"

#include <stddef.h>
#include <string.h>

enum {
	MIB = 1024 * 1024,
	DEPTH_LEAST = 8, DEPTH_MOST = 32, /* where a size is measured with 1 MiB under way */
	SIZE_LARGE = QOS_SIZES - 1,
	NEARLY = 985,           /* thousandths of the most that a device gives */
	SPREAD_OF_TWO = 1280, SPREAD_OF_FOUR = 1320, /* thousandths: what beyond that is gained costs fairness */
	ONE = 1024, TAKEN_LEAST = 64,
};

/* Of I/Os under way: of 128 KiB, and of 4 KiB. */
static const uint32_t depths[CALIBRATE_ENDS][CALIBRATE_DEPTHS] = {
	[CALIBRATE_LARGE] = { 1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32 },
	[CALIBRATE_SMALL] = { 4, 8, 16, 32, 64, 96, 128, 160, 192, 224, 256 },
};
static const uint32_t slots[CALIBRATE_SLOTS] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 16 };

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

/* The fewest that give nearly the most. */
static unsigned
saturates(const struct gauge_heard heard[CALIBRATE_DEPTHS])
{
	uint64_t most = 0;
	unsigned index = 0;

	for (unsigned i = 0; i < CALIBRATE_DEPTHS; i++)
		if (heard[i].rate > most)
			most = heard[i].rate;
	while (heard[index].rate < most / 1000 * NEARLY)
		index++;
	return index;
}

uint32_t
calibrate_saturates(const struct calibrate *calibrate, enum calibrate_end end, uint64_t *rate)
{
	unsigned index = saturates(calibrate->depths[end]);

	*rate = calibrate->depths[end][index].rate;
	return depths[end][index];
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
 * less than as many of them have alone: by so much reads took of all time. */
static uint64_t
taken_by_reads(const struct calibrate *calibrate)
{
	uint64_t read = calibrate->mixed[QOS_READ].rate, write = calibrate->mixed[QOS_WRITE].rate;
	uint64_t read_alone = calibrate->most[0].rate, write_alone = calibrate->many_writes.rate;
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

/* Large reads that wait for one another a little are how a device gives the most.  One whose writes now and then take
 * long though it has nothing to do is not overloaded by that. */
static void
find_thresholds(const struct calibrate *calibrate, struct qos_params *params)
{
	uint64_t least_ns = calibrate->alone[QOS_READ][SIZE_LARGE].mean_ns * 2;
	uint64_t most_ns = least_ns * 5, write_ns = calibrate->alone[QOS_WRITE][0].p99_ns * 25 / 10;

	params->thresh_min_ns = within(least_ns, 1000, UINT32_MAX / 5);
	params->thresh_max_ns = within(write_ns > most_ns ? write_ns : most_ns, 5000, UINT32_MAX);
}

/* What makes the most of the device with large reads, or with small ones if that is more. */
static void
find_inflight(const struct calibrate *calibrate, struct qos_params *params)
{
	uint64_t rate;
	uint64_t large = calibrate_saturates(calibrate, CALIBRATE_LARGE, &rate) * (uint64_t)QOS_SLOT_BYTES;
	uint64_t small = calibrate_saturates(calibrate, CALIBRATE_SMALL, &rate) * (uint64_t)QOS_SIZE_LEAST *
	    params->size_cost[QOS_READ][0] / QOS_COST_ONE;

	params->inflight_bytes = within(large > small ? large : small, QOS_SLOT_BYTES, UINT32_MAX);
}

static void
find_slots(const struct calibrate *calibrate, struct qos_params *params)
{
	params->slots = 2 * slots[calibrate->searches[CALIBRATE_TWO].near];
	params->slots_least = slots[calibrate->searches[CALIBRATE_KINDS].near];
}

/* Room above what it gives for the rate to grow, and below what it gives at its slowest to fall. */
static void
find_rates(const struct calibrate *calibrate, struct qos_params *params)
{
	uint64_t best, least;

	(void)calibrate_saturates(calibrate, CALIBRATE_LARGE, &best);
	least = best / 32;
	for (unsigned size = 0; size < QOS_SIZES; size++) {
		uint64_t half = calibrate->full[QOS_WRITE][size].rate / 2;

		if (half != 0 && half < least)
			least = half;
	}
	params->rate_least = rate_of(least, MIB);
	params->rate_first = rate_of(best / 2, params->rate_least);
	params->rate_most = rate_of(best * 4, params->rate_first);
}

const char *
calibrate_params(const struct calibrate *calibrate, struct qos_params *params)
{
	qos_params_default(params);
	if (calibrate->full[QOS_READ][SIZE_LARGE].rate == 0 || calibrate->depths[CALIBRATE_LARGE][0].rate == 0)
		return "no read of 128 KiB ended in the time that there was";
	find_costs(calibrate, params);
	find_size_rates(calibrate, params);
	find_thresholds(calibrate, params);
	find_inflight(calibrate, params);
	find_slots(calibrate, params);
	find_rates(calibrate, params);
	return qos_params_wrong(params);
}

/* ---- looking for slots ---- */

/* Each is looked for among what was near in the one before. */
static const struct {
	enum qos_kind kinds[GAUGE_LOADS];
	unsigned sizes[GAUGE_LOADS], tenants; /* of each load */
	uint64_t spread;
} searches[CALIBRATE_SEARCHES] = {
	[CALIBRATE_TWO] = { { QOS_READ, QOS_READ }, { 0, SIZE_LARGE }, 1, SPREAD_OF_TWO },
	[CALIBRATE_SIZES] = { { QOS_READ, QOS_READ }, { 0, SIZE_LARGE }, 2, SPREAD_OF_FOUR },
	[CALIBRATE_KINDS] = { { QOS_READ, QOS_WRITE }, { 0, 0 }, 2, SPREAD_OF_FOUR },
};

/* Half of the way, between what is near, or the least, and what is not. */
static unsigned
search_at(const struct calibrate_search *search)
{
	return (search->near + search->far) / 2;
}

static bool
search_over(const struct calibrate_search *search)
{
	return search->far - search->near <= 1;
}

/* How far apart two loads are, in thousandths, by what of what it has alone each has; 0: that is not known. */
static uint64_t
spread_of(const struct calibrate *calibrate, unsigned which, const struct gauge_heard heard[GAUGE_LOADS])
{
	uint64_t parts[GAUGE_LOADS];

	for (unsigned i = 0; i < GAUGE_LOADS; i++) {
		uint64_t alone = calibrate->full[searches[which].kinds[i]][searches[which].sizes[i]].rate;

		if (alone == 0)
			return 0;
		parts[i] = heard[i].rate * 10000 / alone + 1;
	}
	return parts[0] < parts[1] ? parts[1] * 1000 / parts[0] : parts[0] * 1000 / parts[1];
}

static void
search_take(struct calibrate *calibrate, unsigned which, const struct gauge_heard heard[GAUGE_LOADS])
{
	struct calibrate_search *search = &calibrate->searches[which];

	if (spread_of(calibrate, which, heard) <= searches[which].spread)
		search->near = search_at(search);
	else
		search->far = search_at(search);
	for (; search_over(&calibrate->searches[which]) && which + 1 < CALIBRATE_SEARCHES; which++)
		calibrate->searches[which + 1] =
		    (struct calibrate_search){ 0, calibrate->searches[which].near + 1 };
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

/* So many under way, by as many tenants as that takes. */
static struct gauge_load
deep(unsigned size, uint32_t depth)
{
	uint32_t tenants = (depth + GAUGE_DEPTH - 1) / GAUGE_DEPTH;

	return (struct gauge_load){ QOS_READ, size_of(size), depth / tenants, tenants };
}

/* Tenants that share the device, of whom each is known alone: with what is known by now. */
static void
plan_search(const struct calibrate *calibrate, unsigned which, struct gauge_task *task)
{
	unsigned index = search_at(&calibrate->searches[which]);

	for (unsigned i = 0; i < GAUGE_LOADS; i++) {
		task->loads[i] = full(searches[which].kinds[i], searches[which].sizes[i]);
		task->loads[i].tenants = searches[which].tenants;
	}
	task->load_count = GAUGE_LOADS;
	task->switched = true;
	(void)calibrate_params(calibrate, &task->params); /* where it fails they are those of the paper's drive */
	task->params.slots = 2 * slots[which == CALIBRATE_TWO ? index : calibrate->searches[CALIBRATE_TWO].near];
	task->params.slots_least = slots[index];
}

/* Reads come first: what was written lies in a buffer, and a device that empties it while it reads is not the one that
 * is to be measured.  What writes it all over comes last. */
enum stage { PREPARE, ALONE_READS, FULL_READS, MOST_READS, LARGE, SMALL, TWO, SIZES, ALONE_WRITES, FULL_WRITES,
	MANY_WRITES, MIXED, KINDS, STAGES };

static const struct {
	unsigned steps, parts;  /* how often, at most, and how long each time */
	unsigned settle;        /* for one part in so many of that */
} stages[STAGES] = {
	[PREPARE] = { 2, 0, 1 }, [ALONE_READS] = { QOS_SIZES, 1, 4 }, [FULL_READS] = { QOS_SIZES, 3, 4 },
	[MOST_READS] = { QOS_SIZES, 2, 4 }, [LARGE] = { CALIBRATE_DEPTHS, 2, 4 }, [SMALL] = { CALIBRATE_DEPTHS, 2, 4 },
	[TWO] = { CALIBRATE_TRIES, 6, 4 }, [SIZES] = { CALIBRATE_TRIES, 6, 4 }, [ALONE_WRITES] = { QOS_SIZES, 1, 4 },
	[FULL_WRITES] = { QOS_SIZES, 12, 4 }, [MANY_WRITES] = { 1, 12, 4 }, [MIXED] = { 1, 12, 4 },
	[KINDS] = { CALIBRATE_TRIES, 14, 2 }, /* the write cost takes its time */
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

/* What a search has no need of is left out. */
static void
skip(struct calibrate *calibrate)
{
	static const unsigned which[STAGES] = { [TWO] = CALIBRATE_TWO, [SIZES] = CALIBRATE_SIZES,
		[KINDS] = CALIBRATE_KINDS };
	unsigned index;
	enum stage stage = stage_of(calibrate->step, &index);

	while ((stage == TWO || stage == SIZES || stage == KINDS) && search_over(&calibrate->searches[which[stage]]))
		stage = stage_of(++calibrate->step, &index);
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
	for (unsigned which = 0; which < CALIBRATE_SEARCHES; which++)
		calibrate->searches[which].far = CALIBRATE_SLOTS;
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
	case LARGE: task->loads[0] = deep(SIZE_LARGE, depths[CALIBRATE_LARGE][index]); break;
	case SMALL: task->loads[0] = deep(0, depths[CALIBRATE_SMALL][index]); break;
	case ALONE_WRITES: task->loads[0] = alone(QOS_WRITE, index); break;
	case TWO: plan_search(calibrate, CALIBRATE_TWO, task); break;
	case SIZES: plan_search(calibrate, CALIBRATE_SIZES, task); break;
	case FULL_WRITES: task->loads[0] = full(QOS_WRITE, index); break;
	case MANY_WRITES:
		task->loads[0] = full(QOS_WRITE, 0);
		task->loads[0].tenants = GAUGE_TENANTS / QOS_KINDS;
		break;
	case MIXED:
		for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
			task->loads[kind] = full((enum qos_kind)kind, 0);
			task->loads[kind].tenants = GAUGE_TENANTS / QOS_KINDS;
		}
		task->load_count = QOS_KINDS;
		break;
	case KINDS: plan_search(calibrate, CALIBRATE_KINDS, task); break;
	case STAGES: break;
	}
	time_ns = calibrate->part_ns * stages[stage].parts;
	task->settle_ns = time_ns / stages[stage].settle;
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
	case LARGE: calibrate->depths[CALIBRATE_LARGE][index] = heard[0]; break;
	case SMALL: calibrate->depths[CALIBRATE_SMALL][index] = heard[0]; break;
	case ALONE_WRITES: calibrate->alone[QOS_WRITE][index] = heard[0]; break;
	case TWO: search_take(calibrate, CALIBRATE_TWO, heard); break;
	case SIZES: search_take(calibrate, CALIBRATE_SIZES, heard); break;
	case FULL_WRITES: calibrate->full[QOS_WRITE][index] = heard[0]; break;
	case MANY_WRITES: calibrate->many_writes = heard[0]; break;
	case MIXED: memcpy(calibrate->mixed, heard, sizeof(calibrate->mixed)); break;
	case KINDS: search_take(calibrate, CALIBRATE_KINDS, heard); break;
	case STAGES: break;
	}
	skip(calibrate);
}
