/*
 * asked.c - buffers that wait for data of peers.
 *
 * Who was asked for data may never send it.  So what is asked for takes a share
 * of each pool at most, and what comes without being asked for, in capsules, and
 * what is read always finds buffers that come free by themselves.  Of that share
 * a host has as much as it leaves free, however many connections it has, so that
 * another one that asks little finds something at once.  Beyond it who asks
 * waits, and hosts take turns; and where anybody waits, for the share or for
 * buffers, who owes data for too long loses its connection.
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

/* Hosts whose ids come out alike are one here, which costs them a little and nobody else anything. */
static struct asked_host *
host_of(const struct request *req)
{
	const uint8_t *id = req->conn->hostid;
	uint64_t mixed = (get_le64(id) ^ get_le64(id + 8)) * UINT64_C(0x9e3779b97f4a7c15);

	return &req->conn->core->asked.hosts[mixed >> 56 & (ASKED_HOSTS - 1)];
}

/* Three quarters. */
static uint32_t
share(struct core *core, bool large)
{
	return pool_of(core, large)->count / 4 * 3;
}

/* One transfer finds room in any pool. */
static bool
fits(struct core *core, uint32_t bytes)
{
	bool large = bufs_are_large(bytes);
	uint32_t taken = core->asked.pieces[large];

	return taken == 0 || taken + bufs_pieces(bytes) <= share(core, large);
}

/* The host would have more than were left for all others.  Who has nothing may have what there is. */
static bool
too_much(struct core *core, const struct asked_host *host, uint32_t bytes)
{
	bool large = bufs_are_large(bytes);
	uint32_t has = host->pieces[large];

	return has > 0 && has + core->asked.pieces[large] + 2 * bufs_pieces(bytes) > share(core, large);
}

static void
count(struct request *req, struct asked_host *host)
{
	bool large = bufs_are_large(req->waiter.bytes);

	req->asks = req->waiter.bytes;
	req->conn->core->asked.pieces[large] += bufs_pieces(req->asks);
	host->pieces[large] += bufs_pieces(req->asks);
}

bool
asked_take(struct request *req, uint32_t bytes, void (*granted)(struct bufs_waiter *))
{
	struct core *core = req->conn->core;
	struct asked_host *host = host_of(req);
	bool large = bufs_are_large(bytes), much = too_much(core, host, bytes);

	req->waiter.bytes = bytes;
	if (list_empty(&host->waiting[large]) && !much && !core->asked.stuck[large] && fits(core, bytes)) {
		count(req, host);
		return true;
	}
	if (list_empty(&host->waiting[large])) {
		list_push(&core->asked.waiting[large], &host->node[large]);
		core->asked.stuck[large] |= !much;
	}
	req->stage = STAGE_SHARE;
	req->waiter.granted = granted;
	list_push(&host->waiting[large], &req->waiter.node);
	asked_watch(core);
	return false;
}

static void
leave(struct request *req, struct asked_host *host)
{
	bool large = bufs_are_large(req->waiter.bytes);

	list_remove(&req->waiter.node);
	if (list_empty(&host->waiting[large]))
		list_remove(&host->node[large]);
}

/* The first request of the host whose turn it is, those that have too much left aside, if there is room for it. */
static struct request *
next(struct core *core, bool large)
{
	core->asked.stuck[large] = false;
	list_for_each(&core->asked.waiting[large], node) {
		struct asked_host *host = container_of(node, struct asked_host, node[large]);
		struct request *first = container_of(host->waiting[large].next, struct request, waiter.node);

		if (too_much(core, host, first->waiter.bytes))
			continue;
		/* Nobody takes what it waits for. */
		core->asked.stuck[large] = !fits(core, first->waiter.bytes);
		return core->asked.stuck[large] ? NULL : first;
	}
	return NULL;
}

/* granted() may give in turn: the loop here serves those too. */
static void
grant(struct core *core, bool large)
{
	struct request *req;

	if (core->asked.granting[large])
		return;
	core->asked.granting[large] = true;
	while ((req = next(core, large)) != NULL) {
		struct asked_host *host = host_of(req);

		leave(req, host);
		count(req, host);
		if (!list_empty(&host->waiting[large])) {
			list_remove(&host->node[large]);
			list_push(&core->asked.waiting[large], &host->node[large]);
		}
		req->waiter.granted(&req->waiter);
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
	host_of(req)->pieces[large] -= bufs_pieces(req->asks);
	req->asks = 0;
	grant(core, large);
}

void
asked_leave(struct request *req)
{
	leave(req, host_of(req));
	grant(req->conn->core, bufs_are_large(req->waiter.bytes));
}

/* ---- who keeps others waiting ---- */

static bool
somebody_waits(struct core *core, bool large)
{
	return !list_empty(&pool_of(core, large)->waiting) || !list_empty(&core->asked.waiting[large]);
}

/* Since when the peer owes it.  While a connection is paused nothing is read of it, and then it is not the peer that
 * keeps us; but it may cause a pause, so all of them together give it no more than the same time once again. */
static uint64_t
owed_since(const struct request *req)
{
	const struct conn *conn = req->conn;
	uint64_t since = conn->paused ? conn->core->reactor->now_ns : conn->resumed_ns;
	uint64_t latest = req->since_ns + CONN_WAITED_FOR_S * second_ns;

	return since < req->since_ns ? req->since_ns : since < latest ? since : latest;
}

/* Data that the peer owes, for too long, has a place that somebody waits for. */
static bool
keeps(const struct request *req)
{
	const struct conn *conn = req->conn;
	const struct request *place = req->bufs.bytes > 0 || req->partner == NULL ? req : req->partner;

	return (request_owed(req) || req == conn->fused) && place->bufs.bytes > 0 && req != conn->admin_user &&
	    conn->core->reactor->now_ns - owed_since(req) >= CONN_WAITED_FOR_S * second_ns &&
	    somebody_waits(conn->core, place->bufs.large);
}

static bool
keeps_any(const struct conn *conn)
{
	if (conn->phase < CONN_LIVE || conn->phase > CONN_LEAVING)
		return false;
	/* Nothing is owed: not asked for, not the rest of a capsule, not the other half of a pair. */
	if (conn->asked_bytes == 0 && !framer_midway(&conn->tc.framer) && conn->fused == NULL)
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
	for (unsigned large = 0; large < 2; large++) {
		list_init(&core->asked.waiting[large]);
		for (unsigned i = 0; i < ASKED_HOSTS; i++) {
			list_init(&core->asked.hosts[i].waiting[large]);
			list_init(&core->asked.hosts[i].node[large]);
		}
	}
}

void
asked_end(struct core *core)
{
	timer_clear(&core->reactor->timers, &core->asked.timer);
}
