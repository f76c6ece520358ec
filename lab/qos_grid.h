/*
 * qos_grid.h - cells (qos_cell.h) of each of some drives with each of some mixes and numbers of tenants.
 */
#ifndef WEIR_LAB_QOS_GRID_H
#define WEIR_LAB_QOS_GRID_H

#include "qos_cell.h"

enum { QOS_GRID_MIXES_MAX = 8 };

struct qos_grid {
	enum qos_drive drives[QOS_DRIVES];
	unsigned drive_count;
	const struct qos_mix *mixes;        /* QOS_GRID_MIXES_MAX at most */
	unsigned mix_count;
	const unsigned *tenants;            /* numbers of them */
	unsigned tenants_count;
	uint32_t times_percent;
	bool fabric;                        /* they are hosts of the real target */
	uint64_t settle_ns, measure_ns;
	/* what qos_grid_prepare() finds: what each drive's measuring says, and what one has alone */
	struct policy_terms terms[QOS_DRIVES];
	double alone[QOS_DRIVES * QOS_GRID_MIXES_MAX][QOS_HALVES];
};

unsigned qos_grid_cells(const struct qos_grid *grid);

/* One of them: of each drive all mixes, of each mix all numbers of tenants. */
struct qos_cell qos_grid_cell(const struct qos_grid *grid, unsigned i);

/* False: the laboratory says why. */
bool qos_grid_prepare(struct lab *lab, struct qos_grid *grid) __attribute__((warn_unused_result));

#endif
