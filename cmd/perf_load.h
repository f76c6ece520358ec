/*
 * perf_load.h - the load of one thread on one namespace: keeps `qd` I/Os in flight on each queue until it is over.
 */
#ifndef WEIR_CMD_PERF_LOAD_H
#define WEIR_CMD_PERF_LOAD_H

#include <weir/weir.h>

#include "base/rng.h"
#include "perf_job.h"
#include "perf_pace.h"
#include "perf_result.h"
#include "sys/clock.h"

/* A clock that is read once for all that comes of one poll: at most one read per batch of completions. */
struct perf_clock {
	uint64_t now_ns; /* 0: it has not been read since the last poll */
};

static inline uint64_t
perf_now(struct perf_clock *clock)
{
	if (clock->now_ns == 0)
		clock->now_ns = clock_now_ns();
	return clock->now_ns;
}

enum load_phase { LOADING, READING_BACK, SETTLING, ENDED };

struct perf_streams;

struct load {
	const struct perf_job *job;
	struct perf_clock *clock;
	struct perf_result result;
	struct work *works;
	struct work *idle;             /* those that have nothing in flight */
	struct perf_streams *streams;  /* what ordered writes go by, instead of works; else NULL (perf_streams.h) */
	uint8_t *buffers;
	uint32_t nsid, blocks_per_slot;
	uint64_t first, slots;         /* of the namespace, in units of one I/O */
	uint32_t *written;             /* number of the last write of each slot; 0: none.  NULL: nothing is verified */
	uint8_t *busy;                 /* of each slot: an I/O is in flight, or not durable yet that will be */
	uint64_t next;                 /* of sequential load and of reading back */
	struct rng rng;
	enum load_phase phase;
	unsigned in_flight;
	uint64_t left;                 /* I/Os to begin still */
	uint64_t end_ns;
	uint64_t last_ns;              /* the last completion, or the first I/O after there was none in flight */
	struct pace pace;
	uint64_t due_ns;               /* when the pace allows the next; 0: it holds nothing back */
	bool broken;                   /* an I/O was given up, or all of it is to stop: nothing more is begun */
	uint64_t leave_ns;             /* when it is stopped: what has no answer by then is not waited for; else 0 */
};

/* Which part of the namespace, of the I/Os and of the rate is its own. */
struct load_share {
	unsigned part, parts;
	unsigned index;                /* of the loads of the job */
	uint64_t ios;                  /* 0: as many as go */
};

/* 0, -EINVAL (`why` says what does not fit) or -ENOMEM; what was allocated is freed by perf_load_free(), in each
 * case.  Of ordered writes `line_count` is how many streams there will be, and queues are not looked at. */
int perf_load_make(struct load *load, const struct perf_job *job, const struct weir_namespace *ns,
    struct load_share share, struct perf_clock *clock, struct weir_queue *const *queues, unsigned line_count,
    char why[PERF_WHY]) __attribute__((warn_unused_result));
void perf_load_free(struct load *load);

/* The clock runs from here. */
void perf_load_begin(struct load *load);

/* Begins what can be begun, between two polls.  True: the load has just ended; what follows is no longer measured. */
bool perf_load_go_on(struct load *load);

/* Before its time: nothing more is begun, also not to verify, and after a second nothing is waited for any more; what
 * is in flight still then ends with its queue. */
void perf_load_stop(struct load *load);

static inline bool perf_load_over(const struct load *load) { return load->phase == ENDED; }

/* ---- for what carries it ---- */

/* Whether there is something left to begin. */
bool perf_load_has_more(struct load *load);

/* And whether it may be begun now, by its pace; then it is to be chosen. */
bool perf_load_may_begin(struct load *load);

/* The slot of the next I/O of a load that goes on, not one that is busy. */
uint64_t perf_load_choose(struct load *load);

/* Of a slot, in the namespace: bytes. */
uint64_t perf_load_offset(const struct load *load, uint64_t slot);

/* One is in flight; and one no longer is, of which the slot may be busy still. */
void perf_load_began(struct load *load, uint64_t slot, uint64_t now_ns);
void perf_load_ended(struct load *load, uint64_t now_ns);

#endif
