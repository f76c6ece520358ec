/*
 * mintco_lookahead.c - does it pay to think again, over a thousand draws, and what does it cost in the worst one?
 */
#include <math.h>

#include "experiments.h"
#include "mintco_history.h"
#include "mintco_set.h"

enum { SEEDS = 1000, SEEDS_QUICK = 40, BINS = 15 };

/* Of TCO' over minTCO-v3's, in a figure: from where on, and how wide a bin is. */
static const double BIN_FROM = 0.5, BIN = 0.05;

enum { V3, COLD, AGAIN, WAYS };

static const enum mintco_way ways[WAYS] = { [V3] = MINTCO_V3, [COLD] = MINTCO_V3_COLD, [AGAIN] = MINTCO_LOOKAHEAD };

struct found {
	struct mintco_ran ran[WAYS];
};

static bool
run_one(struct lab *lab, const void *arg, unsigned seed, void *result)
{
	const struct mintco_set *set = arg;
	struct workload workloads[MINTCO_WORKLOADS];
	struct mintco_case it = {
		.disks = MINTCO_DISKS, .workloads = workloads, .count = MINTCO_WORKLOADS, .seed = seed,
	};
	unsigned model_of[MINTCO_DISKS];
	struct found *found = result;
	struct rng rng;

	rng_seed(&rng, lab->seed * 100000 + seed);
	mintco_draw(set, &rng, workloads, MINTCO_WORKLOADS, MINTCO_DAYS);
	mintco_draw_models(&rng, model_of);
	for (unsigned i = 0; i < MINTCO_DISKS; i++)
		it.model_of[i] = &set->models[MINTCO_STATED][model_of[i]];
	for (unsigned way = 0; way < WAYS; way++) {
		mintco_place(lab->arena, &it, ways[way], &found->ran[way]);
		mintco_note(lab, found->ran[way].hash, MINTCO_WORKLOADS);
	}
	lab_measured(lab, 0);
	return true;
}

/* One way over another, seed by seed. */
struct versus {
	double mean;               /* of what all seeds cost together */
	double least, most, dearer; /* of any seed; in what share of them it costs more */
};

static struct versus
compare(const struct found *found, unsigned seeds, unsigned way, unsigned other)
{
	struct versus versus = { .least = INFINITY };
	double sum = 0, other_sum = 0;

	for (unsigned s = 0; s < seeds; s++) {
		double one = found[s].ran[way].usd_per_gb, two = found[s].ran[other].usd_per_gb;

		sum += one;
		other_sum += two;
		versus.least = fmin(versus.least, one / two);
		versus.most = fmax(versus.most, one / two);
		versus.dearer += one > two * (1 + 1e-9) ? 1.0 / seeds : 0;
	}
	versus.mean = sum / other_sum;
	return versus;
}

static void
tell(struct result *result, const struct found *found, unsigned seeds)
{
	const struct result_column columns[] = {
		{ "allocator", "", 0, true }, { "over", "", 0, true }, { "mean", "", 4, false },
		{ "least", "", 4, false }, { "worst", "", 4, false }, { "dearer in", "%", 1, false },
		{ "moves", "", 1, false }, { "refused", "", 2, false },
	};
	const unsigned pairs[][2] = { { AGAIN, V3 }, { AGAIN, COLD }, { COLD, V3 } };
	struct result_table *table = result_table(result, "seeds",
	    "TCO' of one allocator over another's, seed by seed; moves are charged", columns, 8);

	for (unsigned i = 0; i < 3; i++) {
		struct versus versus = compare(found, seeds, pairs[i][0], pairs[i][1]);
		double moves = 0, refused = 0;

		for (unsigned s = 0; s < seeds; s++) {
			moves += found[s].ran[pairs[i][0]].moves / seeds;
			refused += found[s].ran[pairs[i][0]].refused / seeds;
		}
		const double cells[] = { versus.mean, versus.least, versus.most, versus.dearer * 100, moves, refused };

		result_cell_text(table, "%s", mintco_way_names[ways[pairs[i][0]]]);
		result_cell_text(table, "%s", mintco_way_names[ways[pairs[i][1]]]);
		for (unsigned c = 0; c < 6; c++)
			result_cell_number(table, cells[c]);
	}
}

static void
draw(struct result *result, const struct found *found, unsigned seeds)
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, "distribution",
	    "How look-ahead's cost over minTCO-v3's is distributed",
	    (struct result_axis){ "TCO' over minTCO-v3's", "", RESULT_LINEAR },
	    (struct result_axis){ "seeds", "%", RESULT_LINEAR });

	result_caption(figure, "%u seeds; bins of %g.", seeds, BIN);
	for (unsigned way = COLD; way <= AGAIN; way++) {
		struct result_series *series = result_series(figure, mintco_way_names[ways[way]], false);
		double bins[BINS] = { 0 };

		for (unsigned s = 0; s < seeds; s++) {
			double at = (found[s].ran[way].usd_per_gb / found[s].ran[V3].usd_per_gb - BIN_FROM) / BIN;

			bins[at < 0 ? 0 : at < BINS ? (unsigned)at : BINS - 1] += 100.0 / seeds;
		}
		for (unsigned i = 0; i < BINS; i++)
			result_point(series, BIN_FROM + (i + 0.5) * BIN, bins[i]);
	}
}

static void
run(struct lab *lab, struct result *result)
{
	unsigned seeds = lab->quick ? SEEDS_QUICK : SEEDS;
	struct mintco_set *set = lab_alloc(lab, sizeof(*set));
	struct found *found = lab_alloc(lab, seeds * sizeof(*found));
	struct versus again;

	if (!mintco_set_make(lab, set) || !lab_each(lab, seeds, run_one, set, found, sizeof(*found)))
		return;
	mintco_set_tell(lab, result, set);
	tell(result, found, seeds);
	draw(result, found, seeds);
	again = compare(found, seeds, AGAIN, V3);
	mintco_check(result, set, MINTCO_STATED, "mean of look-ahead over v3", "", 4, again.mean, RESULT_AT_MOST, 1);
	result_metric(result, "worst seed of look-ahead over v3", "", 4, again.most);
}

const struct experiment mintco_lookahead = {
	.name = "mintco-lookahead", .group = "mintco",
	.question = "does it pay to think again, over a thousand draws, and what does it cost in the worst one?",
	.known = "minTCO-v3 never moves a workload; look-ahead is to cost no more on the mean, with its moves charged.",
	.takes_workloads = true, .run = run,
};
