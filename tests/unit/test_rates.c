/*
 * test_rates.c - rates and the peak, against examples and against a model that keeps each window.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "trace/rates.h"

#define SECOND UINT64_C(1000000000)

static void
add(struct rates *rates, uint64_t time_ns, uint32_t bytes, bool is_write)
{
	const struct trace_request request = { .time_ns = time_ns, .bytes = bytes, .is_write = is_write };

	rates_add(rates, &request);
}

static void
test_the_peak_is_of_the_window_with_most_from_the_first_request_on(void **state)
{
	struct rates rates;

	rates_init(&rates, 300 * SECOND);
	/* 10 in [1000, 1300), 30 in [1300, 1600), 5 in [1600, 1900): cut at 1200 and 1500 it would be another peak. */
	for (unsigned i = 0; i < 10; i++)
		add(&rates, 1000 * SECOND + i, 4096, false);
	for (unsigned i = 0; i < 30; i++)
		add(&rates, (1300 + 10 * i) * SECOND, 4096, true);
	for (unsigned i = 0; i < 5; i++)
		add(&rates, 1800 * SECOND + i, 4096, false);
	assert_true(rates_peak_iops(&rates) == 30 / 300.0);
	assert_true(rates_write_ratio(&rates) == 30 / 45.0);
	assert_int_equal(rates.read_bytes, 15 * 4096);
}

static void
test_the_write_rate_is_in_gigabytes_of_ten_to_the_nine_per_day(void **state)
{
	struct rates rates;

	rates_init(&rates, 300 * SECOND);
	for (unsigned i = 0; i <= 100; i++)
		add(&rates, i * 864 * SECOND, 10000000, true);
	assert_int_equal(rates_duration_ns(&rates), 86400 * SECOND);
	assert_true(fabs(rates_write_gb_day(&rates) - 1.01) < 1e-12);
}

static void
test_of_what_is_shorter_than_a_second_no_rate_is_known(void **state)
{
	struct rates rates;

	rates_init(&rates, 300 * SECOND);
	assert_true(isnan(rates_write_ratio(&rates)) && isnan(rates_peak_iops(&rates)));
	add(&rates, 5 * SECOND, 4096, true);
	add(&rates, 6 * SECOND - 1, 4096, true);
	assert_true(isnan(rates_write_gb_day(&rates)) && isnan(rates_peak_iops(&rates)));
	add(&rates, 6 * SECOND, 4096, true);
	assert_true(rates_write_gb_day(&rates) > 0);
	assert_true(rates_peak_iops(&rates) == 3);
}

static void
test_requests_that_go_back_a_little_count_in_their_window(void **state)
{
	struct rates rates;

	rates_init(&rates, SECOND);
	for (unsigned i = 0; i <= 20; i++)
		add(&rates, i * SECOND, 4096, true);
	for (unsigned i = 0; i < 3; i++)
		add(&rates, 13 * SECOND, 4096, true);
	assert_int_equal(rates.backwards, 3);
	assert_int_equal(rates.misplaced, 0);
	assert_true(rates_peak_iops(&rates) == 4);
	for (unsigned i = 0; i < 3; i++)
		add(&rates, 12 * SECOND, 4096, true);
	assert_int_equal(rates.misplaced, 3);
	assert_true(rates_peak_iops(&rates) == 7);
}

static void
test_what_is_earlier_than_the_first_counts_in_the_first_window(void **state)
{
	struct rates rates;

	rates_init(&rates, SECOND);
	add(&rates, 10 * SECOND, 4096, true);
	add(&rates, 3 * SECOND, 4096, true);
	assert_int_equal(rates.misplaced, 0);
	assert_int_equal(rates_duration_ns(&rates), 7 * SECOND);
	assert_true(rates_peak_iops(&rates) == 2);
}

static void
test_time_that_goes_on_by_far_costs_nothing(void **state)
{
	struct rates rates;

	rates_init(&rates, SECOND);
	for (unsigned i = 0; i < 5; i++)
		add(&rates, 0, 4096, true);
	add(&rates, UINT64_MAX, 4096, true);
	assert_true(rates_peak_iops(&rates) == 5);
}

static void
test_windows_are_those_of_a_model_that_keeps_them_all(void **state)
{
	enum { WINDOWS = 400 };

	for (uint64_t seed = 0; seed < 100; seed++) {
		uint64_t counts[WINDOWS] = { 0 }, most = 0, now = 0;
		struct rates rates;
		struct rng rng;

		rates_init(&rates, 100);
		rng_seed(&rng, seed);
		for (unsigned i = 0; i < 3000 && now < 100 * (WINDOWS - 1); i++) {
			uint64_t back = i > 0 && rng_below(&rng, 3) == 0 ? rng_below(&rng, 600) : 0;
			uint64_t time = back < now ? now - back : 0;

			add(&rates, time + 77, 1, true);
			counts[time / 100]++;
			now += rng_below(&rng, rng_below(&rng, 20) == 0 ? 2000 : 10);
		}
		for (unsigned i = 0; i < WINDOWS; i++)
			most = counts[i] > most ? counts[i] : most;
		assert_int_equal(rates.misplaced, 0);
		for (unsigned i = 0; i < RATES_KEPT; i++)
			rates.peak = rates.kept[i] > rates.peak ? rates.kept[i] : rates.peak;
		assert_int_equal(rates.peak, most);
	}
}

static void
test_twice_the_pace_is_twice_the_rates(void **state)
{
	struct rates slow, fast;
	struct rng rng;
	uint64_t now = 0;

	rates_init(&slow, 300 * SECOND);
	rates_init(&fast, 150 * SECOND);
	rng_seed(&rng, 7);
	for (unsigned i = 0; i < 5000; i++) {
		now += 2 * rng_below(&rng, SECOND);
		add(&slow, now, 4096, i % 3 == 0);
		add(&fast, now / 2, 4096, i % 3 == 0);
	}
	assert_true(rates_peak_iops(&fast) == 2 * rates_peak_iops(&slow));
	assert_true(fabs(rates_write_gb_day(&fast) / rates_write_gb_day(&slow) - 2) < 1e-9);
	assert_true(rates_write_ratio(&fast) == rates_write_ratio(&slow));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_peak_is_of_the_window_with_most_from_the_first_request_on),
		cmocka_unit_test(test_the_write_rate_is_in_gigabytes_of_ten_to_the_nine_per_day),
		cmocka_unit_test(test_of_what_is_shorter_than_a_second_no_rate_is_known),
		cmocka_unit_test(test_requests_that_go_back_a_little_count_in_their_window),
		cmocka_unit_test(test_what_is_earlier_than_the_first_counts_in_the_first_window),
		cmocka_unit_test(test_time_that_goes_on_by_far_costs_nothing),
		cmocka_unit_test(test_windows_are_those_of_a_model_that_keeps_them_all),
		cmocka_unit_test(test_twice_the_pace_is_twice_the_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
