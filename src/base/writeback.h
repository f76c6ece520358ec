/*
 * writeback.h - what was stored into memory, from the processor's caches to the memory itself.
 *
 * Which matters where that memory is kept without power: behind writeback_fence() there is what was written back
 * before, whatever becomes of the machine.  Each 8 bytes that were stored as one are so there, and in no order before
 * the fence.  It works on any memory.
 */
#ifndef WEIR_BASE_WRITEBACK_H
#define WEIR_BASE_WRITEBACK_H

#include <stddef.h>

enum writeback {
	WRITEBACK_NONE,       /* it cannot be done */
	WRITEBACK_CLFLUSH,    /* one line after the other, which then have to be read again */
	WRITEBACK_CLFLUSHOPT, /* side by side */
	WRITEBACK_CLWB,       /* and they stay in the cache */
};

/* The best way that this processor has; it takes microseconds to find out. */
enum writeback writeback_best(void);

/* All lines with some of these bytes; a way that the processor has. */
void writeback_lines(enum writeback way, const void *at, size_t bytes);
void writeback_fence(void);

#endif
