/*
 * rt_attended_bench.h - a process that is attended, and who attends to its reactors.
 */
#ifndef WEIR_TESTS_RT_ATTENDED_BENCH_H
#define WEIR_TESTS_RT_ATTENDED_BENCH_H

#include "rt/rt.h"

/* With few buffers, a system call for each move, and a log that nothing is to come to. */
struct rt *attended_open(unsigned reactors, uint32_t spin_us);

/* As these are used by threads that cmocka cannot leave, they abort() where something is wrong. */
struct reactor *rt_taken(struct rt *rt);

/* Within the time; negative: there is none. */
bool rt_readable(struct reactor *reactor, int timeout_ms);

/* Until a turn was of no use. */
void rt_rest(struct reactor *reactor);

/* Sleeps once, in poll() or in rt_turn(), and does what it was woken for. */
void rt_attend(struct reactor *reactor, bool by_poll);

#endif
