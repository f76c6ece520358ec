/*
 * lookahead.h - the online allocator that is better than the paper's: minTCO-v3, which may think again.
 *
 * minTCO-v3 is greedy, and what it did once stays: what was right for the workloads that were there need not be for
 * those that came since.  Here, whenever a workload comes, it is placed as v3 does it, and then some of those that are
 * placed are looked at again: the disk that v3 would give such a one now is its new one if the pool's TCO'
 * (Equation 3) is less with it there until all disks are worn out, although its working set has to be copied, which
 * wears out the new disk, costs money, and does not count as served.
 *
 * O(looks * log disks) for each workload that comes.
 */
#ifndef WEIR_PLACE_LOOKAHEAD_H
#define WEIR_PLACE_LOOKAHEAD_H

#include "place/policy.h"

struct lookahead_options {
	struct policy_options policy;
	unsigned looks;            /* workloads that are looked at again for each one that comes */
	double usd_per_gb;         /* what it costs to move a GB, beside the wear */
	double gain_min;           /* by what share of it TCO' must be less: 0 for any */
};

extern const struct lookahead_options lookahead_usual;

/* The caller's, for one pool: where it goes on to look. */
struct lookahead_state {
	uint32_t next;
};

/* Places it, which is nowhere, and moves what pays for it; the choice is that of the workload itself, before it moved,
 * if it did.  False: no disk takes it, and nothing was done. */
bool lookahead_put(struct pool *pool, const struct lookahead_options *options, struct lookahead_state *state,
    uint32_t workload, double now_days, struct policy_choice *choice);

/* Moves that workload to where the pool's TCO' is least, if that pays.  Whether it did. */
bool lookahead_move(struct pool *pool, const struct lookahead_options *options, uint32_t workload, double now_days);

#endif
