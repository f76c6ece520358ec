/*
 * recon_host.c - a host that believes what it is told: how it connects, and comes
 * back when it is thrown out.
 *
 * What it learns is in recon_beliefs.c, what it does to the namespaces in recon_load.c.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "recon_host.h"

enum { KATO_MS = 400, ENTRIES = 16 };

static void lose(struct recon_host *h);

/* ---- the way up ---- */

static void
queues_granted(struct recon_host *h)
{
	if (recon_command_ok(h, "asking for queues"))
		recon_refresh(h);
}

static void
events_chosen(struct recon_host *h)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(NVME_FEATURE_QUEUES),
		.cdw11 = le32_of((h->queues - 1u) | (h->queues - 1u) << 16) };

	if (!recon_command_ok(h, "choosing events"))
		return;
	recon_listen(h);
	h->dirty = h->discovery ? DIRTY_LOG : DIRTY_NS | DIRTY_ANA;
	h->ana_changes = 0;
	if (h->discovery)
		recon_refresh(h);
	else
		recon_command(h, &sqe, 0, queues_granted);
}

static void
enabled(struct recon_host *h)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(NVME_FEATURE_EVENTS),
		.cdw11 = le32_of(h->discovery ? NVME_ASYNC_DISCOVERY : NVME_ASYNC_NS | NVME_ASYNC_ANA) };

	if (recon_command_ok(h, "enabling"))
		recon_command(h, &sqe, 0, events_chosen);
}

static void
check_admitted(struct recon_host *h, unsigned listener, uint64_t since_ns)
{
	h->r->counts.connects++;
	if (!h->discovery && !recon_admitted(h->r, h->subsys, h->index, listener, since_ns, false))
		recon_wrong(h->r, "host %u was let in to %u by %u", h->index, h->subsys, listener);
}

static void
admin_up(struct qpair *qp)
{
	struct nvme_sqe sqe = nvme_property_command(NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES);
	struct recon_host *h = qp->owner;

	check_admitted(h, h->listener, h->try_ns);
	recon_check_id(h);
	recon_command(h, &sqe, 0, enabled);
}

static void
queue_up(struct qpair *qp)
{
	struct recon_host *h = qp->owner;

	check_admitted(h, h->io_listener[h->opened - 1], h->queue_ns);
	if (h->opened < h->queues) {
		recon_open_next(h);
		return;
	}
	h->running = true;
	h->trying = h->crashed = false;
	timer_clear(&h->reactor->timers, &h->limit);
	if (h->dirty)
		recon_refresh(h);
	recon_host_work(h);
}

/* Was there a reason to be thrown out, or not to be let in? */
static bool
with_cause(const struct recon_host *h)
{
	uint64_t now = sim_now(h->r->sim), since = now > 5 * RECON_MS ? now - 5 * RECON_MS : 0;
	uint16_t asked = h->running && h->asked != NVME_CNTLID_DYNAMIC ? NVME_CNTLID_STATIC : h->asked;

	if (h->r->does & (RECON_DOES_RESETS | RECON_DOES_CRASH) || h->r->end || h->r->fail_at > 0)
		return true;
	if (h->discovery)
		return h->listener > 0;
	if (!recon_admitted(h->r, h->subsys, h->index, h->listener, since, true) ||
	    !recon_has(h->r, h->subsys, asked, since, true))
		return true;
	for (unsigned i = 0; i < h->opened; i++)
		if (!recon_admitted(h->r, h->subsys, h->index, h->io_listener[i], since, true))
			return true;
	return false;
}

/* Whether it was only not on the list, or there was no way at all, for as long as it asked. */
static void
check_refusal(struct recon_host *h, const struct qpair *qp)
{
	unsigned unlisted = 0, nowhere = 0, others = 0;
	const char *expected;

	for (unsigned i = 0; i < h->r->plan_count; i++) {
		const struct plan *plan = &h->r->plans[i];
		const struct plan_subsys *s = &plan->subsys[h->subsys];

		if (plan->until_ns < h->try_ns)
			continue;
		if (!s->on || !(plan->listeners & s->listeners & 1u << h->listener) ||
		    !plan_has(plan, h->subsys, h->asked))
			nowhere++;
		else if (s->listed && !(s->hosts >> h->index & 1))
			unlisted++;
		else
			others++;
	}
	if (others > 0 || (unlisted > 0 && nowhere > 0) || strstr(qp->why, "refused: ") == NULL)
		return;
	expected = unlisted > 0 ? "(1:84" : "(1:82";
	h->r->counts.unlisted += unlisted > 0;
	if (strstr(qp->why, expected) == NULL)
		recon_wrong(h->r, "not %s) but '%s'", expected, qp->why);
}

static void
down(struct qpair *qp, int error)
{
	struct recon_host *h = qp->owner;

	if (h->losing)
		return;
	if (qp == &h->admin && !h->discovery && h->opened == 0)
		check_refusal(h, qp);
	h->r->counts.busy += recon_is_busy(qp);
	h->r->told = h->r->told || recon_is_busy(qp);
	if (!with_cause(h) && !recon_was_busy(h, qp))
		recon_wrong(h->r, "host %u lost subsystem %u without cause: %d, %s", h->index, h->subsys, error,
		    qp->why);
	lose(h);
}

static int
open_queue(struct recon_host *h, struct qpair *qp, unsigned listener, uint16_t qid, void (*up)(struct qpair *))
{
	struct qpair_options options = {
		.host = "10.0.0.1", .port = (uint16_t)(RECON_PORT + listener), .qid = qid,
		.hdgst = h->hdgst, .ddgst = h->ddgst, .sq_flow = h->sq_flow,
		.entries = ENTRIES, .cntlid = qid == 0 ? h->asked : h->admin.cntlid,
		.kato_ms = qid == 0 ? KATO_MS : 0, .incapsule_max = 8192, .subnqn = h->subnqn, .hostnqn = h->hostnqn,
		.hostid = { (uint8_t)(h->index + 1) },
	};

	memset(qp, 0, sizeof(*qp));
	qp->owner = h;
	qp->up = up;
	qp->down = down;
	qp->state = QPAIR_DOWN;
	return qpair_open(qp, h->reactor, &h->gather, &options);
}

void
recon_open_next(struct recon_host *h)
{
	unsigned n = h->opened;

	h->io_listener[n] = rng_below(&h->rng, 3) > 0 ? h->listener : (unsigned)rng_below(&h->rng, RECON_LISTEN);
	h->queue_ns = sim_now(h->r->sim);
	h->opened++;
	if (open_queue(h, &h->io[n], h->io_listener[n], (uint16_t)(n + 1), queue_up) != 0)
		lose(h);
}

/* Mostly one that there is, as far as the operator says. */
static void
choose_way(struct recon_host *h)
{
	const struct plan *plan = &h->r->plans[h->r->plan_count - 1];

	for (unsigned tries = 0; tries < 20; tries++) {
		h->subsys = (unsigned)rng_below(&h->rng, RECON_SUBSYS);
		h->listener = (unsigned)rng_below(&h->rng, RECON_LISTEN);
		if ((h->r->fail_at == 0 && !h->r->stop && rng_below(&h->rng, 8) == 0) ||
		    plan_admits(plan, h->subsys, h->index, h->listener))
			return;
	}
}

static void
try(struct timer *timer)
{
	struct recon_host *h = container_of(timer, struct recon_host, retry);

	if (h->r->end)
		return;
	choose_way(h);
	recon_choose_id(h);
	h->opened = 0;
	h->losing = h->running = h->refreshing = false;
	h->trying = true;
	h->dirty = 0;
	h->try_ns = sim_now(h->r->sim);
	snprintf(h->hostnqn, sizeof(h->hostnqn), "nqn.2026-11.local.weir:host%u", h->discovery ? 0 : h->index);
	if (h->discovery)
		snprintf(h->subnqn, sizeof(h->subnqn), "%s", NVME_DISCOVERY_NQN);
	else
		snprintf(h->subnqn, sizeof(h->subnqn), "nqn.2026-11.local.weir:recon%u", h->subsys);
	timer_set(&h->reactor->timers, &h->limit, h->reactor->now_ns + 300 * RECON_MS);
	if (open_queue(h, &h->admin, h->listener, 0, admin_up) != 0)
		lose(h);
}

static void
leave(struct recon_host *h)
{
	h->losing = true;
	h->running = h->trying = false;
	timer_clear(&h->reactor->timers, &h->limit);
	for (unsigned i = 0; i < h->opened; i++)
		qpair_close(&h->io[i]);
	qpair_close(&h->admin);
}

static void
lose(struct recon_host *h)
{
	leave(h);
	h->r->counts.losses++;
	timer_set(&h->reactor->timers, &h->retry,
	    h->reactor->now_ns + RECON_MS / 2 + rng_below(&h->rng, 3 * RECON_MS));
}

static void
too_late(struct timer *timer)
{
	struct recon_host *h = container_of(timer, struct recon_host, limit);

	if (h->running)
		return;
	if (!with_cause(h))
		recon_wrong(h->r, "host %u was not let in in time", h->index);
	lose(h);
}

static void
alive_done(struct hio *io)
{
	(void)io;
}

static void
keep_alive(struct timer *timer)
{
	struct recon_host *h = container_of(timer, struct recon_host, alive_timer);

	timer_set(&h->reactor->timers, timer, h->reactor->now_ns + KATO_MS / 4 * (uint64_t)RECON_MS);
	if (h->admin.state != QPAIR_UP || h->alive.req.state != HREQ_IDLE)
		return;
	h->alive.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_KEEP_ALIVE };
	h->alive.req.data = HREQ_NONE;
	h->alive.owner = h;
	h->alive.done = alive_done;
	(void)qpair_submit(&h->admin, &h->alive);
}

static void
look_around(struct timer *timer)
{
	struct recon_host *h = container_of(timer, struct recon_host, poll);

	if (h->r->end && !h->losing)
		leave(h);
	if (!h->r->end)
		timer_set(&h->reactor->timers, timer, h->reactor->now_ns + RECON_MS);
}

int
recon_host_start(struct reactor *reactor, void *arg)
{
	struct recon_host *h = arg;

	h->reactor = reactor;
	rng_seed(&h->rng, reactor->world->random(reactor));
	memset(&h->command, 0, sizeof(h->command));
	memset(&h->alive, 0, sizeof(h->alive));
	memset(&h->aer, 0, sizeof(h->aer));
	h->admin.state = QPAIR_DOWN;
	h->opened = 0;
	h->page = arena_alloc_aligned(reactor->arena, RECON_PAGE, 4096);
	assert(h->page != NULL);
	h->retry = (struct timer){ .fire = try };
	h->limit = (struct timer){ .fire = too_late };
	h->alive_timer = (struct timer){ .fire = keep_alive };
	h->poll = (struct timer){ .fire = look_around };
	recon_work_init(h);
	timer_set(&reactor->timers, &h->retry, reactor->now_ns + 50 * 1000);
	keep_alive(&h->alive_timer);
	look_around(&h->poll);
	return 0;
}
