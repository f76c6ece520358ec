/*
 * rt_files_bench.h - a file of a kernel's file system, and rt to do one thing after the other with it.
 */
#ifndef TESTS_RT_FILES_BENCH_H
#define TESTS_RT_FILES_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "rt/rt.h"

#define MUST(what) do { if (!(what)) abort(); } while (0)

/* The file lies where the tests are run, which is a file system that is not in memory, as a rule. */
extern char files_path[];
int files_make_path(void **state);
int files_remove_path(void **state);
#define with_file(test) cmocka_unit_test_setup_teardown(test, files_make_path, files_remove_path)

struct rt *files_open_rt(unsigned reactors, enum rt_files files);

/* Does one thing and waits for it. */
int64_t files_perform(struct file *file, struct file_io io);
int64_t files_move(struct file *file, enum file_op op, void *bytes, uint64_t offset, size_t count);

uint8_t *files_random_bytes(size_t count, uint64_t seed);
bool files_is_zero(const uint8_t *bytes, size_t count);

#endif
