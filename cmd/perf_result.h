/*
 * perf_result.h - what `weir perf` has measured, of a worker, a URI, a job or all.
 */
#ifndef WEIR_CMD_PERF_RESULT_H
#define WEIR_CMD_PERF_RESULT_H

#include <stdbool.h>

#include "base/hist.h"

struct perf_side {
	struct hist hist; /* ns */
	uint64_t bytes;
};

struct perf_result {
	struct perf_side read, write;
	uint64_t begun_ns, ended_ns;   /* of the load; 0: it has not begun */
	/* What the threads did for it: entries into the kernel, turns that were of use, what those took, and how long
	 * they were kept from running. */
	uint64_t syscalls, busy_turns, busy_ns, waited_ns;
	uint64_t resent, losses;       /* I/Os that were sent once more; paths that were lost */
	uint64_t pause_ns;             /* the longest time without a completion while there was something in flight */
	uint64_t errors;
	char first_error[160];
	bool stopped;                  /* before its end */
	uint64_t unanswered;           /* I/Os that were not waited for any more then */
	bool verify;
	/* Of ordered writes; streams 0: of others. */
	unsigned streams;
	uint64_t groups, commands;     /* that had ended; that were sent */
	bool durables;                 /* `durable`, from submit until the group is that, is of interest */
	struct perf_side durable;
	uint64_t checked, wrong, first_wrong; /* pieces of one I/O's size; byte offset */
};

void perf_result_init(struct perf_result *result);

/* Sums, of times the longest; what goes on at the same time counts as such. */
void perf_result_add(struct perf_result *into, const struct perf_result *from);

/* Of reads and writes, what they were before is taken away. */
void perf_result_take(struct perf_result *now, const struct perf_result *before);

double perf_result_seconds(const struct perf_result *result);

#endif
