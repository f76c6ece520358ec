/*
 * place.c - the program weir-place-bench: how long does it take to find a place for one workload after another?
 *
 *   weir-place-bench [--disks N] [--workloads N] [--policy NAME] [--days N] [--seed N] [--kinds N]
 *
 * Disks of nine models, and workloads like those of the minTCO paper's Table IV, which arrive one by one, at random,
 * over so many days; those whose disk is worn out are placed again.  With --kinds each is one of so many, again and
 * again.  Prints one JSON object: what of it was placed, what it costs, the time of this processor that it took, memory
 * at its most, and how many boxes and disks were looked at for each.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/rng.h"
#include "cpu.h"
#include "place/lookahead.h"

/* As they may have been on the market in 2015: price, endurance, capacity and I/Os differ by a factor of ten. */
static const struct disk_model models[] = {
#define MODEL(usd, endurance, capacity, reads, writes) \
	{ .initial_usd = (usd), .usd_per_day = 0.18, .endurance_gb = (endurance), .capacity_gb = (capacity), \
		.iops = (reads), .write_penalty = (reads) / (writes), .write_copies = 1, \
		.waf = { 0.5, 0, 4, -11.2, 11.2, 1.2 } }
	MODEL(2700, 120e6, 1600, 460e3, 175e3), MODEL(1900, 35e6, 1600, 450e3, 56e3),
	MODEL(1100, 3e6, 1200, 430e3, 28e3), MODEL(1050, 1e6, 1200, 440e3, 290e3),
	MODEL(2400, 23e6, 1600, 740e3, 105e3), MODEL(330, 0.8e6, 512, 300e3, 100e3),
	MODEL(350, 1.6e6, 512, 300e3, 110e3), MODEL(8700, 120e6, 3200, 743e3, 140e3),
	MODEL(3200, 70e6, 3200, 750e3, 95e3),
#undef MODEL
};

enum { MODELS = sizeof(models) / sizeof(models[0]) };

struct bench {
	uint64_t disks, workloads, days, seed, kinds;
	enum policy policy;        /* POLICIES: look-ahead */
	struct policy_options options;
	struct lookahead_state looks;
	struct arena arena;
	struct rng rng;
	struct pool pool;
	struct workload *all;
	uint64_t opened, refused, again;
};

static double
uniform(struct rng *rng, double from, double to)
{
	return from + (to - from) * (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static struct workload
draw(struct bench *bench)
{
	struct rng own;

	rng_seed(&own, bench->kinds > 0 ? rng_below(&bench->rng, bench->kinds) : rng_next(&bench->rng));
	return (struct workload){
		.write_gb_per_day = exp(uniform(&own, -1.7, 6.3)), .seq_ratio = uniform(&own, 0.05, 0.8),
		.peak_iops = uniform(&own, 50, 600), .write_ratio = uniform(&own, 0.05, 1),
		.working_set_gb = exp(uniform(&own, 0, 3.5)),
	};
}

static void
make(struct bench *bench)
{
	struct disk *disks = malloc(bench->disks * sizeof(*disks));
	double now = 0;

	arena_init(&bench->arena, 0);
	rng_seed(&bench->rng, bench->seed);
	bench->all = malloc(bench->workloads * sizeof(*bench->all));
	if (disks == NULL || bench->all == NULL)
		abort();
	for (uint64_t i = 0; i < bench->disks; i++)
		disk_init(&disks[i], &models[i % MODELS], 0);
	for (uint64_t i = 0; i < bench->workloads; i++) {
		bench->all[i] = draw(bench);
		bench->all[i].arrival_days = now;
		now -= log(1 - uniform(&bench->rng, 0, 1)) * (double)bench->days / (double)bench->workloads;
	}
	if (pool_init(&bench->pool, &bench->arena, disks, (uint32_t)bench->disks, bench->all,
	    (uint32_t)bench->workloads) != 0)
		abort();
	free(disks);
}

static void
put(struct bench *bench, uint32_t workload, double now, struct policy_state *state)
{
	struct policy_choice choice;

	if (bench->policy == POLICIES) {
		bench->refused += !lookahead_put(&bench->pool, &lookahead_usual, &bench->looks, workload, now, &choice);
	} else {
		policy_choose(&bench->pool, bench->policy, &bench->options, state, &bench->all[workload], now, &choice);
		if (choice.disk == TREE_NONE)
			bench->refused++;
		else
			pool_put(&bench->pool, workload, choice.disk, now);
	}
	bench->opened += choice.opened;
}

static void
place_all(struct bench *bench)
{
	struct policy_state state = { .rng = &bench->rng };

	for (uint32_t i = 0; i < bench->workloads; i++) {
		double now = bench->all[i].arrival_days;

		for (uint32_t worn; (worn = pool_worn(&bench->pool, now)) != TREE_NONE; ) {
			uint32_t next;

			for (uint32_t w = pool_bury(&bench->pool, worn); w != TREE_NONE; w = next) {
				next = bench->pool.places[w].next;
				bench->again++;
				put(bench, w, now, &state);
			}
		}
		put(bench, i, now, &state);
	}
}

static const char *
name_of(enum policy policy)
{
	return policy == POLICIES ? "look-ahead" : policy_names[policy];
}

static void
report(const struct bench *bench, uint64_t cpu_ns)
{
	struct cost cost = pool_cost(&bench->pool);
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("{\"disks\": %" PRIu64 ", \"workloads\": %" PRIu64 ", \"policy\": \"%s\", \"seconds\": %.3f, "
	    "\"gib\": %.4f, \"opened\": %.1f, \"placed\": %" PRIu32 ", \"refused\": %" PRIu64 ", \"again\": %" PRIu64
	    ", \"usd_per_gb\": %.9g}\n", bench->disks, bench->workloads, name_of(bench->policy),
	    (double)cpu_ns / 1e9, (double)usage.ru_maxrss / 1048576,
	    (double)bench->opened / (double)(bench->workloads + bench->again), bench->pool.placed, bench->refused,
	    bench->again, cost_usd_per_gb(&cost));
}

static int
usage_error(void)
{
	fputs("usage: weir-place-bench [--disks N] [--workloads N] [--policy NAME] [--days N] [--seed N] [--kinds N]\n",
	    stderr);
	return 2;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "disks", required_argument, NULL, 'd' }, { "workloads", required_argument, NULL, 'w' },
		{ "policy", required_argument, NULL, 'p' }, { "days", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' }, { "kinds", required_argument, NULL, 'k' },
		{ 0 },
	};
	struct bench bench = { .disks = 1000, .workloads = 10000, .days = 525, .seed = 1, .policy = POLICY_MINTCO_V3,
		.options = { .weights = { 5, 1, 1, 3, 3 }, .usd_per_gb_max = INFINITY } };

	for (int key; (key = getopt_long(argc, argv, "", options, NULL)) != -1; ) {
		uint64_t number = key == 'p' ? 0 : key == '?' ? 0 : strtoull(optarg, NULL, 10);

		switch (key) {
		case 'd': bench.disks = number; break;
		case 'w': bench.workloads = number; break;
		case 't': bench.days = number; break;
		case 's': bench.seed = number; break;
		case 'k': bench.kinds = number; break;
		case 'p':
			for (bench.policy = 0; bench.policy <= POLICIES; bench.policy++)
				if (strcmp(name_of(bench.policy), optarg) == 0)
					break;
			break;
		default:
			return usage_error();
		}
	}
	if (optind < argc || bench.policy > POLICIES || bench.disks == 0 || bench.workloads == 0 ||
	    bench.disks > UINT32_MAX / 4 || bench.workloads > UINT32_MAX / 4)
		return usage_error();
	make(&bench);

	uint64_t begin = cpu_ns();

	place_all(&bench);
	report(&bench, cpu_ns() - begin);
	pool_fini(&bench.pool);
	arena_drop(&bench.arena);
	free(bench.all);
	return 0;
}
