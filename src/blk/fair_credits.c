/*
 * fair_credits.c - how many I/Os a queue of a tenant may have under way: its part of what the tenant may (Gimbal, 3.6;
 * doc/extension.md, Credits).
 *
 * Queues that had an I/O end in this period or the last one count.  They are counted by a hash, in which two may look
 * like one: then each is told a little more.
 */
#include "blk/fair_inside.h"

#include <string.h>

enum { PERIOD_NS = 50 * 1000 * 1000, BITS = FAIR_QUEUE_WORDS * 64 };

static void
count(struct fair_queues *queues)
{
	queues->active = 0;
	for (int i = 0; i < FAIR_QUEUE_WORDS; i++)
		queues->active += (unsigned)__builtin_popcountll(queues->now[i] | queues->before[i]);
}

static void
next_period(struct fair_queues *queues, uint64_t now_ns)
{
	bool follows = now_ns - queues->since_ns < 2 * PERIOD_NS;

	memcpy(queues->before, queues->now, sizeof(queues->before));
	if (!follows)
		memset(queues->before, 0, sizeof(queues->before));
	memset(queues->now, 0, sizeof(queues->now));
	queues->since_ns = now_ns;
	count(queues);
}

static void
note(struct fair_queues *queues, uint32_t queue, uint64_t now_ns)
{
	unsigned at = (queue * UINT32_C(2654435761)) >> 16 & (BITS - 1);
	uint64_t bit = UINT64_C(1) << at % 64;

	if (now_ns - queues->since_ns >= PERIOD_NS)
		next_period(queues, now_ns);
	if ((queues->now[at / 64] & bit) != 0)
		return;
	queues->now[at / 64] |= bit;
	count(queues);
}

uint16_t
fair_credits(struct fair_chan *fc, struct fair_tenant *tenant, uint32_t queue, uint64_t now_ns)
{
	uint32_t all = qos_credits(&fc->qos, &tenant->qos), each;

	note(&tenant->queues, queue, now_ns);
	each = all / tenant->queues.active;
	return (uint16_t)(each > 0 ? each : 1);
}
