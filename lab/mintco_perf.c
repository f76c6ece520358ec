/*
 * mintco_perf.c - what do even disks cost: minTCO-Perf by its weights.
 *
 * The second experiment of the minTCO paper (5.2.2 (2), Figure 7), beside minTCO-v3, which looks at cost alone.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "mintco_history.h"
#include "mintco_set.h"

enum { SEEDS = 100, SEEDS_QUICK = 8 };

/* In the paper's order: cost, room, I/Os, their CV.  All are over the second. */
static const struct mintco_weights weights[] = {
	{ 1, 1, 1, 1, 1 }, { 5, 1, 1, 1, 1 }, { 5, 1, 1, 2, 2 }, { 5, 1, 1, 3, 3 }, { 5, 1, 1, 4, 4 },
	{ 5, 1, 1, 5, 5 }, { 3, 1, 1, 3, 3 }, { 1, 1, 1, 3, 3 }, { 10, 1, 1, 3, 3 }, { 5, 5, 1, 3, 3 },
	{ 5, 1, 5, 3, 3 }, { 20, 1, 1, 1, 1 },
};

enum { WEIGHTS = sizeof(weights) / sizeof(weights[0]), V3 = WEIGHTS, WAYS, BEST = 3 };

struct found {
	struct mintco_ran ran[MINTCO_CURVES][WAYS];
};

static bool
run_one(struct lab *lab, const void *arg, unsigned seed, void *result)
{
	const struct mintco_set *set = arg;
	struct workload workloads[MINTCO_WORKLOADS];
	struct mintco_case it = {
		.disks = MINTCO_DISKS, .workloads = workloads, .count = MINTCO_WORKLOADS, .seed = seed,
	};
	struct found *found = result;
	unsigned model_of[MINTCO_DISKS];
	struct rng rng;

	rng_seed(&rng, lab->seed * 1000 + seed);
	mintco_draw(set, &rng, workloads, MINTCO_WORKLOADS, MINTCO_DAYS);
	mintco_draw_models(&rng, model_of);
	for (unsigned curve = 0; curve < mintco_curves(set); curve++) {
		for (unsigned i = 0; i < MINTCO_DISKS; i++)
			it.model_of[i] = &set->models[curve][model_of[i]];
		for (unsigned way = 0; way < WAYS; way++) {
			struct mintco_ran *ran = &found->ran[curve][way];

			it.weights = way == V3 ? mintco_weights_best : weights[way];
			mintco_place(lab->arena, &it, way == V3 ? MINTCO_V3 : MINTCO_PERF, ran);
			mintco_note(lab, ran->hash, MINTCO_WORKLOADS);
		}
	}
	lab_measured(lab, 0);
	return true;
}

/* ---- what comes of all seeds ---- */

static struct mintco_ran
mean_of(const struct found *found, unsigned seeds, unsigned curve, unsigned way)
{
	struct mintco_ran mean = { 0 };

	for (unsigned s = 0; s < seeds; s++) {
		const struct mintco_ran *ran = &found[s].ran[curve][way];

		mean.usd_per_gb += ran->usd_per_gb / seeds;
		mean.cv_workloads += ran->cv_workloads / seeds;
		mean.room += ran->room / seeds;
		mean.room_cv += ran->room_cv / seeds;
		mean.iops += ran->iops / seeds;
		mean.iops_cv += ran->iops_cv / seeds;
		mean.refused += ran->refused / seeds;
	}
	return mean;
}

static const char *
name_of(unsigned way, char name[80])
{
	const struct mintco_weights *w = &weights[way < WEIGHTS ? way : 0];

	if (way == V3)
		snprintf(name, 80, "minTCO-v3");
	else
		snprintf(name, 80, "[%g,%g,%g,%g,%g]", w->cost, w->room, w->iops, w->room_cv, w->iops_cv);
	return name;
}

static void
tell(struct result *result, const struct found *found, unsigned seeds, unsigned curve)
{
	const struct result_column columns[] = {
		{ "weights", "", 0, true }, { "TCO'", "USD/TB", 4, false }, { "over v3", "%", 2, false },
		{ "room used", "%", 2, false }, { "of v3's", "%", 2, false }, { "CV", "", 3, false },
		{ "more than v3's", "", 3, false }, { "I/Os used", "%", 3, false }, { "of v3's", "%", 2, false },
		{ "CV", "", 3, false }, { "more than v3's", "", 3, false }, { "CV of workloads", "", 2, false },
		{ "refused", "", 2, false },
	};
	const struct mintco_ran v3 = mean_of(found, seeds, curve, V3);
	char name[80], title[160];
	struct result_table *table;

	snprintf(name, sizeof(name), "weights-%s", mintco_curve_names[curve]);
	snprintf(title, sizeof(title), "minTCO-Perf by its weights [cost, room, I/Os, CV of room, CV of I/Os], write "
	    "amplification %s", mintco_curve_names[curve]);
	table = result_table(result, name, title, columns, sizeof(columns) / sizeof(columns[0]));
	for (unsigned way = 0; way < WAYS; way++) {
		struct mintco_ran m = mean_of(found, seeds, curve, way);
		const double cells[] = {
			m.usd_per_gb * 1000, (m.usd_per_gb / v3.usd_per_gb - 1) * 100, m.room * 100,
			m.room / v3.room * 100, m.room_cv, m.room_cv - v3.room_cv, m.iops * 100, m.iops / v3.iops * 100,
			m.iops_cv, m.iops_cv - v3.iops_cv, m.cv_workloads, m.refused,
		};

		result_cell_text(table, "%s", name_of(way, name));
		for (unsigned i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
			result_cell_number(table, cells[i]);
	}
}

/* Each of the weights as a point: what it costs, and how uneven disks are. */
static void
draw(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds)
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, "trade",
	    "What even disks cost, by the weights of minTCO-Perf", (struct result_axis){ "TCO' over minTCO-v3's", "%",
	    RESULT_LINEAR }, (struct result_axis){ "CV of room used, over minTCO-v3's", "", RESULT_LINEAR });

	result_caption(figure, "Weights of 5, 1, 1 and 1 to 5 for both CVs; the paper's point is [5,1,1,3,3]. %u "
	    "seeds.", seeds);
	for (unsigned curve = 0; curve < mintco_curves(set); curve++) {
		struct result_series *series = result_series(figure, mintco_curve_names[curve], false);
		const struct mintco_ran v3 = mean_of(found, seeds, curve, V3);

		for (unsigned way = 1; way <= 5; way++) {
			struct mintco_ran m = mean_of(found, seeds, curve, way);

			result_point(series, (m.usd_per_gb / v3.usd_per_gb - 1) * 100, m.room_cv - v3.room_cv);
		}
	}
	result_point(result_series(figure, "minTCO paper", true), 3.71, -0.8);
}

static void
conclude(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds, unsigned curve)
{
	const struct mintco_ran v3 = mean_of(found, seeds, curve, V3), best = mean_of(found, seeds, curve, BEST);

	mintco_check(result, set, curve, "[5,1,1,3,3] costs more than v3", "%", 2,
	    (best.usd_per_gb / v3.usd_per_gb - 1) * 100, RESULT_AT_LEAST, 0);
	mintco_check(result, set, curve, "CV of room, more than v3's", "", 3, best.room_cv - v3.room_cv,
	    RESULT_AT_MOST, 0);
	mintco_check(result, set, curve, "CV of I/Os, more than v3's", "", 3, best.iops_cv - v3.iops_cv,
	    RESULT_AT_MOST, 0);
}

static void
tell_paper(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds)
{
	const struct result_column columns[] = {
		{ "[5,1,1,3,3] against minTCO-v3", "", 0, true }, { "stated", "", 2, false },
		{ "measured", "", 2, false }, { "minTCO paper", "", 2, false },
	};
	struct result_table *table = result_table(result, "paper", "Beside the paper's figures", columns, 4);
	static const struct {
		const char *what;
		double paper;
	} rows[] = {
		{ "TCO', percent more", 3.71 }, { "room used, percent more", 7.13 }, { "CV of I/Os, more", -0.25 },
		{ "CV of room, more", -0.8 },
	};

	for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		result_cell_text(table, "%s", rows[row].what);
		for (unsigned curve = 0; curve < MINTCO_CURVES; curve++) {
			const struct mintco_ran v3 = mean_of(found, seeds, curve, V3);
			const struct mintco_ran best = mean_of(found, seeds, curve, BEST);
			const double cells[] = { (best.usd_per_gb / v3.usd_per_gb - 1) * 100,
				(best.room / v3.room - 1) * 100, best.iops_cv - v3.iops_cv, best.room_cv - v3.room_cv };

			result_cell_number(table, curve < mintco_curves(set) ? cells[row] : NAN);
		}
		result_cell_number(table, rows[row].paper);
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
	for (unsigned curve = 0; curve < mintco_curves(set); curve++) {
		tell(result, found, seeds, curve);
		conclude(result, set, found, seeds, curve);
	}
	tell_paper(result, set, found, seeds);
	draw(result, set, found, seeds);
}

const struct experiment mintco_perf = {
	.name = "mintco-perf", .group = "mintco",
	.question = "what does it cost that disks are used evenly, by the weights of minTCO-Perf?",
	.known = "The minTCO paper's (5.2.2) best weights, [5,1,1,3,3], cost 3.71 % more than minTCO-v3, use 7.13 % "
	    "more room, and have a CV of I/Os that is 0.25 less and of room that is 0.8 less.",
	.takes_workloads = true, .run = run,
};
