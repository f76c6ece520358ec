#include "perf_host.h"

#include <stdio.h>

enum { SPIN_US = 150 };

void
perf_complain(const struct perf_plan *plan, const char *what, const char *why)
{
	fprintf(stderr, "%sweir perf: %s%s%s\n", plan->progress ? "\r\033[K" : "", what,
	    why[0] != '\0' ? ": " : "", why);
}

static void
host_says(void *arg, enum weir_log_level level, const char *text)
{
	const struct perf_plan *plan = arg;

	if (level < WEIR_LOG_INFO || plan->host.verbose)
		perf_complain(plan, text, "");
}

int
perf_host_start(const struct perf_plan *plan, struct weir_host **host)
{
	struct weir_host_options options = {
		.size = sizeof(options), .hostnqn = plan->host.hostnqn, .hostid = plan->host.hostid,
		.congestion = plan->congestion, .log = host_says, .log_arg = (void *)(uintptr_t)plan,
	};
	int rc;

	/* Processors that were named are for this. */
	if (plan->cpu_count > 0)
		options.spin_us = SPIN_US;
	for (unsigned i = 0; i < plan->job_count; i++)
		options.queues_max += plan->jobs[i].threads;
	if (options.queues_max > PERF_QUEUES_MAX)
		options.queues_max = PERF_QUEUES_MAX;
	rc = weir_host_create(&options, host);
	if (rc != 0)
		perf_complain(plan, "cannot start", weir_error());
	return rc;
}
