#include "place/lookahead.h"

#include <math.h>

const struct lookahead_options lookahead_usual = {
	.policy = { .usd_per_gb_max = INFINITY, .no_warm_up = true }, .looks = 16, .usd_per_gb = 0.001, .gain_min = 0,
};

static void
add_disk(struct cost *cost, const struct disk *disk, double sign)
{
	struct cost one = cost_of(disk, 1);

	cost->usd += sign * one.usd;
	cost->lifetime_days += sign * one.lifetime_days;
	cost->served_gb += sign * one.served_gb;
}

/* Whether the pool is cheaper with the workload on another disk, and moved there. */
static bool
pays(const struct pool *pool, const struct lookahead_options *options, uint32_t workload, uint32_t to, double now_days)
{
	const struct workload *w = &pool->workloads[workload];
	struct disk from = pool->disks[pool->places[workload].disk], other = pool->disks[to];
	struct cost before = pool_cost(pool), change = { .usd = w->working_set_gb * options->usd_per_gb };

	add_disk(&change, &from, -1);
	add_disk(&change, &other, -1);
	disk_drop(&from, w, now_days);
	disk_put(&other, w, now_days);
	disk_copy(&other, w->working_set_gb);
	add_disk(&change, &from, 1);
	add_disk(&change, &other, 1);
	return policy_gain(POLICY_MINTCO_V3, &before, &change) < -options->gain_min * cost_usd_per_gb(&before) &&
	    !disk_is_worn(&other, now_days);
}

bool
lookahead_move(struct pool *pool, const struct lookahead_options *options, uint32_t workload, double now_days)
{
	struct policy_options policy = options->policy;
	struct policy_choice choice;

	policy.no_warm_up = true;
	policy.except = pool->places[workload].disk + 1;
	policy_choose(pool, POLICY_MINTCO_V3, &policy, NULL, &pool->workloads[workload], now_days, &choice);
	if (choice.disk == TREE_NONE || !pays(pool, options, workload, choice.disk, now_days))
		return false;
	pool_move(pool, workload, choice.disk, now_days, options->usd_per_gb);
	return true;
}

/* The next one that is somewhere, going round; TREE_NONE: there is none. */
static uint32_t
next_placed(const struct pool *pool, struct lookahead_state *state)
{
	for (uint32_t i = 0; i < pool->workload_count; i++) {
		uint32_t at = state->next;

		state->next = at + 1 < pool->workload_count ? at + 1 : 0;
		if (pool->places[at].disk != TREE_NONE)
			return at;
	}
	return TREE_NONE;
}

bool
lookahead_put(struct pool *pool, const struct lookahead_options *options, struct lookahead_state *state,
    uint32_t workload, double now_days, struct policy_choice *choice)
{
	policy_choose(pool, POLICY_MINTCO_V3, &options->policy, NULL, &pool->workloads[workload], now_days, choice);
	if (choice->disk == TREE_NONE)
		return false;
	pool_put(pool, workload, choice->disk, now_days);
	for (unsigned i = 0; i < options->looks && i < pool->placed; i++) {
		uint32_t again = next_placed(pool, state);

		if (!disk_is_worn(&pool->disks[pool->places[again].disk], now_days))
			lookahead_move(pool, options, again, now_days);
	}
	return true;
}
