#include "trial/shrink.h"

#include <assert.h>
#include <string.h>

struct search {
	struct shrink *shrink;
	struct plan *plan;     /* the smallest that fails so far */
	struct plan candidate;
};

/* The candidate, which is smaller in one way and larger in none, is taken if it fails: so a search ends. */
static bool
candidate_try(struct search *search)
{
	struct shrink *shrink = search->shrink;

	if (shrink->tries >= shrink->tries_max || !plan_is_valid(&search->candidate))
		return false;
	shrink->tries++;
	if (!shrink->fails(shrink->arg, &search->candidate))
		return false;
	*search->plan = search->candidate;
	return true;
}

/* ---- faults ---- */

static bool
try_without(struct search *search, uint32_t first, uint32_t count)
{
	struct plan *plan = &search->candidate;
	uint32_t behind = first + count;

	*plan = *search->plan;
	memmove(&plan->faults[first], &plan->faults[behind], (plan->fault_count - behind) * sizeof(plan->faults[0]));
	plan->fault_count -= count;
	return candidate_try(search);
}

/* All of them, halves, quarters, and so on to single ones. */
static bool
faults_shrink(struct search *search)
{
	struct plan *plan = search->plan;
	bool changed = false;

	for (uint32_t size = plan->fault_count; size > 0; size /= 2)
		for (uint32_t at = 0; at < plan->fault_count; ) {
			uint32_t left = plan->fault_count - at, count = size < left ? size : left;

			if (try_without(search, at, count))
				changed = true;
			else
				at += count;
		}
	return changed;
}

/* ---- knobs ---- */

static bool
try_knob(struct search *search, enum knob knob, uint64_t value)
{
	search->candidate = *search->plan;
	search->candidate.knobs[knob] = value;
	return candidate_try(search);
}

/* Calm, or at least half as far from it, and again. */
static bool
knob_shrink(struct search *search, enum knob knob)
{
	uint64_t calm = knob_rows[knob].calm, *now = &search->plan->knobs[knob];
	bool changed = false;

	if (*now == calm)
		return false;
	if (try_knob(search, knob, calm))
		return true;
	for (;;) {
		uint64_t half = *now > calm ? calm + (*now - calm) / 2 : calm - (calm - *now) / 2;

		if (half == calm || !try_knob(search, knob, half))
			return changed;
		changed = true;
	}
}

static bool
knobs_shrink(struct search *search)
{
	bool changed = false;

	for (enum knob knob = 0; knob < KNOBS; knob++)
		if (knob != KNOB_UNTIL_MS)
			changed |= knob_shrink(search, knob);
	return changed;
}

/* ---- time ---- */

/* By half of it, a quarter and an eighth; not before a fault, without which nothing would go wrong any more. */
static bool
until_shrink(struct search *search)
{
	const uint64_t *until_ms = &search->plan->knobs[KNOB_UNTIL_MS];
	bool changed = false;

	for (uint64_t part = 2; part <= 8; part *= 2)
		while (*until_ms / part > 0 && try_knob(search, KNOB_UNTIL_MS, *until_ms - *until_ms / part))
			changed = true;
	return changed;
}

void
shrink_plan(struct shrink *shrink, struct plan *plan)
{
	struct search search = { .shrink = shrink, .plan = plan };
	bool changed;

	assert(plan_is_valid(plan));
	do {
		changed = faults_shrink(&search);
		changed |= knobs_shrink(&search);
		changed |= until_shrink(&search);
	} while (changed && shrink->tries < shrink->tries_max);
}
