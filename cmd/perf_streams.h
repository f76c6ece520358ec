/*
 * perf_streams.h - what a load writes in order: streams of groups, with so many writes in flight on each.
 */
#ifndef WEIR_CMD_PERF_STREAMS_H
#define WEIR_CMD_PERF_STREAMS_H

#include "perf_load.h"

/* Writes of a stream whose buffers are kept: those in flight, and those that are complete and not durable. */
static inline unsigned perf_streams_kept(const struct perf_job *job) { return 8 * job->qd; }

/*
 * Opens the streams of a load that was made: their numbers are `number` and those below, and `with` is a queue of the
 * same thread; NULL: these are its first.  0, or a negative errno, and `why`.
 */
int perf_streams_open(struct load *load, const struct weir_member *member, unsigned count, unsigned number,
    struct weir_queue *with, char why[PERF_WHY]) __attribute__((warn_unused_result));

/* The first one's, which is polled together with those of all others of the thread. */
struct weir_queue *perf_streams_queue(const struct load *load);

/* Those that are open; there may be none. */
void perf_streams_close(struct load *load);

/* Begins what can be begun. */
void perf_streams_fill(struct load *load);

/* Nothing more is begun: what was measured is noted, and all of it is to become durable. */
void perf_streams_settle(struct load *load);
bool perf_streams_settled(const struct load *load);

/* Until something is complete or durable, or the time is over, which is never long.  Whether something is. */
bool perf_streams_poll(struct load *load, int64_t timeout_us);

#endif
