/*
 * hash_trial.c - a trial for hash.c, of another scenario with each seed; a plan there is something else.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash_trial.h"
#include "trial/scenario.h"
#include "trial/trial.h"

void
hash_trial(uint64_t seed, void (*trace)(void *, uint64_t, enum sim_kind, uint64_t, uint64_t, uint64_t))
{
	const struct scenario_text *text = &scenario_texts[seed % scenario_count];
	struct trial_watch watch = { .trace = trace };
	struct conf_errors errors = { 0 };
	struct scenario *scenario;
	struct trial_result result;
	struct plan *plan = malloc(sizeof(*plan));
	struct arena arena;

	arena_init(&arena, 0);
	if (plan == NULL ||
	    scenario_read(&arena, text->text, strlen(text->text), &errors, &scenario) != 0)
		abort();
	plan_draw(scenario, seed, plan);
	trial_run(plan, &watch, &result);
	printf("seed %" PRIu64 " %s: %016" PRIx64 " after %" PRIu64 " events, %" PRIu64 " ns, %" PRIu64 " I/Os %s\n",
	    seed, text->name, result.hash, result.events, result.end_ns, result.counts.ios, result.why);
	arena_drop(&arena);
	free(plan);
}
