/*
 * policy_window.c - each tenant has a window of I/Os, which it opens and closes itself by the latency that it sees
 * (like PARDA).
 *
 * w = (1 - g) w + g (L / latency w + beta): so where the latency is above what is wanted, windows close, to where beta
 * holds them; beta is the tenant's weight.  Nobody but the tenants does anything: what is in the window goes to the
 * device at once.  Source: PARDA (FAST 2009), 3.1.
 */
#include "lab/policy.h"

enum {
	ONE = 1 << 16,
	PERIOD_NS = 10 * 1000 * 1000,      /* in which a latency is averaged (the paper's is seconds, of disks) */
	KEEP_PERCENT = 80,                 /* 1 - g */
	BETA = 4,                          /* of a tenant of weight 1 */
	WINDOW_FIRST = 32, WINDOW_MOST = 1024,
};

struct windows {
	struct policy policy;
	struct windows_tenant {
		struct fifo kept;
		uint64_t window;               /* I/Os, in ONE */
		uint64_t out;
		uint64_t sum_ns, ended;        /* in this period */
		uint64_t period_ns;            /* when it ends */
	} tenants[POLICY_TENANTS_MAX];
	unsigned turn;
};

static void
windows_init(struct policy *policy)
{
	struct windows *windows = (struct windows *)policy;

	for (unsigned i = 0; i < policy->count; i++) {
		fifo_init(&windows->tenants[i].kept);
		windows->tenants[i].window = (uint64_t)WINDOW_FIRST * ONE;
		windows->tenants[i].period_ns = PERIOD_NS;
	}
}

static void
windows_arrive(struct policy *policy, struct policy_io *io, uint64_t now_ns)
{
	fifo_push(&((struct windows *)policy)->tenants[io->tenant].kept, &io->node);
}

/* A period is over in which it has seen something. */
static void
adapt(struct windows_tenant *tenant, uint64_t wanted_ns, uint32_t weight)
{
	uint64_t latency_ns = tenant->sum_ns / tenant->ended, aim;

	aim = tenant->window * wanted_ns / (latency_ns > 0 ? latency_ns : 1) + (uint64_t)BETA * weight * ONE;
	tenant->window = (KEEP_PERCENT * tenant->window + (100 - KEEP_PERCENT) * aim) / 100;
	if (tenant->window < ONE)
		tenant->window = ONE;
	if (tenant->window > (uint64_t)WINDOW_MOST * ONE)
		tenant->window = (uint64_t)WINDOW_MOST * ONE;
	tenant->sum_ns = tenant->ended = 0;
}

static struct policy_io *
windows_next(struct policy *policy, uint64_t now_ns)
{
	struct windows *windows = (struct windows *)policy;

	for (unsigned i = 0; i < policy->count; i++) {
		unsigned which = (windows->turn + i) % policy->count;
		struct windows_tenant *tenant = &windows->tenants[which];

		if (!fifo_empty(&tenant->kept) && tenant->out < tenant->window / ONE) {
			tenant->out++;
			windows->turn = which + 1;
			return container_of(fifo_pop(&tenant->kept), struct policy_io, node);
		}
	}
	return NULL;
}

static void
windows_done(struct policy *policy, struct policy_io *io, uint64_t latency_ns, uint64_t now_ns)
{
	struct windows_tenant *tenant = &((struct windows *)policy)->tenants[io->tenant];

	tenant->out--;
	tenant->sum_ns += latency_ns;
	tenant->ended++;
	if (now_ns >= tenant->period_ns) {
		adapt(tenant, policy->terms.latency_ns, policy->tenants[io->tenant].weight);
		tenant->period_ns = now_ns + PERIOD_NS;
	}
}

/* What tenants keep does not wait at the target. */
static void
windows_look(const struct policy *policy, struct policy_view *view)
{
	view->waiting = 0;
}

const struct policy_ops policy_window = {
	.name = "windows (PARDA)", .bytes = sizeof(struct windows), .init = windows_init, .arrive = windows_arrive,
	.next = windows_next, .done = windows_done, .look = windows_look,
};
