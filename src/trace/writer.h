/*
 * writer.h - a request as a line of text, in each format that reader.h reads.
 *
 * What a format has beside that (a host, a process, how long it took) is made up, and the same for all; offsets and
 * sizes are whole sectors of 512 bytes.
 */
#ifndef WEIR_TRACE_WRITER_H
#define WEIR_TRACE_WRITER_H

#include <stddef.h>

#include "trace/reader.h"

enum { TRACE_WRITE_MAX = 256 };

/* What comes first; "": nothing. */
const char *trace_write_heading(enum trace_format format);

/* The line, with its end.  `number` is how many came before it.  How long it is. */
size_t trace_write(enum trace_format format, const struct trace_request *request, uint64_t number,
    char text[TRACE_WRITE_MAX]);

#endif
