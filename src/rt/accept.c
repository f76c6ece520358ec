/*
 * accept.c - listening sockets, and what becomes of connections.
 *
 * A listener is reported once per edge and then asked until it has no more.
 * Where the process or the machine has no descriptors or memory left,
 * accepting rests and is tried again by a timer; connections wait in the
 * kernel's queue meanwhile.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rt/internal.h"
#include "sys/sock.h"

enum {
	ACCEPT_BATCH = 64,             /* per turn: those already here are served too */
	REST_NS = 100 * 1000 * 1000,
};

struct kaccept {
	struct listener *listener;
	struct core *core;
	struct source source;
	struct list node;  /* in core->accepting, while there may be connections */
	struct timer rest;
	bool local;        /* a path, not an address */
	bool told;         /* the operator, of this shortage */
	int fd;
};

static void
accept_event(struct source *source, unsigned events)
{
	struct kaccept *acc = container_of(source, struct kaccept, source);

	if (list_empty(&acc->node) && !acc->rest.armed)
		list_push(&acc->core->accepting, &acc->node);
}

static void
rest_end(struct timer *timer)
{
	struct kaccept *acc = container_of(timer, struct kaccept, rest);

	list_push(&acc->core->accepting, &acc->node);
}

/* Once, until one is accepted again. */
static void
tell(struct kaccept *acc, const char *what, int rc)
{
	struct reactor *reactor = &acc->core->reactor;
	char line[128];

	if (acc->told)
		return;
	acc->told = true;
	snprintf(line, sizeof(line), "%s: %s", what, strerrordesc_np(-rc));
	reactor->world->log(reactor, 1, line);
}

static void
rest(struct kaccept *acc, int rc)
{
	struct reactor *reactor = &acc->core->reactor;

	list_remove(&acc->node);
	timer_set(&reactor->timers, &acc->rest, reactor->now_ns + REST_NS);
	tell(acc, rc == -ENOSPC ? "no connection can be taken, fs.epoll.max_user_watches are in use" :
	    "no connection can be taken", rc);
}

/* Has the world run short?  Everything else is the one connection's own trouble. */
static bool
is_shortage(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOBUFS || rc == -ENOSPC;
}

/* As accept(2) has it, they are of one whose peer or way is gone, and need no words. */
static bool
is_gone(int rc)
{
	return rc == -ECONNABORTED || rc == -ECONNRESET || rc == -ENOTCONN || rc == -EPERM || rc == -EPROTO ||
	    rc == -ENETDOWN || rc == -ENETUNREACH || rc == -EHOSTDOWN || rc == -EHOSTUNREACH || rc == -EINTR;
}

/* False: nothing more now, or the listener is gone. */
static bool
accept_one(struct core *core, struct kaccept *acc)
{
	struct stream *stream = NULL;
	int rc = sock_accept(acc->fd, acc->local ? NULL : &core->rt->options.sockets);

	core->reactor.syscalls++;
	if (rc >= 0) {
		core->reactor.syscalls++;
		rc = streams_adopt(core, rc, true, &stream);
	}
	if (rc == -EAGAIN) {
		list_remove(&acc->node);
		return false;
	}
	core->moved++;
	if (is_shortage(rc)) {
		rest(acc, rc);
		return false;
	}
	if (rc != 0) {
		if (!is_gone(rc))
			tell(acc, "a connection is not accepted", rc);
		return true;
	}
	acc->told = false;
	acc->listener->accepted(acc->listener, stream);
	return core->accept_now == acc;
}

void
accept_ready(struct core *core)
{
	struct list batch, *node;

	if (list_empty(&core->accepting))
		return;
	list_init(&batch);
	while ((node = list_pop(&core->accepting)) != NULL)
		list_push(&batch, node);
	while ((node = list_pop(&batch)) != NULL) {
		struct kaccept *acc = container_of(node, struct kaccept, node);
		int left = ACCEPT_BATCH;

		list_push(&core->accepting, node);
		core->accept_now = acc;
		while (left > 0 && accept_one(core, acc))
			left--;
		core->accept_now = NULL;
	}
}

static bool
listens_at(int fd, const struct listener *listener)
{
	char host[sizeof(listener->host)];
	uint16_t port;

	return sock_address(fd, false, host, sizeof(host), &port) == 0 && port == listener->port &&
	    strcmp(host, listener->host) == 0;
}

/*
 * The socket that we were handed for this address, or -1.  It is the listener's from now on and is looked at no more:
 * once that is closed, its number is anybody's.
 */
static int
take_inherited(struct rt *rt, const struct listener *listener)
{
	int fd = -1;

	pthread_mutex_lock(&rt->lock);
	for (unsigned i = 0; fd < 0 && i < rt->options.inherited_count; i++) {
		if (!(rt->inherited >> i & 1) || !listens_at(rt->options.inherited_first + (int)i, listener))
			continue;
		fd = rt->options.inherited_first + (int)i;
		rt->inherited &= ~(UINT64_C(1) << i);
	}
	pthread_mutex_unlock(&rt->lock);
	return fd;
}

static int
listen_at(struct rt *rt, const struct listener *listener)
{
	int fd;

	if (listener->host[0] == '/')
		return sock_listen_local(listener->host);
	fd = take_inherited(rt, listener);
	return fd >= 0 ? fd : sock_listen(listener->host, listener->port, &rt->options.sockets);
}

int
world_listen(struct reactor *reactor, struct listener *listener)
{
	struct core *core = core_of(reactor);
	struct kaccept *acc = arena_alloc(reactor->arena, sizeof(*acc));
	int rc;

	if (acc == NULL)
		return -ENOMEM;
	*acc = (struct kaccept){ .listener = listener, .core = core };
	list_init(&acc->node);
	acc->source.event = accept_event;
	acc->rest.fire = rest_end;
	acc->local = listener->host[0] == '/';
	acc->fd = rc = listen_at(core->rt, listener);
	if (rc < 0)
		goto fail;
	rc = acc->local ? 0 :
	    sock_address(acc->fd, false, listener->host, sizeof(listener->host), &listener->port);
	if (rc != 0)
		goto fail;
	rc = core->rt->engine->add(core->engine, acc->fd, &acc->source);
	if (rc != 0)
		goto fail;
	core->watched++;
	listener->impl = acc;
	return 0;
fail:
	if (acc->fd >= 0)
		close(acc->fd);
	arena_free(reactor->arena, acc);
	return rc;
}

void
world_unlisten(struct reactor *reactor, struct listener *listener)
{
	struct core *core = core_of(reactor);
	struct kaccept *acc = listener->impl;

	if (core->accept_now == acc)
		core->accept_now = NULL;
	core->watched--;
	list_remove(&acc->node);
	timer_clear(&reactor->timers, &acc->rest);
	if (acc->local)
		unlink(listener->host);
	close(acc->fd);
	arena_free(reactor->arena, acc);
	listener->impl = NULL;
}
