/*
 * policy_switch.c - the switch of src/qos in front of a device; and the same with tenants that obey its credits.
 *
 * A tenant that does has no more I/Os at the target than the last answer said, and keeps the others to itself; the
 * first ones go on trust.  What it keeps does not wait at the target.
 */
#include "lab/policy.h"

enum { CREDITS_FIRST = 32 };

struct switched {
	struct policy policy;
	struct qos qos;
	struct switched_tenant {
		struct qos_tenant qos;
		struct qos_cap cap;
		struct fifo kept;            /* by the tenant itself */
		uint32_t credits, sent;      /* UINT32_MAX: it takes no notice of them */
	} tenants[POLICY_TENANTS_MAX];
	uint64_t kept;
};

static void
init(struct switched *sw, uint32_t credits)
{
	struct policy *policy = &sw->policy;

	qos_init(&sw->qos, &policy->terms.params);
	for (unsigned i = 0; i < policy->count; i++) {
		const struct policy_tenant *given = &policy->tenants[i];
		struct switched_tenant *tenant = &sw->tenants[i];
		bool capped = false;

		for (int kind = 0; kind < QOS_KINDS; kind++)
			capped |= given->caps[kind].ios > 0 || given->caps[kind].bytes > 0;
		qos_tenant_init(&tenant->qos, NULL, given->weight);
		fifo_init(&tenant->kept);
		tenant->credits = credits;
		if (capped) {
			qos_cap_init(&tenant->cap, given->caps, given->burst_ms);
			qos_use_cap(&sw->qos, &tenant->cap, QOS_CAP_TENANT);
			tenant->qos.cap = &tenant->cap;
		}
	}
}

static void
switch_init(struct policy *policy)
{
	init((struct switched *)policy, UINT32_MAX);
}

static void
credits_init(struct policy *policy)
{
	init((struct switched *)policy, CREDITS_FIRST);
}

static void
send(struct switched *sw, struct switched_tenant *tenant, struct policy_io *io)
{
	tenant->sent++;
	qos_arrive(&sw->qos, &tenant->qos, &io->qos);
}

static void
switch_arrive(struct policy *policy, struct policy_io *io, uint64_t now_ns)
{
	struct switched *sw = (struct switched *)policy;
	struct switched_tenant *tenant = &sw->tenants[io->tenant];

	if (tenant->sent < tenant->credits) {
		send(sw, tenant, io);
		return;
	}
	fifo_push(&tenant->kept, &io->node);
	sw->kept++;
}

static struct policy_io *
switch_next(struct policy *policy, uint64_t now_ns)
{
	struct qos_io *io = qos_next(&((struct switched *)policy)->qos, now_ns);

	return io != NULL ? container_of(io, struct policy_io, qos) : NULL;
}

static uint64_t
switch_deadline(struct policy *policy, uint64_t now_ns)
{
	return qos_deadline(&((struct switched *)policy)->qos, now_ns);
}

static void
switch_done(struct policy *policy, struct policy_io *io, uint64_t latency_ns, uint64_t now_ns)
{
	struct switched *sw = (struct switched *)policy;
	struct switched_tenant *tenant = &sw->tenants[io->tenant];

	if (policy->terms.keeps_rate)
		sw->qos.rate.since_ns = now_ns - sw->qos.idle_ns; /* so nothing is ever measured of what has ended */
	qos_done(&sw->qos, &io->qos, latency_ns, true, now_ns);
	tenant->sent--;
	if (tenant->credits != UINT32_MAX)
		tenant->credits = qos_credits(&sw->qos, &tenant->qos);
	while (tenant->sent < tenant->credits && !fifo_empty(&tenant->kept)) {
		sw->kept--;
		send(sw, tenant, container_of(fifo_pop(&tenant->kept), struct policy_io, node));
	}
}

static void
switch_look(const struct policy *policy, struct policy_view *view)
{
	const struct switched *sw = (const struct switched *)policy;

	view->waiting -= sw->kept;
	view->rate = sw->qos.rate.target;
	view->write_cost = sw->qos.cost.write;
	for (int kind = 0; kind < QOS_KINDS; kind++)
		view->latency_ns[kind] = qos_monitor_ns(&sw->qos.monitors[kind]);
}

const struct policy_ops policy_switch = {
	.name = "switch", .bytes = sizeof(struct switched), .init = switch_init, .arrive = switch_arrive,
	.next = switch_next, .deadline = switch_deadline, .done = switch_done, .look = switch_look,
};

const struct policy_ops policy_credits = {
	.name = "switch with credits", .bytes = sizeof(struct switched), .init = credits_init, .arrive = switch_arrive,
	.next = switch_next, .deadline = switch_deadline, .done = switch_done, .look = switch_look,
};
