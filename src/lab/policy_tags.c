/*
 * policy_tags.c - start-time fair queueing, with so many I/Os in the device at a time (like FlashFQ).
 *
 * Each I/O has a start tag: where its tenant's last one finished in virtual time, or now.  The smallest goes next.  A
 * tenant that is too far ahead of the slowest one that is active waits for it, and one that has just ended its last I/O
 * is active a little longer: it may be about to ask again.  What I/Os cost was measured once, of writes at worst.
 * Source: FlashFQ (ATC 2013), 3; the bound of what is in the device is that of SFQ(D).
 */
#include "lab/policy.h"

enum {
	AHEAD_MOST = 1024 * 1024,          /* in bytes of 128 KiB reads, where nothing else is said */
	ANTICIPATED_NS = 100 * 1000,
};

struct tags {
	struct policy policy;
	struct qos_cost cost;
	struct tags_tenant {
		struct fifo waiting;
		uint64_t finish;               /* of its last I/O, in virtual time */
		uint64_t out;
		uint64_t ended_ns;
	} tenants[POLICY_TENANTS_MAX];
	uint64_t virtual;                  /* the start tag of what went last */
	uint64_t ahead;
};

static void
tags_init(struct policy *policy)
{
	struct tags *tags = (struct tags *)policy;

	qos_cost_init(&tags->cost, &policy->terms.params); /* which begins at the worst */
	tags->ahead = policy->terms.ahead_bytes > 0 ? policy->terms.ahead_bytes : AHEAD_MOST;
	for (unsigned i = 0; i < policy->count; i++)
		fifo_init(&tags->tenants[i].waiting);
}

static void
tags_arrive(struct policy *policy, struct policy_io *io, uint64_t now_ns)
{
	struct tags *tags = (struct tags *)policy;
	struct tags_tenant *tenant = &tags->tenants[io->tenant];
	uint64_t weight = qos_cost_weight(&tags->cost, io->qos.kind, io->qos.at, io->qos.bytes);

	io->tag = tenant->finish > tags->virtual ? tenant->finish : tags->virtual;
	tenant->finish = io->tag + weight / policy->tenants[io->tenant].weight;
	fifo_push(&tenant->waiting, &io->node);
}

/* Its next I/O's start tag, or what that would be. */
static uint64_t
tag_of(const struct tags_tenant *tenant)
{
	return fifo_empty(&tenant->waiting) ? tenant->finish :
	    container_of(tenant->waiting.head, struct policy_io, node)->tag;
}

/* It has nothing, but may be about to ask again. */
static bool
anticipated(const struct tags_tenant *tenant, uint64_t now_ns)
{
	return tenant->out == 0 && fifo_empty(&tenant->waiting) && tenant->ended_ns > 0 &&
	    now_ns < tenant->ended_ns + ANTICIPATED_NS;
}

static bool
active(const struct tags_tenant *tenant, uint64_t now_ns)
{
	return tenant->out > 0 || !fifo_empty(&tenant->waiting) || anticipated(tenant, now_ns);
}

static struct policy_io *
tags_next(struct policy *policy, uint64_t now_ns)
{
	struct tags *tags = (struct tags *)policy;
	struct tags_tenant *first = NULL;
	uint64_t slowest = UINT64_MAX;

	if (policy->inflight >= policy->terms.depth)
		return NULL;
	for (unsigned i = 0; i < policy->count; i++) {
		struct tags_tenant *tenant = &tags->tenants[i];

		if (active(tenant, now_ns) && tag_of(tenant) < slowest)
			slowest = tag_of(tenant);
		if (!fifo_empty(&tenant->waiting) && (first == NULL || tag_of(tenant) < tag_of(first)))
			first = tenant;
	}
	if (first == NULL || tag_of(first) > slowest + tags->ahead)
		return NULL;
	tags->virtual = tag_of(first);
	first->out++;
	return container_of(fifo_pop(&first->waiting), struct policy_io, node);
}

static void
tags_done(struct policy *policy, struct policy_io *io, uint64_t latency_ns, uint64_t now_ns)
{
	struct tags_tenant *tenant = &((struct tags *)policy)->tenants[io->tenant];

	tenant->out--;
	tenant->ended_ns = now_ns;
}

/* When those that are anticipated are so no longer. */
static uint64_t
tags_deadline(struct policy *policy, uint64_t now_ns)
{
	struct tags *tags = (struct tags *)policy;
	uint64_t next_ns = UINT64_MAX;

	for (unsigned i = 0; i < policy->count && policy->waiting > 0; i++) {
		const struct tags_tenant *tenant = &tags->tenants[i];

		if (anticipated(tenant, now_ns) && tenant->ended_ns + ANTICIPATED_NS < next_ns)
			next_ns = tenant->ended_ns + ANTICIPATED_NS;
	}
	return next_ns;
}

const struct policy_ops policy_tags = {
	.name = "tags (FlashFQ)", .bytes = sizeof(struct tags), .init = tags_init, .arrive = tags_arrive,
	.next = tags_next, .deadline = tags_deadline, .done = tags_done,
};
