/*
 * advice_inside.h - what the files of advice.h share.
 */
#ifndef WEIR_PLACE_ADVICE_INSIDE_H
#define WEIR_PLACE_ADVICE_INSIDE_H

#include "place/advice.h"

double advice_days(const struct advice *advice);

/* A disk of the kind with these workloads, as they come. */
struct advice_disk advice_play(const struct advice *advice, uint32_t kind, const uint32_t *list, uint32_t count);

/* The workloads' numbers, as they come; those that come together by what they are, so that nothing depends on how they
 * are listed.  The arena's; NULL: no memory. */
uint32_t *advice_by_arrival(struct arena *arena, const struct search_problem *problem);

/* Whether a workload has room beside what is on a disk, for as long as it is replaced where it is worn out. */
enum disk_refusal advice_refuses(const struct search_problem *problem, const struct disk *disk,
    const struct workload *workload);

/* Of a problem that has workloads which some disk takes. */
int advice_make_plans(struct advice *advice, struct arena *arena) __attribute__((warn_unused_result));

/* Fills a plan, which has room for as many disks as workloads.  0 or -ENOMEM. */
int advice_fill(struct search_plan *plan, struct arena *arena, const struct search_problem *problem,
    enum advice_way way) __attribute__((warn_unused_result));
/* The same by minTCO-Offline, of a problem of one kind. */
int advice_offline(struct search_plan *plan, struct arena *arena, const struct search_problem *problem,
    enum advice_way way) __attribute__((warn_unused_result));

/* The same by minTCO-v3 or -Perf, on the disks of another plan, which has some. */
int advice_online(struct search_plan *plan, struct arena *arena, const struct search_problem *problem,
    const struct search_plan *on, enum advice_way way) __attribute__((warn_unused_result));

#endif
