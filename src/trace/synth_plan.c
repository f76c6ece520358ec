/*
 * synth_plan.c - how many requests of which size, and where they go.
 *
 * Five figures are asked for, and what is free is how many requests there are, how large, and where: the fewest and the
 * most requests that can give the figures are found, and, between them, so many that writes have about 16 KiB.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "trace/streams.h"
#include "trace/synth.h"

enum { PAGE = 4096, SECTOR = 512, USUAL = 16384, LARGEST = 1 << 20, RUN = 4 << 20, RUN_WRITES = 32, SURE = 20 };

static const struct streams_options detector = STREAMS_PAPER;

struct plan {
	const struct synth_demand *demand;
	double seconds, window_s;
	double write_bytes;  /* in all */
	uint64_t set_bytes;  /* whole pages */
	double fewest, most; /* requests */
	const char *because; /* of the fewest */
	char *why;
};

static bool __attribute__((format(printf, 2, 3)))
refuse(const struct plan *plan, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(plan->why, SYNTH_WHY, format, args);
	va_end(args);
	return false;
}

/* How many of `each` hold all of it. */
static uint64_t
count_of(uint64_t total, uint64_t each)
{
	assert(each > 0);
	return (total + each - 1) / each;
}

static uint64_t
round_up(double value, uint64_t unit)
{
	return (uint64_t)ceil(value / (double)unit) * unit;
}

/* ---- what is asked for ---- */

static bool
is_share(double value)
{
	return value >= 0 && value <= 1;
}

static bool
is_amount(double value, double most)
{
	return value >= 0 && value <= most;
}

static bool
check(const struct plan *plan)
{
	const struct synth_demand *demand = plan->demand;

	if (!is_share(demand->seq_ratio) || !is_share(demand->write_ratio))
		return refuse(plan, "the ratios must be from 0 to 100 %%");
	if (!is_amount(demand->write_gb_day, 1e9) || !is_amount(demand->working_set_gb, 1e6) ||
	    !is_amount(demand->peak_iops, 1e9))
		return refuse(plan, "from 0 to 10^9 GB a day, 10^9 I/Os a second, and 10^6 GB of working set");
	if (demand->duration_ns / 2 < demand->window_ns)
		return refuse(plan, "it must last two windows of %.0f s at least, or its peak is its mean",
		    plan->window_s);
	if ((demand->write_gb_day > 0) != (demand->write_ratio > 0))
		return refuse(plan, "%s", demand->write_gb_day > 0 ? "something is written, but no I/O is a write" :
		    "some I/Os are writes, but nothing is written");
	if (demand->peak_iops * plan->window_s < SURE)
		return refuse(plan, "a peak of %g IOPS is %.1f I/Os in a window of %.0f s: %d are needed for a peak "
		    "that can be told", demand->peak_iops, demand->peak_iops * plan->window_s, plan->window_s, SURE);
	if (plan->set_bytes == 0)
		return refuse(plan, "a working set of at least a page of 4096 bytes is needed");
	return true;
}

/* ---- how many requests ---- */

static void
at_least(struct plan *plan, double requests, const char *because)
{
	if (requests <= plan->fewest)
		return;
	plan->fewest = requests;
	plan->because = because;
}

static bool
count_requests(struct plan *plan, struct synth *synth)
{
	const struct synth_demand *demand = plan->demand;
	double writes = demand->write_ratio, reads = 1 - writes, set = (double)plan->set_bytes, wanted;

	plan->most = floor(demand->peak_iops * plan->seconds);
	at_least(plan, (double)synth->peak_requests + 1, "the peak alone has more");
	if (writes > 0)
		at_least(plan, ceil(plan->write_bytes / LARGEST / writes),
		    "with so many writes each has more than 1 MiB");
	if (set > plan->write_bytes && reads > 0)
		at_least(plan, ceil((set - plan->write_bytes) / LARGEST / reads),
		    "with so many reads, of 1 MiB at most, the working set is not touched");
	if (writes > 0)
		at_least(plan, ceil(SURE / writes), "so few writes among them cannot be told");
	if (writes * demand->seq_ratio > 0)
		at_least(plan, ceil(SURE / writes / demand->seq_ratio), "so few writes in order cannot be told");
	if (reads > 0)
		at_least(plan, ceil(SURE / reads), "so few reads among them cannot be told");
	if (plan->fewest > plan->most)
		return refuse(plan, "a peak of %g IOPS allows %.0f I/Os: %s", demand->peak_iops, plan->most,
		    plan->because);
	if (writes > 0 && plan->write_bytes / writes < SECTOR * plan->fewest)
		return refuse(plan, "%.0f I/Os at least (with fewer: %s) write more than %.3g GB even if each write "
		    "has 512 bytes", plan->fewest, plan->because, plan->write_bytes / 1e9);
	wanted = writes > 0 ? plan->write_bytes / USUAL / writes : plan->most / 4;
	wanted = wanted < plan->fewest ? plan->fewest : wanted > plan->most ? plan->most : wanted;
	synth->requests = (uint64_t)ceil(wanted);
	return true;
}

/* The size of writes is a number of sectors, or of pages where that can be, and how many requests there are follows. */
static bool
size_writes(struct plan *plan, struct synth *synth)
{
	double ratio = plan->demand->write_ratio, size;
	uint64_t bytes;

	if (ratio <= 0)
		return true;
	size = plan->write_bytes / ((double)synth->requests * ratio);
	bytes = round_up(size, PAGE);
	if (plan->write_bytes / (double)bytes / ratio < plan->fewest)
		bytes = round_up(size, SECTOR);
	if (plan->write_bytes / (double)bytes / ratio < plan->fewest)
		bytes -= SECTOR;
	if (bytes == 0 || plan->write_bytes / (double)bytes / ratio > plan->most)
		return refuse(plan, "no size of writes, in sectors of 512 bytes, gives all of it: there must be from "
		    "%.0f to %.0f I/Os", plan->fewest, plan->most);
	synth->write_bytes = (uint32_t)bytes;
	synth->writes = (uint64_t)round(plan->write_bytes / (double)bytes);
	synth->requests = (uint64_t)round((double)synth->writes / ratio);
	return true;
}

/* ---- where they go ---- */

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Steps of the golden ratio fall far from all before them. */
static struct synth_area
area_of(uint64_t base, uint64_t pitch, uint64_t parts)
{
	struct synth_area area = { .base = base, .pitch = pitch, .parts = parts };

	area.stride = (uint64_t)((double)parts * 0.6180339887498949) | 1;
	while (parts > 0 && common_divisor(area.stride, parts) != 1)
		area.stride += 2;
	return area;
}

/* Writes in order: in runs, each of which is a stream by itself. */
static bool
place_runs(struct plan *plan, struct synth *synth)
{
	double share = plan->demand->seq_ratio;
	uint64_t written = (uint64_t)plan->write_bytes, both = written < plan->set_bytes ? written : plan->set_bytes;
	uint64_t in_run = RUN_WRITES, slot;

	synth->ordered = (uint64_t)round((double)synth->writes * share);
	synth->slot_bytes = (uint32_t)(count_of(synth->write_bytes, PAGE) * PAGE);
	if (synth->ordered == 0)
		return true;
	if (synth->ordered * synth->write_bytes <= detector.stream_bytes)
		return refuse(plan, "%g %% of %.3g GB are no more than 1 MiB, which is no sequential stream",
		    100 * share, plan->write_bytes / 1e9);
	if (in_run * synth->write_bytes < RUN)
		in_run = count_of(RUN, synth->write_bytes);
	synth->runs = synth->ordered >= in_run ? synth->ordered / in_run : 1;
	synth->run_bytes = count_of(count_of(synth->ordered, synth->runs) * synth->write_bytes, PAGE) * PAGE;
	slot = synth->ordered < synth->writes ? synth->slot_bytes : 0;
	if (synth->run_bytes + slot > plan->set_bytes)
		return refuse(plan, "sequential streams need a working set of %.3g GB at least",
		    (double)(synth->run_bytes + slot) / 1e9);
	synth->run_area = (uint64_t)((double)both * share) / PAGE * PAGE;
	if (synth->run_area > synth->ordered * synth->write_bytes)
		synth->run_area = synth->ordered * synth->write_bytes / PAGE * PAGE;
	if (synth->run_area < synth->run_bytes)
		synth->run_area = synth->run_bytes;
	if (synth->run_area > plan->set_bytes - slot)
		synth->run_area = plan->set_bytes - slot;
	synth->run_places = count_of(synth->run_area, synth->run_bytes);
	return true;
}

/* The other writes, and what only reads touch. */
static bool
place_rest(struct plan *plan, struct synth *synth)
{
	uint64_t random = synth->writes - synth->ordered, reads = synth->requests - synth->writes;
	uint64_t left = plan->set_bytes - synth->run_area, slots = 0, pitch, end;

	if (random > 0)
		slots = left / synth->slot_bytes < random ? left / synth->slot_bytes : random;
	if (random > 0 && slots == 0)
		return refuse(plan, "a working set of %.3g GB has no room for a write of %" PRIu32 " bytes",
		    (double)plan->set_bytes / 1e9, synth->write_bytes);
	pitch = count_of((uint64_t)synth->slot_bytes + detector.gap_bytes, PAGE) * PAGE + PAGE;
	synth->slots = area_of(synth->run_area + pitch + RUN, pitch, slots);
	left -= slots * synth->slot_bytes;
	if (reads == 0 && left > plan->set_bytes / 100)
		return refuse(plan, "nothing is read, and what is written touches only %.3g GB of the working set",
		    (double)(plan->set_bytes - left) / 1e9);
	if (reads == 0)
		return true;
	end = synth->slots.base + (slots + 1) * pitch;
	synth->read_bytes = (uint32_t)round_up((double)left / (double)reads, PAGE);
	if (synth->read_bytes < USUAL)
		synth->read_bytes = USUAL;
	synth->rest_bytes = left;
	synth->rest = area_of(end, synth->read_bytes, count_of(left, synth->read_bytes));
	return true;
}

bool
synth_begin(struct synth *synth, const struct synth_demand *demand, char why[SYNTH_WHY])
{
	struct plan plan = {
		.demand = demand, .why = why, .seconds = (double)demand->duration_ns / 1e9,
		.window_s = (double)demand->window_ns / 1e9, .because = "",
	};

	*synth = (struct synth) { .window_ns = demand->window_ns, .duration_ns = demand->duration_ns };
	plan.write_bytes = demand->write_gb_day * 1e9 * plan.seconds / 86400;
	if (demand->working_set_gb > 0 && demand->working_set_gb <= 1e6)
		plan.set_bytes = (uint64_t)(demand->working_set_gb * 1e9 / PAGE + 0.5) * PAGE;
	if (!check(&plan))
		return false;
	synth->peak_requests = (uint64_t)round(demand->peak_iops * plan.window_s);
	if (!count_requests(&plan, synth) || !size_writes(&plan, synth) || !place_runs(&plan, synth) ||
	    !place_rest(&plan, synth))
		return false;
	rng_seed(&synth->rng, demand->seed);
	synth->peak_window = rng_below(&synth->rng, demand->duration_ns / demand->window_ns);
	synth->slots.first = rng_next(&synth->rng);
	synth->rest.first = rng_next(&synth->rng);
	return true;
}
