/*
 * offline.h - minTCO-Offline: how many disks of one model, and which workload on which, where all are known beforehand?
 *
 * The minTCO paper's Algorithm 2.  Workloads are grouped into zones by how sequential they are, each zone has its own
 * disks, and within one all disks are to be written at the same rate.  Where the zones' rates are too different, there
 * is one zone (the paper's "greedy", the other being "grouping").  Arrivals count for nothing: all come on day 0.
 */
#ifndef WEIR_PLACE_OFFLINE_H
#define WEIR_PLACE_OFFLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "place/disk.h"

struct arena;

#define OFFLINE_NOWHERE UINT32_MAX

/* The paper's: where zones part [epsilon], and from which difference of their rates on they are given up [delta]. */
#define OFFLINE_THRESHOLD 0.6
#define OFFLINE_DELTA 0.1346

enum offline_way { OFFLINE_BY_DELTA, OFFLINE_GREEDY, OFFLINE_GROUPING };

struct offline_terms {
	const struct disk_model *model;
	const double *thresholds;  /* falling: what has a sequential share of [z] or more is in zone z, or before */
	uint32_t zones;            /* one more than there are thresholds */
	enum offline_way way;
	double delta;              /* BY_DELTA */
	double room_max, iops_max; /* of each disk's room and I/Os what may be taken, at most 1 */
};

struct offline_plan {          /* all of it the arena's */
	uint32_t *disk_of;         /* of each workload, or OFFLINE_NOWHERE */
	enum disk_refusal *refused; /* DISK_TAKES, or what stops it even on an empty disk */
	struct disk *disk;
	uint32_t *zone_of;         /* of each disk */
	uint32_t disks, nowhere;
	double difference;         /* of the zones' rates, as offline_difference() has it */
	bool grouped;
};

/* NULL, or what is wrong with it. */
const char *offline_wrong(const struct offline_terms *terms);

/* Terms with nothing wrong, at most 2^32 - 2 workloads.  0 or -ENOMEM. */
int offline_place(struct offline_plan *plan, struct arena *arena, const struct workload *workloads, uint32_t count,
    const struct offline_terms *terms) __attribute__((warn_unused_result));

/*
 * How different the rates of zones are: the highest and the lowest, their difference over their sum.  Of two zones that
 * is the paper's |H - L| / (H + L); for more it says nothing, and this is 0 only where all are equal, as its proof that
 * grouping is better wants them, and 1 where one has nothing.  0 where nothing is written.
 */
double offline_difference(const double *rates, uint32_t zones);

/*
 * Which of some disks a workload goes to: one with room whose taking it leaves the coefficient of variation of their
 * write rates the lowest, the first of such; `count`: none has room.
 */
uint32_t offline_distribute(const struct disk *disks, uint32_t count, const struct workload *workload, double room_max,
    double iops_max);

#endif
