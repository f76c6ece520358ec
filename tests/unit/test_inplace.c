/* flash/inplace: times worked out by hand, against a model of each unit by itself, and the rates of a P4800X. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "flash/inplace.h"

enum { SENSE = 1000, STORE = 200, UNIT = 512, OUT = 512, IN = 1024, CHANNELS = 7, CONTROLLER = 4700, LINES_MAX = 64 };

struct bench {
	struct arena arena;
	struct inplace *media;
};

/* Of the simple ones a channel moves a byte in a nanosecond, and in two to the media. */
static void
begin_as(struct bench *bench, uint32_t out_mb_s, uint32_t in_mb_s)
{
	struct flash_geometry geometry = { .channels = CHANNELS, .unit_bytes = UNIT };
	struct flash_profile profile = { .read_ns = SENSE, .program_ns = STORE, .channel_mb_s = out_mb_s,
		.channel_write_mb_s = in_mb_s };

	arena_init(&bench->arena, 0);
	assert_int_equal(inplace_create(&bench->arena, &geometry, &profile, &bench->media), 0);
}

static void
begin(struct bench *bench)
{
	begin_as(bench, 1000, 500);
}

static void
finish(struct bench *bench)
{
	inplace_destroy(bench->media);
	assert_int_equal(bench->arena.bytes, 0);
}

static void
a_unit_is_sensed_and_moved_or_moved_and_stored(void **state)
{
	struct bench bench;

	begin(&bench);
	assert_int_equal(inplace_read(bench.media, 0, 1, 100), 100 + SENSE + OUT);
	assert_int_equal(inplace_write(bench.media, 1, 1, 100), 100 + IN + STORE);
	finish(&bench);
}

static void
units_are_on_channels_in_turn(void **state)
{
	struct bench bench;

	begin(&bench);
	assert_int_equal(inplace_read(bench.media, 0, CHANNELS, 0), SENSE + OUT);
	assert_int_equal(inplace_read(bench.media, 3, 1, 0), SENSE + 2 * OUT);
	/* Of eight one channel has two, that of 100 % 7 = 2; it has one before. */
	assert_int_equal(inplace_read(bench.media, 100, CHANNELS + 1, 0), SENSE + 3 * OUT);
	assert_int_equal(inplace_read(bench.media, 6, 1, 0), SENSE + 3 * OUT);
	assert_int_equal(inplace_read(bench.media, 7 * 9 + 2, 1, 0), SENSE + 4 * OUT);
	finish(&bench);
}

/* A read's data is not there before it was sensed, whatever the channel does. */
static void
what_comes_later_waits_for_its_channel(void **state)
{
	struct bench bench;

	begin(&bench);
	assert_int_equal(inplace_write(bench.media, 0, 3 * CHANNELS, 0), 3 * IN + STORE);
	assert_int_equal(inplace_read(bench.media, 0, 1, 0), 3 * IN + OUT);
	assert_int_equal(inplace_write(bench.media, 0, 1, 3000), 3 * IN + OUT + IN + STORE);
	assert_int_equal(inplace_read(bench.media, 0, 1, 10000), 10000 + SENSE + OUT);
	finish(&bench);
}

static void
nothing_is_under_way_after_a_cut(void **state)
{
	struct bench bench;

	begin(&bench);
	inplace_write(bench.media, 0, 1000, 0);
	inplace_cut(bench.media);
	assert_int_equal(inplace_read(bench.media, 0, CHANNELS, 50), 50 + SENSE + OUT);
	finish(&bench);
}

static void
memory_that_is_short_is_said(void **state)
{
	struct flash_geometry geometry = { .channels = CHANNELS, .unit_bytes = UNIT };
	struct flash_profile profile = { .channel_mb_s = 1, .channel_write_mb_s = 1 };
	struct inplace *media;
	struct arena arena;

	arena_init(&arena, 0);
	for (unsigned i = 1; i <= 2; i++) {
		arena.fail_at = i;
		assert_int_not_equal(inplace_create(&arena, &geometry, &profile, &media), 0);
		assert_int_equal(arena.bytes, 0);
	}
}

/* Each unit by itself, one after another. */
static void
many_commands_end_as_their_units_do(void **state)
{
	uint64_t free_ns[CHANNELS] = { 0 }, now = 0;
	struct bench bench;
	struct rng rng;

	begin(&bench);
	rng_seed(&rng, 1);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t first = rng_next(&rng) >> rng_below(&rng, 60), last = 0, end;
		uint32_t count = 1 + (uint32_t)rng_below(&rng, 40);
		bool writes = rng_below(&rng, 2);

		now += rng_below(&rng, 8000);
		end = writes ? inplace_write(bench.media, first, count, now) :
		    inplace_read(bench.media, first, count, now);
		for (uint32_t unit = 0; unit < count; unit++) {
			uint64_t *channel = &free_ns[(first % CHANNELS + unit) % CHANNELS];
			uint64_t ready = writes ? now : now + SENSE;

			*channel = (*channel > ready ? *channel : ready) + (writes ? IN : OUT);
			last = *channel > last ? *channel : last;
		}
		assert_int_equal(end, writes ? last + STORE : last);
	}
	finish(&bench);
}

/* ---- the drive that is sold: 342 MB/s from each channel, 293 to it ---- */

/* Commands of so many units at random places, `depth` at a time: bytes a microsecond, and what one took, on average. */
static uint64_t
rate_of(bool writes, uint32_t units, unsigned depth, uint64_t *mean_ns)
{
	enum { COMMANDS = 100000 };
	uint64_t ends[LINES_MAX] = { 0 }, sum = 0;
	struct bench bench;
	struct rng rng;

	begin_as(&bench, 342, 293);
	rng_seed(&rng, 1);
	for (unsigned i = 0; i < COMMANDS; i++) {
		unsigned soonest = 0;
		uint64_t begun, first = rng_below(&rng, 1000000) * units;

		for (unsigned line = 1; line < depth; line++)
			if (ends[line] < ends[soonest])
				soonest = line;
		begun = ends[soonest] + CONTROLLER;
		ends[soonest] = writes ? inplace_write(bench.media, first, units, begun) :
		    inplace_read(bench.media, first, units, begun);
		sum += ends[soonest] - begun + CONTROLLER;
	}
	finish(&bench);
	*mean_ns = sum / COMMANDS;
	return (uint64_t)COMMANDS * units * UNIT * 1000 / ends[0];
}

#define assert_near(value, wanted, percent) \
	assert_in_range(value, (wanted) * (100 - (percent)) / 100, (wanted) * (100 + (percent)) / 100)

/* Its data sheet and AnandTech's review: 8.9 us, 584,800 and 500,000 a second of 4 KiB, 2400 and 2000 MB/s. */
static void
it_is_as_fast_as_what_is_published(void **state)
{
	uint64_t mean_ns;

	rate_of(false, 8, 1, &mean_ns);
	assert_int_equal(mean_ns, CONTROLLER + SENSE + 2 * 1498);
	assert_near(mean_ns, 8900, 3);
	rate_of(true, 8, 1, &mean_ns);
	assert_int_equal(mean_ns, CONTROLLER + 2 * 1748 + STORE);
	assert_near(rate_of(false, 8, LINES_MAX, &mean_ns) * 1000000 / 4096, 583000, 1);
	assert_near(rate_of(true, 8, LINES_MAX, &mean_ns) * 1000000 / 4096, 500000, 1);
	assert_near(rate_of(false, 256, LINES_MAX, &mean_ns), 2390, 1);
	assert_near(rate_of(true, 256, LINES_MAX, &mean_ns), 2050, 1);
	assert_near(rate_of(false, 8, 16, &mean_ns) * 1000000 / 4096, 584800, 15);
	assert_near(mean_ns, 25500, 15);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_is_sensed_and_moved_or_moved_and_stored),
		cmocka_unit_test(units_are_on_channels_in_turn),
		cmocka_unit_test(what_comes_later_waits_for_its_channel),
		cmocka_unit_test(nothing_is_under_way_after_a_cut),
		cmocka_unit_test(memory_that_is_short_is_said),
		cmocka_unit_test(many_commands_end_as_their_units_do),
		cmocka_unit_test(it_is_as_fast_as_what_is_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
