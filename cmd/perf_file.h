/*
 * perf_file.h - the jobs of `weir perf` as a file has them.
 *
 * Pure: text in, checked jobs out.
 */
#ifndef WEIR_CMD_PERF_FILE_H
#define WEIR_CMD_PERF_FILE_H

#include "conf/conf.h"
#include "perf_job.h"

struct perf_file {
	unsigned job_count;
	struct perf_job jobs[PERF_JOBS_MAX];
	int after[PERF_JOBS_MAX]; /* of each job: the one that must be over before, or -1 */
};

/*
 * Reads and checks a file's text.  What the jobs point to is in the arena.  0; -EINVAL: `errors` has one at least;
 * -ENOMEM: it has none.
 */
int perf_file_parse(struct arena *arena, const char *text, size_t bytes, struct perf_file *file,
    struct conf_errors *errors) __attribute__((warn_unused_result));

#endif
