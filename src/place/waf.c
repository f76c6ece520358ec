#include "place/waf.h"

#include <math.h>
#include <stddef.h>

#include "place/stats.h"

/* How far the two pieces may be apart where they meet, and how much A may rise; as shares of A, for rounding alone. */
static const double JUMP = 1e-12, RISE = 1e-13;
/* And where coefficients were printed with few digits. */
static const double PRINTED = 0.01;

const struct waf waf_default = { .epsilon = 0.5, .alpha = 0, .beta = 4, .eta = -11.2, .mu = 11.2, .gamma = 1.2 };

struct waf
waf_shaped(double plateau, double epsilon, double sequential)
{
	double eta = (sequential - plateau) / ((1 - epsilon) * (1 - epsilon));

	return (struct waf){
		.epsilon = epsilon, .beta = plateau,
		.eta = eta, .mu = -2 * eta * epsilon, .gamma = plateau + eta * epsilon * epsilon,
	};
}

struct waf
waf_fitted(const struct stats_turning *fit)
{
	return (struct waf){
		.epsilon = fit->e, .beta = fit->beta, .eta = fit->eta, .mu = fit->mu, .gamma = fit->gamma,
	};
}

static double
plain_at(const struct waf *waf, double s)
{
	return s <= waf->epsilon ? waf->alpha * s + waf->beta : (waf->eta * s + waf->mu) * s + waf->gamma;
}

double
waf_at(const struct waf *waf, double seq_ratio)
{
	double a = plain_at(waf, seq_ratio);

	return a > 1 ? a : 1;
}

bool
waf_join(struct waf *waf)
{
	double below = waf->alpha * waf->epsilon + waf->beta;
	double gamma = below - (waf->eta * waf->epsilon + waf->mu) * waf->epsilon;

	if (!(fabs(gamma - waf->gamma) <= PRINTED * below))
		return false;
	waf->gamma = gamma;
	return true;
}

static void
spread(double value, double *least, double *most)
{
	*least = value < *least ? value : *least;
	*most = value > *most ? value : *most;
}

void
waf_falls(const struct waf *waf, double from, double to, double *least, double *most)
{
	*least = INFINITY;
	*most = -INFINITY;
	if (from <= waf->epsilon)
		spread(-waf->alpha, least, most);
	if (to > waf->epsilon) {
		double begin = from > waf->epsilon ? from : waf->epsilon;

		spread(-(2 * waf->eta * begin + waf->mu), least, most);
		spread(-(2 * waf->eta * to + waf->mu), least, most);
		if (plain_at(waf, to) <= 1) /* flat from where it would fall below 1 */
			spread(0, least, most);
	}
}

const char *
waf_wrong(const struct waf *waf)
{
	double below = waf->alpha * waf->epsilon + waf->beta;
	double above = (waf->eta * waf->epsilon + waf->mu) * waf->epsilon + waf->gamma;

	if (!isfinite(waf->alpha) || !isfinite(waf->beta) || !isfinite(waf->eta) || !isfinite(waf->mu) ||
	    !isfinite(waf->gamma))
		return "write amplification has a coefficient that is no number";
	if (!(waf->epsilon >= 0 && waf->epsilon <= 1))
		return "write amplification turns at a share that is not from 0 to 1";
	if (waf->beta < 1 || (waf->epsilon > 0 && below < 1))
		return "write amplification is below 1";
	if (waf->epsilon < 1 && fabs(below - above) > JUMP * below)
		return "write amplification jumps where its two pieces meet";
	if (waf->alpha > RISE || -(2 * waf->eta * waf->epsilon + waf->mu) < -RISE * below ||
	    -(2 * waf->eta + waf->mu) < -RISE * below)
		return "write amplification rises with the share of sequential writes";
	return NULL;
}
