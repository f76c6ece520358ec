/*
 * trace_in.h - a file, or standard input, as the bytes it has when it is unpacked.
 *
 * Knows files and unpack.h, and nothing of what the bytes say.  Its memory does
 * not grow with the file.
 */
#ifndef WEIR_CMD_TRACE_IN_H
#define WEIR_CMD_TRACE_IN_H

#include <stddef.h>
#include <stdint.h>

struct trace_in;

#define TRACE_IN_UNKNOWN UINT64_MAX

/*
 * Opens the file, "-" is standard input, and reads how it begins.  0, and `*in` is to be closed; or a negative errno
 * after having said on stderr what is wrong.  `path` is to stay.
 */
int trace_in_open(const char *path, struct trace_in **in) __attribute__((warn_unused_result));
void trace_in_close(struct trace_in *in); /* NULL is ignored */

/*
 * The next bytes, `room` at most and not 0, into `text`; 0 in `*bytes`: there are no more.  0, or a negative errno
 * after having said on stderr what is wrong; -EBADMSG: what is packed is damaged or cut off.
 */
int trace_in_read(struct trace_in *in, char *text, size_t room, size_t *bytes) __attribute__((warn_unused_result));

/* How far it is: bytes of the file, packed as they may be, and how many it has, or TRACE_IN_UNKNOWN: a pipe. */
uint64_t trace_in_done(const struct trace_in *in);
uint64_t trace_in_total(const struct trace_in *in);

/* What it is called where it is spoken of. */
const char *trace_in_name(const struct trace_in *in);

#endif
