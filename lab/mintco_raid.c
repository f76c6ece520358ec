/*
 * mintco_raid.c - what does redundancy cost: minTCO on RAID sets.
 *
 * The third experiment of the minTCO paper (5.2.2 (3), Figure 8): 8 sets of 6 drives, each of one model.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "mintco_history.h"
#include "mintco_set.h"

enum { SEEDS = 100, SEEDS_QUICK = 8, SETS = 8, DRIVES = 6 };
enum { MIX = RAID_MODES, MODES };
enum { BY_V3, BY_PERF, BYS };

static const char *const by_names[BYS] = { "minTCO-v3", "minTCO-Perf [5,1,1,3,3]" };

struct found {
	struct mintco_ran ran[MINTCO_CURVES][BYS][MODES];
};

static const char *
mode_name(unsigned mode)
{
	return mode == MIX ? "mixed" : raid_names[mode];
}

/* Eight of the nine models, each a set of its own; in a mix each third one is of a mode. */
static void
make_sets(const struct mintco_set *set, unsigned curve, unsigned mode, unsigned without, struct disk_model sets[SETS])
{
	for (unsigned i = 0; i < SETS; i++) {
		const struct disk_model *model = &set->models[curve][(without + 1 + i) % MINTCO_MODELS];
		enum raid raid = mode == MIX ? i % RAID_MODES : mode;

		if (disk_model_raid(&sets[i], model, raid, DRIVES) != NULL)
			assert(false);
	}
}

static bool
run_one(struct lab *lab, const void *arg, unsigned seed, void *result)
{
	const struct mintco_set *set = arg;
	struct workload workloads[MINTCO_WORKLOADS];
	struct mintco_case it = {
		.disks = SETS, .workloads = workloads, .count = MINTCO_WORKLOADS, .weights = mintco_weights_best,
		.seed = seed,
	};
	struct disk_model sets[SETS];
	struct found *found = result;
	unsigned without;
	struct rng rng;

	rng_seed(&rng, lab->seed * 1000 + seed);
	mintco_draw(set, &rng, workloads, MINTCO_WORKLOADS, MINTCO_DAYS);
	without = (unsigned)rng_below(&rng, MINTCO_MODELS);
	for (unsigned i = 0; i < SETS; i++)
		it.model_of[i] = &sets[i];
	for (unsigned curve = 0; curve < mintco_curves(set); curve++)
		for (unsigned mode = 0; mode < MODES; mode++) {
			make_sets(set, curve, mode, without, sets);
			for (unsigned by = 0; by < BYS; by++) {
				struct mintco_ran *ran = &found->ran[curve][by][mode];

				mintco_place(lab->arena, &it, by == BY_V3 ? MINTCO_V3 : MINTCO_PERF, ran);
				mintco_note(lab, ran->hash, MINTCO_WORKLOADS);
			}
		}
	lab_measured(lab, 0);
	return true;
}

/* ---- what comes of all seeds ---- */

struct mean {
	double usd_per_tb, room, room_cv, iops, iops_cv, refused;
};

static struct mean
mean_of(const struct found *found, unsigned seeds, unsigned curve, unsigned by, unsigned mode)
{
	struct mean mean = { 0 };

	for (unsigned s = 0; s < seeds; s++) {
		const struct mintco_ran *ran = &found[s].ran[curve][by][mode];

		mean.usd_per_tb += ran->usd_per_gb * 1000 / seeds;
		mean.room += ran->room * 100 / seeds;
		mean.room_cv += ran->room_cv / seeds;
		mean.iops += ran->iops * 100 / seeds;
		mean.iops_cv += ran->iops_cv / seeds;
		mean.refused += ran->refused / seeds;
	}
	return mean;
}

static void
tell(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds)
{
	const struct result_column columns[] = {
		{ "write amplification", "", 0, true }, { "allocator", "", 0, true }, { "sets", "", 0, true },
		{ "TCO'", "USD/TB", 4, false }, { "over RAID 0", "", 3, false }, { "room used", "%", 2, false },
		{ "CV", "", 2, false }, { "I/Os used", "%", 3, false }, { "CV", "", 2, false },
		{ "refused", "", 2, false },
	};
	struct result_table *table = result_table(result, "modes", "8 sets of 6 drives; TCO' is per TB that workloads "
	    "write, not of its copies", columns, sizeof(columns) / sizeof(columns[0]));

	for (unsigned curve = 0; curve < mintco_curves(set); curve++)
		for (unsigned i = 0; i < BYS * MODES; i++) {
			struct mean m = mean_of(found, seeds, curve, i / MODES, i % MODES);
			double raid_0 = mean_of(found, seeds, curve, i / MODES, RAID_0).usd_per_tb;
			const double cells[] = { m.usd_per_tb, m.usd_per_tb / raid_0, m.room, m.room_cv, m.iops,
				m.iops_cv, m.refused };

			result_cell_text(table, "%s", mintco_curve_names[curve]);
			result_cell_text(table, "%s", by_names[i / MODES]);
			result_cell_text(table, "%s", mode_name(i % MODES));
			for (unsigned n = 0; n < sizeof(cells) / sizeof(cells[0]); n++)
				result_cell_number(table, cells[n]);
		}
}

static void
conclude(struct result *result, const struct mintco_set *set, const struct found *found, unsigned seeds, unsigned curve)
{
	for (unsigned by = 0; by < BYS; by++) {
		double usd[MODES];
		char name[96];

		for (unsigned mode = 0; mode < MODES; mode++)
			usd[mode] = mean_of(found, seeds, curve, by, mode).usd_per_tb;
		snprintf(name, sizeof(name), "RAID 1 over RAID 5, %s", by_names[by]);
		mintco_check(result, set, curve, name, "", 3, usd[RAID_1] / usd[RAID_5], RESULT_AT_LEAST, 1);
		snprintf(name, sizeof(name), "RAID 5 over RAID 0, %s", by_names[by]);
		mintco_check(result, set, curve, name, "", 3, usd[RAID_5] / usd[RAID_0], RESULT_AT_LEAST, 1);
		snprintf(name, sizeof(name), "RAID 1 over mixed, %s", by_names[by]);
		mintco_check(result, set, curve, name, "", 3, usd[RAID_1] / usd[MIX], RESULT_AT_LEAST, 1);
		snprintf(name, sizeof(name), "mixed over RAID 0, %s", by_names[by]);
		mintco_check(result, set, curve, name, "", 3, usd[MIX] / usd[RAID_0], RESULT_AT_LEAST, 1);
	}
}

static void
draw(struct result *result, const struct found *found, unsigned seeds)
{
	struct result_figure *figure = result_figure(result, RESULT_BARS, "modes", "Cost per TB by RAID mode (paper: "
	    "Figure 8a)", (struct result_axis){ "TCO'", "USD/TB", RESULT_LINEAR },
	    (struct result_axis){ "", "", RESULT_LINEAR });

	result_caption(figure, "Write amplification as stated; %u seeds.", seeds);
	for (unsigned by = 0; by < BYS; by++) {
		struct result_series *series = result_series(figure, by_names[by], false);

		for (unsigned mode = 0; mode < MODES; mode++)
			result_bar(series, mode_name(mode), mean_of(found, seeds, MINTCO_STATED, by, mode).usd_per_tb);
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
	tell(result, set, found, seeds);
	for (unsigned curve = 0; curve < mintco_curves(set); curve++)
		conclude(result, set, found, seeds, curve);
	draw(result, found, seeds);
}

const struct experiment mintco_raid = {
	.name = "mintco-raid", .group = "mintco", .question = "what does redundancy cost, by RAID mode?",
	.known = "By the minTCO paper (5.2.2) RAID 1 costs the most for each GB, then RAID 5, then RAID 0; a mix is "
	    "between RAID 1 and RAID 5.",
	.takes_workloads = true, .run = run,
};
