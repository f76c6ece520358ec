/*
 * lab.h - what the files of `weir lab` share.
 *
 *   lab.c         options, what there is, and which experiments are meant
 *   lab_run.c     runs them, and says what came of it: to people, and to files
 *   lab_crew.c    measurements and repetitions side by side
 *   lab_json.c    a result as JSON
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
};

/* Answers the exit code: EXIT_FAILED too where a check was not met. */
int lab_order_run(const struct lab_order *order);

/* The caller puts it. */
struct json_object *lab_result_json(const struct experiment *experiment, const struct result *result);

#endif
