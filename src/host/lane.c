/*
 * The lane's own life, and the I/O it takes on: who may go now, who waits.
 */
#include "host/lane.h"

#include <errno.h>
#include <string.h>

#include "host/internal.h"

/* ---- taking on ---- */

struct flight *
flight_take(struct lane *lane)
{
	struct flight *flight = lane->free;

	if (flight != NULL) {
		lane->free = flight->mate;
		flight->mate = NULL;
	}
	return flight;
}

/* What only few I/Os need; 0 or -EAGAIN. */
static int
take_more(struct lane *lane, struct flight *flight, enum lane_op op)
{
	if (op == LANE_DEALLOCATE || op == LANE_COPY || op == LANE_COMPARE_AND_WRITE)
		flight->page = lane->free_pages[--lane->page_free]; /* there are as many as flights */
	if (op == LANE_COMPARE_AND_WRITE) {
		flight->mate = flight_take(lane);
		if (flight->mate == NULL)
			return -EAGAIN;
		flight->mate->mate = flight;
		flight->mate->state = FLIGHT_MATE;
	}
	return 0;
}

static int
make(struct lane *lane, const struct lane_io *io, const struct view_ns *ns, struct flight *flight)
{
	int rc = 0;

	if (io->op > LANE_WRITE)
		rc = take_more(lane, flight, io->op);
	if (rc == 0)
		rc = flight_build(flight, io, ns);
	if (rc != 0) {
		flight_give(flight);
		return rc;
	}
	flight->op = io->op;
	flight->nsid = io->nsid;
	flight->priority = io->flags >> LANE_PRIORITY_SHIFT & 3;
	flight->serial = 0;
	flight->tries = 0;
	flight->refused = 0;
	flight->lost = 0;
	flight->bound = false;
	flight->done = io->done;
	flight->arg = io->arg;
	return 0;
}

static uint32_t
bytes_of(const struct flight *flight)
{
	const struct hreq *req = &flight->hio.req;

	return req->data != HREQ_NONE ? req->length : 0;
}

static struct strand *
choose(struct lane *lane, const struct view_ns *ns, const struct flight *flight, unsigned commands)
{
	return lane_choose(lane, ns, commands, bytes_of(flight));
}

int
lane_submit(struct lane *lane, const struct lane_io *io)
{
	struct strand *strand = NULL;
	const struct view_ns *ns;
	struct flight *flight;
	int rc;

	if (!lane->told || lane->leaving || io->op >= LANE_OPS)
		return -EINVAL;
	ns = lane_ns(lane, io->nsid);
	if (ns == NULL)
		return -EINVAL;
	flight = flight_take(lane);
	if (flight == NULL)
		return -EAGAIN;
	rc = make(lane, io, ns, flight);
	if (rc != 0)
		return rc;
	lane->in_flight++;
	lane_tick_start(lane);
	/* Behind those that wait. */
	if (list_empty(&lane->waiting))
		strand = choose(lane, ns, flight, flight->mate != NULL ? 2 : 1);
	if (strand != NULL) {
		flight_send(flight, strand);
	} else {
		flight_wait(flight);
		lane_pump_soon(lane);
	}
	return 0;
}

/* ---- those that wait ---- */

/* Each in its turn; those of a namespace that cannot be reached let others pass.  A Compare and Write that there is
 * half the room for does not: those behind it would take that again and again. */
static void
pump(struct task *task)
{
	struct lane *lane = container_of(task, struct lane, pump);

	list_for_each(&lane->waiting, node) {
		struct flight *flight = container_of(node, struct flight, node);
		const struct view_ns *ns = lane_ns(lane, flight->nsid);
		struct strand *strand;

		if (ns == NULL || ns->gone) {
			flight_finish(flight, -ENODEV, NVME_OK);
			continue;
		}
		strand = choose(lane, ns, flight, flight->mate != NULL ? 2 : 1);
		if (strand != NULL)
			flight_send(flight, strand);
		else if (lane->view->hopeless)
			flight_finish(flight, -ETIMEDOUT, NVME_OK);
		else if (lane->waiting_for != 0 && lane_reaches(lane, ns, bytes_of(flight)))
			return; /* it is full for all of them */
		else if (flight->mate != NULL && choose(lane, ns, flight, 1) != NULL)
			return;
	}
}

void
lane_pump_soon(struct lane *lane)
{
	if (lane->view == NULL || lane->leaving)
		return;
	reactor_run_in(lane->reactor, PHASE_SUBMIT, &lane->pump);
	if (lane->watch != NULL)
		reactor_run_in(lane->reactor, PHASE_SUBMIT, lane->watch);
}

uint32_t
lane_parked(const struct lane *lane, uint32_t serial)
{
	uint32_t count = 0;

	list_for_each(&lane->parked, node)
		count += container_of(node, struct flight, node)->serial == serial;
	return count;
}

void
lane_assoc_over(struct lane *lane, uint32_t serial)
{
	list_for_each(&lane->parked, node) {
		struct flight *flight = container_of(node, struct flight, node);

		if (flight->serial != serial)
			continue;
		if (flight->op == LANE_COMPARE_AND_WRITE)
			flight_finish(flight, -ESTALE, NVME_OK);
		else
			flight_again(flight);
	}
	lane_pump_soon(lane);
}

void
lane_give_up(struct lane *lane, uint32_t serial)
{
	list_for_each(&lane->parked, node) {
		struct flight *flight = container_of(node, struct flight, node);

		if (flight->serial == serial)
			flight_finish(flight, -ETIMEDOUT, NVME_OK);
	}
}

/* ---- coming ---- */

static void
told(struct lane *lane, int error, const char *why)
{
	lane->told = true;
	if (!lane->leaving)
		lane->options.ready(lane, error, why);
}

static bool
any_usable(const struct lane *lane)
{
	for (unsigned i = 0; i < lane->paths; i++)
		if (lane->strands[i].state == STRAND_USABLE)
			return true;
	return false;
}

void
lane_strand_settled(struct lane *lane, int error, const char *why)
{
	if (lane->told || lane->opening == 0 || --lane->opening > 0)
		return;
	if (any_usable(lane))
		told(lane, 0, NULL);
	else
		told(lane, error, why);
}

void
lane_joined(struct lane *lane, uint16_t qid, const struct view *view, unsigned strands)
{
	lane->joined = true;
	lane->qid = qid;
	lane->view = view;
	lane->opening = strands;
	for (unsigned i = 0; i < view->count; i++)
		lane->cache_told[view->ns[i].slot] = cache_told(view->ns[i].cache);
	if (lane->leaving)
		reactor_run_in(lane->reactor, PHASE_SUBMIT, &lane->pump); /* leave_soon(), once */
	else if (qid == 0)
		told(lane, -EUSERS, "the controllers of the subsystem grant no more I/O queues");
	else if (strands == 0)
		told(lane, 0, NULL);
}

/* ---- going ---- */

static void
end_all(struct list *list)
{
	struct list *node;

	while ((node = list->next) != list)
		flight_finish(container_of(node, struct flight, node), -ESHUTDOWN, NVME_OK);
}

static void
leave(struct lane *lane)
{
	for (unsigned i = 0; i < lane->paths; i++)
		if (lane->strands[i].state != STRAND_NONE)
			lane_close_strand(lane, &lane->strands[i]);
	end_all(&lane->waiting);
	end_all(&lane->resting);
	end_all(&lane->parked);
	host_post(lane->reactor, 0, (struct mail){
		.kind = HOST_LANE_LEAVE,
		.words = { (uintptr_t)lane->subsys, (uintptr_t)lane, (uintptr_t)lane->view },
	});
}

static void
leave_soon(struct task *task)
{
	struct lane *lane = container_of(task, struct lane, pump);

	if (lane->joined)
		leave(lane);
}

void
lane_close(struct lane *lane, void (*closed)(void *owner))
{
	assert(!lane->leaving);
	lane->leaving = true;
	lane->closed = closed;
	task_cancel(&lane->pump);
	timer_clear(&lane->reactor->timers, &lane->ticker);
	timer_clear(&lane->reactor->timers, &lane->rest);
	task_init(&lane->pump, leave_soon);
	reactor_run_in(lane->reactor, PHASE_SUBMIT, &lane->pump);
}

static void
lane_free(struct lane *lane)
{
	struct arena *arena = lane->reactor->arena;

	task_cancel(&lane->pump);
	timer_clear(&lane->reactor->timers, &lane->ticker);
	timer_clear(&lane->reactor->timers, &lane->rest);
	arena_free(arena, lane->flights);
	arena_free(arena, lane->pages);
	arena_free(arena, lane->free_pages);
	arena_free(arena, lane->gather);
	arena_free(arena, lane);
}

void
lane_left(struct lane *lane)
{
	void (*closed)(void *) = lane->closed;
	void *owner = lane->options.owner;

	lane_free(lane);
	closed(owner);
}

/* ---- making one ---- */

static int
make_flights(struct lane *lane)
{
	struct arena *arena = lane->reactor->arena;
	uint32_t depth = lane->options.depth;

	lane->flights = arena_alloc(arena, depth * sizeof(*lane->flights));
	lane->pages = arena_alloc_raw(arena, (size_t)depth * LANE_PAGE); /* of those not used nothing is touched */
	lane->free_pages = arena_alloc(arena, depth * sizeof(*lane->free_pages));
	lane->gather = arena_alloc(arena, sizeof(*lane->gather));
	if (lane->flights == NULL || lane->pages == NULL || lane->free_pages == NULL || lane->gather == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < depth; i++) {
		lane->flights[i].lane = lane;
		list_init(&lane->flights[i].node);
		flight_give(&lane->flights[i]);
	}
	for (uint32_t i = 0; i < depth; i++)
		lane->free_pages[lane->page_free++] = lane->pages + (size_t)i * LANE_PAGE;
	return 0;
}

int
lane_open(struct reactor *reactor, struct subsys *subsys, const struct lane_options *options, struct lane **out)
{
	struct lane *lane = arena_alloc(reactor->arena, sizeof(*lane));
	int rc;

	assert(options->depth >= 1 && options->depth <= LANE_DEPTH_MAX);
	if (lane == NULL)
		return -ENOMEM;
	lane->reactor = reactor;
	lane->subsys = subsys;
	lane->options = *options;
	list_init(&lane->waiting);
	list_init(&lane->resting);
	list_init(&lane->parked);
	task_init(&lane->pump, pump);
	lane_ticks_init(lane, subsys_options(subsys));
	lane->policy = (uint8_t)subsys_options(subsys)->policy;
	rc = make_flights(lane);
	if (rc != 0) {
		lane_free(lane);
		return rc;
	}
	host_post(reactor, 0, (struct mail){
		.kind = HOST_LANE_JOIN, .words = { (uintptr_t)subsys, (uintptr_t)lane },
	});
	*out = lane;
	return 0;
}

/* ---- questions ---- */

uint32_t
lane_transfer_max(struct lane *lane, uint32_t nsid)
{
	const struct view_ns *ns = lane_ns(lane, nsid);

	return ns != NULL ? ns->transfer_max : 0;
}

void *lane_owner(const struct lane *lane) { return lane->options.owner; }

uint32_t lane_in_flight(const struct lane *lane) { return lane->in_flight; }

uint64_t lane_done(const struct lane *lane) { return lane->done_count; }

uint64_t lane_resent(const struct lane *lane) { return lane->resent; }
