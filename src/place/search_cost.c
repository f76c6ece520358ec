#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "place/search_state.h"

/* Each disk's workloads by replay, as they stand in a search's order. */
static int
add_disks(struct search_cost *cost, struct search *s, uint32_t *first, uint32_t *next, const struct search_plan *plan)
{
	for (uint32_t disk = 0; disk < plan->disks; disk++) {
		uint32_t kind = 0, count = 0;
		struct disk end;
		struct price price;

		for (uint32_t w = first[disk]; w != SEARCH_NOWHERE; w = next[w])
			s->list[0][count++] = w;
		if (count == 0)
			continue;
		while (s->kind_order[kind] != plan->kind_of[disk])
			kind++;
		price = search_price(&end, &s->problem, &s->kinds[kind], s->list[0], count);
		if (!price.fits || s->kind_used[kind]++ == s->kinds[kind].disks_max)
			return -ERANGE;
		cost->usd += price.usd;
		cost->gb += price.gb;
		cost->disks++;
		if (s->problem.aim == SEARCH_USD_YEARS) {
			const struct search_kind *k = &s->kinds[kind];
			double lives = disk_worn_gb(&end, s->problem.horizon_days) / k->model->endurance_gb;

			cost->bought += ceil(fmax(lives, 1)) - k->owned;
			cost->usd_whole += k->model->initial_usd * (ceil(fmax(lives, 1)) - fmax(lives, 1));
		}
	}
	return 0;
}

int
search_cost(struct search_cost *cost, struct arena *arena, const struct search_problem *problem,
    const struct search_plan *plan)
{
	uint32_t *first = arena_alloc(arena, plan->disks * sizeof(*first));
	uint32_t *next = arena_alloc(arena, problem->workload_count * sizeof(*next));
	struct search s = { 0 };
	int error = first && next ? search_state_make(&s, arena, problem) : -ENOMEM;

	*cost = (struct search_cost){ 0 };
	if (error == 0) {
		for (uint32_t disk = 0; disk < plan->disks; disk++)
			first[disk] = SEARCH_NOWHERE;
		for (uint32_t w = problem->workload_count; w-- > 0;) {
			uint32_t disk = plan->disk_of[s.order[w]];

			if (disk == SEARCH_NOWHERE) {
				cost->nowhere++;
				continue;
			}
			next[w] = first[disk];
			first[disk] = w;
		}
		error = add_disks(cost, &s, first, next, plan);
		cost->usd += s.paid_usd;
		cost->usd_whole += cost->usd;
		cost->aim = search_aim(&s, cost->usd - s.paid_usd, cost->gb);
		search_state_drop(&s, arena);
	}
	arena_free(arena, first);
	arena_free(arena, next);
	return error;
}

enum disk_refusal
search_refusal(const struct search_problem *problem, const struct workload *workload)
{
	enum disk_refusal refusal = DISK_TAKES;

	for (uint32_t k = 0; k < problem->kind_count; k++) {
		const struct search_kind *kind = &problem->kinds[k];
		struct disk disk;

		if (kind->disks_max == 0)
			continue;
		disk_init(&disk, kind->model, kind->worn_gb);
		refusal = disk_refuses(&disk, workload, workload->arrival_days, problem->room_max, problem->iops_max);
		if (refusal == DISK_TAKES)
			return refusal;
	}
	return refusal;
}
