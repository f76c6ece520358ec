#include "blk/kept.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/iov.h"
#include "world/reactor.h"

enum { RUN_MAX = 64 };

int
kept_init(struct kept *kept, struct reactor *reactor, uint64_t blocks, uint32_t block_size, uint32_t slots)
{
	struct arena *arena = reactor->arena;
	uint64_t all = (uint64_t)slots * reactor->count;

	assert(slots > 0 && all < UINT32_MAX);
	*kept = (struct kept){
		.reactor = reactor, .slots = slots, .ring_count = reactor->count, .block_size = block_size,
	};
	kept->rings = arena_alloc(arena, reactor->count * sizeof(*kept->rings));
	kept->lba = arena_alloc(arena, all * sizeof(*kept->lba));
	kept->bytes = reactor->world->pages_map(reactor, all * block_size, false);
	if (kept->rings != NULL && kept->lba != NULL && kept->bytes != NULL &&
	    room_init(&kept->room, reactor, blocks * sizeof(*kept->where)) == 0) {
		kept->where = kept->room.at;
		return 0;
	}
	kept_fini(kept);
	return -ENOMEM;
}

void
kept_fini(struct kept *kept)
{
	struct reactor *reactor = kept->reactor;

	if (kept->bytes != NULL)
		reactor->world->pages_unmap(reactor, kept->bytes,
		    (size_t)kept->slots * kept->ring_count * kept->block_size);
	room_fini(&kept->room);
	arena_free(reactor->arena, kept->lba);
	arena_free(reactor->arena, kept->rings);
}

int kept_grow(struct kept *kept, uint64_t blocks) { return room_grow(&kept->room, blocks * sizeof(*kept->where)); }

bool
kept_room(const struct kept *kept, unsigned ring, uint32_t blocks)
{
	return kept->rings[ring].head - kept->rings[ring].tail + blocks <= kept->slots;
}

static uint32_t
slot_of(const struct kept *kept, unsigned ring, uint64_t place)
{
	return ring * kept->slots + (uint32_t)(place % kept->slots);
}

static uint8_t *
slot_bytes(const struct kept *kept, uint32_t slot)
{
	return kept->bytes + (uint64_t)slot * kept->block_size;
}

/* The slot of the block, a new one where it has none. */
static uint32_t
slot_for(struct kept *kept, unsigned ring, uint64_t lba)
{
	uint32_t slot;

	if (kept->where[lba] != 0)
		return kept->where[lba] - 1;
	assert(kept_room(kept, ring, 1));
	slot = slot_of(kept, ring, kept->rings[ring].head++);
	kept->lba[slot] = lba;
	kept->where[lba] = slot + 1;
	return slot;
}

/* A block to or from the buffers, `offset` bytes into what they hold. */
static void
copy_block(const struct kept *kept, uint8_t *block, const struct iovec *iov, uint64_t offset, bool in)
{
	size_t left = kept->block_size;

	for (iov = iov_seek(iov, &offset); left > 0; iov++, offset = 0) {
		uint8_t *at = (uint8_t *)iov->iov_base + offset;
		size_t n = iov->iov_len - offset < left ? iov->iov_len - offset : left;

		memcpy(in ? block : at, in ? at : block, n);
		block += n;
		left -= n;
	}
}

void
kept_put(struct kept *kept, unsigned ring, uint64_t lba, uint32_t blocks, const struct iovec *iov)
{
	for (uint32_t i = 0; i < blocks; i++) {
		uint8_t *block = slot_bytes(kept, slot_for(kept, ring, lba + i));

		if (iov != NULL)
			copy_block(kept, block, iov, (uint64_t)i * kept->block_size, true);
		else
			memset(block, 0, kept->block_size);
	}
}

bool
kept_all(const struct kept *kept, uint64_t lba, uint32_t blocks)
{
	for (uint32_t i = 0; i < blocks; i++)
		if (kept->where[lba + i] == 0)
			return false;
	return true;
}

void
kept_over(const struct kept *kept, uint64_t lba, uint32_t blocks, const struct iovec *iov)
{
	for (uint32_t i = 0; i < blocks; i++)
		if (kept->where[lba + i] != 0)
			copy_block(kept, slot_bytes(kept, kept->where[lba + i] - 1), iov,
			    (uint64_t)i * kept->block_size, false);
}

/* Looks first: what was never written to takes no memory. */
void
kept_forget(struct kept *kept, uint64_t lba, uint32_t blocks)
{
	for (uint32_t i = 0; i < blocks; i++)
		if (kept->where[lba + i] != 0)
			kept->where[lba + i] = 0;
}

/* ---- to give them to the device below ---- */

struct kept_sweep
kept_sweep_all(const struct kept *kept)
{
	const struct kept_ring *first = &kept->rings[0];

	return (struct kept_sweep){ 0, kept->ring_count - 1, first->tail, first->tail, first->head };
}

struct kept_sweep
kept_sweep_oldest(const struct kept *kept, unsigned ring, struct blk_range *run)
{
	const struct kept_ring *of = &kept->rings[ring];
	uint64_t end = of->tail + 1;

	*run = (struct blk_range){ kept->lba[slot_of(kept, ring, of->tail)], 1 };
	for (; end < of->head && run->blocks < RUN_MAX; end++, run->blocks++)
		if (kept->lba[slot_of(kept, ring, end)] != run->lba + run->blocks)
			break;
	return (struct kept_sweep){ ring, ring, of->tail, of->tail, end };
}

struct kept_sweep
kept_sweep_any(const struct kept *kept, unsigned ring, uint64_t nth, struct blk_range *run)
{
	const struct kept_ring *of = &kept->rings[ring];
	uint64_t place = of->tail + nth % (of->head - of->tail);

	*run = (struct blk_range){ kept->lba[slot_of(kept, ring, place)], 1 };
	return (struct kept_sweep){ ring, ring, place, place, place + 1 };
}

bool
kept_ring_empty(const struct kept *kept, unsigned ring)
{
	return kept->rings[ring].head == kept->rings[ring].tail;
}

bool
kept_ring_full(const struct kept *kept, unsigned ring)
{
	return kept->rings[ring].head - kept->rings[ring].tail > (uint64_t)kept->slots * 3 / 4;
}

/* Whether the slot has one of the blocks, still. */
static bool
is_live(const struct kept *kept, uint32_t slot, struct blk_range held)
{
	uint64_t lba = kept->lba[slot];

	return lba >= held.lba && lba - held.lba < held.blocks && kept->where[lba] == slot + 1;
}

static void
run_begin(const struct kept *kept, uint32_t slot, struct kept_run *run)
{
	run->lba = kept->lba[slot];
	run->blocks = 1;
	run->iov = (struct iovec){ slot_bytes(kept, slot), kept->block_size };
}

static bool
run_goes_on(const struct kept *kept, uint32_t slot, const struct kept_run *run)
{
	return run->blocks < RUN_MAX && kept->lba[slot] == run->lba + run->blocks &&
	    slot_bytes(kept, slot) == (uint8_t *)run->iov.iov_base + run->iov.iov_len;
}

static bool
next_ring(const struct kept *kept, struct kept_sweep *sweep)
{
	if (sweep->ring == sweep->last)
		return false;
	sweep->ring++;
	sweep->from = sweep->at = kept->rings[sweep->ring].tail;
	sweep->end = kept->rings[sweep->ring].head;
	return true;
}

bool
kept_next(const struct kept *kept, struct kept_sweep *sweep, struct blk_range held, struct kept_run *run)
{
	run->blocks = 0;
	do {
		for (; sweep->at < sweep->end; sweep->at++) {
			uint32_t slot = slot_of(kept, sweep->ring, sweep->at);
			bool live = is_live(kept, slot, held);

			if (run->blocks > 0 && (!live || !run_goes_on(kept, slot, run)))
				return true;
			if (!live)
				continue;
			if (run->blocks == 0) {
				run_begin(kept, slot, run);
			} else {
				run->blocks++;
				run->iov.iov_len += kept->block_size;
			}
		}
	} while (run->blocks == 0 && next_ring(kept, sweep));
	return run->blocks > 0;
}

void
kept_swept(struct kept *kept, const struct kept_sweep *sweep)
{
	struct kept_ring *ring = &kept->rings[sweep->ring];

	/* Not the oldest, or another reactor has swept all: its place is free with those before it. */
	if (ring->tail == sweep->from)
		ring->tail = sweep->end;
}

void
kept_swept_all(struct kept *kept)
{
	for (unsigned i = 0; i < kept->ring_count; i++)
		kept->rings[i].tail = kept->rings[i].head;
}
