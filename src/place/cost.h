/*
 * cost.h - what a pool costs, straight from the minTCO paper's equations: a sum over all disks each time.
 *
 * Placers keep these sums as they go (pool.h); this is what they are held against.
 */
#ifndef WEIR_PLACE_COST_H
#define WEIR_PLACE_COST_H

#include <stddef.h>

#include "place/disk.h"

struct cost {
	double usd;                /* Equation 1: sum of C_I + C'_M T_Lf */
	double lifetime_days;      /* sum of T_Lf */
	double served_gb;          /* sum of D_j: logical writes until each disk is worn out */
};

struct cost cost_of(const struct disk *disks, size_t count);

/* Equation 2 and 3, [TCO']; INFINITY where nothing is served. */
double cost_usd_per_gb(const struct cost *cost);
double cost_usd_per_day(const struct cost *cost);

/*
 * Two disks, or zones of equally many disks, that share a rate of `gb_per_day` of which 1/(1+k) has a sequential share
 * of `high`, and the rest `low`: by how much TCO' is less where these are kept apart than where each has half of both
 * (Equation 9).  Direct: Equation 3 for both.
 */
double cost_grouping_saves(const struct disk_model *model, double gb_per_day, double k, double high, double low);
double cost_grouping_saves_direct(const struct disk_model *model, double gb_per_day, double k, double high, double low);

/* A resource's utilisation over disks (Equation 4): its mean, and its coefficient of variation; 0 where all are 0. */
enum cost_resource { COST_ROOM, COST_IOPS, COST_RESOURCES };
double cost_utilisation(const struct disk *disk, enum cost_resource resource);
void cost_balance(const struct disk *disks, size_t count, enum cost_resource resource, double *mean, double *cv);
/* The same of how many workloads each has, and of the rates at which each is written. */
double cost_cv_workloads(const struct disk *disks, size_t count);
double cost_cv_rate(const struct disk *disks, size_t count);

#endif
