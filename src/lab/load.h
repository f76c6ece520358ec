/*
 * load.h - one job at work: which I/O is begun next, when, and how long each took.
 *
 * Lives on one reactor and knows its time, not where the I/Os go: a rig submits
 * them and says when they end.  What it does is a function of the job and the
 * seed.  It begins and ends its phases by itself, at instants that were said
 * before, so that several loads in several processes go by one plan.
 */
#ifndef WEIR_LAB_LOAD_H
#define WEIR_LAB_LOAD_H

#include "lab/draw.h"
#include "lab/measure.h"
#include "world/reactor.h"

struct lab_load;

struct lab_io {
	struct lab_load *load;
	struct fifo_node node;     /* while it is idle */
	enum lab_op op;
	uint64_t lba;              /* of a read, write or trim */
	uint32_t blocks;
	bool fua;
	uint64_t since_ns;
	uint64_t begun_ns;         /* the rig's: when it went to the device, where that has a policy; else 0 */
	uint32_t writes;           /* of this one, since it last flushed */
	struct iovec iov;          /* the rig's */
};

struct lab_load {
	const struct lab_job *job;
	const struct lab_setup *setup;
	struct lab_measure *measures;   /* by phase */
	struct lab_bin *bins;           /* NULL: there are none */
	struct reactor *reactor;
	/* The rig's: begins it; the end comes by lab_load_done(), never from inside. */
	void (*submit)(struct lab_io *io);
	void *owner;
	struct rng rng;
	struct draw_zipf zipf;
	struct timer timer;             /* until a phase ends, or the next I/O arrives */
	struct fifo idle;
	struct lab_io *ios;
	uint64_t begin_ns;              /* of the first phase */
	uint64_t phase_end_ns;
	unsigned phase;                 /* setup->phase_count: it is over */
	bool begun;
	uint64_t due_ns;                /* the next arrival, of a job with a rate */
	uint64_t gap_ps, rest_ps;       /* between two on average; what of it was not a whole ns */
	/* places, in I/Os of the job's size */
	uint32_t blocks;                /* of one */
	uint64_t first, slots;
	uint64_t at[LAB_STREAMS_MAX];   /* of each stream: the next slot */
	uint32_t streams, turn, run_left;
};

/* 0, or -ENOMEM, or -EINVAL: the job does not fit on a device of so many blocks. */
int lab_load_init(struct lab_load *load, const struct lab_setup *setup, unsigned job, uint64_t blocks,
    struct reactor *reactor, struct arena *arena, uint64_t seed) __attribute__((warn_unused_result));

/* From a turn of its reactor: its first phase begins at `begin_ns`, which has not come yet. */
void lab_load_begin(struct lab_load *load, uint64_t begin_ns);

/* From a turn. */
void lab_load_done(struct lab_io *io, bool failed);

#endif
