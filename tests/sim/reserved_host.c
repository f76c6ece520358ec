/*
 * reserved_host.c - a host that registers, acquires, preempts and reports, and
 * comes back when its target was killed.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "reserved.h"
#include "wire/feature.h"
#include "wire/reservation.h"

enum { ENTRIES = 16, KEYS = 3, REPORT_BYTES = sizeof(struct nvme_resv_report) +
	RSVD_HOSTS * sizeof(struct nvme_resv_entry) };

static void lose(struct rsvd_host *h);

void
rsvd_model_changed(struct reserved *r)
{
	for (unsigned i = 0; i < RSVD_HOSTS; i++) {
		struct rsvd_host *h = &r->hosts[i];

		for (unsigned k = 0; k < RSVD_WORKS; k++)
			if (h->works[k].busy)
				rsvd_work_look(&h->works[k]);
		for (unsigned ns = 0; ns < RSVD_NS; ns++)
			h->there[ns] |= r->ns[ns].there;
		for (unsigned k = 0; k < RSVD_HOSTS && h->commanding; k++)
			for (unsigned ns = 0; ns < RSVD_NS; ns++)
				h->aborted = h->aborted || (k != i && r->models[ns].stages[k] == MODEL_UNDER_WAY &&
				    r->models[ns].commands[k].op == MODEL_PREEMPT_ABORT);
	}
}

/* ---- what its reservation command came to ---- */

/* What a report says, as a state of the oracle; false: it says what cannot be. */
static bool
report_state(const uint8_t *page, struct model_state *s)
{
	const struct nvme_resv_report *report = (const void *)page;
	unsigned count = report->registrants[0] | (unsigned)report->registrants[1] << 8, holders = 0;

	memset(s, 0, sizeof(*s));
	memset(s->order, MODEL_NOBODY, sizeof(s->order));
	s->holder = MODEL_NOBODY;
	s->generation = le32_get(report->gen);
	s->type = report->rtype;
	s->ptpl = report->ptpls;
	if (count > RSVD_HOSTS || s->type > 6)
		return false;
	for (unsigned i = 0; i < count; i++) {
		const struct nvme_resv_entry *entry = &report->entries[i];
		unsigned host = entry->hostid[0] - 1u;

		if (host >= RSVD_HOSTS || s->keys[host] != 0 || le64_get(entry->rkey) - 1 >= KEYS)
			return false;
		s->order[i] = (uint8_t)host;
		s->keys[host] = (uint8_t)le64_get(entry->rkey);
		if (!(entry->rcsts & NVME_RCSTS_HOLDER))
			continue;
		holders++;
		if (s->type < 5)
			s->holder = (uint8_t)host;
	}
	return holders == (s->type == 0 ? 0 : s->type < 5 ? 1 : count);
}

static void
judge(struct rsvd_host *h, unsigned ns)
{
	struct reserved *r = h->r;
	struct model *model = &r->models[ns];
	uint64_t result = model_status_result((uint16_t)nvme_sc(h->command.req.status));
	uint32_t victims = 0;

	if (h->what.op == MODEL_REPORT && nvme_ok(h->command.req.status)) {
		struct model_state state;

		if (!report_state(h->page, &state))
			rsvd_wrong(r, "host %u is shown what cannot be of namespace %u", h->index, ns);
		result = model_report_result(&state);
		r->counts.reports++;
	}
	if (!model_end(model, h->index, result, &victims)) {
		rsvd_wrong(r, "host %u, namespace %u: %03x is no answer to %d, key %u, other %u, type %u", h->index, ns,
		    (unsigned)nvme_sc(h->command.req.status), h->what.op, h->what.key, h->what.other, h->what.type);
		return;
	}
	for (unsigned i = 0; i < RSVD_HOSTS; i++)
		if (victims >> i & 1 && !(model_may(model, i) & MODEL_WRITES))
			rsvd_work_settle(&r->hosts[i], ns);
}

static void
command_done(struct hio *io)
{
	struct rsvd_host *h = io->owner;
	struct reserved *r = h->r;
	enum nvme_sc sc = nvme_sc(io->req.status);
	bool absent = sc == NVME_SC_INVALID_NS || (sc == NVME_SC_INVALID_FIELD && h->what.op == MODEL_SET_PTPL);
	bool failed = sc == NVME_SC_INTERNAL || sc == NVME_SC_PREEMPT_ABORTED || absent;
	bool lands = !absent && r->faults != h->faults_before;

	h->commanding = false;
	r->counts.commands++;
	r->counts.refused += sc == NVME_SC_RESV_CONFLICT;
	if ((sc == NVME_SC_INTERNAL && r->faults == h->faults_before) || (sc == NVME_SC_PREEMPT_ABORTED && !h->aborted))
		rsvd_wrong(r, "host %u: a reservation command ended with %03x", h->index, (unsigned)sc);
	for (unsigned ns = 0; ns < RSVD_NS; ns++) {
		if (!h->everywhere && ns != h->ns)
			continue;
		if (absent && !(h->there[ns] & RSVD_IS_NOT))
			rsvd_wrong(r, "host %u: a namespace that is there is not found: %03x", h->index, (unsigned)sc);
		if (!failed && sc != NVME_SC_HOST_ABORTED && !h->everywhere && !(h->there[ns] & RSVD_IS))
			rsvd_wrong(r, "host %u: %03x of a namespace that is not there", h->index, (unsigned)sc);
		/* Of all namespaces those are meant that are there. */
		if (sc == NVME_SC_HOST_ABORTED || (h->everywhere && (failed || h->there[ns] & RSVD_IS_NOT)))
			model_forget(&r->models[ns], h->index, lands);
		else if (!failed)
			judge(h, ns);
		else if (!model_failed(&r->models[ns], h->index, lands))
			rsvd_wrong(r, "host %u: what failed was done", h->index);
	}
	if (r->quiet && h->what.op == MODEL_REPORT && nvme_ok(io->req.status))
		r->last_reports++;
}

/* ---- what it sends ---- */

/* Mostly one that somebody has, as far as is known. */
static uint8_t
some_key(struct rsvd_host *h)
{
	const struct model_state *s = &h->r->models[h->ns].worlds[0].state;
	unsigned first = (unsigned)rng_below(&h->rng, RSVD_HOSTS);

	if (rng_below(&h->rng, 16) == 0)
		return 0;
	for (unsigned i = 0; i < RSVD_HOSTS && rng_below(&h->rng, 8) > 0; i++)
		if (s->keys[(first + i) % RSVD_HOSTS] != 0)
			return s->keys[(first + i) % RSVD_HOSTS];
	return (uint8_t)(1 + rng_below(&h->rng, KEYS));
}

static void
choose(struct rsvd_host *h)
{
	static const enum model_op ops[] = {
		MODEL_REGISTER, MODEL_REGISTER, MODEL_REGISTER, MODEL_UNREGISTER, MODEL_REPLACE, MODEL_ACQUIRE,
		MODEL_ACQUIRE, MODEL_PREEMPT, MODEL_PREEMPT_ABORT, MODEL_PREEMPT_ABORT, MODEL_PREEMPT_ABORT,
		MODEL_RELEASE, MODEL_CLEAR, MODEL_SET_PTPL, MODEL_REPORT, MODEL_REPORT,
	};
	struct model_command *c = &h->what;
	bool right = rng_below(&h->rng, 8) > 0;

	memset(c, 0, sizeof(*c));
	c->op = h->r->quiet ? MODEL_REPORT : ops[rng_below(&h->rng, sizeof(ops) / sizeof(ops[0]))];
	h->ns = h->r->quiet ? h->index % RSVD_NS : (unsigned)rng_below(&h->rng, RSVD_NS);
	c->key = right ? h->r->models[h->ns].worlds[0].state.keys[h->index] : (uint8_t)rng_below(&h->rng, KEYS + 1);
	c->other = some_key(h);
	if (c->op <= MODEL_REPLACE) {
		c->ignore = rng_below(&h->rng, 4) == 0;
		c->cptpl = (uint8_t[]){ 0, 0, 3, 3, 3, 3, 2, 1 }[rng_below(&h->rng, right ? 7 : 8)];
	}
	c->type = (uint8_t)(right ? 1 + rng_below(&h->rng, 6) : rng_below(&h->rng, 8));
	if (c->op == MODEL_SET_PTPL)
		c->cptpl = rng_below(&h->rng, 4) > 0;
	h->everywhere = c->op == MODEL_SET_PTPL && rng_below(&h->rng, 2) == 0;
}

/* The command as it goes over the wire. */
static void
encode(struct rsvd_host *h)
{
	static const uint8_t opcodes[] = {
		NVME_RESV_REGISTER, NVME_RESV_REGISTER, NVME_RESV_REGISTER, NVME_RESV_ACQUIRE, NVME_RESV_ACQUIRE,
		NVME_RESV_ACQUIRE, NVME_RESV_RELEASE, NVME_RESV_RELEASE, NVME_ADMIN_SET_FEATURES, NVME_RESV_REPORT,
	};
	static const uint8_t actions[] = { 0, 1, 2, 0, 1, 2, 0, 1, 0, 0 };
	const struct model_command *c = &h->what;
	struct hreq *req = &h->command.req;
	uint32_t cdw10 = actions[c->op] | (c->ignore ? NVME_RESV_IEKEY : 0) | (uint32_t)c->type << 8;

	if (c->op <= MODEL_REPLACE)
		cdw10 = actions[c->op] | (c->ignore ? NVME_RESV_IEKEY : 0) | (uint32_t)c->cptpl << 30;
	req->sqe = (struct nvme_sqe){
		.opcode = opcodes[c->op], .cdw10 = le32_of(cdw10),
		.nsid = le32_of(h->everywhere ? UINT32_MAX : h->ns + 1),
	};
	put_le64(h->page, c->key);
	put_le64(h->page + 8, c->other);
	req->data = HREQ_WRITE;
	req->length = c->op == MODEL_RELEASE || c->op == MODEL_CLEAR ? 8 : 16;
	if (c->op == MODEL_SET_PTPL) {
		req->sqe.cdw10 = le32_of(NVME_FEATURE_RESV_PERSISTENCE);
		req->sqe.cdw11 = le32_of(c->cptpl);
		req->data = HREQ_NONE;
		req->length = 0;
	}
	if (c->op == MODEL_REPORT) {
		req->sqe.cdw10 = le32_of(REPORT_BYTES / 4 - 1);
		req->sqe.cdw11 = le32_of(NVME_RESV_REPORT_EDS);
		req->data = HREQ_READ;
		req->length = REPORT_BYTES;
	}
	h->iov = (struct iovec){ h->page, req->length };
	req->iov = &h->iov;
	req->iov_count = 1;
}

static void
command_next(struct rsvd_host *h)
{
	struct reserved *r = h->r;
	struct qpair *qp;

	choose(h);
	encode(h);
	qp = h->what.op == MODEL_SET_PTPL ? &h->admin : &h->io[rng_below(&h->rng, RSVD_QUEUES)];
	if (!qpair_submit(qp, &h->command))
		return;
	h->commanding = true;
	h->aborted = false;
	memset(h->there, 0, sizeof(h->there));
	h->faults_before = r->faults;
	for (unsigned ns = 0; ns < RSVD_NS; ns++)
		if (h->everywhere || ns == h->ns)
			model_begin(&r->models[ns], h->index, &h->what);
	rsvd_model_changed(r);
}

static void
think(struct timer *timer)
{
	struct rsvd_host *h = container_of(timer, struct rsvd_host, think);

	timer_set(&h->reactor->timers, timer, h->reactor->now_ns + 20 * RSVD_US + rng_below(&h->rng, 400 * RSVD_US));
	if (!h->up)
		return;
	if (!h->r->quiet)
		rsvd_work_next(h);
	if (!h->commanding && rng_below(&h->rng, 3) > 0)
		command_next(h);
}

/* ---- coming and going ---- */

static void
down(struct qpair *qp, int error)
{
	struct rsvd_host *h = qp->owner;

	if (h->losing)
		return;
	if (h->crashes_seen == h->r->crashes)
		rsvd_wrong(h->r, "host %u lost its target without cause: %d, %s", h->index, error, qp->why);
	lose(h);
}

static void open_next(struct rsvd_host *h);

static void
queue_up(struct qpair *qp)
{
	struct rsvd_host *h = qp->owner;

	if (h->opened < RSVD_QUEUES)
		open_next(h);
	else
		h->up = true;
}

static int
open_queue(struct rsvd_host *h, struct qpair *qp, uint16_t qid, void (*up)(struct qpair *))
{
	struct qpair_options options = {
		.host = "10.0.0.1", .port = RSVD_PORT, .qid = qid, .entries = ENTRIES,
		.cntlid = qid == 0 ? NVME_CNTLID_DYNAMIC : h->admin.cntlid, .incapsule_max = 8192,
		.hdgst = h->index & 1, .ddgst = h->index >> 1 & 1, .subnqn = RSVD_NQN, .hostnqn = h->hostnqn,
		.hostid = { (uint8_t)(h->index + 1) },
	};

	snprintf(h->hostnqn, sizeof(h->hostnqn), "nqn.2026-11.local.weir:host%u", h->index);
	memset(qp, 0, sizeof(*qp));
	qp->owner = h;
	qp->up = up;
	qp->down = down;
	qp->state = QPAIR_DOWN;
	return qpair_open(qp, h->reactor, &h->gather, &options);
}

static void
open_next(struct rsvd_host *h)
{
	unsigned n = h->opened++;

	if (open_queue(h, &h->io[n], (uint16_t)(n + 1), queue_up) != 0)
		lose(h);
}

static void
enabled(struct hio *io)
{
	struct rsvd_host *h = io->owner;

	if (!h->losing && h->admin.state == QPAIR_UP)
		open_next(h);
}

static void
admin_up(struct qpair *qp)
{
	struct rsvd_host *h = qp->owner;

	h->enable.req.sqe = nvme_property_command(NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES);
	h->enable.req.data = HREQ_NONE;
	h->enable.owner = h;
	h->enable.done = enabled;
	(void)qpair_submit(qp, &h->enable);
}

static void
try(struct timer *timer)
{
	struct rsvd_host *h = container_of(timer, struct rsvd_host, retry);

	h->crashes_seen = h->r->crashes;
	h->losing = false;
	h->opened = 0;
	if (!sim_process_running(h->r->target_process) || open_queue(h, &h->admin, 0, admin_up) != 0)
		lose(h);
}

static void
lose(struct rsvd_host *h)
{
	h->losing = true;
	h->up = false;
	for (unsigned i = 0; i < h->opened; i++)
		qpair_close(&h->io[i]);
	h->opened = 0;
	qpair_close(&h->admin);
	timer_set(&h->reactor->timers, &h->retry, h->reactor->now_ns + rng_below(&h->rng, RSVD_MS));
}

/* A target that went without a word is missed after a while. */
static void
poll(struct timer *timer)
{
	struct rsvd_host *h = container_of(timer, struct rsvd_host, poll);

	timer_set(&h->reactor->timers, timer, h->reactor->now_ns + RSVD_MS / 2 + rng_below(&h->rng, RSVD_MS));
	if (!h->losing && h->crashes_seen != h->r->crashes)
		lose(h);
}

int
rsvd_host_start(struct reactor *reactor, void *arg)
{
	struct rsvd_host *h = arg;

	h->reactor = reactor;
	rng_seed(&h->rng, reactor->world->random(reactor));
	h->admin.state = QPAIR_DOWN;
	h->losing = true;
	h->page = arena_alloc_aligned(reactor->arena, 4096, 4096);
	assert(h->page != NULL);
	h->command.owner = h;
	h->command.done = command_done;
	h->retry = (struct timer){ .fire = try };
	h->poll = (struct timer){ .fire = poll };
	h->think = (struct timer){ .fire = think };
	rsvd_work_init(h);
	timer_set(&reactor->timers, &h->retry, reactor->now_ns + 50 * RSVD_US);
	poll(&h->poll);
	think(&h->think);
	return 0;
}
