/*
 * test_pmr.c - a persistent memory region: how long its processor takes, and, against a model that knows every store,
 * what is left after random losses of power.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "flash/drive.h"

enum { LINES = 32, BYTES = LINES * PMR_LINE, LINK = 3200, LINE_NS = 20, ENTRY = 64 };

struct bench {
	struct arena arena;
	struct pmr *pmr;
	uint8_t memory[BYTES];
	uint64_t now_ns;
};

static void
make(struct bench *b, uint64_t seed)
{
	struct pmr_options options = { b->memory, BYTES, LINK, seed };

	assert_int_equal(pmr_create(&b->arena, &options, &b->pmr), 0);
	b->now_ns = 0;
}

static void
begin(struct bench *b, uint64_t seed)
{
	memset(b, 0, sizeof(*b));
	arena_init(&b->arena, 0);
	make(b, seed);
}

static void
finish(struct bench *b)
{
	pmr_destroy(b->pmr);
	assert_int_equal(b->arena.bytes, 0);
}

static void
store(struct bench *b, uint32_t at, const void *from, uint32_t bytes)
{
	b->now_ns = pmr_store(b->pmr, at, from, bytes, b->now_ns);
}

static void
fence(struct bench *b)
{
	b->now_ns = pmr_fence(b->pmr, b->now_ns);
}

static uint64_t
word_at(const struct bench *b, uint32_t at)
{
	uint64_t word;

	memcpy(&word, b->memory + at, sizeof(word));
	return word;
}

/* ---- time, and what is read ---- */

static void
an_entry_lasts_after_a_round_trip(void **state)
{
	static const uint8_t entry[2 * ENTRY] = { 1, 2, 3 };
	uint8_t read[3 * PMR_LINE];
	struct bench b;

	(void)state;
	begin(&b, 1);
	assert_int_equal(pmr_bytes(b.pmr), BYTES);
	assert_int_equal(pmr_store(b.pmr, 0, entry, ENTRY, 1000), 1000 + LINE_NS);
	assert_int_equal(pmr_fence(b.pmr, 1000 + LINE_NS), 1000 + LINE_NS + PMR_ROUND_TRIP_NS);
	assert_int_equal(pmr_store(b.pmr, 32, entry, ENTRY, 2000), 2000 + 2 * LINE_NS); /* of two lines */
	assert_int_equal(pmr_store(b.pmr, 0, entry, 1, 2010), 2000 + 3 * LINE_NS); /* behind them */
	assert_int_equal(pmr_fence(b.pmr, 2010), 2000 + 3 * LINE_NS + PMR_ROUND_TRIP_NS);
	assert_int_equal(pmr_load(b.pmr, 63, read, 2, 5000), 5000 + 2 * PMR_ROUND_TRIP_NS);
	assert_int_equal(pmr_load(b.pmr, 63, read, 66, 9000), 9000 + 3 * PMR_ROUND_TRIP_NS);
	finish(&b);
}

static void
what_was_stored_last_is_read(void **state)
{
	uint8_t wanted[BYTES] = { 0 }, bytes[BYTES], read[BYTES];
	struct bench b;
	struct rng rng;

	(void)state;
	begin(&b, 1);
	rng_seed(&rng, 7);
	for (int i = 0; i < 20000; i++) {
		uint32_t at = (uint32_t)rng_below(&rng, BYTES), count = 1 + (uint32_t)rng_below(&rng, BYTES - at);

		memset(bytes, i, count);
		if (rng_below(&rng, 2) == 0) {
			memcpy(wanted + at, bytes, count);
			(void)pmr_store(b.pmr, at, bytes, count, b.now_ns++);
		} else {
			b.now_ns = pmr_load(b.pmr, at, read, count, b.now_ns);
			assert_memory_equal(read, wanted + at, count);
		}
	}
	finish(&b);
	assert_memory_equal(b.memory, wanted, BYTES); /* no power was lost */
}

/* ---- by hand ---- */

static void
a_fence_covers_what_came_before_it_once_it_is_back(void **state)
{
	unsigned kept[3] = { 0 };
	struct bench b;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t one = 1, two = 2, back_ns;

		begin(&b, seed);
		store(&b, 0, &one, 8);
		back_ns = pmr_fence(b.pmr, b.now_ns);
		store(&b, 64, &two, 8);
		pmr_cut(b.pmr, seed % 2 == 0 ? back_ns : back_ns - 1);
		assert_true(word_at(&b, 0) == 1 || (word_at(&b, 0) == 0 && seed % 2 == 1));
		kept[0] += word_at(&b, 0) == 1 && seed % 2 == 1;
		kept[1] += word_at(&b, 64) == 2 && seed % 2 == 1;
		kept[2] += word_at(&b, 64) == 2 && seed % 2 == 0;
		finish(&b);
	}
	for (int i = 0; i < 3; i++)
		assert_true(kept[i] > 10 && kept[i] < 40);
}

/* Of an entry and the word that says that it holds, as an ordered log has them: with a fence between them never the
 * word alone. */
static void
a_word_is_not_there_before_the_entry_it_was_fenced_behind(void **state)
{
	unsigned seen[3] = { 0 };
	struct bench b;

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint8_t entry[ENTRY] = { 9 };
		uint64_t persist = 1;

		begin(&b, seed);
		store(&b, 0, entry, ENTRY);
		if (seed % 3 > 0)
			fence(&b);
		if (seed % 3 > 1)
			store(&b, 56, &persist, 8);
		pmr_cut(b.pmr, b.now_ns);
		assert_true(word_at(&b, 56) == 0 || word_at(&b, 0) == 9);
		seen[word_at(&b, 56) == 1 ? 2 : word_at(&b, 0) == 9]++;
		finish(&b);
	}
	for (int i = 0; i < 3; i++)
		assert_true(seen[i] > 20);
}

static void
more_than_can_be_on_their_way_have_arrived(void **state)
{
	static uint8_t memory[4 * PMR_POSTED * PMR_LINE], ones[sizeof(memory)];
	struct pmr_options options = { memory, sizeof(memory), LINK, 5 };
	struct arena arena;
	struct pmr *pmr;
	unsigned kept = 0;

	(void)state;
	memset(ones, 1, sizeof(ones));
	arena_init(&arena, 0);
	assert_int_equal(pmr_create(&arena, &options, &pmr), 0);
	assert_int_equal(pmr_store(pmr, 0, ones, sizeof(ones), 0), 4 * PMR_POSTED * LINE_NS);
	pmr_cut(pmr, 1000000);
	for (unsigned line = 0; line < 4 * PMR_POSTED; line++) {
		const uint8_t *bytes = memory + (size_t)line * PMR_LINE;

		assert_true(bytes[0] == 1 || line >= 3 * PMR_POSTED);
		assert_memory_equal(bytes + 1, bytes, PMR_LINE - 1);
		kept += line >= 3 * PMR_POSTED && bytes[0] == 1;
	}
	assert_true(kept > PMR_POSTED * 2 / 5 && kept < PMR_POSTED * 3 / 5);
	pmr_destroy(pmr);
	assert_int_equal(arena.bytes, 0);
}

static void
a_seed_is_what_is_lost(void **state)
{
	uint8_t ones[BYTES], first[BYTES];
	struct bench b;

	(void)state;
	memset(ones, 1, sizeof(ones));
	for (int i = 0; i < 3; i++) {
		begin(&b, i < 2 ? 11 : 12);
		store(&b, 0, ones, BYTES);
		pmr_cut(b.pmr, b.now_ns);
		if (i == 0)
			memcpy(first, b.memory, BYTES);
		assert_int_equal(memcmp(first, b.memory, BYTES) == 0, i < 2);
		finish(&b);
	}
}

/* ---- by chance, against a model ---- */

enum { VERSIONS = 256, CUTS = 100 * 1000 };

/* What a line was after each store since it last was known for sure; version 0 is that. */
struct model_line {
	uint8_t was[VERSIONS][PMR_LINE];
	uint64_t lasts_ns[VERSIONS]; /* when a fence is back that came behind that store */
	uint32_t newest;
};

struct model {
	struct bench b;
	struct model_line lines[LINES];
	struct rng rng;
	uint64_t stores, none, all, some;
};

static void
known(struct model_line *line, const uint8_t *now)
{
	memcpy(line->was[0], now, PMR_LINE);
	line->lasts_ns[0] = 0;
	line->newest = 0;
}

static bool
has_room(const struct model *m)
{
	for (int i = 0; i < LINES; i++)
		if (m->lines[i].newest == VERSIONS - 1)
			return false;
	return true;
}

static void
model_store(struct model *m, uint32_t at, const uint8_t *bytes, uint32_t count)
{
	for (uint32_t i = at; i < at + count;) {
		struct model_line *line = &m->lines[i / PMR_LINE];
		uint8_t *now = line->was[line->newest + 1];

		memcpy(now, line->was[line->newest], PMR_LINE);
		line->lasts_ns[++line->newest] = UINT64_MAX;
		do
			now[i % PMR_LINE] = bytes[i - at];
		while (++i < at + count && i % PMR_LINE != 0);
	}
}

static void
model_fence(struct model *m, uint64_t back_ns)
{
	for (int i = 0; i < LINES; i++)
		for (uint32_t k = 0; k <= m->lines[i].newest; k++)
			if (m->lines[i].lasts_ns[k] > back_ns)
				m->lines[i].lasts_ns[k] = back_ns;
}

static void
play_store(struct model *m)
{
	uint32_t words = BYTES / 8, at = (uint32_t)rng_below(&m->rng, words);
	uint32_t most = rng_below(&m->rng, 8) == 0 ? words : 8;
	uint32_t count = 1 + (uint32_t)rng_below(&m->rng, most);
	uint64_t data[BYTES / 8];

	count = count < words - at ? count : words - at;
	if (rng_below(&m->rng, 3) == 0) { /* a whole line */
		at -= at % 8;
		count = 8;
	}
	for (uint32_t i = 0; i < count; i++)
		data[i] = rng_next(&m->rng);
	model_store(m, at * 8, (const uint8_t *)data, count * 8);
	store(&m->b, at * 8, data, count * 8);
	m->stores++;
}

/* A load is one as well.  Another one may store while it is on its way. */
static void
play_fence(struct model *m)
{
	bool loads = rng_below(&m->rng, 2) == 0;
	uint64_t word, back_ns = loads ? pmr_load(m->b.pmr, 0, &word, sizeof(word), m->b.now_ns) :
	    pmr_fence(m->b.pmr, m->b.now_ns);

	model_fence(m, back_ns);
	if (rng_below(&m->rng, 2) == 0)
		m->b.now_ns = back_ns;
	else
		m->b.now_ns += rng_below(&m->rng, PMR_ROUND_TRIP_NS);
}

/* One of the versions since the last one that a fence was back for. */
static void
line_check(struct model *m, uint32_t number, uint64_t now_ns)
{
	struct model_line *line = &m->lines[number];
	const uint8_t *found = m->b.memory + (size_t)number * PMR_LINE;
	uint32_t sure = line->newest, version = line->newest;

	while (sure > 0 && line->lasts_ns[sure] > now_ns)
		sure--;
	while (version > sure && memcmp(found, line->was[version], PMR_LINE) != 0)
		version--;
	assert_memory_equal(found, line->was[version], PMR_LINE);
	if (sure < line->newest) {
		m->none += version == sure;
		m->all += version == line->newest;
		m->some += version > sure && version < line->newest;
	}
	known(line, found);
}

static void
play_cut(struct model *m)
{
	m->b.now_ns += rng_below(&m->rng, 2 * PMR_ROUND_TRIP_NS);
	pmr_cut(m->b.pmr, m->b.now_ns);
	for (uint32_t i = 0; i < LINES; i++)
		line_check(m, i, m->b.now_ns);
}

/* Now and then in good order, and another region is made of what is there. */
static void
play_again(struct model *m)
{
	pmr_destroy(m->b.pmr);
	for (uint32_t i = 0; i < LINES; i++) {
		assert_memory_equal(m->b.memory + i * PMR_LINE, m->lines[i].was[m->lines[i].newest], PMR_LINE);
		known(&m->lines[i], m->b.memory + i * PMR_LINE);
	}
	make(&m->b, rng_next(&m->rng));
}

static void
random_cuts_leave_what_they_may(void **state)
{
	static struct model m;

	(void)state;
	begin(&m.b, 3);
	rng_seed(&m.rng, 3);
	for (int cut = 0; cut < CUTS; cut++) {
		uint64_t steps = rng_below(&m.rng, 12);

		while (steps-- > 0 && has_room(&m)) {
			if (rng_below(&m.rng, 4) == 0)
				play_fence(&m);
			else
				play_store(&m);
		}
		play_cut(&m);
		if (rng_below(&m.rng, 100) == 0)
			play_again(&m);
	}
	assert_true(m.none > CUTS && m.all > CUTS && m.some > CUTS / 10);
	finish(&m.b);
}

/* ---- of a drive ---- */

static void
drive_play(struct flash_profile *profile, uint8_t region[4096])
{
	struct drive_options options = { .profile = *profile, .seed = 2, .pmr = region };
	struct arena arena;
	struct drive *drive;
	uint64_t one = 1, two = 2, now_ns = 0;
	char why[FLASH_WHY];

	arena_init(&arena, 0);
	assert_int_equal(flash_geometry_init(&options.geometry, profile, flash_geometry_smallest(profile), why), 0);
	assert_int_equal(drive_create(&arena, &options, &drive), 0);
	assert_int_equal(drive_pmr(drive) != NULL, profile->pmr_bytes > 0);
	for (uint32_t at = 0; at < profile->pmr_bytes; at += 128) {
		now_ns = pmr_fence(drive_pmr(drive), pmr_store(drive_pmr(drive), at, &one, 8, now_ns));
		now_ns = pmr_store(drive_pmr(drive), at + 64, &two, 8, now_ns);
	}
	drive_cut(drive, now_ns);
	if (profile->pmr_bytes > 0)
		(void)pmr_store(drive_pmr(drive), 8, &two, 8, now_ns);
	drive_destroy(drive);
	assert_int_equal(arena.bytes, 0);
}

static void
the_region_of_a_drive_is_cut_with_it(void **state)
{
	static const char *const profiles[] = { "tlc-plp", "optane" };
	struct flash_profile profile;
	struct arena arena;

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint8_t region[4096] = { 0 };

		arena_init(&arena, 0);
		assert_int_equal(flash_profile_find(&arena, profiles[i], &profile), 0);
		arena_drop(&arena);
		profile.pmr_bytes = 0;
		drive_play(&profile, region);
		assert_int_equal(region[0], 0);
		profile.pmr_bytes = sizeof(region);
		drive_play(&profile, region);
		for (uint32_t at = 0; at < sizeof(region) - 64; at += 64)
			assert_int_equal(region[at], at % 128 == 0 ? 1 : 2);
		assert_int_equal(region[8], 2); /* stored after the cut, and then all ended in good order */
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_lasts_after_a_round_trip),
		cmocka_unit_test(what_was_stored_last_is_read),
		cmocka_unit_test(a_fence_covers_what_came_before_it_once_it_is_back),
		cmocka_unit_test(a_word_is_not_there_before_the_entry_it_was_fenced_behind),
		cmocka_unit_test(more_than_can_be_on_their_way_have_arrived),
		cmocka_unit_test(a_seed_is_what_is_lost),
		cmocka_unit_test(random_cuts_leave_what_they_may),
		cmocka_unit_test(the_region_of_a_drive_is_cut_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
