/*
 * mintco_offline.c - is it worth while to keep sequential workloads apart?
 *
 * The last experiment of the minTCO paper (5.2.2 (4), Figures 8 to 10): 1,359 workloads, all known, on as many disks of
 * one model as are needed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiments.h"
#include "mintco_history.h"
#include "mintco_set.h"
#include "place/cost.h"
#include "place/offline.h"

enum { SEEDS = 20, SEEDS_QUICK = 3, WORKLOADS = 1359, MODEL = 0 /* 1.6 TB of 2014, as the paper measured */ };
enum { STEPS = 19, ZONES = 5, EVALUATIONS = 500000 };

/* Zones, and on as many disks as the greedy way takes what places one workload after the other. */
enum { RIVALS_FROM = ZONES + 1, WAYS = RIVALS_FROM + MINTCO_WAYS, GREEDY = 0 };

/* Grouping's savings by how the rates of both groups differ: with workloads as they are but for that; with both groups
 * in need of the same room, and all workloads of one alike but for how sequential they are, which is what Equation 9
 * supposes; and by that. */
enum saving { AS_THEY_ARE, IDEAL, EQUATION_9, SAVINGS };
static const char *const saving_names[SAVINGS] = { "as they are", "ideal", "Equation 9" };

struct found {
	double difference;                   /* of the rates as they are: (low - high) / (low + high) */
	double saves[MINTCO_CURVES][SAVINGS][STEPS]; /* of the greedy way's TCO', in percent */
	double disks[MINTCO_CURVES][ZONES + 1];
	struct mintco_ran ran[MINTCO_CURVES][WAYS];
};

static double
difference_at(unsigned step)
{
	return -0.9 + 0.1 * step;
}

/* ---- what is run ---- */

/* With evenly many thresholds, but for two zones, which have the paper's. */
static struct offline_plan
plan_by(struct lab *lab, const struct disk_model *model, const struct workload *workloads, unsigned zones,
    enum offline_way way)
{
	double thresholds[ZONES] = { OFFLINE_THRESHOLD };
	struct offline_terms terms = {
		.model = model, .thresholds = thresholds, .zones = zones, .way = way, .delta = OFFLINE_DELTA,
		.room_max = 1, .iops_max = 1,
	};
	struct offline_plan plan;

	for (unsigned z = 0; zones != 2 && z + 1 < zones; z++)
		thresholds[z] = 1 - (z + 1.0) / zones;
	assert(offline_wrong(&terms) == NULL);
	if (offline_place(&plan, lab->arena, workloads, WORKLOADS, &terms) != 0)
		abort();
	return plan;
}

static void
drop_plan(struct lab *lab, struct offline_plan *plan)
{
	arena_free(lab->arena, plan->disk_of);
	arena_free(lab->arena, plan->refused);
	arena_free(lab->arena, plan->disk);
	arena_free(lab->arena, plan->zone_of);
}

static double
usd_per_gb_by(struct lab *lab, const struct disk_model *model, const struct workload *workloads, enum offline_way way,
    uint32_t *disks)
{
	struct offline_plan plan = plan_by(lab, model, workloads, 2, way);
	struct cost cost = cost_of(plan.disk, plan.disks);

	*disks = plan.disks;
	for (unsigned i = 0; i < WORKLOADS; i++)
		mintco_note(lab, plan.disk_of[i], 1);
	drop_plan(lab, &plan);
	return cost_usd_per_gb(&cost);
}

struct group {
	double gb_per_day, seq_gb_per_day, room_gb, workloads;
};

static void
sum_groups(const struct workload *workloads, struct group groups[2])
{
	groups[0] = groups[1] = (struct group){ 0 };
	for (unsigned i = 0; i < WORKLOADS; i++) {
		struct group *group = &groups[workloads[i].seq_ratio < OFFLINE_THRESHOLD];

		group->gb_per_day += workloads[i].write_gb_per_day;
		group->seq_gb_per_day += workloads[i].write_gb_per_day * workloads[i].seq_ratio;
		group->room_gb += workloads[i].working_set_gb;
		group->workloads++;
	}
}

/* The same in all, but so that the less sequential group has k times the rate of the other. */
static void
make_ratio(const struct workload *workloads, const struct group groups[2], double k, enum saving kind,
    struct workload *made)
{
	double all = groups[0].gb_per_day + groups[1].gb_per_day, room_gb = groups[0].room_gb + groups[1].room_gb;
	const double times[] = { all / (1 + k) / groups[0].gb_per_day, all * k / (1 + k) / groups[1].gb_per_day };

	for (unsigned i = 0; i < WORKLOADS; i++) {
		bool is_low = workloads[i].seq_ratio < OFFLINE_THRESHOLD;

		made[i] = workloads[i];
		made[i].write_gb_per_day *= times[is_low];
		if (kind == IDEAL) {
			made[i].write_gb_per_day = groups[is_low].gb_per_day * times[is_low] / groups[is_low].workloads;
			made[i].working_set_gb = room_gb / 2 / groups[is_low].workloads;
		}
	}
}

/* By how much grouping is less dear, in percent. */
static double
saved(struct lab *lab, const struct disk_model *model, const struct workload *workloads, uint32_t *disks)
{
	uint32_t grouped_disks;
	double usd = usd_per_gb_by(lab, model, workloads, OFFLINE_GREEDY, disks);

	return (1 - usd_per_gb_by(lab, model, workloads, OFFLINE_GROUPING, &grouped_disks) / usd) * 100;
}

/* The same by Equation 9, for two zones with half of the disks each. */
static double
saved_in_theory(const struct disk_model *model, const struct group groups[2], double k, uint32_t disks)
{
	double all = groups[0].gb_per_day + groups[1].gb_per_day;
	double high = groups[0].seq_gb_per_day / groups[0].gb_per_day;
	double low = groups[1].seq_gb_per_day / groups[1].gb_per_day, greedy;
	struct disk_model zone;

	if (disk_model_raid(&zone, model, RAID_0, (disks + 1) / 2) != NULL)
		assert(false);
	greedy = zone.usd_per_day * 2 / all +
	    zone.initial_usd / zone.endurance_gb * waf_at(&zone.waf, (high + k * low) / (1 + k));
	return cost_grouping_saves(&zone, all, k, high, low) / greedy * 100;
}

static void
run_differences(struct lab *lab, const struct disk_model *model, const struct workload *workloads,
    double saves[SAVINGS][STEPS])
{
	struct workload *made = lab_alloc(lab, WORKLOADS * sizeof(*made));
	struct group groups[2];

	sum_groups(workloads, groups);
	for (unsigned step = 0; step < STEPS; step++) {
		double k = (1 + difference_at(step)) / (1 - difference_at(step));
		uint32_t disks;

		for (enum saving kind = AS_THEY_ARE; kind <= IDEAL; kind++) {
			make_ratio(workloads, groups, k, kind, made);
			saves[kind][step] = saved(lab, model, made, &disks);
		}
		saves[EQUATION_9][step] = saved_in_theory(model, groups, k, disks);
	}
}

/* Zones of each number, and what knows no others on as many disks as one zone takes. */
static void
run_zones(struct lab *lab, const struct disk_model *model, const struct workload *workloads, unsigned seed,
    double *disks, struct mintco_ran *ran)
{
	struct mintco_case it = {
		.workloads = workloads, .count = WORKLOADS, .weights = mintco_weights_best, .evaluations = EVALUATIONS,
		.seed = seed,
	};

	for (unsigned zones = 0; zones <= ZONES; zones++) { /* 0: one, in the order in which they come */
		struct offline_plan plan = plan_by(lab, model, workloads, zones > 0 ? zones : 1,
		    zones > 0 ? OFFLINE_GROUPING : OFFLINE_GREEDY);
		struct cost cost = cost_of(plan.disk, plan.disks);

		disks[zones] = plan.disks;
		ran[zones].usd_per_gb = cost_usd_per_gb(&cost);
		ran[zones].cv_workloads = cost_cv_workloads(plan.disk, plan.disks);
		cost_balance(plan.disk, plan.disks, COST_ROOM, &ran[zones].room, &ran[zones].room_cv);
		cost_balance(plan.disk, plan.disks, COST_IOPS, &ran[zones].iops, &ran[zones].iops_cv);
		ran[zones].refused = plan.nowhere;
		drop_plan(lab, &plan);
	}
	assert(disks[GREEDY] <= MINTCO_DISKS_MAX);
	for (it.disks = 0; it.disks < disks[GREEDY]; it.disks++)
		it.model_of[it.disks] = model;
	for (unsigned way = 0; way < MINTCO_WAYS; way++) {
		mintco_place(lab->arena, &it, way, &ran[RIVALS_FROM + way]);
		mintco_note(lab, ran[RIVALS_FROM + way].hash, WORKLOADS);
	}
}

static bool
run_one(struct lab *lab, const void *arg, unsigned seed, void *result)
{
	struct workload *workloads = lab_alloc(lab, WORKLOADS * sizeof(*workloads));
	const struct mintco_set *set = arg;
	struct found *found = result;
	struct group groups[2];
	struct rng rng;

	rng_seed(&rng, lab->seed * 1000 + seed);
	mintco_draw(set, &rng, workloads, WORKLOADS, 0);
	sum_groups(workloads, groups);
	found->difference = (groups[1].gb_per_day - groups[0].gb_per_day) /
	    (groups[1].gb_per_day + groups[0].gb_per_day);
	for (unsigned curve = 0; curve < mintco_curves(set); curve++) {
		run_differences(lab, &set->models[curve][MODEL], workloads, found->saves[curve]);
		run_zones(lab, &set->models[curve][MODEL], workloads, seed, found->disks[curve], found->ran[curve]);
	}
	lab_measured(lab, 0);
	return true;
}

/* ---- of all seeds ---- */

static int
by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Of costs: a disk that happens to have hardly any writes lives for millennia, and costs as much. */
static double
median(double values[SEEDS], unsigned count)
{
	qsort(values, count, sizeof(values[0]), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* ---- the difference at which zones are given up ---- */

static double
median_step(const struct found *found, unsigned seeds, unsigned curve, unsigned saving, unsigned step)
{
	double values[SEEDS];

	for (unsigned s = 0; s < seeds; s++)
		values[s] = found[s].saves[curve][saving][step];
	return median(values, seeds);
}

/* Where it is 0 first, above a difference of 0, as k; NAN: nowhere. */
static double
crossing(const struct found *found, unsigned seeds, unsigned curve, unsigned saving)
{
	for (unsigned step = STEPS / 2; step + 1 < STEPS; step++) {
		double here = median_step(found, seeds, curve, saving, step);
		double next = median_step(found, seeds, curve, saving, step + 1);
		double difference = difference_at(step) + 0.1 * here / (here - next);

		if (here > 0 && next <= 0)
			return (1 + difference) / (1 - difference);
	}
	return NAN;
}

static void
tell_differences(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds)
{
	struct result_column columns[2 + MINTCO_CURVES * SAVINGS] = {
		{ "(low - high) / (low + high)", "%", 0, false }, { "k", "", 2, false },
	};
	char names[MINTCO_CURVES * SAVINGS][64];
	struct result_table *table;

	for (unsigned i = 0; i < mintco_curves(set) * SAVINGS; i++) {
		snprintf(names[i], sizeof(names[i]), "%s, %s", mintco_curve_names[i / SAVINGS],
		    saving_names[i % SAVINGS]);
		columns[2 + i] = (struct result_column){ names[i], "%", 2, false };
	}
	table = result_table(result, "differences", "What grouping saves of the greedy way's TCO', by how the rates of "
	    "both groups differ (paper: Figure 10)", columns, 2 + mintco_curves(set) * SAVINGS);
	for (unsigned step = 0; step < STEPS; step++) {
		result_cell_number(table, difference_at(step) * 100);
		result_cell_number(table, (1 + difference_at(step)) / (1 - difference_at(step)));
		for (unsigned i = 0; i < mintco_curves(set) * SAVINGS; i++)
			result_cell_number(table, median_step(found, seeds, i / SAVINGS, i % SAVINGS, step));
	}
}

static void
draw_differences(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds)
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, "differences",
	    "What grouping saves (paper: Figure 10)",
	    (struct result_axis){ "(low - high) / (low + high), write rates of both groups", "%", RESULT_LINEAR },
	    (struct result_axis){ "saved of the greedy way's TCO'", "%", RESULT_LINEAR });

	result_caption(figure, "%u workloads on disks of one model, parted at a sequential share of %.1f; medians over "
	    "%u seeds. Ideal: both groups need the same room, and all of one differ in nothing but how sequential they "
	    "are. Equation 9 is of two zones with half of the disks each. The paper has 0 at 13.46 %%, k = 1.31.",
	    WORKLOADS, OFFLINE_THRESHOLD, seeds);
	for (unsigned i = 0; i < mintco_curves(set) * SAVINGS; i++) {
		char name[64];
		struct result_series *series;

		snprintf(name, sizeof(name), "%s, %s", mintco_curve_names[i / SAVINGS], saving_names[i % SAVINGS]);
		series = result_series(figure, name, false);
		for (unsigned step = 5; step < STEPS - 4; step++) /* beyond there is nothing but loss */
			result_point(series, difference_at(step) * 100,
			    median_step(found, seeds, i / SAVINGS, i % SAVINGS, step));
	}
	result_point(result_series(figure, "minTCO paper", true), 13.46, 0);
}

/* ---- zones, and others ---- */

static const char *
way_name(unsigned way, char name[48])
{
	if (way >= RIVALS_FROM)
		snprintf(name, 48, "%s", mintco_way_names[way - RIVALS_FROM]);
	else if (way == GREEDY)
		snprintf(name, 48, "greedy");
	else
		snprintf(name, 48, "grouping, zones: %u", way);
	return name;
}

static struct mintco_ran
mean_of(const struct found *found, unsigned seeds, unsigned curve, unsigned way, double *disks, double *saves_most)
{
	struct mintco_ran mean = { 0 };
	double usd[SEEDS];

	*disks = 0;
	*saves_most = -INFINITY;
	for (unsigned s = 0; s < seeds; s++) {
		const struct mintco_ran *ran = &found[s].ran[curve][way];

		*disks += found[s].disks[curve][way < RIVALS_FROM ? way : GREEDY] / seeds;
		*saves_most = fmax(*saves_most, (1 - found[s].ran[curve][2].usd_per_gb / ran->usd_per_gb) * 100);
		usd[s] = ran->usd_per_gb;
		mean.cv_workloads += ran->cv_workloads / seeds;
		mean.room += ran->room / seeds;
		mean.room_cv += ran->room_cv / seeds;
		mean.iops += ran->iops / seeds;
		mean.iops_cv += ran->iops_cv / seeds;
		mean.refused += ran->refused / seeds;
	}
	mean.usd_per_gb = median(usd, seeds);
	return mean;
}

static void
tell_zones(struct result *result, const struct found *found, unsigned seeds, unsigned curve)
{
	const struct result_column columns[] = {
		{ "way", "", 0, true }, { "disks", "", 1, false }, { "TCO'", "USD/TB", 4, false },
		{ "two zones save", "%", 2, false }, { "at most", "%", 2, false }, { "room used", "%", 2, false },
		{ "CV", "", 2, false }, { "I/Os used", "%", 2, false }, { "CV", "", 2, false },
		{ "CV of workloads", "", 2, false }, { "refused", "", 1, false },
	};
	char name[48], title[160];
	double disks, most, two = mean_of(found, seeds, curve, 2, &disks, &most).usd_per_gb;
	struct result_table *table;

	snprintf(name, sizeof(name), "zones-%s", mintco_curve_names[curve]);
	snprintf(title, sizeof(title), "Zones, and others on as many disks as the greedy way takes; TCO' "
	    "is a median; write amplification %s",
	    mintco_curve_names[curve]);
	table = result_table(result, name, title, columns, sizeof(columns) / sizeof(columns[0]));
	for (unsigned way = 0; way < WAYS; way++) {
		struct mintco_ran m = mean_of(found, seeds, curve, way, &disks, &most);
		const double cells[] = { disks, m.usd_per_gb * 1000, (1 - two / m.usd_per_gb) * 100, most, m.room * 100,
			m.room_cv, m.iops * 100, m.iops_cv, m.cv_workloads, m.refused };

		result_cell_text(table, "%s", way_name(way, name));
		for (unsigned i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
			result_cell_number(table, cells[i]);
	}
}

static void
conclude(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds, unsigned curve)
{
	double disks[2], most;
	char name[96];

	mintco_check(result, set, curve, "saved at equal rates, ideal", "%", 2,
	    median_step(found, seeds, curve, IDEAL, STEPS / 2), RESULT_AT_LEAST, 0);
	mintco_check(result, set, curve, "k at which nothing is saved, ideal", "", 2,
	    crossing(found, seeds, curve, IDEAL), RESULT_AT_LEAST, 1);
	mintco_check(result, set, curve, "k at which nothing is saved, Equation 9", "", 2,
	    crossing(found, seeds, curve, EQUATION_9), RESULT_AT_LEAST, 1);
	mean_of(found, seeds, curve, ZONES, &disks[0], &most);
	mean_of(found, seeds, curve, 2, &disks[1], &most);
	mintco_check(result, set, curve, "disks of 5 zones over those of 2", "", 3, disks[0] / disks[1],
	    RESULT_AT_LEAST, 1);
	snprintf(name, sizeof(name), "saved at equal rates, as they are, %s", mintco_curve_names[curve]);
	result_metric(result, name, "%", 2, median_step(found, seeds, curve, AS_THEY_ARE, STEPS / 2));
}

static void
run(struct lab *lab, struct result *result)
{
	unsigned seeds = lab->quick ? SEEDS_QUICK : SEEDS;
	struct mintco_set *set = lab_alloc(lab, sizeof(*set));
	struct found *found = lab_alloc(lab, seeds * sizeof(*found));
	double difference = 0;

	if (!mintco_set_make(lab, set) || !lab_each(lab, seeds, run_one, set, found, sizeof(*found)))
		return;
	mintco_set_tell(lab, result, set);
	for (unsigned s = 0; s < seeds; s++)
		difference += found[s].difference / seeds;
	result_given(result, "rates of both groups", "(low - high) / (low + high) is %.1f %% as they are drawn",
	    difference * 100);
	tell_differences(result, set, found, seeds);
	draw_differences(result, set, found, seeds);
	for (unsigned curve = 0; curve < mintco_curves(set); curve++) {
		tell_zones(result, found, seeds, curve);
		conclude(result, set, found, seeds, curve);
	}
}

const struct experiment mintco_offline = {
	.name = "mintco-offline", .group = "mintco",
	.question = "all workloads known and one model of disk: is it worth while to keep sequential ones apart?",
	.known = "The minTCO paper (5.2.2) has it so up to a difference of both groups' rates of 13.46 % (k = 1.31), "
	    "two zones best, and 33 or 34 disks for 4 or 5 zones; offline up to 83.53 % less TCO.",
	.takes_workloads = true, .run = run,
};
