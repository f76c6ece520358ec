/*
 * perf_pace.h - how fast a load may go.
 *
 * Each I/O takes its share of the second; what was missed is made up for, of
 * the last ten milliseconds at most.
 */
#ifndef WEIR_CMD_PERF_PACE_H
#define WEIR_CMD_PERF_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum { PACE_CATCH_UP_NS = 10000000, PACE_SHIFT = 16 };

struct pace {
	uint64_t next; /* the next one may begin: ns << PACE_SHIFT */
	uint64_t cost; /* of one, the same; 0: no limit */
};

/* A `part` of `parts` of so many operations and bytes per second (0: no limit); each operation has `bs` bytes. */
static inline struct pace
pace_make(uint64_t iops, uint64_t bytes, uint64_t bs, unsigned part, unsigned parts)
{
	const double second = 1e9 * (1 << PACE_SHIFT) * parts / part;
	double one = iops > 0 ? second / (double)iops : 0;
	double its_bytes = bytes > 0 ? second * (double)bs / (double)bytes : 0;

	return (struct pace){ .cost = (uint64_t)(one > its_bytes ? one : its_bytes) };
}

/* It counts from now on: nothing before is made up for. */
static inline void
pace_begin(struct pace *pace, uint64_t now_ns)
{
	pace->next = now_ns << PACE_SHIFT;
}

/* When it may: 0 at once, and it is taken as begun. */
static inline uint64_t
pace_take(struct pace *pace, uint64_t now_ns)
{
	uint64_t now = now_ns << PACE_SHIFT, oldest = now - ((uint64_t)PACE_CATCH_UP_NS << PACE_SHIFT);

	if (pace->cost == 0)
		return 0;
	if (pace->next > now)
		return (pace->next >> PACE_SHIFT) + 1;
	if (pace->next < oldest)
		pace->next = oldest;
	pace->next += pace->cost;
	return 0;
}

#endif
