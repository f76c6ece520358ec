/*
 * workload.h - what a placer knows of a workload: what the minTCO paper's Table IV says of one, and when it comes.
 */
#ifndef WEIR_PLACE_WORKLOAD_H
#define WEIR_PLACE_WORKLOAD_H

struct workload {
	const char *name;          /* for people; the caller's */
	double write_gb_per_day;   /* logical: what it writes itself; GB are 10^9 bytes */
	double seq_ratio;          /* of these bytes, 0 to 1 */
	double peak_iops;          /* reads and writes, in the busiest five minutes */
	double write_ratio;        /* of I/Os, 0 to 1 */
	double working_set_gb;     /* room it takes */
	double arrival_days;       /* since the pool's beginning */
};

/* A workload that writes less, a kilobyte a day, does not: sums of rates are rounded. */
#define WORKLOAD_RATE_MIN 1e-6 /* GB a day */

/* NULL, or the first thing that is wrong with it: no number, negative, absurd, a share above 1, contradictory. */
const char *workload_wrong(const struct workload *workload);

/* NULL, or what is possible, and perhaps not meant: a share that may be percent, a rate that may be in MB. */
const char *workload_odd(const struct workload *workload);

#endif
