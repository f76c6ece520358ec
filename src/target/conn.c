/*
 * conn.c - a connection's life: its phases, its queue, its end.
 *
 * Answers: in which phase it is, how long to wait for its peer, and when nobody
 * refers to a dead connection any more.  Does not know what a command does, nor
 * how bytes move.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "target/assoc.h"
#include "target/command.h"
#include "target/ordered.h"

enum {
	NS_PER_MS = 1000000,
	TERM_WAIT_MS = 30000, /* the specification's: so long at most a peer that was sent a TermReq is waited for */
};

/* ---- phases ---- */

void
conn_enter(struct conn *conn, enum conn_phase phase)
{
	enum {
		AUTH = 1 << CONN_AUTH, LIVE = 1 << CONN_LIVE, LEAVING = 1 << CONN_LEAVING,
		FINISHING = 1 << CONN_FINISHING, TERMINATED = 1 << CONN_TERMINATED, DEAD = 1 << CONN_DEAD,
	};
	static const uint8_t may_follow[] = {
		[CONN_NEW] =        AUTH | LIVE |                       TERMINATED | DEAD,
		[CONN_AUTH] =              LIVE |                       TERMINATED | DEAD,
		[CONN_LIVE] =                     LEAVING | FINISHING | TERMINATED | DEAD,
		[CONN_LEAVING] =                            FINISHING | TERMINATED | DEAD,
		[CONN_FINISHING] =                                      TERMINATED | DEAD,
		[CONN_TERMINATED] =                                                  DEAD,
		[CONN_DEAD] = 0,
	};

	assert(may_follow[conn->phase] & 1 << phase);
	conn->phase = phase;
}

/* What its peer says is listened to. */
bool
conn_hears(const struct conn *conn)
{
	return conn->phase < CONN_FINISHING;
}

/* A queue, whose peer may owe us something. */
static bool
is_queue(const struct conn *conn)
{
	return conn->phase >= CONN_LIVE && conn->phase <= CONN_FINISHING;
}

/* ---- beginning ---- */

static void timer_fired(struct timer *timer);

static uint64_t
stall_ns(const struct conn *conn)
{
	return (uint64_t)conn->core->view->stall_timeout_ms * NS_PER_MS;
}

static uint64_t
term_wait_ns(const struct conn *conn)
{
	const uint64_t most = UINT64_C(1) * TERM_WAIT_MS * NS_PER_MS;

	return stall_ns(conn) < most ? stall_ns(conn) : most;
}

void
conn_accept(struct core *core, struct stream *stream, uint16_t portal)
{
	const struct tconn_limits limits = {
		.incapsule_max = TARGET_INCAPSULE, .maxh2cdata = TARGET_MAXH2CDATA, .piece = TARGET_PIECE,
	};
	struct conn *conn = arena_alloc(core->reactor->arena, sizeof(*conn));
	uint8_t *reserve = arena_alloc_aligned(core->reactor->arena, TARGET_INCAPSULE, 4096);

	if (conn == NULL || reserve == NULL) {
		core_log_peer(core, "a connection was refused: out of memory");
		arena_free(core->reactor->arena, conn);
		arena_free(core->reactor->arena, reserve);
		stream->ops->close(stream, true);
		core_conn_gone(core);
		return;
	}
	conn->core = core;
	conn->stats = &core->stats;
	conn->stream = stream;
	conn->portal = portal;
	conn->gate = core->resv_count > 0 ? GATE_RESV : 0;
	conn->reserve = reserve;
	conn->phase = CONN_NEW;
	conn->slots = &conn->first;
	fifo_init(&conn->free);
	fifo_init(&conn->turns);
	fifo_init(&conn->wishes);
	list_init(&conn->admin_line);
	list_init(&conn->admin_node);
	list_init(&conn->lent_writes);
	list_init(&conn->streams);
	fifo_init(&conn->again);
	tconn_init(&conn->tc, &limits);
	tconn_slots(&conn->tc, conn->slots, sizeof(struct request), 1);
	conn->timer.fire = timer_fired;
	list_push(&core->conns, &conn->node);
	core->conn_count++;
	timer_set(&core->reactor->timers, &conn->timer, core->reactor->now_ns +
	    (uint64_t)core->view->handshake_timeout_ms * NS_PER_MS);
	traffic_begin(conn);
}

/* Gives the queue its slots, which tconn_slot_new() makes ready one by one; 0 or -ENOMEM.  Connect itself
 * keeps using the first one. */
int
conn_queue(struct conn *conn, bool admin, uint16_t entries, bool sq_flow)
{
	struct request *slots = arena_alloc_raw(conn->core->reactor->arena, entries * sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	if (admin && admin_bufs_conn(conn) != 0) {
		arena_free(conn->core->reactor->arena, slots);
		return -ENOMEM;
	}
	conn->slots = slots;
	fifo_init(&conn->free);
	tconn_slots(&conn->tc, slots, sizeof(*slots), entries);
	tconn_connected(&conn->tc, admin, entries, sq_flow);
	if (conn->core->view->authenticate) {
		conn_enter(conn, CONN_AUTH); /* the time for the handshake runs on */
	} else {
		conn_enter(conn, CONN_LIVE);
		timer_clear(&conn->core->reactor->timers, &conn->timer);
		if (framer_midway(&conn->tc.framer))
			conn_watch(conn); /* what came along with the Connect ends in the middle of something */
	}
	return 0;
}

/* ---- ending ---- */

/* All that will not be answered any more, except what the device or another core still holds. */
static void
abandon_requests(struct conn *conn)
{
	struct fifo dropped;

	ordered_conn_ends(conn);
	conn->stalled = conn->fused = NULL;
	fifo_init(&conn->turns);
	fifo_init(&conn->again);
	fifo_init(&dropped);
	tconn_drop(&conn->tc, conn->phase == CONN_DEAD, &dropped);
	request_free_all(&dropped);
	request_abandon(&conn->first);
	if (conn->slots != &conn->first)
		for (uint32_t i = 0; i < conn->tc.slots_used; i++)
			request_abandon(&conn->slots[i]);
}

/* An admin queue takes its controller with it; an I/O queue leaves its controller in conn_maybe_free(). */
static void
leave(struct conn *conn)
{
	struct assoc *assoc = conn->assoc;

	if (assoc == NULL)
		return;
	conn->assoc = NULL;
	conn->left = assoc;
	assoc_admin_gone(assoc);
}

/* None of its commands is lent any more: its controller waits for nothing else of it. */
static void
settle(struct conn *conn)
{
	struct assoc *assoc = conn->left;

	if (assoc == NULL || conn->device_count > 0)
		return;
	conn->left = NULL;
	assoc_admin_over(assoc);
}

/* The controller must forget an I/O queue before its memory goes. */
static void
detach(struct conn *conn)
{
	struct target_mail mail = {
		.kind = MAIL_DETACH, .key = conn->key, .qid = conn->qid, .detach = { conn, conn->command_ns },
	};

	if (conn->detaching)
		return;
	conn->detaching = true;
	errors_tell_missed(conn);
	core_post(conn->core, conn->key % conn->core->reactor->count, &mail);
}

/*
 * The connection serves nobody any more.  When none of its commands is at a device or waits for another
 * core, its controller is told that the queue is gone, and so knows that nothing of it can happen any
 * more: of an admin queue as of an I/O queue.  When nothing refers to it, it is freed.
 */
void
conn_maybe_free(struct conn *conn)
{
	struct core *core = conn->core;

	if (conn->phase < CONN_TERMINATED || conn->held > 0)
		return;
	settle(conn);
	if (conn->request_count > 0 || conn->connecting)
		return;
	if (conn->attached) {
		detach(conn);
		return;
	}
	if (conn->phase != CONN_DEAD)
		return;
	timer_clear(&core->reactor->timers, &conn->timer);
	timer_clear(&core->reactor->timers, &conn->lend_timer);
	list_remove(&conn->admin_node);
	list_remove(&conn->node);
	core->conn_count--;
	if (conn->slots != &conn->first)
		arena_free(core->reactor->arena, conn->slots);
	ordered_conn_free(conn);
	arena_free(core->reactor->arena, conn->own);
	arena_free(core->reactor->arena, conn->reserve);
	arena_free(core->reactor->arena, conn);
	core_conn_gone(core);
}

/* Ends the connection; `abort`: at once and loudly, what was queued is not sent. */
void
conn_end(struct conn *conn, bool abort)
{
	if (conn->phase == CONN_DEAD)
		return;
	conn_enter(conn, CONN_DEAD);
	conn->stream->ops->close(conn->stream, abort);
	conn->stream = NULL;
	timer_clear(&conn->core->reactor->timers, &conn->timer);
	timer_clear(&conn->core->reactor->timers, &conn->lend_timer);
	list_remove(&conn->read_node);
	list_remove(&conn->send_node);
	list_remove(&conn->keep_node);
	conn->held++; /* while its requests are let go */
	abandon_requests(conn);
	leave(conn);
	conn->held--;
	conn_maybe_free(conn);
}

void
conn_kill(struct conn *conn)
{
	conn_end(conn, true);
}

/* Takes no more commands; closes when what is in flight was answered. */
void
conn_finish(struct conn *conn)
{
	if (conn->phase != CONN_LIVE && conn->phase != CONN_LEAVING)
		return;
	conn_enter(conn, CONN_FINISHING);
	if (conn->fused != NULL)
		fused_orphan(conn);
	ordered_conn_ends(conn);
	traffic_wants(conn);
	conn_send_soon(conn);
}

/* Only its Disconnect is left of a queue.  It is answered when the controller has forgotten the queue: who reads the
 * answer may connect the same id at once. */
void
conn_leave(struct conn *conn)
{
	conn_finish(conn);
	detach(conn);
}

/* The controller has forgotten the queue. */
void
conn_detached(struct conn *conn)
{
	conn->attached = conn->detaching = false;
	if (conn->phase == CONN_FINISHING)
		request_answer(conn->leaving, NVME_OK);
	conn_maybe_free(conn);
}

/* The peer broke a rule: a TermReq goes out and nothing else is done for it. */
void
conn_terminate(struct conn *conn)
{
	const struct pdu_fault *fault = &conn->tc.fault;
	char peer[80];

	if (conn->phase == CONN_TERMINATED || conn->phase == CONN_DEAD)
		return;
	conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
	if (conn->tc.state == TCONN_ENDED) {
		core_log_peer(conn->core, "%s: the host ended the connection by a TermReq", peer);
		conn_end(conn, false);
		return;
	}
	core_log_peer(conn->core, "%s: closed: %s (FES %u, FEI %" PRIu32 ")", peer, fault->why,
	    fault->fes, fault->fei);
	conn_enter(conn, CONN_TERMINATED);
	conn->terminated_ns = conn->core->reactor->now_ns;
	conn->held++;
	abandon_requests(conn);
	leave(conn);
	conn->held--;
	conn_maybe_free(conn);
	timer_set(&conn->core->reactor->timers, &conn->timer, conn->core->reactor->now_ns + term_wait_ns(conn));
	conn_send_soon(conn);
}

/* ---- timers ---- */

/* Not for a command that was dropped. */
static bool
owes_data(const struct request *req)
{
	return request_owed(req) && !req->dropped;
}

/* Is there anything whose progress the peer owes us? */
static bool
peer_owes(const struct conn *conn)
{
	if (conn->blocked || conn->fused != NULL || (!conn->paused && framer_midway(&conn->tc.framer)))
		return true;
	for (uint32_t i = 0; i < conn->tc.slots_used; i++)
		if (owes_data(&conn->slots[i]))
			return true;
	return false;
}

static bool
peer_stalls(const struct conn *conn)
{
	uint64_t now = conn->core->reactor->now_ns;

	if (conn->blocked && conn->tx_bytes == conn->tx_bytes_then)
		return true;
	if (!conn->paused && framer_midway(&conn->tc.framer) && conn->rx_pdus == conn->rx_pdus_then)
		return true;
	if (conn->fused != NULL && now - conn->fused->since_ns >= stall_ns(conn))
		return true;
	for (uint32_t i = 0; i < conn->tc.slots_used; i++) {
		const struct request *req = &conn->slots[i];

		if (owes_data(req) && now - req->since_ns >= stall_ns(conn))
			return true;
	}
	return false;
}

/* Looks again after the stall time whether the peer got on; costs nothing per command. */
void
conn_watch(struct conn *conn)
{
	if (conn->timer.armed || !is_queue(conn))
		return;
	conn->rx_pdus_then = conn->rx_pdus;
	conn->tx_bytes_then = conn->tx_bytes;
	timer_set(&conn->core->reactor->timers, &conn->timer, conn->core->reactor->now_ns + stall_ns(conn));
}

static void
timer_fired(struct timer *timer)
{
	struct conn *conn = container_of(timer, struct conn, timer);
	bool serving = is_queue(conn);
	char peer[80];

	if (serving && !peer_stalls(conn)) {
		if (peer_owes(conn))
			conn_watch(conn);
		return;
	}
	conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
	if (conn->phase == CONN_NEW || conn->phase == CONN_AUTH)
		core_log_peer(conn->core, conn->phase == CONN_NEW ?
		    "%s: closed: no Connect within %" PRIu32 " ms" :
		    "%s: closed: not authenticated within %" PRIu32 " ms", peer,
		    conn->core->view->handshake_timeout_ms);
	else if (serving)
		core_log_peer(conn->core, "%s: closed: what it began was not over within %" PRIu32 " ms", peer,
		    conn->core->view->stall_timeout_ms);
	conn_end(conn, true);
}

