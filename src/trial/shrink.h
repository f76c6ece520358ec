/*
 * shrink.h - makes a plan that goes wrong shorter, as long as it still does.
 *
 * Fewer faults, then calmer knobs, then less time, again and again until
 * nothing more can be left out.  What is tried is asked of the caller, who may
 * run it in a process of its own: a plan may end in an abort.  Pure.
 */
#ifndef WEIR_TRIAL_SHRINK_H
#define WEIR_TRIAL_SHRINK_H

#include "trial/plan.h"

/* Whether it goes wrong still, in the same way as far as the caller cares. */
struct shrink {
	bool (*fails)(void *arg, const struct plan *plan);
	void *arg;
	uint32_t tries_max;
	uint32_t tries;       /* so far */
};

/* `plan` fails; becomes the smallest one found that does. */
void shrink_plan(struct shrink *shrink, struct plan *plan);

#endif
