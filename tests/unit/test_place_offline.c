/*
 * test_place_offline.c - the minTCO paper's Algorithm 2 against its own definitions, and against its equation 9.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "place/cost.h"
#include "place/offline.h"

enum { DISKS = 6, MANY = 400 };

static const struct disk_model model = {
	.initial_usd = 1000, .usd_per_day = 0.18, .endurance_gb = 5e6, .capacity_gb = 1000, .iops = 60000,
	.write_penalty = 2, .write_copies = 1, .waf = { 0.5, 0, 4, -11.2, 11.2, 1.2 },
};

static const double threshold = OFFLINE_THRESHOLD;
static const struct offline_terms terms = {
	.model = &model, .thresholds = &threshold, .zones = 2, .delta = OFFLINE_DELTA, .room_max = 1, .iops_max = 1,
};

static double
uniform(struct rng *rng, double from, double to)
{
	return from + (to - from) * (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static struct workload
some_workload(struct rng *rng)
{
	return (struct workload){
		.write_gb_per_day = exp(uniform(rng, -2, 6)), .seq_ratio = uniform(rng, 0, 1),
		.peak_iops = exp(uniform(rng, 4, 9)), .write_ratio = uniform(rng, 0.01, 1),
		.working_set_gb = exp(uniform(rng, 0, 6)),
	};
}

static struct offline_plan
placed(struct arena *arena, const struct workload *workloads, uint32_t count, const struct offline_terms *by)
{
	struct offline_plan plan;

	assert_null(offline_wrong(by));
	assert_int_equal(offline_place(&plan, arena, workloads, count, by), 0);
	return plan;
}

/* The definition: try each disk, and take the coefficient of variation of all. */
static uint32_t
by_definition(const struct disk *disks, const struct workload *w, double *best_cv, double *cv)
{
	uint32_t best = DISKS;

	*best_cv = INFINITY;
	for (uint32_t d = 0; d < DISKS; d++) {
		struct disk tried[DISKS];

		cv[d] = INFINITY;
		if (disk_refuses(&disks[d], w, 0, 0.9, 0.8) != DISK_TAKES)
			continue;
		for (uint32_t i = 0; i < DISKS; i++)
			tried[i] = disks[i];
		disk_put(&tried[d], w, 0);
		cv[d] = cost_cv_rate(tried, DISKS);
		if (cv[d] < *best_cv) {
			*best_cv = cv[d];
			best = d;
		}
	}
	return best;
}

static void
a_workload_goes_where_rates_vary_the_least_then(void **state)
{
	struct rng rng;
	unsigned none = 0, other = 0;

	rng_seed(&rng, 1);
	for (unsigned n = 0; n < 5000; n++) {
		struct workload w = some_workload(&rng);
		struct disk disks[DISKS];
		double best_cv, cv[DISKS];
		uint32_t best, found;

		for (uint32_t d = 0; d < DISKS; d++) {
			disk_init(&disks[d], &model, 0);
			for (uint64_t i = rng_below(&rng, 24); i > 0; i--) {
				struct workload there = some_workload(&rng);

				disk_put(&disks[d], &there, 0);
			}
		}
		best = by_definition(disks, &w, &best_cv, cv);
		found = offline_distribute(disks, DISKS, &w, 0.9, 0.8);
		assert_true((best == DISKS) == (found == DISKS));
		none += found == DISKS;
		other += found != best;
		assert_true(found == DISKS || cv[found] <= best_cv * (1 + 1e-12));
	}
	assert_true(none > 20 && none < 2500 && other < 250); /* others are as good, to the last bits */
}

static void
zones_are_given_up_where_their_rates_differ(void **state)
{
	struct workload two[] = { { .write_gb_per_day = 100, .seq_ratio = 0.6, .peak_iops = 1, .write_ratio = 1 },
		{ .write_gb_per_day = 131, .seq_ratio = 0.5999, .peak_iops = 1, .write_ratio = 1 } };
	struct offline_terms by = terms;
	struct offline_plan plan;
	struct arena arena;

	arena_init(&arena, 0);
	plan = placed(&arena, two, 2, &by);
	assert_true(fabs(plan.difference - 31.0 / 231) < 1e-15); /* 13.42 %: k = 1.31 */
	assert_true(plan.grouped && plan.disks == 2 && plan.zone_of[0] == 0 && plan.zone_of[1] == 1);
	assert_true(plan.disk_of[0] == 0 && plan.disk_of[1] == 1); /* 0.6 is in the sequential zone */
	two[1].write_gb_per_day = 131.2;
	plan = placed(&arena, two, 2, &by);
	assert_true(!plan.grouped && plan.disks == 1 && plan.zone_of[0] == 0);
	by.way = OFFLINE_GROUPING;
	assert_int_equal(placed(&arena, two, 2, &by).disks, 2);
	by.way = OFFLINE_GREEDY;
	two[1].write_gb_per_day = 100;
	assert_int_equal(placed(&arena, two, 2, &by).disks, 1);
	assert_true(offline_difference((double[]){ 1, 3, 2 }, 3) == 0.5);
	assert_true(offline_difference((double[]){ 1, 0, 1 }, 3) == 1);
	assert_true(offline_difference((double[]){ 0, 0 }, 2) == 0);
	arena_drop(&arena);
}

/* Every rule that holds of a plan, by what it says of each workload and disk. */
static void
check_plan(const struct offline_plan *plan, const struct workload *workloads, uint32_t count,
    const struct offline_terms *by)
{
	struct disk disks[MANY];
	uint32_t nowhere = 0;

	for (uint32_t d = 0; d < plan->disks; d++) {
		disk_init(&disks[d], &model, 0);
		assert_true(d == 0 || plan->zone_of[d] >= plan->zone_of[d - 1]);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t disk = plan->disk_of[i], zone = 0;
		bool is_too_large = workloads[i].working_set_gb > model.capacity_gb * by->room_max;
		bool is_too_fast = disk_iops_for(&model, &workloads[i]) > model.iops * by->iops_max;

		assert_true((disk == OFFLINE_NOWHERE) == (is_too_large || is_too_fast));
		assert_int_equal(plan->refused[i], is_too_large ? DISK_FULL : is_too_fast ? DISK_SLOW : DISK_TAKES);
		nowhere += disk == OFFLINE_NOWHERE;
		if (disk == OFFLINE_NOWHERE)
			continue;
		assert_true(disk < plan->disks);
		disk_put(&disks[disk], &workloads[i], 0);
		for (uint32_t z = 0; plan->grouped && z + 1 < by->zones; z++)
			zone += workloads[i].seq_ratio < by->thresholds[z];
		assert_int_equal(plan->zone_of[disk], zone);
	}
	assert_int_equal(nowhere, plan->nowhere);
	for (uint32_t d = 0; d < plan->disks; d++) {
		assert_int_equal(disks[d].workloads, plan->disk[d].workloads);
		assert_true(disks[d].workloads > 0);
		assert_true(plan->disk[d].used_gb <= model.capacity_gb * by->room_max);
		assert_true(plan->disk[d].used_iops <= model.iops * by->iops_max);
	}
}

static void
plans_keep_their_limits_and_zones(void **state)
{
	const double thresholds[] = { 0.8, 0.6, 0.4, 0.2 };
	struct workload workloads[MANY];
	struct rng rng;

	rng_seed(&rng, 2);
	for (unsigned n = 0; n < 60; n++) {
		struct offline_terms by = terms;
		struct offline_plan plan;
		struct arena arena;
		uint32_t count = 1 + (uint32_t)rng_below(&rng, MANY);

		by.thresholds = thresholds;
		by.zones = 1 + n % 5;
		by.way = n % 3 == 0 ? OFFLINE_GREEDY : n % 3 == 1 ? OFFLINE_GROUPING : OFFLINE_BY_DELTA;
		by.room_max = uniform(&rng, 0.3, 1);
		by.iops_max = uniform(&rng, 0.3, 1);
		for (uint32_t i = 0; i < count; i++)
			workloads[i] = some_workload(&rng);
		arena_init(&arena, 0);
		plan = placed(&arena, workloads, count, &by);
		check_plan(&plan, workloads, count, &by);
		for (uint32_t i = 0; i < count; i++) /* names say nothing, nor arrivals */
			workloads[i].arrival_days = uniform(&rng, 0, 500);
		assert_int_equal(placed(&arena, workloads, count, &by).disks, plan.disks);
		arena_drop(&arena);
	}
}

/* Many small workloads in two groups of equal rate: what is saved is what equation 9 says, for pairs of zones. */
static void
grouping_saves_what_equation_9_says(void **state)
{
	struct workload workloads[MANY];
	struct offline_terms by = terms;
	struct offline_plan greedy, grouped;
	struct cost mixed, apart;
	struct arena arena;
	double saved, gb_per_day = MANY * 2.0;

	for (uint32_t i = 0; i < MANY; i++) /* a disk has room for 200 */
		workloads[i] = (struct workload){ .write_gb_per_day = 2, .seq_ratio = i % 4 < 2 ? 0.9 : 0.1,
			.peak_iops = 10, .write_ratio = 1, .working_set_gb = 5 };
	arena_init(&arena, 0);
	by.way = OFFLINE_GREEDY;
	greedy = placed(&arena, workloads, MANY, &by);
	by.way = OFFLINE_BY_DELTA;
	grouped = placed(&arena, workloads, MANY, &by);
	assert_true(grouped.grouped && grouped.disks == 2 && greedy.disks == 2);
	mixed = cost_of(greedy.disk, greedy.disks);
	apart = cost_of(grouped.disk, grouped.disks);
	saved = cost_usd_per_gb(&mixed) - cost_usd_per_gb(&apart);
	assert_true(saved > 0);
	assert_true(fabs(saved / cost_grouping_saves(&model, gb_per_day, 1, 0.9, 0.1) - 1) < 1e-9);
	arena_drop(&arena);
}

static void
what_is_wrong_is_said_and_no_memory_too(void **state)
{
	const struct workload one = { .write_gb_per_day = 1, .peak_iops = 1, .write_ratio = 1 };
	struct offline_terms by;
	struct offline_plan plan;
	struct arena arena;
	int error = -ENOMEM;

	arena_init(&arena, 0);
	for (unsigned n = 1; error == -ENOMEM; n++) {
		arena.fail_at = n;
		error = offline_place(&plan, &arena, &one, 1, &terms);
		assert_true(n > 1 || error == -ENOMEM);
	}
	assert_int_equal(error, 0);
	arena.fail_at = 0;
	assert_int_equal(placed(&arena, NULL, 0, &terms).disks, 0);
	arena_drop(&arena);
#define WRONG(change) (by = terms, (change), assert_non_null(offline_wrong(&by)))
	WRONG(by.zones = 0);
	WRONG(by.delta = NAN);
	WRONG(by.room_max = 1.1);
	WRONG(by.iops_max = 0);
	WRONG((by.thresholds = (double[]){ 0.5, 0.5 }, by.zones = 3));
	WRONG((by.thresholds = (double[]){ 1.5 }));
	WRONG((by.thresholds = (double[]){ NAN }));
#undef WRONG
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_workload_goes_where_rates_vary_the_least_then),
		cmocka_unit_test(zones_are_given_up_where_their_rates_differ),
		cmocka_unit_test(plans_keep_their_limits_and_zones),
		cmocka_unit_test(grouping_saves_what_equation_9_says),
		cmocka_unit_test(what_is_wrong_is_said_and_no_memory_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
