/*
 * window.h - how many I/Os may be under way on a namespace by one queue pair, as its target says (doc/extension.md,
 * CREDITS).
 *
 * Where it may say so it is asked with one I/O: before that has ended no other one goes, as there may be a limit that
 * lets through so few that the last of them would grow too old there.  A target that says nothing then may be sent
 * whatever its queue holds.  What it says holds for a second; then it is what a slot has room for, if that is less.
 * One I/O may always be under way.
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
	bool asked;         /* and it has not answered yet */
};

/* Nothing is under way there; `granted`: it may say how much may be. */
static inline void
window_init(struct window *window, bool granted)
{
	*window = (struct window){ .credits = granted, .asked = granted };
}

static inline bool
window_is_open(const struct window *window, uint64_t now_ns)
{
	uint32_t most = window->credits;

	if (most == 0 || window->in_flight == 0)
		return true;
	if (most > WEIR_CREDITS_FIRST && now_ns - window->told_ns >= WEIR_CREDITS_MS * UINT64_C(1000000))
		most = WEIR_CREDITS_FIRST;
	return window->in_flight < most;
}

/* A completion's DW1, where CREDITS was granted; 0 of one without success, which says nothing. */
static inline void
window_told(struct window *window, uint32_t dw1, uint64_t now_ns)
{
	uint16_t credits = dw1 & WEIR_CREDITS_MASK;

	if (credits == 0 && !window->asked)
		return;
	window->asked = false;
	window->credits = credits;
	window->told_ns = now_ns;
}

#endif
