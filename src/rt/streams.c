/*
 * streams.c - sockets as streams of the world.
 *
 * The engine tells of edges, once.  `holds` remembers which events may hold
 * since: an edge sets a bit, a call that moved less than it was offered clears
 * it, and then the next edge is waited for.  Streams that moved bytes lately
 * are hot; while they are few, their owners read from them in each turn without
 * the engine being asked, which saves a system call per request of a queue of
 * depth one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rt/internal.h"
#include "sys/sock.h"
#include "sys/sockring.h"

enum { LINGER_NS = 1000 * 1000 * 1000 };

struct ksock {
	struct stream stream;  /* first: a stream is its socket */
	struct source source;
	struct rt *rt;
	struct list all_node, hot_node;
	struct timer linger;
	uint64_t hot_ns;       /* when it last moved bytes */
	int fd;
	uint8_t holds;
	bool hot;
	bool hup;              /* the end has come: a short read is not the last one */
	bool lingering;        /* closed by its owner; waits for the peer to close too, in core->lingering */
};

static const struct stream_ops sock_ops;

static struct ksock *sock_of(const struct stream *stream) { return (struct ksock *)stream; }

static void
cool(struct core *core, struct ksock *sock)
{
	if (!sock->hot)
		return;
	sock->hot = false;
	list_remove(&sock->hot_node);
	core->hot_count--;
}

/* The order of the list is only kept while it is too long to be polled. */
static void
heat(struct core *core, struct ksock *sock)
{
	core->moved++;
	sock->hot_ns = core->turn_ns;
	if (!sock->hot) {
		sock->hot = true;
		core->hot_count++;
	} else if (core->hot_count <= HOT_MAX) {
		return;
	} else {
		list_remove(&sock->hot_node);
	}
	list_push(&core->hot, &sock->hot_node);
}

static bool
is_cold(const struct core *core, const struct ksock *sock)
{
	return core->turn_ns - sock->hot_ns > core->rt->spin_ns;
}

void
streams_cool(struct core *core)
{
	while (!list_empty(&core->hot))
		cool(core, container_of(core->hot.next, struct ksock, hot_node));
}

/* A stream that waits for room to write cannot be polled: its edge comes from the engine. */
static bool
poll_one(struct core *core, struct ksock *sock)
{
	struct stream *stream = &sock->stream;
	bool blocked = (stream->wanted & STREAM_WRITABLE) && !(sock->holds & STREAM_WRITABLE);

	if (!(stream->wanted & STREAM_READABLE))
		return !blocked;
	if (list_empty(&stream->ready_node))
		stream->ready(stream, STREAM_READABLE);
	return !blocked;
}

bool
streams_poll(struct core *core)
{
	struct list batch, *node;
	bool enough = core->hot_count > 0;

	while (core->hot_count > HOT_MAX) {
		struct ksock *first = container_of(core->hot.next, struct ksock, hot_node);

		if (!is_cold(core, first))
			return false;
		cool(core, first);
	}
	list_init(&batch);
	while ((node = list_pop(&core->hot)) != NULL)
		list_push(&batch, node);
	/* Back into the list before ready(), which may close this stream or any other. */
	while ((node = list_pop(&batch)) != NULL) {
		struct ksock *sock = container_of(node, struct ksock, hot_node);

		list_push(&core->hot, node);
		if (is_cold(core, sock))
			cool(core, sock);
		else
			enough &= poll_one(core, sock);
	}
	return enough;
}

static void
sock_free(struct ksock *sock)
{
	struct rt *rt = sock->rt;

	close(sock->fd);
	pthread_mutex_lock(&rt->lock);
	list_remove(&sock->all_node);
	arena_free(&rt->arena, sock);
	pthread_mutex_unlock(&rt->lock);
}

/* A program that is somebody else's may fork: the engine would tell of what it has closed while a child has it open. */
static void
unwatch(struct core *core, struct ksock *sock)
{
	if (!core->rt->options.attended)
		return;
	core->rt->engine->remove(core->engine, sock->fd);
	core->reactor.syscalls++;
}

static void
linger_end(struct core *core, struct ksock *sock)
{
	timer_clear(&core->reactor.timers, &sock->linger);
	list_remove(&sock->hot_node);
	core->linger_count--;
	unwatch(core, sock);
	sock_free(sock);
}

static void
linger_fire(struct timer *timer)
{
	struct ksock *sock = container_of(timer, struct ksock, linger);

	linger_end(core_of(sock->stream.reactor), sock);
}

/* Closing a socket with unread bytes would reset the connection, and with it what we wrote last. */
static void
linger(struct core *core, struct ksock *sock)
{
	core->reactor.syscalls++;
	if (!sock_discard(sock->fd))
		linger_end(core, sock);
}

/* Nobody counts these: where there are too many the one that has had most time has no more. */
static void
linger_begin(struct core *core, struct ksock *sock)
{
	sock->lingering = true;
	sock->linger.fire = linger_fire;
	timer_set(&core->reactor.timers, &sock->linger, core->reactor.now_ns + LINGER_NS);
	list_push(&core->lingering, &sock->hot_node);
	if (++core->linger_count > RT_LINGER_MAX)
		linger_end(core, container_of(core->lingering.next, struct ksock, hot_node));
	linger(core, sock);
}

static void
sock_event(struct source *source, unsigned events)
{
	struct ksock *sock = container_of(source, struct ksock, source);
	unsigned holds = 0;

	if (sock->lingering) {
		linger(core_of(sock->stream.reactor), sock);
		return;
	}
	if (events & (ENGINE_IN | ENGINE_HUP))
		holds |= STREAM_READABLE;
	if (events & (ENGINE_OUT | ENGINE_HUP))
		holds |= STREAM_WRITABLE;
	if (events & ENGINE_HUP)
		sock->hup = true;
	sock->holds |= (uint8_t)holds;
	reactor_stream_ready(&sock->stream, holds);
}

/* Of so many pieces, what one system call takes. */
static int at_once(int count) { return count < SOCK_IOV_MAX ? count : SOCK_IOV_MAX; }

static size_t
iov_bytes(const struct iovec *iov, int count)
{
	size_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

/* After a call that moved `n` of `offered` bytes: may `event` still hold? */
static void
note_moved(struct ksock *sock, unsigned event, ssize_t n, size_t offered)
{
	struct core *core = core_of(sock->stream.reactor);
	bool more = n > 0 && (size_t)n == offered;

	if (n > 0)
		heat(core, sock);
	else if (n != -EAGAIN)
		core->moved++;
	if (event == STREAM_READABLE && sock->hup && n > 0)
		more = true;
	if (more) {
		sock->holds |= (uint8_t)event;
		reactor_stream_ready(&sock->stream, event);
	} else {
		sock->holds &= (uint8_t)~event;
		sock->stream.pending &= (uint8_t)~event;
	}
}

static ssize_t
sock_readv(struct stream *stream, const struct iovec *iov, int count)
{
	ssize_t n = sock_read(sock_of(stream)->fd, iov, at_once(count));

	stream->reactor->syscalls++;
	note_moved(sock_of(stream), STREAM_READABLE, n, iov_bytes(iov, at_once(count)));
	return n;
}

static ssize_t
sock_writev(struct stream *stream, const struct iovec *iov, int count)
{
	ssize_t n = sock_write(sock_of(stream)->fd, iov, at_once(count));

	stream->reactor->syscalls++;
	note_moved(sock_of(stream), STREAM_WRITABLE, n, iov_bytes(iov, at_once(count)));
	return n;
}

/* Several at once through the ring; what a signal came between is made alone. */
static void
move_together(struct core *core, bool out, struct stream_move *moves, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sockring_push(core->sockring, sock_of(moves[i].stream)->fd, out, moves[i].iov,
		    at_once(moves[i].count), &moves[i].result);
	core->reactor.syscalls += sockring_run(core->sockring);
	for (unsigned i = 0; i < count; i++) {
		struct stream_move *move = &moves[i];

		if (move->result == -EINTR)
			reactor_move_each(&core->reactor, out, move, 1);
		else
			note_moved(sock_of(move->stream), out ? STREAM_WRITABLE : STREAM_READABLE, move->result,
			    iov_bytes(move->iov, at_once(move->count)));
	}
}

void
world_move(struct reactor *reactor, bool out, struct stream_move *moves, unsigned count)
{
	struct core *core = core_of(reactor);

	while (core->sockring != NULL && count > 1) {
		unsigned some = count < SOCKRING_MAX ? count : SOCKRING_MAX;

		move_together(core, out, moves, some);
		moves += some;
		count -= some;
	}
	reactor_move_each(reactor, out, moves, count);
}

static void
sock_wants(struct stream *stream, unsigned events)
{
	unsigned newly = events & ~(unsigned)stream->wanted;

	stream->wanted = (uint8_t)events;
	if (newly != 0)
		reactor_stream_ready(stream, newly & sock_of(stream)->holds);
}

static void
sock_close(struct stream *stream, bool abort)
{
	struct core *core = core_of(stream->reactor);
	struct ksock *sock = sock_of(stream);

	cool(core, sock);
	core->watched--;
	reactor_stream_gone(stream);
	if (abort) {
		unwatch(core, sock);
		sock_abort(sock->fd);
		core->reactor.syscalls += 2;
		sock_free(sock);
		return;
	}
	sock_finish(sock->fd);
	core->reactor.syscalls += 2;
	linger_begin(core, sock);
}

static void
sock_detach(struct stream *stream)
{
	struct core *core = core_of(stream->reactor);
	struct ksock *sock = sock_of(stream);

	cool(core, sock);
	core->watched--;
	reactor_stream_gone(stream);
	core->rt->engine->remove(core->engine, sock->fd);
	core->reactor.syscalls++;
	stream->reactor = NULL;
}

static int
sock_attach(struct stream *stream, struct reactor *reactor)
{
	struct core *core = core_of(reactor);
	struct ksock *sock = sock_of(stream);
	int rc;

	stream->reactor = reactor;
	sock->holds = STREAM_READABLE | STREAM_WRITABLE;
	rc = core->rt->engine->add(core->engine, sock->fd, &sock->source);
	core->watched++; /* until it is closed or detached, also where it could not be added */
	core->reactor.syscalls++;
	return rc;
}

static void
sock_name(const struct stream *stream, bool peer, char *out, size_t bytes)
{
	char host[64];
	uint16_t port;

	if (sock_address(sock_of(stream)->fd, peer, host, sizeof(host), &port) != 0)
		snprintf(out, bytes, "unknown");
	else if (strchr(host, ':') != NULL)
		snprintf(out, bytes, "[%s]:%u", host, port);
	else
		snprintf(out, bytes, "%s:%u", host, port);
}

static const struct stream_ops sock_ops = {
	.readv = sock_readv,
	.writev = sock_writev,
	.wants = sock_wants,
	.close = sock_close,
	.detach = sock_detach,
	.attach = sock_attach,
	.name = sock_name,
};

int
streams_adopt(struct core *core, int fd, bool connected, struct stream **stream)
{
	struct rt *rt = core->rt;
	struct ksock *sock;
	int rc;

	pthread_mutex_lock(&rt->lock);
	sock = arena_alloc(&rt->arena, sizeof(*sock));
	if (sock != NULL)
		list_push(&rt->socks, &sock->all_node);
	pthread_mutex_unlock(&rt->lock);
	if (sock == NULL) {
		close(fd);
		return -ENOMEM;
	}
	sock->stream.ops = &sock_ops;
	list_init(&sock->stream.ready_node);
	list_init(&sock->hot_node);
	sock->source.event = sock_event;
	sock->rt = rt;
	sock->fd = fd;
	rc = sock_attach(&sock->stream, &core->reactor);
	if (rc != 0) {
		core->watched--;
		sock_free(sock);
		return rc;
	}
	/* While it connects nothing holds; the edge comes with the end of that. */
	if (!connected)
		sock->holds = 0;
	*stream = &sock->stream;
	return 0;
}

int
world_connect(struct reactor *reactor, const char *host, uint16_t port, struct stream **stream)
{
	struct core *core = core_of(reactor);
	int fd = sock_connect(host, port, &core->rt->options.sockets);

	reactor->syscalls += 4;
	return fd < 0 ? fd : streams_adopt(core, fd, false, stream);
}

void
streams_end_lingering(struct core *core)
{
	while (!list_empty(&core->lingering))
		linger_end(core, container_of(core->lingering.next, struct ksock, hot_node));
}

void
streams_close_all(struct rt *rt)
{
	while (!list_empty(&rt->socks)) {
		struct ksock *sock = container_of(rt->socks.next, struct ksock, all_node);

		sock_free(sock);
	}
}

size_t rt_stream_bytes(void) { return arena_takes(sizeof(struct ksock), 0); }
