/*
 * loop.c - when does a reactor look, turn and sleep?
 *
 * It knows the order and the adaptive part: busy while there is work, asleep
 * in the kernel when there has been none for a while.  What arrives, and what
 * is done about it, is known elsewhere.
 */
#include <malloc.h>
#include <pthread.h>

#include "rt/internal.h"
#include "sys/clock.h"
#include "sys/sigs.h"

/* The sources note what they are told and do nothing else. */
static bool
look(struct core *core, int64_t timeout_ns)
{
	core->reactor.syscalls++;
	core->look_turns = 0;
	core->look_ns = core->turn_ns;
	core->roused = false;
	return core->rt->engine->wait(core->engine, timeout_ns);
}

/* With few hot streams the engine is asked seldom: it only tells of the others. */
static bool
look_due(struct core *core)
{
	uint64_t since_ns = core->turn_ns - core->look_ns;

	if (core->hot_count == 0 || core->hot_count > HOT_MAX || ++core->look_turns >= LOOK_TURNS)
		return true;
	return since_ns >= LOOK_NS && (since_ns >= LOOK_SELDOM_NS || core->hot_count != core->watched);
}

static void
take_signals(struct core *core)
{
	int signal;

	core->signal_due = false;
	do {
		signal = sigs_take(core->signal_fd);
		core->reactor.syscalls++;
		if (signal != 0) {
			core->moved++;
			core->rt->options.on_signal(&core->reactor, signal);
		}
	} while (signal != 0);
}

static void
receive(struct core *core)
{
	bool looked = core->looked;

	core->looked = false;
	if (!looked && look_due(core)) {
		(void)look(core, 0);
		looked = true;
	}
	if (!streams_poll(core) && !looked)
		(void)look(core, 0);
	mail_deliver(core);
	accept_ready(core);
	if (core->signal_due)
		take_signals(core);
	if (files_ready(core))
		files_collect(core);
	if (errands_ready(core))
		errands_collect(core);
}

bool
core_turn(struct core *core)
{
	struct reactor *reactor = &core->reactor;
	uint64_t moved = core->moved, now_ns = clock_now_ns();
	bool busy;

	if (core->was_busy)
		reactor->busy_ns += now_ns - core->turn_ns;
	reactor->now_ns = core->turn_ns = now_ns;
	receive(core);
	busy = reactor_turn(reactor, now_ns);
	if (!busy && core->moved != moved) {
		reactor->busy_turns++;
		busy = true;
	}
	mail_flush(core);
	core->was_busy = busy;
	return busy;
}

bool
core_is_due(const struct core *core)
{
	return reactor_next(&core->reactor) <= core->turn_ns || core->outbox_busy || !list_empty(&core->accepting);
}

bool
core_is_called(const struct core *core)
{
	return mail_waiting(core) || files_ready(core) || errands_ready(core) || flag_is_set(&core->stop);
}

bool
core_look(struct core *core)
{
	if (core->look_ns != core->turn_ns)
		(void)look(core, 0);
	return core->looked = core_is_due(core) || core_is_called(core);
}

/*
 * Gives memory back that malloc() keeps: takes milliseconds.  One at a time: the first call readies the C library's own
 * heap, which nobody has used yet where another allocator is in its place, and two at once would trip over it.
 */
static void
trim(void)
{
	static pthread_mutex_t trimming = PTHREAD_MUTEX_INITIALIZER;

	(void)pthread_mutex_lock(&trimming);
	(void)malloc_trim(0);
	(void)pthread_mutex_unlock(&trimming);
}

/* Between waker_doze() and the wait all that others may leave without the engine seeing it is looked at once more. */
bool
core_sleep(struct core *core, uint64_t end_ns)
{
	uint64_t next_ns = reactor_next(&core->reactor);
	int64_t timeout_ns = -1;
	bool slept = true;

	if (core_is_due(core))
		return true;
	if (next_ns > end_ns)
		next_ns = end_ns;
	if (next_ns != UINT64_MAX)
		timeout_ns = (int64_t)(next_ns - core->turn_ns);
	streams_cool(core);
	if (!core->rt->options.attended && arena_shrank(&core->arena))
		trim(); /* nothing else is to be done now */
	waker_doze(&core->waker);
	if (!core_is_called(core)) {
		slept = look(core, timeout_ns);
		core->looked = true;
	}
	waker_rise(&core->waker);
	return slept;
}

void
core_run(struct core *core)
{
	core->useful_ns = clock_now_ns();
	core->was_busy = false;
	while (!flag_is_set(&core->stop)) {
		/* Nothing has been of use for a while: whatever woke it, the next turn finds it. */
		if (core_turn(core))
			core->useful_ns = core->turn_ns;
		else if (core->turn_ns - core->useful_ns >= core->rt->spin_ns)
			(void)core_sleep(core, UINT64_MAX);
	}
}
