/*
 * test_place_pool.c - a pool's sums and trees against what they stand for, and each allocator against its own
 * definition, by brute force.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "place/policy.h"
#include "place_bench.h"

enum { WORKLOADS = 600 };

static const struct policy_options plain = {
	.weights = { 5, 1, 1, 3, 3 }, .usd_per_gb_max = INFINITY, .no_warm_up = false,
};

struct scene {
	struct arena arena;
	struct rng rng;
	struct pool pool;
	struct workload workloads[WORKLOADS];
	struct policy_state state;
};

static void
open_scene(struct scene *scene, uint64_t seed, uint32_t disks, unsigned kinds, bool worn)
{
	struct disk *made = calloc(disks, sizeof(*made));

	arena_init(&scene->arena, 0);
	rng_seed(&scene->rng, seed);
	bench_disks(made, disks, &scene->rng, worn);
	for (unsigned i = 0; i < WORKLOADS; i++)
		scene->workloads[i] = bench_workload(&scene->rng, kinds);
	assert_int_equal(pool_init(&scene->pool, &scene->arena, made, disks, scene->workloads, WORKLOADS), 0);
	scene->state = (struct policy_state){ .rng = &scene->rng };
	free(made);
}

static void
close_scene(struct scene *scene)
{
	pool_fini(&scene->pool);
	assert_int_equal(scene->arena.bytes, 0);
	arena_drop(&scene->arena);
}

/* Disks that are worn out by then go, and their workloads stay away. */
static void
bury_worn(struct scene *scene, double now_days)
{
	for (uint32_t worn; (worn = pool_worn(&scene->pool, now_days)) != TREE_NONE; )
		pool_bury(&scene->pool, worn);
}

/* The chosen disk is the one that looking at all of them finds, with the same score, under each policy; as the pool
 * fills up, wears out, and has workloads that come again. */
static void
trees_find_what_a_scan_finds(void **state)
{
	uint64_t chosen = 0, nowhere = 0, buried = 0;

	for (unsigned run = 0; run < 4 * POLICIES; run++) {
		struct scene scene;
		enum policy policy = (enum policy)(run % POLICIES);
		struct policy_options options = plain;
		double now = 0;

		open_scene(&scene, run, run % 2 ? 17 : 60, run % 3 ? 0 : 6, run % 4 > 1);
		options.no_warm_up = run >= 2 * POLICIES;
		if (run % 5 == 0)
			options.usd_per_gb_max = 0.002;
		scene.pool.room_max = scene.pool.iops_max = run % 2 ? 1 : 0.8;
		for (uint32_t i = 0; i < WORKLOADS; i++) {
			struct policy_choice by_tree, by_scan;
			struct policy_state before = scene.state;
			struct rng rng = scene.rng;

			now += i % 7 == 0 ? 0 : bench_uniform(&scene.rng, 0, 20);
			bury_worn(&scene, now);
			rng = scene.rng;
			policy_scan(&scene.pool, policy, &options, &before, &scene.workloads[i], now, &by_scan);
			scene.rng = rng;
			policy_choose(&scene.pool, policy, &options, &scene.state, &scene.workloads[i], now, &by_tree);
			if (by_tree.disk != by_scan.disk || by_tree.score != by_scan.score)
				fail_msg("run %u, %s, workload %u: disk %u (%.17g), a scan finds %u (%.17g)", run,
				    policy_names[policy], i, by_tree.disk, by_tree.score, by_scan.disk, by_scan.score);
			assert_memory_equal(by_tree.refused, by_scan.refused, sizeof(by_tree.refused));
			if (by_tree.disk == TREE_NONE) {
				nowhere++;
				continue;
			}
			chosen++;
			pool_put(&scene.pool, i, by_tree.disk, now);
			if (i % 50 == 0)
				pool_check(&scene.pool);
			if (i % 11 == 0 && scene.pool.places[i / 2].disk != TREE_NONE)
				pool_drop(&scene.pool, i / 2, now);
		}
		pool_check(&scene.pool);
		for (uint32_t i = 0; i < scene.pool.count; i++)
			buried += scene.pool.disks[i].used && scene.pool.disks[i].workloads == 0;
		close_scene(&scene);
	}
	assert_true(chosen > 3000 && nowhere > 300 && buried > 20);
}

/* What the pool would cost with the workload on that disk: all of it, from Equations 1 to 3. */
static struct cost
direct_cost(const struct scene *scene, const struct workload *w, uint32_t disk, double now)
{
	struct disk disks[64];

	memcpy(disks, scene->pool.disks, scene->pool.count * sizeof(disks[0]));
	disk_put(&disks[disk], w, now);
	return cost_of(disks, scene->pool.count);
}

static double
objective(enum policy policy, const struct cost *cost)
{
	return policy == POLICY_MINTCO_V1 ? cost->usd : policy == POLICY_MINTCO_V2 ? cost_usd_per_day(cost) :
	    cost_usd_per_gb(cost);
}

/* minTCO's versions choose what the paper's equations, summed up over all disks for each candidate, say is least. */
static void
mintco_is_brute_force_of_equations_1_to_3(void **state)
{
	for (unsigned run = 0; run < 30; run++) {
		struct scene scene;
		enum policy policy = (enum policy)(run % 3);
		double now = 0;

		open_scene(&scene, 100 + run, 12, 0, run % 2);
		for (uint32_t i = 0; i < 60; i++) {
			const struct workload *w = &scene.workloads[i];
			double least = INFINITY, chosen;
			struct policy_choice choice;
			struct cost after;

			now += bench_uniform(&scene.rng, 0, 5);
			bury_worn(&scene, now);
			policy_choose(&scene.pool, policy, &plain, &scene.state, w, now, &choice);
			if (choice.disk == TREE_NONE)
				continue;
			for (uint32_t k = 0; k < scene.pool.count; k++)
				if (disk_refuses(&scene.pool.disks[k], w, now, 1, 1) == DISK_TAKES) {
					struct cost cost = direct_cost(&scene, w, k, now);

					least = fmin(least, objective(policy, &cost));
				}
			after = direct_cost(&scene, w, choice.disk, now);
			chosen = objective(policy, &after);
			if (!choice.warm_up && !(chosen <= least * (1 + 1e-12)))
				fail_msg("%s: chosen %.17g, least %.17g", policy_names[policy], chosen, least);
			assert_true(fabs(choice.after.usd - after.usd) <= 1e-9 * after.usd);
			assert_true(fabs(choice.after.served_gb - after.served_gb) <= 1e-9 * after.served_gb);
			assert_true(fabs(choice.after.lifetime_days - after.lifetime_days) <=
			    1e-9 * after.lifetime_days);
			pool_put(&scene.pool, i, choice.disk, now);
		}
		close_scene(&scene);
	}
}

/* Equation 5, from its definition. */
static double
perf_objective(const struct scene *scene, const struct workload *w, uint32_t disk, double now, double dearest)
{
	struct disk disks[64];
	struct cost cost;
	double room, room_cv, iops, iops_cv;

	memcpy(disks, scene->pool.disks, scene->pool.count * sizeof(disks[0]));
	disk_put(&disks[disk], w, now);
	cost = cost_of(disks, scene->pool.count);
	cost_balance(disks, scene->pool.count, COST_ROOM, &room, &room_cv);
	cost_balance(disks, scene->pool.count, COST_IOPS, &iops, &iops_cv);
	return 2 * w->write_ratio * 5 * cost_usd_per_gb(&cost) / dearest +
	    2 * (1 - w->write_ratio) * (-room + 3 * room_cv - iops + 3 * iops_cv);
}

static void
perf_is_brute_force_of_equation_5(void **state)
{
	for (unsigned run = 0; run < 20; run++) {
		struct scene scene;

		open_scene(&scene, 200 + run, 12, 0, false);
		for (uint32_t i = 0; i < 80; i++) {
			const struct workload *w = &scene.workloads[i];
			double dearest = 0, least = INFINITY, now = i;
			struct policy_choice choice;

			bury_worn(&scene, now);
			policy_choose(&scene.pool, POLICY_MINTCO_PERF, &plain, &scene.state, w, now, &choice);
			if (choice.disk == TREE_NONE)
				continue;
			for (uint32_t k = 0; k < scene.pool.count && !choice.warm_up; k++)
				if (disk_refuses(&scene.pool.disks[k], w, now, 1, 1) == DISK_TAKES) {
					struct cost cost = direct_cost(&scene, w, k, now);

					dearest = fmax(dearest, cost_usd_per_gb(&cost));
				}
			for (uint32_t k = 0; k < scene.pool.count && !choice.warm_up; k++)
				if (disk_refuses(&scene.pool.disks[k], w, now, 1, 1) == DISK_TAKES)
					least = fmin(least, perf_objective(&scene, w, k, now, dearest));
			if (!choice.warm_up)
				assert_true(perf_objective(&scene, w, choice.disk, now, dearest) <=
				    least + 1e-9 * fabs(least));
			pool_put(&scene.pool, i, choice.disk, now);
		}
		close_scene(&scene);
	}
}

/* What each of the others means by better, of a disk as it is and as it would be. */
static double
own_measure(enum policy policy, const struct disk *disk, const struct workload *w, double now)
{
	struct disk with = *disk;

	disk_put(&with, w, now);
	switch (policy) {
	case POLICY_MAX_REM_CYCLE: return disk_worn_gb(disk, now) - disk->model->endurance_gb;
	case POLICY_MIN_WAF: return disk_waf(&with);
	case POLICY_MIN_RATE: return disk->rate_gb_per_day;
	case POLICY_MIN_WORKLOADS: return disk->workloads;
	default: return disk->used_gb / disk->model->capacity_gb;
	}
}

static void
the_others_are_brute_force_of_what_they_are_called(void **state)
{
	for (unsigned run = 0; run < 25; run++) {
		enum policy policy = (enum policy)(POLICY_MAX_REM_CYCLE + run % 5);
		struct scene scene;

		open_scene(&scene, 400 + run, 12, 0, run % 2);
		for (uint32_t i = 0; i < 80; i++) {
			const struct workload *w = &scene.workloads[i];
			double least = INFINITY, now = i * 3;
			struct policy_choice choice;

			bury_worn(&scene, now);
			policy_choose(&scene.pool, policy, &plain, &scene.state, w, now, &choice);
			for (uint32_t k = 0; k < scene.pool.count; k++)
				if (disk_refuses(&scene.pool.disks[k], w, now, 1, 1) == DISK_TAKES)
					least = fmin(least, own_measure(policy, &scene.pool.disks[k], w, now));
			assert_true((choice.disk == TREE_NONE) == isinf(least));
			if (choice.disk == TREE_NONE)
				continue;
			assert_true(own_measure(policy, &scene.pool.disks[choice.disk], w, now) <=
			    least + 1e-12 * fabs(least));
			pool_put(&scene.pool, i, choice.disk, now);
		}
		close_scene(&scene);
	}
}

/* Round robin goes on with the next disk that takes it; random takes each of them about as often. */
static void
turns_and_chance_are_fair(void **state)
{
	unsigned drawn[10] = { 0 }, takers = 0;
	struct policy_choice choice;
	struct scene scene;
	uint32_t last = 9;

	open_scene(&scene, 12, 10, 0, false);
	for (unsigned i = 0; i < WORKLOADS; i++)
		scene.workloads[i] = (struct workload){ .name = "w", .write_gb_per_day = 1, .peak_iops = 10,
			.write_ratio = 0.5, .working_set_gb = 100 }; /* tiny disks have 64 GB */
	for (uint32_t i = 0; i < 30; i++) {
		uint32_t next = (last + 1) % 10;

		policy_choose(&scene.pool, POLICY_ROUND_ROBIN, &plain, &scene.state, &scene.workloads[i], 0, &choice);
		while (disk_refuses(&scene.pool.disks[next], &scene.workloads[i], 0, 1, 1) != DISK_TAKES)
			next = (next + 1) % 10;
		assert_int_equal(choice.disk, next);
		pool_put(&scene.pool, i, choice.disk, 0);
		last = choice.disk;
	}
	for (unsigned i = 0; i < 8000; i++) {
		policy_choose(&scene.pool, POLICY_RANDOM, &plain, &scene.state, &scene.workloads[40], 0, &choice);
		drawn[choice.disk]++;
	}
	for (unsigned k = 0; k < 10; k++) {
		bool takes = disk_refuses(&scene.pool.disks[k], &scene.workloads[40], 0, 1, 1) == DISK_TAKES;

		takers += takes;
		assert_true(takes == (drawn[k] > 0));
	}
	for (unsigned k = 0; k < 10; k++)
		assert_true(drawn[k] == 0 || (drawn[k] > 6000 / takers && drawn[k] < 10000 / takers));
	close_scene(&scene);
}

/* One that is not to have it does not speak for those that are equal to it. */
static void
except_one_of_equal_disks_the_others_are_there(void **state)
{
	struct policy_options options = plain;
	struct policy_choice choice;
	struct scene scene;

	open_scene(&scene, 13, 40, 0, false);
	options.no_warm_up = true;
	for (unsigned step = 0; step < 2; step++) {
		struct policy_choice by_scan;

		options.except = 0;
		policy_choose(&scene.pool, POLICY_MINTCO_V3, &options, NULL, &scene.workloads[1], 1, &choice);
		options.except = choice.disk + 1;
		policy_choose(&scene.pool, POLICY_MINTCO_V3, &options, NULL, &scene.workloads[1], 1, &choice);
		policy_scan(&scene.pool, POLICY_MINTCO_V3, &options, NULL, &scene.workloads[1], 1, &by_scan);
		assert_true(choice.disk != TREE_NONE && choice.disk != options.except - 1);
		assert_int_equal(choice.disk, by_scan.disk);
		for (uint32_t i = 0; i < 40 && step == 0; i++) { /* then they are all written alike */
			scene.workloads[2 + i] = scene.workloads[0];
			pool_put(&scene.pool, 2 + i, i, 0);
		}
	}
	close_scene(&scene);
}

/* Disks that cost nothing at all have no largest cost, and workloads that write nothing none at all. */
static void
what_costs_nothing_has_a_place_too(void **state)
{
	struct disk_model free_of_charge = bench_models[1];
	struct policy_options options = plain;
	struct policy_choice choice;
	struct disk disks[4];
	struct scene scene;
	struct pool pool;

	open_scene(&scene, 14, 3, 0, false);
	scene.workloads[0].write_gb_per_day = 0;
	scene.workloads[0].write_ratio = 0.5;
	options.no_warm_up = true;
	policy_choose(&scene.pool, POLICY_MINTCO_PERF, &options, NULL, &scene.workloads[0], 0, &choice);
	assert_true(choice.disk != TREE_NONE);
	free_of_charge.initial_usd = free_of_charge.usd_per_day = 0;
	for (unsigned i = 0; i < 4; i++)
		disk_init(&disks[i], &free_of_charge, 0);
	assert_int_equal(pool_init(&pool, &scene.arena, disks, 4, scene.workloads, WORKLOADS), 0);
	for (uint32_t i = 1; i < 20; i++) {
		policy_choose(&pool, POLICY_MINTCO_PERF, &options, NULL, &scene.workloads[i], 0, &choice);
		assert_true(choice.disk != TREE_NONE);
		pool_put(&pool, i, choice.disk, 0);
	}
	pool_fini(&pool);
	close_scene(&scene);
}

/* However often large workloads come and go beside the smallest there are, sums stay what they stand for. */
static void
sums_survive_coming_and_going(void **state)
{
	struct scene scene;

	open_scene(&scene, 15, 5, 0, false);
	for (unsigned i = 0; i < 10; i++) {
		scene.workloads[i].write_gb_per_day = WORKLOAD_RATE_MIN;
		scene.workloads[i].write_ratio = 0.5;
		scene.workloads[i].working_set_gb = 0.001;
	}
	for (unsigned i = 0; i < 10; i++)
		pool_put(&scene.pool, i, i % 5, 0);
	for (unsigned step = 0; step < 20000; step++) {
		uint32_t w = 10 + (uint32_t)rng_below(&scene.rng, 40), disk = (uint32_t)rng_below(&scene.rng, 5);

		if (scene.pool.places[w].disk != TREE_NONE)
			pool_drop(&scene.pool, w, 0);
		else if (disk_refuses(&scene.pool.disks[disk], &scene.workloads[w], 0, 1, 1) == DISK_TAKES)
			pool_put(&scene.pool, w, disk, 0);
	}
	for (uint32_t w = 10; w < 50; w++)
		if (scene.pool.places[w].disk != TREE_NONE)
			pool_drop(&scene.pool, w, 0);
	pool_check(&scene.pool);
	for (unsigned k = 0; k < 5; k++)
		assert_true(scene.pool.disks[k].rate_gb_per_day >= 2 * WORKLOAD_RATE_MIN &&
		    scene.pool.disks[k].rate_gb_per_day < 1e-5 && scene.pool.disks[k].used_gb >= 0);
	close_scene(&scene);
}

/* Of equal disks, one of a hundred is looked at; of unlike ones far fewer than there are. */
static void
few_disks_are_looked_at(void **state)
{
	struct scene scene;
	double opened = 0;

	open_scene(&scene, 7, 20000, 0, false);
	for (uint32_t i = 0; i < WORKLOADS; i++) {
		struct policy_choice choice;

		policy_choose(&scene.pool, POLICY_MINTCO_V3, &plain, &scene.state, &scene.workloads[i], i, &choice);
		assert_true(choice.warm_up && choice.disk != TREE_NONE && choice.opened < 200);
		pool_put(&scene.pool, i, choice.disk, i);
	}
	close_scene(&scene);

	struct arena arena;
	struct pool pool;
	enum { DISKS = 4000, MORE = 12000 };
	struct disk *disks = calloc(DISKS, sizeof(*disks));
	struct workload *workloads = calloc(MORE, sizeof(*workloads));
	struct rng rng;

	arena_init(&arena, 0);
	rng_seed(&rng, 8);
	bench_disks(disks, DISKS, &rng, false);
	for (unsigned i = 0; i < MORE; i++)
		workloads[i] = bench_workload(&rng, 0);
	assert_int_equal(pool_init(&pool, &arena, disks, DISKS, workloads, MORE), 0);
	for (uint32_t i = 0; i < MORE; i++) {
		struct policy_choice choice;
		struct policy_state none = { 0 };

		policy_choose(&pool, POLICY_MINTCO_V3, &plain, &none, &workloads[i], i * 0.01, &choice);
		if (choice.disk == TREE_NONE)
			continue;
		if (i >= DISKS)
			opened += (double)choice.opened;
		pool_put(&pool, i, choice.disk, i * 0.01);
	}
	pool_check(&pool);
	if (!(opened / (MORE - DISKS) < DISKS / 10))
		fail_msg("of %d disks %.0f boxes were opened", DISKS, opened / (MORE - DISKS));
	pool_fini(&pool);
	arena_drop(&arena);
	free(disks);
	free(workloads);
}

/* What is decided is said with its reasons. */
static void
a_choice_says_why(void **state)
{
	struct policy_options options = plain;
	struct policy_choice choice;
	char text[POLICY_WORDS];
	const char *next;
	struct scene scene;

	open_scene(&scene, 11, 3, 0, false);
	scene.workloads[0] = (struct workload){ .name = "mail", .write_gb_per_day = 100, .seq_ratio = 0.2,
		.peak_iops = 10, .write_ratio = 0.5, .working_set_gb = 900 };
	policy_choose(&scene.pool, POLICY_MINTCO_V3, &options, NULL, &scene.workloads[0], 0, &choice);
	policy_say(&scene.pool, POLICY_MINTCO_V3, &options, &scene.workloads[0], 0, &choice, text);
	assert_string_equal(text, "mail: disk 0 (lasting) has no workload yet; all come to 0.002181 USD per GB");
	options.no_warm_up = true;
	policy_choose(&scene.pool, POLICY_MINTCO_V3, &options, NULL, &scene.workloads[0], 0, &choice);
	policy_say(&scene.pool, POLICY_MINTCO_V3, &options, &scene.workloads[0], 0, &choice, text);
	assert_non_null(strstr(text, "costs least per GB written; all come to "));
	next = strstr(text, "; the next best is disk ");
	assert_non_null(next);
	assert_true(strtoul(next + strlen("; the next best is disk "), NULL, 10) != choice.disk);
	for (uint32_t i = 0; i < 3; i++)
		pool_put(&scene.pool, i == 0 ? 0 : i + 5, i, 0);
	scene.workloads[1] = scene.workloads[0];
	scene.workloads[1].working_set_gb = 1000;
	scene.workloads[1].name = "web";
	policy_choose(&scene.pool, POLICY_MIN_RATE, &options, NULL, &scene.workloads[1], 0, &choice);
	policy_say(&scene.pool, POLICY_MIN_RATE, &options, &scene.workloads[1], 0, &choice, text);
	assert_string_equal(text, "no disk takes web: 3 are too full");
	scene.workloads[1].peak_iops = 1e6;
	scene.workloads[1].working_set_gb = 1;
	policy_choose(&scene.pool, POLICY_MIN_RATE, &options, NULL, &scene.workloads[1], 1e6, &choice);
	policy_say(&scene.pool, POLICY_MIN_RATE, &options, &scene.workloads[1], 1e6, &choice, text);
	assert_non_null(strstr(text, "worn out"));
	close_scene(&scene);
}

/* A move is a workload's leaving and coming, the wear of what is copied, and what that costs. */
static void
moves_are_charged(void **state)
{
	struct scene scene;
	struct disk expected[2];

	open_scene(&scene, 3, 2, 0, false);
	scene.workloads[0] = (struct workload){ .write_gb_per_day = 100, .seq_ratio = 0.2, .peak_iops = 10,
		.write_ratio = 0.5, .working_set_gb = 50 };
	scene.workloads[1] = scene.workloads[0];
	memcpy(expected, scene.pool.disks, sizeof(expected));
	pool_put(&scene.pool, 0, 0, 0);
	pool_put(&scene.pool, 1, 0, 0);
	pool_move(&scene.pool, 0, 1, 10, 0.01);
	disk_put(&expected[0], &scene.workloads[0], 0);
	disk_put(&expected[0], &scene.workloads[1], 0);
	disk_drop(&expected[0], &scene.workloads[0], 10);
	disk_put(&expected[1], &scene.workloads[0], 10);
	assert_true(scene.pool.disks[0].worn_gb == expected[0].worn_gb);
	assert_true(scene.pool.disks[1].worn_gb == 50 * waf_at(&bench_models[1].waf, 1));
	assert_true(pool_cost(&scene.pool).usd == pool_sum(&scene.pool.usd) + 0.5 && scene.pool.moves == 1);
	pool_check(&scene.pool);
	close_scene(&scene);
}

/* Which disk comes first in the pool is no reason, and money has no unit: in a pool in the other order, which is twice
 * as dear, the mirrored disk is as good as the one that is chosen there, at twice the cost. */
static void
order_and_currency_are_no_reasons(void **state)
{
	enum { DISKS = 20 };
	struct policy_options options = plain;

	options.no_warm_up = true;
	for (unsigned run = 0; run < 12; run++) {
		enum policy policy = (enum policy)(run % 3);
		struct disk_model dear[BENCH_MODELS];
		struct disk mirrored[DISKS];
		struct scene one;
		struct pool other;

		open_scene(&one, 300 + run, DISKS, 0, false);
		for (unsigned m = 0; m < BENCH_MODELS; m++) {
			dear[m] = bench_models[m];
			dear[m].initial_usd *= 2;
			dear[m].usd_per_day *= 2;
		}
		for (uint32_t i = 0; i < DISKS; i++)
			disk_init(&mirrored[i], &dear[(DISKS - 1 - i) % BENCH_MODELS], 0);
		assert_int_equal(pool_init(&other, &one.arena, mirrored, DISKS, one.workloads, WORKLOADS), 0);
		for (uint32_t i = 0; i < 100; i++) {
			struct policy_choice here, there;

			policy_choose(&one.pool, policy, &options, &one.state, &one.workloads[i], 0, &here);
			policy_choose(&other, policy, &options, &one.state, &one.workloads[i], 0, &there);
			assert_true((here.disk == TREE_NONE) == (there.disk == TREE_NONE));
			if (here.disk == TREE_NONE)
				continue;
			if (!(fabs(there.score - 2 * here.score) <= 1e-9 * fabs(there.score)))
				fail_msg("%.17g, and %.17g of what is twice as dear", here.score, there.score);
			pool_put(&one.pool, i, here.disk, 0);
			pool_put(&other, i, DISKS - 1 - here.disk, 0);
		}
		pool_fini(&other);
		close_scene(&one);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_find_what_a_scan_finds),
		cmocka_unit_test(mintco_is_brute_force_of_equations_1_to_3),
		cmocka_unit_test(perf_is_brute_force_of_equation_5),
		cmocka_unit_test(the_others_are_brute_force_of_what_they_are_called),
		cmocka_unit_test(turns_and_chance_are_fair),
		cmocka_unit_test(except_one_of_equal_disks_the_others_are_there),
		cmocka_unit_test(what_costs_nothing_has_a_place_too),
		cmocka_unit_test(sums_survive_coming_and_going),
		cmocka_unit_test(few_disks_are_looked_at),
		cmocka_unit_test(a_choice_says_why),
		cmocka_unit_test(moves_are_charged),
		cmocka_unit_test(order_and_currency_are_no_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
