/*
 * group.h - numbers of groups: 32 bits that come round, of which 0 is no group's.
 *
 * They are compared serially, so none of a stream that are looked at together may be 2^31 apart.
 */
#ifndef WEIR_ORDER_GROUP_H
#define WEIR_ORDER_GROUP_H

#include <stdbool.h>
#include <stdint.h>

enum { ORDER_NO_GROUP = 0 };

static inline bool
order_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Of a floor: what is not after it is done with.  ORDER_NO_GROUP: nothing is. */
static inline bool
order_above(uint32_t group, uint32_t floor)
{
	return group != ORDER_NO_GROUP && (floor == ORDER_NO_GROUP || order_after(group, floor));
}

/* How many groups `to`, which is not before `from`, is after it. */
static inline uint32_t
order_steps(uint32_t from, uint32_t to)
{
	return to - from - (to < from);
}

static inline uint32_t
order_before(uint32_t group)
{
	return group - 1 != ORDER_NO_GROUP ? group - 1 : UINT32_MAX;
}

static inline uint32_t
order_next(uint32_t group)
{
	return group + 1 != ORDER_NO_GROUP ? group + 1 : 1;
}

#endif
