/*
 * cpu.h - how much of a processor has this program used?
 */
#ifndef WEIR_BENCH_CPU_H
#define WEIR_BENCH_CPU_H

#include <stdint.h>
#include <time.h>

static inline uint64_t
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
