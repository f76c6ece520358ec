/*
 * test_arena.c - what an arena says of the memory it took and gave back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"

enum { BLOCK = 64 * 1024, MANY = 512 }; /* 32 MiB in all */

static void
take(struct arena *arena, void **blocks, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		blocks[i] = arena_alloc_raw(arena, BLOCK);
		assert_non_null(blocks[i]);
	}
}

static void
give(struct arena *arena, void **blocks, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		arena_free(arena, blocks[i]);
}

static void
that_it_shrank_is_said_once_where_it_is_much(void **state)
{
	void *blocks[MANY];
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	take(&arena, blocks, MANY);
	give(&arena, blocks, MANY / 4);
	assert_false(arena_shrank(&arena));
	give(&arena, blocks + MANY / 4, MANY / 4);
	assert_true(arena_shrank(&arena));
	assert_false(arena_shrank(&arena));
	take(&arena, blocks, MANY / 4); /* who comes and goes counts anew from what is left */
	give(&arena, blocks, MANY / 4);
	assert_false(arena_shrank(&arena));
	give(&arena, blocks + MANY / 2, MANY / 2);
	assert_true(arena_shrank(&arena));
	arena_drop(&arena);
}

static void
what_an_allocation_takes_is_more_than_was_asked_for(void **state)
{
	(void)state;
	assert_in_range(arena_takes(100, 0), 101, 100 + 128);
	assert_in_range(arena_takes(8192, 4096), 8192 + 4096, 8192 + 4096 + 128);
}

static unsigned
failures(struct arena *arena, unsigned tries)
{
	unsigned failed = 0;

	for (unsigned i = 0; i < tries; i++)
		failed += arena_alloc(arena, 1) == NULL;
	return failed;
}

static void
the_one_that_is_named_fails_alone(void **state)
{
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	arena.fail_at = 3;
	assert_int_equal(failures(&arena, 2), 0);
	assert_null(arena_alloc(&arena, 1));
	assert_int_equal(failures(&arena, 100), 0);
	arena_drop(&arena);
}

/* One of the next four, and of those that follow: two of five in the long run. */
static void
after_it_others_fail_by_chance_until_that_is_over(void **state)
{
	struct arena arena;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	arena_init(&arena, 0);
	arena.fail_at = 1;
	arena.fail_within = 4;
	arena.fail_by = &rng;
	assert_null(arena_alloc(&arena, 1));
	assert_in_range(failures(&arena, 5000), 1800, 2200);
	for (unsigned i = 0; i < 1000; i++)
		assert_in_range(failures(&arena, 4), 1, 4);
	arena.fail_at = 0;
	assert_int_equal(failures(&arena, 100), 0);
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(that_it_shrank_is_said_once_where_it_is_much),
		cmocka_unit_test(what_an_allocation_takes_is_more_than_was_asked_for),
		cmocka_unit_test(the_one_that_is_named_fails_alone),
		cmocka_unit_test(after_it_others_fail_by_chance_until_that_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
