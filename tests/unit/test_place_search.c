/*
 * test_place_search.c - plans that are found are held against every plan there is, on small cases; and what must hold
 * of any numbers.
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
#include "place/search.h"

enum { WORKLOADS = 7, KINDS = 4, DISKS = 4, EVALUATIONS = 40000, FEW = 50 };

static double
uniform(struct rng *rng, double from, double to)
{
	return from + (to - from) * (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static double
spread(struct rng *rng, double from, double to)
{
	return exp(uniform(rng, log(from), log(to)));
}

/* One of the small cases: disks of different models, some worn; room and I/Os that may be tight. */
struct small {
	struct disk_model models[KINDS];
	struct search_kind kinds[KINDS];
	struct workload workloads[WORKLOADS];
	struct search_problem problem;
	uint32_t kind_of[DISKS], disks;
};

static void
small_kinds(struct small *small, struct rng *rng)
{
	for (uint32_t k = 0; k < small->problem.kind_count; k++) {
		double capacity = uniform(rng, 400, 2000);

		small->models[k] = (struct disk_model){
			.initial_usd = capacity * spread(rng, 0.3, 3), .usd_per_day = spread(rng, 0.04, 1.6),
			.endurance_gb = capacity * spread(rng, 1000, 20000), .capacity_gb = capacity,
			.iops = spread(rng, 3e4, 5e5), .write_penalty = uniform(rng, 1, 6), .write_copies = 1,
			.waf = waf_shaped(uniform(rng, 1.5, 6), uniform(rng, 0.3, 0.7), uniform(rng, 1, 1.5)),
		};
		small->kinds[k].model = &small->models[k];
		small->kinds[k].owned = rng_below(rng, 4) == 0;
		if (rng_below(rng, 4) == 0)
			small->kinds[k].worn_gb = small->models[k].endurance_gb * uniform(rng, 0, 0.8);
	}
	for (small->disks = 0; small->disks < DISKS; small->disks++) {
		uint32_t kinds = small->problem.kind_count;
		uint32_t kind = small->disks < kinds ? small->disks : (uint32_t)rng_below(rng, KINDS);

		if (kind >= kinds)
			break;
		small->kind_of[small->disks] = kind;
		small->kinds[kind].disks_max++;
	}
}

static void
small_make(struct small *small, struct rng *rng, enum search_aim aim)
{
	bool arrive = rng_below(rng, 3) > 0, tight = rng_below(rng, 2) == 0;
	double rate = spread(rng, 1, 300);

	*small = (struct small){ .problem = {
		.workloads = small->workloads, .kinds = small->kinds,
		.workload_count = 6 + (uint32_t)rng_below(rng, 2),
		.kind_count = 2 + (uint32_t)rng_below(rng, KINDS - 1), .aim = aim, .horizon_days = 1825,
		.room_max = uniform(rng, 0.8, 1), .iops_max = uniform(rng, 0.8, 1),
	} };
	small_kinds(small, rng);
	for (uint32_t i = 0; i < small->problem.workload_count; i++)
		small->workloads[i] = (struct workload){
			.write_gb_per_day = rate * spread(rng, 0.2, 5), .seq_ratio = uniform(rng, 0, 1),
			.peak_iops = spread(rng, 50, 20000), .write_ratio = uniform(rng, 0.05, 1),
			.working_set_gb = tight ? uniform(rng, 100, 600) : uniform(rng, 1, 100),
			.arrival_days = arrive ? uniform(rng, 0, 525) : 0,
		};
}

/* Workloads by arrival, where it is said: by disks' own rules and the paper's sums.  NAN: it breaks one. */
static double
cost_of_plan(const struct small *small, const uint32_t *order, const uint32_t *disk_of)
{
	const struct search_problem *problem = &small->problem;
	struct disk disks[DISKS];
	double usd = 0;

	for (uint32_t d = 0; d < small->disks; d++)
		disk_init(&disks[d], small->kinds[small->kind_of[d]].model, small->kinds[small->kind_of[d]].worn_gb);
	for (uint32_t i = 0; i < problem->workload_count; i++) {
		const struct workload *w = &small->workloads[order[i]];
		struct disk *disk = &disks[disk_of[order[i]]];
		enum disk_refusal why = disk_refuses(disk, w, w->arrival_days, problem->room_max, problem->iops_max);

		if (why != DISK_TAKES && !(why == DISK_WORN && problem->aim == SEARCH_USD_YEARS))
			return NAN;
		disk_put(disk, w, w->arrival_days);
	}
	if (problem->aim == SEARCH_USD_PER_GB) {
		struct cost cost = cost_of(disks, small->disks);

		return cost_usd_per_gb(&cost);
	}
	for (uint32_t d = 0; d < small->disks; d++) {
		const struct disk_model *model = disks[d].model;
		double lives = disk_worn_gb(&disks[d], problem->horizon_days) / model->endurance_gb;

		if (!disks[d].used)
			continue;
		if (disks[d].used_gb > model->capacity_gb * problem->room_max ||
		    disks[d].used_iops > model->iops * problem->iops_max)
			return NAN;
		usd += model->initial_usd * ((lives > 1 ? lives : 1) - (small->kinds[small->kind_of[d]].owned ? 1 : 0));
		usd += model->usd_per_day * (problem->horizon_days - disks[d].first_days);
	}
	return usd;
}

/* All plans in which each workload has a place: the best one's cost, INFINITY if there is none. */
static double
best_of_all(const struct small *small, uint32_t *best_of)
{
	uint32_t disk_of[WORKLOADS], order[WORKLOADS], count = small->problem.workload_count, plans = 1;
	double best = INFINITY;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i;

		for (; at > 0 && small->workloads[order[at - 1]].arrival_days > small->workloads[i].arrival_days; at--)
			order[at] = order[at - 1];
		order[at] = i;
		plans *= small->disks;
	}
	for (uint32_t code = 0; code < plans; code++) {
		uint32_t rest = code;
		double cost;

		for (uint32_t i = 0; i < count; i++, rest /= small->disks)
			disk_of[i] = rest % small->disks;
		cost = cost_of_plan(small, order, disk_of);
		if (cost < best) {
			best = cost;
			for (uint32_t i = 0; i < count; i++)
				best_of[i] = disk_of[i];
		}
	}
	return best;
}

static struct search_found
found_by(struct arena *arena, const struct search_problem *problem, uint64_t seed, uint64_t evaluations)
{
	const struct search_effort effort = { .seed = seed, .evaluations_max = evaluations };
	struct search_found found;

	assert_null(search_wrong(problem));
	assert_int_equal(search_run(&found, arena, problem, &effort), 0);
	return found;
}

static double
worst_ratio(enum search_aim aim, unsigned cases, uint64_t seed)
{
	double most = 0, sum = 0;
	unsigned solved = 0, optimal = 0;
	struct rng rng;

	rng_seed(&rng, seed);
	while (solved < cases) {
		uint32_t best_of[WORKLOADS];
		struct search_cost cost;
		struct small small;
		struct arena arena;
		double best;

		small_make(&small, &rng, aim);
		arena_init(&arena, 0);
		best = best_of_all(&small, best_of);
		if (best < INFINITY) { /* what is found has a place for all too; the best plan costs what is said */
			struct search_plan plan = { best_of, small.kind_of, small.disks };
			struct search_found found = found_by(&arena, &small.problem, solved, EVALUATIONS);
			double ratio = found.cost.aim / best;

			assert_int_equal(search_cost(&cost, &arena, &small.problem, &plan), 0);
			assert_true(fabs(cost.aim / best - 1) < 1e-12);
			assert_int_equal(found.cost.nowhere, 0);
			assert_true(ratio > 1 - 1e-9);
			most = fmax(most, ratio);
			sum += ratio;
			optimal += ratio < 1 + 1e-9;
			solved++;
		}
		arena_drop(&arena);
	}
	print_message("# of %u cases %u are optimal; mean %.6f, most %.6f\n", cases, optimal, sum / cases, most);
	return most;
}

static void
what_is_found_is_within_5_percent_of_the_best_there_is(void **state)
{
	double per_gb = worst_ratio(SEARCH_USD_PER_GB, 200, 1), years = worst_ratio(SEARCH_USD_YEARS, 200, 2);

	print_message("# lookahead_vs_optimum_max %.6f\n", fmax(per_gb, years));
	assert_true(per_gb <= 1.05 && years <= 1.05);
}

/* As many workloads and models as people have: databases, logs, pages that are read, backups; cheap disks that bear
 * little, and dear ones that bear much, in two sizes.  With less effort than plans are made with. */
enum { MANY = 28, MODELS = 12, PROBLEMS = 20, EFFORT = 1000000, OTHER = 200000, SEEDS = 6 };

struct large {
	struct disk_model models[MODELS];
	struct search_kind kinds[MODELS];
	struct workload workloads[MANY];
	struct search_problem problem;
};

static void
large_make(struct large *large, struct rng *rng)
{
	static const double seq[][2] = { { 0.05, 0.25 }, { 0.88, 0.99 }, { 0.2, 0.6 }, { 0.95, 1 } };
	static const double rate[][2] = { { 100, 900 }, { 300, 2500 }, { 0.5, 20 }, { 500, 3000 } };

	*large = (struct large){ .problem = {
		.workloads = large->workloads, .kinds = large->kinds, .workload_count = MANY, .kind_count = MODELS,
		.aim = SEARCH_USD_YEARS, .horizon_days = 1825, .room_max = 0.8, .iops_max = 0.7,
	} };
	for (unsigned k = 0; k < MODELS; k++) {
		double capacity = k % 2 ? spread(rng, 2000, 4000) : spread(rng, 400, 1600), bears = spread(rng, 0.2, 5);

		large->models[k] = (struct disk_model){
			.initial_usd = 25 + capacity * 0.15 * sqrt(bears) * uniform(rng, 0.7, 1.4),
			.usd_per_day = uniform(rng, 0.14, 0.2), .endurance_gb = capacity * 1825 * 2 * bears,
			.capacity_gb = capacity, .iops = spread(rng, 2e5, 1e6), .write_penalty = uniform(rng, 3, 12),
			.write_copies = 1, .waf = waf_shaped(uniform(rng, 2, 5), 0.5, 1),
		};
		large->kinds[k] = (struct search_kind){ .model = &large->models[k], .disks_max = UINT32_MAX };
	}
	for (unsigned i = 0; i < MANY; i++) {
		unsigned sort = i % 4;

		large->workloads[i] = (struct workload){
			.seq_ratio = uniform(rng, seq[sort][0], seq[sort][1]),
			.write_gb_per_day = spread(rng, rate[sort][0], rate[sort][1]),
			.peak_iops = spread(rng, 300, 9000), .write_ratio = sort == 2 ? 0.02 : uniform(rng, 0.5, 1),
			.working_set_gb = spread(rng, 50, 640), .arrival_days = (double)rng_below(rng, 90),
		};
	}
}

/* By other seeds, and without each kind in turn. */
static double
best_of_others(struct large *large)
{
	double best = INFINITY;

	for (unsigned n = 0; n < SEEDS + MODELS; n++) {
		uint32_t left_out = n < SEEDS ? 0 : n - SEEDS;
		struct arena arena;

		arena_init(&arena, 0);
		large->kinds[left_out].disks_max = n < SEEDS ? UINT32_MAX : 0;
		best = fmin(best, found_by(&arena, &large->problem, 100 + n, n < SEEDS ? OTHER * 2 : OTHER).cost.usd);
		large->kinds[left_out].disks_max = UINT32_MAX;
		arena_drop(&arena);
	}
	return best;
}

static void
of_more_workloads_nothing_else_that_is_found_is_5_percent_cheaper(void **state)
{
	double most = 0, sum = 0;
	struct rng rng;

	rng_seed(&rng, 9);
	for (unsigned n = 0; n < PROBLEMS; n++) {
		struct large large;
		struct arena arena;
		double ratio;

		large_make(&large, &rng);
		arena_init(&arena, 0);
		ratio = found_by(&arena, &large.problem, n, EFFORT).cost.usd / best_of_others(&large);
		arena_drop(&arena);
		most = fmax(most, ratio);
		sum += ratio;
	}
	print_message("# %u problems of %u workloads, %u models: against the best of %u others mean %.4f, most %.4f\n",
	    PROBLEMS, MANY, MODELS, SEEDS + MODELS, sum / PROBLEMS, most);
	assert_true(most <= 1.05);
}

static void
order_changes_nothing_and_prices_all_of_it(void **state)
{
	struct rng rng;

	rng_seed(&rng, 5);
	for (unsigned n = 0; n < 20; n++) {
		struct small small, other;
		struct arena arena;
		uint32_t count, kinds;
		double cost;

		small_make(&small, &rng, n % 2 ? SEARCH_USD_PER_GB : SEARCH_USD_YEARS);
		for (uint32_t i = 0; i < small.problem.workload_count; i++) /* not all of it tells them apart */
			small.workloads[i].write_gb_per_day = small.workloads[i % 2].write_gb_per_day;
		other = small;
		count = small.problem.workload_count;
		kinds = small.problem.kind_count;
		for (uint32_t i = 0; i < count; i++)
			other.workloads[i] = small.workloads[count - 1 - i];
		for (uint32_t k = 0; k < kinds; k++) {
			other.kinds[k] = small.kinds[kinds - 1 - k];
			other.kinds[k].model = &other.models[kinds - 1 - k];
		}
		other.problem.workloads = other.workloads;
		other.problem.kinds = other.kinds;
		arena_init(&arena, 0);
		cost = found_by(&arena, &small.problem, n, FEW).cost.aim;
		assert_true(fabs(found_by(&arena, &other.problem, n, FEW).cost.aim / cost - 1) < 1e-12);
		for (uint32_t k = 0; k < kinds; k++) {
			other.models[k].initial_usd *= 2;
			other.models[k].usd_per_day *= 2;
		}
		assert_true(fabs(found_by(&arena, &other.problem, n, FEW).cost.aim / cost - 2) < 1e-12);
		arena_drop(&arena);
	}
}

/* Disks of one model, as many as are needed. */
static const struct disk_model plain = {
	.initial_usd = 1000, .usd_per_day = 0.18, .endurance_gb = 5e6, .capacity_gb = 1000, .iops = 1e5,
	.write_penalty = 1, .write_copies = 1, .waf = { 0.5, 0, 4, -11.2, 11.2, 1.2 },
};

static struct workload
sized(double room_gb, double iops, double gb_per_day)
{
	return (struct workload){
		.write_gb_per_day = gb_per_day, .seq_ratio = 0.2, .peak_iops = iops, .write_ratio = 0.5,
		.working_set_gb = room_gb,
	};
}

static void
as_many_disks_are_bought_as_are_needed(void **state)
{
	const struct search_kind kind = { .model = &plain, .disks_max = UINT32_MAX };
	struct workload workloads[12];
	struct search_problem problem = { .workloads = workloads, .kinds = &kind, .workload_count = 12, .kind_count = 1,
		.aim = SEARCH_USD_YEARS, .horizon_days = 1000, .room_max = 1, .iops_max = 1 };
	struct search_found found;
	struct arena arena;

	arena_init(&arena, 0);
	for (unsigned i = 0; i < 12; i++) /* 6 disks are exactly full, and each is worn by 40 % */
		workloads[i] = sized(i % 2 ? 700 : 300, 10, 250);
	found = found_by(&arena, &problem, 1, EVALUATIONS);
	assert_int_equal(found.plan.disks, 6);
	assert_true(fabs(found.cost.usd - 6 * (1000 + 180)) < 1e-6 && found.cost.bought == 6);
	assert_true(fabs(found.cost.gb - 12 * 250e3) < 1e-3 && found.cost.usd_whole == found.cost.usd);
	for (unsigned i = 0; i < 12; i++) /* 1.5 lives each, and a whole second disk */
		workloads[i].write_gb_per_day = 937.5;
	found = found_by(&arena, &problem, 1, EVALUATIONS);
	assert_true(fabs(found.cost.usd - 6 * (1500 + 180)) < 1e-6 && found.cost.bought == 12);
	assert_true(fabs(found.cost.usd_whole - 6 * (2000 + 180)) < 1e-6);
	arena_drop(&arena);
}

static void
who_has_no_place_is_told_why(void **state)
{
	const struct search_kind kind = { .model = &plain, .disks_max = 1 };
	struct workload workloads[] = { sized(600, 10, 1), sized(600, 10, 1), sized(1200, 10, 1), sized(1, 2e5, 1) };
	struct search_problem problem = { .workloads = workloads, .kinds = &kind, .workload_count = 4, .kind_count = 1,
		.aim = SEARCH_USD_PER_GB, .room_max = 1, .iops_max = 1 };
	struct search_found found;
	struct search_plan plan;
	struct arena arena;

	arena_init(&arena, 0);
	found = found_by(&arena, &problem, 1, EVALUATIONS);
	assert_int_equal(found.cost.nowhere, 3);
	assert_true((found.plan.disk_of[0] == 0) != (found.plan.disk_of[1] == 0));
	assert_int_equal(search_refusal(&problem, &workloads[0]), DISK_TAKES);
	assert_int_equal(search_refusal(&problem, &workloads[2]), DISK_FULL);
	assert_int_equal(search_refusal(&problem, &workloads[3]), DISK_SLOW);
	plan = (struct search_plan){ (uint32_t[]){ 0, 0, SEARCH_NOWHERE, SEARCH_NOWHERE }, (uint32_t[]){ 0 }, 1 };
	assert_int_equal(search_cost(&found.cost, &arena, &problem, &plan), -ERANGE);
	plan = (struct search_plan){ (uint32_t[]){ 0, 1, SEARCH_NOWHERE, SEARCH_NOWHERE }, (uint32_t[]){ 0, 0 }, 2 };
	assert_int_equal(search_cost(&found.cost, &arena, &problem, &plan), -ERANGE);
	plan = found.plan;
	assert_int_equal(search_cost(&found.cost, &arena, &problem, &plan), 0);
	workloads[0].arrival_days = 1e9;
	workloads[1].working_set_gb = 1;
	plan.disk_of = (uint32_t[]){ 0, 0, SEARCH_NOWHERE, SEARCH_NOWHERE }; /* it comes to a disk that is worn out */
	assert_int_equal(search_cost(&found.cost, &arena, &problem, &plan), -ERANGE);
	arena_drop(&arena);
}

/* It ends, also where there is nothing to look for. */
static void
where_nobody_has_a_place_there_is_an_empty_plan(void **state)
{
	const struct search_kind kind = { .model = &plain, .disks_max = UINT32_MAX };
	struct workload workload = sized(1, 2e5, 1);
	struct search_problem problem = { .workloads = &workload, .kinds = &kind, .workload_count = 1, .kind_count = 1,
		.aim = SEARCH_USD_YEARS, .horizon_days = 365, .room_max = 1, .iops_max = 1 };
	struct search_found found;
	struct arena arena;

	arena_init(&arena, 0);
	found = found_by(&arena, &problem, 1, EVALUATIONS);
	assert_int_equal(found.cost.nowhere, 1);
	assert_int_equal(found.plan.disks, 0);
	arena_drop(&arena);
}

static void
a_plan_to_begin_with_does_not_get_worse(void **state)
{
	struct rng rng;

	rng_seed(&rng, 8);
	for (unsigned n = 0; n < 20; n++) {
		struct search_effort effort = { .seed = n, .evaluations_max = 1 };
		struct search_found found, again;
		struct search_plan from;
		uint32_t best_of[WORKLOADS];
		struct small small;
		struct arena arena;
		double best;

		small_make(&small, &rng, n % 2 ? SEARCH_USD_PER_GB : SEARCH_USD_YEARS);
		best = best_of_all(&small, best_of);
		if (best == INFINITY)
			continue;
		arena_init(&arena, 0);
		from = (struct search_plan){ best_of, small.kind_of, small.disks };
		effort.from = &from;
		assert_int_equal(search_run(&found, &arena, &small.problem, &effort), 0);
		assert_true(fabs(found.cost.aim / best - 1) < 1e-9);
		effort.from = &found.plan; /* numbered anew */
		assert_int_equal(search_run(&again, &arena, &small.problem, &effort), 0);
		assert_true(fabs(again.cost.aim / best - 1) < 1e-9);
		for (uint32_t i = 0; i < small.problem.workload_count; i++) /* as they come first */
			assert_true(found.plan.disk_of[i] < found.plan.disks &&
			    (i > 0 || found.plan.disk_of[i] == 0));
		arena_drop(&arena);
	}
}

static void
what_is_no_problem_is_refused_and_no_memory_said(void **state)
{
	const struct search_effort effort = { .seed = 1, .evaluations_max = 100 };
	struct search_found found;
	struct small small;
	struct arena arena;
	struct rng rng;
	int error = -ENOMEM;

	rng_seed(&rng, 1);
	small_make(&small, &rng, SEARCH_USD_YEARS);
	arena_init(&arena, 0);
	for (unsigned n = 1; error == -ENOMEM; n++) {
		arena.fail_at = n;
		error = search_run(&found, &arena, &small.problem, &effort);
		assert_true(n > 1 || error == -ENOMEM);
	}
	assert_int_equal(error, 0);
	arena_drop(&arena);
#define WRONG(change) \
	(small_make(&small, &rng, SEARCH_USD_YEARS), (change), assert_non_null(search_wrong(&small.problem)))
	WRONG(small.problem.workload_count = 0);
	WRONG(small.problem.kind_count = 0);
	WRONG(small.problem.room_max = 0);
	WRONG(small.problem.iops_max = 1.5);
	WRONG(small.problem.horizon_days = NAN);
	WRONG(small.workloads[1].arrival_days = 1825);
	WRONG(small.kinds[1].worn_gb = small.models[1].endurance_gb);
	WRONG((small.problem.aim = SEARCH_USD_PER_GB, small.kinds[0].disks_max = UINT32_MAX));
#undef WRONG
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_found_is_within_5_percent_of_the_best_there_is),
		cmocka_unit_test(of_more_workloads_nothing_else_that_is_found_is_5_percent_cheaper),
		cmocka_unit_test(order_changes_nothing_and_prices_all_of_it),
		cmocka_unit_test(as_many_disks_are_bought_as_are_needed),
		cmocka_unit_test(who_has_no_place_is_told_why),
		cmocka_unit_test(where_nobody_has_a_place_there_is_an_empty_plan),
		cmocka_unit_test(a_plan_to_begin_with_does_not_get_worse),
		cmocka_unit_test(what_is_no_problem_is_refused_and_no_memory_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
