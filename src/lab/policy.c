/*
 * policy.c - what is the same of all policies, and the two that know nothing of what I/Os cost.
 */
#include "lab/policy.h"

#include <assert.h>
#include <string.h>

struct policy *
policy_create(struct arena *arena, const struct policy_ops *ops, const struct policy_terms *terms,
    const struct policy_tenant *tenants, unsigned count)
{
	struct policy *policy = arena_alloc(arena, ops->bytes);

	assert(count <= POLICY_TENANTS_MAX);
	if (policy == NULL)
		return NULL;
	memset(policy, 0, ops->bytes);
	policy->ops = ops;
	policy->terms = *terms;
	policy->count = count;
	for (unsigned i = 0; i < count; i++) {
		policy->tenants[i] = tenants[i];
		if (tenants[i].weight == 0)
			policy->tenants[i].weight = 1;
	}
	ops->init(policy);
	return policy;
}

void
policy_arrive(struct policy *policy, struct policy_io *io, uint64_t now_ns)
{
	policy->waiting++;
	policy->ops->arrive(policy, io, now_ns);
}

struct policy_io *
policy_next(struct policy *policy, uint64_t now_ns)
{
	struct policy_io *io = policy->ops->next(policy, now_ns);

	if (io != NULL) {
		policy->waiting--;
		policy->inflight++;
	}
	return io;
}

uint64_t
policy_deadline(struct policy *policy, uint64_t now_ns)
{
	return policy->ops->deadline != NULL ? policy->ops->deadline(policy, now_ns) : UINT64_MAX;
}

void
policy_done(struct policy *policy, struct policy_io *io, uint64_t latency_ns, uint64_t now_ns)
{
	policy->inflight--;
	if (policy->ops->done != NULL)
		policy->ops->done(policy, io, latency_ns, now_ns);
}

void
policy_look(const struct policy *policy, struct policy_view *view)
{
	*view = (struct policy_view){ .waiting = policy->waiting, .inflight = policy->inflight };
	if (policy->ops->look != NULL)
		policy->ops->look(policy, view);
}

/* ---- first come, first served ---- */

struct policy_line {
	struct policy policy;
	struct fifo waiting;
};

static void
line_init(struct policy *policy)
{
	fifo_init(&((struct policy_line *)policy)->waiting);
}

static void
line_arrive(struct policy *policy, struct policy_io *io, uint64_t now_ns)
{
	fifo_push(&((struct policy_line *)policy)->waiting, &io->node);
}

static struct policy_io *
line_next(struct policy *policy, uint64_t now_ns)
{
	struct fifo_node *node = fifo_pop(&((struct policy_line *)policy)->waiting);

	return node != NULL ? container_of(node, struct policy_io, node) : NULL;
}

const struct policy_ops policy_fifo = {
	.name = "FIFO", .bytes = sizeof(struct policy_line), .init = line_init, .arrive = line_arrive,
	.next = line_next,
};

/*
 * ---- one I/O of each tenant in turn, whatever it costs ----
 *
 * And so many in the device at a time: without that bound all of them go when they come, and nobody has turns.
 */

struct rounds {
	struct policy policy;
	struct fifo waiting[POLICY_TENANTS_MAX];
	unsigned turn;
};

static void
rounds_init(struct policy *policy)
{
	for (unsigned i = 0; i < policy->count; i++)
		fifo_init(&((struct rounds *)policy)->waiting[i]);
}

static void
rounds_arrive(struct policy *policy, struct policy_io *io, uint64_t now_ns)
{
	fifo_push(&((struct rounds *)policy)->waiting[io->tenant], &io->node);
}

static struct policy_io *
rounds_next(struct policy *policy, uint64_t now_ns)
{
	struct rounds *rounds = (struct rounds *)policy;

	if (policy->inflight >= policy->terms.depth)
		return NULL;
	for (unsigned i = 0; i < policy->count; i++) {
		unsigned which = (rounds->turn + i) % policy->count;
		struct fifo_node *node = fifo_pop(&rounds->waiting[which]);

		if (node != NULL) {
			rounds->turn = which + 1;
			return container_of(node, struct policy_io, node);
		}
	}
	return NULL;
}

const struct policy_ops policy_round = {
	.name = "round robin", .bytes = sizeof(struct rounds), .init = rounds_init, .arrive = rounds_arrive,
	.next = rounds_next,
};
