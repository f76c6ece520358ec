/*
 * policy_rates.c - each tenant has its rate, and nobody has what another one leaves.
 *
 * An I/O goes at its time, one after the other as far apart as the rate says; what was not used may be made up for a
 * little, so that a tenant whose I/Os come late by chance has its rate all the same.  With rates of what each would
 * have alone, over how many there are, these are static caps; with rates that somebody looked for they are the ORACLE,
 * which knows what the device bears, and needs to keep nobody waiting to find it out.
 */
#include "lab/policy.h"

enum { LATE_NS = 200 * 1000 /* that may be made up for, and two I/Os */ };

struct rates {
	struct policy policy;
	struct rates_tenant {
		struct fifo waiting;
		uint64_t due_ns;
	} tenants[POLICY_TENANTS_MAX];
	unsigned turn;
};

static void
rates_init(struct policy *policy)
{
	struct rates *rates = (struct rates *)policy;

	for (unsigned i = 0; i < policy->count; i++)
		fifo_init(&rates->tenants[i].waiting);
}

static void
rates_arrive(struct policy *policy, struct policy_io *io, uint64_t now_ns)
{
	fifo_push(&((struct rates *)policy)->tenants[io->tenant].waiting, &io->node);
}

/* Its next I/O goes. */
static struct policy_io *
take(struct rates_tenant *tenant, uint64_t rate, uint64_t now_ns)
{
	struct policy_io *io = container_of(fifo_pop(&tenant->waiting), struct policy_io, node);
	uint64_t gap_ns, late_ns;

	if (rate == 0)
		return io;
	gap_ns = io->qos.bytes * UINT64_C(1000000000) / rate;
	late_ns = 2 * gap_ns + LATE_NS;
	if (tenant->due_ns + late_ns < now_ns)
		tenant->due_ns = now_ns - late_ns;
	tenant->due_ns += gap_ns;
	return io;
}

static struct policy_io *
rates_next(struct policy *policy, uint64_t now_ns)
{
	struct rates *rates = (struct rates *)policy;

	for (unsigned i = 0; i < policy->count; i++) {
		unsigned which = (rates->turn + i) % policy->count;
		struct rates_tenant *tenant = &rates->tenants[which];

		if (!fifo_empty(&tenant->waiting) && tenant->due_ns <= now_ns) {
			rates->turn = which + 1;
			return take(tenant, policy->tenants[which].rate, now_ns);
		}
	}
	return NULL;
}

static uint64_t
rates_deadline(struct policy *policy, uint64_t now_ns)
{
	struct rates *rates = (struct rates *)policy;
	uint64_t next_ns = UINT64_MAX;

	for (unsigned i = 0; i < policy->count; i++)
		if (!fifo_empty(&rates->tenants[i].waiting) && rates->tenants[i].due_ns < next_ns)
			next_ns = rates->tenants[i].due_ns;
	return next_ns;
}

const struct policy_ops policy_rates = {
	.name = "static rates", .bytes = sizeof(struct rates), .init = rates_init, .arrive = rates_arrive,
	.next = rates_next, .deadline = rates_deadline,
};
