/*
 * trace_text.h - a file with a trace in it: opened, unpacked, its format seen by how it begins, read request by
 * request.
 *
 * Joins trace_in.h, which knows nothing of traces, and trace/reader.h, which
 * knows nothing of files.  Whoever uses it says how far it is, and what is made
 * of the requests.
 */
#ifndef WEIR_CMD_TRACE_TEXT_H
#define WEIR_CMD_TRACE_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "trace/reader.h"

struct arena;
struct trace_text;

enum { TRACE_TEXT_GUESS = -1 };
#define TRACE_TEXT_UNKNOWN UINT64_MAX

/*
 * Opens the file, "-" is standard input, and reads how it begins.  `format` is one of enum trace_format, or
 * TRACE_TEXT_GUESS.  0, and `*text` is to be closed; or a negative errno after having said on stderr what is wrong:
 * -EINVAL also where no format is that of the trace.  Its memory, which does not grow with the file, is the arena's.
 */
int trace_text_open(struct arena *arena, const char *path, int format, struct trace_text **text)
    __attribute__((warn_unused_result));
void trace_text_close(struct trace_text *text); /* NULL is ignored */

/*
 * The next requests, `room` at most and not 0; 0 in `*count`: there are no more.  0, or a negative errno after having
 * said on stderr what is wrong: it cannot be read on, or what is packed is damaged or cut off; -ENODATA: it has ended,
 * and no line of it is a request of its format.
 */
int trace_text_next(struct trace_text *text, struct trace_request *requests, size_t room, size_t *count)
    __attribute__((warn_unused_result));

/* How far it is: bytes of the file, packed as they may be, and how many it has, or TRACE_TEXT_UNKNOWN: a pipe. */
uint64_t trace_text_done(const struct trace_text *text);
uint64_t trace_text_total(const struct trace_text *text);

/* How many bytes of text that was. */
uint64_t trace_text_bytes(const struct trace_text *text);

/* What the file is called where it is spoken of; its format; what was seen of it (trace_reader_seen()), its volumes. */
const char *trace_text_name(const struct trace_text *text);
enum trace_format trace_text_format(const struct trace_text *text);
const struct trace_reader *trace_text_reader(const struct trace_text *text);

/* "FILE:LINE: why: how it begins" for each bad line that was kept, and how many more there were; nothing for none, and
 * nothing of a trace that has no other lines. */
void trace_text_complain(const struct trace_text *text, FILE *out);

#endif
