/*
 * flash_waf_sequential.c - what does a share of sequential writes save?
 *
 * Figure 6 of the minTCO paper on the modelled SSD (waf_curve.h), and its Equation 7 fitted to it.
 */
#include <math.h>

#include "experiments.h"
#include "place/waf_theory.h"
#include "waf_curve.h"

static const unsigned spares[] = { 70, 120, 145, 200, 280 }; /* in thousandths */

enum { SPARES = sizeof(spares) / sizeof(spares[0]), SHARES = WAF_CURVE_SHARES };
enum { TYPICAL = 2, PLATEAU = 4 /* share of 40 % */ };

/* ---- what is told of it ---- */

static void
tell_points(struct result *result, const struct waf_curve curves[SPARES])
{
	struct result_column columns[1 + SPARES] = { { "sequential share", "%", 0, false } };
	struct result_table *table;

	for (unsigned s = 0; s < SPARES; s++)
		columns[1 + s] = (struct result_column){ curves[s].name, "", 3, false };
	table = result_table(result, "amplification", "Units programmed for each that was written", columns,
	    1 + SPARES);
	for (unsigned i = 0; i < SHARES; i++) {
		result_cell_number(table, waf_curve_shares[i]);
		for (unsigned s = 0; s < SPARES; s++)
			result_cell_number(table, curves[s].amplification[i]);
	}
}

static void
tell_fits(struct result *result, const struct waf_curve curves[SPARES])
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
	    "4 KiB over all of it; greedy, %d dies as in tlc-plp, after %d drive writes (%d from %d %% on).",
	    WAF_CURVE_STREAMS, WAF_CURVE_DIES, WAF_CURVE_WARM_UP, WAF_CURVE_LONG_WARM_UP, WAF_CURVE_LONG_FROM);
	return figure;
}

static void
draw(struct result *result, const struct waf_curve curves[SPARES])
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
			unsigned share = waf_curve_shares[i];

			result_point(line, share, curves[s].amplification[i]);
			result_point(over, share, curves[s].amplification[i] / curves[s].most);
			result_point(fit, share, fmax(stats_turning_at(&curves[s].fit, curves[s].share[i]), 1));
		}
	}
	points = result_series(fitted, "measured", true);
	for (unsigned s = 0; s < SPARES; s++)
		for (unsigned i = 0; i < SHARES; i++)
			result_point(points, waf_curve_shares[i], curves[s].amplification[i]);
}

static void
conclude(struct result *result, const struct waf_curve curves[SPARES])
{
	double flat = 1, end = 0, error = 0;
	const struct waf_curve *typical = &curves[TYPICAL];

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
	struct waf_curve *curves = lab_alloc(lab, SPARES * sizeof(*curves));

	if (!waf_curves_measure(lab, spares, SPARES, curves))
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
