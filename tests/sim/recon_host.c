/*
 * recon_host.c - a host that believes what it is told: connects, reads the page
 * that each event points to, and keeps what it learns.
 *
 * Each step begins one command, whose end calls the next.  What it does to the
 * namespaces is in recon_load.c.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "recon.h"
#include "wire/identify.h"

enum { PAGE = 16 * 1024, KATO_MS = 400, DIRTY_NS = 1, DIRTY_ANA = 2, DIRTY_LOG = 4, ENTRIES = 16 };

static void lose(struct recon_host *h);
static void refresh(struct recon_host *h);
static void open_next(struct recon_host *h);

/* ---- one command after the other ---- */

static void
command_done(struct hio *io)
{
	struct recon_host *h = io->owner;

	if (!h->losing && h->admin.state == QPAIR_UP)
		h->then(h);
}

static void
command(struct recon_host *h, const struct nvme_sqe *sqe, uint32_t read_bytes, void (*then)(struct recon_host *))
{
	h->command.req.sqe = *sqe;
	h->command.req.data = read_bytes > 0 ? HREQ_READ : HREQ_NONE;
	h->command.req.length = read_bytes;
	h->page_iov = (struct iovec){ h->page, read_bytes };
	h->command.req.iov = &h->page_iov;
	h->command.req.iov_count = 1;
	h->command.owner = h;
	h->command.done = command_done;
	h->then = then;
	(void)qpair_submit(&h->admin, &h->command);
}

static void
property(struct recon_host *h, uint8_t fctype, uint32_t offset, uint32_t value, void (*then)(struct recon_host *))
{
	struct nvme_property_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = fctype, .ofst = le32_of(offset), .value = le64_of(value),
	};
	struct nvme_sqe plain;

	memcpy(&plain, &sqe, sizeof(plain));
	command(h, &plain, 0, then);
}

static void
read_log(struct recon_host *h, uint8_t lid, uint32_t bytes, void (*then)(struct recon_host *))
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG_PAGE, .nsid = le32_of(UINT32_MAX),
		.cdw10 = le32_of(lid | (bytes / 4 - 1) << 16) };

	memset(h->page, 0, bytes);
	command(h, &sqe, bytes, then);
}

static void
identify(struct recon_host *h, uint32_t cns, uint32_t nsid, void (*then)(struct recon_host *))
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY, .nsid = le32_of(nsid), .cdw10 = le32_of(cns) };

	memset(h->page, 0, 4096);
	command(h, &sqe, 4096, then);
}

static bool
command_ok(struct recon_host *h, const char *what)
{
	if (!nvme_ok(h->command.req.status))
		recon_wrong(h->r, "%s: status %03x", what, (unsigned)nvme_sc(h->command.req.status));
	return nvme_ok(h->command.req.status);
}

/* ---- what it knows ---- */

static void
log_read(struct recon_host *h)
{
	const struct nvme_log_discovery *log = (const void *)h->page;
	uint64_t lines = le64_get(log->numrec);

	command_ok(h, "log 70h");
	memset(h->shown, 0, sizeof(h->shown));
	if (lines > (RECON_SUBSYS + 1) * RECON_LISTEN)
		recon_wrong(h->r, "the discovery log has %u lines", (unsigned)lines);
	for (uint64_t i = 0; i < lines && i < PAGE / 1024 - 1; i++) {
		const struct nvme_log_discovery_entry *entry = &log->entries[i];
		unsigned listener = 0, subsys = RECON_SUBSYS;

		while (listener < RECON_LISTEN && entry->trsvcid[3] != '0' + (char)listener)
			listener++;
		if (entry->subtype == NVME_SUBTYPE_NVM)
			subsys = (unsigned)(entry->subnqn[strnlen((const char *)entry->subnqn, 223) - 1] - '0');
		if (listener < RECON_LISTEN && subsys <= RECON_SUBSYS && !h->shown[subsys][listener])
			h->shown[subsys][listener] = true;
		else
			recon_wrong(h->r, "the discovery log shows what is not there, or twice");
	}
	refresh(h);
}

static void
ana_read(struct recon_host *h)
{
	const struct nvme_log_ana *log = (const void *)h->page;
	size_t at = sizeof(*log);

	command_ok(h, "log 0Ch");
	if (le64_get(log->changes) < h->ana_changes)
		recon_wrong(h->r, "the ANA log's change count went back");
	h->ana_changes = le64_get(log->changes);
	for (unsigned i = 0; i < le16_get(log->group_count) && i < RECON_GROUPS; i++) {
		struct nvme_log_ana_group group;

		memcpy(&group, h->page + at, sizeof(group));
		at += sizeof(group) + 4 * le32_get(group.ns_count);
		h->state[le32_get(group.id) == 1 ? 0 : 1] = group.state & 15;
	}
	refresh(h);
}

static void
namespace_read(struct recon_host *h)
{
	const struct nvme_identify_ns *id = (const void *)h->page;
	unsigned index = recon_ns_index(h->list[h->list_at++]);

	/* One that went meanwhile is told of again. */
	if (nvme_ok(h->command.req.status) && index < RECON_NS) {
		h->blocks[index] = le64_get(id->nsze);
		h->group[index] = le32_get(id->anagrpid);
	}
	if (h->list_at < h->list_count)
		identify(h, 0, h->list[h->list_at], namespace_read);
	else
		refresh(h);
}

static void
list_read(struct recon_host *h)
{
	command_ok(h, "the list of namespaces");
	memset(h->blocks, 0, sizeof(h->blocks));
	h->list_at = h->list_count = 0;
	for (unsigned i = 0; i <= RECON_NS && get_le32(h->page + 4 * i) != 0; i++)
		h->list[h->list_count++] = get_le32(h->page + 4 * i);
	for (unsigned i = 0; i < h->list_count; i++)
		if (recon_ns_index(h->list[i]) == RECON_NS)
			recon_wrong(h->r, "a namespace %u that no plan has", h->list[i]);
	if (h->list_count > 0)
		identify(h, 0, h->list[0], namespace_read);
	else
		refresh(h);
}

static void
changed_read(struct recon_host *h)
{
	command_ok(h, "log 04h");
	identify(h, 2, 0, list_read);
}

/* The next page that it was told of; then its queues, if it has none yet. */
static void
refresh(struct recon_host *h)
{
	uint32_t dirty = h->dirty;

	h->refreshing = dirty != 0;
	if (dirty & DIRTY_NS) {
		h->dirty &= ~(uint32_t)DIRTY_NS;
		read_log(h, NVME_LOG_CHANGED_NS, 4096, changed_read);
	} else if (dirty & DIRTY_ANA) {
		h->dirty &= ~(uint32_t)DIRTY_ANA;
		read_log(h, NVME_LOG_ANA, 4096, ana_read);
	} else if (dirty & DIRTY_LOG) {
		h->dirty &= ~(uint32_t)DIRTY_LOG;
		read_log(h, NVME_LOG_DISCOVERY, PAGE, log_read);
	} else if (!h->running && !h->discovery && h->opened == 0) {
		open_next(h);
	} else if (h->discovery) {
		h->running = true;
		h->trying = false;
	}
}

static void listen_for_events(struct recon_host *h);

static void
event(struct hio *io)
{
	struct recon_host *h = io->owner;
	uint8_t info = (uint8_t)(io->req.dw0 >> 8), page = (uint8_t)(io->req.dw0 >> 16);

	if (h->losing || h->admin.state != QPAIR_UP || !nvme_ok(io->req.status))
		return;
	if ((io->req.dw0 & 7) != NVME_EVENT_NOTICE || info != (page == NVME_LOG_CHANGED_NS ? NVME_NOTICE_NS :
	    page == NVME_LOG_ANA ? NVME_NOTICE_ANA : NVME_NOTICE_DISCOVERY))
		recon_wrong(h->r, "an event of type %u, %02x, points to page %02x", io->req.dw0 & 7, info, page);
	h->r->counts.notices++;
	h->dirty |= page == NVME_LOG_CHANGED_NS ? DIRTY_NS : page == NVME_LOG_ANA ? DIRTY_ANA :
	    page == NVME_LOG_DISCOVERY ? DIRTY_LOG : 0;
	listen_for_events(h);
	if (!h->refreshing && h->running)
		refresh(h);
}

static void
listen_for_events(struct recon_host *h)
{
	h->aer.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_ASYNC_EVENT };
	h->aer.req.data = HREQ_NONE;
	h->aer.owner = h;
	h->aer.done = event;
	(void)qpair_submit(&h->admin, &h->aer);
}

/* ---- the way up ---- */

static void
queues_granted(struct recon_host *h)
{
	if (command_ok(h, "asking for queues"))
		refresh(h);
}

static void
events_chosen(struct recon_host *h)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(NVME_FEATURE_QUEUES),
		.cdw11 = le32_of((h->queues - 1u) | (h->queues - 1u) << 16) };

	if (!command_ok(h, "choosing events"))
		return;
	listen_for_events(h);
	h->dirty = h->discovery ? DIRTY_LOG : DIRTY_NS | DIRTY_ANA;
	h->ana_changes = 0;
	if (h->discovery)
		refresh(h);
	else
		command(h, &sqe, 0, queues_granted);
}

static void
enabled(struct recon_host *h)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(NVME_FEATURE_EVENTS),
		.cdw11 = le32_of(h->discovery ? NVME_ASYNC_DISCOVERY : NVME_ASYNC_NS | NVME_ASYNC_ANA) };

	if (command_ok(h, "enabling"))
		command(h, &sqe, 0, events_chosen);
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
	struct recon_host *h = qp->owner;

	check_admitted(h, h->listener, h->try_ns);
	recon_check_id(h);
	property(h, NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | 6u << 16 | 4u << 20, enabled);
}

static void
queue_up(struct qpair *qp)
{
	struct recon_host *h = qp->owner;

	check_admitted(h, h->io_listener[h->opened - 1], h->queue_ns);
	if (h->opened < h->queues) {
		open_next(h);
		return;
	}
	h->running = true;
	h->trying = h->crashed = false;
	timer_clear(&h->reactor->timers, &h->limit);
	if (h->dirty)
		refresh(h);
	recon_host_work(h);
}

/* Was there a reason to be thrown out, or not to be let in? */
static bool
with_cause(const struct recon_host *h)
{
	uint64_t now = sim_now(h->r->sim), since = now > 5 * RECON_MS ? now - 5 * RECON_MS : 0;

	if (h->r->does & (RECON_DOES_RESETS | RECON_DOES_CRASH) || h->r->end || h->r->fail_at > 0)
		return true;
	if (h->discovery)
		return h->listener > 0;
	if (!recon_admitted(h->r, h->subsys, h->index, h->listener, since, true) ||
	    !recon_has(h->r, h->subsys, h->running && h->asked != NVME_CNTLID_DYNAMIC ? NVME_CNTLID_STATIC : h->asked, since,
	    true))
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
		if (!s->on || !(plan->listeners & s->listeners & 1u << h->listener) || !plan_has(plan, h->subsys, h->asked))
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
		recon_wrong(h->r, "host %u lost subsystem %u without cause: %d, %s", h->index, h->subsys, error, qp->why);
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

static void
open_next(struct recon_host *h)
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
	h->page = arena_alloc_aligned(reactor->arena, PAGE, 4096);
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

/* ---- at the end: what it knows is what the last plan says ---- */

static void
check_log(struct recon_host *h, const struct plan *plan)
{
	for (unsigned s = 0; s <= RECON_SUBSYS; s++) {
		for (unsigned l = 0; l < RECON_LISTEN; l++) {
			bool is = s == RECON_SUBSYS ? plan->listeners >> l & 1 : plan_admits(plan, s, 0, l);

			if (is != h->shown[s][l])
				recon_wrong(h->r, "host 0 believes that subsystem %u is%s reached by %u", s, is ? " not" : "", l);
		}
	}
}

void
recon_host_check(struct recon_host *h)
{
	const struct plan *plan = &h->r->plans[h->r->plan_count - 1];
	const struct plan_subsys *subsys = &plan->subsys[h->subsys];
	bool could = h->discovery;

	for (unsigned s = 0; s < RECON_SUBSYS; s++)
		for (unsigned l = 0; l < RECON_LISTEN; l++)
			could = could || plan_admits(plan, s, h->index, l);
	/* Where connections are reset it may just be on its way again. */
	if (h->running != could && !(could && h->r->does & RECON_DOES_RESETS))
		recon_wrong(h->r, "host %u is%s connected", h->index, could ? " not" : "");
	if (!h->running)
		return;
	if (h->refreshing || h->dirty != 0)
		recon_wrong(h->r, "host %u still reads", h->index);
	if (h->discovery) {
		check_log(h, plan);
		return;
	}
	for (unsigned i = 0; i < RECON_NS; i++) {
		const struct plan_ns *ns = &subsys->ns[i];
		uint64_t blocks = ns->volume < 0 ? 0 : ns->blocks > 0 ? ns->blocks : RECON_BLOCKS;

		if (h->blocks[i] != blocks)
			recon_wrong(h->r, "host %u believes that namespace %u has %u blocks, not %u", h->index, recon_nsid(i),
			    (unsigned)h->blocks[i], (unsigned)blocks);
		if (blocks > 0 && (h->group[i] == 1 ? 0u : 1u) != ns->group)
			recon_wrong(h->r, "host %u takes namespace %u for one of group %u", h->index, recon_nsid(i), h->group[i]);
	}
	for (unsigned g = 0; g < RECON_GROUPS; g++)
		if (h->state[g] != subsys->state[g][h->listener])
			recon_wrong(h->r, "host %u believes that group %u is %u, not %u", h->index, g, h->state[g],
			    subsys->state[g][h->listener]);
}
