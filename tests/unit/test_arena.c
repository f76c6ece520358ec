/*
 * test_arena.c - what an arena says of the memory it took and gave back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(that_it_shrank_is_said_once_where_it_is_much),
		cmocka_unit_test(what_an_allocation_takes_is_more_than_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
