/*
 * retry.h - when a channel looks again whether others have dropped the holds that its line, or a change of marks, waits
 * for.
 *
 * Its own completions have it try the line; the holds of other reactors end unseen, so it also asks
 * the clock.  Soon at first, and twice as late each time that nobody could go: one waits at most twice as
 * long as he must, or RETRY_MAX_NS longer, and who waits for a device that does not answer costs nearly nothing.
 */
#ifndef WEIR_BLK_RETRY_H
#define WEIR_BLK_RETRY_H

#include "blk/line.h"
#include "world/reactor.h"

enum {
	RETRY_MIN_NS = 50 * 1000,
	RETRY_MAX_NS = 10 * 1000 * 1000,
};

struct retry {
	struct timer timer; /* its fire() tries, and calls retry_later() or retry_wait() */
	uint64_t wait_ns;   /* from now, the next time */
	uint64_t moves;     /* of those who wait, when they were seen last */
};

/* Somebody waits in vain still; `moves` changes with whoever begins to wait, or could go. */
static inline void
retry_wait(struct retry *retry, uint64_t moves, struct reactor *reactor)
{
	struct timer *timer = &retry->timer;

	if (retry->moves != moves)
		retry->wait_ns = RETRY_MIN_NS;
	retry->moves = moves;
	if (timer->armed && timer->deadline_ns <= reactor->now_ns + retry->wait_ns)
		return;
	timer_set(&reactor->timers, timer, reactor->now_ns + retry->wait_ns);
	retry->wait_ns = 2 * retry->wait_ns < RETRY_MAX_NS ? 2 * retry->wait_ns : RETRY_MAX_NS;
}

/* The line was tried, and own completions alone may not be enough for those who stand in it still. */
static inline void
retry_later(struct retry *retry, const struct line *line, struct reactor *reactor)
{
	if (line->count > 0)
		retry_wait(retry, line->moves, reactor);
}

#endif
