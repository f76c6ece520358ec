/*
 * search_state.h - a plan that is being changed, and what each change would cost (search.h).
 *
 * Disks in use lie in slots, with their workloads in a list in the order of arrival.  A change is tried on one or two
 * slots, without being made; all others stay as they are.  Workloads and kinds are sorted by what they are, so that
 * nothing depends on the order in which they were named; `order` and `kind_order` lead back.
 */
#ifndef WEIR_PLACE_SEARCH_STATE_H
#define WEIR_PLACE_SEARCH_STATE_H

#include <stddef.h>

#include "base/rng.h"
#include "place/search.h"

struct price {
	double usd, gb;            /* of all its life, without C_I (USD_PER_GB); or of the days looked at */
	bool fits;
};

struct slot {
	struct disk disk;          /* with all its workloads */
	struct price price;
	uint32_t kind, first, last, workloads;
	uint32_t at;               /* its place among `slot_at` */
};

struct search {
	struct search_problem problem; /* sorted */
	uint32_t *order, *kind_order;
	struct workload *workloads;
	struct search_kind *kinds;
	struct slot *slots;        /* as many as workloads */
	uint32_t *slot_at, open;   /* slots, those in use first */
	uint32_t *slot_of, *next, *previous; /* of workloads */
	uint32_t *kind_used;
	uint32_t *kind_at, kinds_open; /* kinds, those first of which a new disk may be */
	uint32_t *list[4];         /* for whoever tries a change: room for all workloads */
	struct price sum;          /* of all slots */
	double paid_usd;           /* C_I of the pool (USD_PER_GB) */
	uint32_t nowhere;
	bool at_once;              /* all arrive at one time: sums are enough */
	struct rng rng;
	uint64_t evaluations;
};

/* All workloads nowhere.  0 or -ENOMEM; whatever was taken goes with search_state_drop(). */
int search_state_make(struct search *search, struct arena *arena, const struct search_problem *problem)
    __attribute__((warn_unused_result));
void search_state_drop(struct search *search, struct arena *arena);

/* What the aim is, were the sums so. */
double search_aim(const struct search *search, double usd, double gb);
double search_value(const struct search *search);

/* A workload's number is its place in the order of arrival.  SEARCH_NOWHERE for `in`, `out`: none. */
struct price search_try(struct search *search, const struct slot *slot, uint32_t out, uint32_t in);
/* Of a disk of the kind with these workloads alone, in order. */
struct price search_try_list(struct search *search, uint32_t kind, const uint32_t *list, uint32_t count);
uint32_t search_list(const struct search *search, uint32_t slot, uint32_t *list);

/* What a new disk may be of: one kind, one to three by chance, or any. */
void search_narrow_to(struct search *search, uint32_t kind);
void search_narrow(struct search *search);
void search_widen(struct search *search);
uint32_t search_some_kind(struct search *search);

bool search_kind_is_left(const struct search *search, uint32_t kind);
/* A slot that was not in use; the kind has a disk left. */
uint32_t search_open(struct search *search, uint32_t kind);
/* The same one again, which is not in use. */
void search_reopen(struct search *search, uint32_t slot, uint32_t kind);
/* Of one in use; the caller has seen that there are as many of the kind. */
void search_recast(struct search *search, uint32_t slot, uint32_t kind);

/* To another slot, or SEARCH_NOWHERE; neither slot's price follows before search_settle(). */
void search_move(struct search *search, uint32_t workload, uint32_t slot);
/* A slot's price by its workloads; one without any is not in use any more. */
void search_settle(struct search *search, uint32_t slot);

/* A whole disk's price, by replay; `disk` as it is afterwards. */
struct price search_price(struct disk *disk, const struct search_problem *problem, const struct search_kind *kind,
    const uint32_t *list, uint32_t count);

#endif
