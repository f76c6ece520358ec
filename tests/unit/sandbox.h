/*
 * sandbox.h - processes from which something was taken.
 *
 * Some machines and containers forbid io_uring: tests ask whether it is there,
 * and take it away from a process of their own to see what happens without it.
 */
#ifndef WEIR_TESTS_SANDBOX_H
#define WEIR_TESTS_SANDBOX_H

#include <stdbool.h>

bool sandbox_has_io_uring(void);

/* Runs `body` in a process of its own, whose only failure is a signal or abort(). */
void sandbox_run(void (*body)(void));

/* From now on the system call of this number fails in this process, as in a container. */
void sandbox_forbid(long number, int error);

#endif
