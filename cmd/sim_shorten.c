/*
 * sim_shorten.c - a plan that goes wrong, made shorter (trial/shrink.h), with each try in a process of its own; and
 * what is left of it as a file.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "passing.h"
#include "sim.h"
#include "sim_child.h"
#include "stop.h"
#include "trial/shrink.h"

enum { TRIES_MAX = 1000 };

struct shortening {
	const struct order *order;
	struct outcome wanted, found; /* of the whole plan, and of the shortest one that fails */
	struct child child;
	struct shrink shrink;
};

/* Whether it goes wrong as before; who is asked to stop, or cannot begin a process, does not know. */
static bool
fails_still(void *arg, const struct plan *plan)
{
	struct shortening *shortening = arg;
	struct child *child = &shortening->child;

	passing("%s, seed %" PRIu64 ": try %" PRIu32 ", with %" PRIu32 " faults", plan->scenario, plan->seed,
	    shortening->shrink.tries, plan->fault_count);
	if (stop_asked() || child_begin(child, shortening->order, plan) != 0)
		return false;
	while (!child_ended(child)) {
		children_wait(child, 1, UINT64_MAX);
		if (stop_asked()) {
			child_kill(child);
			return false;
		}
	}
	if (!outcome_alike(child->outcome, &shortening->wanted))
		return false;
	shortening->found = *child->outcome;
	return true;
}

/* ---- what is left ---- */

static uint32_t
knobs_left(const struct plan *plan)
{
	uint32_t left = 0;

	for (unsigned knob = 0; knob < KNOBS; knob++)
		left += plan->knobs[knob] != knob_rows[knob].calm;
	return left;
}

static int
write_plan(const struct plan *plan, const struct outcome *outcome, const char *path)
{
	FILE *file = fopen(path, "we");
	bool bad;

	if (file == NULL)
		return -1;
	fprintf(file, "# What is left of %s, seed %" PRIu64 ", which is %s: %s%s%s\n", plan->scenario, plan->seed,
	    outcome_text(outcome->end), outcome->result.oracle, outcome->result.oracle[0] != '\0' ? ": " : "",
	    outcome->result.why);
	plan_print(plan, file);
	bad = fflush(file) != 0 || ferror(file) != 0;
	return fclose(file) != 0 || bad ? -1 : 0;
}

void
shorten(const struct order *order, const struct scenario *scenario, struct plan *plan,
    const struct outcome *outcome, struct shortened *shortened)
{
	struct shortening shortening = {
		.order = order, .wanted = *outcome, .found = *outcome,
		.shrink = { .fails = fails_still, .arg = &shortening, .tries_max = TRIES_MAX },
	};

	if (child_init(&shortening.child) == 0)
		shrink_plan(&shortening.shrink, plan);
	child_fini(&shortening.child);
	shortened->tries = shortening.shrink.tries;
	shortened->faults = plan->fault_count;
	shortened->knobs = knobs_left(plan);
	snprintf(shortened->path, sizeof(shortened->path), "%s/weir-sim-%s-%" PRIu64 ".yaml", order->out,
	    scenario->name, plan->seed);
	passing(NULL);
	if (write_plan(plan, &shortening.found, shortened->path) != 0) {
		fprintf(stderr, "weir sim: %s: %s\n", shortened->path, strerror(errno));
		shortened->path[0] = '\0';
	}
}
