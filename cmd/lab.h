/*
 * lab.h - what the files of `weir lab` share.
 *
 *   lab.c         options, what there is, and which experiments are meant
 *   lab_run.c     runs them, and says what came of it: to people, and to files
 *   lab_crew.c    measurements and repetitions side by side
 *   lab_json.c    a result as JSON
 *   lab_workloads.c   a file of workloads, for experiments that take them
 */
#ifndef WEIR_CMD_LAB_H
#define WEIR_CMD_LAB_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "experiments.h"

struct lab_order {
	const struct experiment **chosen;
	unsigned count;
	uint64_t seed;
	const char *out;       /* a folder; NULL: nothing is written */
	bool json, sensitivity, quick;
	unsigned jobs;         /* processes at a time */
	struct lab_workloads workloads;
};

/* A file of them (place/workloads_read.h), into the arena; what is wrong with it, and what is odd, is said.  0, or a
 * negative errno. */
int lab_workloads_read(struct lab_workloads *workloads, struct arena *arena, const char *path)
    __attribute__((warn_unused_result));

/* Answers the exit code: EXIT_FAILED too where a check was not met. */
int lab_order_run(const struct lab_order *order);

/* The caller puts it. */
struct json_object *lab_result_json(const struct experiment *experiment, const struct result *result);

#endif
