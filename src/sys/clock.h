/*
 * clock.h - the kernel's clocks and its random numbers.
 */
#ifndef WEIR_SYS_CLOCK_H
#define WEIR_SYS_CLOCK_H

#include <stdint.h>

/* Monotonic nanoseconds; no system call where the kernel has a vdso. */
uint64_t clock_now_ns(void);

/* Milliseconds since 1970-01-01. */
uint64_t clock_wall_ms(void);

/* Unpredictable; one system call. */
uint64_t clock_random(void);

#endif
