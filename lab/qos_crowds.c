/*
 * qos_crowds.c - are shares equal with numbers of tenants, drives and mixes that nothing was chosen by?
 *
 * What the matrix (qos_matrix.c) asks, of all four profiles, clean and fragmented, of 1 to 64 tenants, and of writers
 * of 4 and 128 KiB too.  Slots are chosen by two and four tenants that read, or read and write 4 KiB (qos_drive.c), and
 * nothing by a consumer drive.  One seed, and less long.
 */
#include <math.h>

#include "experiments.h"
#include "qos_grid.h"

enum { COUNTS = 5, COUNTS_QUICK = 3, CELLS = QOS_DRIVES * QOS_MIXES * COUNTS, WITH_ORACLE = 8 };

static const unsigned counts[COUNTS] = { 1, 3, 8, 32, 64 };

struct found {
	struct qos_ran fifo, switched, oracle; /* the last with WITH_ORACLE tenants alone */
};

/* ---- what is measured ---- */

static bool
find_cell(struct lab *lab, const void *arg, unsigned i, void *result)
{
	struct qos_cell cell = qos_grid_cell(arg, i);
	struct found *found = result;

	if (!qos_cell_run(lab, &cell, &policy_fifo, 0, &found->fifo) ||
	    !qos_cell_run(lab, &cell, &policy_switch, 0, &found->switched))
		return false;
	return cell.tenants != WITH_ORACLE || qos_cell_oracle(lab, &cell, found->switched.mean, &found->oracle);
}

/* ---- what is said of it ---- */

static void
tell_row(struct result_table *table, const struct qos_cell *cell, const char *policy, const struct qos_ran *ran)
{
	const double numbers[] = {
		ran->most / ran->least, ran->least, ran->most, ran->bytes / 1e6,
		ran->mean_us[0], ran->p99_us[0], ran->p999_us[0], ran->mean_us[1], ran->p99_us[1], ran->p999_us[1],
	};

	result_cell_text(table, "%s", qos_drives[cell->drive].name);
	result_cell_text(table, "%s", cell->mix->name);
	result_cell_number(table, cell->tenants);
	result_cell_text(table, "%s", policy);
	for (unsigned n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
		result_cell_number(table, numbers[n]);
}

static void
tell(struct result *result, const struct qos_grid *grid, const struct found *found)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "mix", "", 0, true }, { "tenants", "", 0, false },
		{ "behind", "", 0, true }, { "spread", "", 2, false }, { "f least", "", 2, false },
		{ "f most", "", 2, false },
		{ "all", "MB/s", 1, false }, { "mean, first half", "us", 0, false }, { "p99", "us", 0, false },
		{ "p99.9", "us", 0, false }, { "mean, second half", "us", 0, false }, { "p99", "us", 0, false },
		{ "p99.9", "us", 0, false },
	};
	struct result_table *table = result_table(result, "cells", "1 to 64 tenants, on all drives", columns, 14);

	for (unsigned c = 0; c < qos_grid_cells(grid); c++) {
		struct qos_cell cell = qos_grid_cell(grid, c);

		tell_row(table, &cell, "switch", &found[c].switched);
		tell_row(table, &cell, "FIFO", &found[c].fifo);
		if (cell.tenants == WITH_ORACLE)
			tell_row(table, &cell, "ORACLE", &found[c].oracle);
	}
}

static void
draw(struct result *result, const struct qos_grid *grid, const struct found *found)
{
	static const struct { enum qos_mix_kind mix; const char *name; } drawn[] = {
		{ QOS_MIX_SIZES, "sizes" }, { QOS_MIX_KINDS, "kinds" }, { QOS_MIX_WRITE_SIZES, "write-sizes" },
	};

	for (unsigned i = 0; i < sizeof(drawn) / sizeof(drawn[0]); i++) {
		enum qos_mix_kind mix = drawn[i].mix;
		struct result_figure *figure = result_figure(result, RESULT_LINES, drawn[i].name,
		    qos_mixes[mix].name, (struct result_axis){ "tenants", "", RESULT_LOG2 },
		    (struct result_axis){ "max f / min f", "", RESULT_LINEAR });

		result_caption(figure, "Behind the switch. 1 is fair.");
		for (unsigned d = 0; d < grid->drive_count; d++) {
			struct result_series *series = result_series(figure, qos_drives[grid->drives[d]].name, false);

			for (unsigned n = 1; n < grid->tenants_count; n++) {
				unsigned cell = (d * QOS_MIXES + mix) * grid->tenants_count + n;
				const struct qos_ran *ran = &found[cell].switched;

				result_point(series, counts[n], ran->most / ran->least);
			}
		}
	}
}

static void
conclude(struct result *result, const struct qos_grid *grid, const struct found *found)
{
	double spread = 0, fifo = 0, utilisation = INFINITY;

	for (unsigned c = 0; c < qos_grid_cells(grid); c++) {
		spread = fmax(spread, found[c].switched.most / found[c].switched.least);
		fifo = fmax(fifo, found[c].fifo.most / found[c].fifo.least);
		if (counts[c % grid->tenants_count] == WITH_ORACLE)
			utilisation = fmin(utilisation, found[c].switched.mean / found[c].oracle.mean);
	}
	result_metric(result, "spread, worst cell", "", 3, spread);
	result_metric(result, "spread of FIFO, worst cell", "", 2, fifo);
	result_metric(result, "utilisation of eight tenants, worst cell", "", 3, utilisation);
	result_check(result, "spread", "", 3, spread, RESULT_AT_MOST, 1.35, 0);
	result_check(result, "utilisation of eight tenants", "", 3, utilisation, RESULT_AT_LEAST, 0.95, 0);
}

static void
run(struct lab *lab, struct result *result)
{
	struct qos_grid *grid = lab_alloc(lab, sizeof(*grid));
	struct found *found = lab_alloc(lab, CELLS * sizeof(*found));

	*grid = (struct qos_grid){
		.mixes = qos_mixes, .mix_count = QOS_MIXES, .tenants = counts,
		.tenants_count = lab->quick ? COUNTS_QUICK : COUNTS,
		.settle_ns = (lab->quick ? 1000 : 2000) * LAB_MS, .measure_ns = (lab->quick ? 300 : 3000) * LAB_MS,
	};
	for (enum qos_drive drive = 0; drive < QOS_DRIVES; drive++)
		if (!lab->quick || drive == QOS_DRIVE_CONSUMER)
			grid->drives[grid->drive_count++] = drive;
	if (!qos_grid_prepare(lab, grid) ||
	    !lab_each(lab, qos_grid_cells(grid), find_cell, grid, found, sizeof(*found)))
		return;
	qos_drive_tell(result, grid->drives, grid->terms, grid->drive_count);
	tell(result, grid, found);
	draw(result, grid, found);
	conclude(result, grid, found);
}

const struct experiment qos_crowds = {
	.name = "qos-crowds", .group = "qos",
	.question = "are shares equal with numbers of tenants, drives and mixes that nothing was chosen by?",
	.known = "The bars are those of qos-matrix, which they are not stated for.", .run = run,
};
