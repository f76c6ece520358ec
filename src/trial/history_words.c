/*
 * history_words.c - what was wrong, in words: who said what, and what might have been.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "trial/history_block.h"

enum { ALLOWED_MAX = 6 };

static void say(struct history *h, size_t *at, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
say(struct history *h, size_t *at, const char *format, ...)
{
	size_t room = sizeof(h->wrong) - *at;
	va_list args;
	int bytes;

	va_start(args, format);
	bytes = vsnprintf(h->wrong + *at, room, format, args);
	va_end(args);
	if (bytes > 0)
		*at += (size_t)bytes < room ? (size_t)bytes : room - 1;
}

static void
say_time(struct history *h, size_t *at, uint64_t ns)
{
	say(h, at, "%" PRIu64 ".%03" PRIu64 " ms", ns / 1000000, ns / 1000 % 1000);
}

static void
say_value(struct history *h, size_t *at, uint64_t value)
{
	if (value == HISTORY_GARBAGE)
		say(h, at, "garbage");
	else if (value == HISTORY_ZEROS)
		say(h, at, "zeros");
	else if (value == HISTORY_UNREADABLE)
		say(h, at, "\"unreadable\"");
	else
		say(h, at, "0x%" PRIx64, value);
}

/* Of which host it is, and when that began: " (host 2, 0.300 ms)". */
static void
say_writer(struct history *h, size_t *at, const char *host, const struct version *v, const char *when)
{
	say(h, at, " (%s %" PRIu32 "%s ", host, v->who, when);
	say_time(h, at, v->begun_ns);
	say(h, at, ")");
}

static void
say_version(struct history *h, size_t *at, const struct version *v)
{
	if (v->kind != VERSION_KNOWN) {
		say(h, at, v->kind == VERSION_ANY ? "anything" : "something older");
		return;
	}
	say_value(h, at, v->value);
	if (v->who != NOBODY)
		say_writer(h, at, "host", v, ",");
}

/* Who has written it, as far as one remembers. */
static void
say_origin(struct history *h, size_t *at, const struct block *b, uint64_t value)
{
	const struct version *last = NULL;

	if (value == HISTORY_GARBAGE)
		return;
	for (unsigned i = 0; i < b->version_room; i++) {
		const struct version *v = &b->versions[i];

		if (v->kind == VERSION_KNOWN && v->value == value && v->begun != 0 && v->who != NOBODY &&
		    (last == NULL || v->begun > last->begun))
			last = v;
	}
	if (last != NULL)
		say_writer(h, at, "written by host", last, " at");
	else if (value >= HISTORY_FIRST)
		say(h, at, " (not one of the last that were written there)");
}

static void
say_allowed(struct history *h, size_t *at, const struct block *b, uint64_t allowed)
{
	unsigned said = 0;

	for (; allowed != 0 && said < ALLOWED_MAX; allowed &= allowed - 1) {
		say(h, at, said++ == 0 ? "" : " or ");
		say_version(h, at, &b->versions[first_of(allowed)]);
	}
	if (allowed != 0)
		say(h, at, " or one of %d more", __builtin_popcountll(allowed));
}

static void
say_end(struct history *h, size_t *at)
{
	if (h->lost == 0)
		return;
	say(h, at, "; power was lost last at ");
	say_time(h, at, h->lost_ns);
}

void
history_complain(struct history *h, const struct block *b, unsigned slot, struct claim claim, uint64_t now_ns)
{
	const struct pending *p = &b->slots[slot];
	uint64_t allowed = 0;
	size_t at = 0;

	if (h->is_wrong)
		return;
	h->is_wrong = true;
	for (unsigned i = 0; i < h->reached.count; i++)
		allowed |= b->looking & bit(slot) ? h->reached.at[i].seen[slot] : bit(h->reached.at[i].holds);
	say(h, &at, "block %td: host %" PRIu32 " %s ", b - h->blocks, p->who, claim.what);
	say_value(h, &at, claim.value);
	say_origin(h, &at, b, claim.value);
	say(h, &at, " from ");
	say_time(h, &at, p->begun_ns);
	say(h, &at, " to ");
	say_time(h, &at, now_ns);
	say(h, &at, p->kind == HISTORY_WRITE ? "; it held " : "; allowed was ");
	say_allowed(h, &at, b, allowed);
	say_end(h, &at);
}

void
history_complain_lost(struct history *h, const struct block *b, const char *what, uint32_t who, uint64_t begun_ns,
    uint64_t now_ns)
{
	uint64_t holds = 0;
	size_t at = 0;

	if (h->is_wrong)
		return;
	h->is_wrong = true;
	for (unsigned i = 0; i < b->state_count; i++)
		holds |= bit(b->states[i].holds);
	say(h, &at, "block %td: the %s of host %" PRIu32 " from ", b - h->blocks, what, who);
	say_time(h, &at, begun_ns);
	say(h, &at, " to ");
	say_time(h, &at, now_ns);
	say(h, &at, " said that something is durable that is gone: the block holds ");
	say_allowed(h, &at, b, holds);
	say_end(h, &at);
}
