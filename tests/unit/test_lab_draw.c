/*
 * test_lab_draw.c - gaps and places that are drawn as often as they should be.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab/draw.h"

enum { DRAWS = 200000 };

static void
test_gaps_are_exponential(void **state)
{
	const uint64_t mean = 12345678;
	uint64_t beyond[3] = { 0 };
	double sum = 0;
	struct rng rng;

	rng_seed(&rng, 1);
	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t gap = draw_exponential(&rng, mean);

		sum += (double)gap;
		for (unsigned k = 0; k < 3; k++)
			beyond[k] += gap > mean * (k + 1);
	}
	assert_true(fabs(sum / DRAWS / (double)mean - 1) < 0.01);
	for (unsigned k = 0; k < 3; k++)
		assert_true(fabs((double)beyond[k] / DRAWS / exp(-(double)(k + 1)) - 1) < 0.03);
}

/* Counted against the weights themselves. */
static void
check_zipf(unsigned ranks, unsigned exponent)
{
	unsigned counts[1000] = { 0 };
	struct draw_zipf zipf;
	double all = 0;
	struct rng rng;

	rng_seed(&rng, 2);
	draw_zipf_init(&zipf, ranks, exponent);
	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t rank = draw_zipf(&zipf, &rng);

		assert_true(rank < ranks);
		counts[rank]++;
	}
	for (unsigned i = 1; i <= ranks; i++)
		all += pow(i, -(double)exponent / 100);
	for (unsigned i = 1; i <= ranks; i++) {
		double expected = DRAWS * pow(i, -(double)exponent / 100) / all;

		/* Five times what chance makes. */
		assert_true(fabs(counts[i - 1] - expected) < 5 * sqrt(expected) + 5);
	}
}

static void
test_ranks_are_as_popular_as_the_exponent_says(void **state)
{
	check_zipf(1000, 99);
	check_zipf(1000, 50);
	check_zipf(777, 120);
	check_zipf(100, 200);
	check_zipf(100, 1);
	check_zipf(2, 100);
	check_zipf(1, 100);
}

static void
test_many_ranks_are_all_within_them(void **state)
{
	const uint64_t ranks = (UINT64_C(1) << 40) - 1;
	uint64_t far = 0;
	struct draw_zipf zipf;
	struct rng rng;

	rng_seed(&rng, 3);
	draw_zipf_init(&zipf, ranks, 50);
	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t rank = draw_zipf(&zipf, &rng);

		assert_true(rank < ranks);
		far += rank >= ranks / 4;
	}
	/* The sum of n^-1/2 grows with the root of n: half of them are behind a quarter of the ranks. */
	assert_true(fabs((double)far / DRAWS - 0.5) < 0.01);
}

static void
test_a_seed_is_a_row_of_draws(void **state)
{
	struct draw_zipf zipf;
	struct rng a, b;

	draw_zipf_init(&zipf, 4096, 99);
	rng_seed(&a, 7);
	rng_seed(&b, 7);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(draw_zipf(&zipf, &a), draw_zipf(&zipf, &b));
		assert_int_equal(draw_exponential(&a, 1000), draw_exponential(&b, 1000));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps_are_exponential),
		cmocka_unit_test(test_ranks_are_as_popular_as_the_exponent_says),
		cmocka_unit_test(test_many_ranks_are_all_within_them),
		cmocka_unit_test(test_a_seed_is_a_row_of_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
