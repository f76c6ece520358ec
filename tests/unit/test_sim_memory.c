/*
 * Large blocks of the simulation: zeros whoever had them before, of every size, and out of bounds when given back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/memory.h"

int __asan_address_is_poisoned(const volatile void *at) __attribute__((weak));

static const size_t sizes[] = {
	1, 16383, 16384, 32 * 1024 - 300, 32 * 1024, 100 * 1000, 1 << 20, (8 << 20) - 4096, 8 << 20, (20 << 20) + 1,
};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static bool
is_zero(const uint8_t *at, size_t bytes)
{
	return at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0;
}

static void
what_is_given_again_is_zeros(void **state)
{
	struct arena arena;
	uint8_t *block;

	(void)state;
	sim_arena_init(&arena, 0);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < SIZES; i++) {
			size_t align = round == 1 ? 4096 : _Alignof(max_align_t);

			block = arena_alloc_aligned(&arena, sizes[i], align);
			assert_non_null(block);
			assert_int_equal((uintptr_t)block % align, 0);
			assert_true(is_zero(block, sizes[i]));
			memset(block, 0xa5, sizes[i]);
			if (i % 2 == round % 2)
				arena_free(&arena, block);
		}
		arena_drop(&arena);
	}
}

static void
what_is_kept_comes_again(void **state)
{
	struct arena arena;
	uint8_t *large, *larger;

	(void)state;
	sim_arena_init(&arena, 0);
	large = arena_alloc(&arena, 100 * 1000);
	larger = arena_alloc(&arena, 1000 * 1000);
	assert_true(large != NULL && larger != NULL);
	arena_drop(&arena);
	assert_ptr_equal(arena_alloc(&arena, 900 * 1000), larger);
	assert_ptr_equal(arena_alloc_raw(&arena, 110 * 1000), large);
	assert_ptr_not_equal(arena_alloc(&arena, 100 * 1000), large);
	arena_drop(&arena);
}

static void
what_is_not_a_block_is_out_of_bounds(void **state)
{
	struct arena arena;
	uint8_t *block;

	(void)state;
	if (__asan_address_is_poisoned == NULL) {
		print_message("# does not apply, since there is nothing to be told: no AddressSanitizer\n");
		return;
	}
	sim_arena_init(&arena, 0);
	for (unsigned round = 0; round < 2; round++) {
		size_t bytes = round == 0 ? 300 * 1000 : 400 * 1000, slack = _Alignof(max_align_t);

		block = arena_alloc(&arena, bytes);
		assert_non_null(block);
		assert_false(__asan_address_is_poisoned(block));
		assert_false(__asan_address_is_poisoned(block + bytes - 1));
		assert_true(__asan_address_is_poisoned(block + bytes + slack));
		arena_free(&arena, block);
		assert_true(__asan_address_is_poisoned(block));
		assert_true(__asan_address_is_poisoned(block + bytes - 1));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_given_again_is_zeros),
		cmocka_unit_test(what_is_kept_comes_again),
		cmocka_unit_test(what_is_not_a_block_is_out_of_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
