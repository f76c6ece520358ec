/*
 * trace_play.h - a trace against a volume, at the pace that it has.
 *
 * A request begins in the volume where its offset does, the volume's size being
 * taken off as often as that goes, and goes on at the volume's start where it
 * goes beyond its end.  It takes all blocks that it touches.  What is more than
 * the target takes at once is several commands.  Where `depth` commands are under
 * way the next one waits, and is late.
 *
 * It knows nothing of options, and says nothing but what trace_text.h says.
 */
#ifndef WEIR_CMD_TRACE_PLAY_H
#define WEIR_CMD_TRACE_PLAY_H

#include "bar.h"
#include "ends.h"
#include "perf_result.h"
#include "trace_text.h"

struct play_order {
	struct volume *volume;
	struct trace_text *text;
	const char *only;      /* volume of the trace; NULL: all of them */
	unsigned depth;
	double speed;          /* 2: twice as fast; 0: as fast as can be */
	bool overwrite;        /* else writes are left out */
	bool quiet;            /* no bar */
};

struct play_outcome {
	struct perf_result result; /* of commands */
	struct hist late;          /* ns, from when a request was due until its last command was given */
	uint64_t played;           /* requests */
	uint64_t left_out;         /* writes, where none are to be played; */
	uint64_t elsewhere;        /* of volumes that are not played */
	uint64_t trace_ns;         /* from the first request that was played to the last, as the trace has it */
};

/* Until it ends, or is stopped (stop.h).  0, or a negative errno: -ENOMEM, or what trace_text_next() says; the outcome
 * is of what was played until then: of -ENODATA nothing. */
int play(const struct play_order *order, struct play_outcome *outcome) __attribute__((warn_unused_result));

#endif
