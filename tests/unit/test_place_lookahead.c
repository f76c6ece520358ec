/*
 * test_place_lookahead.c - thinking again costs no more than it saves: by itself, and beside minTCO-v3.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "place/lookahead.h"
#include "place_bench.h"

enum { DISKS = 20, WORKLOADS = 100, SEEDS = 60 };

static const struct policy_options plain = { .usd_per_gb_max = INFINITY };

struct life {
	struct arena arena;
	struct pool pool;
	struct workload workloads[WORKLOADS];
};

/* The same disks and workloads for a seed, whoever places them. */
static void
begin(struct life *life, uint64_t seed)
{
	struct disk disks[DISKS];
	struct rng rng;
	double now = 0;

	rng_seed(&rng, seed);
	arena_init(&life->arena, 0);
	for (uint32_t i = 0; i < DISKS; i++)
		disk_init(&disks[i], &bench_models[rng_below(&rng, BENCH_MODELS - 1)], 0);
	for (unsigned i = 0; i < WORKLOADS; i++) {
		life->workloads[i] = bench_workload(&rng, 0);
		life->workloads[i].arrival_days = now;
		now -= log(1 - bench_uniform(&rng, 0, 1)) * 525 / WORKLOADS;
	}
	assert_int_equal(pool_init(&life->pool, &life->arena, disks, DISKS, life->workloads, WORKLOADS), 0);
}

static void
end(struct life *life)
{
	pool_check(&life->pool);
	pool_fini(&life->pool);
	arena_drop(&life->arena);
}

static void
put_v3(struct life *life, uint32_t workload, double now)
{
	struct policy_choice choice;

	policy_choose(&life->pool, POLICY_MINTCO_V3, &plain, NULL, &life->workloads[workload], now, &choice);
	if (choice.disk != TREE_NONE)
		pool_put(&life->pool, workload, choice.disk, now);
}

/* All of them; those whose disk is worn out stay away.  What it comes to per GB. */
static double
play(struct life *life, struct lookahead_state *state)
{
	struct policy_choice choice;
	struct cost cost;

	for (uint32_t i = 0; i < WORKLOADS; i++) {
		double now = life->workloads[i].arrival_days;

		for (uint32_t worn; (worn = pool_worn(&life->pool, now)) != TREE_NONE; )
			pool_bury(&life->pool, worn);
		if (state == NULL)
			put_v3(life, i, now);
		else
			lookahead_put(&life->pool, &lookahead_usual, state, i, now, &choice);
	}
	cost = pool_cost(&life->pool);
	return cost_usd_per_gb(&cost);
}

static void
on_the_whole_it_costs_less_than_v3(void **state)
{
	double sum = 0, sum_v3 = 0, worst = 0;
	uint64_t moves = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct lookahead_state looks = { 0 };
		struct life life;
		double v3, again;

		begin(&life, seed);
		v3 = play(&life, NULL);
		end(&life);
		begin(&life, seed);
		again = play(&life, &looks);
		moves += life.pool.moves;
		end(&life);
		sum += again;
		sum_v3 += v3;
		worst = fmax(worst, again / v3);
	}
	print_message("# look-ahead over v3: mean %.4f, worst %.4f, %.1f moves a run\n", sum / sum_v3, worst,
	    (double)moves / SEEDS);
	assert_true(moves > 0 && sum <= sum_v3);
}

/* Each move leaves the pool cheaper, with all that the move costs. */
static void
no_move_costs_more_than_it_saves(void **state)
{
	unsigned moved = 0, stayed = 0;

	for (uint64_t seed = 100; seed < 120; seed++) {
		struct life life;

		double now;

		begin(&life, seed);
		play(&life, NULL);
		now = life.workloads[WORKLOADS - 1].arrival_days + 1;
		for (uint32_t i = 0; i < WORKLOADS; i++) {
			struct cost before = pool_cost(&life.pool), after;
			uint32_t was = life.pool.places[i].disk;

			if (was == TREE_NONE || disk_is_worn(&life.pool.disks[was], now))
				continue;
			if (!lookahead_move(&life.pool, &lookahead_usual, i, now)) {
				assert_true(life.pool.places[i].disk == was);
				stayed++;
				continue;
			}
			after = pool_cost(&life.pool);
			assert_true(life.pool.places[i].disk != was);
			assert_true(cost_usd_per_gb(&after) < cost_usd_per_gb(&before));
			moved++;
		}
		end(&life);
	}
	assert_true(moved > 100 && stayed > 100);
}

/* Where moving is so dear that nothing pays for it, it is v3 without the rule that fills disks first. */
static void
what_does_not_pay_is_not_moved(void **state)
{
	struct lookahead_options dear = lookahead_usual;
	struct life life;

	dear.usd_per_gb = 1e6;
	begin(&life, 5);
	play(&life, NULL);
	for (uint32_t i = 0; i < WORKLOADS; i++)
		if (life.pool.places[i].disk != TREE_NONE && life.workloads[i].working_set_gb > 0)
			assert_false(lookahead_move(&life.pool, &dear, i,
			    life.workloads[WORKLOADS - 1].arrival_days));
	end(&life);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_the_whole_it_costs_less_than_v3),
		cmocka_unit_test(no_move_costs_more_than_it_saves),
		cmocka_unit_test(what_does_not_pay_is_not_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
