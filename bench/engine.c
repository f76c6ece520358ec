/*
 * engine.c - who has bytes, and moving them: by polling and by epoll.
 *
 * A turn reads each link that has something once, up to 256 KiB (a short read
 * of a stream socket says EAGAIN without another system call), lets its owner
 * take it, and sends all that the owner answers with in one call.  Registered
 * once, edge-triggered, so that a turn costs one epoll_wait() and none where a
 * single link is polled.  It does not know what the bytes mean.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ceiling.h"

enum { EVENTS = 256, LOOK_AWAY_TURNS = 4096 };

void
engine_init(struct engine *engine, const struct options *options, int listening,
    void (*accepted)(struct engine *, int))
{
	struct epoll_event event = { .events = EPOLLIN };

	memset(engine, 0, sizeof(*engine));
	engine->kind = options->engine;
	engine->listening = listening;
	engine->accepted = accepted;
	engine->epoll = -1;
	engine->turn_tsc = engine->busy_at = tsc();
	engine->spin_tsc = (uint64_t)((double)options->spin_ns * tsc_per_ns());
	if (engine->kind == ENGINE_URING) {
		uring_init(engine);
		return;
	}
	engine->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (engine->epoll < 0)
		die("epoll_create1: %s", strerror(errno));
	if (listening >= 0 && epoll_ctl(engine->epoll, EPOLL_CTL_ADD, listening, &event) != 0)
		die("epoll_ctl: %s", strerror(errno));
}

struct link *
link_create(struct engine *engine, int fd, const struct link_ops *ops, void *owner)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
	struct link *link = mmap(NULL, sizeof(*link), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (link == MAP_FAILED)
		die("mmap of a link: %s", strerror(errno));
	link->engine = engine;
	link->ops = ops;
	link->owner = owner;
	link->fd = fd;
	event.data.ptr = link;
	if (engine->kind == ENGINE_URING)
		uring_add(link);
	else if (epoll_ctl(engine->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		die("epoll_ctl: %s", strerror(errno));
	return link;
}

/* The link is served in the next turn without an event; the hot one is anyway. */
static void
link_again(struct link *link, bool cooling)
{
	struct engine *engine = link->engine;

	if (link->again || (link == engine->hot && !cooling) || engine->kind == ENGINE_URING)
		return;
	if (engine->again_count == LINKS_MAX)
		die("more than %d links", LINKS_MAX);
	link->again = true;
	engine->again[engine->again_count++] = link;
}

void
link_set_io(struct link *link)
{
	struct engine *engine = link->engine;

	link->io = true;
	engine->io_links++;
	if (engine->hot != NULL)
		link_again(engine->hot, true);
	engine->hot = engine->io_links == 1 && engine->kind == ENGINE_POLL ? link : NULL;
}

/* With io_uring the memory is the kernel's until its last operation has ended. */
void
link_close(struct link *link)
{
	struct engine *engine = link->engine;

	if (!link->dead) {
		link->dead = true;
		link->ops->gone(link);
		if (link->io)
			engine->io_links--;
		if (engine->hot == link)
			engine->hot = NULL;
		for (unsigned i = 0; i < engine->again_count; i++) {
			if (engine->again[i] == link)
				engine->again[i] = engine->again[--engine->again_count];
		}
		shutdown(link->fd, SHUT_RDWR);
	}
	if (link->ops_out > 0)
		return;
	close(link->fd);
	munmap(link, sizeof(*link));
}

/* 1: all is sent, 0: some of it waits, negative: the connection is gone. */
static int
link_send(struct link *link)
{
	struct engine *engine = link->engine;
	ssize_t n;

	link->msg.msg_iov = link->iov + link->iov_first;
	link->msg.msg_iovlen = link->iov_count - link->iov_first;
	engine->counters.syscalls++;
	n = sendmsg(link->fd, &link->msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		return -errno;
	link->sending = n < 0 || (size_t)n < link->out_bytes;
	if (!link->sending)
		return 1;
	if (n > 0)
		link->out_bytes -= (size_t)n;
	while (n > 0) {
		struct iovec *iov = &link->iov[link->iov_first];

		if ((size_t)n < iov->iov_len) {
			iov->iov_base = (uint8_t *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
			break;
		}
		n -= (ssize_t)iov->iov_len;
		link->iov_first++;
	}
	return 0;
}

/* Sends what waits, then what the owner has more. */
static int
link_flush(struct link *link)
{
	int rc = 1;

	if (link->sending)
		rc = link_send(link);
	while (rc > 0) {
		link_clear(link);
		rc = link->ops->fill(link);
		if (rc < 0 || link->iov_count == 0)
			return rc < 0 ? rc : 1;
		link->engine->counters.sends++;
		rc = link_send(link);
		if (rc > 0 && !link->more)
			return 1;
	}
	return rc;
}

/* The number of bytes that came, 0 if none, negative at the end. */
static ssize_t
link_receive(struct link *link)
{
	size_t room = sizeof(link->rbuf) - link->rlen;
	size_t asked = room < TURN_BYTES ? room : TURN_BYTES;
	ssize_t n;

	link->engine->counters.syscalls++;
	n = recv(link->fd, link->rbuf + link->rlen, asked, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	link->rlen += (uint32_t)n;
	if ((size_t)n == asked)
		link_again(link, false);
	return n;
}

/* A link that held while it was sending may have missed the edge of what came meanwhile. */
bool
link_serve(struct link *link, bool readable)
{
	bool was_sending = link->sending, moved = false;
	ssize_t n = 0;
	int rc;

	if (readable && !(link->sending && link->holds)) {
		n = link_receive(link);
		if (n > 0) {
			moved = true;
			n = link->ops->take(link);
		}
		if (n < 0) {
			link_close(link);
			return true;
		}
	}
	if (!moved && !was_sending)
		return false;
	rc = link_flush(link);
	if (rc < 0) {
		link_close(link);
		return true;
	}
	if (was_sending && !link->sending && link->holds)
		link_again(link, false);
	return moved || (was_sending && !link->sending);
}

void
link_start(struct link *link)
{
	if (link->engine->kind == ENGINE_URING)
		uring_start(link);
	else if (link_flush(link) < 0)
		die("the connection broke at once");
}

static bool
serve_again(struct engine *engine)
{
	struct link *links[LINKS_MAX];
	unsigned count = engine->again_count;
	bool moved = false;

	memcpy(links, engine->again, count * sizeof(links[0]));
	engine->again_count = 0;
	for (unsigned i = 0; i < count; i++)
		links[i]->again = false;
	/* A link closes none but itself. */
	for (unsigned i = 0; i < count; i++)
		moved |= link_serve(links[i], true);
	return moved;
}

static bool
epoll_turn(struct engine *engine, bool sleep)
{
	struct epoll_event events[EVENTS];
	bool moved = false;
	int n;

	if (engine->again_count > 0) {
		moved = serve_again(engine);
		sleep = false;
	}
	engine->counters.syscalls++;
	n = epoll_wait(engine->epoll, events, EVENTS, sleep ? SLEEP_MS : 0);
	if (sleep)
		engine->turn_tsc = tsc();
	if (sleep && n > 0)
		engine->busy_at = engine->turn_tsc;
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == NULL)
			engine->accepted(engine, engine->listening);
		else
			moved |= link_serve(events[i].data.ptr, events[i].events & ~(uint32_t)EPOLLOUT);
	}
	return moved;
}

static bool
hot_turn(struct engine *engine)
{
	bool moved;

	if (++engine->empty_turns >= LOOK_AWAY_TURNS || engine->again_count > 0) {
		engine->empty_turns = 0;
		return epoll_turn(engine, false);
	}
	moved = link_serve(engine->hot, true);
	if (moved)
		engine->empty_turns = 0;
	return moved;
}

bool
engine_turn(struct engine *engine)
{
	bool sleep = engine->turn_tsc - engine->busy_at > engine->spin_tsc;
	bool moved;
	uint64_t now;

	if (engine->kind == ENGINE_URING)
		moved = uring_turn(engine, sleep);
	else if (engine->hot != NULL && !sleep)
		moved = hot_turn(engine);
	else
		moved = epoll_turn(engine, sleep);
	now = tsc();
	engine->counters.turns++;
	if (moved) {
		engine->counters.busy_turns++;
		engine->counters.busy_tsc += now - engine->turn_tsc;
		engine->busy_at = now;
	}
	engine->turn_tsc = now;
	return moved;
}
