/*
 * request.h - one read or write that somebody recorded.
 */
#ifndef WEIR_TRACE_REQUEST_H
#define WEIR_TRACE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

struct trace_request {
	uint64_t time_ns;  /* when it arrived, since the format's own zero; it may be less than that of one before */
	uint64_t offset;   /* bytes */
	uint32_t bytes;    /* not 0 */
	uint32_t volume;   /* which of the trace's, by when it first appears; reader.h knows what they are called */
	bool is_write;
};

/* Behind its last byte; where that would be beyond 2^64 - 1, this. */
static inline uint64_t
trace_request_end(const struct trace_request *request)
{
	uint64_t end = request->offset + request->bytes;

	return end >= request->offset ? end : UINT64_MAX;
}

#endif
