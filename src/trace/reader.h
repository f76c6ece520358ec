/*
 * reader.h - a trace as text, in pieces of any size: bytes in, requests out.
 *
 * Constant memory, and nothing is lost in silence: a line that cannot be read
 * is counted, and the first ones are kept with their numbers and why.  What the
 * formats are to the byte, and what is bad, is in doc/traces.md.  Pure: who
 * opens the file, and unpacks it, is elsewhere.
 */
#ifndef WEIR_TRACE_READER_H
#define WEIR_TRACE_READER_H

#include <stddef.h>

#include "trace/request.h"

struct arena;

enum trace_format {
	TRACE_MSR,      /* MSR-Cambridge: FILETIME,host,disk,Read|Write,offset,bytes,response */
	TRACE_SPC,      /* UMass: ASU,LBA,bytes,R|W,seconds[,more] */
	TRACE_FIU,      /* FIU: ns|s pid process lba blocks W|R major minor [digest] */
	TRACE_SSDSIM,   /* SSDsim ASCII: ns device lba sectors 0 (write) | 1 (read) */
	TRACE_VSCSI,    /* libCacheSim's vscsi CSV: version,seconds,op,bytes,lba */
	TRACE_BLKPARSE, /* blkparse's default text: Q (queued) events alone */
	TRACE_FORMATS
};

extern const char *const trace_format_names[TRACE_FORMATS]; /* "msr", "spc", ... */

enum { TRACE_LINE = 4096 /* bytes at most */, TRACE_BAD_KEPT = 16, TRACE_VOLUMES = 4096, TRACE_VOLUME_NAME = 64 };

struct trace_bad {
	uint64_t line;     /* from 1 */
	const char *why;   /* static */
	char text[64];     /* how it begins, for people: what is not printable is '?' */
};

struct trace_reader;

/* Of that format.  NULL: no memory. */
struct trace_reader *trace_reader_create(struct arena *arena, enum trace_format format);
void trace_reader_destroy(struct trace_reader *reader); /* NULL is ignored */

/*
 * Reads requests from `*bytes`, which has `*length`, and moves both on: as many as there is room for in `requests`; how
 * many.  Where it answers less than `room` all bytes have been taken: half a line at the end is kept, and goes on with
 * the next ones.  With `end` nothing comes after them, and the last line needs no newline.
 */
size_t trace_read(struct trace_reader *reader, const char **bytes, size_t *length, bool end,
    struct trace_request *requests, size_t room);

/* What was read so far: lines are counted when their end has come, or when they are too long. */
struct trace_read {
	uint64_t lines;    /* of these all but the next three are requests */
	uint64_t headings; /* empty, a comment, a heading; of blkparse: no arriving request, or the summary */
	uint64_t other;    /* requests that neither read nor write bytes: flushes, discards, ... */
	uint64_t bad;      /* cannot be read; the first TRACE_BAD_KEPT of them: */
	struct trace_bad bads[TRACE_BAD_KEPT];
	uint32_t volumes;
};

const struct trace_read *trace_reader_seen(const struct trace_reader *reader);
/* As the trace calls it: "usr.0", "3", "8,0". */
const char *trace_reader_volume(const struct trace_reader *reader, uint32_t volume);

/* Which format the first lines of a trace are of: the one that reads most of them, and more than half.  False: none. */
bool trace_guess(const char *bytes, size_t length, enum trace_format *format);

#endif
