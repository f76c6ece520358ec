/*
 * advice.h - which drives to buy, or to use, for these workloads: what each way costs over the years, and why this one?
 *
 * All workloads are known beforehand, and each stays where it is put.  Drives are bought as they are needed, and again,
 * in proportion, as they are worn out (SEARCH_USD_YEARS of search.h says what is counted).  It knows nothing of files,
 * and prints nothing.  Pure.
 */
#ifndef WEIR_PLACE_ADVICE_H
#define WEIR_PLACE_ADVICE_H

#include "place/catalogue_read.h"
#include "place/search.h"

/* Drives that may be bought, or are there. */
struct advice_kind {
	const struct catalogue_model *model;
	uint32_t disks_max;        /* UINT32_MAX: as many as are wanted; of RAID: sets */
	bool owned;
	double worn_gb;            /* physical writes that each drive has behind it */
};

struct advice_order {
	const struct workload *workloads; /* each with nothing wrong, and there before the years are over */
	const struct advice_kind *kinds;
	uint32_t workload_count, kind_count;
	double years;
	double room_max, iops_max; /* of each disk's room and I/Os what may be taken */
	unsigned set;              /* drives of a RAID set, which then is a disk; 0: no RAID */
	enum raid raid;
	uint64_t seed;
};

enum advice_way {
	ADVICE_FIRST_FIT,          /* to the first disk with room, as they come */
	ADVICE_LEAST_USED,         /* to the emptiest one */
	ADVICE_GREEDY,             /* minTCO-Offline (offline.h) in one zone; of one model */
	ADVICE_GROUPED,            /* the same in two, by how sequential workloads are */
	ADVICE_MINTCO_V3,          /* as they come, by minTCO-v3 (policy.h), on the drives of the best other plan */
	ADVICE_MINTCO_PERF,        /* the same by minTCO-Perf */
	ADVICE_SEARCHED,           /* by search.h */
	ADVICE_WAYS
};

extern const char *const advice_way_names[ADVICE_WAYS];

/* Whether it has the drives of the best plan of the others. */
static inline bool
advice_is_online(enum advice_way way)
{
	return way == ADVICE_MINTCO_V3 || way == ADVICE_MINTCO_PERF;
}

/* Of more workloads the ways before minTCO-v3 are left out: they look at each disk for each workload. */
enum { ADVICE_SIMPLE_MAX = 10000 };

#define ADVICE_MIXED UINT32_MAX

/* What the years cost. */
struct advice_money {
	double bought_usd, replaced_usd, power_usd, labour_usd;
};

/* One way to do it. */
struct advice_plan {
	uint32_t kind;             /* of all its disks; ADVICE_MIXED: any of them */
	enum advice_way way;
	struct search_plan plan;   /* of advice.problem */
	struct search_cost cost;
	struct advice_money money; /* cost.usd in parts */
	double shortest_years;     /* until the first of its disks is worn out; INFINITY: none is written to */
};

/* A workload that has no place, and what is nearest to one. */
struct advice_refused {
	const struct workload *workload;
	enum disk_refusal why;     /* DISK_TAKES: there are not enough disks */
	uint32_t kind;             /* what that is said of */
	double needs, has;         /* GB or I/Os; of DISK_FULL and DISK_SLOW */
	bool in_plan;              /* `has` is what is left on a disk of the plan, not what a new one would have */
};

struct advice {
	const struct advice_order *order;
	struct search_problem problem; /* of the workloads that some disk takes */
	struct disk_model *models; /* by kind: as it was, or a set of it */
	struct advice_plan *plans; /* the best first: fewest without a place, then the cheapest */
	uint32_t plan_count;
	struct advice_refused *refused; /* of the best plan */
	uint32_t refused_count;
};

/* NULL, or why such an order cannot be: kinds, limits, years, sets. */
const char *advice_wrong(const struct advice_order *order);

/* An order with nothing wrong, which outlives it.  0 or -ENOMEM; all that it has is the arena's. */
int advice_make(struct advice *advice, struct arena *arena, const struct advice_order *order)
    __attribute__((warn_unused_result));

/* ---- advice_disks.c: the disks of a plan ---- */

struct advice_disk {
	uint32_t kind, workloads;
	double room, iops;         /* of what it has what is taken, 0 to 1 */
	double write_gb_per_day, seq_ratio, waf; /* with all that it gets */
	double first_days;         /* when its first workload comes */
	double worn_days;          /* when it is worn out first, since the beginning; INFINITY: never */
	double wear;               /* physical writes in all the years, over its endurance: above 1 it is replaced */
	struct advice_money money;
};

/* Of each disk: in `list`, from `first[disk]` to before `first[disk + 1]`, its workloads as they come. */
struct advice_layout {
	uint32_t *first, *list;
	struct advice_disk *disks;
	uint32_t count;
};

/* 0 or -ENOMEM; what it has is the arena's. */
int advice_lay_out(struct advice_layout *layout, struct arena *arena, const struct advice *advice,
    const struct search_plan *plan) __attribute__((warn_unused_result));

/* How worn it is at a time, as `wear` is; not above what the years have. */
double advice_wear(const struct advice *advice, const struct advice_layout *layout, uint32_t disk, double days);

/* What a disk with these workloads costs. */
double advice_usd(const struct advice_money *money);

/* ---- advice_why.c ---- */

/* Why a workload is where it is. */
struct advice_reason {
	double usd;                /* what it adds to what its disk costs */
	double wear;               /* and to how worn that is in the end */
	double next_usd;           /* what it would add at the cheapest other place; INFINITY: there is none */
	uint32_t next_disk;        /* which one of the plan; SEARCH_NOWHERE: a new one of next_kind */
	uint32_t next_kind;
	uint32_t full, slow;       /* other disks of the plan without room for it, and with too few I/Os */
	/* By how much all would cost more, were it exchanged with a workload of another disk, with which that costs
	 * least; INFINITY, and SEARCH_NOWHERE: nobody asked, or there is none that both disks have room for. */
	double exchange_usd;
	uint32_t exchange;
};

/* Of a workload of the problem that has a place; `exchanges`: and of each that it could be exchanged with, which takes
 * as long as there are workloads.  0 or -ENOMEM. */
int advice_why(struct advice_reason *reason, struct arena *arena, const struct advice *advice,
    const struct advice_layout *layout, const struct search_plan *plan, uint32_t workload, bool exchanges)
    __attribute__((warn_unused_result));

#endif
