#include "place/advice.h"

#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "place/advice_inside.h"

const char *
advice_wrong(const struct advice_order *order)
{
	if (order->workload_count == 0)
		return "there are no workloads";
	if (order->kind_count == 0)
		return "there are no drives to choose from";
	if (!(order->years > 0 && order->years <= 100))
		return "the years are not above 0, to 100";
	if (!(order->room_max > 0 && order->room_max <= 1 && order->iops_max > 0 && order->iops_max <= 1))
		return "what may be taken of a disk is not above 0, to 1";
	for (uint32_t kind = 0; order->set > 0 && kind < order->kind_count; kind++) {
		struct disk_model set;
		const char *why = disk_model_raid(&set, &order->kinds[kind].model->disk, order->raid, order->set);

		if (why != NULL)
			return why;
	}
	return NULL;
}

/* ---- what is looked for ---- */

static int
take_kinds(struct advice *a, struct arena *arena)
{
	const struct advice_order *order = a->order;
	struct search_kind *kinds = arena_alloc(arena, order->kind_count * sizeof(*kinds));

	a->models = arena_alloc(arena, order->kind_count * sizeof(*a->models));
	if (kinds == NULL || a->models == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < order->kind_count; i++) {
		const struct advice_kind *k = &order->kinds[i];
		double drives = order->set > 0 ? order->set : 1;

		a->models[i] = k->model->disk;
		if (order->set > 0)
			(void)disk_model_raid(&a->models[i], &k->model->disk, order->raid, order->set);
		kinds[i] = (struct search_kind){ .model = &a->models[i], .owned = k->owned };
		if (k->worn_gb >= k->model->disk.endurance_gb)
			continue; /* there is none that could be used */
		kinds[i].worn_gb = k->worn_gb * drives;
		kinds[i].disks_max = k->disks_max;
	}
	a->problem.kinds = kinds;
	a->problem.kind_count = order->kind_count;
	return 0;
}

static bool
takes(const struct advice *a, const struct workload *w)
{
	for (uint32_t kind = 0; kind < a->problem.kind_count; kind++) {
		struct disk disk;

		disk_init(&disk, &a->models[kind], 0);
		if (a->problem.kinds[kind].disks_max > 0 && advice_refuses(&a->problem, &disk, w) == DISK_TAKES)
			return true;
	}
	return false;
}

/* The nearest that an empty disk comes to a workload that none takes; DISK_WORN: all there are are worn out. */
static struct advice_refused
nearest_kind(const struct advice *a, const struct workload *w)
{
	struct advice_refused r = { .workload = w, .why = DISK_WORN };

	for (uint32_t kind = 0; kind < a->problem.kind_count; kind++) {
		const struct disk_model *model = &a->models[kind];
		bool full = w->working_set_gb > model->capacity_gb * a->problem.room_max;
		double needs = full ? w->working_set_gb : disk_iops_for(model, w);
		double has = full ? model->capacity_gb * a->problem.room_max : model->iops * a->problem.iops_max;
		enum disk_refusal why = full ? DISK_FULL : DISK_SLOW;

		if (a->problem.kinds[kind].disks_max == 0)
			continue;
		if (r.why != DISK_WORN && !(why > r.why || (why == r.why && needs / has < r.needs / r.has)))
			continue;
		r.why = why;
		r.kind = kind;
		r.needs = needs;
		r.has = has;
	}
	return r;
}

/* Those that some disk takes are the problem; the others are refused at once. */
static int
take_workloads(struct advice *a, struct arena *arena)
{
	const struct advice_order *order = a->order;
	struct workload *workloads = arena_alloc(arena, order->workload_count * sizeof(*workloads));
	uint32_t count = 0;

	a->refused = arena_alloc(arena, order->workload_count * sizeof(*a->refused));
	if (workloads == NULL || a->refused == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < order->workload_count; i++) {
		const struct workload *w = &order->workloads[i];

		if (takes(a, w))
			workloads[count++] = *w;
		else
			a->refused[a->refused_count++] = nearest_kind(a, w);
	}
	a->problem.workloads = workloads;
	a->problem.workload_count = count;
	return 0;
}

/* ---- what the best plan has no place for ---- */

/* By the disk that lacks least. */
static struct advice_refused
nearest_disk(const struct advice *a, const struct advice_layout *layout, const struct workload *w)
{
	struct advice_refused r = { .workload = w, .why = DISK_TAKES };
	double least = INFINITY;

	for (uint32_t i = 0; i < layout->count; i++) {
		const struct disk_model *model = &a->models[layout->disks[i].kind];
		double room_gb = (a->problem.room_max - layout->disks[i].room) * model->capacity_gb;
		double iops = (a->problem.iops_max - layout->disks[i].iops) * model->iops;
		double lacks_room = (w->working_set_gb - room_gb) / model->capacity_gb;
		double lacks_iops = (disk_iops_for(model, w) - iops) / model->iops;
		bool full = lacks_room > lacks_iops;

		if (fmax(lacks_room, lacks_iops) >= least)
			continue;
		least = fmax(lacks_room, lacks_iops);
		r.why = full ? DISK_FULL : DISK_SLOW;
		r.kind = layout->disks[i].kind;
		r.needs = full ? w->working_set_gb : disk_iops_for(model, w);
		r.has = fmax(full ? room_gb : iops, 0);
		r.in_plan = true;
	}
	return r;
}

static int
refuse(struct advice *a, struct arena *arena)
{
	const struct search_plan *plan = &a->plans[0].plan;
	struct advice_layout layout;
	int error;

	if (a->plans[0].cost.nowhere == 0)
		return 0;
	error = advice_lay_out(&layout, arena, a, plan);
	for (uint32_t i = 0; error == 0 && i < a->problem.workload_count; i++)
		if (plan->disk_of[i] == SEARCH_NOWHERE)
			a->refused[a->refused_count++] = nearest_disk(a, &layout, &a->problem.workloads[i]);
	return error;
}

int
advice_make(struct advice *advice, struct arena *arena, const struct advice_order *order)
{
	int error;

	*advice = (struct advice){ .order = order, .problem = {
		.aim = SEARCH_USD_YEARS, .room_max = order->room_max, .iops_max = order->iops_max,
	} };
	advice->problem.horizon_days = advice_days(advice);
	error = take_kinds(advice, arena);
	if (error == 0)
		error = take_workloads(advice, arena);
	if (error == 0 && advice->problem.workload_count > 0)
		error = advice_make_plans(advice, arena);
	if (error == 0 && advice->plan_count > 0)
		error = refuse(advice, arena);
	return error;
}
