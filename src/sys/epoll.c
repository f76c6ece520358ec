/* epoll.c - the engine over epoll: edge-triggered, everything registered once. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/arena.h"
#include "sys/engine.h"

enum { BATCH = 256 };

struct engine {
	struct arena *arena;
	int fd;
	struct epoll_event events[BATCH];
};

static int
epoll_open(struct arena *arena, struct engine **out)
{
	struct engine *engine = arena_alloc(arena, sizeof(*engine));

	if (engine == NULL)
		return -ENOMEM;
	engine->arena = arena;
	engine->fd = epoll_create1(EPOLL_CLOEXEC);
	if (engine->fd < 0) {
		int rc = -errno;

		arena_free(arena, engine);
		return rc;
	}
	*out = engine;
	return 0;
}

static void
epoll_shut(struct engine *engine)
{
	close(engine->fd);
	arena_free(engine->arena, engine);
}

static int
epoll_add(struct engine *engine, int fd, struct source *source)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = source,
	};

	return epoll_ctl(engine->fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static void
epoll_remove(struct engine *engine, int fd)
{
	int rc = epoll_ctl(engine->fd, EPOLL_CTL_DEL, fd, NULL);

	assert(rc == 0);
}

/* Rounded up: a timer that is due in half a millisecond must not become a busy loop. */
static int
timeout_ms(int64_t timeout_ns)
{
	int64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);

	if (timeout_ns < 0)
		return -1;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

static bool
epoll_look(struct engine *engine, int64_t timeout_ns)
{
	int n = epoll_wait(engine->fd, engine->events, BATCH, timeout_ms(timeout_ns));

	assert(n >= 0 || errno == EINTR);
	for (int i = 0; i < n; i++) {
		struct source *source = engine->events[i].data.ptr;
		uint32_t bits = engine->events[i].events;
		unsigned events = 0;

		if (bits & EPOLLIN)
			events |= ENGINE_IN;
		if (bits & EPOLLOUT)
			events |= ENGINE_OUT;
		if (bits & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			events |= ENGINE_HUP;
		source->event(source, events);
	}
	return n >= 0;
}

static int epoll_fd(const struct engine *engine) { return engine->fd; }

const struct engine_ops engine_epoll = {
	.open = epoll_open,
	.close = epoll_shut,
	.add = epoll_add,
	.remove = epoll_remove,
	.wait = epoll_look,
	.fd = epoll_fd,
};
