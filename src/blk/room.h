/*
 * room.h - memory of a volume that grows while it is used, and does not move.
 *
 * Address space is reserved ahead, so that an address which a reactor has
 * computed, or lent, is good until the end.  Nothing of it is locked, and the
 * reactor that opened the volume alone makes it larger: others may touch what
 * came only after they were told of it.
 */
#ifndef WEIR_BLK_ROOM_H
#define WEIR_BLK_ROOM_H

#include <stddef.h>
#include <stdint.h>

struct reactor;

enum { ROOM_TIMES = 16 };                 /* so many times what it has at first */
#define ROOM_AHEAD (UINT64_C(1) << 38)    /* and not more bytes than this beyond that: there are more volumes */

struct room {
	struct reactor *reactor; /* who opened the volume */
	void *at;                /* NULL: there is none */
	size_t bytes, reserved;  /* whole pages */
};

/* Zeroed bytes, and as much ahead of them as there is to be had.  0, or -ENOMEM. */
int room_init(struct room *room, struct reactor *reactor, uint64_t bytes) __attribute__((warn_unused_result));
void room_fini(struct room *room);

/* 0, -EFBIG where so much was not reserved, or -ENOMEM; then nothing has changed. */
int room_grow(struct room *room, uint64_t bytes) __attribute__((warn_unused_result));

/* Zeros in a part of such pages, or of others that the reactor was given: what was never touched takes no memory after
 * it, and what is long takes none any more. */
void room_zero(struct reactor *reactor, uint8_t *at, uint64_t bytes);

#endif
