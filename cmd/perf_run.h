/*
 * perf_run.h - jobs in, measurements out: threads, queues, and what is said meanwhile.
 */
#ifndef WEIR_CMD_PERF_RUN_H
#define WEIR_CMD_PERF_RUN_H

#include <weir/weir.h>

#include "host_options.h"
#include "perf_job.h"
#include "perf_result.h"

enum { PERF_CPUS_MAX = 128 };

struct perf_plan {
	const struct perf_job *jobs;
	const int *after;          /* of each job: the one that must be over before, or -1 */
	unsigned job_count;
	struct host_options host;  /* of all jobs; a job may want digests and flow control besides */
	const char *congestion;    /* NULL: the system's */
	int cpus[PERF_CPUS_MAX];   /* threads are pinned to these in turn */
	unsigned cpu_count;        /* 0: not pinned */
	bool progress;             /* a line on stderr that is overwritten */
	/* Called with what was done since the last time, every `interval_ns` (0: never). */
	uint64_t interval_ns;
	void (*interval)(void *arg, double seconds, const struct perf_result *since);
	void *interval_arg;
};

/* What came of a job; uris[] in the order of the job's. */
struct perf_outcome {
	bool ran;
	struct perf_result *uris;
};

/* What was measured, outcomes[job_count], until all is done or a signal asks to stop (stop.h).  0, or -1: some job did
 * not run, after having said on stderr why if it was not stopped. */
int perf_run(const struct perf_plan *plan, struct perf_outcome *outcomes);
void perf_outcomes_free(struct perf_outcome *outcomes, unsigned count);

#endif
