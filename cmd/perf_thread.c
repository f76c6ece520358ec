#include "perf_thread.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

#include "perf_streams.h"

enum { LOOK_TURNS = 64 }; /* one that never has to wait looks now and then all the same */

/* What the kernel says of this thread: how long it was ready and did not run. */
static uint64_t
waited_ns(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	uint64_t ran = 0, waited = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
		waited = 0;
	fclose(file);
	return waited;
}

static void
pin(int cpu)
{
	cpu_set_t one;

	if (cpu < 0)
		return;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

/* ---- what others see ---- */

static void
show(struct perf_thread *thread)
{
	thread->show_next_ns = perf_now(&thread->clock) + thread->show_ns;
	pthread_mutex_lock(&thread->lock);
	perf_result_init(&thread->shown);
	for (unsigned i = 0; i < thread->load_count; i++) {
		const struct perf_result *result = &thread->loads[i].result;

		hist_merge(&thread->shown.read.hist, &result->read.hist);
		hist_merge(&thread->shown.write.hist, &result->write.hist);
		thread->shown.read.bytes += result->read.bytes;
		thread->shown.write.bytes += result->write.bytes;
	}
	pthread_mutex_unlock(&thread->lock);
}

/* ---- the loop ---- */

/* How long nothing is to be done but what comes: us, or -1 for ever. */
static int64_t
wait_us(struct perf_thread *thread)
{
	uint64_t next_ns = thread->show_ns > 0 ? thread->show_next_ns : UINT64_MAX, now_ns;

	for (unsigned i = 0; i < thread->load_count; i++) {
		const struct load *load = &thread->loads[i];
		uint64_t due_ns = load->due_ns < load->end_ns ? load->due_ns : load->end_ns;

		if (load->phase == LOADING && load->due_ns != 0 && due_ns < next_ns)
			next_ns = due_ns;
	}
	if (next_ns == UINT64_MAX)
		return -1;
	now_ns = perf_now(&thread->clock);
	return next_ns > now_ns ? (int64_t)(next_ns - now_ns) / 1000 + 1 : 0;
}

struct costs {
	struct weir_queue_stats stats;
	uint64_t waited_ns;
};

static struct costs
costs_now(const struct perf_thread *thread)
{
	struct costs costs = { .waited_ns = waited_ns() };

	weir_queue_stats(thread->queues[0], &costs.stats);
	return costs;
}

/* All of the thread's are the first load's: they cannot be told apart. */
static void
note_costs(struct perf_thread *thread, const struct costs *before)
{
	struct perf_result *result = &thread->loads[0].result;
	struct costs now = costs_now(thread);

	result->syscalls = now.stats.syscalls - before->stats.syscalls;
	result->busy_turns = now.stats.busy_turns - before->stats.busy_turns;
	result->busy_ns = now.stats.busy_ns - before->stats.busy_ns;
	result->waited_ns = now.waited_ns - before->waited_ns;
}

static void
note_resent(struct perf_thread *thread)
{
	for (unsigned i = 0; i < thread->queue_count; i++) {
		struct weir_queue_stats stats;

		weir_queue_stats(thread->queues[i], &stats);
		thread->loads[0].result.resent += stats.resent;
	}
}

static void
look_for_stop(struct perf_thread *thread)
{
	bool stop;

	pthread_mutex_lock(&thread->lock);
	stop = thread->stop;
	pthread_mutex_unlock(&thread->lock);
	for (unsigned i = 0; stop && i < thread->load_count; i++)
		perf_load_stop(&thread->loads[i]);
}

/* Whether something is done.  Of its loads all are ordered, or none. */
static bool
poll(struct perf_thread *thread, int64_t timeout_us)
{
	struct load *load;

	if (thread->loads[0].streams == NULL)
		return weir_queue_poll(thread->queues[0], timeout_us) > 0;
	do {
		load = &thread->loads[thread->turn++ % thread->load_count];
	} while (perf_load_over(load));
	return perf_streams_poll(load, timeout_us);
}

void *
perf_thread_run(void *arg)
{
	struct perf_thread *thread = arg;
	struct costs before;
	unsigned left = thread->load_count, turns = 0;

	pin(thread->cpu);
	before = costs_now(thread);
	for (unsigned i = 0; i < thread->load_count; i++)
		perf_load_begin(&thread->loads[i]);
	while (left > 0) {
		int64_t timeout_us = wait_us(thread);

		thread->clock.now_ns = 0;
		if (!poll(thread, timeout_us) || ++turns % LOOK_TURNS == 0)
			look_for_stop(thread);
		left = 0;
		for (unsigned i = 0; i < thread->load_count; i++) {
			if (perf_load_go_on(&thread->loads[i]))
				note_costs(thread, &before);
			left += !perf_load_over(&thread->loads[i]);
		}
		if (thread->show_ns > 0 && perf_now(&thread->clock) >= thread->show_next_ns)
			show(thread);
	}
	note_resent(thread);
	thread->ended(thread->ended_arg);
	return NULL;
}
