/*
 * mintco_rank.c - which allocator is the cheapest, and by how much?
 *
 * The minTCO paper's first experiment (5.2.2, Figure 7): 20 drives of nine models, about 100 workloads that come over
 * 525 days, and every allocator there is on the same ones.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "mintco_history.h"
#include "mintco_set.h"

enum { SEEDS = 100, SEEDS_QUICK = 8, EVALUATIONS = 100000 };

struct found {
	struct mintco_ran ran[MINTCO_CURVES][MINTCO_RATES][MINTCO_WAYS];
};

/* ---- what is run ---- */

static bool
run_one(struct lab *lab, const void *arg, unsigned seed, void *result)
{
	const struct mintco_set *set = arg;
	struct workload workloads[MINTCO_WORKLOADS];
	struct mintco_case it = {
		.disks = MINTCO_DISKS, .workloads = workloads, .count = MINTCO_WORKLOADS,
		.weights = mintco_weights_best, .evaluations = EVALUATIONS, .seed = seed,
	};
	struct disk_model models[MINTCO_MODELS];
	struct found *found = result;
	unsigned model_of[MINTCO_DISKS];
	struct rng rng;

	rng_seed(&rng, lab->seed * 1000 + seed);
	mintco_draw(set, &rng, workloads, MINTCO_WORKLOADS, MINTCO_DAYS);
	mintco_draw_models(&rng, model_of);
	for (unsigned i = 0; i < MINTCO_DISKS; i++)
		it.model_of[i] = &models[model_of[i]];
	for (unsigned curve = 0; curve < mintco_curves(set); curve++)
		for (unsigned rate = 0; rate < MINTCO_RATES; rate++) {
			struct mintco_ran *ran = found->ran[curve][rate];

			for (unsigned i = 0; i < MINTCO_MODELS; i++) {
				models[i] = set->models[curve][i];
				models[i].usd_per_day = mintco_usd_per_day[rate];
			}
			for (unsigned way = 0; way < MINTCO_WAYS; way++) {
				mintco_place(lab->arena, &it, way, &ran[way]);
				mintco_note(lab, ran[way].hash, MINTCO_WORKLOADS);
			}
		}
	lab_measured(lab, 0);
	return true;
}

/* ---- what comes of all seeds ---- */

struct mean {
	double usd_per_tb, spread; /* and the standard deviation over seeds */
	double saves, saves_most;  /* what minTCO-v3 costs less, in percent: of the means, and of any seed the most */
	double cv_workloads, room, room_cv, iops, iops_cv, refused, died, moves;
};

static struct mean
mean_of(const struct found *found, unsigned seeds, unsigned curve, unsigned rate, unsigned way)
{
	struct mean mean = { .saves_most = -INFINITY };
	double squares = 0, v3 = 0;

	for (unsigned s = 0; s < seeds; s++) {
		const struct mintco_ran *ran = &found[s].ran[curve][rate][way];
		double v3_usd = found[s].ran[curve][rate][MINTCO_V3].usd_per_gb;

		mean.usd_per_tb += ran->usd_per_gb * 1000 / seeds;
		squares += ran->usd_per_gb * ran->usd_per_gb * 1e6 / seeds;
		v3 += v3_usd * 1000 / seeds;
		mean.saves_most = fmax(mean.saves_most, (1 - v3_usd / ran->usd_per_gb) * 100);
		mean.cv_workloads += ran->cv_workloads / seeds;
		mean.room += ran->room * 100 / seeds;
		mean.room_cv += ran->room_cv / seeds;
		mean.iops += ran->iops * 100 / seeds;
		mean.iops_cv += ran->iops_cv / seeds;
		mean.refused += ran->refused / seeds;
		mean.died += ran->died / seeds;
		mean.moves += ran->moves / seeds;
	}
	mean.spread = sqrt(fmax(squares - mean.usd_per_tb * mean.usd_per_tb, 0));
	mean.saves = (1 - v3 / mean.usd_per_tb) * 100;
	return mean;
}

static void
tell_ranking(struct result *result, const struct found *found, unsigned seeds, unsigned curve)
{
	const struct result_column columns[] = {
		{ "allocator", "", 0, true }, { "TCO'", "USD/TB", 4, false }, { "+-", "USD/TB", 4, false },
		{ "v3 saves", "%", 2, false }, { "at most", "%", 2, false }, { "CV of workloads", "", 2, false },
		{ "room used", "%", 2, false }, { "CV", "", 2, false }, { "I/Os used", "%", 3, false },
		{ "CV", "", 2, false }, { "refused", "", 2, false }, { "worn out", "", 2, false },
		{ "moves", "", 1, false },
	};
	char name[32], title[192];
	struct result_table *table;

	snprintf(name, sizeof(name), "ranking-%s", mintco_curve_names[curve]);
	snprintf(title, sizeof(title), "Write amplification %s, C'_M %.2f USD a day: means over %u seeds",
	    mintco_curve_names[curve], MINTCO_USD_PER_DAY, seeds);
	table = result_table(result, name, title, columns, sizeof(columns) / sizeof(columns[0]));
	for (unsigned way = 0; way < MINTCO_WAYS; way++) {
		struct mean m = mean_of(found, seeds, curve, MINTCO_USUAL, way);
		const double cells[] = { m.usd_per_tb, m.spread, m.saves, m.saves_most, m.cv_workloads, m.room,
			m.room_cv, m.iops, m.iops_cv, m.refused, m.died, m.moves };

		result_cell_text(table, "%s", mintco_way_names[way]);
		for (unsigned i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
			result_cell_number(table, cells[i]);
	}
}

/* Of one way over minTCO-v3's, for each cost of a day. */
static void
tell_rates(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds)
{
	struct result_column columns[1 + MINTCO_CURVES * MINTCO_RATES] = { { "allocator", "", 0, true } };
	char names[MINTCO_CURVES * MINTCO_RATES][32];
	struct result_table *table;
	unsigned count = 0;

	for (unsigned curve = 0; curve < mintco_curves(set); curve++)
		for (unsigned rate = 0; rate < MINTCO_RATES; rate++, count++) {
			snprintf(names[count], sizeof(names[count]), "%s, %.2f", mintco_curve_names[curve],
			    mintco_usd_per_day[rate]);
			columns[1 + count] = (struct result_column){ names[count], "", 3, false };
		}
	table = result_table(result, "rates", "Mean TCO' over that of minTCO-v3, by how write amplification falls and "
	    "what a day costs (USD)", columns, 1 + count);
	for (unsigned way = 0; way < MINTCO_WAYS; way++) {
		result_cell_text(table, "%s", mintco_way_names[way]);
		for (unsigned i = 0; i < count; i++) {
			struct mean m = mean_of(found, seeds, i / MINTCO_RATES, i % MINTCO_RATES, way);

			result_cell_number(table, 1 / (1 - m.saves / 100));
		}
	}
}

static void
draw(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds)
{
	for (unsigned curve = 0; curve < mintco_curves(set); curve++) {
		char name[32], cv[32];
		struct result_figure *cost, *spread;
		struct result_series *costs, *spreads;

		snprintf(name, sizeof(name), "cost-%s", mintco_curve_names[curve]);
		snprintf(cv, sizeof(cv), "balance-%s", mintco_curve_names[curve]);
		cost = result_figure(result, RESULT_BARS, name, "Cost per TB by allocator (paper: Figure 7a)",
		    (struct result_axis){ "TCO'", "USD/TB", RESULT_LOG },
		    (struct result_axis){ "", "", RESULT_LINEAR });
		spread = result_figure(result, RESULT_BARS, cv, "Balance by allocator (paper: Figure 7b)",
		    (struct result_axis){ "CV of how many workloads each disk has", "", RESULT_LINEAR },
		    (struct result_axis){ "", "", RESULT_LINEAR });
		result_caption(cost, "Write amplification as %s, %.2f USD a day; %u seeds.", mintco_curve_names[curve],
		    MINTCO_USD_PER_DAY, seeds);
		result_caption(spread, "Write amplification as %s; %u seeds.", mintco_curve_names[curve], seeds);
		costs = result_series(cost, "mean TCO'", false);
		spreads = result_series(spread, "mean CV", false);
		for (unsigned way = 0; way < MINTCO_WAYS; way++) {
			struct mean m = mean_of(found, seeds, curve, MINTCO_USUAL, way);

			result_bar(costs, mintco_way_names[way], m.usd_per_tb);
			result_bar(spreads, mintco_way_names[way], m.cv_workloads);
		}
	}
}

/* What the paper compares minTCO with. */
static const enum mintco_way rivals[] = {
	MINTCO_MAX_REM_CYCLE, MINTCO_MIN_WAF, MINTCO_MIN_RATE, MINTCO_MIN_WORKLOADS,
};

enum { RIVALS = sizeof(rivals) / sizeof(rivals[0]) };

static void
conclude(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds, unsigned curve)
{
	struct mean v2 = mean_of(found, seeds, curve, MINTCO_USUAL, MINTCO_V2);
	struct mean v3 = mean_of(found, seeds, curve, MINTCO_USUAL, MINTCO_V3);
	double cheapest = INFINITY;
	struct {
		const char *what;
		double measured;
		enum result_bound bound;
		double expected;
	} checks[] = {
		{ "cheapest of the traditional ones over v3", 0, RESULT_AT_LEAST, 1 },
		{ "v1 over v3", mean_of(found, seeds, curve, MINTCO_USUAL, MINTCO_V1).usd_per_tb / v3.usd_per_tb,
			RESULT_AT_LEAST, 0.99 },
		{ "v2 over v3", v2.usd_per_tb / v3.usd_per_tb, RESULT_AT_LEAST, 1 },
		{ "CV of workloads of v2 over v3's", v2.cv_workloads / v3.cv_workloads, RESULT_AT_LEAST, 1 },
		{ "no warm-up over v3", mean_of(found, seeds, curve, MINTCO_USUAL, MINTCO_V3_COLD).usd_per_tb /
			v3.usd_per_tb, RESULT_AT_MOST, 1 },
		{ "look-ahead over v3", mean_of(found, seeds, curve, MINTCO_USUAL, MINTCO_LOOKAHEAD).usd_per_tb /
			v3.usd_per_tb, RESULT_AT_MOST, 1 },
		{ "all known, over v3", mean_of(found, seeds, curve, MINTCO_USUAL, MINTCO_SEARCH).usd_per_tb /
			v3.usd_per_tb, RESULT_AT_MOST, 1 },
	};

	for (unsigned i = 0; i < RIVALS; i++)
		cheapest = fmin(cheapest, mean_of(found, seeds, curve, MINTCO_USUAL, rivals[i]).usd_per_tb);
	checks[0].measured = cheapest / v3.usd_per_tb;
	for (unsigned i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		mintco_check(result, set, curve, checks[i].what, "", 3, checks[i].measured, checks[i].bound,
		    checks[i].expected);
}

static void
tell_paper(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds)
{
	const struct result_column columns[] = {
		{ "minTCO-v3 saves at most, of", "", 0, true }, { "stated", "%", 2, false },
		{ "measured", "%", 2, false }, { "minTCO paper, of any", "%", 2, false },
	};
	struct result_table *table = result_table(result, "paper", "Beside the paper's figure; 0.18 USD a day",
	    columns, 4);

	for (unsigned i = 0; i < RIVALS; i++) {
		result_cell_text(table, "%s", mintco_way_names[rivals[i]]);
		for (unsigned curve = 0; curve < MINTCO_CURVES; curve++)
			result_cell_number(table, curve < mintco_curves(set) ?
			    mean_of(found, seeds, curve, MINTCO_USUAL, rivals[i]).saves_most : NAN);
		result_cell_number(table, 90.47);
	}
}

static void
run(struct lab *lab, struct result *result)
{
	unsigned seeds = lab->quick ? SEEDS_QUICK : SEEDS;
	struct mintco_set *set = lab_alloc(lab, sizeof(*set));
	struct found *found = lab_alloc(lab, seeds * sizeof(*found));

	if (!mintco_set_make(lab, set) || !lab_each(lab, seeds, run_one, set, found, sizeof(*found)))
		return;
	mintco_set_tell(lab, result, set);
	for (unsigned curve = 0; curve < mintco_curves(set); curve++)
		tell_ranking(result, found, seeds, curve);
	tell_rates(result, set, found, seeds);
	draw(result, set, found, seeds);
	for (unsigned curve = 0; curve < mintco_curves(set); curve++)
		conclude(result, set, found, seeds, curve);
	tell_paper(result, set, found, seeds);
}

const struct experiment mintco_rank = {
	.name = "mintco-rank", .group = "mintco",
	.question = "which allocator is the cheapest, by how much, and what does that depend on?",
	.known = "Of the minTCO paper's (5.2.2) v3 is the cheapest, up to 90.47 % less than others; maxRemCycle costs "
	    "the most; v2 sends nearly all workloads to one disk.",
	.takes_workloads = true, .run = run,
};
