/*
 * lane_path.c - the strands of a lane: which one an I/O goes by, connecting, breaking, and what grows old.
 *
 * A strand tells its subsystem what happens to it, and is told what becomes of
 * its association; it never decides that itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/internal.h"
#include "wire/log.h"

static const uint64_t AGAIN_NS = 10 * NS_PER_MS;

/* ---- choosing ---- */

const struct view_ns *
lane_ns(struct lane *lane, uint32_t nsid)
{
	const struct view *view = lane->view;

	if (lane->ns != NULL && lane->ns->nsid == nsid)
		return lane->ns;
	for (unsigned i = 0; i < view->count; i++)
		if (view->ns[i].nsid == nsid)
			return lane->ns = &view->ns[i];
	return NULL;
}

/* One entry of a queue is never used (Base 2.0, 3.3.1.2); and the target may have said that it wants no more. */
bool
strand_has_room(const struct strand *strand, const struct view_ns *ns, unsigned commands)
{
	return qpair_room(&strand->qp, commands + 1) &&
	    window_is_open(&strand->windows[ns->slot], strand->lane->reactor->now_ns);
}

/*
 * Optimized before Non-Optimized; of equals the first from the turn on, or the least busy one.  One that is full
 * is no reason to use a worse one: it has room again sooner than that answers.  One that takes less at once than this
 * is none for it: it has come since this was taken on.
 */
static struct strand *
choose(struct lane *lane, const struct view_ns *ns, unsigned commands, uint32_t bytes)
{
	uint8_t best_state = NVME_ANA_INACCESSIBLE;
	struct strand *best = NULL;

	for (unsigned i = 0; i < lane->paths; i++) {
		unsigned path = lane->turn + i < lane->paths ? lane->turn + i : lane->turn + i - lane->paths;
		struct strand *strand = &lane->strands[path];
		uint8_t state = ns->state[path];

		if (strand->state != STRAND_USABLE || strand->stale || state == 0 || state > best_state ||
		    bytes > strand->transfer_max)
			continue;
		if (state < best_state)
			best = NULL;
		best_state = state;
		if (strand_has_room(strand, ns, commands) && (best == NULL ||
		    (lane->policy == SUBSYS_QUEUE_DEPTH && strand->in_flight < best->in_flight)))
			best = strand;
	}
	if (best != NULL && ++lane->turn >= lane->paths)
		lane->turn = 0;
	return best;
}

struct strand *
lane_choose(struct lane *lane, const struct view_ns *ns, unsigned commands, uint32_t bytes)
{
	struct strand *only = &lane->strands[0];

	if (lane->paths != 1)
		return choose(lane, ns, commands, bytes);
	if (only->state != STRAND_USABLE || only->stale || ns->state[0] == 0 || bytes > only->transfer_max ||
	    !strand_has_room(only, ns, commands))
		return NULL;
	return only;
}

bool
lane_reaches(const struct lane *lane, const struct view_ns *ns, uint32_t bytes)
{
	for (unsigned i = 0; i < lane->paths; i++) {
		const struct strand *strand = &lane->strands[i];

		if (strand->state == STRAND_USABLE && !strand->stale && ns->state[i] != 0 &&
		    bytes <= strand->transfer_max)
			return true;
	}
	return false;
}

/* ---- a strand's life ---- */

static void
tell(struct strand *strand, enum host_mail_kind kind, int error)
{
	struct lane *lane = strand->lane;

	host_post(lane->reactor, 0, (struct mail){
		.kind = (uint16_t)kind, .arg = strand->serial,
		.words = { (uintptr_t)lane->subsys, (uintptr_t)lane, (uint64_t)(int64_t)error, (uintptr_t)strand->why },
	});
}

static void
stop_timers(struct strand *strand)
{
	timer_clear(&strand->lane->reactor->timers, &strand->limit);
	timer_clear(&strand->lane->reactor->timers, &strand->again);
}

static void
strand_up(struct qpair *qp)
{
	struct strand *strand = qp->owner;
	struct lane *lane = strand->lane;

	timer_clear(&lane->reactor->timers, &strand->limit);
	strand->state = STRAND_USABLE;
	lane_pump_soon(lane);
	lane_strand_settled(lane, 0, NULL);
}

/* A target may not know yet that the lane which had this queue id before has closed its connection; until it does it
 * refuses (NVMe over Fabrics 1.1, 3.3).  That is no reason to lose the association: it is asked again. */
static void
strand_broken(struct qpair *qp, int error)
{
	struct strand *strand = qp->owner;
	struct lane *lane = strand->lane;
	bool opening = strand->state == STRAND_OPENING;

	if (opening && nvme_sc(qp->connect_status) == NVME_SC_SEQUENCE) {
		timer_set(&lane->reactor->timers, &strand->again, lane->reactor->now_ns + AGAIN_NS);
		return;
	}
	timer_clear(&lane->reactor->timers, &strand->limit);
	strand->state = STRAND_BROKEN;
	if (qp->why != strand->why)
		snprintf(strand->why, sizeof(strand->why), "%s", qp->why);
	tell(strand, HOST_STRAND_DOWN, error);
	lane_pump_soon(lane);
	if (opening)
		lane_strand_settled(lane, error, strand->why);
}

static void
too_late(struct timer *timer)
{
	struct strand *strand = container_of(timer, struct strand, limit);

	if (strand->again.armed)
		strand_fail(strand, -ECONNREFUSED, strand->qp.why);
	else
		strand_fail(strand, -ETIMEDOUT, "the target did not answer in time: Connect of an I/O queue");
}

static void
dial(struct strand *strand)
{
	const struct strand_terms *terms = strand->terms;
	const struct subsys_options *of = terms->options;
	uint32_t entries = strand->lane->options.depth + 1;
	struct qpair_options options = {
		.host = terms->address.host, .port = terms->address.port,
		.hdgst = of->hdgst, .ddgst = of->ddgst, .sq_flow = of->sq_flow,
		.qid = strand->lane->qid, .cntlid = terms->cntlid, .incapsule_max = terms->incapsule_max,
		.entries = (uint16_t)(entries < terms->entries_max ? entries : terms->entries_max),
		.subnqn = of->subnqn, .hostnqn = of->hostnqn,
	};
	int rc;

	memcpy(options.hostid, of->hostid, sizeof(options.hostid));
	strand->qp.owner = strand;
	strand->qp.up = strand_up;
	strand->qp.down = strand_broken;
	rc = qpair_open(&strand->qp, strand->lane->reactor, strand->lane->gather, &options);
	if (rc != 0)
		strand_fail(strand, rc, strerror(-rc));
}

static void
dial_again(struct timer *timer)
{
	dial(container_of(timer, struct strand, again));
}

void
strand_open(struct lane *lane, unsigned path, const struct strand_terms *terms)
{
	struct strand *strand = &lane->strands[path];

	assert(strand->state == STRAND_NONE);
	strand->lane = lane;
	strand->terms = terms;
	strand->serial = terms->serial;
	strand->transfer_max = terms->transfer_max;
	strand->stale = false;
	strand->in_flight = 0;
	for (unsigned i = 0; i < SUBSYS_NAMESPACES_MAX; i++)
		window_init(&strand->windows[i], terms->credits);
	strand->why[0] = '\0';
	strand->state = STRAND_OPENING;
	list_init(&strand->sent);
	if (path >= lane->paths)
		lane->paths = path + 1;
	strand->limit.fire = too_late;
	strand->again.fire = dial_again;
	timer_set(&lane->reactor->timers, &strand->limit,
	    lane->reactor->now_ns + terms->connect_ms * NS_PER_MS);
	dial(strand);
}

void
strand_reset(struct strand *strand)
{
	stop_timers(strand);
	strand->state = STRAND_BROKEN; /* before what was in flight looks for another one */
	qpair_abort(&strand->qp);
}

void
strand_fail(struct strand *strand, int error, const char *why)
{
	bool opening = strand->state == STRAND_OPENING;

	snprintf(strand->why, sizeof(strand->why), "%s", why);
	strand_reset(strand);
	tell(strand, HOST_STRAND_DOWN, error);
	lane_pump_soon(strand->lane);
	if (opening)
		lane_strand_settled(strand->lane, error, strand->why);
}

/* ---- what the subsystem says ---- */

static struct strand *
find_strand(struct lane *lane, uint32_t serial)
{
	for (unsigned i = 0; i < lane->paths; i++)
		if (lane->strands[i].state != STRAND_NONE && lane->strands[i].serial == serial)
			return &lane->strands[i];
	return NULL;
}

static void
closed(struct lane *lane, uint32_t serial)
{
	host_post(lane->reactor, 0, (struct mail){
		.kind = HOST_STRAND_CLOSED, .arg = serial,
		.words = { (uintptr_t)lane->subsys, (uintptr_t)lane, lane_parked(lane, serial) },
	});
}

void
lane_close_strand(struct lane *lane, struct strand *strand)
{
	bool opening = strand->state == STRAND_OPENING;

	if (strand->state != STRAND_BROKEN && lane->leaving && strand->in_flight == 0) {
		stop_timers(strand);
		qpair_close(&strand->qp);
	} else if (strand->state != STRAND_BROKEN) {
		strand_reset(strand);
	}
	strand->state = STRAND_NONE;
	closed(lane, strand->serial);
	if (opening)
		lane_strand_settled(lane, -ENOTCONN, "the path was lost while it was being connected");
}

static void
take_view(struct lane *lane, const struct view *view)
{
	const struct view *old = lane->leaving ? view : lane->view;

	if (!lane->leaving) {
		lane->view = view;
		lane->ns = NULL;
		for (unsigned i = 0; i < lane->paths; i++) {
			lane->strands[i].stale = false;
			if (lane->strands[i].state == STRAND_USABLE)
				qpair_hold(&lane->strands[i].qp, view->held);
		}
		lane_pump_soon(lane);
	}
	host_post(lane->reactor, 0, (struct mail){
		.kind = HOST_VIEW_BACK, .words = { (uintptr_t)lane->subsys, (uintptr_t)lane, (uintptr_t)old },
	});
}

void
lane_on_mail(struct lane *lane, const struct mail *mail)
{
	struct strand *strand;

	switch ((enum host_mail_kind)mail->kind) {
	case HOST_LANE_JOINED:
		lane_joined(lane, (uint16_t)mail->arg, (const struct view *)(uintptr_t)mail->words[1],
		    (unsigned)mail->words[2]);
		break;
	case HOST_LANE_LEFT:
		lane_left(lane);
		break;
	case HOST_VIEW:
		take_view(lane, (const struct view *)(uintptr_t)mail->words[1]);
		break;
	case HOST_STRAND_OPEN: {
		const struct strand_terms *terms = (const void *)(uintptr_t)mail->words[1];

		if (lane->leaving)
			closed(lane, terms->serial);
		else
			strand_open(lane, mail->arg, terms);
		break;
	}
	case HOST_STRAND_CLOSE:
		strand = find_strand(lane, mail->arg);
		if (strand != NULL) /* else it was closed since, and that was said */
			lane_close_strand(lane, strand);
		break;
	case HOST_ASSOC_OVER:
		lane_assoc_over(lane, mail->arg);
		break;
	case HOST_GIVE_UP:
		lane_give_up(lane, mail->arg);
		break;
	case HOST_LANE_ANSWERED: {
		struct bound_ask *ask = (struct bound_ask *)(uintptr_t)mail->words[1];

		ask->done(ask);
		break;
	}
	case HOST_LANE_JOIN: case HOST_LANE_LEAVE: case HOST_VIEW_BACK: case HOST_STRAND_DOWN:
	case HOST_STRAND_CLOSED: case HOST_STRAND_ABORT: case HOST_PATH_STALE: case HOST_CACHE_LOST:
	case HOST_LANE_ASKS:
		abort(); /* mail of a lane, to one */
		break;
	}
}
