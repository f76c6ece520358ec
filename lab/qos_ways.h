/*
 * qos_ways.h - behind what tenants share a drive in an experiment: a policy, and the switch with some of it otherwise.
 */
#ifndef WEIR_LAB_QOS_WAYS_H
#define WEIR_LAB_QOS_WAYS_H

#include "lab/policy.h"

struct qos_way {
	const char *name;
	const struct policy_ops *policy;
	double f;                                   /* of fixed rates: so much of an equal part */
	bool looked_for;                            /* or those of the ORACLE */
	void (*vary)(struct policy_terms *terms);   /* NULL: as the drive was measured */
};

/* The rate grows no faster while the drive is underused. */
void qos_way_beta_1(struct policy_terms *terms);

/* An overload lowers the rate by bytes, and not to what has ended. */
void qos_way_keeps_rate(struct policy_terms *terms);

/* Thresholds follow an eighth as fast: alpha_T as the authors' code has it, 2^-4, and not their paper. */
void qos_way_slow_threshold(struct policy_terms *terms);

/* Writing costs what it does at worst, whatever happens. */
void qos_way_fixed_cost(struct policy_terms *terms);

/* The way's terms, of those of a drive. */
struct policy_terms qos_way_terms(const struct qos_way *way, const struct policy_terms *terms);

#endif
