/*
 * conf_bench.h - configurations to try conf/ with: random ones; whether two are the same; what is said of wrong ones.
 */
#ifndef TESTS_CONF_BENCH_H
#define TESTS_CONF_BENCH_H

#include "base/rng.h"
#include "conf/conf.h"

/* Everything that a file can say, and of each sort few. */
struct conf *conf_random(struct arena *arena, struct rng *rng);

/* The name of a field in which they differ, or NULL. */
const char *conf_difference(const struct conf *a, const struct conf *b);

/* As conf_print() prints it, with a NUL behind it. */
char *conf_printed(struct arena *arena, const struct conf *conf, size_t *bytes);

/* What is said of a file of so many bytes that is refused: something, in words, and in the order of its lines. */
void conf_errors_are_sound(const struct conf_errors *errors, size_t bytes);

#endif
