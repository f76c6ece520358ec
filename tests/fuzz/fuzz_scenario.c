/*
 * fuzz_scenario.c - any bytes as a scenario: refused in words and by line, or
 * read, and then each plan that is drawn of it can be played, and comes out of its own printing unchanged.
 */
#include <assert.h>

#include "conf_bench.h"
#include "fuzz.h"
#include "scenario_bench.h"

static void
accepted(const struct scenario *scenario)
{
	static struct plan plan;

	for (uint64_t seed = 0; seed < 3; seed++) {
		plan_draw(scenario, seed, &plan);
		assert(plan_is_valid(&plan));
		plan_outlives_printing(&plan);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scenario *scenario;
	struct conf_errors errors;
	struct arena arena;
	int error;

	arena_init(&arena, 0);
	error = scenario_read(&arena, (const char *)data, size, &errors, &scenario);
	if (error == 0)
		accepted(scenario);
	else
		conf_errors_are_sound(&errors, size);
	arena_drop(&arena);
	return 0;
}
