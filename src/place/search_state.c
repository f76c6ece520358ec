#include "place/search_state.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

/* Sums are rounded: what fills a disk exactly fits. */
static const double ROUNDING = 1e-12;

/* A plan of few disks seldom has more; of more there are too many sets to try. */
enum { KINDS_MAX = 3 };

static int
by_value(double a, double b)
{
	return (a > b) - (a < b);
}

struct sorted_workload {
	struct workload w;
	uint32_t number;
};

/* By arrival; of those that arrive together by what they are, so that only equals may change places. */
static int
by_arrival(const void *left, const void *right)
{
	const struct workload *a = &((const struct sorted_workload *)left)->w;
	const struct workload *b = &((const struct sorted_workload *)right)->w;
	int by = by_value(a->arrival_days, b->arrival_days);

	by = by ? by : by_value(a->write_gb_per_day, b->write_gb_per_day);
	by = by ? by : by_value(a->seq_ratio, b->seq_ratio);
	by = by ? by : by_value(a->working_set_gb, b->working_set_gb);
	by = by ? by : by_value(a->peak_iops, b->peak_iops);
	return by ? by : by_value(a->write_ratio, b->write_ratio);
}

struct sorted_kind {
	struct search_kind k;
	uint32_t number;
};

static int
by_kind(const void *left, const void *right)
{
	const struct search_kind *k = &((const struct sorted_kind *)left)->k;
	const struct search_kind *l = &((const struct sorted_kind *)right)->k;
	const struct disk_model *a = k->model, *b = l->model;
	int by = by_value(a->initial_usd, b->initial_usd);

	by = by ? by : by_value(a->endurance_gb, b->endurance_gb);
	by = by ? by : by_value(a->capacity_gb, b->capacity_gb);
	by = by ? by : by_value(a->iops, b->iops);
	by = by ? by : by_value(a->usd_per_day, b->usd_per_day);
	by = by ? by : by_value(k->worn_gb, l->worn_gb);
	by = by ? by : (k->owned > l->owned) - (k->owned < l->owned);
	by = by ? by : by_value(a->write_copies, b->write_copies);
	by = by ? by : by_value(a->write_penalty, b->write_penalty);
	by = by ? by : by_value(waf_at(&a->waf, 0), waf_at(&b->waf, 0));
	by = by ? by : by_value(waf_at(&a->waf, 0.75), waf_at(&b->waf, 0.75));
	return by ? by : by_value(k->disks_max, l->disks_max);
}

static bool
sort(struct search *s, struct arena *arena, const struct search_problem *problem)
{
	struct sorted_workload *w = arena_alloc(arena, problem->workload_count * sizeof(*w));
	struct sorted_kind *k = arena_alloc(arena, problem->kind_count * sizeof(*k));

	for (uint32_t i = 0; w && i < problem->workload_count; i++)
		w[i] = (struct sorted_workload){ problem->workloads[i], i };
	for (uint32_t i = 0; k && i < problem->kind_count; i++)
		k[i] = (struct sorted_kind){ problem->kinds[i], i };
	if (w && k) {
		qsort(w, problem->workload_count, sizeof(*w), by_arrival);
		qsort(k, problem->kind_count, sizeof(*k), by_kind);
		for (uint32_t i = 0; i < problem->workload_count; i++) {
			s->workloads[i] = w[i].w;
			s->order[i] = w[i].number;
		}
		for (uint32_t i = 0; i < problem->kind_count; i++) {
			s->kinds[i] = k[i].k;
			s->kind_order[i] = k[i].number;
		}
	}
	arena_free(arena, w);
	arena_free(arena, k);
	return w && k;
}

int
search_state_make(struct search *s, struct arena *arena, const struct search_problem *problem)
{
	uint32_t count = problem->workload_count;
	bool have;

	*s = (struct search){ .problem = *problem, .nowhere = count };
	have = (s->workloads = arena_alloc(arena, count * sizeof(*s->workloads))) != NULL;
	have = (s->kinds = arena_alloc(arena, problem->kind_count * sizeof(*s->kinds))) && have;
	have = (s->kind_order = arena_alloc(arena, problem->kind_count * sizeof(*s->kind_order))) && have;
	have = (s->kind_used = arena_alloc(arena, problem->kind_count * sizeof(*s->kind_used))) && have;
	have = (s->kind_at = arena_alloc(arena, problem->kind_count * sizeof(*s->kind_at))) && have;
	have = (s->slots = arena_alloc(arena, count * sizeof(*s->slots))) && have;
	for (size_t i = 0; i < 5; i++) {
		uint32_t **array[] = { &s->order, &s->slot_at, &s->slot_of, &s->next, &s->previous };

		have = (*array[i] = arena_alloc(arena, count * sizeof(uint32_t))) && have;
	}
	for (size_t i = 0; i < sizeof(s->list) / sizeof(s->list[0]); i++)
		have = (s->list[i] = arena_alloc(arena, count * sizeof(uint32_t))) && have;
	if (!have || !sort(s, arena, problem)) {
		search_state_drop(s, arena);
		return -ENOMEM;
	}
	s->problem.workloads = s->workloads;
	s->problem.kinds = s->kinds;
	for (uint32_t i = 0; i < count; i++) {
		s->slot_at[i] = s->slots[i].at = i;
		s->slot_of[i] = SEARCH_NOWHERE;
	}
	for (uint32_t k = 0; k < problem->kind_count; k++)
		s->kind_at[k] = k;
	search_widen(s);
	for (uint32_t k = 0; problem->aim == SEARCH_USD_PER_GB && k < problem->kind_count; k++)
		s->paid_usd += s->kinds[k].model->initial_usd * s->kinds[k].disks_max;
	s->at_once = s->workloads[0].arrival_days == s->workloads[count - 1].arrival_days;
	return 0;
}

void
search_state_drop(struct search *s, struct arena *arena)
{
	void *arrays[] = { s->workloads, s->kinds, s->kind_order, s->kind_used, s->kind_at, s->slots, s->order,
		s->slot_at, s->slot_of, s->next, s->previous, s->list[0], s->list[1], s->list[2], s->list[3] };

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		arena_free(arena, arrays[i]);
}

double
search_aim(const struct search *s, double usd, double gb)
{
	if (s->problem.aim == SEARCH_USD_YEARS)
		return usd;
	return gb > 0 ? (s->paid_usd + usd) / gb : INFINITY;
}

double
search_value(const struct search *s)
{
	return search_aim(s, s->sum.usd, s->sum.gb);
}

static bool
has_room(const struct search_problem *problem, const struct disk *disk)
{
	return disk->used_gb <= disk->model->capacity_gb * problem->room_max * (1 + ROUNDING) &&
	    disk->used_iops <= disk->model->iops * problem->iops_max * (1 + ROUNDING);
}

/* Of one that has workloads, and room for them. */
static struct price
priced(const struct search_problem *problem, const struct search_kind *kind, const struct disk *disk)
{
	const struct disk_model *model = disk->model;
	double end = problem->horizon_days, lives;

	if (problem->aim == SEARCH_USD_PER_GB)
		return (struct price){ model->usd_per_day * disk_lifetime_days(disk), disk_total_gb(disk), true };
	lives = fmax(disk_worn_gb(disk, end) / model->endurance_gb, 1) - kind->owned;
	return (struct price){
		.usd = model->initial_usd * lives + model->usd_per_day * (end - disk->first_days),
		.gb = disk_served_gb(disk, end), .fits = true,
	};
}

struct price
search_price(struct disk *disk, const struct search_problem *problem, const struct search_kind *kind,
    const uint32_t *list, uint32_t count)
{
	disk_init(disk, kind->model, kind->worn_gb);
	for (uint32_t i = 0; i < count; i++) {
		const struct workload *w = &problem->workloads[list[i]];

		if (problem->aim == SEARCH_USD_PER_GB && i > 0 && disk_is_worn(disk, w->arrival_days))
			return (struct price){ 0 };
		disk_put(disk, w, w->arrival_days);
	}
	if (!has_room(problem, disk))
		return (struct price){ 0 };
	return count > 0 ? priced(problem, kind, disk) : (struct price){ .fits = true };
}

struct price
search_try_list(struct search *s, uint32_t kind, const uint32_t *list, uint32_t count)
{
	struct disk disk;

	s->evaluations++;
	return search_price(&disk, &s->problem, &s->kinds[kind], list, count);
}

uint32_t
search_list(const struct search *s, uint32_t slot, uint32_t *list)
{
	uint32_t count = 0;

	for (uint32_t w = s->slots[slot].first; w != SEARCH_NOWHERE; w = s->next[w])
		list[count++] = w;
	return count;
}

/* Only rates, room and I/Os, to see what cannot be; or all there is to know where all arrive together. */
static struct disk
by_sums(const struct search *s, const struct slot *slot, uint32_t out, uint32_t in)
{
	struct disk disk = slot->disk;

	if (in != SEARCH_NOWHERE)
		disk_put(&disk, &s->workloads[in], disk.since_days);
	if (out != SEARCH_NOWHERE)
		disk_drop(&disk, &s->workloads[out], disk.since_days);
	return disk;
}

struct price
search_try(struct search *s, const struct slot *slot, uint32_t out, uint32_t in)
{
	struct disk disk = by_sums(s, slot, out, in);
	uint32_t *list = s->list[0], count = 0;

	s->evaluations++;
	if (disk.workloads == 0)
		return (struct price){ .fits = true };
	if (!has_room(&s->problem, &disk))
		return (struct price){ 0 };
	if (s->at_once)
		return priced(&s->problem, &s->kinds[slot->kind], &disk);
	for (uint32_t w = slot->first; w != SEARCH_NOWHERE; w = s->next[w]) {
		if (in < w) {
			list[count++] = in;
			in = SEARCH_NOWHERE;
		}
		if (w != out)
			list[count++] = w;
	}
	if (in != SEARCH_NOWHERE)
		list[count++] = in;
	return search_price(&disk, &s->problem, &s->kinds[slot->kind], list, count);
}

static void
exchange_kinds(struct search *s, uint32_t at, uint32_t other)
{
	uint32_t kind = s->kind_at[at];

	s->kind_at[at] = s->kind_at[other];
	s->kind_at[other] = kind;
}

void
search_narrow_to(struct search *s, uint32_t kind)
{
	uint32_t at = 0;

	while (s->kind_at[at] != kind)
		at++;
	exchange_kinds(s, 0, at);
	s->kinds_open = 1;
}

void
search_narrow(struct search *s)
{
	uint32_t most = s->problem.kind_count < KINDS_MAX ? s->problem.kind_count : KINDS_MAX;
	uint32_t kinds = 1 + (uint32_t)rng_below(&s->rng, most);

	for (uint32_t i = 0; i < kinds; i++)
		exchange_kinds(s, i, i + (uint32_t)rng_below(&s->rng, s->problem.kind_count - i));
	s->kinds_open = kinds;
}

void
search_widen(struct search *s)
{
	s->kinds_open = s->problem.kind_count;
}

uint32_t
search_some_kind(struct search *s)
{
	return s->kind_at[rng_below(&s->rng, s->kinds_open)];
}

bool
search_kind_is_left(const struct search *s, uint32_t kind)
{
	return s->kind_used[kind] < s->kinds[kind].disks_max;
}

static void
exchange(struct search *s, uint32_t at, uint32_t other)
{
	uint32_t slot = s->slot_at[at];

	s->slot_at[at] = s->slot_at[other];
	s->slot_at[other] = slot;
	s->slots[s->slot_at[at]].at = at;
	s->slots[slot].at = other;
}

void
search_reopen(struct search *s, uint32_t slot, uint32_t kind)
{
	struct slot *one = &s->slots[slot];

	assert(one->at >= s->open);
	exchange(s, one->at, s->open++);
	*one = (struct slot){ .kind = kind, .first = SEARCH_NOWHERE, .last = SEARCH_NOWHERE, .at = one->at };
	disk_init(&one->disk, s->kinds[kind].model, s->kinds[kind].worn_gb);
	one->disk.since_days = s->workloads[0].arrival_days;
	s->kind_used[kind]++;
}

uint32_t
search_open(struct search *s, uint32_t kind)
{
	uint32_t slot = s->slot_at[s->open];

	search_reopen(s, slot, kind);
	return slot;
}

void
search_recast(struct search *s, uint32_t slot, uint32_t kind)
{
	s->kind_used[s->slots[slot].kind]--;
	s->slots[slot].kind = kind;
	s->kind_used[kind]++;
}

static void
leave(struct search *s, uint32_t w)
{
	struct slot *slot = &s->slots[s->slot_of[w]];
	uint32_t before = s->previous[w], after = s->next[w];

	*(before == SEARCH_NOWHERE ? &slot->first : &s->next[before]) = after;
	*(after == SEARCH_NOWHERE ? &slot->last : &s->previous[after]) = before;
	slot->workloads--;
}

static void
enter(struct search *s, uint32_t w, struct slot *slot)
{
	uint32_t before = slot->last, after = SEARCH_NOWHERE;

	while (before != SEARCH_NOWHERE && before > w) {
		after = before;
		before = s->previous[before];
	}
	s->previous[w] = before;
	s->next[w] = after;
	*(before == SEARCH_NOWHERE ? &slot->first : &s->next[before]) = w;
	*(after == SEARCH_NOWHERE ? &slot->last : &s->previous[after]) = w;
	slot->workloads++;
}

void
search_move(struct search *s, uint32_t w, uint32_t slot)
{
	if (s->slot_of[w] != SEARCH_NOWHERE)
		leave(s, w);
	else
		s->nowhere--;
	s->slot_of[w] = slot;
	if (slot != SEARCH_NOWHERE)
		enter(s, w, &s->slots[slot]);
	else
		s->nowhere++;
}

void
search_settle(struct search *s, uint32_t number)
{
	struct slot *slot = &s->slots[number];
	struct price was = slot->price;

	slot->price = search_price(&slot->disk, &s->problem, &s->kinds[slot->kind], s->list[0],
	    search_list(s, number, s->list[0]));
	s->sum.usd += slot->price.usd - was.usd;
	s->sum.gb += slot->price.gb - was.gb;
	if (slot->workloads == 0) {
		s->kind_used[slot->kind]--;
		exchange(s, slot->at, --s->open);
	}
}
