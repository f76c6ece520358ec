#include "perf_result.h"

#include <string.h>

void
perf_result_init(struct perf_result *result)
{
	*result = (struct perf_result){ .verify = false };
	hist_init(&result->read.hist);
	hist_init(&result->write.hist);
	hist_init(&result->durable.hist);
}

static void
side_add(struct perf_side *into, const struct perf_side *from)
{
	hist_merge(&into->hist, &from->hist);
	into->bytes += from->bytes;
}

static void
span_add(struct perf_result *into, const struct perf_result *from)
{
	if (from->begun_ns == 0)
		return;
	if (into->begun_ns == 0 || from->begun_ns < into->begun_ns)
		into->begun_ns = from->begun_ns;
	if (from->ended_ns > into->ended_ns)
		into->ended_ns = from->ended_ns;
}

void
perf_result_add(struct perf_result *into, const struct perf_result *from)
{
	side_add(&into->read, &from->read);
	side_add(&into->write, &from->write);
	side_add(&into->durable, &from->durable);
	span_add(into, from);
	into->syscalls += from->syscalls;
	into->busy_turns += from->busy_turns;
	into->busy_ns += from->busy_ns;
	into->waited_ns += from->waited_ns;
	into->resent += from->resent;
	into->losses += from->losses;
	if (from->pause_ns > into->pause_ns)
		into->pause_ns = from->pause_ns;
	if (into->errors == 0)
		memcpy(into->first_error, from->first_error, sizeof(into->first_error));
	into->errors += from->errors;
	into->stopped |= from->stopped;
	into->unanswered += from->unanswered;
	into->streams += from->streams;
	into->groups += from->groups;
	into->commands += from->commands;
	into->durables |= from->durables;
	into->verify |= from->verify;
	into->checked += from->checked;
	if (into->wrong == 0)
		into->first_wrong = from->first_wrong;
	into->wrong += from->wrong;
}

static void
side_take(struct perf_side *now, const struct perf_side *before)
{
	now->bytes -= before->bytes;
	now->hist.count -= before->hist.count;
	now->hist.sum -= before->hist.sum;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		now->hist.buckets[i] -= before->hist.buckets[i];
}

void
perf_result_take(struct perf_result *now, const struct perf_result *before)
{
	side_take(&now->read, &before->read);
	side_take(&now->write, &before->write);
}

double
perf_result_seconds(const struct perf_result *result)
{
	uint64_t ns = result->ended_ns - result->begun_ns;

	return ns > 0 ? (double)ns / 1e9 : 1e-9;
}
