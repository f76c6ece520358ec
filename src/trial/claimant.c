/*
 * claimant.c - a host of a trial that registers, acquires, preempts, releases, reports, while all have their load.
 *
 * At each target it has a controller of its own beside those of its lanes: to a
 * target it is the same host.  By that it sends one command after the other, and
 * what is answered is told to the claims of the volume.  What is not answered may
 * be done until nothing of its connection is left at the target; it waits for
 * that.  In the end all reservations are looked at, and taken away.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "trial/claimant.h"
#include "wire/reservation.h"

static const uint64_t AGAIN_NS = 5 * 1000 * 1000, THINK_NS = 6 * 1000 * 1000;

enum { ENTRIES = 4, KEYS = 3 };

static uint64_t
now(const struct claimant *c)
{
	return sim_now(c->user->trial->sim);
}

static struct claims *
claims_of(const struct claimant *c)
{
	return c->volume->claims;
}

/* ---- what came of its command ---- */

/* What a report says, as a state of the model; false: it says what cannot be. */
static bool
read_report(const struct claimant *c, struct model_state *s)
{
	const struct nvme_resv_report *report = (const void *)c->page;
	unsigned count = report->registrants[0] | (unsigned)report->registrants[1] << 8, holders = 0;

	*s = (struct model_state){
		.holder = MODEL_NOBODY, .generation = le32_get(report->gen), .type = report->rtype,
		.ptpl = report->ptpls,
	};
	memset(s->order, MODEL_NOBODY, sizeof(s->order));
	if (count > MODEL_HOSTS || s->type > NVME_RESV_EA_AR)
		return false;
	for (unsigned i = 0; i < count; i++) {
		const struct nvme_resv_entry *entry = &report->entries[i];
		uint64_t host = get_le64(entry->hostid) - 1, key = le64_get(entry->rkey);
		unsigned number = host < trial_knob(c->user->trial, KNOB_HOSTS) ? c->user->trial->users[host].claimant :
		    MODEL_NOBODY;

		if (number >= MODEL_HOSTS || s->keys[number] != 0 || key < 1 || key > KEYS)
			return false;
		s->order[i] = (uint8_t)number;
		s->keys[number] = (uint8_t)key;
		if (!(entry->rcsts & NVME_RCSTS_HOLDER))
			continue;
		holders++;
		if (s->type < NVME_RESV_WE_AR)
			s->holder = (uint8_t)number;
	}
	return holders == (s->type == 0 ? 0 : s->type < NVME_RESV_WE_AR ? 1 : count);
}

/* Of a report that was answered. */
static uint64_t
reported(struct claimant *c)
{
	struct model_state state;

	if (!read_report(c, &state))
		trial_wrong(c->user->trial, "claims", "host %u is shown what cannot be of volume %u of target %u",
		    c->user->index, c->volume->index, c->served->index);
	c->last = state;
	c->looked = true;
	if (c->user->trial->resting && state.order[0] == MODEL_NOBODY)
		c->clear |= UINT32_C(1) << c->volume->index;
	return model_report_result(&state);
}

static void
judge(struct claimant *c, struct nvme_status status)
{
	const struct model_command *what = &c->what;
	struct model *model = &claims_of(c)->model;
	bool says = what->op == MODEL_REPORT && nvme_ok(status);
	uint64_t result = says ? reported(c) : model_status_result((uint16_t)nvme_sc(status));
	uint32_t victims;
	bool right = model_end(model, c->user->claimant, result, &victims);

	if (says)
		model_found(model, &c->last);
	if (!right)
		trial_wrong(c->user->trial, "claims",
		    "host %u, volume %u of target %u: %03x is no answer to %s (key %u, other %u, type %u%s)%s",
		    c->user->index, c->volume->index, c->served->index, (unsigned)nvme_sc(status),
		    model_op_name(what->op), what->key, what->other, what->type, what->ignore ? ", IEKEY" : "",
		    says ? ": what it says is not so" : "");
}

/* It was not done: its namespace is gone, or cannot be reached here, or what is to be kept cannot be written. */
static bool
is_failure(enum nvme_sc sc)
{
	switch (sc) {
	case NVME_SC_INVALID_NS: case NVME_SC_PREEMPT_ABORTED: case NVME_SC_INTERNAL:
	case NVME_SC_ANA_INACCESSIBLE: case NVME_SC_ANA_TRANSITION: case NVME_SC_ANA_PERSISTENT_LOSS:
		return true;
	default:
		return false;
	}
}

static void
answered(struct claimant *c, struct nvme_status status)
{
	struct access access = {
		"a reservation command", c->user, c->volume, c->listener - TRIAL_PORT, 0, c->begun_ns, status,
	};
	struct model *model = &claims_of(c)->model;
	enum nvme_sc sc = nvme_sc(status);

	access_check(c->served, &access);
	if (sc == NVME_SC_PREEMPT_ABORTED && !claims_may(claims_of(c), c->user->claimant, MODEL_ENDS, c->begun_ns))
		trial_wrong(c->user->trial, "claims", "a reservation command of host %u was ended by nobody's preempt",
		    c->user->index);
	if (sc == NVME_SC_SUCCESS || sc == NVME_SC_RESV_CONFLICT || sc == NVME_SC_INVALID_FIELD)
		judge(c, status);
	else if (!is_failure(sc))
		model_forget(model, c->user->claimant, false);
	else if (!model_failed(model, c->user->claimant, sc == NVME_SC_INTERNAL))
		trial_wrong(c->user->trial, "claims",
		    "host %u, volume %u of target %u: %s failed with %03x, and was done",
		    c->user->index, c->volume->index, c->served->index, model_op_name(c->what.op), (unsigned)sc);
	claims_changed(claims_of(c), now(c));
}

static void
go_adrift(struct claimant *c)
{
	c->adrift = true;
	c->adrift_port = c->port;
}

static void
done(struct hio *io)
{
	struct claimant *c = io->owner;

	c->busy = false;
	c->next_ns = now(c) + rng_below(&c->rng, THINK_NS);
	c->user->trial->result->counts.claims++;
	if (io->lost)
		go_adrift(c);
	else
		answered(c, io->req.status);
}

/* ---- what it sends ---- */

/* Mostly one that somebody has, as far as is known. */
static uint8_t
some_key(struct claimant *c, const struct model_state *s)
{
	unsigned first = (unsigned)rng_below(&c->rng, MODEL_HOSTS);

	if (rng_below(&c->rng, 16) == 0)
		return 0;
	for (unsigned i = 0; i < MODEL_HOSTS && rng_below(&c->rng, 8) > 0; i++)
		if (s->keys[(first + i) % MODEL_HOSTS] != 0)
			return s->keys[(first + i) % MODEL_HOSTS];
	return (uint8_t)(1 + rng_below(&c->rng, KEYS));
}

/* Reservations that are held forbid others their load, so they are often given up. */
static void
choose(struct claimant *c)
{
	static const enum model_op ops[] = {
		MODEL_REGISTER, MODEL_REGISTER, MODEL_REGISTER, MODEL_UNREGISTER, MODEL_REPLACE, MODEL_ACQUIRE,
		MODEL_ACQUIRE, MODEL_ACQUIRE, MODEL_PREEMPT, MODEL_PREEMPT_ABORT, MODEL_PREEMPT_ABORT, MODEL_RELEASE,
		MODEL_RELEASE, MODEL_CLEAR, MODEL_REPORT, MODEL_REPORT,
	};
	static const uint8_t cptpls[] = { 0, 0, 3, 3, 3, 2, 2, 1 };
	struct model_state *s = &claims_of(c)->model.worlds[0].state;
	struct model_command *what = &c->what;
	bool right = rng_below(&c->rng, 8) > 0;

	*what = (struct model_command){ .op = ops[rng_below(&c->rng, sizeof(ops) / sizeof(ops[0]))] };
	what->key = right ? s->keys[c->user->claimant] : (uint8_t)rng_below(&c->rng, KEYS + 1);
	what->other = some_key(c, s);
	if (what->op <= MODEL_REPLACE) {
		what->ignore = rng_below(&c->rng, 4) == 0;
		what->cptpl = cptpls[rng_below(&c->rng, right ? 7 : 8)];
		if (right && what->cptpl == 3 && !claims_of(c)->model.persists)
			what->cptpl = 0;
	}
	what->type = right ? (uint8_t)(1 + rng_below(&c->rng, 6)) : (uint8_t)rng_below(&c->rng, 8);
	if (what->op == MODEL_RELEASE && right)
		what->type = s->type;
}

/* The last act: what is reported is taken away by whoever is registered, until nobody is. */
static void
choose_last(struct claimant *c)
{
	uint8_t key = c->last.keys[c->user->claimant];

	c->what = (struct model_command){ .op = MODEL_REPORT };
	if (c->looked && key != 0)
		c->what = (struct model_command){ .op = MODEL_CLEAR, .key = key };
	c->looked = false;
}

/* The command as it goes over the wire. */
static void
encode(struct claimant *c)
{
	static const struct { uint8_t opcode, action; } codes[] = {
		[MODEL_REGISTER] = { NVME_RESV_REGISTER, NVME_RREGA_REGISTER },
		[MODEL_UNREGISTER] = { NVME_RESV_REGISTER, NVME_RREGA_UNREGISTER },
		[MODEL_REPLACE] = { NVME_RESV_REGISTER, NVME_RREGA_REPLACE },
		[MODEL_ACQUIRE] = { NVME_RESV_ACQUIRE, NVME_RACQA_ACQUIRE },
		[MODEL_PREEMPT] = { NVME_RESV_ACQUIRE, NVME_RACQA_PREEMPT },
		[MODEL_PREEMPT_ABORT] = { NVME_RESV_ACQUIRE, NVME_RACQA_PREEMPT_ABORT },
		[MODEL_RELEASE] = { NVME_RESV_RELEASE, NVME_RRELA_RELEASE },
		[MODEL_CLEAR] = { NVME_RESV_RELEASE, NVME_RRELA_CLEAR },
		[MODEL_REPORT] = { NVME_RESV_REPORT, 0 },
	};
	const struct model_command *what = &c->what;
	struct hreq *req = &c->command.req;
	uint32_t above = what->op <= MODEL_REPLACE ? (uint32_t)what->cptpl << 30 : (uint32_t)what->type << 8;

	*req = (struct hreq){ .data = HREQ_WRITE, .length = 16 };
	req->sqe.opcode = codes[what->op].opcode;
	req->sqe.nsid = le32_of(c->volume->nsid);
	req->sqe.cdw10 = le32_of(codes[what->op].action | (what->ignore ? NVME_RESV_IEKEY : 0) | above);
	put_le64(c->page, what->key);
	put_le64(c->page + 8, what->other);
	if (what->op == MODEL_RELEASE || what->op == MODEL_CLEAR)
		req->length = sizeof(struct nvme_resv_release_data);
	if (what->op == MODEL_REPORT) {
		memset(c->page, 0xff, CLAIMANT_PAGE);
		req->sqe.cdw10 = le32_of(CLAIMANT_PAGE / 4 - 1);
		req->sqe.cdw11 = le32_of(NVME_RESV_REPORT_EDS);
		req->data = HREQ_READ;
		req->length = CLAIMANT_PAGE;
	}
	c->iov = (struct iovec){ c->page, req->length };
	req->iov = &c->iov;
	req->iov_count = 1;
}

/* The first volume that is not known to be free of registrants; NULL: all are. */
static struct volume *
not_clear(const struct claimant *c)
{
	for (unsigned i = 0; i < trial_knob(c->user->trial, KNOB_VOLUMES); i++)
		if (!(c->clear >> i & 1))
			return &c->served->volumes[i];
	return NULL;
}

static void
send(struct claimant *c)
{
	struct trial *trial = c->user->trial;
	struct volume *last = c->volume;

	c->volume = trial->resting ? not_clear(c) :
	    &c->served->volumes[rng_below(&c->rng, trial_knob(trial, KNOB_VOLUMES))];
	if (c->volume == NULL)
		return;
	c->looked = c->looked && c->volume == last;
	if (trial->resting)
		choose_last(c);
	else
		choose(c);
	encode(c);
	if (!qpair_submit(&c->io, &c->command))
		return;
	c->busy = true;
	c->begun_ns = now(c);
	model_begin(&claims_of(c)->model, c->user->claimant, &c->what);
	claims_changed(claims_of(c), c->begun_ns);
}

/* ---- its controller ---- */

static void
fall(struct claimant *c)
{
	c->state = CLAIMANT_CLOSED;
	c->next_ns = now(c) + rng_below(&c->rng, AGAIN_NS);
	qpair_abort(&c->io);
	if (c->ctrlr != NULL)
		ctrlr_destroy(c->ctrlr);
	c->ctrlr = NULL;
}

static void
lost(struct ctrlr *ctrlr, int error, const char *why)
{
	(void)error;
	(void)why;
	fall(ctrlr_owner(ctrlr));
}

static void
down(struct qpair *qp, int error)
{
	(void)error;
	fall(qp->owner);
}

static void
up(struct qpair *qp)
{
	struct claimant *c = qp->owner;
	char name[80];

	qp->stream->ops->name(qp->stream, false, name, sizeof(name));
	c->port = (uint16_t)strtoul(strrchr(name, ':') + 1, NULL, 10);
	c->state = CLAIMANT_READY;
}

static void
ready(struct ctrlr *ctrlr)
{
	struct claimant *c = ctrlr_owner(ctrlr);
	const struct user *user = c->user;
	const struct ctrlr_facts *facts = ctrlr_facts(ctrlr);
	struct qpair_options options = {
		.host = c->served->address, .port = c->listener, .qid = 1, .cntlid = facts->cntlid,
		.hdgst = user->hdgst, .ddgst = user->ddgst, .sq_flow = user->sq_flow,
		.entries = facts->entries_max < ENTRIES ? facts->entries_max : ENTRIES,
		.incapsule_max = facts->incapsule_max, .subnqn = c->served->nqn, .hostnqn = user->nqn,
	};

	put_le64(options.hostid, user->index + 1);
	c->io = (struct qpair){ .up = up, .down = down, .owner = c, .state = QPAIR_DOWN };
	if (facts->queues < 1 ||
	    qpair_open(&c->io, sim_process_reactor(user->process, 0), c->gather, &options) != 0) {
		c->io.state = QPAIR_DOWN;
		fall(c);
	}
}

static void
open(struct claimant *c)
{
	const struct user *user = c->user;
	struct trial *trial = user->trial;
	struct ctrlr_options options = {
		.queues = 1, .hdgst = user->hdgst, .ddgst = user->ddgst, .sq_flow = user->sq_flow, .plain = true,
		.kato_ms = (uint32_t)trial_knob(trial, KNOB_KATO_MS), .connect_ms = trial_connect_ms(trial),
		.ready = ready, .lost = lost, .owner = c,
	};

	c->listener = (uint16_t)(TRIAL_PORT + rng_below(&c->rng, trial_knob(trial, KNOB_LISTENERS)));
	options.port = c->listener;
	memcpy(options.addr, c->served->address, sizeof(c->served->address));
	memcpy(options.subnqn, c->served->nqn, sizeof(c->served->nqn));
	memcpy(options.hostnqn, user->nqn, sizeof(user->nqn));
	put_le64(options.hostid, user->index + 1);
	c->next_ns = now(c) + AGAIN_NS;
	if (ctrlr_open(sim_process_reactor(user->process, 0), &options, &c->ctrlr) == 0)
		c->state = CLAIMANT_OPENING;
}

static void
closed(void *owner)
{
	struct claimant *c = owner;

	c->ctrlr = NULL;
	c->state = CLAIMANT_CLOSED;
	c->next_ns = now(c) + AGAIN_NS;
}

static void
close(struct claimant *c)
{
	c->state = CLAIMANT_CLOSING;
	qpair_close(&c->io);
	ctrlr_close(c->ctrlr, closed);
}

/* ---- what is looked at ---- */

/* What nobody will answer is not done any more. */
static void
look_adrift(struct claimant *c)
{
	if (!c->adrift || settle_is_left(c->served, c->user, c->adrift_port))
		return;
	c->adrift = false;
	model_forget(&claims_of(c)->model, c->user->claimant, false);
	claims_changed(claims_of(c), now(c));
}

void
claimant_look(struct claimant *c)
{
	look_adrift(c);
	if (now(c) < c->next_ns)
		return;
	if (c->state == CLAIMANT_CLOSED)
		open(c);
	else if (c->state == CLAIMANT_READY && !c->busy && !c->adrift)
		send(c);
}

bool
claimant_leaves(struct claimant *c, bool waits)
{
	if (c->state == CLAIMANT_CLOSED)
		return true;
	if (c->state != CLAIMANT_CLOSING && !(c->busy && waits))
		close(c);
	return false;
}

void
claimant_killed(struct claimant *c)
{
	if (c->busy)
		go_adrift(c);
	c->busy = false;
	c->ctrlr = NULL;
	c->io.state = QPAIR_DOWN;
	c->state = CLAIMANT_CLOSED;
	c->next_ns = 0;
}

bool
claimant_is_at_rest(const struct claimant *c, char why[160])
{
	const struct volume *volume = not_clear(c);
	const char *does = c->adrift ? "waits until a command that was lost can have no effect" :
	    c->busy ? "waits for an answer" : c->state == CLAIMANT_READY ? "is not answered what it asks for" :
	    "is not connected";

	if (!c->busy && !c->adrift && volume == NULL)
		return true;
	snprintf(why, 160, "host %u has not seen that nobody is registered with volume %u of target %u: it %s",
	    c->user->index, volume != NULL ? volume->index : c->volume->index, c->served->index, does);
	return false;
}

/* ---- making one ---- */

static void
make_claims(struct served *served)
{
	struct trial *trial = served->trial;

	for (unsigned i = 0; i < trial_knob(trial, KNOB_VOLUMES); i++) {
		struct volume *volume = &served->volumes[i];

		if (volume->claims != NULL)
			continue;
		volume->claims = arena_alloc_raw(&trial->arena, sizeof(*volume->claims));
		assert(volume->claims != NULL);
		claims_init(volume->claims, !volume->in_ram);
	}
}

struct claimant *
claimant_create(struct user *user, struct served *served)
{
	struct arena *arena = &user->trial->arena;
	struct claimant *c = arena_alloc(arena, sizeof(*c));

	assert(c != NULL);
	make_claims(served);
	c->user = user;
	c->served = served;
	c->command = (struct hio){ .owner = c, .done = done };
	c->io.state = QPAIR_DOWN;
	c->gather = arena_alloc(arena, sizeof(*c->gather));
	c->page = arena_alloc_aligned(arena, CLAIMANT_PAGE, TRIAL_BLOCK);
	assert(c->gather != NULL && c->page != NULL);
	rng_seed(&c->rng, rng_next(&user->rng));
	return c;
}
