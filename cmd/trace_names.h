/*
 * trace_names.h - what workloads are called whose traces are in files: each otherwise.
 *
 * "usr" is enough of a/usr.csv.gz where no other file is called so.  Where one
 * is, as much more of the path is taken as tells them apart, in this order: the
 * end of the name, folders without it, and both; and a number, "usr#2", where
 * nothing else does.  It knows paths, and no files.
 */
#ifndef WEIR_CMD_TRACE_NAMES_H
#define WEIR_CMD_TRACE_NAMES_H

enum { TRACE_NAME = 128 };

struct trace_name {
	char text[TRACE_NAME]; /* letters, digits and any of "-_./#"; no other one is the same */
	const char *path;
	unsigned file;         /* which of them it is of */
};

/* Of each path its name, in the order of the paths, which stay the caller's.  NULL: no memory; else to be freed. */
struct trace_name *trace_names_create(char *const *paths, unsigned count) __attribute__((warn_unused_result));

#endif
