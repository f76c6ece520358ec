/*
 * volumes.h - which volumes a trace has, numbered by when they first appear.
 *
 * Inside src/trace.  They are as many as there is room for, and so is what each
 * is called: a trace of anything does not ask for memory.
 */
#ifndef WEIR_TRACE_VOLUMES_H
#define WEIR_TRACE_VOLUMES_H

#include "trace/line.h"
#include "trace/reader.h"

enum { VOLUME_SLOTS = 2 * TRACE_VOLUMES };

struct volumes {
	uint32_t count;
	uint16_t slots[VOLUME_SLOTS]; /* a hash table: numbers from 1; 0: none */
	char names[TRACE_VOLUMES][TRACE_VOLUME_NAME];
};

/* The volume that this line is about, which may be new.  NULL, or why it cannot be one: static. */
const char *volumes_find(struct volumes *volumes, const struct line_said *said, uint32_t *volume);

#endif
