/*
 * lib_bench.h - what tests of the library share: cmocka, and a host, a subsystem, I/O that must go well.
 */
#ifndef WEIR_TESTS_LIB_BENCH_H
#define WEIR_TESTS_LIB_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <weir/weir.h>

#include "served.h"

/* What says why it failed. */
#define must(call) must_be((call), 0, #call, __FILE__, __LINE__)
#define must_fail(call, error) must_be((call), (error), #call, __FILE__, __LINE__)

void must_be(int rc, int expected, const char *what, const char *file, int line);

/* The last failure of this thread says this. */
void must_say(const char *words);

/* One whose name is SERVED_HOST, so that what is in /etc does not matter. */
struct weir_host *bench_host(void);

/* Of namespace 1 of a target, which is made known. */
struct weir_subsys *bench_subsys(struct weir_host *host, const struct served *served,
    const struct weir_subsys_options *options);
struct weir_queue *bench_queue(struct weir_subsys *subsys, uint32_t depth);

/* Bytes that tell which block they are of, and when it was written. */
void bench_fill(void *data, size_t bytes, uint64_t offset, uint32_t version);
void bench_check(const void *data, size_t bytes, uint64_t offset, uint32_t version);

/* Polls until nothing is in flight. */
void bench_drain(struct weir_queue *queue);

#endif
