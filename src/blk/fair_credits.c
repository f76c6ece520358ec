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

/* By turns, where they decide, and by caps; UINT32_MAX: nothing bounds it. */
static uint32_t
of_kind(struct fair_chan *fc, struct fair_tenant *tenant, enum qos_kind kind, uint32_t bytes)
{
	uint32_t turns = fc->volume.paced ? qos_credits(&fc->qos, &tenant->qos) : UINT32_MAX;
	uint32_t caps = qos_credits_capped(&fc->qos, &tenant->qos, kind, bytes);

	return turns < caps ? turns : caps;
}

/* Who was told once, and is bounded by nothing any more, has to hear of it. */
uint16_t
fair_credits(struct fair_chan *fc, struct fair_tenant *tenant, const struct blk_io *io, uint64_t now_ns)
{
	uint32_t all = of_kind(fc, tenant, (enum qos_kind)io->turn.qos.kind, io->turn.qos.bytes), each;

	if (all == UINT32_MAX)
		return tenant->told ? UINT16_MAX : 0;
	tenant->told = true;
	note(&tenant->queues, io->queue, now_ns);
	each = all / tenant->queues.active;
	each = each < UINT16_MAX ? each : UINT16_MAX;
	return (uint16_t)(each > 0 ? each : 1);
}

uint32_t
fair_credits_look(struct fair_chan *fc, struct fair_tenant *tenant, const struct qos_lately lately[QOS_KINDS])
{
	uint32_t most = 0, some;

	for (int kind = 0; kind < QOS_KINDS; kind++) {
		uint64_t ios = lately[kind].ios, bytes = ios > 0 ? lately[kind].bytes / ios : 0;

		if (ios == 0)
			continue;
		some = of_kind(fc, tenant, (enum qos_kind)kind, bytes > 0 ? (uint32_t)bytes : 1);
		most = some > most ? some : most;
	}
	if (most == 0 && fc->volume.paced)
		most = qos_credits(&fc->qos, &tenant->qos);
	return most == UINT32_MAX ? 0 : most;
}
