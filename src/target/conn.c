/*
 * conn.c - one connection: its stream, the protocol on it, and its end.
 *
 * Answers: when to read, when to send, how long to wait, and when nobody
 * refers to a dead connection any more.  Does not know what a command does.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "target/core.h"

enum {
	NS_PER_MS = 1000000,
	LEND_NS = 1000000,      /* lent memory that was not sent by then is given back */
	AGAIN_BATCH = 4,        /* reads done again at a time, so that a slow peer cannot multiply them */
	/* A capsule whose data needs a buffer of its own is at least so long. */
	CAPSULE_MIN = 72 + 48,
	RECEIVE_MIN = 4096,     /* below this, PDUs are received one piece at a time */
};

/* ---- beginning ---- */

static void ready(struct stream *stream, unsigned events);
static void send_now(struct task *task);
static void timer_fired(struct timer *timer);
static void lend_expired(struct timer *timer);
static void set_wants(struct conn *conn);

static uint64_t
stall_ns(const struct conn *conn)
{
	return (uint64_t)conn->core->target->options.stall_timeout_ms * NS_PER_MS;
}

void
conn_accept(struct core *core, struct stream *stream)
{
	const struct tconn_limits limits = {
		.incapsule_max = TARGET_INCAPSULE, .maxh2cdata = TARGET_MAXH2CDATA,
	};
	struct conn *conn = arena_alloc(core->reactor->arena, sizeof(*conn));
	uint8_t *reserve = arena_alloc_aligned(core->reactor->arena, TARGET_INCAPSULE, 4096);

	if (conn == NULL || reserve == NULL) {
		core_log(core, 1, "a connection was refused: out of memory");
		arena_free(core->reactor->arena, conn);
		arena_free(core->reactor->arena, reserve);
		stream->ops->close(stream, true);
		core_conn_gone(core);
		return;
	}
	conn->core = core;
	conn->stream = stream;
	conn->reserve = reserve;
	conn->phase = CONN_NEW;
	conn->slots = &conn->first;
	conn->slot_count = 1;
	fifo_init(&conn->free);
	fifo_init(&conn->turns);
	fifo_init(&conn->again);
	tconn_init(&conn->tc, &limits);
	tconn_slots(&conn->tc, conn->slots, sizeof(struct request), 1);
	task_init(&conn->send, send_now);
	conn->timer.fire = timer_fired;
	conn->lend_timer.fire = lend_expired;
	list_push(&core->conns, &conn->node);
	core->conn_count++;
	timer_set(&core->reactor->timers, &conn->timer, core->reactor->now_ns +
	    (uint64_t)core->target->options.handshake_timeout_ms * NS_PER_MS);
	stream->owner = conn;
	stream->ready = ready;
	stream->ops->wants(stream, STREAM_READABLE);
}

/* Gives the queue its slots, which request_take() makes ready one by one; 0 or -ENOMEM.  Connect itself
 * keeps using the first one. */
int
conn_queue(struct conn *conn, bool admin, uint16_t entries, bool sq_flow)
{
	struct request *slots = arena_alloc_raw(conn->core->reactor->arena, entries * sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	conn->slots = slots;
	conn->slot_count = entries;
	conn->slots_used = 0;
	fifo_init(&conn->free);
	tconn_slots(&conn->tc, slots, sizeof(*slots), entries);
	tconn_connected(&conn->tc, admin, entries, sq_flow);
	conn->phase = CONN_LIVE;
	timer_clear(&conn->core->reactor->timers, &conn->timer);
	return 0;
}

/* ---- ending ---- */

static void
finish_requests(struct conn *conn, struct fifo *finished)
{
	struct fifo_node *node;

	while ((node = fifo_pop(finished)) != NULL)
		request_free(container_of(node, struct request, xfer.tx_node));
}

/* All that will not be answered any more, except what the device or another core still holds. */
static void
abandon_requests(struct conn *conn)
{
	struct fifo dropped;

	conn->stalled = NULL;
	fifo_init(&conn->turns);
	fifo_init(&conn->again);
	fifo_init(&dropped);
	tconn_drop(&conn->tc, conn->phase == CONN_DEAD, &dropped);
	finish_requests(conn, &dropped);
	request_abandon(&conn->first);
	if (conn->slots != &conn->first)
		for (uint32_t i = 0; i < conn->slots_used; i++)
			request_abandon(&conn->slots[i]);
}

/* The controller must forget an I/O queue before its memory goes. */
void
conn_leave(struct conn *conn)
{
	struct target_mail mail = {
		.kind = MAIL_DETACH, .cntlid = conn->cntlid, .qid = conn->qid, .conn = conn,
	};
	struct assoc *assoc = conn->assoc;

	if (conn->attached && !conn->detaching) {
		conn->detaching = true;
		core_post(conn->core, conn->cntlid % conn->core->reactor->count, &mail);
	}
	if (assoc != NULL) {
		conn->assoc = NULL;
		assoc_admin_gone(assoc);
	}
}

/* Frees the connection when it is dead and nothing refers to it. */
void
conn_maybe_free(struct conn *conn)
{
	struct core *core = conn->core;

	if (conn->phase != CONN_DEAD || conn->request_count > 0 || conn->attached || conn->connecting)
		return;
	timer_clear(&core->reactor->timers, &conn->timer);
	timer_clear(&core->reactor->timers, &conn->lend_timer);
	task_cancel(&conn->send);
	list_remove(&conn->node);
	core->conn_count--;
	if (conn->slots != &conn->first)
		arena_free(core->reactor->arena, conn->slots);
	arena_free(core->reactor->arena, conn->reserve);
	arena_free(core->reactor->arena, conn);
	core_conn_gone(core);
}

static void
die(struct conn *conn, bool abort)
{
	if (conn->phase == CONN_DEAD)
		return;
	conn->phase = CONN_DEAD;
	conn->stream->ops->close(conn->stream, abort);
	conn->stream = NULL;
	timer_clear(&conn->core->reactor->timers, &conn->timer);
	timer_clear(&conn->core->reactor->timers, &conn->lend_timer);
	task_cancel(&conn->send);
	conn->request_count++; /* holds the connection while its requests are let go */
	abandon_requests(conn);
	conn_leave(conn);
	conn->request_count--;
	conn_maybe_free(conn);
}

/* Ends the connection at once; what was queued is not sent. */
void
conn_kill(struct conn *conn)
{
	die(conn, true);
}

/* Takes no more commands; closes when what is in flight was answered. */
void
conn_finish(struct conn *conn)
{
	if (conn->phase != CONN_NEW && conn->phase != CONN_LIVE)
		return;
	conn->phase = CONN_FINISHING;
	set_wants(conn);
	conn_send_soon(conn);
}

/* The peer broke a rule: a TermReq goes out and nothing else is done for it. */
static void
terminate(struct conn *conn)
{
	const struct pdu_fault *fault = &conn->tc.fault;
	char peer[80];

	if (conn->phase == CONN_TERMINATED || conn->phase == CONN_DEAD)
		return;
	conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
	if (conn->tc.state == TCONN_ENDED) {
		core_log(conn->core, 1, "%s: the host ended the connection by a TermReq", peer);
		die(conn, false);
		return;
	}
	core_log(conn->core, 1, "%s: closed: %s (FES %u, FEI %" PRIu32 ")", peer, fault->why,
	    fault->fes, fault->fei);
	conn->phase = CONN_TERMINATED;
	conn->request_count++;
	abandon_requests(conn);
	conn_leave(conn);
	conn->request_count--;
	timer_set(&conn->core->reactor->timers, &conn->timer, conn->core->reactor->now_ns + stall_ns(conn));
	conn_send_soon(conn);
}

void
conn_fault(struct conn *conn, struct pdu_fault fault, const void *header, uint32_t len)
{
	tconn_fault(&conn->tc, fault, header, len);
	terminate(conn);
}

/* ---- timers ---- */

/* Is there anything whose progress the peer owes us? */
static bool
peer_owes(const struct conn *conn)
{
	if (conn->blocked || (!conn->paused && framer_midway(&conn->tc.framer)))
		return true;
	for (uint32_t i = 0; i < conn->slots_used; i++)
		if (conn->slots[i].xfer.state == XFER_RECEIVING)
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
	for (uint32_t i = 0; i < conn->slots_used; i++) {
		const struct request *req = &conn->slots[i];

		if (req->xfer.state == XFER_RECEIVING && now - req->since_ns >= stall_ns(conn))
			return true;
	}
	return false;
}

/* Looks again after the stall time whether the peer got on; costs nothing per command. */
void
conn_watch(struct conn *conn)
{
	if (conn->timer.armed || (conn->phase != CONN_LIVE && conn->phase != CONN_FINISHING))
		return;
	conn->rx_pdus_then = conn->rx_pdus;
	conn->tx_bytes_then = conn->tx_bytes;
	timer_set(&conn->core->reactor->timers, &conn->timer, conn->core->reactor->now_ns + stall_ns(conn));
}

static void
timer_fired(struct timer *timer)
{
	struct conn *conn = container_of(timer, struct conn, timer);
	bool serving = conn->phase == CONN_LIVE || conn->phase == CONN_FINISHING;
	char peer[80];

	if (serving && !peer_stalls(conn)) {
		if (peer_owes(conn))
			conn_watch(conn);
		return;
	}
	conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
	if (conn->phase == CONN_NEW)
		core_log(conn->core, 1, "%s: closed: no Connect within %" PRIu32 " ms", peer,
		    conn->core->target->options.handshake_timeout_ms);
	else if (serving)
		core_log(conn->core, 1, "%s: closed: no progress within %" PRIu32 " ms", peer,
		    conn->core->target->options.stall_timeout_ms);
	die(conn, true);
}

/* ---- receiving ---- */

/* So few buffers are free that PDUs are received one piece at a time: no capsule comes whole then. */
static bool
buffers_short(const struct bufs *bufs)
{
	return bufs->small.free_count < RECEIVE_MIN / CAPSULE_MIN || !list_empty(&bufs->small.waiting);
}

/* How many buffers the capsules in so many bytes may want, the last one being cut off. */
static uint32_t
capsules_in(size_t bytes)
{
	return (uint32_t)(bytes / CAPSULE_MIN) + 1;
}

/*
 * How much may be received at once beside what goes straight to its place: so
 * much that every capsule in it finds its buffer; where buffers are short, no
 * more than the piece of a PDU at hand.
 */
static size_t
receive_limit(const struct conn *conn, size_t direct)
{
	const struct bufs *bufs = &conn->core->reactor->bufs;
	size_t limit;

	if (conn->phase == CONN_TERMINATED)
		return REACTOR_SCRATCH;
	if (buffers_short(bufs))
		return framer_need(&conn->tc.framer) - direct;
	limit = (size_t)(bufs->small.free_count - 1) * CAPSULE_MIN;
	return limit < REACTOR_SCRATCH ? limit : REACTOR_SCRATCH;
}

static void
on_command(struct conn *conn, const struct tconn_item *item)
{
	struct request *req = request_take(conn);

	if (req == NULL) {
		struct pdu_capsule_cmd head = {
			.ch = { PDU_CAPSULE_CMD, 0, sizeof(head), 0, le32_of(sizeof(head)) },
			.sqe = *item->sqe,
		};

		conn_fault(conn, (struct pdu_fault){ PDU_FES_SEQUENCE, 0,
		    "more commands than the queue has entries" }, &head, sizeof(head));
		return;
	}
	conn->command_ns = conn->core->reactor->now_ns;
	tconn_hold(&conn->tc, &req->xfer, item->sqe);
	req->sqe = *item->sqe;
	request_command(req, item);
}

static void
parse(struct conn *conn, const uint8_t *at, size_t left)
{
	struct tconn_item item;

	for (;;) {
		switch (tconn_next(&conn->tc, &at, &left, &item)) {
		case TCONN_MORE:
			return;
		case TCONN_COMMAND:
			conn->rx_pdus++;
			on_command(conn, &item);
			break;
		case TCONN_DATA:
			conn->rx_pdus++;
			request_data(container_of(item.xfer, struct request, xfer));
			break;
		case TCONN_CLOSING:
			terminate(conn);
			return;
		}
		if (conn->phase != CONN_NEW && conn->phase != CONN_LIVE)
			return;
		if (conn->paused) {
			assert(left == 0);
			return;
		}
	}
}

static void
receive(struct conn *conn)
{
	struct iovec iov[BUFS_IOV_MAX + 1];
	uint8_t *scratch = conn->core->reactor->scratch;
	struct bufs *bufs = &conn->core->reactor->bufs;
	int count = framer_direct(&conn->tc.framer, iov, BUFS_IOV_MAX);
	size_t direct = 0, landed;
	ssize_t bytes;

	for (int i = 0; i < count; i++)
		direct += iov[i].iov_len;
	if (conn->phase == CONN_TERMINATED)
		direct = 0, count = 0;
	iov[count] = (struct iovec){ scratch, receive_limit(conn, direct) };
	count += iov[count].iov_len > 0;
	bytes = conn->stream->ops->readv(conn->stream, iov, count);
	if (bytes <= 0) {
		if (bytes != -EAGAIN)
			die(conn, bytes < 0);
		return;
	}
	if (conn->phase == CONN_TERMINATED)
		return;
	landed = (size_t)bytes < direct ? (size_t)bytes : direct;
	if (landed > 0)
		framer_landed(&conn->tc.framer, landed);
	if (!buffers_short(bufs))
		bufs_promise(bufs, capsules_in((size_t)bytes - landed));
	conn->request_count++; /* holds the connection while it is parsed */
	parse(conn, scratch, (size_t)bytes - landed);
	conn->request_count--;
	bufs_promise(bufs, 0);
	if (conn->phase == CONN_DEAD) {
		conn_maybe_free(conn);
		return;
	}
	if (conn->phase == CONN_LIVE && framer_midway(&conn->tc.framer))
		conn_watch(conn);
	if (tconn_pending(&conn->tc))
		conn_send_soon(conn);
}

static void
set_wants(struct conn *conn)
{
	unsigned events = conn->blocked ? STREAM_WRITABLE : 0;

	if (!conn->paused && conn->phase != CONN_FINISHING)
		events |= STREAM_READABLE;
	conn->stream->ops->wants(conn->stream, events);
}

static void
ready(struct stream *stream, unsigned events)
{
	struct conn *conn = stream->owner;

	if (events & STREAM_WRITABLE && conn->blocked) {
		conn->blocked = false;
		set_wants(conn);
		conn_send_soon(conn);
	}
	if (events & STREAM_READABLE && !conn->paused && conn->phase != CONN_FINISHING)
		receive(conn);
}

/* A capsule has to wait for its buffer: nothing more is read until then. */
void
conn_pause(struct conn *conn)
{
	conn->paused = true;
	set_wants(conn);
}

/* It got its buffer: reading goes on. */
void
conn_resume(struct conn *conn)
{
	conn->stalled = NULL;
	if (conn->paused && conn->phase == CONN_LIVE) {
		conn->paused = false;
		set_wants(conn);
		conn_watch(conn);
	}
}

/* ---- sending ---- */

void
conn_send_soon(struct conn *conn)
{
	if (!conn->blocked && conn->phase != CONN_DEAD)
		reactor_run_in(conn->core->reactor, PHASE_SEND, &conn->send);
}

static void
now_blocked(struct conn *conn)
{
	conn->blocked = true;
	set_wants(conn);
	conn_watch(conn);
	if (!conn->lend_timer.armed)
		timer_set(&conn->core->reactor->timers, &conn->lend_timer,
		    conn->core->reactor->now_ns + LEND_NS);
}

static void
all_sent(struct conn *conn)
{
	struct request *leaving = conn->leaving;
	struct fifo_node *node;

	for (int i = 0; i < AGAIN_BATCH && (node = fifo_pop(&conn->again)) != NULL; i++)
		io_read_again(container_of(node, struct request, xfer.tx_node));
	/* A Disconnect is answered when it is alone; then nothing is heard any more (Base 2.0, 6.4). */
	if (conn->phase == CONN_LIVE && leaving != NULL && conn->request_count == 1) {
		conn->leaving = NULL;
		request_answer(leaving, NVME_OK);
		conn_finish(conn);
	} else if (conn->phase == CONN_FINISHING && conn->device_count == 0) {
		die(conn, false);
	}
}

static void
send_now(struct task *task)
{
	struct conn *conn = container_of(task, struct conn, send);
	struct gather *g = conn->core->gather;
	struct fifo finished;

	fifo_init(&finished);
	while (!conn->blocked && tconn_pending(&conn->tc)) {
		ssize_t bytes;

		tconn_gather(&conn->tc, g);
		bytes = conn->stream->ops->writev(conn->stream, g->iov + g->first,
		    (int)(g->count - g->first));
		if (bytes < 0 && bytes != -EAGAIN) {
			die(conn, true);
			return;
		}
		if (bytes > 0) {
			conn->tx_bytes += (uint64_t)bytes;
			tconn_sent(&conn->tc, (size_t)bytes, &finished);
			finish_requests(conn, &finished);
		}
		if (bytes < (ssize_t)g->bytes)
			now_blocked(conn);
	}
	if (!conn->blocked)
		all_sent(conn);
}

static bool
to_take_back(const struct xfer *xfer, void *arg)
{
	const struct request *req = container_of(xfer, const struct request, xfer);
	const bool *all = arg;

	return *all || req->io.flags & BLK_LENT;
}

/*
 * A peer that does not read must not hold the volume's memory, nor, where they
 * are short, buffers.  Reads of which nothing was sent are given back, to be
 * done again when the peer takes them; the one that is half sent is copied.
 */
static void
lend_expired(struct timer *timer)
{
	struct conn *conn = container_of(timer, struct conn, lend_timer);
	bool all = bufs_short(&conn->core->reactor->bufs);
	struct fifo_node *node;
	struct fifo back;

	if (!conn->blocked || conn->qid == 0)
		return;
	fifo_init(&back);
	tconn_withdraw(&conn->tc, to_take_back, &all, &back);
	while ((node = fifo_pop(&back)) != NULL)
		request_unread(container_of(node, struct request, xfer.tx_node));
	if (!fifo_empty(&conn->tc.out)) {
		struct request *head = container_of(conn->tc.out.head, struct request, xfer.tx_node);

		if (head->xfer.state == XFER_ANSWERING && head->io.flags & BLK_LENT)
			request_unlend(head);
	}
	timer_set(&conn->core->reactor->timers, timer, conn->core->reactor->now_ns + LEND_NS);
}
