/*
 * lane_flight.c - one I/O on its way: sent, answered, lost, sent again, given up.
 *
 * The rules are those of doc/failover.md; an I/O is in exactly one place.  What
 * grows old is counted in ticks of the lane's own turns, so that a thread that
 * does not poll blames nobody.
 */
#include <errno.h>

#include "host/internal.h"

enum { TICKS = 8 };

static const uint64_t REST_NS = 20 * NS_PER_MS;

/* ---- from place to place ---- */

static void
move(struct flight *flight, struct list *to, enum flight_state state)
{
	list_remove(&flight->node);
	list_push(to, &flight->node);
	flight->state = (uint8_t)state;
	flight->tick = flight->lane->tick;
}

void
flight_wait(struct flight *flight)
{
	struct lane *lane = flight->lane;

	list_remove(&flight->node);
	if (list_empty(&lane->waiting))
		lane->waiting_for = flight->nsid;
	else if (lane->waiting_for != flight->nsid)
		lane->waiting_for = 0;
	move(flight, &flight->lane->waiting, FLIGHT_WAITING);
}

/* The target has asked for a pause, in one way or another. */
static void
flight_rest(struct flight *flight)
{
	struct lane *lane = flight->lane;

	move(flight, &lane->resting, FLIGHT_RESTING);
	if (!lane->rest.armed)
		timer_set(&lane->reactor->timers, &lane->rest, lane->reactor->now_ns + REST_NS);
}

static void
rested(struct timer *timer)
{
	struct lane *lane = container_of(timer, struct lane, rest);
	struct list *node;

	while ((node = lane->resting.next) != &lane->resting)
		flight_wait(container_of(node, struct flight, node));
	lane_pump_soon(lane);
}

static void
give_one(struct flight *flight)
{
	struct lane *lane = flight->lane;

	flight->state = FLIGHT_FREE;
	flight->mate = lane->free;
	lane->free = flight;
}

void
flight_give(struct flight *flight)
{
	struct lane *lane = flight->lane;

	if (flight->page != NULL)
		lane->free_pages[lane->page_free++] = flight->page;
	flight->page = NULL;
	if (flight->mate != NULL)
		give_one(flight->mate);
	give_one(flight);
}

void
flight_finish(struct flight *flight, int error, struct nvme_status status)
{
	struct lane *lane = flight->lane;
	const struct hreq *req = &flight->hio.req;
	struct lane_result result = { .error = error, .status = status };

	if (error == 0 || !nvme_ok(status))
		result.path = (uint16_t)(flight->strand - lane->strands);
	if (error == 0) {
		result.dw0 = req->dw0;
		result.dw1 = req->dw1;
	}
	list_remove(&flight->node);
	flight_give(flight);
	lane->in_flight--;
	lane->done_count++;
	flight->done(flight->arg, &result);
}

/* ---- what came of it ---- */

/* So long after the first time?  *since: the tick after that, 0: it has not come. */
static bool
is_too_long(const struct lane *lane, uint32_t *since)
{
	if (*since == 0)
		*since = lane->tick + 1;
	return lane->tick + 1 - *since >= lane->loss_ticks;
}

/* Perhaps it is itself what each connection dies of. */
void
flight_again(struct flight *flight)
{
	if (is_too_long(flight->lane, &flight->lost))
		flight_finish(flight, -ETIMEDOUT, NVME_OK);
	else
		flight_wait(flight);
}

static void
lost(struct flight *flight)
{
	struct lane *lane = flight->lane;

	if (flight->lost == 0)
		flight->lost = lane->tick + 1;
	if (lane->leaving)
		flight_finish(flight, -ESHUTDOWN, NVME_OK);
	else if (flight->bound)
		flight_finish(flight, -ECONNRESET, NVME_OK);
	else if (lane_op_changes(flight->op))
		move(flight, &lane->parked, FLIGHT_PARKED);
	else
		flight_again(flight);
}

static void
tell_stale(struct strand *strand)
{
	struct lane *lane = strand->lane;

	if (strand->stale)
		return;
	strand->stale = true;
	host_post(lane->reactor, 0, (struct mail){
		.kind = HOST_PATH_STALE, .arg = strand->serial,
		.words = { (uintptr_t)lane->subsys, (uintptr_t)lane },
	});
}

/* Refused for a reason that passes, and so often already? */
static bool
passes(const struct flight *flight, struct nvme_status status)
{
	if (status.dnr || flight->tries >= LANE_TRIES_MAX)
		return false;
	switch (nvme_sc(status)) {
	case NVME_SC_INTERRUPTED:
	case NVME_SC_TRANSIENT_TRANSPORT:
	case NVME_SC_NS_NOT_READY:
	case NVME_SC_SQ_DELETED:
		return true;
	default:
		return status.sct == NVME_SCT_PATH;
	}
}

static bool
is_ana(struct nvme_status status)
{
	enum nvme_sc sc = nvme_sc(status);

	return sc == NVME_SC_ANA_INACCESSIBLE || sc == NVME_SC_ANA_TRANSITION || sc == NVME_SC_ANA_PERSISTENT_LOSS;
}

static void
refused(struct flight *flight, struct strand *strand, struct nvme_status status)
{
	int error = nvme_status_errno(status);

	if (flight->lane->leaving) {
		flight_finish(flight, error, status);
	} else if (flight->bound) {
		if (is_ana(status))
			tell_stale(strand);
		flight_finish(flight, error, status);
	} else if (is_ana(status) && is_too_long(flight->lane, &flight->refused)) {
		/* By a target that says of a path's state what is not so. */
		flight_finish(flight, -ETIMEDOUT, status);
	} else if (is_ana(status)) {
		tell_stale(strand);
		flight_wait(flight);
		lane_pump_soon(flight->lane);
	} else if (passes(flight, status)) {
		flight->tries++;
		flight_rest(flight);
	} else {
		if (flight->aborting && nvme_sc(status) == NVME_SC_ABORT_REQUESTED)
			error = -ETIMEDOUT;
		flight_finish(flight, error, status);
	}
}

/* ---- what a cache may hold of it ---- */

static struct cache_life *
life_of(const struct flight *flight, const struct view_ns *ns)
{
	return ns->life[flight->strand - flight->lane->strands];
}

static void
wrote(const struct flight *flight, const struct nvme_sqe *sqe)
{
	const struct view_ns *ns = lane_ns(flight->lane, flight->nsid);

	if (!(le32_get(sqe->cdw12) & NVME_RW_FUA))
		cache_wrote(ns->cache, life_of(flight, ns));
}

/* Whether what was written before is durable. */
static bool
flushed(const struct flight *flight)
{
	struct lane *lane = flight->lane;
	const struct view_ns *ns = lane_ns(lane, flight->nsid);

	if (cache_flushed(ns->cache, life_of(flight, ns), flight->moment, flight->told))
		return true;
	if (lane->cache_told[ns->slot] < flight->moment)
		lane->cache_told[ns->slot] = flight->moment;
	host_post(lane->reactor, 0, (struct mail){
		.kind = HOST_CACHE_LOST, .arg = ns->nsid, .words = { (uintptr_t)lane->subsys, (uintptr_t)lane },
	});
	return false;
}

/* ---- answered ---- */

/* It failed because the other half did, which says why. */
static bool
blames_the_other(const struct hio *half)
{
	enum nvme_sc sc = nvme_sc(half->req.status);

	return !half->lost && (sc == NVME_SC_FUSED_FAILED || sc == NVME_SC_FUSED_MISSING);
}

static bool
failed(const struct hio *half)
{
	return !half->lost && !nvme_ok(half->req.status);
}

/* Both halves of a Compare and Write have an end: it is the Compare's, where that failed by itself. */
static void
both_done(struct flight *flight, struct strand *strand)
{
	const struct hio *compare = &flight->hio, *write = &flight->mate->hio;

	if (failed(compare) && !(blames_the_other(compare) && (write->lost || failed(write)))) {
		refused(flight, strand, compare->req.status);
	} else if (compare->lost || write->lost) {
		lost(flight);
	} else if (failed(write)) {
		refused(flight, strand, write->req.status);
	} else {
		wrote(flight, &write->req.sqe);
		flight_finish(flight, 0, NVME_OK);
	}
}

/* No more of it is under way, and its target may have said how much there may be. */
static inline void
landed(struct flight *flight, const struct hio *hio)
{
	struct window *window = flight->window;

	window->in_flight--;
	if ((hio->req.dw1 != 0 || window->asked) && flight->strand->terms->credits && !hio->lost)
		window_told(window, nvme_ok(hio->req.status) ? hio->req.dw1 : 0, flight->lane->reactor->now_ns);
}

/* There is room now. */
static inline void
next(struct lane *lane)
{
	if (!list_empty(&lane->waiting))
		lane_pump_soon(lane);
}

void
flight_answered(struct hio *hio)
{
	struct flight *flight = container_of(hio, struct flight, hio);
	struct strand *strand;

	if (flight->state == FLIGHT_MATE)
		flight = flight->mate;
	strand = flight->strand;
	strand->in_flight--;
	if (flight->mate == NULL || flight->answers == 1)
		landed(flight, hio);
	if (flight->mate == NULL) {
		if (hio->lost)
			lost(flight);
		else if (nvme_ok(hio->req.status))
			flight_finish(flight, 0, NVME_OK);
		else
			refused(flight, strand, hio->req.status);
	} else if (++flight->answers == 2) {
		both_done(flight, strand);
	}
	next(strand->lane);
}

void
flight_written(struct hio *hio)
{
	if (!hio->lost && nvme_ok(hio->req.status))
		wrote(container_of(hio, struct flight, hio), &hio->req.sqe);
	flight_answered(hio);
}

void
flight_flushed(struct hio *hio)
{
	struct flight *flight = container_of(hio, struct flight, hio);
	struct lane *lane = flight->lane;

	if (hio->lost || !nvme_ok(hio->req.status) || flushed(flight)) {
		flight_answered(hio);
		return;
	}
	flight->strand->in_flight--;
	landed(flight, hio);
	flight_finish(flight, -EIO, NVME_OK);
	next(lane);
}

void
flight_send(struct flight *flight, struct strand *strand)
{
	const struct view_ns *ns = lane_ns(flight->lane, flight->nsid);
	struct nvme_sqe *sqe = &flight->hio.req.sqe;
	bool room;

	if (flight->serial != 0)
		flight->lane->resent++;
	move(flight, &strand->sent, FLIGHT_SENT);
	flight->strand = strand;
	flight->serial = strand->serial;
	flight->aborting = false;
	strand->in_flight++;
	flight->window = &strand->windows[ns->slot];
	flight->window->in_flight++;
	sqe->flags &= (uint8_t)~WEIR_PRIORITY_MASK;
	if (strand->terms->credits)
		sqe->flags |= (uint8_t)(flight->priority << WEIR_PRIORITY_SHIFT);
	room = qpair_submit(&strand->qp, &flight->hio);
	if (room && flight->mate != NULL) {
		flight->answers = 0;
		strand->in_flight++;
		/* Behind one another on the wire, as fused commands must be. */
		room = qpair_submit(&strand->qp, &flight->mate->hio);
	}
	assert(room); /* lane_choose() has seen to it */
}

/* ---- what grows old ---- */

static void
abort_one(struct flight *flight)
{
	struct lane *lane = flight->lane;

	flight->aborting = true;
	host_post(lane->reactor, 0, (struct mail){
		.kind = HOST_STRAND_ABORT, .arg = flight->serial,
		.words = { (uintptr_t)lane->subsys, (uintptr_t)lane,
			lane->qid | (uint64_t)flight->hio.req.cid << 16 },
	});
}

/* The oldest first.  What is not answered half the time after its Abort has lost its connection. */
static void
age_sent(struct strand *strand)
{
	struct lane *lane = strand->lane;

	list_for_each(&strand->sent, node) {
		struct flight *flight = container_of(node, struct flight, node);
		uint32_t age = lane->tick - flight->tick;

		if (age < lane->io_ticks)
			return;
		if (!flight->aborting)
			abort_one(flight);
		else if (age >= lane->io_ticks + lane->io_ticks / 2) {
			strand_fail(strand, -ETIMEDOUT, "an I/O was not answered, nor was it aborted");
			return;
		}
	}
}

/* Who waits for room alone has a path, and does not grow old. */
static bool
is_reached(struct lane *lane, const struct flight *flight)
{
	const struct view_ns *ns = lane->view != NULL ? lane_ns(lane, flight->nsid) : NULL;
	const struct hreq *req = &flight->hio.req;

	return ns != NULL && lane_reaches(lane, ns, req->data != HREQ_NONE ? req->length : 0);
}

/* What is parked grows old with its association (ghost.c). */
static void
age_waiting(struct lane *lane)
{
	list_for_each(&lane->waiting, node) {
		struct flight *flight = container_of(node, struct flight, node);

		if (is_reached(lane, flight))
			flight->tick = lane->tick;
		else if (lane->tick - flight->tick >= lane->loss_ticks)
			flight_finish(flight, -ETIMEDOUT, NVME_OK);
	}
}

static void
tick(struct timer *timer)
{
	struct lane *lane = container_of(timer, struct lane, ticker);

	lane->tick++;
	for (unsigned i = 0; i < lane->paths; i++)
		if (lane->strands[i].state == STRAND_USABLE)
			age_sent(&lane->strands[i]);
	age_waiting(lane);
	lane_tick_start(lane);
}

void
lane_tick_start(struct lane *lane)
{
	if (!lane->ticker.armed && lane->in_flight > 0)
		timer_set(&lane->reactor->timers, &lane->ticker, lane->reactor->now_ns + lane->tick_ns);
}

void
lane_ticks_init(struct lane *lane, const struct subsys_options *options)
{
	uint32_t least = options->io_timeout_ms < options->loss_ms ? options->io_timeout_ms : options->loss_ms;
	uint32_t tick_ms = least / TICKS > 0 ? least / TICKS : 1;

	lane->tick_ns = tick_ms * NS_PER_MS;
	/* One more than it takes: the tick at hand had begun. */
	lane->io_ticks = options->io_timeout_ms / tick_ms + 1;
	lane->loss_ticks = options->loss_ms == UINT32_MAX ? UINT32_MAX : options->loss_ms / tick_ms + 1;
	lane->ticker.fire = tick;
	lane->rest.fire = rested;
}
