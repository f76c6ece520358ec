/*
 * timer.h - timers, in a pairing heap.
 *
 * Timers are embedded in what they time, so nothing is allocated and setting
 * one cannot fail.  Those due at the same instant fire in the order set, so
 * that a history does not depend on addresses.
 */
#ifndef WEIR_BASE_TIMER_H
#define WEIR_BASE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct timer {
	void (*fire)(struct timer *timer); /* once; it may set itself again */
	uint64_t deadline_ns;
	uint64_t order;
	struct timer *child, *next, *prev; /* prev: the left sibling or the parent */
	bool armed;
};

struct timers {
	struct timer *root;
	uint64_t order;
};

/* Sets or moves the timer. */
void timer_set(struct timers *timers, struct timer *timer, uint64_t deadline_ns);

/* Afterwards it is not armed, whether or not it was. */
void timer_clear(struct timers *timers, struct timer *timer);

/* When the next one is due; UINT64_MAX: none is armed. */
uint64_t timers_next(const struct timers *timers);

/* Fires what is due at `now_ns`; timers set meanwhile for a time not later than that fire too. */
unsigned timers_run(struct timers *timers, uint64_t now_ns);

#endif
