/*
 * rate.h - how fast may I/Os go to the device?
 *
 * One target rate, in bytes a second, that completions raise and lower; and a bucket of tokens for reads and one for
 * writes, filled in the ratio of what both cost, so that what cheap reads left cannot be spent on a burst of writes.
 * What one has no room for goes to the other.  Source: Gimbal, 3.3 and Algorithm 1.
 */
#ifndef WEIR_QOS_RATE_H
#define WEIR_QOS_RATE_H

#include "qos/monitor.h"

enum { QOS_TOKEN_SHIFT = 20 };

struct qos_rate {
	uint64_t target;              /* bytes a second */
	int64_t tokens[QOS_KINDS];    /* bytes << QOS_TOKEN_SHIFT; below 0 after an I/O that a bucket cannot hold */
	uint64_t fill[QOS_KINDS];     /* so many come in a nanosecond */
	uint64_t filled_ns;           /* when, last */
	int64_t most;                 /* that there may be */
	int32_t steps[QOS_STATES];    /* by how many times its bytes an I/O that ends changes the target */
	/* What has gone lately, and what it cost: so much a byte costs on average. */
	uint64_t bytes[QOS_KINDS], weights[QOS_KINDS];
	uint32_t changes;             /* of all that, since `fill` was worked out */
	/* what has ended in this window, and since when it goes on, in time in which something is in flight */
	uint64_t ended_bytes, since_ns;
	uint64_t ended_rate;          /* bytes a second, in the last one; 0: there was none */
};

void qos_rate_init(struct qos_rate *rate, const struct qos_params *params);

/* It keeps within other bounds from now on; what was beyond them says nothing of the device, and it begins anew.  What
 * I/Os cost by other prices says nothing either. */
void qos_rate_tune(struct qos_rate *rate, const struct qos_params *params);

/* Time goes by; it may not, but never goes back. */
void qos_rate_fill(struct qos_rate *rate, uint64_t now_ns);

/* The tokens for so many bytes, or as many as a bucket can hold. */
static inline int64_t
qos_rate_need(const struct qos_rate *rate, uint32_t bytes)
{
	int64_t tokens = (int64_t)bytes << QOS_TOKEN_SHIFT;

	return tokens < rate->most ? tokens : rate->most;
}

/* Whether there are as many. */
static inline bool
qos_rate_has(const struct qos_rate *rate, enum qos_kind kind, uint32_t bytes)
{
	return rate->tokens[kind] >= qos_rate_need(rate, bytes);
}

/* An I/O goes: there were tokens for it, or as many as there can be.  `weight`: what it costs.  What is beyond the
 * bucket is `owed`, or not: of a deallocation, which moves no data, whatever it is counted for. */
void qos_rate_take(struct qos_rate *rate, enum qos_kind kind, uint32_t bytes, uint64_t weight, bool owed);

/* When there will be tokens for so many bytes if the rate stays, or fewer where a bucket cannot hold so many: filled
 * at `now_ns`; so now, if that is what it answers. */
uint64_t qos_rate_ready_ns(const struct qos_rate *rate, enum qos_kind kind, uint32_t bytes, uint64_t now_ns);

/* An I/O has ended, and so the device is.  `busy_ns`: so long something has been in flight by now. */
void qos_rate_ended(struct qos_rate *rate, const struct qos_params *params, enum qos_state state, enum qos_kind kind,
    uint32_t bytes, uint64_t busy_ns);

#endif
