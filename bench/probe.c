/*
 * probe.c - how far apart are two processors just now, and keeping them there.
 *
 * Virtual processors move about: the round trip of a cache line between two of
 * them is 120-135 ns at some times and about 480 ns at others, and every result
 * with an end on each follows it.  This measures it and nothing else.
 *
 * One line alone would not do: which part of the shared cache and of the memory
 * it belongs to, which its address decides anew in each process, makes 20 % of a
 * difference.  The ball wanders over the lines of many pages, and a sample is
 * the mean of them all.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "ceiling.h"

enum { PAGE = 4096, LINES = 64, SAMPLES = 4000, ROUNDS = LINES * SAMPLES, SAME_CORE_NS = 75, NEAR_NS = 250 };

struct ball {
	atomic_uint count;
	uint8_t apart[PAGE + 128 - sizeof(atomic_uint)];
};

struct table {
	int cpu;
	_Alignas(128) struct ball balls[LINES];
};

/* Here and below tight loops: a pause instruction is as long as half a round trip, and blurs it. */
static void *
answer(void *arg)
{
	struct table *table = arg;

	pin(table->cpu);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		atomic_uint *ball = &table->balls[i % LINES].count;

		while (atomic_load_explicit(ball, memory_order_acquire) != 2 * i - 1)
			continue;
		atomic_store_explicit(ball, 2 * i, memory_order_release);
	}
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int
probe_run(const struct options *options)
{
	uint64_t samples[SAMPLES];
	static struct table table;
	pthread_t thread;
	double median;

	if (options->cpu < 0 || options->other_cpu < 0)
		die("probe needs --cpus A,B");
	pin(options->cpu);
	table.cpu = options->other_cpu;
	if (pthread_create(&thread, NULL, answer, &table) != 0)
		die("pthread_create failed");
	for (unsigned i = 1, sample = 0; sample < SAMPLES; sample++) {
		uint64_t before = tsc();

		for (unsigned j = 0; j < LINES; j++, i++) {
			atomic_uint *ball = &table.balls[i % LINES].count;

			atomic_store_explicit(ball, 2 * i - 1, memory_order_release);
			while (atomic_load_explicit(ball, memory_order_acquire) != 2 * i)
				continue;
		}
		samples[sample] = tsc() - before;
	}
	pthread_join(thread, NULL);
	qsort(samples, SAMPLES, sizeof(samples[0]), compare);
	median = (double)samples[SAMPLES / 2] / LINES / tsc_per_ns();
	printf("{\"role\":\"probe\",\"round_trip_ns\":%.1f,\"mode\":\"%s\"}\n", median,
	    median < SAME_CORE_NS ? "S" : median < NEAR_NS ? "L" : "X");
	return 0;
}

/* No pause instruction, which may give the processor to the host.  Yielding, it is at once out of
 * the way of whoever else is there; its low priority alone would still let it run out a tick. */
static void *
spin(void *cpu)
{
	struct sched_param none = { 0 };

	pin(*(const int *)cpu);
	if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
		die("sched_setscheduler failed");
	while (!stop_wanted())
		sched_yield();
	return NULL;
}

/*
 * A virtual processor that falls asleep is woken wherever its host has room, so
 * processors that sleep between slices move about.  Here each has something to
 * do that gives way to everything else.
 */
int
awake_run(const struct options *options)
{
	int other = options->other_cpu;
	pthread_t thread;

	if (options->cpu < 0 || options->other_cpu < 0)
		die("awake needs --cpus A,B");
	if (pthread_create(&thread, NULL, spin, &other) != 0)
		die("pthread_create failed");
	printf("{\"role\":\"awake\"}\n");
	fflush(stdout);
	spin((void *)(uintptr_t)&options->cpu);
	pthread_join(thread, NULL);
	return 0;
}
