#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drive_oracle.h"

enum { WORDS = DRIVE_SECTOR / 8 };

/* ---- contents ---- */

static uint64_t
word_of(const struct drive_bench *b, uint32_t number, uint64_t sector, uint32_t word)
{
	uint64_t unit = sector / b->sectors, at = sector % b->sectors * WORDS + word;

	return number == 0 ? 0 : (uint64_t)number << 32 | unit << 16 | at;
}

void
oracle_write(const struct drive_bench *b, uint8_t *to, uint32_t number, uint64_t sector)
{
	uint64_t words[WORDS];

	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = word_of(b, number, sector, i);
	memcpy(to, words, sizeof(words));
}

/* Which event it is of; it fails where words are of several, or of another place. */
static uint32_t
sector_of(const struct drive_bench *b, const uint8_t *from, uint64_t sector)
{
	uint64_t words[WORDS], wrong = 0;
	uint32_t number;

	memcpy(words, from, sizeof(words));
	number = (uint32_t)(words[0] >> 32);
	for (uint32_t i = 0; i < WORDS; i++)
		wrong |= words[i] ^ word_of(b, number, sector, i);
	if (wrong != 0)
		fail_msg("sector %llu is a mixture, or another's: %016llx", (unsigned long long)sector,
		    (unsigned long long)words[0]);
	return number;
}

/* ---- what a unit may be ---- */

struct fit {
	const struct bench_event *events[BENCH_HISTORY];
	uint32_t numbers[BENCH_HISTORY];
	uint32_t before[BENCH_HISTORY]; /* those that were answered before it came */
	uint32_t count, needed;
	uint64_t start;                 /* the unit's first sector */
	uint32_t sectors;
	const uint32_t *seen, *base;
};

struct covered {
	bool sectors[BENCH_SECTORS];
};

static bool
is_in(const struct fit *f, uint32_t i, uint32_t sector)
{
	return f->start + sector >= f->events[i]->first && f->start + sector < f->events[i]->end;
}

/* It may be the last of those that are left: what nothing later covers is what it wrote.  `shows`: some of it is seen,
 * and nothing else can have left it. */
static bool
may_be_last(const struct fit *f, uint32_t i, const struct covered *covered, bool *shows)
{
	*shows = false;
	for (uint32_t s = 0; s < f->sectors; s++) {
		if (covered->sectors[s] || !is_in(f, i, s))
			continue;
		if (f->seen[s] != f->numbers[i])
			return false;
		*shows |= f->numbers[i] != 0;
	}
	return true;
}

static bool
has_later(const struct fit *f, uint32_t i, uint32_t left)
{
	for (uint32_t k = 0; k < f->count; k++)
		if ((left >> k & 1) && (f->before[k] >> i & 1))
			return true;
	return false;
}

/* Backwards: of those in `left` which was the last one, or did not happen?  `below`: some that happened came after
 * it. */
static bool
fits(const struct fit *f, uint32_t left, struct covered covered, uint32_t below)
{
	bool shows;

	for (uint32_t i = 0; i < f->count; i++) {
		struct covered then = covered;
		uint32_t happened = f->needed | below;

		if (!(left >> i & 1) || has_later(f, i, left) || !may_be_last(f, i, &covered, &shows))
			continue;
		for (uint32_t s = 0; s < f->sectors; s++)
			then.sectors[s] |= is_in(f, i, s);
		if (fits(f, left & ~(1u << i), then, below | f->before[i]))
			return true;
		return !shows && !(happened >> i & 1) && fits(f, left & ~(1u << i), covered, below);
	}
	for (uint32_t i = 0; i < f->count; i++)
		if ((left >> i & 1) && !has_later(f, i, left) && !((f->needed | below) >> i & 1) &&
		    fits(f, left & ~(1u << i), covered, below))
			return true;
	if (left != 0)
		return false;
	for (uint32_t s = 0; s < f->sectors; s++)
		if (!covered.sectors[s] && f->seen[s] != f->base[s])
			return false;
	return true;
}

static void
fit_init(const struct drive_bench *b, uint32_t unit, struct fit *f)
{
	const struct bench_unit *u = &b->units[unit];

	f->count = u->count;
	f->needed = 0;
	f->start = (uint64_t)unit * b->sectors;
	f->sectors = b->sectors;
	f->base = b->base + f->start;
	for (uint32_t i = 0; i < u->count; i++) {
		const struct bench_event *e = &b->events[u->events[i]];

		f->events[i] = e;
		f->numbers[i] = e->zeros ? 0 : b->event_first + u->events[i];
		f->before[i] = 0;
		for (uint32_t k = 0; k < u->count; k++)
			if (b->events[u->events[k]].ended < e->begun)
				f->before[i] |= 1u << k;
	}
}

static void
complain(const struct drive_bench *b, uint32_t unit, const struct fit *f, const char *what)
{
	char text[2048];
	size_t at = (size_t)snprintf(text, sizeof(text), "unit %u %s after %llu cuts, of events", unit, what,
	    (unsigned long long)b->cuts);

	for (uint32_t s = 0; s < f->sectors && at < sizeof(text); s++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %u(%u)", f->seen[s], f->base[s]);
	for (uint32_t i = 0; i < f->count && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "; %u%s%s [%llu, %llu) from %lld to %lld%s",
		    b->event_first + b->units[unit].events[i], f->events[i]->zeros ? " zeros" : "",
		    f->events[i]->fua ? " fua" : "", (unsigned long long)(f->events[i]->first - f->start),
		    (unsigned long long)(f->events[i]->end - f->start), (long long)f->events[i]->begun,
		    (long long)f->events[i]->ended, f->needed >> i & 1 ? " needed" : "");
	fail_msg("%s; flushed %llu", text, (unsigned long long)b->flushed);
}

/* ---- histories ---- */

void
oracle_begin(struct drive_bench *b)
{
	for (uint32_t i = 0; i < b->touched_count; i++)
		b->units[b->touched[i]] = (struct bench_unit){ 0 };
	b->touched_count = 0;
	b->event_first += b->event_count;
	b->event_count = 0;
}

bool
oracle_has_room(const struct drive_bench *b, uint64_t first, uint64_t end)
{
	if (b->event_count == BENCH_EVENTS)
		return false;
	for (uint64_t unit = first / b->sectors; unit <= (end - 1) / b->sectors; unit++)
		if (b->units[unit].count == BENCH_HISTORY || b->units[unit].under_way == 4)
			return false;
	return true;
}

void
oracle_begun(struct drive_bench *b, const struct bench_event *event)
{
	for (uint64_t unit = event->first / b->sectors; unit <= (event->end - 1) / b->sectors; unit++) {
		struct bench_unit *u = &b->units[unit];

		u->events[u->count++] = (uint16_t)b->event_count;
		u->under_way++;
		if (!u->touched)
			b->touched[b->touched_count++] = (uint32_t)unit;
		u->touched = true;
	}
	b->events[b->event_count++] = *event;
}

void
oracle_answered(struct drive_bench *b, struct bench_event *event)
{
	event->ended = ++b->clock;
	for (uint64_t unit = event->first / b->sectors; unit <= (event->end - 1) / b->sectors; unit++)
		b->units[unit].under_way--;
}

/* ---- what was read, and what is left ---- */

void
oracle_read(struct drive_bench *b, const struct bench_cmd *c)
{
	uint64_t first = c->cmd.offset / DRIVE_SECTOR, end = first + c->cmd.bytes / DRIVE_SECTOR;

	for (uint64_t unit = first / b->sectors; unit <= (end - 1) / b->sectors; unit++) {
		uint32_t seen[BENCH_SECTORS];
		struct covered covered = { 0 };
		struct fit f;

		fit_init(b, (uint32_t)unit, &f);
		f.seen = seen;
		for (uint32_t s = 0; s < b->sectors; s++) {
			uint64_t sector = f.start + s;

			covered.sectors[s] = sector < first || sector >= end;
			seen[s] = covered.sectors[s] ? 0 :
			    sector_of(b, c->bytes + (sector - first) * DRIVE_SECTOR, sector);
		}
		for (uint32_t i = 0; i < f.count; i++)
			f.needed |= (uint32_t)(f.events[i]->ended < c->begun) << i;
		if (!fits(&f, (1u << f.count) - 1, covered, 0))
			complain(b, (uint32_t)unit, &f, "was read as it cannot be");
	}
}

static bool
is_durable(const struct drive_bench *b, const struct bench_event *event)
{
	if (event->ended == UINT64_MAX)
		return false;
	return b->profile.power_loss_protection || event->fua || event->ended < b->flushed;
}

void
oracle_left(struct drive_bench *b, uint32_t unit)
{
	const uint8_t *from = b->store + (uint64_t)unit * b->sectors * DRIVE_SECTOR;
	struct covered none = { 0 };
	uint32_t seen[BENCH_SECTORS];
	struct fit f;

	fit_init(b, unit, &f);
	f.seen = seen;
	for (uint32_t s = 0; s < b->sectors; s++)
		seen[s] = sector_of(b, from + (size_t)s * DRIVE_SECTOR, f.start + s);
	for (uint32_t i = 0; i < f.count; i++)
		f.needed |= (uint32_t)is_durable(b, f.events[i]) << i;
	if (!fits(&f, (1u << f.count) - 1, none, 0))
		complain(b, unit, &f, "was left as it cannot be");
	for (uint32_t i = 0; i < f.count; i++)
		f.needed |= (uint32_t)(f.events[i]->ended != UINT64_MAX) << i;
	b->lost += !fits(&f, (1u << f.count) - 1, none, 0);
}

void
oracle_take(struct drive_bench *b, uint32_t unit, const uint8_t *from)
{
	for (uint64_t s = 0, sector = (uint64_t)unit * b->sectors; s < b->sectors; s++, sector++)
		b->base[sector] = sector_of(b, from + s * DRIVE_SECTOR, sector);
}
