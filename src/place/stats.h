/*
 * stats.h - lines and curves through what was measured.
 *
 * Analysis alone: in floating point, and nothing of it enters a simulation.
 */
#ifndef WEIR_PLACE_STATS_H
#define WEIR_PLACE_STATS_H

#include <stdbool.h>

/* y = constant + slope x + curve x^2, by least squares. */
struct stats_fit {
	double constant, slope, curve;
	double r2;                /* the share of the variance of y that it explains; 1 where y does not vary */
	double error_max;         /* of any point, absolute */
};

/* False: the points do not say it (fewer than two, or three, different x). */
bool stats_line(const double *x, const double *y, unsigned count, struct stats_fit *fit);
bool stats_quadratic(const double *x, const double *y, unsigned count, struct stats_fit *fit);
double stats_at(const struct stats_fit *fit, double x);

/*
 * Write amplification against the sequential share of writes, as of the minTCO paper's Equation 7: flat up to a turning
 * point e, then a quadratic that falls and is concave; the two meet in e.
 *
 *   y = beta                          x <= e
 *   y = eta x^2 + mu x + gamma        x >  e
 */
struct stats_turning {
	double e, beta, eta, mu, gamma;
	double r2, error_max;
};

/* e is looked for in steps of a thousandth of the span of x.  False: fewer than three different x. */
bool stats_turning(const double *x, const double *y, unsigned count, struct stats_turning *fit);
double stats_turning_at(const struct stats_turning *fit, double x);

/* Of one value at least. */
double stats_mean(const double *values, unsigned count);

/* By how many percent of what was expected the measured value is more. */
double stats_percent_error(double measured, double expected);

/* Whichever is further from 0, without its sign; NAN where one of them is: what was not measured is not good. */
double stats_worse(double a, double b);

#endif
