/*
 * log.c - what a core says to the operator.
 *
 * Lines that a peer can cause as often as it likes, itself or by using storage
 * that fails, are so many a minute at most on each core; of the others it is
 * said how many they were.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "target/core.h"
#include "target/wish.h"

enum { LINES = 20 }; /* of a kind, in a minute */

static const uint64_t minute_ns = UINT64_C(60) * 1000 * 1000 * 1000;

static __attribute__((format(printf, 3, 0))) void
say(struct core *core, int level, const char *format, va_list args)
{
	char text[896], shown[4 * sizeof(text)]; /* two NQNs, and what there is to say of them */

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
say_left_out(struct log_limit *limit)
{
	const char *about = limit == &limit->core->peer_lines ? "peers" : "storage";

	if (limit->lines > LINES)
		core_log(limit->core, 1,
		    "%" PRIu64 " more lines about %s were left out: there are %d a minute at most",
		    limit->lines - LINES, about, LINES);
	limit->lines = 0;
}

/* The minute that began with a line is over. */
static void
minute_over(struct timer *timer)
{
	say_left_out(container_of(timer, struct log_limit, minute));
}

static bool
may_say(struct core *core, struct log_limit *limit)
{
	if (limit->lines++ == 0) {
		limit->core = core;
		limit->minute.fire = minute_over;
		timer_set(&core->reactor->timers, &limit->minute, core->reactor->now_ns + minute_ns);
	}
	return limit->lines <= LINES;
}

static __attribute__((format(printf, 2, 0))) void
say_peer(struct core *core, const char *format, va_list args)
{
	if (may_say(core, &core->peer_lines))
		say(core, 1, format, args);
}

static __attribute__((format(printf, 2, 0))) void
say_storage(struct core *core, const char *format, va_list args)
{
	if (may_say(core, &core->storage_lines))
		say(core, 0, format, args);
}

void
core_log_peer(struct core *core, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_peer(core, format, args);
	va_end(args);
}

void
core_log_storage(struct core *core, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_storage(core, format, args);
	va_end(args);
}

void
target_log_peer(struct target *target, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_peer(target->cores[0], format, args);
	va_end(args);
}

void
target_log_storage(struct target *target, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_storage(target->cores[0], format, args);
	va_end(args);
}

static void
limit_end(struct core *core, struct log_limit *limit)
{
	if (limit->lines == 0)
		return;
	timer_clear(&core->reactor->timers, &limit->minute);
	say_left_out(limit);
}

void
core_log_end(struct core *core)
{
	limit_end(core, &core->peer_lines);
	limit_end(core, &core->storage_lines);
}
