/*
 * attended.c - reactors that have no thread of ours: how they are taken, given back, and have their turns.
 *
 * Who attends to one may sleep in a call of his own after each turn, on the
 * descriptor of its engine.  Streams tell the engine anyway, hot ones too.  For
 * the rest rt_turn() leaves the reactor as one that sleeps: others wake it, a
 * timerfd stands in for its timers, and where the turn has left something it
 * wakes itself.
 */
#include <errno.h>
#include <sys/timerfd.h>

#include "rt/internal.h"
#include "sys/clock.h"

/* ---- reactor 0 ---- */

int
rt_start(struct rt *rt)
{
	struct core *core = rt->cores[0];
	int rc;

	assert(rt->options.attended && !core->runs);
	core->runs = true;
	rc = core_start(core);
	if (rc != 0)
		core->runs = false;
	return rc;
}

void
rt_end(struct rt *rt)
{
	struct core *core = rt->cores[0];

	assert(rt->options.attended && core->runs);
	core_stop(core);
	pthread_join(core->thread, NULL);
	errands_end(core);
	core->runs = false;
	inbox_close(core);
}

/* ---- the others ---- */

static void
due(struct source *source, unsigned events)
{
	container_of(source, struct core, due)->armed_ns = UINT64_MAX;
}

static int
open_timer(struct core *core)
{
	core->armed_ns = UINT64_MAX;
	core->due.event = due;
	core->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (core->timer_fd < 0)
		return -errno;
	return core->rt->engine->add(core->engine, core->timer_fd, &core->due);
}

/* One that nobody has, and that from now on somebody has; 0: there is none. */
static unsigned
reserve(struct rt *rt)
{
	unsigned found = 0;

	pthread_mutex_lock(&rt->lock);
	for (unsigned i = 1; found == 0 && i < rt->count; i++)
		if (!(rt->taken[i / 64] >> i % 64 & 1))
			found = i;
	if (found != 0)
		rt->taken[found / 64] |= UINT64_C(1) << found % 64;
	pthread_mutex_unlock(&rt->lock);
	return found;
}

/* Closes what there is of it, and then it is anybody's. */
static void
release(struct rt *rt, unsigned index)
{
	if (rt->cores[index] != NULL)
		core_close(rt->cores[index]);
	rt->cores[index] = NULL;
	pthread_mutex_lock(&rt->lock);
	rt->taken[index / 64] &= ~(UINT64_C(1) << index % 64);
	pthread_mutex_unlock(&rt->lock);
}

int
rt_take(struct rt *rt, struct reactor **reactor)
{
	unsigned index = reserve(rt);
	int rc;

	assert(rt->options.attended);
	if (index == 0)
		return -EAGAIN;
	rc = core_make(rt, index);
	if (rc == 0)
		rc = open_timer(rt->cores[index]);
	if (rc == 0)
		rc = inbox_open(rt->cores[index]);
	if (rc != 0) {
		release(rt, index);
		return rc;
	}
	rt->cores[index]->runs = true;
	*reactor = &rt->cores[index]->reactor;
	return 0;
}

void
rt_give(struct reactor *reactor)
{
	struct core *core = core_of(reactor);

	errands_end(core);
	core->runs = false;
	inbox_close(core);
	streams_end_lingering(core);
	assert(core->watched == 0 && timers_next(&reactor->timers) == UINT64_MAX);
	release(core->rt, reactor->index);
}

int
rt_fd(struct reactor *reactor)
{
	struct core *core = core_of(reactor);

	return core->rt->engine->fd(core->engine);
}

/* ---- a turn ---- */

/* The engine says so once; as long as it has not, there is no need to do this again. */
static void
rouse(struct core *core)
{
	if (!core->roused)
		core->reactor.syscalls += waker_call(&core->waker);
	core->roused = true;
}

/* An alarm that is too early is left as it is: it costs one turn, and moving it with each timer a system call each. */
static void
arm(struct core *core, uint64_t at_ns)
{
	struct itimerspec spec = {
		.it_value = { .tv_sec = (time_t)(at_ns / 1000000000), .tv_nsec = (long)(at_ns % 1000000000) },
	};

	if (at_ns >= core->armed_ns)
		return;
	core->reactor.syscalls++;
	if (timerfd_settime(core->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) == 0)
		core->armed_ns = at_ns;
	else
		rouse(core);
}

/* From here on its caller may sleep on the descriptor. */
static void
settle(struct core *core)
{
	waker_doze(&core->waker);
	if (core_is_due(core) || core_is_called(core))
		rouse(core);
	else
		arm(core, reactor_next(&core->reactor));
}

void
rt_pace(struct reactor *reactor, uint32_t ns)
{
	core_of(reactor)->pace_ns = ns;
}

/* The clock is asked without the kernel. */
static void
pause_until(uint64_t at_ns)
{
	while (clock_now_ns() < at_ns)
		;
}

/* Until a turn was of use, or something else came or the time is over. */
static bool
wait_for_use(struct core *core, int64_t timeout_ns)
{
	uint64_t begin_ns = core->turn_ns, end_ns = timeout_ns < 0 ? UINT64_MAX : begin_ns + (uint64_t)timeout_ns;
	bool useful = false, undisturbed = true;

	while (!useful && undisturbed && core->turn_ns < end_ns) {
		if (core->turn_ns - begin_ns >= core->rt->spin_ns)
			undisturbed = core_sleep(core, end_ns);
		else if (core->pace_ns > 0)
			pause_until(core->turn_ns + core->pace_ns);
		useful = core_turn(core);
	}
	return useful;
}

bool
rt_turn(struct reactor *reactor, int64_t timeout_ns)
{
	struct core *core = core_of(reactor);
	bool useful;

	waker_rise(&core->waker);
	useful = core_turn(core);
	if (!useful && timeout_ns != 0)
		useful = wait_for_use(core, timeout_ns);
	else if (!useful && core_look(core))
		useful = core_turn(core);
	if (useful)
		reactor->busy_ns += clock_now_ns() - core->turn_ns;
	core->was_busy = false; /* that has been counted, and what its caller does now is not ours */
	settle(core);
	return useful;
}
