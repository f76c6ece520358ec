/*
 * perf_thread.h - one thread of a job: its queues, the loads on them, and what it has done so far for others to see.
 */
#ifndef WEIR_CMD_PERF_THREAD_H
#define WEIR_CMD_PERF_THREAD_H

#include <pthread.h>

#include "perf_load.h"

struct perf_thread {
	struct weir_queue *queues[PERF_QUEUES_MAX]; /* they share what the first one has: one poll is for all.
	                                             * Of ordered writes one, which is their first stream's */
	unsigned queue_count;                       /* of these its own */
	struct load loads[PERF_URIS_MAX];           /* of those URIs that it has queues of */
	unsigned load_uri[PERF_URIS_MAX];           /* which that is */
	unsigned load_count;
	unsigned turn;                              /* of ordered loads: which one's streams are polled next */
	int cpu;                                    /* -1: not pinned */
	struct perf_clock clock;
	uint64_t show_ns;                           /* how often `shown` is brought up to date; 0: never */
	uint64_t show_next_ns;
	pthread_t thread;
	pthread_mutex_t lock;                       /* of what follows */
	struct perf_result shown;                   /* both sides so far */
	bool stop;                                  /* its loads are to be stopped; a signal hastens it */
	void (*ended)(void *arg);                   /* from the thread */
	void *ended_arg;
};

/* The body of the thread; arg is a struct perf_thread. */
void *perf_thread_run(void *arg);

#endif
