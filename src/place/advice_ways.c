/*
 * advice_ways.c - plans as people make them who look at one workload after the other.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "place/advice_inside.h"
#include "place/offline.h"

const char *const advice_way_names[ADVICE_WAYS] = {
	[ADVICE_FIRST_FIT] = "first fit", [ADVICE_LEAST_USED] = "least used", [ADVICE_GREEDY] = "offline, greedy",
	[ADVICE_GROUPED] = "offline, grouped", [ADVICE_MINTCO_V3] = "minTCO-v3", [ADVICE_MINTCO_PERF] = "minTCO-Perf",
	[ADVICE_SEARCHED] = "searched",
};

struct numbered {
	const struct workload *workload;
	uint32_t number;
};

static int
compare(double a, double b)
{
	return (a > b) - (a < b);
}

static int
by_arrival(const void *a, const void *b)
{
	const struct workload *x = ((const struct numbered *)a)->workload, *y = ((const struct numbered *)b)->workload;
	const double of_x[] = { x->arrival_days, x->working_set_gb, x->write_gb_per_day, x->peak_iops, x->seq_ratio };
	const double of_y[] = { y->arrival_days, y->working_set_gb, y->write_gb_per_day, y->peak_iops, y->seq_ratio };

	for (unsigned i = 0; i < sizeof(of_x) / sizeof(of_x[0]); i++)
		if (of_x[i] != of_y[i])
			return compare(of_x[i], of_y[i]);
	return strcmp(x->name, y->name);
}

uint32_t *
advice_by_arrival(struct arena *arena, const struct search_problem *problem)
{
	uint32_t *order = arena_alloc(arena, problem->workload_count * sizeof(*order));
	struct numbered *list = arena_alloc(arena, problem->workload_count * sizeof(*list));

	for (uint32_t i = 0; order != NULL && list != NULL && i < problem->workload_count; i++)
		list[i] = (struct numbered){ &problem->workloads[i], i };
	if (order == NULL || list == NULL)
		return NULL;
	qsort(list, problem->workload_count, sizeof(*list), by_arrival);
	for (uint32_t i = 0; i < problem->workload_count; i++)
		order[i] = list[i].number;
	arena_free(arena, list);
	return order;
}

enum disk_refusal
advice_refuses(const struct search_problem *problem, const struct disk *disk, const struct workload *workload)
{
	const struct disk_model *model = disk->model;

	if (disk->used_gb + workload->working_set_gb > model->capacity_gb * problem->room_max)
		return DISK_FULL;
	if (disk->used_iops + disk_iops_for(model, workload) > model->iops * problem->iops_max)
		return DISK_SLOW;
	return DISK_TAKES;
}

struct filling {
	const struct search_problem *problem;
	struct search_plan *plan;
	struct disk *disks;
	uint32_t *left;            /* disks of each kind */
};

/* A disk with nothing on it, of the first kind that takes the workload, or SEARCH_NOWHERE. */
static uint32_t
open_disk(struct filling *f, const struct workload *workload, bool owned)
{
	for (uint32_t kind = 0; kind < f->problem->kind_count; kind++) {
		const struct search_kind *k = &f->problem->kinds[kind];
		struct disk disk;

		disk_init(&disk, k->model, k->worn_gb);
		if (f->left[kind] == 0 || k->owned != owned ||
		    advice_refuses(f->problem, &disk, workload) != DISK_TAKES)
			continue;
		f->left[kind]--;
		f->plan->kind_of[f->plan->disks] = kind;
		f->disks[f->plan->disks] = disk;
		return f->plan->disks++;
	}
	return SEARCH_NOWHERE;
}

static uint32_t
choose(const struct filling *f, const struct workload *workload, enum advice_way way)
{
	uint32_t best = SEARCH_NOWHERE;
	double least = INFINITY;

	for (uint32_t disk = 0; disk < f->plan->disks; disk++) {
		double used = f->disks[disk].used_gb / f->disks[disk].model->capacity_gb;

		if (used >= least || advice_refuses(f->problem, &f->disks[disk], workload) != DISK_TAKES)
			continue;
		if (way == ADVICE_FIRST_FIT)
			return disk;
		best = disk;
		least = used;
	}
	return best;
}

/* What is there is emptier than what is used; what is bought is bought where nothing else has room. */
static uint32_t
place(struct filling *f, const struct workload *workload, enum advice_way way)
{
	uint32_t disk = way == ADVICE_LEAST_USED ? open_disk(f, workload, true) : SEARCH_NOWHERE;

	if (disk == SEARCH_NOWHERE)
		disk = choose(f, workload, way);
	if (disk == SEARCH_NOWHERE)
		disk = open_disk(f, workload, true);
	return disk != SEARCH_NOWHERE ? disk : open_disk(f, workload, false);
}

int
advice_fill(struct search_plan *plan, struct arena *arena, const struct search_problem *problem, enum advice_way way)
{
	struct filling f = {
		.problem = problem, .plan = plan,
		.disks = arena_alloc(arena, problem->workload_count * sizeof(*f.disks)),
		.left = arena_alloc(arena, problem->kind_count * sizeof(*f.left)),
	};
	uint32_t *order = advice_by_arrival(arena, problem);

	if (f.disks == NULL || f.left == NULL || order == NULL)
		return -ENOMEM;
	for (uint32_t kind = 0; kind < problem->kind_count; kind++)
		f.left[kind] = problem->kinds[kind].disks_max;
	for (uint32_t i = 0; i < problem->workload_count; i++) {
		const struct workload *workload = &problem->workloads[order[i]];
		uint32_t disk = place(&f, workload, way);

		plan->disk_of[order[i]] = disk;
		if (disk != SEARCH_NOWHERE)
			disk_put(&f.disks[disk], workload, workload->arrival_days);
	}
	arena_free(arena, order);
	arena_free(arena, f.left);
	arena_free(arena, f.disks);
	return 0;
}

/* It takes workloads as they are listed: so as they come. */
int
advice_offline(struct search_plan *plan, struct arena *arena, const struct search_problem *problem, enum advice_way way)
{
	static const double threshold = OFFLINE_THRESHOLD;
	const struct offline_terms terms = {
		.model = problem->kinds[0].model, .thresholds = &threshold, .zones = 2,
		.way = way == ADVICE_GREEDY ? OFFLINE_GREEDY : OFFLINE_GROUPING,
		.room_max = problem->room_max, .iops_max = problem->iops_max,
	};
	uint32_t count = problem->workload_count, *order = advice_by_arrival(arena, problem);
	struct workload *workloads = arena_alloc(arena, count * sizeof(*workloads));
	struct offline_plan found;
	int error;

	if (order == NULL || workloads == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		workloads[i] = problem->workloads[order[i]];
	error = offline_place(&found, arena, workloads, count, &terms);
	if (error != 0)
		return error;
	for (uint32_t i = 0; i < count; i++)
		plan->disk_of[order[i]] = found.disk_of[i] == OFFLINE_NOWHERE ? SEARCH_NOWHERE : found.disk_of[i];
	plan->disks = found.disks;
	arena_free(arena, workloads);
	arena_free(arena, order);
	return 0;
}
