#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drive_bench.h"

enum { WORDS = DRIVE_SECTOR / 8 };

/* ---- the drive ---- */

void
drive_bench_profile(struct flash_profile *p)
{
	*p = (struct flash_profile){
		.media = FLASH_NAND, .capacity_mb = 1000000, .channels = 2, .dies = 4, .die_mib = 1024, .planes = 1,
		.page_bytes = 8192, .pages = 512, .bits = 2, .unit_bytes = 4096, .spare_permille = 700,
		.reserve_blocks = 3, .scale_blocks = 17, .read_ns = 20000, .read_spread_ns = 3000, .program_ns = 100000,
		.erase_ns = 300000, .channel_mb_s = 800, .channel_write_mb_s = 800, .overhead_permille = 60,
		.programs_max = 3, .suspends_program = 1, .suspends_erase = 1, .suspend_ns = 8000, .resume_ns = 5000,
		.suspends_max = 3, .controller_read_ns = 4000, .controller_write_ns = 3000, .front_end_iops = 2000000,
		.commands_max = 24, .link_mb_s = 3000, .buffer_bytes = 22 * 4096, .flush_ns = 7000, .journal_ns = 40000,
		.policy = FLASH_GREEDY, .gc_low = 2, .wear_gap = 6, .endurance = 1000,
	};
}

static void
zero_store(void *owner, uint64_t offset, uint64_t bytes)
{
	memset(((struct drive_bench *)owner)->store + offset, 0, bytes);
}

void
drive_bench_open(struct drive_bench *b, const struct flash_profile *profile, uint32_t units, uint64_t seed)
{
	struct drive_options options = { .profile = *profile, .seed = seed };
	bool in_place = profile->media == FLASH_IN_PLACE;
	uint32_t unit = in_place && profile->unit_bytes < BENCH_PIECE ? BENCH_PIECE : profile->unit_bytes;
	size_t bytes = (size_t)units * unit;
	char why[FLASH_WHY];

	*b = (struct drive_bench){ .profile = *profile, .unit_count = units, .sectors = unit / DRIVE_SECTOR,
		.event_first = 1, .hash = UINT64_C(0xcbf29ce484222325) };
	arena_init(&b->arena, 0);
	rng_seed(&b->rng, seed);
	if (flash_geometry_init(&b->geometry, profile, bytes, why) != 0)
		fail_msg("%s", why);
	b->store = arena_alloc(&b->arena, bytes);
	b->base = arena_alloc(&b->arena, sizeof(*b->base) * units * b->sectors);
	b->units = arena_alloc(&b->arena, sizeof(*b->units) * units);
	b->touched = arena_alloc(&b->arena, sizeof(*b->touched) * units);
	b->events = arena_alloc(&b->arena, sizeof(*b->events) * BENCH_EVENTS);
	assert_true(b->store != NULL && b->base != NULL && b->units != NULL && b->touched != NULL && b->events != NULL);
	for (int i = 0; i < BENCH_DEPTH; i++) {
		b->cmds[i].bytes = arena_alloc_raw(&b->arena, BENCH_BYTES);
		assert_non_null(b->cmds[i].bytes);
	}
	options.geometry = b->geometry;
	options.store = b->store;
	options.zero = zero_store;
	options.owner = b;
	assert_int_equal(drive_create(&b->arena, &options, &b->drive), 0);
	drive_bench_any_mood(b);
}

void
drive_bench_close(struct drive_bench *b)
{
	drive_destroy(b->drive);
	for (int i = 0; i < BENCH_DEPTH; i++)
		arena_free(&b->arena, b->cmds[i].bytes);
	arena_free(&b->arena, b->events);
	arena_free(&b->arena, b->touched);
	arena_free(&b->arena, b->units);
	arena_free(&b->arena, b->base);
	arena_free(&b->arena, b->store);
	assert_int_equal(b->arena.bytes, 0);
}

/* ---- contents ---- */

static uint64_t
word_of(const struct drive_bench *b, uint32_t number, uint64_t sector, uint32_t word)
{
	uint64_t unit = sector / b->sectors, at = sector % b->sectors * WORDS + word;

	return number == 0 ? 0 : (uint64_t)number << 32 | unit << 16 | at;
}

static void
sector_write(const struct drive_bench *b, uint8_t *to, uint32_t number, uint64_t sector)
{
	uint64_t words[WORDS];

	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = word_of(b, number, sector, i);
	memcpy(to, words, sizeof(words));
}

/* Which event it is of; it fails where words are of several, or of another place. */
static uint32_t
sector_read(const struct drive_bench *b, const uint8_t *from, uint64_t sector)
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

static void
history_begin(struct drive_bench *b)
{
	for (uint32_t i = 0; i < b->touched_count; i++)
		b->units[b->touched[i]] = (struct bench_unit){ 0 };
	b->touched_count = 0;
	b->event_first += b->event_count;
	b->event_count = 0;
}

/* Each unit of it can remember one more, and not too many are on their way, so that few orders are possible. */
static bool
history_has_room(const struct drive_bench *b, uint64_t first, uint64_t end)
{
	if (b->event_count == BENCH_EVENTS)
		return false;
	for (uint64_t unit = first / b->sectors; unit <= (end - 1) / b->sectors; unit++)
		if (b->units[unit].count == BENCH_HISTORY || b->units[unit].under_way == 4)
			return false;
	return true;
}

static void
history_add(struct drive_bench *b, const struct bench_event *event)
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

static void
history_answered(struct drive_bench *b, struct bench_event *event)
{
	event->ended = ++b->clock;
	for (uint64_t unit = event->first / b->sectors; unit <= (event->end - 1) / b->sectors; unit++)
		b->units[unit].under_way--;
}

/* ---- commands ---- */

static void
read_check(struct drive_bench *b, const struct bench_cmd *c)
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
			    sector_read(b, c->bytes + (sector - first) * DRIVE_SECTOR, sector);
		}
		for (uint32_t i = 0; i < f.count; i++)
			f.needed |= (uint32_t)(f.events[i]->ended < c->begun) << i;
		if (!fits(&f, (1u << f.count) - 1, covered, 0))
			complain(b, (uint32_t)unit, &f, "was read as it cannot be");
	}
}

static void
answered(struct drive_bench *b, struct drive_cmd *cmd)
{
	struct bench_cmd *c = container_of(cmd, struct bench_cmd, cmd);

	assert_true(c->under_way && cmd->end_ns >= c->at_ns && cmd->end_ns >= b->end_ns && cmd->owner == c);
	c->under_way = false;
	b->under_way--;
	b->end_ns = cmd->end_ns;
	b->hash = (b->hash ^ c->number) * UINT64_C(0x100000001b3);
	b->hash = (b->hash ^ cmd->end_ns) * UINT64_C(0x100000001b3);
	if (cmd->op == DRIVE_READ)
		read_check(b, c);
	else if (cmd->op != DRIVE_FLUSH)
		history_answered(b, &b->events[c->event]);
	if ((cmd->op == DRIVE_FLUSH || cmd->fua) && c->begun > b->flushed)
		b->flushed = c->begun;
}

static void
run_until(struct drive_bench *b, uint64_t until_ns)
{
	struct drive_cmd *cmd;

	while (b->at_next && drive_next(b->drive) <= until_ns) {
		uint64_t at_ns = drive_next(b->drive);

		cmd = drive_run(b->drive, at_ns > b->now_ns ? at_ns : b->now_ns);
		if (at_ns > b->now_ns)
			b->now_ns = at_ns;
		if (cmd != NULL) {
			assert_true(cmd->end_ns <= b->now_ns);
			answered(b, cmd);
		}
	}
	while ((cmd = drive_run(b->drive, until_ns)) != NULL) {
		assert_true(!b->at_next && cmd->end_ns <= until_ns);
		answered(b, cmd);
	}
	assert_true(drive_next(b->drive) > until_ns);
	b->now_ns = until_ns;
}

void
drive_bench_run(struct drive_bench *b, uint64_t ns)
{
	run_until(b, b->now_ns + ns);
}

/* Until the next thing happens. */
static void
run_on(struct drive_bench *b)
{
	uint64_t next_ns = drive_next(b->drive);

	for (int i = 0; i < BENCH_DEPTH && next_ns == UINT64_MAX; i++)
		if (b->cmds[i].under_way)
			fail_msg("command %u of %u, of kind %u%s, is stuck after %llu cuts", b->cmds[i].number,
			    b->number, b->cmds[i].cmd.op, b->cmds[i].cmd.fua ? " fua" : "",
			    (unsigned long long)b->cuts);
	run_until(b, next_ns > b->now_ns ? next_ns : b->now_ns);
}

void
drive_bench_drain(struct drive_bench *b)
{
	while (b->under_way > 0)
		run_on(b);
}

void
drive_bench_check(struct drive_bench *b, bool idle)
{
	const char *wrong = drive_check(b->drive, idle);

	if (wrong != NULL)
		fail_msg("%s after %u commands and %llu cuts", wrong, b->number, (unsigned long long)b->cuts);
}

void
drive_bench_idle(struct drive_bench *b)
{
	drive_bench_drain(b);
	while (drive_next(b->drive) != UINT64_MAX)
		run_on(b);
	drive_bench_check(b, true);
}

struct bench_cmd *
drive_bench_slot(struct drive_bench *b)
{
	while (b->under_way == BENCH_DEPTH)
		run_on(b);
	for (int i = 0;; i++)
		if (!b->cmds[i].under_way)
			return &b->cmds[i];
}

/* In up to three pieces. */
static void
iov_split(struct drive_bench *b, struct bench_cmd *c, uint64_t bytes)
{
	uint64_t first = 8 * rng_below(&b->rng, bytes / 8), second = 8 * rng_below(&b->rng, (bytes - first) / 8);

	c->iov[0] = (struct iovec){ c->bytes, first };
	c->iov[1] = (struct iovec){ c->bytes + first, second };
	c->iov[2] = (struct iovec){ c->bytes + first + second, bytes - first - second };
}

void
drive_bench_send(struct drive_bench *b, struct bench_cmd *c, enum drive_op op, uint64_t first, uint64_t sectors,
    bool fua)
{
	bool zeros = op == DRIVE_TRIM || (op == DRIVE_WRITE && rng_below(&b->rng, 50) == 0);

	c->cmd = (struct drive_cmd){ .op = (uint8_t)op, .fua = fua, .offset = first * DRIVE_SECTOR,
		.bytes = sectors * DRIVE_SECTOR, .iov = zeros ? NULL : c->iov, .iov_count = 3, .owner = c };
	c->number = b->number++;
	c->begun = ++b->clock;
	c->at_ns = b->now_ns;
	c->event = b->event_count;
	c->under_way = true;
	if (sectors > 0 && !zeros)
		iov_split(b, c, c->cmd.bytes);
	for (uint64_t i = 0; op == DRIVE_WRITE && !zeros && i < sectors; i++)
		sector_write(b, c->bytes + i * DRIVE_SECTOR, b->event_first + c->event, first + i);
	if (op == DRIVE_WRITE || op == DRIVE_TRIM)
		history_add(b, &(struct bench_event){ .first = first, .end = first + sectors, .begun = c->begun,
			.ended = UINT64_MAX, .zeros = zeros, .fua = fua });
	b->under_way++;
	drive_submit(b->drive, &c->cmd, b->now_ns);
}

/* ---- the load ---- */

static uint32_t
below(struct drive_bench *b, uint32_t limit)
{
	return (uint32_t)rng_below(&b->rng, limit);
}

static uint32_t
units_at_once(const struct drive_bench *b)
{
	return BENCH_BYTES / DRIVE_SECTOR / b->sectors;
}

void
drive_bench_any_mood(struct drive_bench *b)
{
	static const uint32_t depths[] = { 1, 2, 4, 8, 16, 32, 60 }, sizes[] = { 1, 1, 2, 3, 8, 24 };
	struct bench_mood *m = &b->mood;
	uint32_t units = b->unit_count;

	m->depth = depths[below(b, 7)];
	m->units_max = sizes[below(b, 6)];
	if (m->units_max > units_at_once(b))
		m->units_max = units_at_once(b);
	m->span = below(b, 3) == 0 ? units : m->units_max + below(b, 40);
	m->span = m->span < units ? m->span : units;
	m->first = below(b, units - m->span + 1);
	m->flushes = below(b, 3) == 0 ? below(b, 30) : 3;
	m->trims = below(b, 3) == 0 ? below(b, 30) : 3;
	m->reads = 5 + below(b, 30);
	m->writes = 100 - m->flushes - m->trims - m->reads;
	m->fua = below(b, 4) == 0 ? below(b, 60) : 2;
	m->sweeps = below(b, 12) == 0 ? 30 : 1;
	m->whole = below(b, 3) > 0;
	m->pause_bits = (uint8_t)(8 + below(b, 12));
}

static enum drive_op
any_op(struct drive_bench *b)
{
	const struct bench_mood *m = &b->mood;
	uint32_t at = below(b, 100);

	return at < m->writes ? DRIVE_WRITE : at < m->writes + m->trims ? DRIVE_TRIM :
	    at < m->writes + m->trims + m->reads ? DRIVE_READ : DRIVE_FLUSH;
}

/* Where it is. */
static void
any_place(struct drive_bench *b, enum drive_op op, uint64_t *first, uint64_t *sectors)
{
	const struct bench_mood *m = &b->mood;
	uint32_t most = op == DRIVE_TRIM && below(b, 100) < m->sweeps ? m->span : m->units_max;
	uint32_t units = 1 + below(b, most), unit = m->first + below(b, m->span - units + 1);

	*first = (uint64_t)unit * b->sectors;
	*sectors = (uint64_t)units * b->sectors;
	if (m->whole)
		return;
	*first += below(b, b->sectors);
	*sectors -= *first % b->sectors;
	*sectors = 1 + rng_below(&b->rng, *sectors);
}

void
drive_bench_load(struct drive_bench *b, uint32_t commands)
{
	for (uint32_t i = 0; i < commands; i++) {
		enum drive_op op = any_op(b);
		uint64_t first = 0, sectors = 0;
		bool fua = false;

		while (b->under_way >= b->mood.depth)
			run_on(b);
		if (below(b, 4) == 0)
			drive_bench_run(b, rng_below(&b->rng, UINT64_C(1) << below(b, b->mood.pause_bits)));
		if (op != DRIVE_FLUSH)
			any_place(b, op, &first, &sectors);
		if (op == DRIVE_WRITE || op == DRIVE_TRIM) {
			fua = below(b, 100) < b->mood.fua;
			if (!history_has_room(b, first, first + sectors))
				continue;
		}
		drive_bench_send(b, drive_bench_slot(b), op, first, sectors, fua);
	}
}

/* ---- what is there ---- */

static void
read_units(struct drive_bench *b, uint32_t unit, uint32_t count)
{
	drive_bench_send(b, drive_bench_slot(b), DRIVE_READ, (uint64_t)unit * b->sectors, (uint64_t)count * b->sectors,
	    false);
}

void
drive_bench_read_all(struct drive_bench *b)
{
	uint32_t units = b->unit_count, step = units_at_once(b);

	for (uint32_t unit = 0; unit < units; unit += step)
		read_units(b, unit, unit + step < units ? step : units - unit);
	drive_bench_drain(b);
}

static void
base_take(struct drive_bench *b, uint32_t unit, const uint8_t *from)
{
	for (uint64_t s = 0, sector = (uint64_t)unit * b->sectors; s < b->sectors; s++, sector++)
		b->base[sector] = sector_read(b, from + s * DRIVE_SECTOR, sector);
}

void
drive_bench_settle(struct drive_bench *b)
{
	drive_bench_drain(b);
	drive_bench_send(b, drive_bench_slot(b), DRIVE_FLUSH, 0, 0, false);
	drive_bench_drain(b);
	for (uint32_t i = 0; i < b->touched_count; i++) {
		struct bench_cmd *c;

		read_units(b, b->touched[i], 1);
		drive_bench_drain(b);
		for (c = b->cmds; c->cmd.op != DRIVE_READ || c->number != b->number - 1; c++)
			;
		base_take(b, b->touched[i], c->bytes);
	}
	history_begin(b);
}

void
drive_bench_fill(struct drive_bench *b)
{
	uint32_t units = b->unit_count, step = units_at_once(b);

	drive_bench_settle(b);
	for (uint32_t unit = 0; unit < units; unit += step)
		drive_bench_send(b, drive_bench_slot(b), DRIVE_WRITE, (uint64_t)unit * b->sectors,
		    (uint64_t)(unit + step < units ? step : units - unit) * b->sectors, false);
	drive_bench_settle(b);
}

static bool
is_durable(const struct drive_bench *b, const struct bench_event *event)
{
	if (event->ended == UINT64_MAX)
		return false;
	return b->profile.power_loss_protection || event->fua || event->ended < b->flushed;
}

static void
left_check(struct drive_bench *b, uint32_t unit)
{
	const uint8_t *from = b->store + (uint64_t)unit * b->sectors * DRIVE_SECTOR;
	struct covered none = { 0 };
	uint32_t seen[BENCH_SECTORS];
	struct fit f;

	fit_init(b, unit, &f);
	f.seen = seen;
	for (uint32_t s = 0; s < b->sectors; s++)
		seen[s] = sector_read(b, from + (size_t)s * DRIVE_SECTOR, f.start + s);
	for (uint32_t i = 0; i < f.count; i++)
		f.needed |= (uint32_t)is_durable(b, f.events[i]) << i;
	if (!fits(&f, (1u << f.count) - 1, none, 0))
		complain(b, unit, &f, "was left as it cannot be");
	for (uint32_t i = 0; i < f.count; i++)
		f.needed |= (uint32_t)(f.events[i]->ended != UINT64_MAX) << i;
	b->lost += !fits(&f, (1u << f.count) - 1, none, 0);
}

void
drive_bench_cut(struct drive_bench *b)
{
	drive_cut(b->drive, b->now_ns);
	assert_true(drive_next(b->drive) >= b->now_ns); /* what begins anew begins then */
	b->cuts++;
	for (int i = 0; i < BENCH_DEPTH; i++)
		b->cmds[i].under_way = false;
	b->under_way = 0;
	for (uint32_t i = 0; i < b->touched_count; i++) {
		left_check(b, b->touched[i]);
		base_take(b, b->touched[i], b->store + (uint64_t)b->touched[i] * b->sectors * DRIVE_SECTOR);
	}
	history_begin(b);
}

void
drive_bench_cuts(struct drive_bench *b, uint32_t cuts)
{
	while (b->cuts < cuts) {
		uint64_t kind = rng_below(&b->rng, 16);

		if (b->cuts % 32 == 0)
			drive_bench_check(b, false);
		if (b->cuts % 1024 == 0) {
			drive_bench_fill(b);
			drive_bench_read_all(b);
			drive_bench_idle(b);
		}
		if (kind > 0) { /* else right after the last one */
			drive_bench_any_mood(b);
			drive_bench_load(b, below(b, kind < 12 ? 12 : 60));
		}
		if (kind % 3 != 0)
			drive_bench_run(b, rng_below(&b->rng, UINT64_C(1) << below(b, 22)));
		drive_bench_cut(b);
	}
}
