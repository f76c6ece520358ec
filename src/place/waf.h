/*
 * waf.h - how much a drive writes for each byte that it is told to write, by how sequential the writes are.
 *
 * The model of the minTCO paper (Equation 7) with its letters.  S is the share of written bytes that belong to
 * sequential streams (src/trace/streams.h), 0 to 1; A is physical over logical writes.
 */
#ifndef WEIR_PLACE_WAF_H
#define WEIR_PLACE_WAF_H

#include <stdbool.h>

struct stats_turning;

/*
 *   A(S) = alpha S + beta              S <= epsilon
 *   A(S) = eta S^2 + mu S + gamma      S >  epsilon;  1 where that is less
 */
struct waf {
	double epsilon, alpha, beta, eta, mu, gamma;
};

/* What is taken where nobody has measured it: 4 up to a half, then a parabola down to 1.2, without a kink where they
 * meet.  The paper prints no numbers; this has all it says of them. */
extern const struct waf waf_default;

/* The same shape, from `plateau`, where writes are random, down to `sequential`, where all are not. */
struct waf waf_shaped(double plateau, double epsilon, double sequential);

/* As regression found it of measurements (stats.h). */
struct waf waf_fitted(const struct stats_turning *fit);

/* S is 0 to 1. */
double waf_at(const struct waf *waf, double seq_ratio);

/* Makes the two pieces meet, by gamma, where coefficients were rounded for print.  False: they are too far apart, and
 * nothing was changed. */
bool waf_join(struct waf *waf) __attribute__((warn_unused_result));

/* The steepest fall of A, and the least steep one, anywhere from `from` to `to`: -dA/dS. */
void waf_falls(const struct waf *waf, double from, double to, double *least, double *most);

/* NULL, or why it is no such curve: not finite, a jump, rising, below 1. */
const char *waf_wrong(const struct waf *waf);

#endif
