#include "blk/range.h"

#include <errno.h>

#include "base/arena.h"

#define OWNED RANGE_OWNED
#define NOTED (UINT64_C(1) << 62)
#define WAITER (UINT64_C(1) << 32)
#define WAITERS (NOTED - WAITER)

/*
 * The slots of a range, each of them once, in ascending order: so of two takers
 * that meet in several slots the first to have the lowest has them all.
 * Those of a range that goes past the end of the table begin with the
 * `wrapped` ones at its start.
 */
struct span {
	uint32_t first, wrapped, count;
};

static struct span
span_of(const struct range *range, uint64_t first, uint64_t last)
{
	uint32_t slots = range->mask + 1;
	struct span span;

	if (last - first >= range->mask)
		return (struct span){ 0, 0, slots };
	span.first = (uint32_t)first & range->mask;
	span.count = (uint32_t)(last - first + 1);
	span.wrapped = span.first + span.count > slots ? span.first + span.count - slots : 0;
	return span;
}

static struct span
span_of_blocks(const struct range *range, uint64_t lba, uint32_t blocks)
{
	return span_of(range, lba >> range->shift, (lba + blocks - 1) >> range->shift);
}

static _Atomic uint64_t *
slot_at(const struct range *range, struct span span, uint32_t i)
{
	return &range->slots[i < span.wrapped ? i : span.first + (i - span.wrapped)];
}

int
range_init(struct range *range, struct arena *arena, uint64_t blocks, uint32_t block_size,
    unsigned reactors)
{
	uint32_t slots = 1;

	assert(block_size == 512 || block_size == 4096);
	range->shift = block_size == 512 ? 7 : 4;
	while (slots < RANGE_SLOTS_MAX && (uint64_t)slots << range->shift < blocks)
		slots *= 2;
	range->mask = slots - 1;
	range->shared = reactors > 1;
	range->slots = arena_alloc_aligned(arena, slots * sizeof(*range->slots), 64);
	return range->slots != NULL ? 0 : -ENOMEM;
}

void
range_fini(struct range *range, struct arena *arena)
{
	arena_free(arena, range->slots);
	range->slots = NULL;
}

/* Gives back the first `count` slots of the span. */
static void
unshare(struct range *range, struct span span, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		/* Release: our reads of the blocks come before the writes of the next owner. */
		uint64_t before = range_slot_add(range, slot_at(range, span, i), -UINT64_C(1), memory_order_release);

		assert((uint32_t)before != 0);
	}
}

/* Unless any slot has one of the bits. */
static bool
share(struct range *range, struct span span, uint64_t busy)
{
	for (uint32_t i = 0; i < span.count; i++) {
		/* Acquire: what the last owner wrote to the blocks comes before our reads of them. */
		if ((range_slot_add(range, slot_at(range, span, i), 1, memory_order_acquire) & busy) != 0) {
			unshare(range, span, i + 1);
			return false;
		}
	}
	return true;
}

bool
range_share_stripes(struct range *range, uint64_t first, uint64_t last)
{
	return share(range, span_of(range, first, last), OWNED | NOTED | WAITERS);
}

bool
range_share_noted(struct range *range, uint64_t lba, uint32_t blocks)
{
	return share(range, span_of_blocks(range, lba, blocks), OWNED | WAITERS);
}

void
range_unshare_stripes(struct range *range, uint64_t first, uint64_t last)
{
	struct span span = span_of(range, first, last);

	unshare(range, span, span.count);
}

static void
disown(struct range *range, struct span span, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		/* Release: our writes to the blocks come before what the next holder reads or writes. */
		uint64_t before = range_slot_add(range, slot_at(range, span, i), -OWNED, memory_order_release);

		assert((before & OWNED) != 0);
	}
}

static bool
slot_own(const struct range *range, _Atomic uint64_t *slot, bool waiting)
{
	/* Relaxed: only a guess. */
	uint64_t seen = atomic_load_explicit(slot, memory_order_relaxed);

	if ((waiting ? seen & ~WAITERS : seen) & ~NOTED)
		return false;
	return range_slot_take(range, slot, seen, seen | OWNED);
}

bool
range_own(struct range *range, uint64_t lba, uint32_t blocks, bool waiting)
{
	struct span span = span_of_blocks(range, lba, blocks);

	for (uint32_t i = 0; i < span.count; i++) {
		if (!slot_own(range, slot_at(range, span, i), waiting)) {
			disown(range, span, i);
			return false;
		}
	}
	if (waiting)
		range_unwait(range, lba, blocks);
	return true;
}

void
range_disown(struct range *range, uint64_t lba, uint32_t blocks)
{
	struct span span = span_of_blocks(range, lba, blocks);

	disown(range, span, span.count);
}

void
range_wait(struct range *range, uint64_t lba, uint32_t blocks)
{
	struct span span = span_of_blocks(range, lba, blocks);

	/* Relaxed here and below: the count orders no access to the blocks, it only turns takers away. */
	for (uint32_t i = 0; i < span.count; i++)
		range_slot_add(range, slot_at(range, span, i), WAITER, memory_order_relaxed);
}

void
range_unwait(struct range *range, uint64_t lba, uint32_t blocks)
{
	struct span span = span_of_blocks(range, lba, blocks);

	for (uint32_t i = 0; i < span.count; i++) {
		uint64_t before = range_slot_add(range, slot_at(range, span, i), -WAITER, memory_order_relaxed);

		assert((before & WAITERS) != 0);
	}
}

void
range_note(struct range *range, uint64_t lba, uint32_t blocks)
{
	struct span span = span_of_blocks(range, lba, blocks);

	/* Relaxed: it is the end of the caller's hold that others see it by. */
	for (uint32_t i = 0; i < span.count; i++)
		atomic_fetch_or_explicit(slot_at(range, span, i), NOTED, memory_order_relaxed);
}

/* Relaxed: of what is noted the caller's hold tells, and who waits will wait a little longer. */
static bool
has(const struct range *range, struct span span, uint64_t bits)
{
	for (uint32_t i = 0; i < span.count; i++)
		if ((atomic_load_explicit(slot_at(range, span, i), memory_order_relaxed) & bits) != 0)
			return true;
	return false;
}

bool
range_is_noted(const struct range *range, uint64_t lba, uint32_t blocks)
{
	return has(range, span_of_blocks(range, lba, blocks), NOTED);
}

bool
range_is_waited(const struct range *range, uint64_t lba, uint32_t blocks)
{
	return has(range, span_of_blocks(range, lba, blocks), WAITERS);
}
