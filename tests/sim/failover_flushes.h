/*
 * failover_flushes.h - a load of writes and Flushes, in place of that of
 * failover_load.c, for targets that lose what was not flushed.
 *
 * Its oracle: after a Flush that succeeded nothing that was answered before it
 * is ever missing, by whichever lane it was written and whatever crashes; but
 * for what a Flush that failed has told.
 */
#ifndef WEIR_TESTS_FAILOVER_FLUSHES_H
#define WEIR_TESTS_FAILOVER_FLUSHES_H

#include "failover_bench.h"

enum { FLUSHES_REOPEN = LANE_OPS + 1 }; /* a step's op: the lane is closed, and another one opened in its place */

/* One I/O after another, instead of the load. */
struct flushes_step {
	unsigned lane;          /* 1 to FAIL_LANES; 0: no I/O, with LANE_OPS the test's turn, until it says `go` */
	uint8_t op, flags;
	int error;              /* as it is to end */
};

/* Of the one load that there is; fail_start() clears all but the first lines. */
struct flushes {
	const struct flushes_step *steps; /* NULL: the load; else up to one without lane and op */
	unsigned percent;       /* of the load are Flushes, up to 40 */
	bool loses;             /* set by the test: something unflushed may be lost by now */
	bool go;
	unsigned at;            /* step */
	unsigned told;          /* Flushes that have failed for a lost cache */
	unsigned flushed;       /* that have succeeded */
	unsigned missed;        /* reads that have found that something unflushed is lost */
};

extern struct flushes flushes;

/* The step at hand is one of the test's. */
bool flushes_waits(void *arg);

#endif
