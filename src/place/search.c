#include "place/search.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "place/search_change.h"

/* How many disks in use a workload looks at while a plan is begun, and how many evaluations a start has for each
 * workload where there are more starts than the first ones; how warm it is to begin with, and in the end, where a plan
 * begins and where the best one is gone on with. */
enum { TRIES_MIN = 16, TRIES_MAX = 4096, EACH_START = 1000 };
static const double WARM = 1, WARM_AGAIN = 0.1, COLD = 1e-4;

const char *
search_wrong(const struct search_problem *problem)
{
	if (problem->workload_count == 0 || problem->workload_count == SEARCH_NOWHERE)
		return "there are no workloads, or more than 2^32 - 2";
	if (problem->kind_count == 0)
		return "there are no disks";
	if (!(problem->room_max > 0 && problem->room_max <= 1 && problem->iops_max > 0 && problem->iops_max <= 1))
		return "what may be taken of room and I/Os is not above 0 and at most 1";
	for (uint32_t k = 0; k < problem->kind_count; k++) {
		const struct search_kind *kind = &problem->kinds[k];

		if (!(kind->worn_gb >= 0 && kind->worn_gb < kind->model->endurance_gb))
			return "a disk is worn out, or less worn than a new one";
		if (problem->aim == SEARCH_USD_PER_GB && kind->disks_max == UINT32_MAX)
			return "a pool has no end";
	}
	if (problem->aim == SEARCH_USD_YEARS && !(problem->horizon_days > 0 && isfinite(problem->horizon_days)))
		return "the days to look at are not a number above 0";
	for (uint32_t i = 0; problem->aim == SEARCH_USD_YEARS && i < problem->workload_count; i++)
		if (problem->workloads[i].arrival_days >= problem->horizon_days)
			return "a workload comes after the days that are looked at";
	return NULL;
}

/* A plan by the search's own numbers of workloads and kinds, each workload's slot known by the first that is in it. */
struct kept {
	uint32_t *slot_of, *kind;
	uint32_t nowhere;
	double value;
};

static void
keep(struct kept *kept, const struct search *s)
{
	for (uint32_t w = 0; w < s->problem.workload_count; w++) {
		kept->slot_of[w] = s->slot_of[w];
		if (s->slot_of[w] != SEARCH_NOWHERE)
			kept->kind[s->slot_of[w]] = s->slots[s->slot_of[w]].kind;
	}
	kept->nowhere = s->nowhere;
	kept->value = search_value(s);
}

static void
clear(struct search *s)
{
	for (uint32_t w = 0; w < s->problem.workload_count; w++)
		if (s->slot_of[w] != SEARCH_NOWHERE)
			search_move(s, w, SEARCH_NOWHERE);
	while (s->open > 0)
		search_settle(s, s->slot_at[0]);
	s->sum = (struct price){ 0 };
}

static void
restore(struct search *s, const struct kept *kept)
{
	clear(s);
	for (uint32_t w = 0; w < s->problem.workload_count; w++) {
		uint32_t slot = kept->slot_of[w];

		if (slot == SEARCH_NOWHERE)
			continue;
		if (s->slots[slot].at >= s->open)
			search_reopen(s, slot, kept->kind[slot]);
		search_move(s, w, slot);
	}
	for (uint32_t i = 0; i < s->open; i++)
		search_settle(s, s->slot_at[i]);
}

static uint32_t
kind_named(const struct search *s, uint32_t number)
{
	uint32_t kind = 0;

	while (s->kind_order[kind] != number)
		kind++;
	return kind;
}

/* As the caller has it; it keeps all limits. */
static int
take_over(struct search *s, struct arena *arena, const struct search_plan *from)
{
	uint32_t *slot_of = arena_alloc_raw(arena, from->disks * sizeof(*slot_of));

	if (!slot_of)
		return -ENOMEM;
	for (uint32_t disk = 0; disk < from->disks; disk++)
		slot_of[disk] = SEARCH_NOWHERE;
	for (uint32_t w = 0; w < s->problem.workload_count; w++) {
		uint32_t disk = from->disk_of[s->order[w]];

		if (disk == SEARCH_NOWHERE)
			continue;
		if (slot_of[disk] == SEARCH_NOWHERE)
			slot_of[disk] = search_open(s, kind_named(s, from->kind_of[disk]));
		search_move(s, w, slot_of[disk]);
	}
	for (uint32_t i = 0; i < s->open; i++)
		search_settle(s, s->slot_at[i]);
	arena_free(arena, slot_of);
	return 0;
}

enum start { BY_ARRIVAL, BY_SEQ, BY_RATE, BY_ROOM, BY_CHANCE, STARTS };

struct keyed {
	double key;
	uint32_t workload;
};

static int
by_key(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->workload < b->workload ? -1 : 1;
}

/* One after the other in some order, each to where it costs least then. */
static void
begin(struct search *s, struct keyed *keyed, enum start start, uint32_t tries_max)
{
	clear(s);
	for (uint32_t i = 0; i < s->problem.workload_count; i++) {
		const struct workload *w = &s->workloads[i];
		double key = 0;

		switch (start) {
		case BY_ARRIVAL: key = i; break;
		case BY_SEQ: key = -w->seq_ratio; break;
		case BY_RATE: key = -w->write_gb_per_day; break;
		case BY_ROOM: key = -w->working_set_gb; break;
		case BY_CHANCE: key = (double)(rng_next(&s->rng) >> 11); break;
		case STARTS: assert(false);
		}
		keyed[i] = (struct keyed){ key, i };
	}
	qsort(keyed, s->problem.workload_count, sizeof(*keyed), by_key);
	for (uint32_t i = 0; i < s->problem.workload_count; i++)
		(void)search_insert(s, keyed[i].workload, tries_max); /* or it stays nowhere */
}

static void
keep_if_better(struct kept *best, const struct search *s)
{
	if (s->nowhere < best->nowhere || (s->nowhere == best->nowhere && search_value(s) < best->value))
		keep(best, s);
}

static void
go_on(struct search *s, struct kept *best, uint64_t evaluations, double warmth)
{
	keep_if_better(best, s);
	search_anneal(s, evaluations, warmth, COLD);
	keep_if_better(best, s);
}

/* As if there were one kind alone, with others where that has no room: the cheapest kind. */
static uint32_t
kind_alone(struct search *s, struct keyed *keyed, uint32_t tries_max)
{
	uint32_t best = 0, nowhere = UINT32_MAX;
	double least = INFINITY;

	for (uint32_t kind = 0; kind < s->problem.kind_count; kind++) {
		search_narrow_to(s, kind);
		begin(s, keyed, BY_SEQ, tries_max);
		if (s->nowhere < nowhere || (s->nowhere == nowhere && search_value(s) < least)) {
			nowhere = s->nowhere;
			least = search_value(s);
			best = kind;
		}
	}
	return best;
}

static uint32_t
tries(uint64_t evaluations, uint64_t inserted)
{
	uint64_t each = evaluations / inserted;

	return each < TRIES_MIN ? TRIES_MIN : each > TRIES_MAX ? TRIES_MAX : (uint32_t)each;
}

/* From each order of workloads, and with the cheapest kind; then with few kinds by chance, of which there are many
 * sets: what is a good plan with some is none with others, and no small change leads from one to the other. */
static void
start_over(struct search *s, struct keyed *keyed, struct kept *best, uint64_t each, uint32_t starts)
{
	uint32_t count = s->problem.workload_count;

	for (enum start start = 0; start < STARTS; start++) {
		begin(s, keyed, start, tries(each / 2, count));
		go_on(s, best, each / 2, WARM);
	}
	if (s->problem.aim == SEARCH_USD_PER_GB)
		return; /* all are paid for */
	search_narrow_to(s, kind_alone(s, keyed, tries(each / 2, (uint64_t)count * s->problem.kind_count)));
	begin(s, keyed, BY_SEQ, tries(each / 2, count));
	search_widen(s);
	go_on(s, best, each / 2, WARM_AGAIN);
	for (uint32_t i = STARTS + 1; i < starts; i++) {
		search_narrow(s);
		begin(s, keyed, (enum start)rng_below(&s->rng, STARTS), tries(each / 2, count));
		go_on(s, best, each / 2, WARM);
		search_widen(s);
		go_on(s, best, each / 2, WARM_AGAIN);
	}
}

/* The first half of the effort for all starts, what is left for the best of them. */
static void
explore(struct search *s, struct keyed *keyed, struct kept *best, uint64_t evaluations_max)
{
	uint64_t starts = evaluations_max / 2 / ((uint64_t)s->problem.workload_count * EACH_START), each;

	if (starts < STARTS + 1 || s->problem.aim == SEARCH_USD_PER_GB)
		starts = STARTS + 1;
	each = evaluations_max / (2 * starts);
	start_over(s, keyed, best, each, (uint32_t)starts);
	for (restore(s, best); s->open > 0 && s->evaluations < evaluations_max; restore(s, best)) {
		uint64_t left = evaluations_max - s->evaluations;

		if (s->problem.aim == SEARCH_USD_YEARS)
			search_shake(s);
		go_on(s, best, left < each ? left : each, WARM_AGAIN);
	}
}

static void
write_down(const struct search *s, struct search_plan *plan)
{
	uint32_t *disk_of_slot = s->list[1], *number = s->list[2];

	for (uint32_t w = 0; w < s->problem.workload_count; w++) {
		disk_of_slot[w] = SEARCH_NOWHERE;
		number[s->order[w]] = w;
	}
	for (uint32_t i = 0; i < s->problem.workload_count; i++) {
		uint32_t slot = s->slot_of[number[i]];

		plan->disk_of[i] = SEARCH_NOWHERE;
		if (slot == SEARCH_NOWHERE)
			continue;
		if (disk_of_slot[slot] == SEARCH_NOWHERE) {
			plan->kind_of[plan->disks] = s->kind_order[s->slots[slot].kind];
			disk_of_slot[slot] = plan->disks++;
		}
		plan->disk_of[i] = disk_of_slot[slot];
	}
}

int
search_run(struct search_found *found, struct arena *arena, const struct search_problem *problem,
    const struct search_effort *effort)
{
	uint32_t count = problem->workload_count;
	struct kept best = { .nowhere = UINT32_MAX };
	struct keyed *keyed = NULL;
	struct search s;
	int error;

	*found = (struct search_found){ 0 };
	error = search_state_make(&s, arena, problem);
	if (error)
		return error;
	rng_seed(&s.rng, effort->seed);
	best.slot_of = arena_alloc(arena, count * sizeof(*best.slot_of));
	best.kind = arena_alloc(arena, count * sizeof(*best.kind));
	keyed = arena_alloc(arena, count * sizeof(*keyed));
	found->plan.disk_of = arena_alloc(arena, count * sizeof(*found->plan.disk_of));
	found->plan.kind_of = arena_alloc(arena, count * sizeof(*found->plan.kind_of));
	error = best.slot_of && best.kind && keyed && found->plan.disk_of && found->plan.kind_of ? 0 : -ENOMEM;
	if (error == 0 && effort->from)
		error = search_cost(&found->cost, arena, problem, effort->from);
	if (error == 0 && effort->from)
		error = take_over(&s, arena, effort->from);
	if (error == 0 && effort->from)
		keep(&best, &s);
	if (error == 0) {
		explore(&s, keyed, &best, effort->evaluations_max);
		write_down(&s, &found->plan);
		found->evaluations = s.evaluations;
		error = search_cost(&found->cost, arena, problem, &found->plan);
	}
	search_state_drop(&s, arena);
	arena_free(arena, best.slot_of);
	arena_free(arena, best.kind);
	arena_free(arena, keyed);
	return error;
}
