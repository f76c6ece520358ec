/*
 * window.h - how many I/Os may be under way on a namespace by one queue pair, as its target says (doc/extension.md,
 * CREDITS).
 *
 * A target that has said nothing may be sent whatever its queue holds.  What it says holds for a second; then it is
 * what a slot has room for.  One I/O may always be under way.
 */
#ifndef WEIR_HOST_WINDOW_H
#define WEIR_HOST_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/extension.h"

struct window {
	uint64_t told_ns;   /* when it was said last */
	uint32_t in_flight;
	uint16_t credits;   /* what; 0: nothing was */
};

static inline bool
window_is_open(const struct window *window, uint64_t now_ns)
{
	uint32_t most = window->credits;

	if (most == 0 || window->in_flight == 0)
		return true;
	if (now_ns - window->told_ns >= WEIR_CREDITS_MS * UINT64_C(1000000))
		most = WEIR_CREDITS_FIRST;
	return window->in_flight < most;
}

/* Of a completion's DW1, with success. */
static inline void
window_told(struct window *window, uint32_t dw1, uint64_t now_ns)
{
	if ((dw1 & WEIR_CREDITS_MASK) == 0)
		return;
	window->credits = dw1 & WEIR_CREDITS_MASK;
	window->told_ns = now_ns;
}

#endif
