/*
 * test_working_set.c - pages that were touched, against a map of them; and how good the sketch is.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "trace/sketch.h"
#include "trace/working_set.h"

enum { PAGE = WORKING_SET_PAGE };

struct bench {
	struct arena arena;
	uint64_t room;
	struct working_set *set;
};

static void
begin(struct bench *bench, uint64_t room)
{
	arena_init(&bench->arena, 0);
	bench->room = room;
	bench->set = working_set_create(&bench->arena, &bench->room);
	assert_non_null(bench->set);
}

static void
end(struct bench *bench, uint64_t room)
{
	working_set_destroy(bench->set);
	assert_int_equal(bench->room, room);
	assert_int_equal(bench->arena.bytes, 0);
	arena_drop(&bench->arena);
}

static void
touch(struct bench *bench, uint32_t volume, uint64_t offset, uint32_t bytes)
{
	const struct trace_request request = { .offset = offset, .bytes = bytes, .volume = volume };

	assert_int_equal(working_set_add(bench->set, &request), 0);
}

static void
test_a_page_that_is_touched_anywhere_counts_once(void **state)
{
	struct bench bench;

	begin(&bench, WORKING_SET_ROOM);
	assert_int_equal(working_set_bytes(bench.set), 0);
	touch(&bench, 0, 4095, 1);
	assert_int_equal(working_set_bytes(bench.set), PAGE);
	touch(&bench, 0, 0, 4096);
	assert_int_equal(working_set_bytes(bench.set), PAGE);
	touch(&bench, 0, 4095, 2);
	assert_int_equal(working_set_bytes(bench.set), 2 * PAGE);
	touch(&bench, 1, 0, 4096);
	assert_int_equal(working_set_bytes(bench.set), 3 * PAGE);
	assert_true(working_set_is_exact(bench.set));
	end(&bench, WORKING_SET_ROOM);
}

static void
test_ranges_reach_over_pieces_and_up_to_the_last_byte_there_is(void **state)
{
	struct bench bench;

	begin(&bench, WORKING_SET_ROOM);
	touch(&bench, 0, 63 * PAGE, 1 << 20);
	assert_int_equal(working_set_bytes(bench.set), 1 << 20);
	touch(&bench, 0, 63 * PAGE + 1, 1 << 20);
	assert_int_equal(working_set_bytes(bench.set), (1 << 20) + PAGE);
	touch(&bench, 0, UINT64_MAX - 8191, 8191);
	assert_int_equal(working_set_bytes(bench.set), (1 << 20) + 3 * PAGE);
	touch(&bench, WORKING_SET_VOLUMES - 1, 0, UINT32_MAX);
	assert_int_equal(working_set_bytes(bench.set), (UINT64_C(1) << 32) + (1 << 20) + 3 * PAGE);
	end(&bench, WORKING_SET_ROOM);
}

static void
test_it_is_what_a_map_of_pages_says(void **state)
{
	enum { PAGES = 20000 };
	static uint8_t map[3][PAGES + 600];
	uint64_t pages = 0;
	struct bench bench;
	struct rng rng;

	begin(&bench, WORKING_SET_ROOM);
	memset(map, 0, sizeof(map));
	rng_seed(&rng, 3);
	for (unsigned i = 0; i < 3000; i++) {
		uint32_t volume = (uint32_t)rng_below(&rng, 3);
		uint32_t bytes = (uint32_t)rng_below(&rng, i % 50 == 0 ? 2 << 20 : 9000);
		uint64_t offset = rng_below(&rng, PAGES * PAGE);

		touch(&bench, volume, offset, bytes + 1);
		for (uint64_t page = offset / PAGE; page <= (offset + bytes) / PAGE; page++) {
			pages += map[volume][page] == 0;
			map[volume][page] = 1;
		}
		assert_int_equal(working_set_bytes(bench.set), pages * PAGE);
	}
	end(&bench, WORKING_SET_ROOM);
}

static void
near(double value, double expected, double by)
{
	if (fabs(value / expected - 1) > by)
		fail_msg("%g instead of %g", value, expected);
}

static void
test_without_room_it_goes_on_as_a_sketch_and_says_so(void **state)
{
	struct bench bench;

	begin(&bench, 1024);
	for (unsigned i = 0; i < 768; i++)
		touch(&bench, 0, (uint64_t)i << 20, PAGE);
	assert_true(working_set_is_exact(bench.set));
	assert_int_equal(working_set_bytes(bench.set), 768 * PAGE);
	touch(&bench, 0, UINT64_C(768) << 20, PAGE);
	assert_false(working_set_is_exact(bench.set));
	near((double)working_set_bytes(bench.set), 769.0 * PAGE, 4 * SKETCH_ERROR);
	for (unsigned i = 769; i < 50000; i++)
		touch(&bench, 0, (uint64_t)i << 20, PAGE);
	near((double)working_set_bytes(bench.set), 50000.0 * PAGE, 4 * SKETCH_ERROR);
	for (unsigned i = 0; i < 50000; i++)
		touch(&bench, 0, (uint64_t)i << 20, PAGE);
	near((double)working_set_bytes(bench.set), 50000.0 * PAGE, 4 * SKETCH_ERROR);
	end(&bench, 1024);
}

static void
test_what_is_touched_again_takes_no_more_room(void **state)
{
	struct bench bench;

	begin(&bench, 64);
	for (unsigned i = 0; i < 1000; i++)
		touch(&bench, 0, (uint64_t)(i % 40) << 20, PAGE);
	assert_true(working_set_is_exact(bench.set));
	assert_int_equal(bench.room, 0);
	end(&bench, 64);
}

static void
test_sets_share_their_room(void **state)
{
	struct bench bench;
	struct working_set *other;

	begin(&bench, 1024);
	other = working_set_create(&bench.arena, &bench.room);
	for (unsigned i = 0; i < 400; i++)
		touch(&bench, 0, (uint64_t)i << 20, PAGE);
	assert_int_equal(bench.room, 0);
	for (unsigned i = 0; i < 600; i++) {
		const struct trace_request request = { .offset = (uint64_t)i << 20, .bytes = 1 };

		assert_int_equal(working_set_add(other, &request), 0);
	}
	assert_true(working_set_is_exact(bench.set));
	assert_false(working_set_is_exact(other));
	near((double)working_set_bytes(other), 600.0 * PAGE, 4 * SKETCH_ERROR);
	working_set_destroy(other);
	end(&bench, 1024);
}

static void
test_where_memory_is_short_it_is_a_sketch_and_without_any_it_says_so(void **state)
{
	struct bench bench;
	const struct trace_request request = { .bytes = 4096 };

	begin(&bench, WORKING_SET_ROOM);
	bench.arena.fail_at = 1;
	assert_int_equal(working_set_add(bench.set, &request), 0);
	assert_false(working_set_is_exact(bench.set));
	assert_int_equal(working_set_bytes(bench.set), PAGE);
	working_set_destroy(bench.set);
	bench.set = working_set_create(&bench.arena, &bench.room);
	bench.arena.bytes_max = bench.arena.bytes;
	assert_int_equal(working_set_add(bench.set, &request), -ENOMEM);
	end(&bench, WORKING_SET_ROOM);
}

static void
test_a_sketch_is_as_good_as_it_says_from_none_to_many(void **state)
{
	static const unsigned counts[] = { 1, 100, 5000, 16384, 40000, 80000, 300000 };
	enum { TRIALS = 30 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		double sum = 0, squares = 0;

		for (uint64_t trial = 0; trial < TRIALS; trial++) {
			struct sketch sketch = { 0 };
			double error;

			assert_true(sketch_count(&sketch) == 0);
			for (uint64_t j = 0; j < counts[i]; j++)
				sketch_add(&sketch, sketch_hash((trial << 40) + j));
			error = sketch_count(&sketch) / counts[i] - 1;
			sum += error;
			squares += error * error;
		}
		assert_true(sqrt(squares / TRIALS) < 1.4 * SKETCH_ERROR);
		assert_true(fabs(sum / TRIALS) < 4 * SKETCH_ERROR / sqrt(TRIALS));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_page_that_is_touched_anywhere_counts_once),
		cmocka_unit_test(test_ranges_reach_over_pieces_and_up_to_the_last_byte_there_is),
		cmocka_unit_test(test_it_is_what_a_map_of_pages_says),
		cmocka_unit_test(test_without_room_it_goes_on_as_a_sketch_and_says_so),
		cmocka_unit_test(test_what_is_touched_again_takes_no_more_room),
		cmocka_unit_test(test_sets_share_their_room),
		cmocka_unit_test(test_where_memory_is_short_it_is_a_sketch_and_without_any_it_says_so),
		cmocka_unit_test(test_a_sketch_is_as_good_as_it_says_from_none_to_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
