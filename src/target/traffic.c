/*
 * traffic.c - what becomes of the bytes of a connection.
 *
 * Answers: which commands are in what was received, when to read on, and what
 * becomes of lent memory that a peer does not take.  Does not know what a
 * command does, nor how reads and sends are made (turn.c).
 */
#include <assert.h>
#include <errno.h>

#include "target/assoc.h"
#include "target/command.h"
#include "target/ordered.h"

enum {
	LEND_NS = 1000000,      /* lent memory that was not sent by then is given back */
	LEND_AGAIN_NS = 5000000, /* so often is looked whether what could not be is wanted, or can be copied */
	HEED_NS = 1000000000,   /* after a TermReq the peer has so long to stop sending */
	AGAIN_BATCH = 4,        /* reads done again when nothing is left to send, so that a slow peer cannot multiply
				 * them; while there is, as many as answers went out */
};

/* ---- receiving ---- */

bool
traffic_wants_to_read(const struct conn *conn)
{
	return !conn->paused && conn->phase != CONN_FINISHING && conn->phase != CONN_DEAD;
}

/* The peer broke a rule that only we know. */
static void
break_off(struct conn *conn, struct pdu_fault fault, const void *header, uint32_t len)
{
	tconn_fault(&conn->tc, fault, header, len);
	conn_terminate(conn);
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

		break_off(conn, (struct pdu_fault){ PDU_FES_SEQUENCE, 0,
		    "more commands than the queue has entries" }, &head, sizeof(head));
		return;
	}
	conn->command_ns = conn->core->heard_ns;
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
			conn_terminate(conn);
			return;
		}
		if (!conn_hears(conn))
			return;
		if (conn->paused) {
			assert(left == 0);
			return;
		}
	}
}

/*
 * What came after a TermReq is read, or a close would reset the connection and might take the TermReq with it; and
 * so it is seen when the peer closes.  Who does not heed it may not keep us at that.
 */
static void
drop(struct conn *conn)
{
	if (conn->core->reactor->now_ns - conn->terminated_ns >= HEED_NS)
		conn_end(conn, true);
}

/* What a read gave, as readv() says it: `direct` bytes first went to their place, the rest to `at`.
 * The caller holds the connection and has promised the buffers for what is at `at`. */
void
traffic_take(struct conn *conn, ssize_t bytes, size_t direct, const uint8_t *at)
{
	size_t landed;

	if (bytes <= 0) {
		if (bytes != -EAGAIN)
			conn_end(conn, bytes < 0);
		return;
	}
	if (conn->phase == CONN_TERMINATED) {
		drop(conn);
		return;
	}
	landed = (size_t)bytes < direct ? (size_t)bytes : direct;
	if (landed > 0)
		framer_landed(&conn->tc.framer, landed);
	parse(conn, at, (size_t)bytes - landed);
	if (!list_empty(&conn->lent_writes))
		ordered_received(conn);
	if (conn->phase == CONN_DEAD)
		return;
	if (framer_midway(&conn->tc.framer) && conn_hears(conn))
		conn_watch(conn);
	if (tconn_pending(&conn->tc))
		conn_send_soon(conn);
}

void
traffic_wants(struct conn *conn)
{
	unsigned events = conn->blocked ? STREAM_WRITABLE : 0;

	if (traffic_wants_to_read(conn))
		events |= STREAM_READABLE;
	conn->stream->ops->wants(conn->stream, events);
}

static void
ready(struct stream *stream, unsigned events)
{
	struct conn *conn = stream->owner;

	if (events & STREAM_WRITABLE && conn->blocked) {
		conn->blocked = false;
		traffic_wants(conn);
		conn_send_soon(conn);
	}
	if (events & STREAM_READABLE && traffic_wants_to_read(conn))
		turn_receive(conn);
}

/* A capsule has to wait for its buffer: nothing more is read until then. */
void
conn_pause(struct conn *conn)
{
	conn->paused = true;
	traffic_wants(conn);
}

/* It got its buffer: reading goes on. */
void
conn_resume(struct conn *conn)
{
	conn->stalled = NULL;
	if (conn->paused && conn_hears(conn)) {
		conn->paused = false;
		conn->resumed_ns = conn->core->reactor->now_ns;
		traffic_wants(conn);
		conn_watch(conn);
	}
}

/* ---- sending ---- */

void
conn_send_soon(struct conn *conn)
{
	if (!conn->blocked && conn->phase != CONN_DEAD)
		turn_send(conn);
}

/* Its line is to be looked through for memory to take back: it cannot be sent now, and something is new about it. */
static void
look_soon(struct conn *conn)
{
	conn->to_look = true;
	if (!conn->lend_timer.armed)
		timer_set(&conn->core->reactor->timers, &conn->lend_timer,
		    conn->core->reactor->now_ns + LEND_NS);
}

/* The same for an answer that has data. */
void
conn_send_data_soon(struct conn *conn)
{
	if (conn->blocked)
		look_soon(conn);
	else if (conn->phase != CONN_DEAD)
		turn_send(conn);
}

/* Buffers are short from now on: who has some in a line that cannot be sent gives them back. */
void
traffic_buffers_short(struct core *core)
{
	struct list *node;

	while ((node = list_pop(&core->keeping)) != NULL)
		look_soon(container_of(node, struct conn, keep_node));
}

static void
blocked(struct conn *conn)
{
	conn->blocked = true;
	list_remove(&conn->send_node);
	traffic_wants(conn);
	conn_watch(conn);
	look_soon(conn);
}

/* A line that is never empty must not keep what was given back for ever: each answer that went out makes room for one
 * of them. */
static void
let_pass(struct conn *conn)
{
	struct fifo_node *node;

	for (; conn->phase != CONN_DEAD && conn->passed_by > 0; conn->passed_by--)
		if ((node = fifo_pop(&conn->again)) != NULL)
			io_again(container_of(node, struct request, xfer.tx_node));
}

/* Nothing is left to be sent. */
static void
all_sent(struct conn *conn)
{
	struct fifo_node *node;

	for (int i = 0; i < AGAIN_BATCH && (node = fifo_pop(&conn->again)) != NULL; i++)
		io_again(container_of(node, struct request, xfer.tx_node));
	if (conn->phase == CONN_LEAVING && conn->request_count == 1)
		conn_leave(conn); /* a Disconnect is done when it is alone (Base 2.0, 6.4) */
	else if (conn->phase == CONN_FINISHING && conn->device_count == 0 && !conn->detaching &&
	    (conn->assoc == NULL || conn->assoc->queue_count == 0)) /* with an admin queue its I/O queues would end */
		conn_end(conn, false);
}

/* `bytes` went out, as writev() says it; what is wholly sent moves to `finished`. */
void
traffic_sent(struct conn *conn, ssize_t bytes, struct fifo *finished)
{
	struct fifo mine;

	if (bytes <= 0)
		return;
	conn->tx_bytes += (uint64_t)bytes;
	fifo_init(&mine);
	tconn_sent(&conn->tc, (size_t)bytes, &mine);
	if (!fifo_empty(&mine))
		conn->lend_since_ns = 0; /* another one is half sent now, or none */
	if (!fifo_empty(&conn->again))
		for (const struct fifo_node *node = mine.head; node != NULL; node = node->next)
			conn->passed_by++;
	fifo_splice(finished, &mine);
}

/* What follows from it; `asked` bytes were to be sent. */
void
traffic_after_send(struct conn *conn, ssize_t bytes, size_t asked)
{
	if (conn->phase == CONN_DEAD)
		return;
	if (bytes < 0 && bytes != -EAGAIN)
		conn_end(conn, true);
	else if (bytes < (ssize_t)asked)
		blocked(conn);
	else if (tconn_pending(&conn->tc))
		conn_send_soon(conn);
	else
		all_sent(conn);
	let_pass(conn);
}

/* What is taken back of a line: what is lent, and what others wait for. */
struct taking {
	const struct bufs *bufs;
	bool left; /* something with data was not */
};

static bool
to_take_back(const struct xfer *xfer, void *arg)
{
	const struct request *req = container_of(xfer, const struct request, xfer);
	struct taking *taking = arg;
	bool take = req->io.flags & BLK_LENT || bufs_wanted(taking->bufs, &req->bufs);

	taking->left |= !take;
	return take;
}

/* Reads of which nothing was sent, to be done again when the peer takes them; those that were before come first. */
static void
take_back(struct conn *conn)
{
	struct taking taking = { .bufs = &conn->core->reactor->bufs };
	struct fifo_node *node;
	struct fifo back, older;

	conn->to_look = false;
	fifo_init(&back);
	fifo_init(&older);
	tconn_withdraw(&conn->tc, to_take_back, &taking, &back);
	while ((node = fifo_pop(&back)) != NULL) {
		struct request *req = container_of(node, struct request, xfer.tx_node);

		request_unread(req);
		fifo_push(req->given_back ? &older : &conn->again, node);
		req->given_back = true;
	}
	fifo_splice(&older, &conn->again);
	fifo_splice(&conn->again, &older);
	if (taking.left && list_empty(&conn->keep_node))
		list_push(&conn->core->keeping, &conn->keep_node);
}

/*
 * No buffer is free for the rest of what is half sent, and until it is sent
 * nobody can write those blocks: where somebody wants to, it may not take long.
 * True: the peer took too long and has lost its connection.
 */
static bool
keeps_too_long(struct conn *conn, struct request *req)
{
	char peer[80];

	if (!borrow_is_over(conn, req))
		return false;
	borrow_refuse(conn);
	conn->stream->ops->name(conn->stream, true, peer, sizeof(peer));
	core_log_peer(conn->core, "%s: closed: it takes too long over a read that others wait to write, and no buffer "
	    "is free to keep it in", peer);
	conn_kill(conn);
	return true;
}

/* The answer with data of which a part was sent, which is the first in line; or NULL. */
struct request *
traffic_half_sent(const struct conn *conn)
{
	struct request *head;

	if (fifo_empty(&conn->tc.out))
		return NULL;
	head = container_of(conn->tc.out.head, struct request, xfer.tx_node);
	return head->xfer.state != XFER_ASKING && head->xfer.with_data && head->xfer.sent > 0 ? head : NULL;
}

/*
 * A peer that does not read must not hold the volume's memory, nor, where they
 * are short, buffers.  Reads of which nothing was sent are given back; the one
 * that is half sent is copied, and how long it may then take is for asked.c to
 * say.  A line that was looked through is not again, long as it may be, before
 * more data comes into it or buffers get short.
 */
static void
lend_expired(struct timer *timer)
{
	struct conn *conn = container_of(timer, struct conn, lend_timer);
	struct request *head;

	if (!conn->blocked)
		return;
	if (conn->qid == 0) {
		admin_bufs_blocked(conn);
		return;
	}
	if (conn->to_look)
		take_back(conn);
	head = traffic_half_sent(conn);
	if (head != NULL && head->stage != STAGE_SLOW) {
		head->stage = STAGE_SLOW;
		head->since_ns = conn->core->reactor->now_ns;
	}
	if (head == NULL || !(head->io.flags & BLK_LENT))
		return;
	request_unlend(head);
	if ((head->io.flags & BLK_LENT) == 0)
		conn->lend_since_ns = 0;
	else if (!keeps_too_long(conn, head))
		timer_set(&conn->core->reactor->timers, timer, conn->core->reactor->now_ns + LEND_AGAIN_NS);
}

/* ---- beginning ---- */

void
traffic_begin(struct conn *conn)
{
	list_init(&conn->read_node);
	list_init(&conn->send_node);
	list_init(&conn->keep_node);
	conn->lend_timer.fire = lend_expired;
	conn->stream->owner = conn;
	conn->stream->ready = ready;
	traffic_wants(conn);
}
