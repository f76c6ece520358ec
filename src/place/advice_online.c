/*
 * advice_online.c - what the drives of a plan would cost if workloads were placed on them one by one, as they come, by
 * an allocator that does not know those that follow (policy.h).
 */
#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "place/advice_inside.h"
#include "place/policy.h"

/* Each workload gets its disk of the pool, or none. */
static void
place_each(struct pool *pool, enum policy policy, uint32_t *disk_of)
{
	const struct policy_options options = { .weights = policy_weights_best, .usd_per_gb_max = INFINITY };

	for (uint32_t i = 0; i < pool->workload_count; i++) {
		const struct workload *w = &pool->workloads[i];
		struct policy_choice choice;

		policy_choose(pool, policy, &options, NULL, w, w->arrival_days, &choice);
		disk_of[i] = choice.disk == TREE_NONE ? SEARCH_NOWHERE : choice.disk;
		if (choice.disk != TREE_NONE)
			pool_put(pool, i, choice.disk, w->arrival_days);
	}
}

/* Disks that got nothing are in no plan. */
static void
close_up(struct search_plan *plan, uint32_t *number, uint32_t disks, uint32_t count)
{
	for (uint32_t d = 0; d < disks; d++)
		number[d] = SEARCH_NOWHERE;
	for (uint32_t w = 0; w < count; w++)
		if (plan->disk_of[w] != SEARCH_NOWHERE)
			number[plan->disk_of[w]] = 0;
	plan->disks = 0;
	for (uint32_t d = 0; d < disks; d++)
		if (number[d] == 0) {
			plan->kind_of[plan->disks] = plan->kind_of[d];
			number[d] = plan->disks++;
		}
	for (uint32_t w = 0; w < count; w++)
		if (plan->disk_of[w] != SEARCH_NOWHERE)
			plan->disk_of[w] = number[plan->disk_of[w]];
}

int
advice_online(struct search_plan *plan, struct arena *arena, const struct search_problem *problem,
    const struct search_plan *on, enum advice_way way)
{
	enum policy policy = way == ADVICE_MINTCO_V3 ? POLICY_MINTCO_V3 : POLICY_MINTCO_PERF;
	uint32_t count = problem->workload_count, *order = advice_by_arrival(arena, problem);
	struct workload *workloads = arena_alloc(arena, count * sizeof(*workloads));
	struct disk *disks = arena_alloc(arena, on->disks * sizeof(*disks));
	uint32_t *disk_of = arena_alloc(arena, count * sizeof(*disk_of));
	uint32_t *number = arena_alloc(arena, on->disks * sizeof(*number));
	struct pool pool;

	if (order == NULL || workloads == NULL || disks == NULL || disk_of == NULL || number == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		workloads[i] = problem->workloads[order[i]];
	for (uint32_t d = 0; d < on->disks; d++) {
		const struct search_kind *kind = &problem->kinds[on->kind_of[d]];

		disk_init(&disks[d], kind->model, kind->worn_gb);
		plan->kind_of[d] = on->kind_of[d];
	}
	if (pool_init(&pool, arena, disks, on->disks, workloads, count) != 0)
		return -ENOMEM;
	pool.room_max = problem->room_max;
	pool.iops_max = problem->iops_max;
	place_each(&pool, policy, disk_of);
	for (uint32_t i = 0; i < count; i++)
		plan->disk_of[order[i]] = disk_of[i];
	close_up(plan, number, on->disks, count);
	pool_fini(&pool);
	arena_free(arena, number);
	arena_free(arena, disk_of);
	arena_free(arena, disks);
	arena_free(arena, workloads);
	arena_free(arena, order);
	return 0;
}
