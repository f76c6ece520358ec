/*
 * turn.c - what the connections of a core receive and send in one turn.
 *
 * Connections of which little is expected are read together, and what several
 * have to send is sent together: where the world can, that is one system call
 * for all.  A connection that sends much is read alone, with all the room
 * there is.
 */
#include "target/conn.h"

enum {
	TOGETHER = 64,          /* connections in one move */
	ALONE = 8192,           /* who sent more than this the last time is read alone */
	ROOM_MIN = 512,         /* for one that is read with others: twice what is expected, and at least this */
	/* A capsule whose data needs a buffer of its own is at least so long. */
	CAPSULE_MIN = 72 + 48,
	RECEIVE_MIN = 4096,     /* with buffers for less than this, PDUs are received one piece at a time */
	RECEIVE_MORE = 32 * 1024,
	RECEIVE_TURN = REACTOR_SCRATCH, /* of one connection in a turn, and then what one more read gives */
	/* A PDU takes some 90 ns, however little is in it: a whole read of crumbs takes a millisecond. */
	CRUMBS_MANY = 256,      /* who has sent more is read by less, for good: else he would do it every other time */
	RECEIVE_CRUMBS = 16 * 1024,
};

/* ---- receiving ---- */

/* So few buffers may be promised that PDUs are received one piece at a time: no capsule comes whole then. */
static bool
buffers_short(const struct bufs *bufs)
{
	return bufs->small.stuck || bufs_promisable(bufs) < RECEIVE_MIN / CAPSULE_MIN;
}

/* The same for one connection, because there may be more capsules in what it sends for a volume that has its share:
 * received so, they have to ask. */
static bool
is_careful(const struct conn *conn)
{
	const struct bufs *bufs = &conn->core->reactor->bufs;

	return buffers_short(bufs) || (conn->beyond != NULL && bufs_beyond(bufs, &conn->beyond->bufs));
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
 * more than the piece of a PDU at hand, which may be all of its data; and of who
 * sends crumbs no more than takes about as long as what others send.
 */
static size_t
receive_limit(const struct conn *conn, size_t direct)
{
	const struct bufs *bufs = &conn->core->reactor->bufs;
	size_t limit;

	if (conn->phase == CONN_TERMINATED)
		return REACTOR_SCRATCH;
	if (is_careful(conn))
		return framer_need(&conn->tc.framer) - direct;
	limit = (size_t)(bufs_promisable(bufs) - 1) * CAPSULE_MIN;
	return conn->tc.crumbs > CRUMBS_MANY && limit > RECEIVE_CRUMBS ? RECEIVE_CRUMBS : limit;
}

static void
hear(struct core *core)
{
	core->heard_ns = core->reactor->world->time_ns(core->reactor);
}

/* One read and what came with it; the bytes, or 0 when nothing more is to be read now. */
static size_t
receive(struct conn *conn)
{
	struct iovec iov[BUFS_IOV_MAX + 1];
	struct bufs *bufs = &conn->core->reactor->bufs;
	int count = conn->phase == CONN_TERMINATED ? 0 : framer_direct(&conn->tc.framer, iov, BUFS_IOV_MAX);
	size_t direct = 0;
	ssize_t bytes;

	for (int i = 0; i < count; i++)
		direct += iov[i].iov_len;
	iov[count] = reactor_scratch(conn->core->reactor, 0, receive_limit(conn, direct));
	count += iov[count].iov_len > 0;
	bytes = conn->stream->ops->readv(conn->stream, iov, count);
	hear(conn->core);
	if (conn->phase != CONN_TERMINATED && bytes > (ssize_t)direct && !is_careful(conn))
		bufs_promise(bufs, capsules_in((size_t)bytes - direct));
	traffic_take(conn, bytes, direct, conn->core->reactor->scratch);
	bufs_promise(bufs, 0);
	return bytes > 0 && conn->phase != CONN_TERMINATED && traffic_wants_to_read(conn) ? (size_t)bytes : 0;
}

/*
 * A peer that sent this much at once is in the middle of sending more.  What
 * comes while the first part is worked on is taken in the same turn, so that
 * all answers go out together: many small answers would make it send little at
 * a time, and that costs both ends more.
 */
static void
receive_alone(struct conn *conn, size_t already)
{
	size_t total = already, bytes;

	conn->held++;
	do {
		bytes = receive(conn);
		total += bytes;
	} while (bytes >= RECEIVE_MORE && total < RECEIVE_TURN);
	if (total > 0)
		conn->expected = (uint32_t)total;
	conn->held--;
	conn_maybe_free(conn);
}

/* Connections that are about to be read together. */
struct reading {
	unsigned count;
	size_t used;          /* of the scratch, bytes */
	uint32_t capsules;    /* that may lie there, each of which must find its buffer */
	struct conn *conns[TOGETHER];
	struct iovec iov[TOGETHER];
	struct stream_move moves[TOGETHER];
};

static bool
is_read_alone(const struct conn *conn)
{
	return conn->expected > ALONE || conn->phase == CONN_TERMINATED ||
	    conn->tc.framer.state != FRAMER_HEADER || is_careful(conn);
}

/* False: no room is left.  The first is taken in any case: it is then read alone. */
static bool
join(struct reading *reading, struct conn *conn)
{
	const struct reactor *reactor = conn->core->reactor;
	size_t room = 2 * (size_t)conn->expected;
	unsigned i = reading->count;

	if (room < ROOM_MIN)
		room = ROOM_MIN;
	if (i > 0 && (i == TOGETHER || buffers_short(&reactor->bufs) || reading->used + room > REACTOR_SCRATCH ||
	    reading->capsules + capsules_in(room) > bufs_promisable(&reactor->bufs)))
		return false;
	reading->conns[i] = conn;
	reading->iov[i] = reactor_scratch(reactor, reading->used, room);
	reading->moves[i] = (struct stream_move){ conn->stream, &reading->iov[i], 1, 0 };
	reading->count++;
	reading->used += room;
	reading->capsules += capsules_in(room);
	return true;
}

static void
fill(struct reading *reading, struct list *few)
{
	reading->count = reading->capsules = 0;
	reading->used = 0;
	while (!list_empty(few)) {
		struct conn *conn = container_of(few->next, struct conn, read_node);

		if (traffic_wants_to_read(conn) && !join(reading, conn))
			return;
		list_remove(&conn->read_node);
	}
}

static void
read_together(struct core *core, struct reading *reading)
{
	struct bufs *bufs = &core->reactor->bufs;
	uint32_t promised = 0;

	core->reactor->world->move(core->reactor, false, reading->moves, reading->count);
	hear(core);
	for (unsigned i = 0; i < reading->count; i++) {
		ssize_t bytes = reading->moves[i].result;

		reading->conns[i]->held++;
		promised += bytes > 0 ? capsules_in((size_t)bytes) : 0;
	}
	for (unsigned i = 0; i < reading->count; i++) {
		struct conn *conn = reading->conns[i];
		ssize_t bytes = reading->moves[i].result;

		bufs_promise(bufs, promised);
		if (bytes > 0) {
			promised -= capsules_in((size_t)bytes);
			conn->expected = (uint32_t)bytes;
		}
		traffic_take(conn, bytes, 0, reading->iov[i].iov_base);
	}
	bufs_promise(bufs, 0);
	for (unsigned i = 0; i < reading->count; i++) {
		struct conn *conn = reading->conns[i];

		conn->held--;
		/* There was more than was expected. */
		if (conn->phase != CONN_DEAD && reading->moves[i].result == (ssize_t)reading->iov[i].iov_len &&
		    traffic_wants_to_read(conn))
			receive_alone(conn, reading->iov[i].iov_len);
		else
			conn_maybe_free(conn);
	}
}

/* First those who are read alone: what they take of the buffers is gone before the others share the rest. */
static void
receive_all(struct task *task)
{
	struct core *core = container_of(task, struct core, receive);
	struct reading reading;
	struct list few, *node;

	list_init(&few);
	while ((node = list_pop(&core->reading)) != NULL) {
		struct conn *conn = container_of(node, struct conn, read_node);

		if (traffic_wants_to_read(conn) && is_read_alone(conn))
			receive_alone(conn, 0);
		else
			list_push(&few, node);
	}
	while (!list_empty(&few)) {
		fill(&reading, &few);
		if (reading.count == 1)
			receive_alone(reading.conns[0], 0);
		else if (reading.count > 1)
			read_together(core, &reading);
	}
}

/* It may have something to read. */
void
turn_receive(struct conn *conn)
{
	if (list_empty(&conn->read_node))
		list_push(&conn->core->reading, &conn->read_node);
	reactor_run_in(conn->core->reactor, PHASE_RECEIVE, &conn->core->receive);
}

/* ---- sending ---- */

struct sending {
	unsigned count;
	struct conn *conns[TOGETHER];
	size_t bytes[TOGETHER];
	struct stream_move moves[TOGETHER];
};

/* What follows from a send; then the turn lets go of the connection. */
static void
let_go(struct conn *conn, ssize_t bytes, size_t asked)
{
	traffic_after_send(conn, bytes, asked);
	conn->held--;
	conn_maybe_free(conn);
}

/* Each with all it has to send; who finds too little room comes first in the next move. */
static void
gather_all(struct core *core, struct sending *sending)
{
	struct gather *g = core->gather;

	sending->count = 0;
	gather_reset(g);
	while (sending->count < TOGETHER && gather_room(g) && !list_empty(&core->sending)) {
		struct conn *conn = container_of(core->sending.next, struct conn, send_node);
		unsigned i = sending->count;

		tconn_gather(&conn->tc, g);
		/* Too little room; or nothing is left to send, and what follows from that comes after the move. */
		if (i > 0 && (!gather_room(g) || g->bytes == 0))
			return;
		list_remove(&conn->send_node);
		conn->held++;
		if (g->bytes == 0) {
			let_go(conn, 0, 0);
			continue;
		}
		sending->conns[i] = conn;
		sending->bytes[i] = g->bytes;
		sending->moves[i] = (struct stream_move){
			conn->stream, g->iov + g->first, (int)(g->count - g->first), 0,
		};
		sending->count++;
	}
}

static void
send_together(struct core *core, struct sending *sending)
{
	struct fifo finished;

	core->reactor->world->move(core->reactor, true, sending->moves, sending->count);
	/* First what went out of all of them, then what follows, which may put more in the line of any. */
	fifo_init(&finished);
	for (unsigned i = 0; i < sending->count; i++)
		traffic_sent(sending->conns[i], sending->moves[i].result, &finished);
	request_free_all(&finished);
	for (unsigned i = 0; i < sending->count; i++)
		let_go(sending->conns[i], sending->moves[i].result, sending->bytes[i]);
}

static void
send_all(struct task *task)
{
	struct core *core = container_of(task, struct core, send);
	struct sending sending;

	while (!list_empty(&core->sending)) {
		gather_all(core, &sending);
		send_together(core, &sending);
	}
	task_cancel(task); /* who asked meanwhile was served */
}

/* It may have something to send, and its stream takes it as far as is known. */
void
turn_send(struct conn *conn)
{
	if (list_empty(&conn->send_node))
		list_push(&conn->core->sending, &conn->send_node);
	reactor_run_in(conn->core->reactor, PHASE_SEND, &conn->core->send);
}

void
turn_begin(struct core *core)
{
	list_init(&core->reading);
	list_init(&core->sending);
	list_init(&core->keeping);
	task_init(&core->receive, receive_all);
	task_init(&core->send, send_all);
}

void
turn_end(struct core *core)
{
	task_cancel(&core->receive);
	task_cancel(&core->send);
}
