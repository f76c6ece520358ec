/*
 * waf_curve.h - how write amplification falls with the share of sequential writes, on the modelled SSD.
 *
 * Runs of several streams, each of which goes round a part of the space, between runs of uniform random writes over all
 * of it; greedy.  Equation 7 of the minTCO paper is fitted to what comes of it.
 */
#ifndef WEIR_WAF_CURVE_H
#define WEIR_WAF_CURVE_H

#include "lab/rig.h"
#include "place/stats.h"

/* How it is done: in drive writes; more where nearly all is sequential, as blocks are for long as they were there. */
enum {
	WAF_CURVE_DIES = 4, WAF_CURVE_STREAMS = 8, WAF_CURVE_WARM_UP = 4, WAF_CURVE_LONG_FROM = 75 /* percent */,
	WAF_CURVE_LONG_WARM_UP = 10,
};

enum { WAF_CURVE_SHARES = 17 };

extern const unsigned waf_curve_shares[WAF_CURVE_SHARES]; /* percent, rising from 0 to 100 */

struct waf_curve {
	char name[32];
	double spare;              /* that is left of what was asked for, without what is held back */
	double share[WAF_CURVE_SHARES], amplification[WAF_CURVE_SHARES]; /* 0 to 1 */
	double most;
	struct stats_turning fit;
};

/* For each of some spares, in thousandths: side by side, where the lab has a crew.  False: the lab says why. */
bool waf_curves_measure(struct lab *lab, const unsigned *spares, unsigned count, struct waf_curve *curves)
    __attribute__((warn_unused_result));

#endif
