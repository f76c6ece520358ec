/*
 * trace_rows.h - workloads and what they are like, one a row: as a table, as CSV, as JSON.
 *
 * The first six columns of the CSV are what `weir plan --workloads` reads.  What
 * is not known is "-" in the table, nothing in the CSV, and null in JSON.
 */
#ifndef WEIR_CMD_TRACE_ROWS_H
#define WEIR_CMD_TRACE_ROWS_H

#include "trace/reader.h"
#include "trace/stat.h"

struct trace_row {
	char *name;
	const char *path; /* of its file */
	struct trace_stat stat;
};

/* What was read, and what of it cannot be. */
struct trace_source {
	const char *path;
	enum trace_format format;
	struct trace_read read;
};

struct trace_rows {
	struct trace_row *rows;
	size_t count, room;
	struct trace_source *sources;
	size_t source_count;
};

/* 0 or -ENOMEM.  The path stays the caller's. */
int trace_rows_add(struct trace_rows *rows, const char *name, const char *path, const struct trace_stat *stat)
    __attribute__((warn_unused_result));
void trace_rows_free(struct trace_rows *rows);

/* On standard output.  0 or -ENOMEM. */
int trace_rows_table(const struct trace_rows *rows) __attribute__((warn_unused_result));
void trace_rows_csv(const struct trace_rows *rows);
void trace_rows_json(const struct trace_rows *rows);

#endif
