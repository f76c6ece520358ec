/*
 * view_bench.h - a config with something of everything, for tests that change it,
 * and the views that are made of it.
 */
#ifndef TESTS_VIEW_BENCH_H
#define TESTS_VIEW_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "target/view.h"

#define NQN "nqn.2026-11.local.weir:"

enum { SUBSYS = 3, NS = 4, HOSTS = 3 };

/* A config that is right, whose parts a test changes, and the views that were made of it. */
struct view_sample {
	struct arena arena;
	struct target_config config;
	struct target_listen listen[TARGET_LISTENERS_MAX + 1], referrals[CTRL_REFERRALS_MAX + 1];
	struct target_subsys subsys[SUBSYS];
	struct target_ana ana[2];
	struct target_ns ns[SUBSYS][NS];
	struct blk volumes[SUBSYS * NS];
	const char *hosts[HOSTS];
	uint64_t numbered[SUBSYS * NS];
	struct view_numbers numbers;
	struct view *view;
	char why[256];
};

int view_setup(void **state);
int view_teardown(void **state);

/* The view of the config as it is now, after the one before. */
const struct view *view_next(struct view_sample *s);

#endif
