/*
 * probe.c - how far apart are two processors just now?
 *
 * Virtual processors move about: the round trip of a cache line between two of
 * them is 120-135 ns at some times and about 480 ns at others, and every result
 * with an end on each follows it.  This measures it and nothing else.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "ceiling.h"

enum { ROUNDS = 200000, PER_SAMPLE = 40, SAMPLES = ROUNDS / PER_SAMPLE, NEAR_NS = 250 };

/* Tight loops: a pause instruction is as long as half a round trip, and blurs it. */
struct table {
	_Alignas(128) atomic_uint ball;
	_Alignas(128) int cpu;
};

static void *
answer(void *arg)
{
	struct table *table = arg;

	pin(table->cpu);
	for (unsigned i = 1; i <= ROUNDS; i++) {
		while (atomic_load_explicit(&table->ball, memory_order_acquire) != 2 * i - 1)
			continue;
		atomic_store_explicit(&table->ball, 2 * i, memory_order_release);
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
	struct table table = { .cpu = options->other_cpu };
	pthread_t thread;
	double median;

	if (options->cpu < 0 || options->other_cpu < 0)
		die("probe needs --cpus A,B");
	pin(options->cpu);
	if (pthread_create(&thread, NULL, answer, &table) != 0)
		die("pthread_create failed");
	for (unsigned i = 1, sample = 0; sample < SAMPLES; sample++) {
		uint64_t before = tsc();

		for (unsigned j = 0; j < PER_SAMPLE; j++, i++) {
			atomic_store_explicit(&table.ball, 2 * i - 1, memory_order_release);
			while (atomic_load_explicit(&table.ball, memory_order_acquire) != 2 * i)
				continue;
		}
		samples[sample] = tsc() - before;
	}
	pthread_join(thread, NULL);
	qsort(samples, SAMPLES, sizeof(samples[0]), compare);
	median = (double)samples[SAMPLES / 2] / PER_SAMPLE / tsc_per_ns();
	printf("{\"role\":\"probe\",\"round_trip_ns\":%.1f,\"mode\":\"%s\"}\n", median,
	    median < NEAR_NS ? "L" : "X");
	return 0;
}
