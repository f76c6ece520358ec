/*
 * read_bench.h - what is said of a file of workloads or drives, as its readers say it.
 */
#ifndef TESTS_READ_BENCH_H
#define TESTS_READ_BENCH_H

#include "place/csv.h"

/* That a remark of this line (0: of the whole file) has these words. */
void read_says(const struct csv_remarks *remarks, uint32_t line, const char *words);

/* That nothing is said but what is in words that can be shown, of lines that there are. */
void read_said_is_sound(const struct csv_said *said, const char *text, size_t bytes);

#endif
