/*
 * patience.c - who keeps others waiting for memory, and for how long he may.
 *
 * Data that a peer owes has a place, and so has an answer of which he took a part.
 * While nobody waits for it he has the time that anybody has (conn.c).  Else he
 * loses his connection before that; how long he has says conn.h.
 */
#include "target/conn.h"

enum { LOOKS = 4 }; /* in a second */

static const uint64_t second_ns = 1000 * 1000 * 1000;

/* Somebody waits for what it holds: not who waits for the share of a volume that it has nothing of. */
static bool
is_waited_for(struct core *core, const struct bufs_list *list)
{
	return bufs_wanted(&core->reactor->bufs, list) || asked_short(core, list->large);
}

/* How long it may owe data that others wait for the place of, or leave a part of an answer lying there. */
static uint64_t
patience_ns(const struct conn *conn)
{
	uint64_t most = CONN_WAITED_FOR_S * second_ns, has = CONN_STRANGER_S * second_ns + conn_earned_ns(conn);

	return asked_guarded(conn->core) && has < most ? has : most;
}

/* Since when the peer owes it.  While a connection is paused nothing is read of it, and then it is not the peer that
 * keeps us; but it may cause a pause, so all of them together give it no more than the same time once again. */
static uint64_t
owed_since(const struct request *req)
{
	const struct conn *conn = req->conn;
	uint64_t since = conn->paused ? conn->core->reactor->now_ns : conn->resumed_ns;
	uint64_t latest = req->since_ns + patience_ns(conn);

	return since < req->since_ns ? req->since_ns : since < latest ? since : latest;
}

/* Data that the peer owes, for too long, has a place that somebody waits for. */
static bool
keeps(const struct request *req)
{
	const struct conn *conn = req->conn;
	const struct request *place = req->bufs.bytes > 0 || req->partner == NULL ? req : req->partner;

	return (request_owed(req) || req == conn->fused) && place->bufs.bytes > 0 && req != conn->admin_user &&
	    conn->core->reactor->now_ns - owed_since(req) >= patience_ns(conn) &&
	    is_waited_for(conn->core, &place->bufs);
}

/* An answer of which the peer took a part, and then for too long not all, has a place that somebody waits for: of
 * copies, which have no line of their own, anybody who waits for any.  However it gets on: a few bytes now and then
 * keep it as well.  What counts is the time in which others waited: before that there was no hurry.  Those of which
 * nothing was sent are taken back at once (traffic.c). */
static bool
keeps_answer(const struct conn *conn)
{
	const struct request *req = traffic_half_sent(conn);
	const struct core *core = conn->core;
	const struct bufs *bufs = &core->reactor->bufs;
	uint64_t since = core->patience.since_ns;

	if (req == NULL || req->stage != STAGE_SLOW || conn->qid == 0 || req->bufs.bytes == 0)
		return false;
	if (req->since_ns > since)
		since = req->since_ns;
	return core->reactor->now_ns - since >= patience_ns(conn) &&
	    (bufs_wanted(bufs, &req->bufs) ||
	     (req->bufs.share == &core->shares[SHARE_SLOW].bufs && bufs_waited(bufs, req->bufs.large)));
}

static bool
owes_any(const struct conn *conn)
{
	/* Nothing is owed: not asked for, not the rest of a capsule, not the other half of a pair. */
	if (conn->asked_bytes == 0 && !framer_midway(&conn->tc.framer) && conn->fused == NULL)
		return false;
	for (uint32_t i = 0; i < conn->tc.slots_used; i++)
		if (keeps(&conn->slots[i]))
			return true;
	return false;
}

static void
look_later(struct core *core)
{
	timer_set(&core->reactor->timers, &core->patience.timer, core->reactor->now_ns + second_ns / LOOKS);
}

static void
look(struct timer *timer)
{
	struct core *core = container_of(timer, struct core, patience.timer);
	const struct bufs *bufs = &core->reactor->bufs;
	const char *how;
	char peer[80];

	if (!bufs_waited(bufs, false) && !bufs_waited(bufs, true))
		return;
	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);

		/* Also one that is not served any more: what of it is half sent is sent to its end. */
		if (conn->phase < CONN_LIVE || conn->phase == CONN_DEAD)
			continue;
		if (owes_any(conn))
			how = "owes data";
		else if (keeps_answer(conn))
			how = "takes too long over a read";
		else
			continue;
		conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
		core_log_peer(core, "%s: closed: it %s, and others wait for the memory", peer, how);
		conn_kill(conn);
	}
	traffic_buffers_short(core); /* what is waited for may be another by now */
	look_later(core);
}

void
patience_watch(struct core *core)
{
	if (core->patience.timer.armed)
		return;
	core->patience.since_ns = core->reactor->now_ns;
	look_later(core);
}

void
patience_begin(struct core *core)
{
	core->patience.timer.fire = look;
}

void
patience_end(struct core *core)
{
	timer_clear(&core->reactor->timers, &core->patience.timer);
}
