/*
 * policy.h - which disk of a pool a workload should get, by one of several rules, and why.
 *
 * minTCO in its versions (paper, 4.1 and 4.2, with the repairs of doc/placement.md), and what it is compared with
 * (5.2.2).  Each rule scores every disk that takes the workload, and the least score wins; of equal ones the disk with
 * the lowest index.  policy_choose() finds it by bounds, in the pool's trees; policy_scan() looks at every disk, and is
 * what that is held against: both score a disk with the same function, so they choose the same one (but for workloads
 * that write less than a billionth of what a disk does, whose scores are rounding alone).
 */
#ifndef WEIR_PLACE_POLICY_H
#define WEIR_PLACE_POLICY_H

#include "place/pool.h"

struct rng;

enum policy {
	POLICY_MINTCO_V1,          /* least TCO (Equation 1) */
	POLICY_MINTCO_V2,          /* least TCO per day of lifetime */
	POLICY_MINTCO_V3,          /* least TCO per GB written (Equation 3) */
	POLICY_MINTCO_PERF,        /* that, and how full and how even disks are (Equation 5) */
	POLICY_MAX_REM_CYCLE,      /* most endurance left */
	POLICY_MIN_WAF,            /* least write amplification afterwards */
	POLICY_MIN_RATE,           /* least written */
	POLICY_MIN_WORKLOADS,      /* fewest workloads */
	POLICY_LEAST_USED,         /* smallest fraction of its room taken */
	POLICY_ROUND_ROBIN,        /* the next one */
	POLICY_RANDOM,             /* any */
	POLICIES
};

extern const char *const policy_names[POLICIES]; /* "minTCO-v3", ... */

/*
 * Average weights of minTCO-Perf.  Each is linear in the share of writes, or of reads, of the workload that is placed,
 * from 0, so that over shares from 0 to 1 it has that average: cost matters to who writes, balance to who reads.
 */
struct policy_weights { double cost, room, iops, room_cv, iops_cv; };

extern const struct policy_weights policy_weights_best; /* the paper's [5,1,1,3,3] */

struct policy_options {
	struct policy_weights weights;     /* of POLICY_MINTCO_PERF; */
	double usd_per_gb_max;             /* a disk's own TCO', at most [Th_c]; INFINITY: any */
	bool no_warm_up;                   /* of minTCO: disks without workloads are not filled first */
	uint32_t except;                   /* 0: any disk; else not the one with that index, plus one */
};

/* What was decided, and what it was decided by. */
struct policy_choice {
	uint32_t disk;                     /* TREE_NONE: none takes it */
	double score;
	bool warm_up;                      /* some disk had no workload, and it is one of these */
	struct cost before, after;         /* of the whole pool, with it there */
	/* Where none takes it: how many disks each constraint stopped, by the first that did; DISK_TAKES: too dear. */
	uint32_t refused[DISK_SLOW + 1];
	uint64_t opened;                   /* boxes and disks that were looked at */
};

/* The caller's, for one pool: whose turn it is, and chance. */
struct policy_state {
	uint32_t next;
	struct rng *rng;                   /* of POLICY_RANDOM */
};

void policy_choose(const struct pool *pool, enum policy policy, const struct policy_options *options,
    struct policy_state *state, const struct workload *workload, double now_days, struct policy_choice *choice);
void policy_scan(const struct pool *pool, enum policy policy, const struct policy_options *options,
    struct policy_state *state, const struct workload *workload, double now_days, struct policy_choice *choice);

/* Why, in plain words: what it is best at, what it comes to, and what the next best would; or what stopped each disk.
 * Before anything was changed by the choice.  Words that there is no room for are left out. */
enum { POLICY_WORDS = 512 };
void policy_say(const struct pool *pool, enum policy policy, const struct policy_options *options,
    const struct workload *workload, double now_days, const struct policy_choice *choice, char text[POLICY_WORDS]);

/* By how much the pool's sums change if that disk, which takes it, gets the workload. */
struct cost policy_change(const struct disk *disk, const struct workload *workload, double now_days);

/* minTCO's objectives but for Perf's, for who compares changes: by how much the pool's is then less or more. */
double policy_gain(enum policy policy, const struct cost *pool, const struct cost *change);

#endif
