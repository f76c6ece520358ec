/*
 * flash_waf.c - is write amplification what theory says, for any spare?
 *
 * Uniform random writes to a full drive have a closed formula, to which each profile is held with the spare that it
 * has; skewed ones have none, but it is known which way they go: greedy collection gets worse, and collection that
 * looks at age better.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "place/stats.h"
#include "place/waf_theory.h"
#include "untimed.h"

enum { DIES = 2, WARM_UP = 3, SETTLE = 8, MEASURED = 2 }; /* the last three in drive writes; skew settles later */

static const unsigned spares[] = { 70, 100, 120, 142, 200, 280, 374, 500 }; /* in thousandths */

enum { SPARES = sizeof(spares) / sizeof(spares[0]), TYPICAL = 3 };

enum { GREEDY, GREEDY_SKEWED, AGE, AGE_SKEWED, SERIES };

static const struct {
	const char *name;
	enum flash_policy policy;
	bool skewed;
} series[SERIES] = {
	[GREEDY] = { "greedy, uniform", FLASH_GREEDY, false },
	[GREEDY_SKEWED] = { "greedy, 90/10", FLASH_GREEDY, true },
	[AGE] = { "cost-benefit, uniform", FLASH_COST_BENEFIT, false },
	[AGE_SKEWED] = { "cost-benefit, 90/10", FLASH_COST_BENEFIT, true },
};

/* Nine writes of ten go to a tenth of the units. */
static void
write_skewed(struct untimed *u, uint64_t count)
{
	uint64_t hot = u->units / 10;

	for (uint64_t i = 0; i < count; i++) {
		bool is_hot = rng_below(&u->rng, 10) > 0;

		untimed_random(u, 1, is_hot ? 0 : hot, is_hot ? hot : u->units - hot);
	}
}

/* As they are, each with its own spare. */
static const char *const profiles[] = { "tlc-plp", "tlc-consumer", "qlc" };

enum { PROFILES = sizeof(profiles) / sizeof(profiles[0]), PROFILE_DIES = 8 };

struct measured {
	double spare, amplification;
};

static bool
measure(struct lab *lab, unsigned which, unsigned spare, struct measured *measured)
{
	struct untimed u;

	if (!untimed_open(&u, lab, "tlc-plp", DIES, spare, series[which].policy))
		return false;
	if (series[which].skewed) {
		write_skewed(&u, SETTLE * u.units);
		untimed_mark(&u);
		write_skewed(&u, MEASURED * u.units);
	} else {
		untimed_random(&u, WARM_UP * u.units, 0, u.units);
		untimed_mark(&u);
		untimed_random(&u, MEASURED * u.units, 0, u.units);
	}
	*measured = (struct measured){ untimed_spare(&u), untimed_amplification(&u) };
	untimed_close(&u);
	return true;
}

static bool
measure_profile(struct lab *lab, const char *profile, struct measured *measured)
{
	struct untimed u;

	if (!untimed_open(&u, lab, profile, PROFILE_DIES, UNTIMED_AS_IT_IS, FLASH_GREEDY))
		return false;
	untimed_random(&u, WARM_UP * u.units, 0, u.units);
	untimed_mark(&u);
	untimed_random(&u, MEASURED * u.units, 0, u.units);
	*measured = (struct measured){ untimed_spare(&u), untimed_amplification(&u) };
	untimed_close(&u);
	return true;
}

static void
tell_table(struct result *result, struct measured values[SERIES][SPARES])
{
	const struct result_column columns[] = {
		{ "spare", "%", 2, false }, { "Lambert", "", 3, false }, { series[GREEDY].name, "", 3, false },
		{ "error", "%", 2, false }, { "(1+s)/2s", "", 3, false }, { series[GREEDY_SKEWED].name, "", 3, false },
		{ series[AGE].name, "", 3, false }, { series[AGE_SKEWED].name, "", 3, false },
	};
	struct result_table *table = result_table(result, "amplification", "Units programmed for each that was written",
	    columns, sizeof(columns) / sizeof(columns[0]));

	for (unsigned i = 0; i < SPARES; i++) {
		double spare = values[GREEDY][i].spare, measured = values[GREEDY][i].amplification;

		result_cell_number(table, spare * 100);
		result_cell_number(table, waf_uniform(spare));
		result_cell_number(table, measured);
		result_cell_number(table, stats_percent_error(measured, waf_uniform(spare)));
		result_cell_number(table, waf_uniform_simple(spare));
		result_cell_number(table, values[GREEDY_SKEWED][i].amplification);
		result_cell_number(table, values[AGE][i].amplification);
		result_cell_number(table, values[AGE_SKEWED][i].amplification);
	}
}

static void
tell_profiles(struct result *result, const struct measured values[PROFILES])
{
	const struct result_column columns[] = {
		{ "profile", "", 0, true }, { "spare", "%", 2, false }, { "Lambert", "", 3, false },
		{ "measured", "", 3, false }, { "error", "%", 2, false },
	};
	struct result_table *table = result_table(result, "profiles", "The profiles as they are", columns,
	    sizeof(columns) / sizeof(columns[0]));
	double worst = 0;

	for (unsigned i = 0; i < PROFILES; i++) {
		double error = stats_percent_error(values[i].amplification, waf_uniform(values[i].spare));

		result_cell_text(table, "%s", profiles[i]);
		result_cell_number(table, values[i].spare * 100);
		result_cell_number(table, waf_uniform(values[i].spare));
		result_cell_number(table, values[i].amplification);
		result_cell_number(table, error);
		worst = stats_worse(worst, error);
	}
	result_check(result, "profile_waf_error_max_percent", "%", 2, worst, RESULT_AT_MOST, 5, 0);
	result_metric(result, "profile_waf_error_max_percent", "%", 2, worst);
}

static void
draw(struct result *result, struct measured values[SERIES][SPARES])
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, "spare",
	    "Write amplification of random writes",
	    (struct result_axis){ "spare (raw over user space, minus one)", "%", RESULT_LINEAR },
	    (struct result_axis){ "write amplification", "", RESULT_LINEAR });
	struct result_series *lambert, *simple;

	for (unsigned s = 0; s < SERIES; s++) {
		struct result_series *line = result_series(figure, series[s].name, false);

		for (unsigned i = 0; i < SPARES; i++)
			result_point(line, values[s][i].spare * 100, values[s][i].amplification);
	}
	lambert = result_series(figure, "Xiang and Kurkoski 2011", true);
	simple = result_series(figure, "Agarwal and Marrow 2010", true);
	for (unsigned i = 0; i < SPARES; i++) {
		double spare = values[GREEDY][i].spare;

		result_point(lambert, spare * 100, waf_uniform(spare));
		result_point(simple, spare * 100, waf_uniform_simple(spare));
	}
	result_caption(figure, "4 KiB writes to a full drive of %d dies as in tlc-plp, after %d drive writes (90/10: "
	    "%d): uniform, or nine in ten to a tenth of the space. The spare is without the blocks that are held "
	    "back.", DIES, WARM_UP, SETTLE);
}

static void
conclude(struct result *result, struct measured values[SERIES][SPARES])
{
	double worst = 0;

	for (unsigned i = 0; i < SPARES; i++)
		worst = stats_worse(worst, stats_percent_error(values[GREEDY][i].amplification,
		    waf_uniform(values[GREEDY][i].spare)));
	result_check(result, "waf_error_max_percent", "%", 2, worst, RESULT_AT_MOST, 5, 0);
	/* SSD-iq, 14.3 % spare: uniform 4.17, greedy with 90/10 5.11; where hot and cold are known it is 1.99. */
	result_check(result, "greedy, 90/10 over uniform", "", 3, values[GREEDY_SKEWED][TYPICAL].amplification /
	    values[GREEDY][TYPICAL].amplification, RESULT_AT_LEAST, 1, 0);
	result_check(result, "cost-benefit over greedy, 90/10", "", 3, values[AGE_SKEWED][TYPICAL].amplification /
	    values[GREEDY_SKEWED][TYPICAL].amplification, RESULT_AT_MOST, 0.7, 0);
	result_metric(result, "waf_error_max_percent", "%", 2, worst);
	for (unsigned s = 0; s < SERIES; s++) {
		char name[64];

		snprintf(name, sizeof(name), "amplification at 14.2 %%, %s", series[s].name);
		result_metric(result, name, "", 3, values[s][TYPICAL].amplification);
	}
}

static void
run(struct lab *lab, struct result *result)
{
	struct measured values[SERIES][SPARES], as_they_are[PROFILES];

	lab_expect(lab, (uint64_t)SERIES * SPARES + PROFILES);
	for (unsigned s = 0; s < SERIES; s++)
		for (unsigned i = 0; i < SPARES; i++)
			if (!measure(lab, s, spares[i], &values[s][i]))
				return;
	for (unsigned i = 0; i < PROFILES; i++)
		if (!measure_profile(lab, profiles[i], &as_they_are[i]))
			return;
	tell_table(result, values);
	tell_profiles(result, as_they_are);
	draw(result, values);
	conclude(result, values);
}

const struct experiment flash_waf = {
	.name = "flash-waf", .group = "flash",
	.question = "is write amplification of random writes what theory says, for any spare?",
	.known = "Of uniform writes A = alpha / (alpha + W0(-alpha e^-alpha)), alpha = 1 + spare (Xiang and Kurkoski "
	    "2011); (1 + spare) / (2 spare) is older and lower (Agarwal and Marrow 2010). With nine writes in ten to a "
	    "tenth of the space greedy collection is worse than that, and collection by age better (SSD-iq's "
	    "simulations).",
	.run = run,
};
