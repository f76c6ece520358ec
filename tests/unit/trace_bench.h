/*
 * trace_bench.h - a trace as text, read in pieces of any size.
 */
#ifndef TESTS_UNIT_TRACE_BENCH_H
#define TESTS_UNIT_TRACE_BENCH_H

#include "trace/reader.h"

enum { TRACE_BENCH_REQUESTS = 8192 };

struct trace_outcome {
	struct trace_read seen;
	size_t count;                /* of requests; the first of them: */
	struct trace_request requests[TRACE_BENCH_REQUESTS];
	char names[TRACE_VOLUMES][TRACE_VOLUME_NAME];
};

/*
 * Reads it with a fresh reader.  `seed` says which pieces it comes in and how much room there is for requests; 0: all
 * at once.  What came of it stays until the next time, of all at once or of pieces.  Asserts what is true of any text:
 * every line is counted, requests and what is said of bad lines are within their limits.
 */
struct trace_outcome *trace_bench_read(enum trace_format format, const char *text, size_t length, uint64_t seed);

/* Asserts that they are the same. */
void trace_bench_same(const struct trace_outcome *a, const struct trace_outcome *b);

/* Asserts that it is read the same in whatever pieces it comes; and that a guess is one that reads some of it. */
void trace_bench_hold(enum trace_format format, const char *text, size_t length);

#endif
