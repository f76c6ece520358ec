/*
 * scenario_bench.h - scenarios from text, and plans as text.
 */
#ifndef TESTS_SCENARIO_BENCH_H
#define TESTS_SCENARIO_BENCH_H

#include "trial/scenario.h"

/* One that is right. */
struct scenario *scenario_of(struct arena *arena, const char *text);

/* As plan_print() prints it; in the arena. */
char *plan_text(struct arena *arena, const struct plan *plan);

/* The field in which two plans differ, or NULL. */
const char *plan_difference(const struct plan *a, const struct plan *b);

/* A plan that was drawn comes, from what is printed of it, out of the same seed again. */
void plan_outlives_printing(const struct plan *plan);

#endif
