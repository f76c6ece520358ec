/*
 * admin_bufs.c - memory for the data of admin commands, in either direction.
 *
 * None of it is the reactor's data buffers: whoever may have an admin queue, and
 * of a discovery controller that is anybody, cannot take from I/O what it needs.
 * One command of a connection at a time has memory; those behind it are not
 * begun.  What is short, nearly all, has the connection's own piece, and waits
 * for nobody else.  What is long has some of the core's, which all its admin
 * connections share: a host has no more of it than it leaves free, however many
 * controllers it has, and hosts take turns (world/bufs.h); who does not take such an
 * answer while others wait for what it has loses its connection.
 */
#include <assert.h>
#include <errno.h>

#include "target/assoc.h"

static const uint64_t second_ns = 1000 * 1000 * 1000;

/* The next command of its line may have its turn: not from inside of what the last one is doing. */
static void
go_on(struct conn *conn)
{
	struct core *core = conn->core;

	if (list_empty(&conn->admin_node))
		list_push(&core->admin_next, &conn->admin_node);
	reactor_run_in(core->reactor, PHASE_COLLECT, &core->admin_task);
}

/* It has some of the core's memory; where its connection's socket is full already, nothing else tells of that. */
static void
has(struct request *req)
{
	struct conn *conn = req->conn;

	req->since_ns = conn->core->reactor->now_ns;
	if (conn->blocked && !conn->lend_timer.armed)
		timer_set(&conn->core->reactor->timers, &conn->lend_timer, req->since_ns + second_ns);
}

static void
granted(struct bufs_waiter *waiter)
{
	struct request *req = request_of(waiter);

	has(req);
	go_on(req->conn);
}

/* False: the core has too little now; granted() will be called. */
static bool
take(struct request *req)
{
	struct conn *conn = req->conn;
	struct bufs_share *host = &conn->core->admin_hosts[conn_host(conn)];
	uint32_t bytes = req->waiter.bytes;

	conn->admin_user = req;
	if (bytes <= ADMIN_OWN) {
		req->bufs.iov[0] = (struct iovec){ conn->own, bytes };
		req->bufs.bytes = bytes;
		req->bufs.count = 1;
		return true;
	}
	if (bufs_take(&conn->core->admin_bufs, host, bytes, &req->bufs)) {
		has(req);
		return true;
	}
	req->waiter.share = host;
	req->waiter.list = &req->bufs;
	req->waiter.granted = granted;
	bufs_wait(&conn->core->admin_bufs, &req->waiter);
	return false;
}

bool
admin_bufs_take(struct request *req, uint32_t bytes)
{
	struct conn *conn = req->conn;

	req->waiter.bytes = bytes;
	if (conn->admin_user == NULL && list_empty(&conn->admin_line) && take(req))
		return true;
	req->stage = STAGE_ADMIN;
	if (conn->admin_user != req)
		list_push(&conn->admin_line, &req->waiter.node);
	return false;
}

/* The command in turn, if it has just got its memory, or the next one. */
static void
next_of(struct conn *conn)
{
	struct request *req = conn->admin_user;

	if (req == NULL) {
		if (list_empty(&conn->admin_line))
			return;
		req = container_of(list_pop(&conn->admin_line), struct request, waiter.node);
		if (!take(req))
			return;
	} else if (req->stage != STAGE_ADMIN || req->bufs.bytes == 0) {
		return;
	}
	req->stage = STAGE_NEW;
	admin_granted(req);
}

static void
run(struct task *task)
{
	struct core *core = container_of(task, struct core, admin_task);
	struct list now, *node;

	list_init(&now);
	while ((node = list_pop(&core->admin_next)) != NULL)
		list_push(&now, node);
	while ((node = list_pop(&now)) != NULL) {
		struct conn *conn = container_of(node, struct conn, admin_node);

		conn->held++;
		next_of(conn);
		conn->held--;
		conn_maybe_free(conn);
	}
}

/* The command that has memory is answered without data, or its answer is out, or it ends. */
void
admin_bufs_give(struct request *req)
{
	struct conn *conn = req->conn;

	assert(conn->admin_user == req && req->bufs.bytes > 0);
	conn->admin_user = NULL;
	if (req->bufs.iov[0].iov_base == conn->own)
		req->bufs.bytes = req->bufs.count = 0;
	else
		bufs_give(&conn->core->admin_bufs, &req->bufs);
	if (!request_served(req))
		return;
	if (!list_empty(&conn->admin_line))
		go_on(conn);
	if (conn->assoc != NULL)
		assoc_settle(conn->assoc); /* a reset may have waited for a long answer to be out */
}

/* In STAGE_ADMIN, it ends: what it may have is given back with it. */
void
admin_bufs_leave(struct request *req)
{
	struct conn *conn = req->conn;

	if (conn->admin_user != req) {
		list_remove(&req->waiter.node);
	} else if (req->bufs.bytes == 0) {
		bufs_unwait(&conn->core->admin_bufs, &req->waiter);
		conn->admin_user = NULL;
	}
}

/* ---- who does not take its answer ---- */

/* The connection's socket is full.  Who has none of the core's memory is looked at again when it gets some. */
void
admin_bufs_blocked(struct conn *conn)
{
	const struct request *req = conn->admin_user;
	struct core *core = conn->core;
	uint64_t now = core->reactor->now_ns;
	char peer[80];

	if (req == NULL || req->bufs.bytes <= ADMIN_OWN)
		return;
	if (now - req->since_ns < CONN_WAITED_FOR_S * second_ns || !bufs_wanted(&core->admin_bufs, &req->bufs)) {
		timer_set(&core->reactor->timers, &conn->lend_timer, now + second_ns);
		return;
	}
	conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
	core_log_peer(core, "%s: closed: it takes too long over an answer, and others wait for the memory", peer);
	conn_kill(conn);
}

/* ---- beginning and end ---- */

int
admin_bufs_begin(struct core *core)
{
	list_init(&core->admin_next);
	for (unsigned i = 0; i < CONN_HOSTS; i++)
		bufs_share_init(&core->admin_hosts[i]);
	task_init(&core->admin_task, run);
	return bufs_init(&core->admin_bufs, core->reactor->arena, ADMIN_SMALL, ADMIN_LARGE);
}

void
admin_bufs_end(struct core *core)
{
	if (core->admin_task.run == NULL)
		return;
	task_cancel(&core->admin_task);
	assert(!list_empty(&core->conns) || bufs_idle(&core->admin_bufs));
	bufs_fini(&core->admin_bufs);
}

int
admin_bufs_conn(struct conn *conn)
{
	conn->own = arena_alloc_aligned(conn->core->reactor->arena, ADMIN_OWN, 4096);
	return conn->own != NULL ? 0 : -ENOMEM;
}
