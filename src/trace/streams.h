/*
 * streams.h - which of what is written is written in order: the detector of the minTCO paper's Appendix 1.
 *
 * Writes are followed in a few streams, the one that was used longest ago
 * giving way to a new one.  A write goes on with a stream where it begins
 * inside that stream's last write, at its end, or at most `gap_bytes` behind it;
 * of several it is the one that was used last.  A stream is sequential if it
 * covers more than `stream_bytes`: that is known when it ends, and then all
 * that was written in it counts, from its first write on.
 *
 * A stream's writes begin where the last one began or behind that, never before:
 * so what it covers, each byte once, gaps left out, is the sum of what each
 * write has beyond the highest end so far.  No more than that end is kept.
 *
 * It knows nothing of time and reads, and keeps no request.
 */
#ifndef WEIR_TRACE_STREAMS_H
#define WEIR_TRACE_STREAMS_H

#include "trace/request.h"

enum { STREAMS_MAX = 64 };

struct streams_options {
	unsigned slots;        /* streams at a time, 1 to STREAMS_MAX */
	uint32_t gap_bytes;
	uint32_t stream_bytes;
};

/* The paper's. */
#define STREAMS_PAPER { .slots = 32, .gap_bytes = 128 << 10, .stream_bytes = 1 << 20 }

struct streams_counts {
	uint64_t writes, bytes;
	/* How writes were found; the four together are all of them. */
	uint64_t inside;       /* they begin inside the last write of a stream */
	uint64_t at_end;       /* exactly at its end */
	uint64_t in_gap;       /* behind it */
	uint64_t misses;       /* they begin a stream */
	uint64_t streams;      /* that are sequential, */
	uint64_t sequential_writes, sequential_bytes; /* and what was written in them */
};

struct streams {
	struct streams_options options;
	struct streams_counts counts; /* of streams that have ended, as far as they are of streams */
	/* A ring of slots: each is followed by the one that was used before it, and the oldest by the newest. */
	uint8_t newest, before[STREAMS_MAX], after[STREAMS_MAX];
	/* Of each slot.  `span` is what may lie between where its last write begins and where one that goes on with it
	 * does; a slot that is not used has a volume that there is not. */
	uint64_t last[STREAMS_MAX], span[STREAMS_MAX];
	uint32_t volume[STREAMS_MAX];
	struct stream {
		uint64_t high;     /* the highest end */
		uint64_t covered, bytes, writes;
	} streams[STREAMS_MAX];
};

void streams_init(struct streams *streams, const struct streams_options *options);

/* Volumes are spaces of their own.  Of a read nothing is taken. */
void streams_add(struct streams *streams, const struct trace_request *request);

/* As if all streams ended now. */
struct streams_counts streams_count(const struct streams *streams);

/* Sequential bytes among all that are written, 0 to 1; NAN: nothing is. */
double streams_ratio(const struct streams_counts *counts);

#endif
