/*
 * trace_tell.h - what the workloads in files of traces are like, as rows.
 */
#ifndef WEIR_CMD_TRACE_TELL_H
#define WEIR_CMD_TRACE_TELL_H

#include <stdbool.h>

#include "base/arena.h"
#include "trace_names.h"
#include "trace_rows.h"

struct trace_tell {
	struct trace_stat_options options;
	int format;                                 /* enum trace_format, or TRACE_TEXT_GUESS */
	bool per_volume, quiet;                     /* a row for each volume of a trace; no bar, on a terminal */
	char **paths;                               /* of the files */
	unsigned count;
	struct arena arena;
	uint64_t room;                              /* of working sets (trace/working_set.h) */
	struct trace_tally *tallies[TRACE_VOLUMES]; /* of each volume; or of all, the first */
	struct trace_name *names;                   /* of each file, when the first one is told */
	struct trace_rows rows;
	bool left;                                  /* there were lines that cannot be read */
};

/* For so many files at most; the caller sets all that stands before the arena.  NULL: no memory; _destroy() takes
 * that. */
struct trace_tell *trace_tell_create(unsigned files);
void trace_tell_destroy(struct trace_tell *tell);

/*
 * Adds the rows of one of the files, by its number.  0, or a negative errno after having said what is wrong; lines that
 * cannot be read are said too.
 */
int trace_tell_file(struct trace_tell *tell, unsigned file) __attribute__((warn_unused_result));

#endif
