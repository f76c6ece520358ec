#include "rt_attended_bench.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define MUST(what) do { if (!(what)) abort(); } while (0)

static void
no_line(void *owner, int level, const char *text)
{
	abort();
}

struct rt *
attended_open(unsigned reactors, uint32_t spin_us)
{
	struct rt_options options = rt_options_default();
	struct rt *rt;

	alarm(100);
	options.reactors = reactors;
	options.spin_us = spin_us;
	options.reactor = (struct reactor_options){ 16, 16 };
	options.moves = RT_MOVES_CALLS;
	options.attended = true;
	options.log = no_line;
	MUST(rt_create(&rt, &options) == 0);
	return rt;
}

struct reactor *
rt_taken(struct rt *rt)
{
	struct reactor *reactor;

	MUST(rt_take(rt, &reactor) == 0);
	return reactor;
}

bool
rt_readable(struct reactor *reactor, int timeout_ms)
{
	struct pollfd pollfd = { .fd = rt_fd(reactor), .events = POLLIN };

	return poll(&pollfd, 1, timeout_ms) == 1;
}

void
rt_rest(struct reactor *reactor)
{
	while (rt_turn(reactor, 0))
		;
}

void
rt_attend(struct reactor *reactor, bool by_poll)
{
	if (!by_poll) {
		(void)rt_turn(reactor, -1);
		return;
	}
	MUST(rt_readable(reactor, -1));
	rt_rest(reactor);
}
