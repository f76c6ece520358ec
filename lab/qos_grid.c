#include "qos_grid.h"

unsigned
qos_grid_cells(const struct qos_grid *grid)
{
	return grid->drive_count * grid->mix_count * grid->tenants_count;
}

struct qos_cell
qos_grid_cell(const struct qos_grid *grid, unsigned i)
{
	unsigned both = i / grid->tenants_count, drive = both / grid->mix_count;

	return (struct qos_cell){
		.drive = grid->drives[drive], .times_percent = grid->times_percent,
		.mix = &grid->mixes[both % grid->mix_count], .tenants = grid->tenants[i % grid->tenants_count],
		.fabric = grid->fabric, .settle_ns = grid->settle_ns, .measure_ns = grid->measure_ns,
		.alone = { grid->alone[both][0], grid->alone[both][1] }, .terms = grid->terms[drive],
	};
}

static bool
find_terms(struct lab *lab, const void *arg, unsigned i, void *found)
{
	const struct qos_grid *grid = arg;

	return qos_drive_terms(lab, grid->drives[i], grid->times_percent, found);
}

static bool
find_alone(struct lab *lab, const void *arg, unsigned i, void *found)
{
	const struct qos_grid *grid = arg;
	struct qos_cell cell = qos_grid_cell(grid, i * grid->tenants_count);

	return qos_cell_alone(lab, &cell, found);
}

bool
qos_grid_prepare(struct lab *lab, struct qos_grid *grid)
{
	for (unsigned d = 0; d < grid->drive_count; d++)
		if (!qos_drive_ready(lab, grid->drives[d]))
			return false;
	return lab_each(lab, grid->drive_count, find_terms, grid, grid->terms, sizeof(grid->terms[0])) &&
	    lab_each(lab, grid->drive_count * grid->mix_count, find_alone, grid, grid->alone, sizeof(grid->alone[0]));
}
