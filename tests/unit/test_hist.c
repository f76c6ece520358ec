/*
 * base/hist: quantiles against those of the sorted values themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hist.h"
#include "base/rng.h"

enum { COUNT = 20000, SUBS = 1 << HIST_SUB_BITS };

static const uint32_t ppms[] = { 0, 1, 10000, 250000, 500000, 900000, 990000, 999000, 999900, 999999, 1000000 };
enum { PPMS = sizeof(ppms) / sizeof(ppms[0]) };

static struct hist hist;
static uint64_t values[COUNT];

static int
by_size(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* The smallest of the first `count` values that so many of them do not exceed. */
static uint64_t
exact(uint32_t count, uint32_t ppm)
{
	uint64_t rank = ((uint64_t)count * ppm + 999999) / 1000000;

	return values[rank > 0 ? rank - 1 : 0];
}

/* Never too small, by less than 1/64 too large, and in order. */
static void
agrees(uint32_t count)
{
	uint64_t sum = 0, before = 0;

	hist_init(&hist);
	for (uint32_t i = 0; i < count; i++) {
		hist_add(&hist, values[i]);
		sum += values[i];
	}
	qsort(values, count, sizeof(values[0]), by_size);
	assert_int_equal(hist.count, count);
	assert_int_equal(hist.sum, sum);
	assert_int_equal(hist.min, values[0]);
	assert_int_equal(hist.max, values[count - 1]);
	for (unsigned i = 0; i < PPMS; i++) {
		uint64_t found = hist_quantile(&hist, ppms[i]), right = exact(count, ppms[i]);

		assert_in_range(found, right, right + right / SUBS);
		assert_true(found >= before && found <= hist.max);
		before = found;
	}
	assert_int_equal(hist_quantile(&hist, 1000000), hist.max);
}

static void
an_empty_one_answers_zero(void **state)
{
	(void)state;
	hist_init(&hist);
	assert_int_equal(hist.count, 0);
	assert_int_equal(hist.sum, 0);
	assert_int_equal(hist.max, 0);
	for (unsigned i = 0; i < PPMS; i++)
		assert_int_equal(hist_quantile(&hist, ppms[i]), 0);
}

static void
one_value_is_every_quantile(void **state)
{
	static const uint64_t each[] = {
		0, 1, 63, 64, 65, 127, 128, 129, 1000, 123456789, ((uint64_t)1 << HIST_MAX_BITS) - 1,
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		hist_init(&hist);
		hist_add(&hist, each[i]);
		assert_int_equal(hist.min, each[i]);
		assert_int_equal(hist.max, each[i]);
		for (unsigned j = 0; j < PPMS; j++)
			assert_int_equal(hist_quantile(&hist, ppms[j]), each[i]);
	}
}

/* Below two times the steps of a power each value has a bucket of its own. */
static void
small_values_are_exact(void **state)
{
	(void)state;
	hist_init(&hist);
	for (uint64_t value = 0; value < 2 * SUBS; value++)
		hist_add(&hist, value);
	for (uint32_t i = 1; i <= 2 * SUBS; i++)
		assert_int_equal(hist_quantile(&hist, i * 1000000 / (2 * SUBS)), i - 1);
}

static void
both_sides_of_every_bound_are_told_apart(void **state)
{
	(void)state;
	for (uint32_t shift = 1; shift + HIST_SUB_BITS < HIST_MAX_BITS; shift++)
		for (uint64_t sub = SUBS; sub < 2 * SUBS; sub++) {
			uint64_t first = sub << shift, last = ((sub + 1) << shift) - 1;

			hist_init(&hist);
			hist_add(&hist, first - 1);
			hist_add(&hist, first);
			hist_add(&hist, last);
			assert_int_equal(hist_quantile(&hist, 333333), first - 1);
			assert_int_equal(hist_quantile(&hist, 666666), last);
		}
}

static void
quantiles_are_known_to_a_sixty_fourth(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (uint32_t i = 0; i < COUNT; i++)
		values[i] = i + 1;
	agrees(COUNT);
	for (uint32_t i = 0; i < COUNT; i++) /* as many of each power of two */
		values[i] = rng_next(&rng) >> (64 - HIST_MAX_BITS + rng_below(&rng, HIST_MAX_BITS));
	agrees(COUNT);
	for (uint32_t i = 0; i < COUNT; i++) /* latencies: near together, and a few that are far off */
		values[i] = rng_below(&rng, 1000) == 0 ? 5000000 + rng_below(&rng, 9000000) :
		    8000 + rng_below(&rng, 2000);
	agrees(COUNT);
	for (uint32_t count = 1; count <= 100; count++) {
		for (uint32_t i = 0; i < count; i++)
			values[i] = rng_below(&rng, 100000);
		agrees(count);
	}
}

static void
what_is_beyond_the_range_is_counted_at_its_end(void **state)
{
	(void)state;
	hist_init(&hist);
	hist_add(&hist, 10);
	hist_add(&hist, (uint64_t)1 << HIST_MAX_BITS);
	hist_add(&hist, UINT64_MAX >> 1);
	assert_int_equal(hist.max, UINT64_MAX >> 1);
	assert_int_equal(hist_quantile(&hist, 1), 10);
	assert_int_equal(hist_quantile(&hist, 1000000), ((uint64_t)1 << HIST_MAX_BITS) - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_one_answers_zero),
		cmocka_unit_test(one_value_is_every_quantile),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(both_sides_of_every_bound_are_told_apart),
		cmocka_unit_test(quantiles_are_known_to_a_sixty_fourth),
		cmocka_unit_test(what_is_beyond_the_range_is_counted_at_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
