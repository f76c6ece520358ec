/*
 * qos_fabric.c - what hosts of a real target have, over a network, of what tenants have of the device alone.
 *
 * Some cells of the matrix (qos_matrix.c), with the target's own switch in front of the drive: hosts have the queues of
 * libweir and keep to its credits, and I/O comes on any reactor and goes to the home of the drive.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "qos_grid.h"

enum { DRIVES = 3, COUNTS = 2, CELLS = DRIVES * QOS_MATRIX_MIXES * COUNTS };

static const enum qos_drive drives[DRIVES] = { QOS_DRIVE_TLC_FRAGMENTED, QOS_DRIVE_OPTANE, QOS_DRIVE_QLC_FRAGMENTED };
static const unsigned counts[COUNTS] = { 2, 8 };

#define SPREAD_MOST 1.35

/* With and without the switch; and the same behind it where the device is alone. */
struct found {
	struct qos_ran fifo, switched, direct;
};

static bool
find_cell(struct lab *lab, const void *arg, unsigned i, void *result)
{
	struct qos_cell cell = qos_grid_cell(arg, i);
	struct found *found = result;

	if (!qos_cell_run(lab, &cell, &policy_switch, 0, &found->direct))
		return false;
	cell.fabric = true;
	return qos_cell_run(lab, &cell, &policy_fifo, 0, &found->fifo) &&
	    qos_cell_run(lab, &cell, &policy_switch, 0, &found->switched);
}

static double
spread(const struct qos_ran *ran)
{
	return ran->most / ran->least;
}

static void
tell(struct result *result, const struct qos_grid *grid, const struct found *found)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "mix", "", 0, true }, { "hosts", "", 0, false },
		{ "spread", "", 3, false }, { "of FIFO", "", 2, false }, { "of the device alone", "", 3, false },
		{ "bytes", "MB/s", 1, false }, { "of FIFO", "MB/s", 1, false },
		{ "of the device alone", "MB/s", 1, false },
	};
	struct result_table *table = result_table(result, "cells", "Each cell: by the target, and without it", columns,
	    9);
	double worst = 0, fifo = 0, least = INFINITY;

	for (unsigned c = 0; c < CELLS; c++) {
		struct qos_cell cell = qos_grid_cell(grid, c);
		const double numbers[] = {
			cell.tenants, spread(&found[c].switched), spread(&found[c].fifo), spread(&found[c].direct),
			found[c].switched.bytes / 1e6, found[c].fifo.bytes / 1e6, found[c].direct.bytes / 1e6,
		};

		result_cell_text(table, "%s", qos_drives[cell.drive].name);
		result_cell_text(table, "%s", cell.mix->name);
		for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			result_cell_number(table, numbers[i]);
		worst = fmax(worst, spread(&found[c].switched));
		fifo = fmax(fifo, spread(&found[c].fifo));
		least = fmin(least, found[c].switched.mean / found[c].direct.mean);
	}
	result_metric(result, "fabric_futil_spread", "", 3, worst);
	result_metric(result, "fabric_futil_spread of FIFO", "", 2, fifo);
	result_metric(result, "mean f over that of the device alone, at least", "", 3, least);
	result_check(result, "fabric_futil_spread", "", 3, worst, RESULT_AT_MOST, SPREAD_MOST, 0);
}

static void
run(struct lab *lab, struct result *result)
{
	struct qos_grid *grid = lab_alloc(lab, sizeof(*grid));
	struct found *found = lab_alloc(lab, CELLS * sizeof(*found));

	*grid = (struct qos_grid){
		.mixes = qos_mixes, .mix_count = QOS_MATRIX_MIXES, .tenants = counts, .tenants_count = COUNTS,
		.settle_ns = (lab->quick ? 200 : 1000) * LAB_MS, .measure_ns = (lab->quick ? 300 : 2000) * LAB_MS,
	};
	for (unsigned d = 0; d < DRIVES; d++)
		grid->drives[grid->drive_count++] = drives[d];
	if (qos_grid_prepare(lab, grid) && lab_each(lab, CELLS, find_cell, grid, found, sizeof(*found)))
		tell(result, grid, found);
}

const struct experiment qos_fabric = {
	.name = "qos-fabric", .group = "qos",
	.question = "do hosts of a real target have equal shares, as tenants of the device alone do?",
	.known = "Gimbal (SIGCOMM 2021) was measured so: 0.8 to 1.2 of equal parts.", .run = run,
};
