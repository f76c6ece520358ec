/*
 * pool.h - the disks that there are, what is on each, and what all of it costs, kept up to date as workloads come,
 * move and go.
 *
 * The live state of a pool, however it came to be: a simulation, a plan, or drives whose counters were read.  Sums are
 * those of cost.h, kept with compensated summation: within 1e-9 of what cost_of() gives.  Disks are found by what they
 * are like (tree.h), so that an allocator (policy.h) need not look at all of them.
 *
 * Pure: memory comes from the arena, and time from the caller, who never goes back in it.
 */
#ifndef WEIR_PLACE_POOL_H
#define WEIR_PLACE_POOL_H

#include "place/cost.h"
#include "place/tree.h"

/* A sum, and what was lost when it was rounded (A. Neumaier, 1974). */
struct pool_sum { double sum, lost; };

static inline double pool_sum(const struct pool_sum *sum) { return sum->sum + sum->lost; }

/*
 * What disks are found by.  POOL_DEATH is when a disk is worn out, and of those that are not written how many GB of
 * endurance are left.  POOL_VALUE and the next ones are by how much it is worth to give a disk a workload, for two
 * rates of that: T_D / (L + l).  That follows from others, but of a box its range is much narrower than they would say.
 */
enum pool_axis {
	POOL_RATE, POOL_SEQ, POOL_DEATH, POOL_ROOM, POOL_IOPS, POOL_WORKLOADS, POOL_VALUE,
	POOL_AXES = POOL_VALUE + 2
};

extern const double pool_value_rates[POOL_AXES - POOL_VALUE]; /* GB a day */

/* The trees that a model's disks are in: such as are written, where write amplification is flat, and where it falls;
 * such as are not written; such as never had a workload. */
enum pool_state { POOL_FLAT, POOL_STEEP, POOL_UNWRITTEN, POOL_UNUSED, POOL_STATES };

struct pool_kind {
	const struct disk_model *model;
	struct tree trees[POOL_STATES];
};

struct pool_place {
	uint32_t disk;             /* TREE_NONE: nowhere */
	uint32_t next, previous;   /* workloads of the same disk; TREE_NONE: none */
};

struct pool {
	struct arena *arena;
	struct disk *disks;
	uint32_t count;
	uint32_t *first;           /* of each disk its last workload to come; TREE_NONE */
	uint32_t *kind_of;         /* of each disk */
	struct pool_kind *kinds;
	uint32_t kind_count;
	const struct workload *workloads; /* the caller's, of all that may ever come: they are known by index */
	struct pool_place *places; /* of each of these */
	uint32_t workload_count;
	struct tree_nodes nodes;
	struct pool_sum usd, lifetime_days, served_gb;
	struct pool_sum used[COST_RESOURCES], used_squares[COST_RESOURCES]; /* of utilisations */
	struct pool_sum moving_usd; /* what moves have cost */
	uint32_t placed;           /* workloads that are somewhere */
	uint64_t moves;
	double room_max, iops_max; /* fractions that may be taken, at most 1; the caller may set them */
};

/*
 * Of these disks, which are copied, and workloads, which stay the caller's for as long as the pool is there; none is
 * placed yet.  Disks with the same model share its address.  0, or -ENOMEM.
 */
int pool_init(struct pool *pool, struct arena *arena, const struct disk *disks, uint32_t count,
    const struct workload *workloads, uint32_t workload_count) __attribute__((warn_unused_result));
void pool_fini(struct pool *pool);

/* It is nowhere, and the disk takes it (disk_refuses()). */
void pool_put(struct pool *pool, uint32_t workload, uint32_t disk, double now_days);
/* It leaves. */
void pool_drop(struct pool *pool, uint32_t workload, double now_days);

/* Moves it to a disk that takes it: what is copied wears that out, and costs `usd_per_gb` besides. */
void pool_move(struct pool *pool, uint32_t workload, uint32_t disk, double now_days, double usd_per_gb);

/* The disk that is worn out first, if that is by `now_days`; else TREE_NONE. */
uint32_t pool_worn(const struct pool *pool, double now_days);
/* It is: what it was is settled, and its workloads are nowhere.  The first of them, linked by `next`, or TREE_NONE. */
uint32_t pool_bury(struct pool *pool, uint32_t disk);

/* Equation 1 to 3 of the whole, with what moves have cost. */
struct cost pool_cost(const struct pool *pool);
/* Equation 4, from sums. */
void pool_balance(const struct pool *pool, enum cost_resource resource, double *mean, double *cv);

/* Aborts where sums or trees are not what they must be; for tests. */
void pool_check(const struct pool *pool);

#endif
