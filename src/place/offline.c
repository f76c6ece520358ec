#include "place/offline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

const char *
offline_wrong(const struct offline_terms *terms)
{
	if (terms->zones == 0)
		return "there is no zone";
	for (uint32_t z = 0; z + 1 < terms->zones; z++)
		if (!(terms->thresholds[z] > 0 && terms->thresholds[z] <= 1) ||
		    (z > 0 && !(terms->thresholds[z] < terms->thresholds[z - 1])))
			return "thresholds are not from 1 down, each lower than the one before and above 0";
	if (!(terms->delta >= 0))
		return "the difference of rates to give zones up at is not a number from 0 up";
	if (!(terms->room_max > 0 && terms->room_max <= 1 && terms->iops_max > 0 && terms->iops_max <= 1))
		return "what may be taken of room and I/Os is not above 0 and at most 1";
	return disk_model_wrong(terms->model);
}

double
offline_difference(const double *rates, uint32_t zones)
{
	double most = 0, least = INFINITY;

	for (uint32_t z = 0; z < zones; z++) {
		most = fmax(most, rates[z]);
		least = fmin(least, rates[z]);
	}
	return most > 0 ? (most - least) / (most + least) : 0;
}

/*
 * The lowest coefficient of variation is where the rate is the lowest now.  With a rate of r more on any disk their sum
 * is the same, and so is their mean; the sum of their squares, which is all that is left to tell, grows by
 * 2 r rate + r^2.
 */
uint32_t
offline_distribute(const struct disk *disks, uint32_t count, const struct workload *workload, double room_max,
    double iops_max)
{
	uint32_t best = count;

	for (uint32_t d = 0; d < count; d++)
		if ((best == count || disks[d].rate_gb_per_day < disks[best].rate_gb_per_day) &&
		    disk_refuses(&disks[d], workload, 0, room_max, iops_max) == DISK_TAKES)
			best = d;
	return best;
}

static uint32_t
zone_of(const struct offline_terms *terms, const struct workload *workload)
{
	uint32_t zone = 0;

	while (zone + 1 < terms->zones && workload->seq_ratio < terms->thresholds[zone])
		zone++;
	return zone;
}

struct placed {
	double seq_ratio;
	uint32_t zone, number;
};

/* By zone, and within one the most sequential first; equals as they are named. */
static int
by_zone(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->zone != b->zone)
		return a->zone < b->zone ? -1 : 1;
	if (a->seq_ratio != b->seq_ratio)
		return a->seq_ratio > b->seq_ratio ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

/* One workload among the disks of its zone, which are those from `first` on. */
static void
distribute(struct offline_plan *plan, const struct workload *workload, const struct placed *placed, uint32_t first,
    const struct offline_terms *terms)
{
	uint32_t disk;
	struct disk empty;

	disk_init(&empty, terms->model, 0);
	plan->refused[placed->number] = disk_refuses(&empty, workload, 0, terms->room_max, terms->iops_max);
	if (plan->refused[placed->number] != DISK_TAKES) {
		plan->disk_of[placed->number] = OFFLINE_NOWHERE;
		plan->nowhere++;
		return;
	}
	disk = first + offline_distribute(&plan->disk[first], plan->disks - first, workload, terms->room_max,
	    terms->iops_max);
	if (disk == plan->disks) {
		plan->disk[disk] = empty;
		plan->zone_of[disk] = placed->zone;
		plan->disks++;
	}
	disk_put(&plan->disk[disk], workload, 0);
	plan->disk_of[placed->number] = disk;
}

/* Zones as they are, or one; in the order in which they are to be placed. */
static void
group(struct offline_plan *plan, struct placed *order, double *rates, const struct workload *workloads, uint32_t count,
    const struct offline_terms *terms)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t zone = zone_of(terms, &workloads[i]);

		rates[zone] += workloads[i].write_gb_per_day;
		order[i] = (struct placed){ workloads[i].seq_ratio, zone, i };
	}
	plan->difference = offline_difference(rates, terms->zones);
	plan->grouped = terms->way == OFFLINE_GROUPING ||
	    (terms->way == OFFLINE_BY_DELTA && plan->difference < terms->delta);
	for (uint32_t i = 0; i < count && !plan->grouped; i++)
		order[i].zone = 0;
	if (plan->grouped)
		qsort(order, count, sizeof(*order), by_zone);
}

int
offline_place(struct offline_plan *plan, struct arena *arena, const struct workload *workloads, uint32_t count,
    const struct offline_terms *terms)
{
	struct placed *order = arena_alloc(arena, (count + 1) * sizeof(*order));
	double *rates = arena_alloc(arena, terms->zones * sizeof(*rates));
	uint32_t first = 0;

	*plan = (struct offline_plan){
		.disk_of = arena_alloc(arena, (count + 1) * sizeof(*plan->disk_of)),
		.refused = arena_alloc(arena, (count + 1) * sizeof(*plan->refused)),
		.disk = arena_alloc(arena, (count + 1) * sizeof(*plan->disk)),
		.zone_of = arena_alloc(arena, (count + 1) * sizeof(*plan->zone_of)),
	};
	if (!order || !rates || !plan->disk_of || !plan->refused || !plan->disk || !plan->zone_of)
		return -ENOMEM;
	group(plan, order, rates, workloads, count, terms);
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && order[i].zone != order[i - 1].zone)
			first = plan->disks;
		distribute(plan, &workloads[order[i].number], &order[i], first, terms);
	}
	arena_free(arena, order);
	arena_free(arena, rates);
	return 0;
}
