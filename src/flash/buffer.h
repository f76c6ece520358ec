/*
 * buffer.h - the units that wait in a drive's DRAM to be programmed, or to be forgotten for good.
 *
 * A slot for each: it waits in the line of the die it was dealt to, is being programmed, or stands for a trim whose
 * journal is not written.  Of a unit several may be there: one that waits or is trimmed, the newest, and such as are
 * being programmed.  It does not know what a program is, nor when it is over.  Source: doc/flash.md, "Time".
 */
#ifndef WEIR_FLASH_BUFFER_H
#define WEIR_FLASH_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define BUFFER_NONE UINT32_MAX

enum buffer_state {
	BUFFER_FREE,
	BUFFER_MERGING, /* the rest of its unit is read */
	BUFFER_WAITING,
	BUFFER_PROGRAMMING,
	BUFFER_TRIMMED,
};

struct buffer_slot {
	uint32_t unit;
	uint32_t older;        /* the next in the same chain of the index: of the same unit the newest comes first */
	uint32_t next;         /* in the die's line, among the free ones, or of a row that is being programmed */
	uint32_t after, before; /* by age */
	uint64_t sequence;     /* when it came: of what waits and is written again, when it came first */
	uint16_t die;
	uint8_t state;         /* enum buffer_state */
	bool dead;             /* it is being programmed in vain: what is newer was programmed or trimmed; no longer
			        * found */
};

struct buffer_line {
	uint32_t first, last, count;
	uint32_t merging; /* slots that will wait in it */
};

struct buffer {
	struct arena *arena;
	struct buffer_slot *slots;
	uint8_t *data;         /* of each slot, unit_bytes; NULL: contents are kept elsewhere */
	uint32_t *heads;       /* of the index */
	struct buffer_line *lines; /* by die */
	uint32_t count, free_count, free;
	uint32_t unit_bytes, mask, dies;
	uint32_t oldest, newest; /* by age, of all that are not free */
	uint64_t sequence;     /* of the last one that came */
	uint32_t trimmed;      /* slots */
};

/* So many slots for so many dies.  0, or -ENOMEM; buffer_fini() follows in any case. */
int buffer_init(struct buffer *buffer, struct arena *arena, uint32_t slots, uint32_t dies, uint32_t unit_bytes,
    bool data) __attribute__((warn_unused_result));
void buffer_fini(struct buffer *buffer);

/* Forgets all of them. */
void buffer_empty(struct buffer *buffer);

/* The newest slot of a unit, or BUFFER_NONE. */
static inline uint32_t
buffer_find(const struct buffer *b, uint32_t unit)
{
	uint32_t slot = b->heads[unit & b->mask];

	while (slot != BUFFER_NONE && b->slots[slot].unit != unit)
		slot = b->slots[slot].older;
	return slot;
}

/* A slot, of which there is one free: the newest of its unit.  buffer_wait(), buffer_merge() or buffer_trim()
 * follows. */
uint32_t buffer_take(struct buffer *buffer, uint32_t unit);

/* It waits for the rest of its unit; then buffer_wait() follows, with the same die. */
void buffer_merge(struct buffer *buffer, uint32_t slot, uint32_t die);

/* It is the last in that die's line. */
void buffer_wait(struct buffer *buffer, uint32_t slot, uint32_t die);

/* The unit is to be forgotten: what waits of it is not programmed any more. */
void buffer_trim(struct buffer *buffer, uint32_t slot);

/* The first of the die's line, which is not empty, is being programmed from now on. */
uint32_t buffer_program(struct buffer *buffer, uint32_t die);

/* It was not: it is the first of its line again. */
void buffer_again(struct buffer *buffer, uint32_t slot);

/* It is programmed in vain from now on. */
void buffer_kill(struct buffer *buffer, uint32_t slot);

/* It was programmed, or trimmed for good: older ones of its unit are dead. */
void buffer_done(struct buffer *buffer, uint32_t slot);

/* It is free. */
void buffer_give(struct buffer *buffer, uint32_t slot);

/* What came until then is programmed, but for what is trimmed. */
static inline bool
buffer_settled(const struct buffer *b, uint64_t sequence)
{
	uint32_t slot = b->oldest;

	while (slot != BUFFER_NONE && b->slots[slot].state == BUFFER_TRIMMED)
		slot = b->slots[slot].after;
	return slot == BUFFER_NONE || b->slots[slot].sequence > sequence;
}

static inline uint8_t *
buffer_data(const struct buffer *b, uint32_t slot)
{
	return b->data + (uint64_t)slot * b->unit_bytes;
}

#endif
