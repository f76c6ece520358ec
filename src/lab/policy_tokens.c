/*
 * policy_tokens.c - a bucket of tokens for each tenant, that fills at a rate that was measured once (like ReFlex).
 *
 * A token is a byte that is read; one that is written costs as many as it did at worst when that was measured, and
 * never less.  Each tenant gets its part of all tokens.  What it has no use for, or no room, goes to a common bucket,
 * from which others take; what stays there for a round is lost.  Source: ReFlex (ASPLOS 2017), 3.2 and Algorithm 1, of
 * which all tenants are "best effort".
 */
#include "lab/policy.h"

enum {
	ROUND_NS = 10 * 1000,
	ROUNDS = 300,                      /* that a tenant may save up for: 3 ms */
	ROOM_LEAST = 2 * 1024 * 1024,      /* or for one I/O of any size and cost */
};

struct tokens {
	struct policy policy;
	struct tokens_tenant {
		struct fifo waiting;
		uint64_t tokens, part;         /* that it has, and gets in a round */
	} tenants[POLICY_TENANTS_MAX];
	uint64_t common;
	uint64_t write_cost;               /* of a byte, in QOS_COST_ONE */
	uint64_t filled_ns;
	unsigned turn;
};

static void
tokens_init(struct policy *policy)
{
	const struct qos_params *params = &policy->terms.params;
	struct tokens *tokens = (struct tokens *)policy;
	uint64_t weights = 0;

	for (unsigned i = 0; i < policy->count; i++)
		weights += policy->tenants[i].weight;
	for (unsigned i = 0; i < policy->count; i++) {
		fifo_init(&tokens->tenants[i].waiting);
		tokens->tenants[i].part = policy->terms.rate * policy->tenants[i].weight / weights *
		    ROUND_NS / 1000000000;
	}
	tokens->write_cost = (uint64_t)params->write_cost_worst * params->size_cost[QOS_WRITE][0] /
	    params->size_cost[QOS_READ][0];
}

static uint64_t
cost_of(const struct tokens *tokens, const struct policy_io *io)
{
	return io->qos.kind == QOS_WRITE ? io->qos.bytes * tokens->write_cost / QOS_COST_ONE : io->qos.bytes;
}

static void
fill(struct tokens *tokens)
{
	tokens->common = 0;
	for (unsigned i = 0; i < tokens->policy.count; i++) {
		struct tokens_tenant *tenant = &tokens->tenants[i];
		uint64_t room = ROUNDS * tenant->part > ROOM_LEAST ? ROUNDS * tenant->part : ROOM_LEAST;

		tenant->tokens += tenant->part;
		if (fifo_empty(&tenant->waiting))
			room = 0;
		if (tenant->tokens > room) {
			tokens->common += tenant->tokens - room;
			tenant->tokens = room;
		}
	}
}

static void
fill_until(struct tokens *tokens, uint64_t now_ns)
{
	for (unsigned i = 0; i < ROUNDS && tokens->filled_ns + ROUND_NS <= now_ns; i++) {
		tokens->filled_ns += ROUND_NS;
		fill(tokens);
	}
	if (tokens->filled_ns + ROUND_NS <= now_ns)
		tokens->filled_ns = now_ns;
}

static void
tokens_arrive(struct policy *policy, struct policy_io *io, uint64_t now_ns)
{
	fifo_push(&((struct tokens *)policy)->tenants[io->tenant].waiting, &io->node);
}

/* Its next I/O, if there are tokens for it. */
static struct policy_io *
take(struct tokens *tokens, struct tokens_tenant *tenant)
{
	struct policy_io *io = container_of(tenant->waiting.head, struct policy_io, node);
	uint64_t cost = cost_of(tokens, io);

	if (tenant->tokens + tokens->common < cost)
		return NULL;
	if (tenant->tokens < cost) {
		tokens->common -= cost - tenant->tokens;
		tenant->tokens = cost;
	}
	tenant->tokens -= cost;
	fifo_pop(&tenant->waiting);
	return io;
}

static struct policy_io *
tokens_next(struct policy *policy, uint64_t now_ns)
{
	struct tokens *tokens = (struct tokens *)policy;

	fill_until(tokens, now_ns);
	for (unsigned i = 0; i < policy->count; i++) {
		unsigned which = (tokens->turn + i) % policy->count;
		struct tokens_tenant *tenant = &tokens->tenants[which];
		struct policy_io *io = fifo_empty(&tenant->waiting) ? NULL : take(tokens, tenant);

		if (io != NULL) {
			tokens->turn = which + 1;
			return io;
		}
	}
	return NULL;
}

static uint64_t
tokens_deadline(struct policy *policy, uint64_t now_ns)
{
	return policy->waiting > 0 ? ((struct tokens *)policy)->filled_ns + ROUND_NS : UINT64_MAX;
}

const struct policy_ops policy_tokens = {
	.name = "tokens (ReFlex)", .bytes = sizeof(struct tokens), .init = tokens_init, .arrive = tokens_arrive,
	.next = tokens_next, .deadline = tokens_deadline,
};
