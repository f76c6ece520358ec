/*
 * test_host_cache.c - which Flush speaks for which write, by the life of the cache that has answered them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/cache.h"

/* A Flush from its submission to its answer, of a user who was told up to that moment. */
static bool
flush(struct cache *cache, struct cache_life *life, uint64_t told)
{
	return cache_flushed(cache, life, cache_flush(cache), told);
}

static void
a_flush_of_the_same_life_speaks_for_all(void **state)
{
	struct cache cache = { 0 };
	struct cache_life *life = cache_life_take(&cache, 7);

	(void)state;
	assert_ptr_equal(cache_life_take(&cache, 7), life);
	assert_true(flush(&cache, life, 0));
	cache_wrote(&cache, life);
	assert_true(flush(&cache, life, 0));
	assert_true(flush(&cache, cache_life_take(&cache, 8), 0));
	assert_int_equal(cache_told(&cache), 0);
}

static void
a_flush_of_another_life_fails_once_for_who_was_not_told(void **state)
{
	struct cache cache = { 0 };
	struct cache_life *first = cache_life_take(&cache, 7), *second = cache_life_take(&cache, 8);
	uint64_t told = cache_flush(&cache) + 1;

	(void)state;
	cache_wrote(&cache, first);
	assert_false(flush(&cache, second, 0));
	assert_int_equal(cache_told(&cache), told);
	assert_false(flush(&cache, second, 0));
	assert_int_equal(cache_told(&cache), told + 1);
	assert_true(flush(&cache, second, told));
	cache_wrote(&cache, second);
	assert_true(flush(&cache, second, told));
	cache_wrote(&cache, first); /* and is lost too */
	assert_false(flush(&cache, second, told));
}

/* One that was answered when the Flush was under way already is not spoken for by it. */
static void
a_flush_covers_what_was_answered_before_it_was_submitted(void **state)
{
	struct cache cache = { 0 };
	struct cache_life *first = cache_life_take(&cache, 7), *second = cache_life_take(&cache, 8);
	uint64_t moment, told;

	(void)state;
	cache_wrote(&cache, first);
	moment = cache_flush(&cache);
	cache_wrote(&cache, first);
	assert_true(cache_flushed(&cache, first, moment, 0));
	assert_false(flush(&cache, second, 0));
	/* Nor does a failure speak for it. */
	told = cache_flush(&cache);
	cache_wrote(&cache, second);
	assert_false(cache_flushed(&cache, second, told, 0));
	assert_false(flush(&cache, cache_life_take(&cache, 9), told));
}

/* Two targets at once: each knows its own. */
static void
a_life_that_comes_back_is_the_same(void **state)
{
	struct cache cache = { 0 };
	struct cache_life *first = cache_life_take(&cache, 7), *second;

	(void)state;
	cache_wrote(&cache, first);
	cache_life_give(first);
	second = cache_life_take(&cache, 8);
	cache_wrote(&cache, second);
	assert_ptr_equal(cache_life_take(&cache, 7), first);
	assert_false(flush(&cache, first, 0));
	assert_true(flush(&cache, second, cache_told(&cache)));
}

static void
what_does_not_tell_is_not_asked(void **state)
{
	struct cache cache = { 0 };
	struct cache_life *life = cache_life_take(&cache, 7);

	(void)state;
	assert_null(cache_life_take(&cache, 0));
	cache_life_give(NULL);
	cache_wrote(&cache, NULL);
	assert_true(flush(&cache, NULL, 0));
	assert_true(flush(&cache, life, 0));
	cache_wrote(&cache, life);
	assert_false(flush(&cache, NULL, 0));
}

/* There is room for some lives: what is forgotten of others is that they were flushed, never that they were not. */
static void
there_may_be_any_number_of_lives(void **state)
{
	struct cache cache = { 0 };
	struct cache_life *lives[CACHE_LIVES + 2];
	uint64_t told = 0;

	(void)state;
	for (uint64_t number = 1; number < 100; number++) {
		struct cache_life *life = cache_life_take(&cache, number);

		assert_int_equal(flush(&cache, life, told), number % 3 != 2);
		told = atomic_load(&cache.flushes);
		cache_wrote(&cache, life);
		if (number % 3 != 1)
			assert_true(flush(&cache, life, told));
		told = atomic_load(&cache.flushes);
		cache_life_give(life);
	}
	cache = (struct cache){ 0 };
	lives[0] = cache_life_take(&cache, 1);
	cache_wrote(&cache, lives[0]);
	cache_life_give(lives[0]);
	for (unsigned i = 0; i < CACHE_LIVES + 2; i++)
		lives[i] = cache_life_take(&cache, 10 + i);
	for (unsigned i = 0; i < CACHE_LIVES + 2; i++)
		assert_false(flush(&cache, lives[i], 0));
	told = atomic_load(&cache.flushes);
	assert_true(flush(&cache, lives[0], told));
	/* Those that have found no place are never sure of each other. */
	cache_wrote(&cache, lives[CACHE_LIVES]);
	assert_false(flush(&cache, lives[CACHE_LIVES + 1], told));
	assert_false(flush(&cache, lives[CACHE_LIVES], told));
}

/* A place that is another life's from now on: what that writes is younger than all that was there. */
static void
a_new_life_is_not_taken_for_the_one_before(void **state)
{
	struct cache cache = { 0 };
	struct cache_life *life = cache_life_take(&cache, 1), *other;
	uint64_t moment;

	(void)state;
	cache_wrote(&cache, life);
	for (unsigned i = 1; i <= CACHE_LIVES; i++)
		other = cache_life_take(&cache, 1 + i);
	cache_life_give(life);
	other = cache_life_take(&cache, 50);
	assert_ptr_equal(other, life);
	assert_false(flush(&cache, other, 0));
	cache_wrote(&cache, other);
	moment = atomic_load(&other->written);
	cache_life_give(other);
	assert_ptr_equal(cache_life_take(&cache, 51), other);
	cache_wrote(&cache, other);
	assert_false(flush(&cache, &cache.lives[2], moment));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flush_of_the_same_life_speaks_for_all),
		cmocka_unit_test(a_flush_of_another_life_fails_once_for_who_was_not_told),
		cmocka_unit_test(a_flush_covers_what_was_answered_before_it_was_submitted),
		cmocka_unit_test(a_life_that_comes_back_is_the_same),
		cmocka_unit_test(what_does_not_tell_is_not_asked),
		cmocka_unit_test(there_may_be_any_number_of_lives),
		cmocka_unit_test(a_new_life_is_not_taken_for_the_one_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
