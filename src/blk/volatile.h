/*
 * volatile.h - what the files of the volatile: filter share; see volatile.c.
 */
#ifndef WEIR_BLK_VOLATILE_H
#define WEIR_BLK_VOLATILE_H

#include "blk/devices.h"

#include "base/rng.h"
#include "blk/finish.h"
#include "blk/kept.h"
#include "blk/retry.h"

enum {
	VOL_REQUESTS = 128,         /* at the device below, per channel */
	SWEEP_REQUESTS = 8,         /* and of a sweep */
};

struct vol {
	struct blk blk;
	struct blk *inner;
	struct range range;
	struct kept kept;
	uint64_t seed; /* 0: nothing is written early */
	bool below;    /* the last grow(), or opening, did something to the device below */
};

struct vol_req {
	struct blk_io io;         /* the device below has it */
	struct vol_chan *chan;
	struct blk_io *outer;     /* for whom; NULL: free, or of a sweep */
	struct vol_req *next_free;
	struct iovec iov;
	struct blk_range range;   /* of TRIM */
};

/* Writes down what is kept. */
struct sweep {
	struct blk_io hold;       /* stands in line for the blocks; nobody submitted it */
	struct kept_sweep places;
	struct fifo riders;       /* flushes, and writes that made it necessary: done when it has ended */
	struct nvme_status status;
	bool busy, all;
	uint32_t in_flight;
	struct vol_req *free;
	struct vol_req reqs[SWEEP_REQUESTS];
};

struct vol_chan {
	struct blk_chan chan;
	struct vol *vol;
	struct blk_chan *inner;
	struct line line;
	struct fifo finished;
	struct task collect;
	struct retry retry;
	struct rng rng;
	struct sweep sweep;
	struct fifo riders;        /* of the next sweep */
	struct kept_sweep wished;  /* what it is to write, where no flush wants everything */
	struct blk_range wished_run;
	struct vol_req *free;
	uint32_t free_count;
	struct vol_req reqs[VOL_REQUESTS];
};

static inline bool is_ok(struct nvme_status status) { return nvme_sc(status) == NVME_SC_SUCCESS; }

/* volatile.c: the I/O is over; its done() comes later. */
void vol_finish(struct vol_chan *vc, struct blk_io *io, struct nvme_status status);

/* volatile_sweep.c: begins one, if none is under way, for all that wait for one. */
void sweep_begin(struct vol_chan *vc);
/* The blocks that it stood in line for are held. */
void sweep_held(struct vol_chan *vc);

#endif
