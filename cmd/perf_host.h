/*
 * perf_host.h - the host that the loads of `weir perf` have in common, and what is said of them meanwhile.
 */
#ifndef WEIR_CMD_PERF_HOST_H
#define WEIR_CMD_PERF_HOST_H

#include "perf_run.h"

/* On stderr, in place of a line of progress. */
void perf_complain(const struct perf_plan *plan, const char *what, const char *why);

/* 0, or a negative errno after having said why. */
int perf_host_start(const struct perf_plan *plan, struct weir_host **host) __attribute__((warn_unused_result));

#endif
