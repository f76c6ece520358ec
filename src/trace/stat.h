/*
 * stat.h - what a workload is like: the row of the minTCO paper's Table IV, with what it was made of.
 *
 * A tally is given the requests of one workload, in the order of the trace: of
 * one volume, or of several that are to live together.  Its memory is bounded
 * by the room of its working set.
 */
#ifndef WEIR_TRACE_STAT_H
#define WEIR_TRACE_STAT_H

#include <stddef.h>

#include "trace/streams.h"

struct arena;
struct trace_tally;

struct trace_stat_options {
	struct streams_options streams;
	uint64_t window_ns; /* of the peak */
};

extern const struct trace_stat_options trace_stat_paper; /* its streams, five minutes */

/* NAN: it is not known. */
struct trace_stat {
	double seq_ratio;         /* sequential bytes among those written, 0 to 1; NAN: nothing is written */
	double write_gb_day;      /* 10^9 bytes; NAN: it is too short (rates.h) */
	double peak_iops;         /* the same */
	double write_ratio;       /* writes among requests, 0 to 1 */
	double working_set_gb;    /* 10^9 bytes in pages that were touched */
	double working_set_error; /* its standard error, relative; 0: it is exact */
	double read_gb, written_gb;
	uint64_t reads, writes;
	uint64_t duration_ns;     /* from the earliest request to the latest */
	uint64_t backwards, misplaced; /* requests that are out of order (rates.h) */
	struct streams_counts streams;
};

/* `room` as of working_set_create().  NULL: no memory. */
struct trace_tally *trace_tally_create(struct arena *arena, const struct trace_stat_options *options, uint64_t *room);
void trace_tally_destroy(struct trace_tally *tally); /* NULL is ignored */

/* 0 or -ENOMEM. */
int trace_tally_add(struct trace_tally *tally, const struct trace_request *request)
    __attribute__((warn_unused_result));

/* It will be added soon (working_set.h): where much is touched, most of the time would be waiting for memory. */
void trace_tally_expect(const struct trace_tally *tally, const struct trace_request *request);

/* As if nothing came after it. */
void trace_tally_stat(const struct trace_tally *tally, struct trace_stat *stat);

#endif
