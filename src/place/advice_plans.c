/*
 * advice_plans.c - every way that there is to do it, the best one first.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "place/advice_inside.h"

/* Of one disk with one set of workloads each: so many for each workload, within bounds. */
struct effort {
	uint64_t each, min, max;
};

static const struct effort mixed = { 20000, 6000000, 20000000 }, alone = { 200, 100000, 2000000 };

static int
sum_up(struct advice *a, struct arena *arena, struct advice_plan *p)
{
	struct advice_layout layout;
	int error = advice_lay_out(&layout, arena, a, &p->plan);

	if (error != 0)
		return error;
	p->shortest_years = INFINITY;
	for (uint32_t i = 0; i < layout.count; i++) {
		const struct advice_disk *d = &layout.disks[i];

		p->money.bought_usd += d->money.bought_usd;
		p->money.replaced_usd += d->money.replaced_usd;
		p->money.power_usd += d->money.power_usd;
		p->money.labour_usd += d->money.labour_usd;
		p->shortest_years = fmin(p->shortest_years, (d->worn_days - d->first_days) / 365);
	}
	arena_free(arena, layout.first);
	arena_free(arena, layout.list);
	arena_free(arena, layout.disks);
	return 0;
}

static int
search(const struct advice *a, struct arena *arena, const struct search_problem *problem,
    const struct search_plan *from, struct search_plan *plan)
{
	const struct effort *effort = problem->kind_count > 1 ? &mixed : &alone;
	struct search_effort how = { .seed = a->order->seed, .from = from->disk_of != NULL ? from : NULL };
	struct search_found found;
	int error;

	how.evaluations_max = problem->workload_count * effort->each;
	if (how.evaluations_max < effort->min)
		how.evaluations_max = effort->min;
	if (how.evaluations_max > effort->max)
		how.evaluations_max = effort->max;
	error = search_run(&found, arena, problem, &how);
	*plan = found.plan;
	return error;
}

/* In whatever way; its kinds are those of the problem. */
static int
place_all(const struct advice *a, struct arena *arena, const struct search_problem *problem, enum advice_way way,
    const struct search_plan *from, struct search_plan *plan)
{
	uint32_t count = problem->workload_count;

	if (way == ADVICE_SEARCHED)
		return search(a, arena, problem, from, plan);
	plan->disk_of = arena_alloc(arena, count * sizeof(*plan->disk_of));
	plan->kind_of = arena_alloc(arena, count * sizeof(*plan->kind_of));
	if (plan->disk_of == NULL || plan->kind_of == NULL)
		return -ENOMEM;
	return way == ADVICE_GREEDY || way == ADVICE_GROUPED ? advice_offline(plan, arena, problem, way) :
	    advice_fill(plan, arena, problem, way);
}

static int
by_cost(const void *a, const void *b)
{
	const struct advice_plan *x = a, *y = b;
	double x_cents = round(x->cost.usd * 100), y_cents = round(y->cost.usd * 100); /* sums are rounded */

	if (x->cost.nowhere != y->cost.nowhere)
		return x->cost.nowhere < y->cost.nowhere ? -1 : 1;
	if (x_cents != y_cents)
		return x_cents < y_cents ? -1 : 1;
	/* The same for the same: of one kind, then as they stand here. */
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (int)y->way - (int)x->way;
}

/* The best so far of a kind, or of all of them; NULL: there is none. */
static const struct advice_plan *
best_of(const struct advice *a, uint32_t kind)
{
	const struct advice_plan *best = NULL;

	for (uint32_t i = 0; i < a->plan_count; i++)
		if ((kind == ADVICE_MIXED || a->plans[i].kind == kind) &&
		    (best == NULL || by_cost(&a->plans[i], best) < 0))
			best = &a->plans[i];
	return best;
}

/* A search begins there too, so that it finds nothing that is worse; among one kind that is number 0.  0 or -ENOMEM. */
static int
begin_at(const struct advice *a, struct arena *arena, uint32_t kind, struct search_plan *from)
{
	const struct advice_plan *best = best_of(a, kind);

	*from = (struct search_plan){ 0 };
	if (best == NULL)
		return 0;
	*from = best->plan;
	if (kind != ADVICE_MIXED)
		from->kind_of = arena_alloc(arena, a->problem.workload_count * sizeof(*from->kind_of));
	return from->kind_of == NULL ? -ENOMEM : 0;
}

static int
make_plan(struct advice *a, struct arena *arena, uint32_t kind, enum advice_way way)
{
	struct advice_plan *p = &a->plans[a->plan_count];
	struct search_problem problem = a->problem;
	struct search_plan from;
	int error = begin_at(a, arena, kind, &from);

	if (error != 0)
		return error;
	*p = (struct advice_plan){ .kind = kind, .way = way };
	if (kind != ADVICE_MIXED) {
		problem.kinds = &a->problem.kinds[kind];
		problem.kind_count = 1;
	}
	error = place_all(a, arena, &problem, way, &from, &p->plan);
	if (error != 0)
		return error;
	for (uint32_t disk = 0; kind != ADVICE_MIXED && disk < p->plan.disks; disk++)
		p->plan.kind_of[disk] = kind;
	error = search_cost(&p->cost, arena, &a->problem, &p->plan);
	if (error == -ERANGE)
		return 0; /* it takes more disks than there are: no way to do it */
	if (error == 0)
		error = sum_up(a, arena, p);
	a->plan_count += error == 0;
	return error;
}

static void
sort(struct advice *a)
{
	qsort(a->plans, a->plan_count, sizeof(*a->plans), by_cost);
}

/* Of drives that are there nothing is left out; else each model alone. */
static int
make_plain(struct advice *a, struct arena *arena, bool owned)
{
	enum advice_way first = a->problem.workload_count > ADVICE_SIMPLE_MAX ? ADVICE_SEARCHED : 0;
	int error = 0;

	for (enum advice_way way = first; owned && error == 0 && way < ADVICE_GREEDY; way++)
		error = make_plan(a, arena, ADVICE_MIXED, way);
	for (uint32_t kind = 0; !owned && kind < a->problem.kind_count; kind++)
		for (enum advice_way way = first; error == 0 && way < ADVICE_WAYS; way++)
			if (!advice_is_online(way))
				error = make_plan(a, arena, kind, way);
	return error;
}

/* On the drives of the plan that is first. */
static int
make_online(struct advice *a, struct arena *arena, enum advice_way way)
{
	struct advice_plan *p = &a->plans[a->plan_count];
	uint32_t count = a->problem.workload_count;
	int error;

	*p = (struct advice_plan){ .kind = a->plans[0].kind, .way = way };
	p->plan.disk_of = arena_alloc(arena, count * sizeof(*p->plan.disk_of));
	p->plan.kind_of = arena_alloc(arena, count * sizeof(*p->plan.kind_of));
	if (p->plan.disk_of == NULL || p->plan.kind_of == NULL)
		return -ENOMEM;
	error = advice_online(&p->plan, arena, &a->problem, &a->plans[0].plan, way);
	if (error == 0)
		error = search_cost(&p->cost, arena, &a->problem, &p->plan);
	if (error == 0)
		error = sum_up(a, arena, p);
	a->plan_count += error == 0;
	return error;
}

/* With one kind alone there is nothing to mix. */
int
advice_make_plans(struct advice *a, struct arena *arena)
{
	bool owned = false;
	int error;

	a->plans = arena_alloc(arena, ((size_t)a->problem.kind_count + 1) * ADVICE_WAYS * sizeof(*a->plans));
	if (a->plans == NULL)
		return -ENOMEM;
	for (uint32_t kind = 0; kind < a->problem.kind_count; kind++)
		owned |= a->problem.kinds[kind].owned;
	error = make_plain(a, arena, owned);
	if (error == 0 && (owned || a->problem.kind_count > 1))
		error = make_plan(a, arena, ADVICE_MIXED, ADVICE_SEARCHED);
	sort(a);
	if (error == 0 && a->plan_count > 0 && a->plans[0].plan.disks > 0)
		for (enum advice_way way = ADVICE_MINTCO_V3; error == 0 && way <= ADVICE_MINTCO_PERF; way++)
			error = make_online(a, arena, way);
	sort(a);
	return error;
}
