/*
 * margin.c - how long may what a host has sent be held up, by other things than silence?  And how long a FENCE?
 *
 * A host that does not use FENCE takes a lost association to be over when the target has heard nothing of it for its
 * keep-alive time, and a margin has passed (doc/failover.md). What a silent path holds back needs none of the margin:
 * either it comes before that time is over, or it finds nobody. The margin is for what the target has got and cannot
 * let go of, for the time in which it does not count, and for the network's own slowness; it is no longer than the
 * plan makes necessary, since a long one hides whatever comes too late.
 *
 * A FENCE, of a host that uses it, takes a way there and back and what is at the devices, where nothing befalls it.
 */
#include "trial/internal.h"

static const uint64_t US = 1000, MS = 1000 * 1000;

enum {
	LEAST_MS = 20, MOST_MS = 60 * 1000, /* else all would not come to rest in time (run.c) */
	DEVICE_STEPS = 8, /* what one command has a file do, one after another, is no more */
};

static uint64_t
lasts_ns(const struct plan *plan, enum fault_kind kind)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < plan->fault_count; i++)
		if (plan->faults[i].kind == kind)
			ns += plan->faults[i].for_ns;
	return ns;
}

/* One after another, as long as there are faults. */
static uint64_t
at_target_ns(const struct plan *plan)
{
	uint64_t ns = lasts_ns(plan, FAULT_TARGET_PAUSED) + lasts_ns(plan, FAULT_DISK_STALLS) +
	    lasts_ns(plan, FAULT_DISK_SLOW), until_ns = plan->knobs[KNOB_UNTIL_MS] * MS;

	return ns < until_ns ? ns : until_ns;
}

/* What was begun before it was slow no more. */
static uint64_t
one_ns(const struct plan *plan, enum knob time, enum knob jitter, enum fault_kind slow)
{
	return (plan->knobs[time] + plan->knobs[jitter]) * US * (lasts_ns(plan, slow) > 0 ? TRIAL_SLOW : 1);
}

/* Behind all that can be in flight between so many pairs of a host and a target. */
static uint64_t
in_line_ns(const struct plan *plan, uint64_t pairs)
{
	const uint64_t *knobs = plan->knobs;
	uint64_t bytes = knobs[KNOB_DEPTH] * knobs[KNOB_IO_BLOCKS] * TRIAL_BLOCK;

	if (bytes > knobs[KNOB_SOCKET_MAX])
		bytes = knobs[KNOB_SOCKET_MAX];
	bytes *= pairs * knobs[KNOB_LANES] * knobs[KNOB_LISTENERS];
	return knobs[KNOB_MBIT] > 0 ? bytes * 8000 / knobs[KNOB_MBIT] : 0;
}

uint32_t
margin_ms(const struct plan *plan)
{
	/* All are in line at one network card after the other. */
	uint64_t pairs = plan->knobs[KNOB_HOSTS] * plan->knobs[KNOB_TARGETS];
	uint64_t ns = at_target_ns(plan) + in_line_ns(plan, 2 * pairs) +
	    one_ns(plan, KNOB_DISK_US, KNOB_DISK_JITTER_US, FAULT_DISK_SLOW) +
	    one_ns(plan, KNOB_LATENCY_US, KNOB_JITTER_US, FAULT_NETWORK_SLOW);

	return ns / MS < MOST_MS - LEAST_MS ? (uint32_t)(ns / MS) + LEAST_MS : MOST_MS;
}

uint64_t
margin_fence_ns(const struct plan *plan)
{
	/* At the card of the host and at that of the target, there and back; what was sent by connections that are lost
	 * is in line still, beside as much by those that have come since. */
	uint64_t line_ns = 2 * 2 * in_line_ns(plan, plan->knobs[KNOB_HOSTS] + plan->knobs[KNOB_TARGETS]);
	uint64_t way_us = plan->knobs[KNOB_LATENCY_US] + plan->knobs[KNOB_JITTER_US];
	uint64_t disk_us = plan->knobs[KNOB_DISK_US] + plan->knobs[KNOB_DISK_JITTER_US];

	return LEAST_MS * MS + line_ns + (2 * way_us + DEVICE_STEPS * disk_us) * US;
}
