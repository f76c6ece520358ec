/*
 * qos_matrix.c - are shares equal, and is nothing of the drive lost, whatever drive, mix and number of tenants?
 *
 * Each cell is a drive in a state, a mix, and so many equal tenants that always have something waiting.  It is run
 * without control and behind the switch, with several seeds, and once by fixed rates that are looked for (qos_cell.h).
 * These, and what each has alone, are of the drive without a network, also where tenants are hosts of a target.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments.h"
#include "qos_grid.h"

enum { SEEDS = 5, COUNTS = 3, SEED_STEP = 1000, CELLS = QOS_MATRIX_DRIVES * QOS_MATRIX_MIXES * COUNTS };

#define SPREAD_MOST 1.35
#define UTILISATION_LEAST 0.95

static const unsigned counts[COUNTS] = { 2, 4, 16 };

struct matrix {
	struct qos_grid grid;
	unsigned seeds;
};

/* What came of one, with one seed. */
struct found {
	struct qos_ran fifo, switched, oracle; /* the last with the first seed alone */
};

/* ---- what is measured ---- */

static bool
find_cell(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct matrix *m = arg;
	unsigned cells = qos_grid_cells(&m->grid), seed = i / cells;
	struct qos_cell cell = qos_grid_cell(&m->grid, i % cells);
	struct found *found = result;

	lab->seed += seed * SEED_STEP;
	if (!qos_cell_run(lab, &cell, &policy_fifo, 0, &found->fifo) ||
	    !qos_cell_run(lab, &cell, &policy_switch, 0, &found->switched))
		return false;
	cell.fabric = false;
	return seed > 0 || qos_cell_oracle(lab, &cell, found->switched.mean, &found->oracle);
}

static bool
measure(struct lab *lab, struct matrix *m, struct found *found)
{
	return qos_grid_prepare(lab, &m->grid) &&
	    lab_each(lab, qos_grid_cells(&m->grid) * m->seeds, find_cell, m, found, sizeof(*found));
}

/* ---- what is said of it ---- */

/* Of one cell, the worst of all seeds. */
struct judged {
	double spread, fifo_spread, utilisation, least, most;
};

static struct judged
judge(const struct matrix *m, const struct found *found, unsigned cell)
{
	struct judged judged = { .utilisation = INFINITY, .least = INFINITY };
	double oracle = found[cell].oracle.mean;

	for (unsigned seed = 0; seed < m->seeds; seed++) {
		const struct found *one = &found[seed * qos_grid_cells(&m->grid) + cell];

		judged.spread = fmax(judged.spread, one->switched.most / one->switched.least);
		judged.fifo_spread = fmax(judged.fifo_spread, one->fifo.most / one->fifo.least);
		judged.utilisation = fmin(judged.utilisation, one->switched.mean / oracle);
		judged.least = fmin(judged.least, one->switched.least);
		judged.most = fmax(judged.most, one->switched.most);
	}
	return judged;
}

static void
tell_cells(struct result *result, const struct matrix *m, const struct found *found)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "mix", "", 0, true }, { "tenants", "", 0, false },
		{ "spread", "", 3, false }, { "of FIFO", "", 2, false }, { "utilisation", "", 3, false },
		{ "f least", "", 3, false }, { "f most", "", 3, false }, { "f ORACLE", "", 3, false },
		{ "switch", "MB/s", 1, false }, { "FIFO", "MB/s", 1, false }, { "ORACLE", "MB/s", 1, false },
	};
	struct result_table *table = result_table(result, "cells", "Each cell, the worst of all seeds", columns, 12);

	for (unsigned c = 0; c < qos_grid_cells(&m->grid); c++) {
		struct qos_cell cell = qos_grid_cell(&m->grid, c);
		struct judged judged = judge(m, found, c);
		const double numbers[] = {
			cell.tenants, judged.spread, judged.fifo_spread, judged.utilisation, judged.least, judged.most,
			found[c].oracle.mean, found[c].switched.bytes / 1e6, found[c].fifo.bytes / 1e6,
			found[c].oracle.bytes / 1e6,
		};

		result_cell_text(table, "%s", qos_drives[cell.drive].name);
		result_cell_text(table, "%s", cell.mix->name);
		for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			result_cell_number(table, numbers[i]);
	}
}

static void
tell_half(struct result_table *table, const struct qos_cell *cell, unsigned half, const char *policy,
    const struct qos_ran *ran)
{
	char each[QOS_TENANTS_MAX * 8] = "";

	result_cell_text(table, "%s", qos_drives[cell->drive].name);
	result_cell_text(table, "%s", cell->mix->name);
	result_cell_number(table, cell->tenants);
	result_cell_text(table, "%s", cell->mix->loads[half].name);
	result_cell_text(table, "%s", policy);
	for (unsigned t = 0; t < cell->tenants; t++)
		if (qos_cell_half(cell, t) == half)
			snprintf(each + strlen(each), sizeof(each) - strlen(each), "%s%.2f",
			    each[0] != '\0' ? " " : "", ran->f[t]);
	result_cell_text(table, "%s", each);
	result_cell_number(table, ran->mean_us[half]);
	result_cell_number(table, ran->p99_us[half]);
	result_cell_number(table, ran->p999_us[half]);
}

static void
tell_tenants(struct result *result, const struct matrix *m, const struct found *found)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "mix", "", 0, true }, { "tenants", "", 0, false }, { "half", "", 0, true },
		{ "policy", "", 0, true }, { "f", "", 0, true }, { "mean", "us", 1, false }, { "p99", "us", 1, false },
		{ "p99.9", "us", 1, false },
	};
	struct result_table *table = result_table(result, "tenants", "Each tenant, with the first seed", columns, 9);

	for (unsigned c = 0; c < qos_grid_cells(&m->grid); c++) {
		struct qos_cell cell = qos_grid_cell(&m->grid, c);

		for (unsigned half = 0; half < QOS_HALVES; half++) {
			tell_half(table, &cell, half, "switch", &found[c].switched);
			tell_half(table, &cell, half, "FIFO", &found[c].fifo);
			tell_half(table, &cell, half, "ORACLE", &found[c].oracle);
		}
	}
}

static void
draw(struct result *result, const struct matrix *m, const struct found *found)
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, "cells",
	    "Fairness and utilisation of each cell", (struct result_axis){ "max f / min f", "", RESULT_LOG },
	    (struct result_axis){ "mean f / ORACLE's", "", RESULT_LINEAR });
	struct result_series *series[] = {
		result_series(figure, "switch", true), result_series(figure, "FIFO", true),
	};

	result_caption(figure, "A point for each drive, mix and number of tenants: to the left is fair, and above is "
	    "all that the drive can give. A drive that is shared unfairly can give more than one that is not.");
	for (unsigned c = 0; c < qos_grid_cells(&m->grid); c++) {
		struct judged judged = judge(m, found, c);

		result_point(series[0], judged.spread, judged.utilisation);
		result_point(series[1], judged.fifo_spread, found[c].fifo.mean / found[c].oracle.mean);
	}
}

static void
conclude(struct result *result, const struct matrix *m, const struct found *found)
{
	double spread = 0, fifo = 0, utilisation = INFINITY;

	for (unsigned c = 0; c < qos_grid_cells(&m->grid); c++) {
		struct judged judged = judge(m, found, c);

		spread = fmax(spread, judged.spread);
		fifo = fmax(fifo, judged.fifo_spread);
		utilisation = fmin(utilisation, judged.utilisation);
	}
	result_metric(result, "futil_spread", "", 3, spread);
	result_metric(result, "futil_spread of FIFO", "", 2, fifo);
	result_metric(result, "utilisation_min", "", 3, utilisation);
	result_check(result, "futil_spread", "", 3, spread, RESULT_AT_MOST, SPREAD_MOST, 0);
	result_check(result, "utilisation_min", "", 3, utilisation, RESULT_AT_LEAST, UTILISATION_LEAST, 0);
}

static void
run_matrix(struct lab *lab, struct result *result, uint32_t times_percent, bool fabric)
{
	struct matrix *m = lab_alloc(lab, sizeof(*m));
	struct qos_grid *grid = &m->grid;
	struct found *found = lab_alloc(lab, (size_t)CELLS * SEEDS * sizeof(*found));

	m->seeds = lab->quick || fabric ? 1 : SEEDS; /* a second of hosts and network takes nine */
	*grid = (struct qos_grid){
		.mixes = qos_mixes, .mix_count = QOS_MATRIX_MIXES, .tenants = counts, .tenants_count = COUNTS,
		.times_percent = times_percent, .fabric = fabric,
		.settle_ns = (lab->quick ? 500 : 2000) * LAB_MS, .measure_ns = (lab->quick ? 1000 : 10000) * LAB_MS,
	};
	for (enum qos_drive drive = 0; drive < QOS_MATRIX_DRIVES; drive++)
		if (!lab->quick || drive == QOS_DRIVE_TLC_FRAGMENTED || drive == QOS_DRIVE_OPTANE)
			grid->drives[grid->drive_count++] = drive;
	if (!measure(lab, m, found))
		return;
	result_given(result, "seeds", "%u", m->seeds);
	result_given(result, "measured", "%u ms after %u ms%s", (unsigned)(grid->measure_ns / LAB_MS),
	    (unsigned)(grid->settle_ns / LAB_MS), lab->quick ? " (--quick: two drives)" : "");
	if (times_percent > 0)
		result_given(result, "times of the profiles", "%u %%", times_percent);
	qos_drive_tell(result, grid->drives, grid->terms, grid->drive_count);
	tell_cells(result, m, found);
	tell_tenants(result, m, found);
	draw(result, m, found);
	conclude(result, m, found);
}

static void
run(struct lab *lab, struct result *result)
{
	run_matrix(lab, result, 0, false);
}

static void
run_faster(struct lab *lab, struct result *result)
{
	run_matrix(lab, result, 70, false);
}

static void
run_slower(struct lab *lab, struct result *result)
{
	run_matrix(lab, result, 130, false);
}

static void
run_fabric(struct lab *lab, struct result *result)
{
	run_matrix(lab, result, 0, true);
}

#define KNOWN "Gimbal (SIGCOMM 2021, 5.2) gives tenants of different sizes and kinds 0.8 to 1.2 of their parts; the " \
	"bars are a spread of 1.35 and 0.95 of what fixed rates that are looked for can have."

const struct experiment qos_matrix = {
	.name = "qos-matrix", .group = "qos",
	.question = "are shares equal, and is nothing of the drive lost, whatever drive, mix and number of tenants?",
	.known = KNOWN, .run = run,
};

const struct experiment qos_matrix_faster = {
	.name = "qos-matrix-faster", .group = "qos",
	.question = "and on drives of which all times are 0.7 of what they are?", .known = KNOWN, .run = run_faster,
};

const struct experiment qos_matrix_slower = {
	.name = "qos-matrix-slower", .group = "qos",
	.question = "and on drives of which all times are 1.3 of what they are?", .known = KNOWN, .run = run_slower,
};

const struct experiment qos_matrix_fabric = {
	.name = "qos-matrix-fabric", .group = "qos",
	.question = "and of hosts of the real target, over a network, against what fixed rates give without one?",
	.known = KNOWN, .run = run_fabric,
};
