/*
 * test_stats.c - fits and formulas against values that are known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "place/stats.h"
#include "place/waf_theory.h"

#define near(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static void
test_a_line_goes_through_what_is_known(void **state)
{
	/* Anscombe's first quartet (1973): 3.00 + 0.500 x, r^2 0.67. */
	const double x[] = { 10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5 };
	const double y[] = { 8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68 };
	struct stats_fit fit;

	assert_true(stats_line(x, y, 11, &fit));
	near(fit.constant, 3.0001, 0.0001);
	near(fit.slope, 0.5001, 0.0001);
	near(fit.r2, 0.6665, 0.0001);
	near(fit.error_max, 1.92127, 0.001);
	assert_true(fit.curve == 0);
	near(stats_at(&fit, 20), 13.002, 0.001);
}

static void
test_a_quadratic_goes_through_what_is_known(void **state)
{
	/* Anscombe's second: exactly -5.9957 + 2.7808 x - 0.1267 x^2. */
	const double x[] = { 10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5 };
	const double y[] = { 9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74 };
	struct stats_fit fit;

	assert_true(stats_quadratic(x, y, 11, &fit));
	near(fit.constant, -5.9957, 0.0001);
	near(fit.slope, 2.7808, 0.0001);
	near(fit.curve, -0.1267, 0.0001);
	assert_true(fit.r2 > 0.99999);
}

static void
test_numbers_far_from_zero_are_fitted_too(void **state)
{
	double x[7], y[7];
	struct stats_fit fit;

	for (unsigned i = 0; i < 7; i++) {
		x[i] = 1e6 + i;
		y[i] = 3 * (x[i] - 1e6) * (x[i] - 1e6) - 2;
	}
	assert_true(stats_quadratic(x, y, 7, &fit));
	near(fit.curve, 3, 1e-6);
	assert_true(fit.r2 > 0.999999);
}

static void
test_too_few_points_say_nothing(void **state)
{
	const double x[] = { 1, 1, 2, 2 }, y[] = { 1, 2, 3, 4 };
	struct stats_turning turning;
	struct stats_fit fit;

	assert_false(stats_line(x, y, 2, &fit));
	assert_false(stats_line(x, y, 0, &fit));
	assert_true(stats_line(x, y, 4, &fit));
	assert_false(stats_quadratic(x, y, 4, &fit));
	assert_false(stats_turning(x, y, 4, &turning));
}

/* A plateau of 4.76 up to 0.4, then eta -8.772, mu 5.952, gamma 3.783: continuous but for their rounding. */
static double
plateau(double share)
{
	return share <= 0.4 ? 4.76 : 4.76 - 1.066 * (share - 0.4) - 8.772 * (share - 0.4) * (share - 0.4);
}

static void
test_the_turning_point_is_found(void **state)
{
	double x[21], y[21];
	struct stats_turning fit;

	for (unsigned i = 0; i < 21; i++) {
		x[i] = i / 20.0;
		y[i] = plateau(x[i]);
	}
	assert_true(stats_turning(x, y, 21, &fit));
	near(fit.e, 0.4, 0.0011);
	near(fit.beta, 4.76, 0.001);
	near(fit.eta, -8.772, 0.03);
	near(fit.mu, 5.952, 0.03);
	near(fit.gamma, 3.783, 0.01);
	assert_true(fit.r2 > 0.99999 && fit.error_max < 0.001);
	/* The two meet. */
	near(stats_turning_at(&fit, fit.e), stats_turning_at(&fit, fit.e + 1e-9), 1e-6);
	near(stats_turning_at(&fit, 0.2), 4.76, 0.001);
	near(stats_turning_at(&fit, 1), plateau(1), 0.01);
}

static void
test_what_bends_the_other_way_is_fitted_as_well_as_a_line_can(void **state)
{
	double x[11], y[11];
	struct stats_turning fit;

	for (unsigned i = 0; i < 11; i++) {
		x[i] = i / 10.0;
		y[i] = (1 - x[i]) * (1 - x[i]); /* falls, but is convex */
	}
	assert_true(stats_turning(x, y, 11, &fit));
	assert_true(fit.eta <= 0 && fit.mu <= 0 && fit.r2 > 0.9);
	for (unsigned i = 0; i < 11; i++)
		y[i] = x[i]; /* rises: flat is the best of those that do not */
	assert_true(stats_turning(x, y, 11, &fit));
	near(fit.beta, 0.5, 1e-9);
	near(stats_turning_at(&fit, 1), 0.5, 1e-9);
}

static void
test_lamberts_w_undoes_its_power(void **state)
{
	near(waf_lambert_w0(0), 0, 1e-15);
	near(waf_lambert_w0(1), 0.56714329040978387, 1e-14); /* the omega constant */
	near(waf_lambert_w0(exp(1)), 1, 1e-14);
	near(waf_lambert_w0(-log(2) / 2), -log(2), 1e-12);
	near(waf_lambert_w0(-exp(-1)), -1, 1e-7);
	assert_true(isnan(waf_lambert_w0(-0.4)));
	for (double x = -0.367; x < 1000; x = x < 1 ? x + 0.01 : x * 1.5) {
		double w = waf_lambert_w0(x);

		assert_true(w >= -1);
		near(w * exp(w), x, 1e-12 * (1 + x));
	}
}

static void
test_write_amplification_is_as_published(void **state)
{
	static const struct { double spare, waf; } known[] = {
		{ 0.07, 7.82 }, { 0.111, 5.18 }, { 0.12, 4.85 }, { 0.1453, 4.12 }, { 0.20, 3.19 }, { 0.28, 2.48 },
		{ 0.30, 2.36 }, { 0.374, 2.04 }, { 0.50, 1.72 }, { 1.00, 1.26 },
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		near(waf_uniform(known[i].spare), known[i].waf, 0.0055);
	near(waf_uniform_simple(0.30), 2.17, 0.005);
	assert_true(isinf(waf_uniform(0)));
	near(waf_spare(512, 5, 512, 512 * 512 / 1.12), 1.12 * 507 / 512 - 1, 1e-12);
	near(stats_percent_error(4.2, 4.0), 5, 1e-9);
	near(stats_percent_error(3.8, 4.0), -5, 1e-9);
}

static void
the_worse_of_two_is_none_where_one_is_none(void **state)
{
	(void)state;
	assert_true(stats_worse(3, -5) == 5 && stats_worse(-5, 3) == 5);
	assert_true(isnan(stats_worse(3, NAN)) && isnan(stats_worse(NAN, 3)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_goes_through_what_is_known),
		cmocka_unit_test(test_a_quadratic_goes_through_what_is_known),
		cmocka_unit_test(test_numbers_far_from_zero_are_fitted_too),
		cmocka_unit_test(test_too_few_points_say_nothing),
		cmocka_unit_test(test_the_turning_point_is_found),
		cmocka_unit_test(test_what_bends_the_other_way_is_fitted_as_well_as_a_line_can),
		cmocka_unit_test(test_lamberts_w_undoes_its_power),
		cmocka_unit_test(test_write_amplification_is_as_published),
		cmocka_unit_test(the_worse_of_two_is_none_where_one_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
