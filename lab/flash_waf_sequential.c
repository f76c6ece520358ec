/*
 * flash_waf_sequential.c - what does a share of sequential writes save?
 *
 * Runs of several streams, each of which goes round a part of the space, between runs of uniform random writes over
 * all of it: Figure 6 of the minTCO paper, and its Equation 7 fitted to it.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "place/stats.h"
#include "place/waf_theory.h"
#include "untimed.h"

enum { DIES = 4, STREAMS = 8, RUN = 256 /* units: 1 MiB */ };

/* In drive writes.  Where nearly all is sequential, blocks are for long as they were before. */
enum { WARM_UP = 4, MEASURED = 3, LONG_FROM = 75 /* percent */, LONG_WARM_UP = 10, LONG_MEASURED = 20 };

static const unsigned spares[] = { 70, 120, 145, 200, 280 }; /* in thousandths */
static const unsigned shares[] = { /* percent */
	0, 10, 20, 30, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100,
};

enum { SPARES = sizeof(spares) / sizeof(spares[0]), SHARES = sizeof(shares) / sizeof(shares[0]) };
enum { TYPICAL = 2, PLATEAU = 4 /* share of 40 % */ };

static const double MOVES = 1.1;

struct curve {
	char name[32];
	double spare, share[SHARES], amplification[SHARES], most;
	struct stats_turning fit;
};

struct streams {
	uint64_t part;        /* units that each of them goes round */
	uint64_t at[STREAMS]; /* within its own */
};

/* Whose turn it is, is chance: streams that take turns keep step, and leave whole blocks empty, or never do. */
static void
write_run(struct untimed *u, struct streams *streams)
{
	uint64_t which = rng_below(&u->rng, STREAMS), *at = &streams->at[which];

	for (unsigned i = 0; i < RUN; i++, *at = (*at + 1) % streams->part)
		ftl_write(u->ftl, (uint32_t)(which * streams->part + *at));
}

static void
write_mixed(struct untimed *u, struct streams *streams, unsigned share, uint64_t drive_writes)
{
	for (uint64_t done = 0; done < drive_writes * u->units; done += RUN)
		if (rng_below(&u->rng, 100) < share)
			write_run(u, streams);
		else
			untimed_random(u, RUN, 0, u->units);
}

static bool
measure(struct lab *lab, unsigned spare, unsigned share, struct curve *curve, double *amplification)
{
	bool is_long = share >= LONG_FROM;
	struct streams streams;
	struct untimed u;

	if (!untimed_open(&u, lab, "tlc-plp", DIES, spare, FLASH_GREEDY))
		return false;
	streams.part = u.units / STREAMS;
	for (unsigned i = 0; i < STREAMS; i++)
		streams.at[i] = rng_below(&u.rng, streams.part);
	write_mixed(&u, &streams, share, is_long ? LONG_WARM_UP : WARM_UP);
	untimed_mark(&u);
	write_mixed(&u, &streams, share, is_long ? LONG_MEASURED : MEASURED);
	*amplification = untimed_amplification(&u);
	curve->spare = untimed_spare(&u);
	untimed_close(&u);
	return true;
}

/* Where hardly anything is moved any more there is nothing to fit: amplification is 1. */
static bool
fit(struct curve *curve)
{
	unsigned count = SHARES;

	while (count > 0 && curve->amplification[count - 1] < MOVES)
		count--;
	return stats_turning(curve->share, curve->amplification, count, &curve->fit);
}

static bool
trace(struct lab *lab, unsigned spare, struct curve *curve)
{
	curve->most = 0;
	for (unsigned i = 0; i < SHARES; i++) {
		curve->share[i] = shares[i] / 100.0;
		if (!measure(lab, spare, shares[i], curve, &curve->amplification[i]))
			return false;
		curve->most = fmax(curve->most, curve->amplification[i]);
	}
	snprintf(curve->name, sizeof(curve->name), "spare %.1f %%", curve->spare * 100);
	if (!fit(curve))
		lab_refuse(lab, "%s: nothing can be fitted", curve->name);
	return lab->why[0] == '\0';
}

/* ---- what is told of it ---- */

static void
tell_points(struct result *result, const struct curve curves[SPARES])
{
	struct result_column columns[1 + SPARES] = { { "sequential share", "%", 0, false } };
	struct result_table *table;

	for (unsigned s = 0; s < SPARES; s++)
		columns[1 + s] = (struct result_column){ curves[s].name, "", 3, false };
	table = result_table(result, "amplification", "Units programmed for each that was written", columns,
	    1 + SPARES);
	for (unsigned i = 0; i < SHARES; i++) {
		result_cell_number(table, shares[i]);
		for (unsigned s = 0; s < SPARES; s++)
			result_cell_number(table, curves[s].amplification[i]);
	}
}

static void
tell_fits(struct result *result, const struct curve curves[SPARES])
{
	const struct result_column columns[] = {
		{ "spare", "%", 2, false }, { "Lambert", "", 3, false }, { "e", "", 3, false },
		{ "beta", "", 3, false }, { "eta", "", 3, false }, { "mu", "", 3, false }, { "gamma", "", 3, false },
		{ "R2", "", 4, false }, { "largest error", "", 3, false },
	};
	struct result_table *table = result_table(result, "regression",
	    "Equation 7: beta up to a share of e, eta S^2 + mu S + gamma beyond, 1 at least", columns,
	    sizeof(columns) / sizeof(columns[0]));

	for (unsigned s = 0; s < SPARES; s++) {
		const struct stats_turning *fit = &curves[s].fit;
		const double cells[] = { curves[s].spare * 100, waf_uniform(curves[s].spare), fit->e, fit->beta,
			fit->eta, fit->mu, fit->gamma, fit->r2, fit->error_max };

		for (unsigned i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
			result_cell_number(table, cells[i]);
	}
}

static struct result_figure *
figure_make(struct result *result, const char *name, const char *title, const char *y)
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, name, title,
	    (struct result_axis){ "sequential share of writes", "%", RESULT_LINEAR },
	    (struct result_axis){ y, "", RESULT_LINEAR });

	result_caption(figure, "%d streams in runs of 1 MiB, each round a part of the space, and uniform writes of "
	    "4 KiB over all of it; greedy, %d dies as in tlc-plp, after %d drive writes (%d from %d %% on).", STREAMS,
	    DIES, WARM_UP, LONG_WARM_UP, LONG_FROM);
	return figure;
}

static void
draw(struct result *result, const struct curve curves[SPARES])
{
	struct result_figure *plain = figure_make(result, "share", "Write amplification against the sequential share",
	    "write amplification");
	struct result_figure *normal = figure_make(result, "normalised", "The same over the largest of each spare",
	    "write amplification over its largest");
	struct result_figure *fitted = figure_make(result, "regression", "Equation 7 beside what was measured",
	    "write amplification");
	struct result_series *points;

	for (unsigned s = 0; s < SPARES; s++) {
		struct result_series *line = result_series(plain, curves[s].name, false);
		struct result_series *over = result_series(normal, curves[s].name, false);
		struct result_series *fit = result_series(fitted, curves[s].name, false);

		for (unsigned i = 0; i < SHARES; i++) {
			result_point(line, shares[i], curves[s].amplification[i]);
			result_point(over, shares[i], curves[s].amplification[i] / curves[s].most);
			result_point(fit, shares[i], fmax(stats_turning_at(&curves[s].fit, curves[s].share[i]), 1));
		}
	}
	points = result_series(fitted, "measured", true);
	for (unsigned s = 0; s < SPARES; s++)
		for (unsigned i = 0; i < SHARES; i++)
			result_point(points, shares[i], curves[s].amplification[i]);
}

static void
conclude(struct result *result, const struct curve curves[SPARES])
{
	double flat = 1, end = 0, error = 0;
	const struct curve *typical = &curves[TYPICAL];

	for (unsigned s = 0; s < SPARES; s++) {
		const double *a = curves[s].amplification;

		flat = fmin(flat, a[PLATEAU] / a[0]);
		end = fmax(end, a[SHARES - 1] / a[0]);
		error = fmax(error, curves[s].fit.error_max / curves[s].most * 100);
	}
	result_check(result, "plateau: least amplification at 40 % over that at 0 %", "", 3, flat,
	    RESULT_AT_LEAST, 0.93, 0);
	result_check(result, "drop: most amplification at 100 % over that at 0 %", "", 3, end, RESULT_AT_MOST, 0.6,
	    0);
	result_check(result, "regression: largest error, of the largest amplification", "%", 2, error,
	    RESULT_AT_MOST, 10, 0);
	result_metric(result, "e at 14.5 %", "", 3, typical->fit.e);
	result_metric(result, "beta at 14.5 %", "", 3, typical->fit.beta);
	result_metric(result, "eta at 14.5 %", "", 3, typical->fit.eta);
	result_metric(result, "mu at 14.5 %", "", 3, typical->fit.mu);
	result_metric(result, "gamma at 14.5 %", "", 3, typical->fit.gamma);
	result_metric(result, "regression: largest error", "%", 2, error);
}

static void
run(struct lab *lab, struct result *result)
{
	struct curve *curves = lab_alloc(lab, SPARES * sizeof(*curves));

	lab_expect(lab, (uint64_t)SPARES * SHARES);
	for (unsigned s = 0; s < SPARES; s++)
		if (!trace(lab, spares[s], &curves[s]))
			return;
	tell_points(result, curves);
	tell_fits(result, curves);
	draw(result, curves);
	conclude(result, curves);
}

const struct experiment flash_waf_sequential = {
	.name = "flash-waf-sequential", .group = "flash",
	.question = "what does a share of sequential writes save of write amplification?",
	.known = "Nothing up to 40 to 60 %, as what is random destroys what was in sequence; then a steep and concave "
	    "drop (minTCO, Figure 6, a drive of 1.6 TB; fitted by Equation 7).",
	.run = run,
};
