/*
 * place/advice: what plans cost is what a hand and the search say, reasons are differences between plans, and what has
 * no place is told what stops it.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "place/advice.h"

static struct arena arena;

static void
near(double found, double expected, double relative)
{
	if (!(fabs(found - expected) <= relative * fabs(expected) + 1e-9))
		fail_msg("found %.17g, expected %.17g", found, expected);
}

/* 1000 USD and 0.20 a day, of these 0.05 for power. */
static struct catalogue_model
model(const char *name, double usd, double capacity_gb, double endurance_gb, double iops)
{
	return (struct catalogue_model){
		.disk = { .name = name, .initial_usd = usd, .usd_per_day = 0.2, .endurance_gb = endurance_gb,
		    .capacity_gb = capacity_gb, .iops = iops, .write_penalty = 2, .write_copies = 1,
		    .waf = waf_default },
		.power_usd_per_day = 0.05, .class = "", .source = "", .estimated = "",
	};
}

static struct workload
workload(const char *name, double rate, double seq, double peak, double room, double arrival)
{
	return (struct workload){
		.name = name, .write_gb_per_day = rate, .seq_ratio = seq, .peak_iops = peak, .write_ratio = 0.5,
		.working_set_gb = room, .arrival_days = arrival,
	};
}

static struct advice_order
order_of(const struct workload *workloads, uint32_t count, const struct advice_kind *kinds, uint32_t kind_count)
{
	return (struct advice_order){
		.workloads = workloads, .workload_count = count, .kinds = kinds, .kind_count = kind_count, .years = 5,
		.room_max = 0.8, .iops_max = 0.7, .seed = 1,
	};
}

static struct advice
made(const struct advice_order *order)
{
	struct advice advice;

	assert_null(advice_wrong(order));
	assert_int_equal(advice_make(&advice, &arena, order), 0);
	return advice;
}

static struct advice_layout
laid_out(const struct advice *advice, const struct search_plan *plan)
{
	struct advice_layout layout;

	assert_int_equal(advice_lay_out(&layout, &arena, advice, plan), 0);
	return layout;
}

static void
one_disk_costs_what_a_hand_says(void **state)
{
	const struct catalogue_model m = model("m", 1000, 1000, 1e6, 10000);
	const struct advice_kind kind = { .model = &m, .disks_max = UINT32_MAX };
	const struct workload w[] = { workload("late", 100, 0.9, 100, 200, 825), workload("a", 200, 0.2, 300, 300,
	    100) };
	const struct advice_order order = order_of(w, 2, &kind, 1);
	struct advice advice = made(&order);
	const struct advice_plan *best = &advice.plans[0];
	struct advice_layout layout = laid_out(&advice, &best->plan);
	const struct advice_disk *d = &layout.disks[0];
	double both = waf_at(&waf_default, 130.0 / 300), worn = 725 * 200 * 4 + 1000 * 300 * both;

	assert_int_equal(best->cost.disks, 1);
	near(d->wear, worn / 1e6, 1e-12);
	assert_true(d->wear > 1);
	near(best->money.bought_usd, 1000, 0);
	near(best->money.replaced_usd, (worn / 1e6 - 1) * 1000, 1e-12);
	near(best->money.power_usd, 0.05 * 1725, 1e-12);
	near(best->money.labour_usd, 0.15 * 1725, 1e-12);
	near(best->cost.usd, advice_usd(&best->money), 1e-12);
	near(d->worn_days, 825 + (1e6 - 725 * 200 * 4) / (300 * both), 1e-12);
	near(best->shortest_years, (d->worn_days - 100) / 365, 1e-12);
	near(d->room, 0.5, 1e-12);
	near(d->iops, 600.0 / 10000, 1e-12);
	near(d->seq_ratio, 130.0 / 300, 1e-12);
	assert_true(layout.list[0] == 1 && layout.list[1] == 0); /* as they come */
	near(advice_wear(&advice, &layout, 0, 50), 0, 0);
	near(advice_wear(&advice, &layout, 0, 825), 725 * 200 * 4 / 1e6, 1e-12);
	near(advice_wear(&advice, &layout, 0, 1825), d->wear, 1e-12);
}

static void
plain_ways_place_as_they_say(void **state)
{
	const struct catalogue_model m = model("m", 1000, 1000, 1e7, 10000);
	const struct advice_kind kind = { .model = &m, .disks_max = UINT32_MAX };
	const struct workload w[] = {
		workload("a", 10, 0.5, 10, 500, 0), workload("b", 10, 0.5, 10, 400, 1), workload("c", 10, 0.5, 10, 100,
		    2),
		workload("d", 10, 0.5, 10, 100, 3),
	};
	const uint32_t first[] = { 0, 1, 0, 0 }, least[] = { 0, 1, 1, 0 };
	const struct advice_order order = order_of(w, 4, &kind, 1);
	struct advice advice = made(&order);
	unsigned seen = 0;

	for (uint32_t i = 0; i < advice.plan_count; i++) {
		const struct advice_plan *p = &advice.plans[i];
		const uint32_t *expected = p->way == ADVICE_FIRST_FIT ? first : p->way == ADVICE_LEAST_USED ? least :
		    NULL;

		for (unsigned n = 0; expected != NULL && n < 4; n++)
			assert_int_equal(p->plan.disk_of[n], expected[n]);
		seen += expected != NULL;
	}
	assert_int_equal(seen, 2);
	assert_int_equal(advice.plan_count, ADVICE_WAYS);
}

/* ---- of any numbers ---- */

enum { MANY = 24, KINDS = 3 };

struct some {
	struct catalogue_model models[KINDS];
	struct advice_kind kinds[KINDS];
	struct workload workloads[MANY];
	char names[MANY][8];
};

static double
uniform(struct rng *rng, double from, double to)
{
	return from + (to - from) * (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static void
some_of(struct some *s, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	s->models[0] = model("small", 160, 960, 7e6, 500000);
	s->models[1] = model("large", 735, 3840, 29e6, 900000);
	s->models[2] = model("tough", 200, 800, 9e6, 200000);
	for (unsigned i = 0; i < KINDS; i++)
		s->kinds[i] = (struct advice_kind){ .model = &s->models[i], .disks_max = UINT32_MAX };
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(s->names[i], sizeof(s->names[i]), "w%u", i);
		s->workloads[i] = workload(s->names[i], exp(uniform(&rng, 0, 7)), uniform(&rng, 0, 1),
		    uniform(&rng, 100, 20000), uniform(&rng, 10, 500), uniform(&rng, 0, 100));
	}
}

static void
every_plan_costs_the_sum_of_its_parts_and_the_best_is_first(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct some s;
		struct advice_order order;
		struct advice advice;

		some_of(&s, seed);
		order = order_of(s.workloads, MANY, s.kinds, KINDS);
		advice = made(&order);
		assert_int_equal(advice.plan_count, KINDS * (ADVICE_WAYS - 2) + 3);
		assert_int_equal(advice.refused_count, 0);
		for (uint32_t i = 0; i < advice.plan_count; i++) {
			const struct advice_plan *p = &advice.plans[i];
			struct search_cost cost;

			near(advice_usd(&p->money), p->cost.usd, 1e-9);
			assert_true(i == 0 || p->cost.nowhere >= advice.plans[i - 1].cost.nowhere);
			assert_true(i == 0 || p->cost.nowhere > advice.plans[i - 1].cost.nowhere ||
			    p->cost.usd >= advice.plans[i - 1].cost.usd - 0.01);
			assert_int_equal(search_cost(&cost, &arena, &advice.problem, &p->plan), 0);
			near(cost.usd, p->cost.usd, 1e-12);
			for (uint32_t disk = 0; p->kind != ADVICE_MIXED && disk < p->plan.disks; disk++)
				assert_int_equal(p->plan.kind_of[disk], p->kind);
		}
	}
}

static void
doubled_prices_double_all_costs(void **state)
{
	struct some s, dear;
	struct advice_order order, dear_order;
	struct advice advice, twice;

	some_of(&s, 3);
	some_of(&dear, 3);
	for (unsigned i = 0; i < KINDS; i++) {
		dear.models[i].disk.initial_usd *= 2;
		dear.models[i].disk.usd_per_day *= 2;
		dear.models[i].power_usd_per_day *= 2;
	}
	order = order_of(s.workloads, MANY, s.kinds, KINDS);
	dear_order = order_of(dear.workloads, MANY, dear.kinds, KINDS);
	advice = made(&order);
	twice = made(&dear_order);
	for (uint32_t i = 0; i < advice.plan_count; i++) {
		near(twice.plans[i].cost.usd, 2 * advice.plans[i].cost.usd, 1e-9);
		near(twice.plans[i].money.labour_usd, 2 * advice.plans[i].money.labour_usd, 1e-9);
		assert_int_equal(twice.plans[i].kind, advice.plans[i].kind);
		assert_int_equal(twice.plans[i].way, advice.plans[i].way);
	}
}

static void
the_order_of_rows_changes_nothing(void **state)
{
	struct some s, turned;
	struct advice_order order, turned_order;
	struct advice advice, other;

	some_of(&s, 5);
	some_of(&turned, 5);
	for (unsigned i = 0; i < MANY; i++)
		turned.workloads[i] = s.workloads[(i + 11) % MANY];
	for (unsigned i = 0; i < KINDS; i++)
		turned.kinds[i] = s.kinds[(i + 1) % KINDS];
	order = order_of(s.workloads, MANY, s.kinds, KINDS);
	turned_order = order_of(turned.workloads, MANY, turned.kinds, KINDS);
	advice = made(&order);
	other = made(&turned_order);
	for (uint32_t i = 0; i < advice.plan_count; i++)
		near(other.plans[i].cost.usd, advice.plans[i].cost.usd, 1e-9);
}

/* ---- why ---- */

static double
usd_with(const struct advice *advice, const struct search_plan *plan)
{
	struct search_cost cost;

	return search_cost(&cost, &arena, &advice->problem, plan) == 0 ? cost.usd : INFINITY;
}

/* With the workload on each other disk, and on a new one of each kind; the least. */
static double
cheapest_elsewhere(const struct advice *advice, struct search_plan *plan, uint32_t w)
{
	uint32_t own = plan->disk_of[w], alone = 0;
	double least = INFINITY;

	for (uint32_t i = 0; i < MANY; i++)
		alone += plan->disk_of[i] == own;
	for (uint32_t disk = 0; disk < plan->disks; disk++) {
		plan->disk_of[w] = disk;
		if (disk != own)
			least = fmin(least, usd_with(advice, plan));
	}
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		plan->disk_of[w] = plan->disks;
		plan->kind_of[plan->disks++] = kind;
		if (alone > 1 || kind != plan->kind_of[own])
			least = fmin(least, usd_with(advice, plan));
		plan->disks--;
	}
	plan->disk_of[w] = own;
	return least;
}

static double
cheapest_exchange(const struct advice *advice, struct search_plan *plan, uint32_t w)
{
	double least = INFINITY;

	for (uint32_t other = 0; other < MANY; other++) {
		uint32_t own = plan->disk_of[w], theirs = plan->disk_of[other];

		if (own == theirs)
			continue;
		plan->disk_of[w] = theirs;
		plan->disk_of[other] = own;
		least = fmin(least, usd_with(advice, plan));
		plan->disk_of[w] = own;
		plan->disk_of[other] = theirs;
	}
	return least;
}

static void
reasons_are_differences_between_plans(void **state)
{
	struct some s;
	struct advice_order order;
	struct advice advice;
	struct search_plan plan;
	struct advice_layout layout;
	double usd;

	some_of(&s, 7);
	order = order_of(s.workloads, MANY, s.kinds, KINDS);
	advice = made(&order);
	plan = advice.plans[0].plan;
	assert_true(plan.disks > 1 && plan.disks < MANY);
	usd = usd_with(&advice, &plan);
	layout = laid_out(&advice, &plan);
	for (uint32_t w = 0; w < MANY; w++) {
		struct advice_reason r;
		uint32_t own = plan.disk_of[w];

		assert_int_equal(advice_why(&r, &arena, &advice, &layout, &plan, w, true), 0);
		plan.disk_of[w] = SEARCH_NOWHERE;
		near(r.usd, usd - usd_with(&advice, &plan), 1e-9);
		plan.disk_of[w] = own;
		near(r.next_usd - r.usd, cheapest_elsewhere(&advice, &plan, w) - usd, 1e-9);
		if (isinf(r.exchange_usd))
			assert_true(isinf(cheapest_exchange(&advice, &plan, w)) && r.exchange == SEARCH_NOWHERE);
		else
			near(r.exchange_usd, cheapest_exchange(&advice, &plan, w) - usd, 1e-9);
		assert_true(r.full + r.slow < plan.disks && r.wear >= 0);
		assert_int_equal(advice_why(&r, &arena, &advice, &layout, &plan, w, false), 0);
		assert_true(isinf(r.exchange_usd));
	}
}

/* ---- what has no place ---- */

static void
what_has_no_place_is_told_what_stops_it_and_by_how_much(void **state)
{
	const struct catalogue_model small = model("small", 100, 500, 1e7, 100000), large = model("large", 500, 2000,
	    1e7,
	    10000);
	const struct advice_kind kinds[] = { { .model = &small, .disks_max = 9 }, { .model = &large, .disks_max = 9 } };
	const struct workload w[] = {
		workload("big", 1, 0.5, 10, 1700, 0), workload("fast", 1, 0.5, 60000, 10, 0), workload("good", 1, 0.5,
		    10, 10, 0),
		workload("both", 1, 0.5, 6000, 1000, 0),
	};
	struct advice_order order = order_of(w, 4, kinds, 2);
	struct advice advice = made(&order);

	assert_int_equal(advice.refused_count, 3);
	assert_string_equal(advice.refused[0].workload->name, "big");
	assert_int_equal(advice.refused[0].why, DISK_FULL);
	assert_int_equal(advice.refused[0].kind, 1);
	near(advice.refused[0].needs - advice.refused[0].has, 100, 1e-12);
	assert_int_equal(advice.refused[1].why, DISK_SLOW);
	assert_int_equal(advice.refused[1].kind, 0);
	near(advice.refused[1].needs, 90000, 1e-12);
	near(advice.refused[1].has, 70000, 1e-12);
	assert_int_equal(advice.refused[2].why, DISK_SLOW); /* there is room for it, on one that is too slow */
	assert_int_equal(advice.refused[2].kind, 1);
	assert_int_equal(advice.problem.workload_count, 1);
	assert_int_equal(advice.plans[0].cost.disks, 1);
	order.workload_count = 2;
	advice = made(&order);
	assert_true(advice.plan_count == 0 && advice.refused_count == 2);
}

static void
where_there_are_too_few_disks_what_is_nearest_is_said(void **state)
{
	const struct catalogue_model m = model("m", 100, 1000, 1e7, 100000);
	const struct advice_kind kind = { .model = &m, .disks_max = 2, .owned = true };
	const struct workload w[] = {
		workload("a", 1, 0.5, 10, 500, 0), workload("b", 1, 0.5, 10, 600, 0), workload("c", 1, 0.5, 10, 700, 0),
	};
	const struct advice_order order = order_of(w, 3, &kind, 1);
	struct advice advice = made(&order);
	const struct advice_refused *r = &advice.refused[0];

	assert_int_equal(advice.refused_count, 1);
	assert_true(r->in_plan && r->why == DISK_FULL);
	assert_true(r->has < r->needs && r->needs == r->workload->working_set_gb);
}

/* ---- drives that are there ---- */

static void
drives_that_are_there_are_used_before_others_are_bought(void **state)
{
	const struct catalogue_model m = model("m", 1000, 1000, 1e6, 100000);
	const struct advice_kind kinds[] = {
		{ .model = &m, .disks_max = 3, .owned = true, .worn_gb = 1e6 }, /* worn out */
		{ .model = &m, .disks_max = 1, .owned = true, .worn_gb = 4e5 },
		{ .model = &m, .disks_max = UINT32_MAX },
	};
	const struct workload w[] = { workload("a", 50, 0, 10, 700, 0), workload("b", 1, 0, 10, 700, 0) };
	struct advice_order order = order_of(w, 2, kinds, 3);
	struct advice advice = made(&order);
	const struct advice_plan *best = &advice.plans[0];
	double worn = 50 * 4 * 1825;

	assert_int_equal(best->cost.nowhere, 0);
	assert_int_equal(best->cost.disks, 2);
	near(best->money.bought_usd, 1000, 0);
	near(best->money.replaced_usd, 0, 0); /* the worn one takes what writes little */
	near(best->money.power_usd, 2 * 0.05 * 1825, 1e-12);
	for (uint32_t i = 0; i < advice.plan_count; i++)
		assert_int_equal(advice.plans[i].kind, ADVICE_MIXED);
	order.kind_count = 2;
	order.workload_count = 1;
	advice = made(&order);
	near(advice.plans[0].money.bought_usd, 0, 0);
	near(advice.plans[0].money.replaced_usd, 0, 0);
	assert_true(4e5 + worn < 1e6);
	near(laid_out(&advice, &advice.plans[0].plan).disks[0].wear, (4e5 + worn) / 1e6, 1e-12);
	order.kind_count = 1;
	advice = made(&order);
	assert_int_equal(advice.refused_count, 1);
	assert_int_equal(advice.refused[0].why, DISK_WORN);
}

static void
a_raid_set_is_a_disk_of_its_drives(void **state)
{
	const struct catalogue_model m = model("m", 1000, 1000, 1e6, 10000);
	const struct advice_kind kind = { .model = &m, .disks_max = UINT32_MAX };
	const struct workload w = workload("a", 100, 0.2, 300, 1200, 0);
	struct advice_order order = order_of(&w, 1, &kind, 1);
	struct advice advice;
	struct advice_disk d;

	order.set = 4;
	order.raid = RAID_1;
	advice = made(&order);
	d = laid_out(&advice, &advice.plans[0].plan).disks[0];
	near(d.money.bought_usd, 4000, 0);
	near(d.money.power_usd, 4 * 0.05 * 1825, 1e-12);
	near(d.money.labour_usd, 4 * 0.15 * 1825, 1e-12);
	near(d.room, 0.6, 1e-12);
	near(d.iops, (150 + 150 * 4) / 40000.0, 1e-12);
	near(d.wear, 100 * 2 * 4 * 1825 / 4e6, 1e-12);
	order.set = 3;
	assert_non_null(advice_wrong(&order));
}

static void
orders_that_cannot_be_are_refused(void **state)
{
	const struct catalogue_model m = model("m", 1000, 1000, 1e6, 10000);
	const struct advice_kind kind = { .model = &m, .disks_max = UINT32_MAX };
	const struct workload w = workload("a", 100, 0.2, 300, 500, 0);
	const struct advice_order good = order_of(&w, 1, &kind, 1);
	struct advice_order order;

	assert_null(advice_wrong(&good));
#define WRONG(field, value) (order = good, order.field = (value), assert_non_null(advice_wrong(&order)))
	WRONG(workload_count, 0);
	WRONG(kind_count, 0);
	WRONG(years, 0);
	WRONG(years, NAN);
	WRONG(years, 101);
	WRONG(room_max, 0);
	WRONG(room_max, 1.1);
	WRONG(iops_max, NAN);
#undef WRONG
}

static void
where_there_is_no_memory_that_is_the_answer(void **state)
{
	struct some s;
	struct advice_order order;
	struct advice advice;
	int error = -ENOMEM;
	unsigned refused = 0;

	some_of(&s, 1);
	order = order_of(s.workloads, 3, s.kinds, 1);
	for (unsigned n = 1; error == -ENOMEM; n++) {
		arena_drop(&arena);
		arena_init(&arena, 0);
		arena.fail_at = n;
		error = advice_make(&advice, &arena, &order);
		refused += error == -ENOMEM;
	}
	assert_int_equal(error, 0);
	assert_true(refused > 20);
}

static int
begin(void **state)
{
	arena_init(&arena, 0);
	return 0;
}

static int
end(void **state)
{
	arena_drop(&arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_disk_costs_what_a_hand_says, begin, end),
		cmocka_unit_test_setup_teardown(plain_ways_place_as_they_say, begin, end),
		cmocka_unit_test_setup_teardown(every_plan_costs_the_sum_of_its_parts_and_the_best_is_first, begin,
		    end),
		cmocka_unit_test_setup_teardown(doubled_prices_double_all_costs, begin, end),
		cmocka_unit_test_setup_teardown(the_order_of_rows_changes_nothing, begin, end),
		cmocka_unit_test_setup_teardown(reasons_are_differences_between_plans, begin, end),
		cmocka_unit_test_setup_teardown(what_has_no_place_is_told_what_stops_it_and_by_how_much, begin, end),
		cmocka_unit_test_setup_teardown(where_there_are_too_few_disks_what_is_nearest_is_said, begin, end),
		cmocka_unit_test_setup_teardown(drives_that_are_there_are_used_before_others_are_bought, begin, end),
		cmocka_unit_test_setup_teardown(a_raid_set_is_a_disk_of_its_drives, begin, end),
		cmocka_unit_test_setup_teardown(orders_that_cannot_be_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(where_there_is_no_memory_that_is_the_answer, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
