/*
 * workloads_read.h - a file of workloads, as `weir trace stat --csv` writes it and people do.
 *
 * CSV (csv.h) with a row for each workload and these columns:
 *
 *   name                            each its own
 *   write_rate_gb_day               logical writes; GB are 10^9 bytes
 *   seq_ratio_pct | seq_ratio       of these bytes: 0 to 100, or 0 to 1; may be empty where nothing is written
 *   peak_iops                       reads and writes, in the busiest five minutes
 *   write_ratio_pct | write_ratio   of I/Os: 0 to 100, or 0 to 1
 *   working_set_gb                  room that it takes
 *   arrival_days                    since the beginning; this column may be absent, and its cells empty: 0
 *
 * What else `weir trace stat --csv` writes is passed over; of other columns it is said that nobody knows them.
 */
#ifndef WEIR_PLACE_WORKLOADS_READ_H
#define WEIR_PLACE_WORKLOADS_READ_H

#include "place/csv.h"
#include "place/workload.h"

struct arena;

struct workloads {
	struct workload *list;     /* in the order of the file; the arena's, with their names */
	uint32_t *line;            /* of each, where it is in the file */
	uint32_t count;
};

/*
 * 0: `workloads` has at least one; else -EINVAL, and `said->wrong` has why, or -ENOMEM.  `said`, which was zeroed
 * before, has what is odd too.
 */
int workloads_read(struct workloads *workloads, struct arena *arena, const char *text, size_t bytes,
    struct csv_said *said) __attribute__((warn_unused_result));

#endif
