#include "base/ring.h"

#include <assert.h>
#include <string.h>

void
ring_init(struct ring *ring, void *slots, uint32_t count, uint32_t bytes)
{
	assert(count > 0 && (count & (count - 1)) == 0);
	*ring = (struct ring){ .slots = slots, .mask = count - 1, .bytes = bytes };
}

bool
ring_put(struct ring *ring, const void *message)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	if (tail - ring->head_seen > ring->mask) {
		/* Acquire: the consumer's copy out of a slot comes before ours into it. */
		ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
		if (tail - ring->head_seen > ring->mask)
			return false;
	}
	memcpy(ring->slots + (size_t)(tail & ring->mask) * ring->bytes, message, ring->bytes);
	/* Release: the message is whole before its tail is seen. */
	atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
	return true;
}

bool
ring_take(struct ring *ring, void *message)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head == ring->tail_seen) {
		/* Acquire: pairs with the producer's release of tail. */
		ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (head == ring->tail_seen)
			return false;
	}
	memcpy(message, ring->slots + (size_t)(head & ring->mask) * ring->bytes, ring->bytes);
	/* Release: our copy is done before the producer may overwrite the slot. */
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	return true;
}

bool
ring_has(const struct ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_relaxed) !=
	    atomic_load_explicit(&ring->tail, memory_order_acquire);
}
