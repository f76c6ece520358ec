/*
 * recent.h - what was done lately: I/Os, their bytes, and how long they took?
 *
 * Of the last whole second, and of the one that goes on.  Nobody has to look at the clock for it: the first I/O that
 * ends in a later second begins that.  Latencies are known to an eighth, from 1 us to 68 s; what took longer counts as
 * that.  Integers only, no allocation.
 */
#ifndef WEIR_QOS_RECENT_H
#define WEIR_QOS_RECENT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RECENT_SUB_BITS = 3,
	RECENT_LEAST_BITS = 10,      /* what took less is not told apart: ns */
	RECENT_MOST_BITS = 36,
	RECENT_BUCKETS = ((RECENT_MOST_BITS - RECENT_LEAST_BITS) << RECENT_SUB_BITS) + 1,
	RECENT_NS = 1000 * 1000 * 1000,
};

struct qos_recent {
	uint64_t ends_ns;            /* of the second that goes on */
	uint32_t now;                /* which of the two that is */
	struct recent_window {
		uint64_t bytes;
		uint32_t ios;
		uint32_t buckets[RECENT_BUCKETS];
	} windows[2];
};

/* Of a second. */
struct qos_lately {
	uint64_t ios, bytes;
	uint64_t p50_ns, p99_ns, p999_ns; /* bounds that so many did not exceed; 0: there was none */
};

/* Nothing was done.  So are zeros, too. */
void qos_recent_init(struct qos_recent *recent);

/* An I/O of so many bytes has ended, and took so long; time does not go back. */
void qos_recent_add(struct qos_recent *recent, uint64_t bytes, uint64_t latency_ns, uint64_t now_ns);

/* What ended in the last whole second. */
void qos_recent_look(const struct qos_recent *recent, uint64_t now_ns, struct qos_lately *lately);

/* Whether anything has ended since that second began. */
static inline bool
qos_recent_any(const struct qos_recent *recent, uint64_t now_ns)
{
	return now_ns < recent->ends_ns + RECENT_NS;
}

#endif
