/*
 * rt.c - making a process, running it, taking it down.
 */
#include "rt/rt.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "rt/internal.h"
#include "sys/boot.h"
#include "sys/clock.h"
#include "sys/line.h"
#include "sys/pages.h"
#include "sys/sigs.h"
#include "sys/sockring.h"

struct rt_options
rt_options_default(void)
{
	return (struct rt_options){
		.reactors = 1,
		.reactor = { .small_bufs = 256, .large_bufs = 128 },
		.spin_us = RT_SPIN_AUTO,
	};
}

/* ---- the small operations of the world ---- */

static void *
world_pages_map(struct reactor *reactor, size_t bytes, bool apart)
{
	reactor->syscalls++;
	return pages_map(bytes, apart);
}

static void *
world_pages_reserve(struct reactor *reactor, size_t bytes, size_t room)
{
	reactor->syscalls++;
	return pages_reserve(bytes, room);
}

static int
world_pages_use(struct reactor *reactor, void *pages, size_t bytes)
{
	reactor->syscalls++;
	return pages_use(pages, bytes);
}

static void
world_pages_unmap(struct reactor *reactor, void *pages, size_t bytes)
{
	reactor->syscalls++;
	pages_unmap(pages, bytes);
}

static void
world_pages_discard(struct reactor *reactor, void *pages, size_t bytes)
{
	reactor->syscalls++;
	pages_discard(pages, bytes);
}

static uint64_t
world_boot(struct reactor *reactor)
{
	return boot_number();
}

static uint64_t
world_random(struct reactor *reactor)
{
	reactor->syscalls++;
	return clock_random();
}

static uint64_t
world_time_ns(struct reactor *reactor)
{
	return clock_now_ns();
}

static uint64_t
world_wall_ms(struct reactor *reactor)
{
	return clock_wall_ms();
}

/* It does not wait: of all others would, too. */
void
rt_say(const struct rt *rt, int level, const char *text)
{
	static const char *const levels[] = { "error: ", "warning: ", "" };

	if (rt->options.log != NULL)
		rt->options.log(rt->options.owner, level, text);
	else if (!rt->options.attended)
		line_say("weir: %s%s\n", levels[level], text);
}

static void
world_log(struct reactor *reactor, int level, const char *text)
{
	reactor->syscalls++;
	rt_say(core_of(reactor)->rt, level, text);
}

const struct world_ops rt_world = {
	.listen = world_listen,
	.unlisten = world_unlisten,
	.connect = world_connect,
	.move = world_move,
	.file_open = world_file_open,
	.file_share = world_file_share,
	.file_make = world_file_make,
	.file_extend = world_file_extend,
	.file_id = world_file_id,
	.file_undo = world_file_undo,
	.file_fetch = world_file_fetch,
	.file_load = world_file_load,
	.file_data = world_file_data,
	.file_map = world_file_map,
	.file_write_back = world_file_write_back,
	.file_submit = world_file_submit,
	.file_close = world_file_close,
	.pages_map = world_pages_map,
	.pages_reserve = world_pages_reserve,
	.pages_use = world_pages_use,
	.pages_unmap = world_pages_unmap,
	.pages_discard = world_pages_discard,
	.post = world_post,
	.errand = world_errand,
	.annex_open = world_annex_open,
	.annex_close = world_annex_close,
	.boot = world_boot,
	.random = world_random,
	.time_ns = world_time_ns,
	.wall_ms = world_wall_ms,
	.log = world_log,
};

/* ---- making ---- */

static void
drop_mail(struct reactor *reactor, const struct mail *mail)
{
	reactor->world->log(reactor, 1, "mail to a reactor that takes none");
}

static const char watches[] = "room in an epoll (fs.epoll.max_user_watches)";

static void
woken(struct source *source, unsigned events)
{
}

static void
signalled(struct source *source, unsigned events)
{
	container_of(source, struct core, signals)->signal_due = true;
}

/* Hands `rc` on; where that is a failure it is said what was not to be had. */
static int
needs(struct rt *rt, const char *what, int rc)
{
	if (rc != 0 && rt->options.missing != NULL)
		*rt->options.missing = what;
	return rc;
}

/* Without one each socket is read and written by a system call of its own. */
static int
open_sockring(struct core *core)
{
	enum rt_moves wish = core->rt->options.moves;
	int rc;

	if (wish == RT_MOVES_CALLS)
		return 0;
	rc = sockring_open(&core->arena, &core->sockring);
	return wish == RT_MOVES_URING ? rc : 0;
}

static int
core_open(struct core *core, struct rt *rt, unsigned index)
{
	int rc;

	core->rt = rt;
	core->signal_fd = core->waker.fd = core->timer_fd = -1;
	list_init(&core->hot);
	list_init(&core->lingering);
	list_init(&core->accepting);
	arena_init(&core->arena, 0);
	rc = reactor_init(&core->reactor, &rt_world, &core->arena, index, rt->count, &rt->options.reactor);
	if (rc != 0)
		return needs(rt, "memory", rc);
	core->reactor.now_ns = clock_now_ns();
	core->reactor.on_mail = drop_mail;
	rc = rt->engine->open(&core->arena, &core->engine);
	if (rc != 0)
		return needs(rt, "epoll", rc);
	core->waker.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (core->waker.fd < 0)
		return needs(rt, "eventfd", -errno);
	core->waker_source.event = woken;
	rc = open_sockring(core);
	if (rc != 0)
		return needs(rt, "io_uring for sockets, as was asked", rc);
	return needs(rt, watches, rt->engine->add(core->engine, core->waker.fd, &core->waker_source));
}

struct reactor *
world_annex_open(struct reactor *reactor)
{
	struct core *core = aligned_alloc(64, sizeof(*core));

	if (core == NULL)
		return NULL;
	memset(core, 0, sizeof(*core));
	core->rt = core_of(reactor)->rt;
	core->annex = true;
	arena_init(&core->arena, 0);
	core->reactor.world = reactor->world;
	core->reactor.arena = &core->arena;
	core->reactor.index = reactor->index;
	core->reactor.count = reactor->count;
	return &core->reactor;
}

void
world_annex_close(struct reactor *annex)
{
	struct core *core = core_of(annex);

	assert(core->annex);
	arena_drop(&core->arena);
	free(core);
}

size_t rt_annex_bytes(void) { return sizeof(struct core); }

int
core_make(struct rt *rt, unsigned index)
{
	struct core *core = aligned_alloc(64, sizeof(*core));

	if (core == NULL)
		return needs(rt, "memory", -ENOMEM);
	memset(core, 0, sizeof(*core));
	rt->cores[index] = core;
	return core_open(core, rt, index);
}

void
core_close(struct core *core)
{
	if (core->engine != NULL)
		core->rt->engine->close(core->engine);
	if (core->sockring != NULL)
		sockring_close(core->sockring);
	if (core->signal_fd >= 0)
		close(core->signal_fd);
	if (core->waker.fd >= 0)
		close(core->waker.fd);
	if (core->timer_fd >= 0)
		close(core->timer_fd);
	if (core->reactor.scratch != NULL)
		reactor_fini(&core->reactor);
	arena_drop(&core->arena);
	free(core);
}

static int
signals_open(struct rt *rt)
{
	struct core *core = rt->cores[0];
	int fd = sigs_open();

	if (fd < 0)
		return needs(rt, "signalfd", fd);
	core->signal_fd = fd;
	core->signals.event = signalled;
	core->watched++;
	return needs(rt, watches, rt->engine->add(core->engine, fd, &core->signals));
}

/* Where there is one processor, who spins keeps the others from what it waits for. */
static uint64_t
spin_ns(const struct rt_options *options)
{
	cpu_set_t cpus;

	if (options->spin_us != RT_SPIN_AUTO)
		return options->spin_us * UINT64_C(1000);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1 &&
	    options->cpu_count == 0)
		return 0;
	return 150 * 1000;
}

static int
cores_open(struct rt *rt)
{
	unsigned count = rt->options.reactors;

	rt->cores = arena_alloc(&rt->arena, count * sizeof(*rt->cores));
	if (rt->cores == NULL)
		return needs(rt, "memory", -ENOMEM);
	/* Known before the first is opened: a reactor is told how many there are. */
	rt->count = count;
	rt->threads = rt->options.attended ? 1 : count;
	for (unsigned i = 0; i < rt->threads; i++) {
		int rc = core_make(rt, i);

		if (rc != 0)
			return rc;
	}
	return needs(rt, "memory", rt->options.attended ? inboxes_open(rt) : mail_open(rt));
}

int
rt_create(struct rt **out, const struct rt_options *options)
{
	struct rt *rt = calloc(1, sizeof(*rt));
	int rc;

	assert(options->reactors >= 1 && options->reactors <= RT_REACTORS_MAX);
	assert(options->inherited_count <= RT_INHERITED_MAX);
	assert(!options->attended || options->on_signal == NULL);
	if (options->missing != NULL)
		*options->missing = "memory";
	if (rt == NULL)
		return -ENOMEM;
	rt->options = *options;
	rt->inherited = options->inherited_count > 0 ? UINT64_MAX >> (RT_INHERITED_MAX - options->inherited_count) : 0;
	rt->engine = &engine_epoll;
	rt->spin_ns = spin_ns(options);
	arena_init(&rt->arena, 0);
	pthread_mutex_init(&rt->lock, NULL);
	list_init(&rt->socks);
	list_init(&rt->disks);
	list_init(&rt->devices);
	rc = cores_open(rt);
	if (rc != 0)
		goto fail;
	if (options->on_signal != NULL) {
		rc = signals_open(rt);
		if (rc != 0)
			goto fail;
	}
	rc = needs(rt, "io_uring for files, as was asked", files_check(rt));
	if (rc != 0)
		goto fail;
	rt->options.missing = NULL;
	*out = rt;
	return 0;
fail:
	rt_destroy(rt);
	return rc;
}

void
rt_destroy(struct rt *rt)
{
	if (rt == NULL)
		return;
	streams_close_all(rt);
	/* Before any core goes: a thread of the pool may be about to wake it. */
	for (unsigned i = 0; rt->cores != NULL && i < rt->count; i++)
		if (rt->cores[i] != NULL)
			files_close(rt->cores[i]);
	pool_stop(rt->pool);
	for (unsigned i = 0; rt->cores != NULL && i < rt->count; i++)
		if (rt->cores[i] != NULL)
			core_close(rt->cores[i]);
	inboxes_close(rt);
	disks_close(rt);
	arena_drop(&rt->arena);
	pthread_mutex_destroy(&rt->lock);
	free(rt);
}

struct reactor *
rt_reactor(struct rt *rt, unsigned index)
{
	assert(index < rt->count);
	return &rt->cores[index]->reactor;
}

struct rt *rt_of(struct reactor *reactor) { return core_of(reactor)->rt; }

void *rt_owner(const struct rt *rt) { return rt->options.owner; }

/* ---- running ---- */

static void *
thread_main(void *arg)
{
	core_run(arg);
	return NULL;
}

static int
pin(const struct rt *rt, unsigned index, pthread_attr_t *attr)
{
	int cpu = rt->options.cpus[index % rt->options.cpu_count];
	cpu_set_t set;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (attr != NULL)
		return -pthread_attr_setaffinity_np(attr, sizeof(set), &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0 ? 0 : -errno;
}

int
thread_make(const struct rt *rt, pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	if (rt->options.attended)
		pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(thread, attr, run, arg);
	if (rt->options.attended)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int
core_start(struct core *core)
{
	struct rt *rt = core->rt;
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	rc = rt->options.cpu_count > 0 ? pin(rt, core->reactor.index, &attr) : 0;
	if (rc == 0)
		rc = thread_make(rt, &core->thread, &attr, thread_main, core);
	pthread_attr_destroy(&attr);
	return rc;
}

void
core_stop(struct core *core)
{
	flag_set(&core->stop, true);
	(void)waker_call(&core->waker);
}

void
rt_stop(struct rt *rt)
{
	for (unsigned i = 0; i < rt->threads; i++)
		core_stop(rt->cores[i]);
}

int
rt_run(struct rt *rt)
{
	unsigned started = 1;
	cpu_set_t before;
	int rc = 0;

	assert(!rt->options.attended);
	if (rt->options.cpu_count > 0) {
		if (sched_getaffinity(0, sizeof(before), &before) != 0)
			return -errno;
		rc = pin(rt, 0, NULL);
	}
	for (unsigned i = 0; i < rt->count; i++)
		rt->cores[i]->runs = true;
	while (rc == 0 && started < rt->count) {
		rc = core_start(rt->cores[started]);
		started += rc == 0;
	}
	if (rc == 0)
		core_run(rt->cores[0]);
	rt_stop(rt);
	for (unsigned i = 1; i < started; i++)
		pthread_join(rt->cores[i]->thread, NULL);
	for (unsigned i = 0; i < rt->count; i++)
		errands_end(rt->cores[i]);
	for (unsigned i = 0; i < rt->count; i++) {
		rt->cores[i]->runs = false; /* not before: what errands give is left to them, too */
		flag_set(&rt->cores[i]->stop, false);
	}
	if (rt->options.cpu_count > 0)
		(void)sched_setaffinity(0, sizeof(before), &before);
	return rc;
}
