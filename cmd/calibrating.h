/*
 * calibrating.h - a volume that is being calibrated, in this process: its I/O, on a reactor as those that serve have.
 */
#ifndef WEIR_CMD_CALIBRATING_H
#define WEIR_CMD_CALIBRATING_H

#include "base/hist.h"
#include "blk/blk.h"
#include "opening.h"
#include "qos/calibrate.h"
#include "rt/rt.h"

struct calibrating_io {
	struct blk_io blk;
	struct iovec iov;
	struct calibrating *calibrating;
};

struct calibrating {
	/* The caller's. */
	const char *spec;      /* of the volume */
	uint32_t block_size;
	uint64_t time_ns;      /* that all of it is to take, */
	bool prepare;          /* beside writing all of it before */
	struct rt_options rt_options;
	/* What came of it. */
	struct calibrate calibrate;
	struct hist turns;     /* ns, of the reactor, in which any I/O ended */
	uint64_t bytes;        /* of the volume */

	/* Its own. */
	struct rt *rt;
	struct reactor *reactor;
	struct opening opening;
	struct blk_chan *chan;
	void *buffers[QOS_KINDS]; /* what is written is always the same, and what is read is not looked at */
	struct gauge_task task;
	struct gauge gauge;
	struct calibrating_io ios[GAUGE_TENANTS][GAUGE_DEPTH];
	struct timer timer;       /* until the gauge is to be asked */
	struct timer stall;       /* as long as the volume may not answer */
	struct task turn_ends;
	uint64_t percent;         /* of what is to be written before, that is told */
	unsigned signals;
	bool failed;              /* which was said, */
	bool over;                /* and nothing more is begun */
};

/* Opens the volume, measures it and closes it again: zeroed, but for what is the caller's.  False: it could not be, or
 * was stopped, which was said on stderr. */
bool calibrating_run(struct calibrating *calibrating) __attribute__((warn_unused_result));

#endif
