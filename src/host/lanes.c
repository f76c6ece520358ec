/*
 * lanes.c - what a subsystem tells its lanes, and hears of them.
 *
 * It keeps a token of each lane and never looks inside.  What it lends them,
 * views and the terms of strands, it keeps until they have given it back.
 */
#include <errno.h>
#include <stdlib.h>

#include "host/internal.h"

static const uint64_t PUBLISH_AGAIN_NS = 100 * NS_PER_MS;

/* ---- saying ---- */

static void
post(struct subsys *subsys, const struct subsys_lane *lane, enum host_mail_kind kind, uint32_t arg, uint64_t word,
    uint64_t more)
{
	host_post(subsys->reactor, lane->reactor, (struct mail){
		.kind = (uint16_t)kind, .arg = arg, .words = { (uintptr_t)lane->lane, word, more },
	});
}

static bool
may_open(const struct subsys_lane *lane, const struct assoc *assoc)
{
	return lane->qid != 0 && lane->qid <= ctrlr_facts(assoc->ctrlr)->queues;
}

static void
open_one(struct subsys_lane *lane, struct assoc *assoc)
{
	assoc->strands++;
	post(assoc->subsys, lane, HOST_STRAND_OPEN, assoc->path->index, (uintptr_t)&assoc->terms, 0);
}

static void
open_all(struct assoc *assoc)
{
	assoc->opened = true;
	list_for_each(&assoc->subsys->lanes, node) {
		struct subsys_lane *lane = container_of(node, struct subsys_lane, node);

		if (may_open(lane, assoc))
			open_one(lane, assoc);
	}
}

static void
say_all(struct assoc *assoc, enum host_mail_kind kind)
{
	list_for_each(&assoc->subsys->lanes, node)
		post(assoc->subsys, container_of(node, struct subsys_lane, node), kind, assoc->terms.serial, 0, 0);
}

void
lanes_close(struct assoc *assoc)
{
	say_all(assoc, HOST_STRAND_CLOSE);
}

void
lanes_over(struct assoc *assoc)
{
	say_all(assoc, HOST_ASSOC_OVER);
}

void
lanes_give_up(struct assoc *assoc)
{
	say_all(assoc, HOST_GIVE_UP);
}

/* ---- views ---- */

static void
view_drop(struct subsys *subsys, struct view *view)
{
	if (--view->holders == 0) {
		subsys->views--;
		subsys->sending -= !view->held;
		arena_free(subsys->reactor->arena, view);
	}
	subsys_free_soon(subsys);
}

/* What the smallest live path takes; without one, what it was. */
static void
note_transfer_max(struct subsys *subsys)
{
	uint32_t bytes = UINT32_MAX;

	for (unsigned i = 0; i < subsys->path_count; i++) {
		const struct assoc *assoc = subsys->paths[i].assoc;

		if (assoc != NULL && assoc->state == ASSOC_LIVE && ctrlr_facts(assoc->ctrlr)->transfer_max < bytes)
			bytes = ctrlr_facts(assoc->ctrlr)->transfer_max;
	}
	if (bytes != UINT32_MAX)
		subsys->transfer_max = bytes;
}

static void
see(struct subsys *subsys, unsigned slot, bool held, struct view_ns *seen)
{
	const struct subsys_ns *ns = subsys->ns[slot];
	unsigned asked = 0, missing = 0;

	*seen = (struct view_ns){
		.nsid = ns->nsid, .block_size = ns->block_size,
		.transfer_max = subsys->transfer_max,
		.compare_write_blocks = ns->compare_write_blocks,
		.slot = slot, .cache = &subsys->caches[slot],
	};
	for (unsigned i = 0; i < subsys->path_count; i++) {
		const struct assoc *assoc = subsys->paths[i].assoc;
		enum nvme_ana_state state = 0;

		if (assoc == NULL || assoc->state != ASSOC_LIVE)
			continue;
		asked++;
		missing += assoc->ns[slot].seen && !assoc->ns[slot].usable && !assoc->ns[slot].wanted;
		seen->life[i] = assoc->ns[slot].life;
		state = assoc_ana(assoc, slot);
		if (!held && (state == NVME_ANA_OPTIMIZED || state == NVME_ANA_NON_OPTIMIZED))
			seen->state[i] = (uint8_t)state;
	}
	seen->gone = asked > 0 && missing == asked;
}

static void
publish_again(struct timer *timer)
{
	lanes_publish(container_of(timer, struct subsys, publish_again));
}

/* No lane goes by a path before it has the view that knows of it: an older one may say of that path what was true of
 * the association before, of which the namespaces were perhaps others. */
static void
open_new(struct subsys *subsys)
{
	list_for_each(&subsys->assocs, node) {
		struct assoc *assoc = container_of(node, struct assoc, node);

		if (assoc->state == ASSOC_LIVE && !assoc->opened)
			open_all(assoc);
	}
}

void
lanes_publish(struct subsys *subsys)
{
	struct view *view = arena_alloc(subsys->reactor->arena, sizeof(*view)), *old = subsys->view;

	if (view == NULL) {
		subsys->publish_again.fire = publish_again;
		timer_set(&subsys->reactor->timers, &subsys->publish_again,
		    subsys->reactor->now_ns + PUBLISH_AGAIN_NS);
		return;
	}
	note_transfer_max(subsys);
	subsys->views++;
	view->holders = 1;
	view->hopeless = subsys->hopeless;
	view->held = ghosts_hold(subsys);
	subsys->sending += !view->held;
	for (unsigned slot = 0; slot < SUBSYS_NAMESPACES_MAX; slot++)
		if (subsys->ns[slot] != NULL && subsys->ns[slot]->block_size > 0)
			see(subsys, slot, view->held, &view->ns[view->count++]);
	subsys->view = view;
	list_for_each(&subsys->lanes, node) {
		view->holders++;
		post(subsys, container_of(node, struct subsys_lane, node), HOST_VIEW, 0, (uintptr_t)view, 0);
	}
	open_new(subsys);
	if (old != NULL)
		view_drop(subsys, old);
}

/* ---- hearing ---- */

static uint16_t
free_qid(const struct subsys *subsys)
{
	for (uint16_t qid = 1; qid <= subsys->options.queues; qid++)
		if (!subsys->qids[qid])
			return qid;
	return 0;
}

static bool
is_open(const struct path *path)
{
	return path->state == PATH_LIVE && path->assoc->opened;
}

static bool
is_open_to(const struct path *path, const struct subsys_lane *lane)
{
	return is_open(path) && may_open(lane, path->assoc);
}

static void
join(struct subsys *subsys, struct lane *token, unsigned reactor)
{
	struct subsys_lane *lane = arena_alloc(subsys->reactor->arena, sizeof(*lane));
	struct subsys_lane refused = { .lane = token, .reactor = reactor };
	unsigned open = 0, strands = 0;

	if (lane == NULL) {
		/* It gives its view back when it leaves, as others do. */
		subsys->view->holders++;
		post(subsys, &refused, HOST_LANE_JOINED, 0, (uintptr_t)subsys->view, 0);
		return;
	}
	*lane = refused;
	list_push(&subsys->lanes, &lane->node);
	lane->qid = free_qid(subsys);
	for (unsigned i = 0; i < subsys->path_count; i++) {
		open += is_open(&subsys->paths[i]);
		strands += is_open_to(&subsys->paths[i], lane);
	}
	if (strands == 0 && open > 0)
		lane->qid = 0;
	subsys->qids[lane->qid] = true;
	subsys->view->holders++;
	post(subsys, lane, HOST_LANE_JOINED, lane->qid, (uintptr_t)subsys->view, strands);
	for (unsigned i = 0; lane->qid != 0 && i < subsys->path_count; i++)
		if (is_open_to(&subsys->paths[i], lane))
			open_one(lane, subsys->paths[i].assoc);
}

static void
leave(struct subsys *subsys, struct lane *token, unsigned reactor, struct view *view)
{
	struct subsys_lane gone = { .lane = token, .reactor = reactor };

	list_for_each(&subsys->lanes, node) {
		struct subsys_lane *lane = container_of(node, struct subsys_lane, node);

		if (lane->lane != token)
			continue;
		subsys->qids[lane->qid] = false;
		list_remove(&lane->node);
		arena_free(subsys->reactor->arena, lane);
		break;
	}
	post(subsys, &gone, HOST_LANE_LEFT, 0, 0, 0);
	view_drop(subsys, view);
	subsys_free_soon(subsys);
}

static void
strand_closed(struct subsys *subsys, struct assoc *assoc, uint64_t parked)
{
	assoc->strands--;
	assoc->parked += (uint32_t)parked;
	ghosts_look(subsys);
	assoc_free(assoc);
}

static void
aborted(struct ctrlr_cmd *cmd)
{
	struct assoc *assoc = cmd->owner;

	container_of(cmd, struct assoc_abort, cmd)->busy = false;
	assoc_free(assoc);
}

/* Where too many are under way it is not aborted: its lane gives up the connection then. */
static void
abort_one(struct assoc *assoc, uint32_t what)
{
	unsigned most = ctrlr_facts(assoc->ctrlr)->aborts;

	for (unsigned i = 0; i < ASSOC_ABORTS && i < most; i++) {
		struct assoc_abort *abort = &assoc->aborts[i];

		if (abort->busy)
			continue;
		abort->busy = true;
		abort->cmd.owner = assoc;
		abort->cmd.done = aborted;
		abort->cmd.io.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_ABORT, .cdw10 = le32_of(what) };
		abort->cmd.io.req.data = HREQ_NONE;
		ctrlr_submit(assoc->ctrlr, &abort->cmd);
		return;
	}
}

void
subsys_on_mail(struct subsys *subsys, const struct mail *mail)
{
	struct lane *lane = (struct lane *)(uintptr_t)mail->words[1];
	struct view *view = (struct view *)(uintptr_t)mail->words[2];
	struct assoc *assoc = subsys_assoc(subsys, mail->arg);
	bool live = assoc != NULL && assoc->state == ASSOC_LIVE;

	switch ((enum host_mail_kind)mail->kind) {
	case HOST_LANE_JOIN:
		join(subsys, lane, mail->from);
		break;
	case HOST_LANE_LEAVE:
		leave(subsys, lane, mail->from, view);
		break;
	case HOST_VIEW_BACK:
		view_drop(subsys, view);
		break;
	case HOST_STRAND_DOWN:
		if (live)
			assoc_lose(assoc, (int)(int64_t)mail->words[2], (const char *)(uintptr_t)mail->words[3]);
		break;
	case HOST_STRAND_CLOSED:
		assert(assoc != NULL && assoc->strands > 0);
		strand_closed(subsys, assoc, mail->words[2]);
		break;
	case HOST_STRAND_ABORT:
		if (live)
			abort_one(assoc, (uint32_t)mail->words[2]);
		break;
	case HOST_PATH_STALE:
		if (live)
			ask_stale(assoc);
		break;
	case HOST_LANE_ASKS:
		assoc_asked_by_lane(subsys, live ? assoc : NULL, (struct bound_ask *)(uintptr_t)mail->words[2]);
		break;
	case HOST_CACHE_LOST:
		subsys_event(subsys, SUBSYS_CACHE_LOST, 0, mail->arg, 0, CACHE_LOST_WORDS);
		break;
	case HOST_LANE_JOINED: case HOST_LANE_LEFT: case HOST_VIEW: case HOST_STRAND_OPEN: case HOST_STRAND_CLOSE:
	case HOST_ASSOC_OVER: case HOST_GIVE_UP: case HOST_LANE_ANSWERED:
		abort(); /* mail of a subsystem, to one */
		break;
	}
}

void
host_on_mail(struct reactor *reactor, const struct mail *mail)
{
	if (mail->kind >= HOST_LANE_JOINED)
		lane_on_mail((struct lane *)(uintptr_t)mail->words[0], mail);
	else
		subsys_on_mail((struct subsys *)(uintptr_t)mail->words[0], mail);
}
