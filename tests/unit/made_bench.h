/*
 * made_bench.h - a state of what hosts have made, to which namespaces are added.
 */
#ifndef TESTS_MADE_BENCH_H
#define TESTS_MADE_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "made/made.h"

#define NQN "nqn.2026-11.local.weir:"

struct made_sample {
	struct arena arena;
	struct made *made;
};

int made_setup(void **state);
int made_teardown(void **state);

/* The next state, with one namespace more. */
struct made_ns *sample_add(struct made_sample *s, uint32_t nsid, bool own, bool shared, bool kept);

#endif
