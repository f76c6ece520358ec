#include "place/waf_theory.h"

#include <math.h>

double
waf_lambert_w0(double x)
{
	const double edge = -exp(-1);
	double w;

	if (!(x >= edge - 1e-15))
		return NAN;
	if (x <= edge)
		return -1;
	/* From the series at the edge where it is near, else from the logarithm; then Halley's steps. */
	if (x < -0.1) {
		double p = sqrt(2 * (x - edge) * exp(1));

		w = -1 + p - p * p / 3 + p * p * p * 11 / 72;
	} else {
		w = log1p(x);
	}
	for (unsigned i = 0; i < 50; i++) {
		double power = exp(w), f = w * power - x;
		double step = f / (power * (w + 1) - (w + 2) * f / (2 * w + 2));

		if (!isfinite(step)) /* at the edge itself */
			break;
		w -= step;
		if (fabs(step) <= 1e-15 * (1 + fabs(w)))
			break;
	}
	return w;
}

double
waf_uniform(double spare)
{
	double alpha = 1 + spare;

	return spare > 0 ? alpha / (alpha + waf_lambert_w0(-alpha * exp(-alpha))) : INFINITY;
}

double
waf_uniform_simple(double spare)
{
	return (1 + spare) / (2 * spare);
}

double
waf_spare(double blocks, double reserve, double units_per_block, double user_units)
{
	return (blocks - reserve) * units_per_block / user_units - 1;
}
