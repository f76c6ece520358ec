/*
 * ring.h - a single-producer single-consumer ring of fixed-size messages.
 *
 * One thread puts, one thread takes; nothing else may touch it.  One of the
 * two files of the project with atomics.
 */
#ifndef WEIR_BASE_RING_H
#define WEIR_BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	_Alignas(64) _Atomic uint32_t head; /* next to take; written by the consumer */
	uint32_t tail_seen;                 /* the consumer's last look at tail */
	_Alignas(64) _Atomic uint32_t tail; /* next to put; written by the producer */
	uint32_t head_seen;                 /* the producer's last look at head */
	_Alignas(64) uint8_t *slots;
	uint32_t mask;
	uint32_t bytes;                     /* per message */
};

/* `slots` holds count * bytes bytes; count is a power of two. */
void ring_init(struct ring *ring, void *slots, uint32_t count, uint32_t bytes);

/* Producer: copies a message in; false where the ring is full. */
bool ring_put(struct ring *ring, const void *message);

/* Consumer: copies the oldest message out; false where there is none. */
bool ring_take(struct ring *ring, void *message);

/* Either side: a hint whether a take would find something. */
bool ring_has(const struct ring *ring);

#endif
