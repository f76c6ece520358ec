/*
 * mintco_history.h - what becomes of a pool of disks as workloads come, by each way of placing them.
 *
 * Of the laboratory it knows nothing, whose policies (lab/policy.h) are others.
 */
#ifndef WEIR_MINTCO_HISTORY_H
#define WEIR_MINTCO_HISTORY_H

#include <stdint.h>

#include "base/rng.h"
#include "place/disk.h"

struct arena;

/* Those of place/policy.h in its order; v3 that may leave disks unused; v3 that may think again (place/lookahead.h);
 * and one that knows all workloads beforehand (place/search.h). */
enum mintco_way {
	MINTCO_V1, MINTCO_V2, MINTCO_V3, MINTCO_PERF, MINTCO_MAX_REM_CYCLE, MINTCO_MIN_WAF, MINTCO_MIN_RATE,
	MINTCO_MIN_WORKLOADS, MINTCO_LEAST_USED, MINTCO_ROUND_ROBIN, MINTCO_RANDOM, MINTCO_V3_COLD,
	MINTCO_LOOKAHEAD, MINTCO_SEARCH, MINTCO_WAYS
};

extern const char *const mintco_way_names[MINTCO_WAYS];

/* [f, g_s, g_p, h_s, h_p] of minTCO-Perf: of cost, room, I/Os, and how unevenly these are used. */
struct mintco_weights {
	double cost, room, iops, room_cv, iops_cv;
};

extern const struct mintco_weights mintco_weights_best; /* the paper's [5,1,1,3,3] */

enum { MINTCO_DISKS_MAX = 512 };

struct mintco_case {
	const struct disk_model *model_of[MINTCO_DISKS_MAX]; /* of each disk; equal ones by the same address */
	uint32_t disks;
	const struct workload *workloads; /* in the order of arrival */
	uint32_t count;
	struct mintco_weights weights;    /* MINTCO_PERF */
	uint64_t evaluations;             /* MINTCO_SEARCH */
	uint64_t seed;                    /* of the ways that have chance */
};

struct mintco_ran {
	double usd_per_gb;         /* Equation 3, when the last one has come; with disks that were worn out by then */
	double cv_workloads, room, room_cv, iops, iops_cv;
	double refused, died;      /* workloads, disks */
	double moves;              /* of workloads; what they cost is in it */
	uint64_t hash;             /* of what went where */
};

/* Workloads whose disk is worn out come again.  What it takes of the arena it gives back. */
void mintco_place(struct arena *arena, const struct mintco_case *it, enum mintco_way way, struct mintco_ran *ran);

#endif
