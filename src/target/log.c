/*
 * log.c - what a core says to the operator.
 *
 * Lines that a peer can cause, as often as it likes, are so many a minute at
 * most on each core; of the others it is said how many they were.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "target/core.h"

enum { PEER_LINES = 20 }; /* in a minute */

static const uint64_t minute_ns = UINT64_C(60) * 1000 * 1000 * 1000;

static __attribute__((format(printf, 3, 0))) void
say(struct core *core, int level, const char *format, va_list args)
{
	char text[512], shown[4 * sizeof(text)];

	vsnprintf(text, sizeof(text), format, args);
	utf8_show(text, shown, sizeof(shown)); /* names in it may be a peer's */
	core->reactor->world->log(core->reactor, level, shown);
}

void
core_log(struct core *core, int level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(core, level, format, args);
	va_end(args);
}

static void
say_left_out(struct core *core)
{
	if (core->peer_lines > PEER_LINES)
		core_log(core, 1, "%" PRIu64 " more lines about peers were left out: there are %d a minute at most",
		    core->peer_lines - PEER_LINES, PEER_LINES);
	core->peer_lines = 0;
}

/* The minute that began with a line is over. */
static void
minute_over(struct timer *timer)
{
	say_left_out(container_of(timer, struct core, log_timer));
}

void
core_log_peer(struct core *core, const char *format, ...)
{
	va_list args;

	if (core->peer_lines++ == 0) {
		core->log_timer.fire = minute_over;
		timer_set(&core->reactor->timers, &core->log_timer, core->reactor->now_ns + minute_ns);
	}
	if (core->peer_lines > PEER_LINES)
		return;
	va_start(args, format);
	say(core, 1, format, args);
	va_end(args);
}

void
core_log_end(struct core *core)
{
	timer_clear(&core->reactor->timers, &core->log_timer);
	say_left_out(core);
}
