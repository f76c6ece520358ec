#include "place/search_change.h"

#include <assert.h>
#include <math.h>

/* How many disks a workload looks at that was taken from where it was; how many are taken at most, and of these how
 * many from anywhere. */
enum { TRIES_MAX = 48, RUIN_MAX = 24, OTHERS_MAX = 6 };
/* How many disks are shaken at most. */
enum { SHAKEN_MAX = 3 };

static uint32_t
below(struct search *s, uint32_t limit)
{
	return (uint32_t)rng_below(&s->rng, limit);
}

/* Above 0, at most 1. */
static double
chance(struct search *s)
{
	return ((double)(rng_next(&s->rng) >> 11) + 1) * 0x1p-53;
}

static uint32_t
some_slot(struct search *s)
{
	return s->slot_at[below(s, s->open)];
}

/* A change that leaves as many without a place is worth it, or it is warm enough. */
static bool
is_kept(struct search *s, double was, double now, double warmth)
{
	return now <= was || now - was <= -warmth * was / (s->open + 1) * log(chance(s));
}

static const struct price nothing = { .fits = true };

/* Of two disks at most that change. */
static double
aim_after(const struct search *s, struct price was, struct price now, struct price other_was, struct price other_now)
{
	return search_aim(s, s->sum.usd - was.usd + now.usd - other_was.usd + other_now.usd,
	    s->sum.gb - was.gb + now.gb - other_was.gb + other_now.gb);
}

static bool
insert(struct search *s, uint32_t w, uint32_t tries_max)
{
	uint32_t best = SEARCH_NOWHERE, best_kind = SEARCH_NOWHERE, tries = s->open < tries_max ? s->open : tries_max;
	double least = INFINITY;

	for (uint32_t i = 0; i < tries; i++) {
		uint32_t slot = tries == s->open ? s->slot_at[i] : some_slot(s);
		struct price price = search_try(s, &s->slots[slot], SEARCH_NOWHERE, w);
		double aim = aim_after(s, s->slots[slot].price, price, nothing, nothing);

		if (price.fits && (aim < least || best == SEARCH_NOWHERE)) {
			least = aim;
			best = slot;
		}
	}
	for (uint32_t i = 0; i < s->kinds_open; i++) {
		uint32_t kind = s->kind_at[i];
		bool is_left = search_kind_is_left(s, kind);
		struct price price = is_left ? search_try_list(s, kind, &w, 1) : (struct price){ 0 };
		double aim = aim_after(s, nothing, price, nothing, nothing);

		if (price.fits && (aim < least || (best == SEARCH_NOWHERE && best_kind == SEARCH_NOWHERE))) {
			least = aim;
			best_kind = kind;
		}
	}
	if (best_kind != SEARCH_NOWHERE)
		best = search_open(s, best_kind);
	if (best == SEARCH_NOWHERE)
		return false;
	search_move(s, w, best);
	search_settle(s, best);
	return true;
}

bool
search_insert(struct search *s, uint32_t w, uint32_t tries_max)
{
	uint32_t kinds = s->kinds_open;
	bool has_room = insert(s, w, tries_max);

	if (has_room || kinds == s->problem.kind_count)
		return has_room;
	search_widen(s);
	has_room = insert(s, w, tries_max);
	s->kinds_open = kinds;
	return has_room;
}

/* Two slots, or one and a disk that would be new, with other workloads or of another kind. */
struct proposal {
	uint32_t a, b;             /* b: SEARCH_NOWHERE: none, or the new one */
	uint32_t kind_a, kind_b;
	uint32_t *list_a, *list_b, count_a, count_b;
};

static bool
kinds_are_there(struct search *s, const struct proposal *p)
{
	bool there;

	s->kind_used[s->slots[p->a].kind]--;
	if (p->b != SEARCH_NOWHERE)
		s->kind_used[s->slots[p->b].kind]--;
	there = p->count_a == 0 || search_kind_is_left(s, p->kind_a);
	if (p->count_a > 0)
		s->kind_used[p->kind_a]++;
	there = there && (p->count_b == 0 || search_kind_is_left(s, p->kind_b));
	if (p->count_a > 0)
		s->kind_used[p->kind_a]--;
	s->kind_used[s->slots[p->a].kind]++;
	if (p->b != SEARCH_NOWHERE)
		s->kind_used[s->slots[p->b].kind]++;
	return there;
}

static void
carry_out(struct search *s, const struct proposal *p)
{
	uint32_t b = p->b;

	if (b != SEARCH_NOWHERE)
		search_recast(s, b, p->count_b > 0 ? p->kind_b : s->slots[b].kind);
	else if (p->count_b > 0)
		b = search_open(s, p->kind_b);
	search_recast(s, p->a, p->kind_a);
	for (uint32_t i = 0; i < p->count_a; i++)
		if (s->slot_of[p->list_a[i]] != p->a)
			search_move(s, p->list_a[i], p->a);
	for (uint32_t i = 0; i < p->count_b; i++)
		if (s->slot_of[p->list_b[i]] != b)
			search_move(s, p->list_b[i], b);
	search_settle(s, p->a);
	if (b != SEARCH_NOWHERE)
		search_settle(s, b);
}

static void
consider(struct search *s, const struct proposal *p, double warmth)
{
	struct price a, b = nothing, was_a = s->slots[p->a].price, was_b = nothing;

	if (!kinds_are_there(s, p))
		return;
	a = search_try_list(s, p->kind_a, p->list_a, p->count_a);
	if (a.fits && p->count_b > 0)
		b = search_try_list(s, p->kind_b, p->list_b, p->count_b);
	if (p->b != SEARCH_NOWHERE)
		was_b = s->slots[p->b].price;
	if (a.fits && b.fits && is_kept(s, search_value(s), aim_after(s, was_a, a, was_b, b), warmth))
		carry_out(s, p);
}

/* The workloads of both in the order of arrival. */
static uint32_t
join(const uint32_t *a, uint32_t count_a, const uint32_t *b, uint32_t count_b, uint32_t *both)
{
	uint32_t i = 0, j = 0;

	while (i < count_a || j < count_b)
		if (j == count_b || (i < count_a && a[i] < b[j])) {
			both[i + j] = a[i];
			i++;
		} else {
			both[i + j] = b[j];
			j++;
		}
	return i + j;
}

/* All workloads of two, or of one and of a new one, are dealt anew: by how sequential they are, or by chance. */
static void
deal(struct search *s, struct proposal *p, const uint32_t *all, uint32_t count)
{
	double from = s->workloads[all[below(s, count)]].seq_ratio;
	bool by_seq = below(s, 2) == 0;

	p->count_a = p->count_b = 0;
	for (uint32_t i = 0; i < count; i++)
		if (by_seq ? s->workloads[all[i]].seq_ratio >= from : below(s, 2) == 0)
			p->list_a[p->count_a++] = all[i];
		else
			p->list_b[p->count_b++] = all[i];
}

enum disks_change { RECAST, SPLIT, TRADE, DEAL, MERGE, DISKS_CHANGES };

/* Whole disks: one becomes of another kind, or two; two exchange their kinds, or workloads, or become one. */
static void
change_disks(struct search *s, double warmth)
{
	enum disks_change what = below(s, DISKS_CHANGES);
	uint32_t kind = search_some_kind(s), *all = s->list[3], count;
	struct proposal p = { .a = some_slot(s), .b = SEARCH_NOWHERE, .list_a = s->list[1], .list_b = s->list[2] };

	p.kind_a = s->slots[p.a].kind;
	p.kind_b = kind;
	p.count_a = search_list(s, p.a, p.list_a);
	if (what != RECAST && what != SPLIT) {
		p.b = some_slot(s);
		p.kind_b = s->slots[p.b].kind;
		p.count_b = search_list(s, p.b, p.list_b);
	}
	if (p.b == p.a || (what == SPLIT && p.count_a == 1))
		return;
	count = join(p.list_a, p.count_a, p.list_b, p.count_b, all);
	switch (what) {
	case RECAST:
		p.kind_a = kind;
		break;
	case TRADE:
		p.kind_b = p.kind_a;
		p.kind_a = s->slots[p.b].kind;
		break;
	case SPLIT:
	case DEAL:
		deal(s, &p, all, count);
		break;
	case MERGE:
		p.list_a = all;
		p.count_a = count;
		p.count_b = 0;
		p.kind_a = below(s, 2) == 0 ? kind : p.kind_a;
		break;
	case DISKS_CHANGES:
		assert(false);
	}
	consider(s, &p, warmth);
}

/* One workload to another disk, perhaps a new one. */
static void
change_place(struct search *s, double warmth)
{
	uint32_t w = below(s, s->problem.workload_count), from = s->slot_of[w];
	uint32_t to = below(s, s->open + s->kinds_open), kind = 0;
	struct price left = nothing, got, was_from = nothing, was_to = nothing;

	if (to >= s->open) {
		kind = s->kind_at[to - s->open];
		if (!search_kind_is_left(s, kind) || (from != SEARCH_NOWHERE && s->slots[from].workloads == 1))
			return;
		to = SEARCH_NOWHERE;
		got = search_try_list(s, kind, &w, 1);
	} else {
		to = s->slot_at[to];
		if (to == from)
			return;
		was_to = s->slots[to].price;
		got = search_try(s, &s->slots[to], SEARCH_NOWHERE, w);
	}
	if (!got.fits)
		return;
	if (from != SEARCH_NOWHERE) {
		was_from = s->slots[from].price;
		left = search_try(s, &s->slots[from], w, SEARCH_NOWHERE);
	}
	if (from != SEARCH_NOWHERE && !(left.fits &&
	    is_kept(s, search_value(s), aim_after(s, was_from, left, was_to, got), warmth)))
		return;
	if (to == SEARCH_NOWHERE)
		to = search_open(s, kind);
	search_move(s, w, to);
	search_settle(s, to);
	if (from != SEARCH_NOWHERE)
		search_settle(s, from);
}

/* Two workloads take each other's place; one of them may have none. */
static void
change_places(struct search *s, double warmth)
{
	uint32_t w = below(s, s->problem.workload_count), v = below(s, s->problem.workload_count);
	uint32_t a = s->slot_of[w], b = s->slot_of[v];
	struct price at_a = nothing, at_b = nothing, was_a = nothing, was_b = nothing;

	if (a == b)
		return;
	if (a != SEARCH_NOWHERE) {
		was_a = s->slots[a].price;
		at_a = search_try(s, &s->slots[a], w, v);
	}
	if (at_a.fits && b != SEARCH_NOWHERE) {
		was_b = s->slots[b].price;
		at_b = search_try(s, &s->slots[b], v, w);
	}
	if (!at_a.fits || !at_b.fits ||
	    !is_kept(s, search_value(s), aim_after(s, was_a, at_a, was_b, at_b), warmth))
		return;
	search_move(s, w, b);
	search_move(s, v, a);
	if (a != SEARCH_NOWHERE)
		search_settle(s, a);
	if (b != SEARCH_NOWHERE)
		search_settle(s, b);
}

/* What was taken from where. */
struct taken {
	uint32_t w[RUIN_MAX], slot[RUIN_MAX], kind[RUIN_MAX], count;
};

static void
take(struct search *s, struct taken *taken, uint32_t w)
{
	uint32_t slot = s->slot_of[w], n = taken->count++;

	taken->w[n] = w;
	taken->slot[n] = slot;
	taken->kind[n] = slot == SEARCH_NOWHERE ? 0 : s->slots[slot].kind;
	search_move(s, w, SEARCH_NOWHERE);
	if (slot != SEARCH_NOWHERE)
		search_settle(s, slot);
}

static void
take_back(struct search *s, const struct taken *taken)
{
	for (uint32_t i = 0; i < taken->count; i++) {
		uint32_t slot = s->slot_of[taken->w[i]];

		if (slot == SEARCH_NOWHERE)
			continue;
		search_move(s, taken->w[i], SEARCH_NOWHERE);
		search_settle(s, slot);
	}
	for (uint32_t i = 0; i < taken->count; i++) {
		uint32_t slot = taken->slot[i];

		if (slot == SEARCH_NOWHERE)
			continue;
		if (s->slots[slot].at >= s->open)
			search_reopen(s, slot, taken->kind[i]);
		search_move(s, taken->w[i], slot);
		search_settle(s, slot);
	}
}

/* A disk, and some workloads beside it, are taken apart and put where it is cheapest, one after the other. */
static void
ruin(struct search *s, double warmth)
{
	uint32_t slot = some_slot(s), others = below(s, OTHERS_MAX + 1), nowhere = s->nowhere;
	double was = search_value(s);
	struct taken taken = { .count = 0 };

	while (s->slots[slot].workloads > 0 && taken.count < RUIN_MAX - OTHERS_MAX)
		take(s, &taken, s->slots[slot].first);
	for (uint32_t i = 0; i < others; i++) {
		uint32_t w = below(s, s->problem.workload_count);
		bool is_taken_already = false;

		for (uint32_t n = 0; n < taken.count; n++)
			is_taken_already |= taken.w[n] == w;
		if (!is_taken_already)
			take(s, &taken, w);
	}
	for (uint32_t left = taken.count; left > 0; left--) { /* in any order */
		uint32_t n = below(s, left), w = taken.w[n], from = taken.slot[n], kind = taken.kind[n];

		(void)search_insert(s, w, TRIES_MAX);
		taken.w[n] = taken.w[left - 1];
		taken.slot[n] = taken.slot[left - 1];
		taken.kind[n] = taken.kind[left - 1];
		taken.w[left - 1] = w;
		taken.slot[left - 1] = from;
		taken.kind[left - 1] = kind;
	}
	if (s->nowhere > nowhere || (s->nowhere == nowhere && !is_kept(s, was, search_value(s), warmth)))
		take_back(s, &taken);
}

void
search_shake(struct search *s)
{
	uint32_t *list = s->list[1], count = 0;

	for (uint32_t disks = 1 + below(s, SHAKEN_MAX); disks > 0 && s->open > 0; disks--) {
		uint32_t slot = some_slot(s), n = search_list(s, slot, &list[count]);

		for (; n > 0; n--)
			search_move(s, list[count++], SEARCH_NOWHERE);
		search_settle(s, slot);
	}
	search_narrow(s);
	for (; count > 0; count--) { /* in any order */
		uint32_t n = below(s, count), w = list[n];

		list[n] = list[count - 1];
		(void)search_insert(s, w, TRIES_MAX);
	}
	search_widen(s);
}

void
search_anneal(struct search *s, uint64_t evaluations, double warmth_from, double warmth_to)
{
	uint64_t begin = s->evaluations;

	while (s->open > 0 && s->evaluations - begin < evaluations) {
		double done = (double)(s->evaluations - begin) / (double)evaluations;
		double warmth = warmth_from * pow(warmth_to / warmth_from, done);
		uint32_t what = below(s, 64);

		if (what < 28)
			change_place(s, warmth);
		else if (what < 54)
			change_places(s, warmth);
		else if (what < 62)
			change_disks(s, warmth);
		else
			ruin(s, warmth);
		s->evaluations++; /* so that it ends also where nothing can be tried */
	}
}
