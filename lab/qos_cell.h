/*
 * qos_cell.h - tenants that always have something waiting share a drive: what each has, of what it would have alone.
 *
 * f of a tenant is its bandwidth over an equal part of what it has alone: 1 is what fair sharing of a drive gives where
 * its capacity is linear in its parts, which it is not.  So all is compared with the ORACLE: fixed rates by which all f
 * are equal, the largest that the drive bears, looked for by bisection.
 */
#ifndef WEIR_LAB_QOS_CELL_H
#define WEIR_LAB_QOS_CELL_H

#include "qos_drive.h"

enum { QOS_TENANTS_MAX = 64, QOS_HALVES = 2 };

/* One half of the tenants does the one, one the other. */
struct qos_mix {
	const char *name;
	struct qos_load loads[QOS_HALVES];
	bool same;                          /* both are one */
	bool changes;                       /* it writes, so the drive is not what it was */
};

/* Those of the matrix, and one that nothing was chosen by. */
enum qos_mix_kind {
	QOS_MIX_SIZES, QOS_MIX_KINDS, QOS_MIX_WRITES, QOS_MIX_BOTH, QOS_MATRIX_MIXES,
	QOS_MIX_WRITE_SIZES = QOS_MATRIX_MIXES, QOS_MIXES,
};
extern const struct qos_mix qos_mixes[QOS_MIXES];

struct qos_cell {
	enum qos_drive drive;
	uint32_t times_percent;
	const struct qos_mix *mix;
	unsigned tenants;
	bool fabric;                        /* they are hosts of the real target */
	uint64_t settle_ns, measure_ns;
	double alone[QOS_HALVES];           /* bytes a second */
	struct policy_terms terms;
};

/* What came of it. */
struct qos_ran {
	double f[QOS_TENANTS_MAX];
	double least, most, mean;           /* of them */
	double bytes;                       /* a second, all together */
	double mean_us[QOS_HALVES], p99_us[QOS_HALVES], p999_us[QOS_HALVES];
	double served_p99_us;               /* in the drive, of all */
	double waiting, waiting_most;       /* I/Os, at the target: the mean, and the most that was seen */
	double latency_most_us;             /* that the policy took reads' or writes' for */
};

/* Which half of the tenants that one is in. */
static inline unsigned qos_cell_half(const struct qos_cell *cell, unsigned tenant)
{
	return tenant * QOS_HALVES / cell->tenants;
}

/* What one of each half has alone, while the drive changes as in the cell, or for a short time where it does not. */
bool qos_cell_alone(struct lab *lab, const struct qos_cell *cell, double alone[QOS_HALVES])
    __attribute__((warn_unused_result));

/* `f`: of fixed rates, where that is the policy. */
bool qos_cell_run(struct lab *lab, const struct qos_cell *cell, const struct policy_ops *policy, double f,
    struct qos_ran *ran) __attribute__((warn_unused_result));

/* Begins to look at `guess`. */
bool qos_cell_oracle(struct lab *lab, const struct qos_cell *cell, double guess, struct qos_ran *best)
    __attribute__((warn_unused_result));

#endif
