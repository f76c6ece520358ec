/*
 * search.h - which workload on which disk, and which disks, where all workloads are known beforehand?
 *
 * What a placer that sees one workload at a time cannot know.  Local search: from several starts workloads change
 * their disks, are exchanged, and disks are opened, closed and replaced by those of another kind, first at random and
 * ever more greedily.  No small change leads from some kinds to others that are far better: so where disks are bought
 * plans begin with few kinds each, and whole disks of the best one are taken apart.  The same numbers and the same
 * seed give the same plan, in whatever order workloads and kinds are named.  It knows nothing of moving what has
 * arrived: a workload stays where it is.  Pure.
 */
#ifndef WEIR_PLACE_SEARCH_H
#define WEIR_PLACE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "place/disk.h"

struct arena;

#define SEARCH_NOWHERE UINT32_MAX

enum search_aim {
	/*
	 * Equation 2 and 3 of the minTCO paper, for a pool that is there: workloads come at their arrival and stay
	 * until their disk is worn out; each disk of each kind is paid for, whether it is used or not.
	 */
	SEARCH_USD_PER_GB,
	/*
	 * What a number of days costs, where disks are bought as they are needed and again as they are worn out, in
	 * proportion: for each that is used C_I max(1, w / W) + C'_M times the days from its first workload on, where w
	 * is what will have been written physically by then, with what it had behind it.
	 */
	SEARCH_USD_YEARS,
};

/* Disks that are alike. */
struct search_kind {
	const struct disk_model *model;
	double worn_gb;            /* physical writes that each has behind it, less than its endurance */
	uint32_t disks_max;        /* how many there are, or may be bought; USD_YEARS: UINT32_MAX: any number */
	bool owned;                /* USD_YEARS: C_I of the first is paid already, so it counts C_I less */
};

struct search_problem {
	const struct workload *workloads;
	const struct search_kind *kinds;
	uint32_t workload_count, kind_count;
	enum search_aim aim;
	double horizon_days;       /* USD_YEARS: from day 0 on */
	double room_max, iops_max; /* of each disk's room and I/Os what may be taken, at most 1 */
};

/* Workloads on disks.  One that is found has its disks in the order of their first workloads, none of them empty. */
struct search_plan {
	uint32_t *disk_of;         /* of each workload, or SEARCH_NOWHERE */
	uint32_t *kind_of;         /* of each disk; room for as many as there are workloads */
	uint32_t disks;
};

struct search_cost {
	double aim;                /* what is to be little: dollars a GB, or dollars */
	double usd;                /* all that is paid: in all lifetimes, or in the days looked at */
	double usd_whole;          /* USD_YEARS: with whole disks bought, none in proportion; else as usd */
	double gb;                 /* logical writes meant to be served: in all lifetimes, or in the days looked at */
	double bought;             /* USD_YEARS: disks, in whole ones, without those that are owned; else 0 */
	uint32_t disks, nowhere;   /* that have a workload; workloads that have no place */
};

/* Enough for some thousand workloads: seconds. */
#define SEARCH_EVALUATIONS 20000000

struct search_effort {
	uint64_t seed;
	uint64_t evaluations_max;  /* of one disk with one set of workloads; about: what is begun is ended */
	const struct search_plan *from; /* one to begin with; what is found costs no more; NULL: none */
};

struct search_found {
	struct search_plan plan;   /* the arena's */
	struct search_cost cost;
	uint64_t evaluations;
};

/* NULL, or why it is no problem to be solved: no workloads or kinds, numbers of disks, limits, a horizon. */
const char *search_wrong(const struct search_problem *problem);

/* A problem with nothing wrong.  0, -ENOMEM, or -ERANGE: `from` breaks a limit, as search_cost() says. */
int search_run(struct search_found *found, struct arena *arena, const struct search_problem *problem,
    const struct search_effort *effort) __attribute__((warn_unused_result));

/*
 * What any plan costs by the same aim, by replaying each disk; the arena is left as it was.  0, -ENOMEM, or -ERANGE: it
 * breaks a limit: of room, of I/Os, of how many disks there are of a kind, or (USD_PER_GB) a workload comes to a disk
 * that is worn out.
 */
int search_cost(struct search_cost *cost, struct arena *arena, const struct search_problem *problem,
    const struct search_plan *plan) __attribute__((warn_unused_result));

/* Why it is on no disk: what stops it even on an empty one of every kind (the last such kind's reason); DISK_TAKES:
 * it has room alone, and there are not enough disks for all. */
enum disk_refusal search_refusal(const struct search_problem *problem, const struct workload *workload);

#endif
