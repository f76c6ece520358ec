#include "mintco_history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "place/lookahead.h"
#include "place/search.h"

_Static_assert((int)MINTCO_V3_COLD == (int)POLICIES && (int)MINTCO_RANDOM == (int)POLICY_RANDOM &&
    (int)MINTCO_PERF == (int)POLICY_MINTCO_PERF && (int)MINTCO_MIN_RATE == (int)POLICY_MIN_RATE, "the same order");

const char *const mintco_way_names[MINTCO_WAYS] = {
	[MINTCO_V1] = "minTCO-v1", [MINTCO_V2] = "minTCO-v2", [MINTCO_V3] = "minTCO-v3", [MINTCO_PERF] = "minTCO-Perf",
	[MINTCO_MAX_REM_CYCLE] = "maxRemCycle", [MINTCO_MIN_WAF] = "minWAF", [MINTCO_MIN_RATE] = "minRate",
	[MINTCO_MIN_WORKLOADS] = "minWorkloadNum", [MINTCO_LEAST_USED] = "least used",
	[MINTCO_ROUND_ROBIN] = "round robin", [MINTCO_RANDOM] = "random",
	[MINTCO_V3_COLD] = "minTCO-v3, no warm-up", [MINTCO_LOOKAHEAD] = "look-ahead",
	[MINTCO_SEARCH] = "search, all known",
};

const struct mintco_weights mintco_weights_best = { .cost = 5, .room = 1, .iops = 1, .room_cv = 3, .iops_cv = 3 };

static void
note(struct mintco_ran *ran, uint32_t disk)
{
	ran->hash = (ran->hash ^ disk) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static void
measure(const struct disk *disks, uint32_t count, const struct cost *cost, struct mintco_ran *ran)
{
	ran->usd_per_gb = cost_usd_per_gb(cost);
	ran->cv_workloads = cost_cv_workloads(disks, count);
	cost_balance(disks, count, COST_ROOM, &ran->room, &ran->room_cv);
	cost_balance(disks, count, COST_IOPS, &ran->iops, &ran->iops_cv);
}

/* ---- one after the other ---- */

struct history {
	struct pool pool;
	enum mintco_way way;
	enum policy policy;
	struct policy_options options;
	struct policy_state state;
	struct lookahead_state ahead;
	struct rng rng;
	struct mintco_ran *ran;
};

static void
place(struct history *h, uint32_t workload, double now_days)
{
	struct policy_choice choice;

	if (h->way == MINTCO_LOOKAHEAD) {
		h->ran->refused += !lookahead_put(&h->pool, &lookahead_usual, &h->ahead, workload, now_days, &choice);
	} else {
		policy_choose(&h->pool, h->policy, &h->options, &h->state, &h->pool.workloads[workload], now_days,
		    &choice);
		h->ran->refused += choice.disk == TREE_NONE;
		if (choice.disk != TREE_NONE)
			pool_put(&h->pool, workload, choice.disk, now_days);
	}
	note(h->ran, choice.disk);
}

/* What was on disks that are worn out by now comes again. */
static void
bury(struct history *h, double now_days)
{
	for (uint32_t disk; (disk = pool_worn(&h->pool, now_days)) != TREE_NONE; h->ran->died++)
		for (uint32_t next, w = pool_bury(&h->pool, disk); w != TREE_NONE; w = next) {
			next = h->pool.places[w].next;
			place(h, w, now_days);
		}
}

static void
place_each(struct arena *arena, const struct mintco_case *it, enum mintco_way way, struct mintco_ran *ran)
{
	const struct mintco_weights *weights = &it->weights;
	struct history h = {
		.way = way, .policy = way < MINTCO_V3_COLD ? (enum policy)way : POLICY_MINTCO_V3, .ran = ran,
		.options = { .usd_per_gb_max = INFINITY, .no_warm_up = way == MINTCO_V3_COLD, .weights = {
			weights->cost, weights->room, weights->iops, weights->room_cv, weights->iops_cv,
		} },
	};
	struct disk disks[MINTCO_DISKS_MAX];
	struct cost cost;

	rng_seed(&h.rng, it->seed);
	h.state.rng = &h.rng;
	for (uint32_t i = 0; i < it->disks; i++)
		disk_init(&disks[i], it->model_of[i], 0);
	if (pool_init(&h.pool, arena, disks, it->disks, it->workloads, it->count) != 0)
		abort();
	for (uint32_t i = 0; i < it->count; i++) {
		bury(&h, it->workloads[i].arrival_days);
		place(&h, i, it->workloads[i].arrival_days);
	}
	cost = pool_cost(&h.pool);
	measure(h.pool.disks, it->disks, &cost, ran);
	ran->moves = (double)h.pool.moves;
	pool_fini(&h.pool);
}

/* ---- with all of them known ---- */

/* Disks of a plan are those of its kinds, in any order. */
static void
measure_plan(const struct mintco_case *it, const struct search_problem *problem, const struct search_plan *plan,
    struct mintco_ran *ran)
{
	uint32_t count = 0, used[MINTCO_DISKS_MAX] = { 0 };
	struct disk disks[MINTCO_DISKS_MAX];
	struct cost cost;

	for (; count < plan->disks; count++) {
		disk_init(&disks[count], problem->kinds[plan->kind_of[count]].model, 0);
		used[plan->kind_of[count]]++;
	}
	for (uint32_t k = 0; k < problem->kind_count; k++)
		for (uint32_t i = used[k]; i < problem->kinds[k].disks_max; i++)
			disk_init(&disks[count++], problem->kinds[k].model, 0);
	for (uint32_t i = 0; i < it->count; i++)
		if (plan->disk_of[i] != SEARCH_NOWHERE)
			disk_put(&disks[plan->disk_of[i]], &it->workloads[i], it->workloads[i].arrival_days);
	cost = cost_of(disks, count);
	measure(disks, count, &cost, ran);
}

static void
place_all(struct arena *arena, const struct mintco_case *it, struct mintco_ran *ran)
{
	struct search_effort effort = { .seed = it->seed, .evaluations_max = it->evaluations };
	struct search_kind kinds[MINTCO_DISKS_MAX];
	struct search_problem problem = {
		.workloads = it->workloads, .kinds = kinds, .workload_count = it->count, .aim = SEARCH_USD_PER_GB,
		.room_max = 1, .iops_max = 1,
	};
	struct search_found found;

	for (uint32_t i = 0; i < it->disks; i++) {
		uint32_t k = 0;

		while (k < problem.kind_count && kinds[k].model != it->model_of[i])
			k++;
		if (k == problem.kind_count)
			kinds[problem.kind_count++] = (struct search_kind){ .model = it->model_of[i] };
		kinds[k].disks_max++;
	}
	assert(search_wrong(&problem) == NULL);
	if (search_run(&found, arena, &problem, &effort) != 0)
		abort();
	for (uint32_t i = 0; i < it->count; i++)
		note(ran, found.plan.disk_of[i]);
	measure_plan(it, &problem, &found.plan, ran);
	ran->refused = found.cost.nowhere;
	arena_free(arena, found.plan.disk_of);
	arena_free(arena, found.plan.kind_of);
}

void
mintco_place(struct arena *arena, const struct mintco_case *it, enum mintco_way way, struct mintco_ran *ran)
{
	*ran = (struct mintco_ran){ 0 };
	if (way == MINTCO_SEARCH)
		place_all(arena, it, ran);
	else
		place_each(arena, it, way, ran);
}
