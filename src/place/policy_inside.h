/*
 * policy_inside.h - a question to a pool's trees: whom to give one workload.  Shared by policy.c and policy_bound.c.
 */
#ifndef WEIR_PLACE_POLICY_INSIDE_H
#define WEIR_PLACE_POLICY_INSIDE_H

#include "place/policy.h"

struct policy_query {
	struct tree_query query;
	const struct pool *pool;
	const struct workload *workload;
	const struct policy_options *options;
	enum policy policy;
	double now_days;
	struct cost cost;                  /* the pool's */
	double usd_per_gb;                 /* its TCO'; 0 where nothing is served yet */
	unsigned value;                    /* which of pool_value_rates is nearest to the workload's rate */
	bool warm_up;                      /* any disk without workloads will do */
	bool dearest;                      /* looks for the most of minTCO-v3's score instead, negative */
	double dearest_usd_per_gb;         /* what Perf divides TCO' by */
	/* What is the same for all disks of a kind, set by policy_ask(). */
	const struct disk_model *model;
	enum pool_state state;
	double iops;                       /* that it takes there */
	double own_waf;                    /* write amplification of the workload alone */
	double flat_rate;                  /* where L (M / (L + l) - TCO') is most (policy_bound.c) */
};

/* policy_bound.c: at most the score of any disk in the node; of a `dearest` question too. */
double policy_bound(struct tree_query *query, const struct tree_node *node);

/* policy.c: the objective of Perf, of a disk that has so much used, where TCO' rises by `gain`. */
double policy_perf(const struct policy_query *q, double gain, double room_used, double iops_used);

#endif
