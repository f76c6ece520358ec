/*
 * format.h - how a line of each format is read.
 *
 * Inside src/trace.  Each of these is a file of its own; doc/traces.md has the
 * columns to the byte, and where they come from.
 */
#ifndef WEIR_TRACE_FORMAT_H
#define WEIR_TRACE_FORMAT_H

#include "trace/line.h"
#include "trace/reader.h"

/* Of a line that is neither empty nor a comment.  `said` is set where it is a request, but not all of it otherwise. */
enum line_kind msr_line(struct line *line, struct line_said *said);
enum line_kind spc_line(struct line *line, struct line_said *said);
enum line_kind fiu_line(struct line *line, struct line_said *said);
enum line_kind ssdsim_line(struct line *line, struct line_said *said);
enum line_kind vscsi_line(struct line *line, struct line_said *said);
enum line_kind blkparse_line(struct line *line, struct line_said *said);

/*
 * The line from `at` to `end`, where a newline is, of that format.  `line` is what is left of it.  LINE_APART also for
 * one that is empty or a comment; `*text` is false then, and true otherwise.
 */
enum line_kind format_line(enum trace_format format, const char *at, const char *end, struct line *line,
    struct line_said *said, bool *text);

/* Where a trace begins: behind a byte order mark, which some programs write there. */
const char *format_begin(const char *at, const char *end);

/* Whether a line that cannot be read may be a heading: it names columns, as one that is first in its file may. */
bool format_heads(const char *at);

#endif
