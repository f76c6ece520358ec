/*
 * working_set.h - how many pages of 4 KiB were read or written at all.
 *
 * Exact as long as there is room to remember them: a table of pieces of 64
 * pages, each with a bit for each page, so that a request of a mebibyte is four
 * or five steps.  Where it cannot grow, for want of room or of memory, what it has
 * goes into a sketch (sketch.h) and so does all that follows, and the result says
 * that it is known to SKETCH_ERROR.  Room is shared by sets: whoever needs it
 * first has it, so that the memory of all together is bounded.
 *
 * It knows nothing of time.
 */
#ifndef WEIR_TRACE_WORKING_SET_H
#define WEIR_TRACE_WORKING_SET_H

#include "trace/request.h"

struct arena;
struct working_set;

enum { WORKING_SET_PAGE = 4096, WORKING_SET_VOLUMES = 1 << 18 };

/* Places in tables, of 16 bytes each, of which three quarters are used at most.  256 MiB, and half as much again while
 * a table grows: enough for 12.5 million pages, 51 GB, however they lie, and for 3.2 TB where all of it is touched. */
#define WORKING_SET_ROOM (UINT64_C(1) << 24)

/* `*room` is the caller's, and shared: places that sets may still take.  NULL: no memory. */
struct working_set *working_set_create(struct arena *arena, uint64_t *room);
void working_set_destroy(struct working_set *set); /* NULL is ignored */

/* Volumes are spaces of their own; there are fewer than WORKING_SET_VOLUMES.  0 or -ENOMEM. */
int working_set_add(struct working_set *set, const struct trace_request *request) __attribute__((warn_unused_result));

/* It will be added soon: what that needs is fetched from memory meanwhile, and nothing else comes of it. */
void working_set_expect(const struct working_set *set, const struct trace_request *request);

/* Bytes of the pages that were touched; whether that is exact. */
uint64_t working_set_bytes(const struct working_set *set);
bool working_set_is_exact(const struct working_set *set);

#endif
