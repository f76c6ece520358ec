/*
 * lines.c - does anybody wait at a target for what nobody has?
 *
 * Who finds too little waits, and is called when it comes free.  Who is not called then waits until something else
 * comes free, or his host has lost patience and comes again by another connection: all histories are right all the
 * same.  So commands that wait are looked at, from outside of turns, when what came free has been given to whoever was
 * next.  It is counted by the commands that have it, not by what the target has noted of that.
 */
#include "target/command.h"
#include "trial/internal.h"

/* What there is to be known of a connection's commands. */
struct seen {
	uint64_t asked;      /* bytes that its host is asked for, or will be as soon as there are buffers */
	bool waits_for_turn; /* some may not be asked for before others have come */
};

static void
look_at_pool(const struct served *served, const struct bufs *bufs, bool large, const char *whose)
{
	const struct bufs_pool *pool = large ? &bufs->large : &bufs->small;

	if (pool->free_count == pool->count)
		trial_wrong(served->trial, "line", "target %u lets somebody wait for %s buffers for %s, of which "
		    "nobody has any", served->index, large ? "large" : "small", whose);
}

/* Memory to look at blocks with: a volume has as many pieces as it leaves free.  What counts is whose line it
 * stands in: its own volume may have gone. */
static void
look_at_scratch(const struct served *served, const struct request *req)
{
	const struct scratch *scratch = &req->conn->core->scratch;
	uint32_t has = container_of(req->turn.line, struct share, looking)->scratch;

	if (has < scratch->free)
		trial_wrong(served->trial, "line", "target %u lets a command wait for memory to look at blocks with, "
		    "of which %u pieces are free, and its volume has %u", served->index, scratch->free, has);
}

static void
look_at_command(const struct served *served, const struct request *req, struct seen *seen)
{
	const struct bufs *bufs = &req->conn->core->reactor->bufs;

	switch (req->stage) {
	case STAGE_TURN:
		seen->waits_for_turn = true;
		break;
	case STAGE_SHARE:
		seen->asked += fused_asks(req);
		look_at_pool(served, bufs, bufs_are_large(req->waiter.bytes), "data");
		break;
	case STAGE_READ:
		look_at_pool(served, bufs, bufs_are_large(req->waiter.bytes), "data");
		break;
	case STAGE_FILL:
		seen->asked += req->xfer.length;
		break;
	case STAGE_SCRATCH:
		look_at_scratch(served, req);
		break;
	case STAGE_NEW: case STAGE_BUFS: case STAGE_ADMIN: case STAGE_FUSED: case STAGE_PARTNER: case STAGE_ORDER:
	case STAGE_DEVICE:
	case STAGE_MAIL: case STAGE_EVENT: case STAGE_ANSWER: case STAGE_SLOW: case STAGE_AGAIN:
		break;
	}
}

static void
look_at_turns(const struct served *served, const struct conn *conn, uint64_t asked)
{
	const struct request *first;

	if (fifo_empty(&conn->turns)) {
		trial_wrong(served->trial, "line", "target %u has lost a command that waits to be asked for its data",
		    served->index);
		return;
	}
	first = container_of(conn->turns.head, struct request, xfer.tx_node);
	if (asked == 0 || asked + fused_asks(first) <= TARGET_ASKED_MAX)
		trial_wrong(served->trial, "line", "target %u does not ask for the %u bytes of a command, though only "
		    "%u are asked for on its queue", served->index, fused_asks(first), (unsigned)asked);
}

static void
look_at_queue(const struct served *served, const struct conn *conn)
{
	struct seen seen = { 0 };

	for (uint32_t i = 0; conn->request_count > 0 && i < conn->tc.slots_used; i++)
		if (conn->slots[i].xfer.state != XFER_FREE)
			look_at_command(served, &conn->slots[i], &seen);
	if (seen.waits_for_turn)
		look_at_turns(served, conn, seen.asked);
}

static void
look_at_core(const struct served *served, struct core *core)
{
	for (unsigned large = 0; large < 2; large++) {
		if (bufs_waited(&core->reactor->bufs, large))
			look_at_pool(served, &core->reactor->bufs, large, "data");
		if (bufs_waited(&core->admin_bufs, large))
			look_at_pool(served, &core->admin_bufs, large, "admin commands");
	}
	list_for_each(&core->conns, node)
		look_at_queue(served, container_of(node, struct conn, node));
}

void
lines_look(const struct served *served)
{
	for (unsigned i = 0; served_is_up(served) && i < trial_knob(served->trial, KNOB_TARGET_REACTORS); i++)
		if (served->target->cores[i] != NULL)
			look_at_core(served, served->target->cores[i]);
}
