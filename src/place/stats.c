#include "place/stats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { TERMS_MAX = 3, STEPS = 1000 };

/* ---- least squares of a sum of up to three terms ---- */

struct system {
	unsigned terms;
	double a[TERMS_MAX][TERMS_MAX + 1]; /* the normal equations, and their right side */
};

static void
system_add(struct system *system, const double *term, double y)
{
	for (unsigned i = 0; i < system->terms; i++) {
		for (unsigned j = 0; j < system->terms; j++)
			system->a[i][j] += term[i] * term[j];
		system->a[i][system->terms] += term[i] * y;
	}
}

static void
swap_rows(struct system *system, unsigned i, unsigned j)
{
	double row[TERMS_MAX + 1];

	memcpy(row, system->a[i], sizeof(row));
	memcpy(system->a[i], system->a[j], sizeof(row));
	memcpy(system->a[j], row, sizeof(row));
}

/* By elimination; false: the terms are not independent. */
static bool
system_solve(struct system *system, double *solution)
{
	unsigned n = system->terms;

	for (unsigned i = 0; i < n; i++) {
		double before = system->a[i][i];
		unsigned best = i;

		for (unsigned j = i + 1; j < n; j++)
			if (fabs(system->a[j][i]) > fabs(system->a[best][i]))
				best = j;
		if (!(fabs(system->a[best][i]) > 1e-12 * (1 + fabs(before))))
			return false;
		swap_rows(system, i, best);
		for (unsigned j = 0; j < n; j++) {
			double times = system->a[j][i] / system->a[i][i];

			for (unsigned k = i; j != i && k <= n; k++)
				system->a[j][k] -= times * system->a[i][k];
		}
	}
	for (unsigned i = 0; i < n; i++)
		solution[i] = system->a[i][n] / system->a[i][i];
	return true;
}

static unsigned
different(const double *x, unsigned count)
{
	unsigned found = 0;

	for (unsigned i = 0; i < count; i++) {
		bool seen = false;

		for (unsigned j = 0; j < i && !seen; j++)
			seen = x[j] == x[i];
		found += !seen;
	}
	return found;
}

double
stats_mean(const double *values, unsigned count)
{
	double sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += values[i];
	return sum / count;
}

static double
variation_of(const double *y, unsigned count)
{
	double mean = stats_mean(y, count), sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += (y[i] - mean) * (y[i] - mean);
	return sum;
}

static double
explained(double left, double variation)
{
	return variation > 0 ? 1 - left / variation : 1;
}

/* ---- a line, a quadratic ---- */

/* About the middle of x and in units of its span: there the equations are well conditioned. */
static bool
fit_powers(const double *x, const double *y, unsigned count, unsigned terms, struct stats_fit *fit)
{
	struct system system = { .terms = terms };
	double middle, span = 0, s[TERMS_MAX] = { 0 }, left = 0;

	if (different(x, count) < terms)
		return false;
	middle = stats_mean(x, count);
	for (unsigned i = 0; i < count; i++)
		span = fmax(span, fabs(x[i] - middle));
	for (unsigned i = 0; i < count; i++) {
		double at = (x[i] - middle) / span;

		system_add(&system, (double[]){ 1, at, at * at }, y[i]);
	}
	if (!system_solve(&system, s))
		return false;
	*fit = (struct stats_fit){ .curve = s[2] / (span * span) };
	fit->slope = s[1] / span - 2 * fit->curve * middle;
	fit->constant = s[0] - s[1] / span * middle + fit->curve * middle * middle;
	for (unsigned i = 0; i < count; i++) {
		double error = fabs(y[i] - stats_at(fit, x[i]));

		left += error * error;
		fit->error_max = fmax(fit->error_max, error);
	}
	fit->r2 = explained(left, variation_of(y, count));
	return true;
}

bool
stats_line(const double *x, const double *y, unsigned count, struct stats_fit *fit)
{
	return fit_powers(x, y, count, 2, fit);
}

bool
stats_quadratic(const double *x, const double *y, unsigned count, struct stats_fit *fit)
{
	return fit_powers(x, y, count, 3, fit);
}

double
stats_at(const struct stats_fit *fit, double x)
{
	return fit->constant + (fit->slope + fit->curve * x) * x;
}

/* ---- flat, then falling ---- */

/* y = level + fall (x - e) + bend (x - e)^2 behind e. */
struct bent {
	double e, level, fall, bend;
};

static double
bent_at(const struct bent *bent, double x)
{
	double beyond = x > bent->e ? x - bent->e : 0;

	return bent->level + (bent->fall + bent->bend * beyond) * beyond;
}

static double
bent_left(const struct bent *bent, const double *x, const double *y, unsigned count)
{
	double left = 0;

	for (unsigned i = 0; i < count; i++) {
		double error = y[i] - bent_at(bent, x[i]);

		left += error * error;
	}
	return left;
}

/* The best one that turns in e and has these terms behind it; false: there is none that falls and is concave. */
static bool
bend_at(const double *x, const double *y, unsigned count, double e, bool falls, bool bends, struct bent *bent)
{
	struct system system = { .terms = 1U + falls + bends };
	double s[TERMS_MAX];

	for (unsigned i = 0; i < count; i++) {
		double beyond = x[i] > e ? x[i] - e : 0, term[TERMS_MAX] = { 1 };
		unsigned terms = 1;

		if (falls)
			term[terms++] = beyond;
		if (bends)
			term[terms++] = beyond * beyond;
		system_add(&system, term, y[i]);
	}
	if (!system_solve(&system, s))
		return false;
	*bent = (struct bent){ e, s[0], falls ? s[1] : 0, bends ? s[1 + falls] : 0 };
	return bent->fall <= 0 && bent->bend <= 0;
}

bool
stats_turning(const double *x, const double *y, unsigned count, struct stats_turning *fit)
{
	struct bent best = { 0 }, bent;
	double least, most, best_left = INFINITY;

	if (different(x, count) < 3)
		return false;
	least = most = x[0];
	for (unsigned i = 1; i < count; i++) {
		least = fmin(least, x[i]);
		most = fmax(most, x[i]);
	}
	for (unsigned step = 0; step < STEPS; step++)
		for (unsigned terms = 0; terms < 4; terms++) {
			double e = least + (most - least) * step / STEPS, left;

			if (!bend_at(x, y, count, e, (terms & 1) != 0, (terms & 2) != 0, &bent))
				continue;
			left = bent_left(&bent, x, y, count);
			if (left < best_left) {
				best_left = left;
				best = bent;
			}
		}
	assert(isfinite(best_left)); /* flat throughout is always one */
	*fit = (struct stats_turning){
		.e = best.e, .beta = best.level, .eta = best.bend, .mu = best.fall - 2 * best.bend * best.e,
		.gamma = best.level - best.fall * best.e + best.bend * best.e * best.e,
		.r2 = explained(best_left, variation_of(y, count)),
	};
	for (unsigned i = 0; i < count; i++)
		fit->error_max = fmax(fit->error_max, fabs(y[i] - bent_at(&best, x[i])));
	return true;
}

double
stats_turning_at(const struct stats_turning *fit, double x)
{
	return x <= fit->e ? fit->beta : (fit->eta * x + fit->mu) * x + fit->gamma;
}

double
stats_percent_error(double measured, double expected)
{
	return (measured - expected) / expected * 100;
}

double
stats_worse(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmax(fabs(a), fabs(b));
}
