/*
 * asked.c - buffers that wait for data of peers.
 *
 * Who was asked for data may never send it.  So what is asked for takes a share
 * of each pool at most, and what comes without being asked for, in capsules, and
 * what is read always finds buffers that come free by themselves.  Beyond it who
 * asks waits, first come first served; and where anybody waits, for the share or
 * for buffers, who owes data for too long loses its connection.
 */
#include "target/conn.h"

static const uint64_t second_ns = 1000 * 1000 * 1000;

static struct bufs_pool *
pool_of(struct core *core, bool large)
{
	struct bufs *bufs = &core->reactor->bufs;

	return large ? &bufs->large : &bufs->small;
}

/* ---- the share ---- */

/* Three quarters; but one transfer finds room in any pool. */
static bool
fits(struct core *core, uint32_t bytes)
{
	bool large = bufs_are_large(bytes);
	uint32_t taken = core->asked.pieces[large];

	return taken == 0 || taken + bufs_pieces(bytes) <= pool_of(core, large)->count / 4 * 3;
}

static void
count(struct request *req)
{
	req->asks = req->waiter.bytes;
	req->conn->core->asked.pieces[bufs_are_large(req->asks)] += bufs_pieces(req->asks);
}

bool
asked_take(struct request *req, uint32_t bytes, void (*granted)(struct bufs_waiter *))
{
	struct core *core = req->conn->core;
	struct list *waiting = &core->asked.waiting[bufs_are_large(bytes)];

	req->waiter.bytes = bytes;
	if (list_empty(waiting) && fits(core, bytes)) {
		count(req);
		return true;
	}
	req->stage = STAGE_SHARE;
	req->waiter.granted = granted;
	list_push(waiting, &req->waiter.node);
	asked_watch(core);
	return false;
}

/* granted() may give in turn: the loop here serves those too. */
static void
grant(struct core *core, bool large)
{
	struct list *waiting = &core->asked.waiting[large];

	if (core->asked.granting[large])
		return;
	core->asked.granting[large] = true;
	while (!list_empty(waiting)) {
		struct request *first = container_of(waiting->next, struct request, waiter.node);

		if (!fits(core, first->waiter.bytes))
			break;
		list_remove(&first->waiter.node);
		count(first);
		first->waiter.granted(&first->waiter);
	}
	core->asked.granting[large] = false;
}

void
asked_give(struct request *req)
{
	struct core *core = req->conn->core;
	bool large = bufs_are_large(req->asks);

	if (req->asks == 0)
		return;
	core->asked.pieces[large] -= bufs_pieces(req->asks);
	req->asks = 0;
	grant(core, large);
}

void
asked_leave(struct request *req)
{
	list_remove(&req->waiter.node);
	grant(req->conn->core, bufs_are_large(req->waiter.bytes));
}

/* ---- who keeps others waiting ---- */

static bool
somebody_waits(struct core *core, bool large)
{
	return !list_empty(&pool_of(core, large)->waiting) || !list_empty(&core->asked.waiting[large]);
}

/* Data that the peer owes, for too long, has a place that somebody waits for. */
static bool
keeps(const struct request *req)
{
	const struct conn *conn = req->conn;
	const struct request *place = req->bufs.bytes > 0 || req->partner == NULL ? req : req->partner;
	uint64_t since = req->since_ns > conn->resumed_ns ? req->since_ns : conn->resumed_ns;

	return (request_owed(req) || req == conn->fused) && place->bufs.bytes > 0 && req != conn->admin_user &&
	    conn->core->reactor->now_ns - since >= CONN_WAITED_FOR_S * second_ns &&
	    somebody_waits(conn->core, place->bufs.large);
}

/* While a connection is paused nothing is read of it: then it is not the peer that keeps us. */
static bool
keeps_any(const struct conn *conn)
{
	if (conn->phase < CONN_LIVE || conn->phase > CONN_LEAVING || conn->paused)
		return false;
	for (uint32_t i = 0; i < conn->tc.slots_used; i++)
		if (keeps(&conn->slots[i]))
			return true;
	return false;
}

static void
look(struct timer *timer)
{
	struct core *core = container_of(timer, struct core, asked.timer);
	char peer[80];

	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);

		if (!somebody_waits(core, false) && !somebody_waits(core, true))
			return;
		if (!keeps_any(conn))
			continue;
		conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
		core_log_peer(core, "%s: closed: it owes data, and others wait for the memory", peer);
		conn_kill(conn);
	}
	asked_watch(core);
}

void
asked_watch(struct core *core)
{
	if (!core->asked.timer.armed)
		timer_set(&core->reactor->timers, &core->asked.timer, core->reactor->now_ns + second_ns);
}

/* ---- beginning and end ---- */

void
asked_begin(struct core *core)
{
	core->asked.timer.fire = look;
	list_init(&core->asked.waiting[false]);
	list_init(&core->asked.waiting[true]);
}

void
asked_end(struct core *core)
{
	timer_clear(&core->reactor->timers, &core->asked.timer);
}
