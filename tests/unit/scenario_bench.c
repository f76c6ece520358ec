#include "scenario_bench.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct scenario *
scenario_of(struct arena *arena, const char *text)
{
	struct conf_errors errors;
	struct scenario *scenario;
	int error = scenario_read(arena, text, strlen(text), &errors, &scenario);

	for (uint32_t i = 0; i < errors.count; i++)
		fprintf(stderr, "line %u: %s\n", errors.list[i].line, errors.list[i].text);
	assert(error == 0);
	return scenario;
}

char *
plan_text(struct arena *arena, const struct plan *plan)
{
	char *text = NULL, *copy;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert(out != NULL);
	plan_print(plan, out);
	fclose(out);
	copy = arena_strdup(arena, text);
	assert(copy != NULL);
	free(text);
	return copy;
}

static bool
faults_differ(const struct fault *a, const struct fault *b)
{
	return a->at_ns != b->at_ns || a->for_ns != b->for_ns || a->kind != b->kind || a->whom != b->whom ||
	    a->what != b->what;
}

const char *
plan_difference(const struct plan *a, const struct plan *b)
{
	if (memcmp(a->scenario, b->scenario, sizeof(a->scenario)) != 0)
		return "scenario";
	if (a->seed != b->seed)
		return "seed";
	for (enum knob knob = 0; knob < KNOBS; knob++)
		if (a->knobs[knob] != b->knobs[knob])
			return knob_rows[knob].name;
	if (a->fault_count != b->fault_count)
		return "fault_count";
	for (uint32_t i = 0; i < a->fault_count; i++)
		if (faults_differ(&a->faults[i], &b->faults[i]))
			return "faults";
	return NULL;
}

void
plan_outlives_printing(const struct plan *plan)
{
	struct plan *again = malloc(sizeof(*again));
	struct arena arena;
	char *text;

	assert(again != NULL);
	arena_init(&arena, 0);
	text = plan_text(&arena, plan);
	plan_draw(scenario_of(&arena, text), plan->seed, again);
	assert(plan_difference(plan, again) == NULL);
	assert(strcmp(plan_text(&arena, again), text) == 0);
	arena_drop(&arena);
	free(again);
}
