/*
 * range.h - who may touch which blocks of a volume now.
 *
 * A volume without a home is used by every reactor at once.  This table is the
 * one thing that they share on the I/O path: a hold on a range of blocks is
 * shared (reads, also while their bytes are lent) or exclusive (whatever
 * changes blocks).  A taker is answered at once, yes or no: nothing here
 * waits, spins or wakes anybody.  It does not know I/Os, nor who asks again.
 *
 * The volume is cut into stripes of 64 KiB; stripe n is guarded by slot n
 * modulo the table, so two ranges may meet in a slot without having a block in
 * common.  That costs a wait and nothing else.  A slot is one word:
 *
 *   bit 63       owned exclusively
 *   bit 62       noted: there is something to know of these blocks, see range_note()
 *   bits 61:32   how many takers of exclusive holds wait for this slot
 *   bits 31:0    how many shared holds there are
 *
 * While somebody waits for a slot, no new shared hold of it is given and no
 * exclusive one to those who do not wait themselves: readers cannot starve a
 * writer.  One of the three places of the project with atomics (tests/layers.py).
 */
#ifndef WEIR_BLK_RANGE_H
#define WEIR_BLK_RANGE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct arena;

enum { RANGE_STRIPE = 64 * 1024, RANGE_SLOTS_MAX = 4096 };

struct range {
	_Atomic uint64_t *slots;
	uint32_t mask;  /* slots less one; their number is a power of two */
	uint32_t shift; /* from blocks to stripes */
	bool shared;    /* by several reactors */
};

/* For so many reactors: where there is one alone, the words need not be changed atomically, which
 * would also wait for all its stores.  0, or -ENOMEM. */
int range_init(struct range *range, struct arena *arena, uint64_t blocks, uint32_t block_size,
    unsigned reactors) __attribute__((warn_unused_result));
void range_fini(struct range *range, struct arena *arena);

/* Adds to a slot's word and returns what it was. */
static inline uint64_t
range_slot_add(const struct range *range, _Atomic uint64_t *slot, uint64_t n, memory_order order)
{
	uint64_t before;

	if (range->shared)
		return atomic_fetch_add_explicit(slot, n, order);
	before = atomic_load_explicit(slot, memory_order_relaxed);
	atomic_store_explicit(slot, before + n, memory_order_relaxed);
	return before;
}

/* Makes a free word owned; false: it is not free. */
static inline bool
range_slot_take(const struct range *range, _Atomic uint64_t *slot, uint64_t free, uint64_t owned)
{
	/* Acquire: the reads of the last sharers and the writes of the last owner come before our
	 * writes.  A slot that changed since we looked counts as busy: we do not spin. */
	if (range->shared)
		return atomic_compare_exchange_strong_explicit(slot, &free, owned, memory_order_acquire,
		    memory_order_relaxed);
	if (atomic_load_explicit(slot, memory_order_relaxed) != free)
		return false;
	atomic_store_explicit(slot, owned, memory_order_relaxed);
	return true;
}

/* The slow halves of the two below: stripes `first` to `last`.  Never a part of those who take the short way, which
 * then need no frame. */
__attribute__((noinline)) bool range_share_stripes(struct range *range, uint64_t first, uint64_t last);
__attribute__((noinline)) void range_unshare_stripes(struct range *range, uint64_t first, uint64_t last);

/* Takes a shared hold of `blocks` blocks (at least one); false: not now, or of any of the slots something is
 * noted, and nothing is held. */
static inline bool
range_share(struct range *range, uint64_t lba, uint32_t blocks)
{
	uint64_t first = lba >> range->shift, last = (lba + blocks - 1) >> range->shift;

	if (first != last)
		return range_share_stripes(range, first, last);
	/* Acquire: what the last owner wrote to the blocks comes before our reads of them. */
	if (range_slot_add(range, &range->slots[first & range->mask], 1, memory_order_acquire) >> 32 == 0)
		return true;
	/* Relaxed: we have read nothing that this could come before. */
	range_slot_add(range, &range->slots[first & range->mask], -UINT64_C(1), memory_order_relaxed);
	return false;
}

/* Ends a shared hold; lba and blocks as they were taken. */
static inline void
range_unshare(struct range *range, uint64_t lba, uint32_t blocks)
{
	uint64_t first = lba >> range->shift, last = (lba + blocks - 1) >> range->shift, before;

	if (first != last) {
		range_unshare_stripes(range, first, last);
		return;
	}
	/* Release: our reads of the blocks come before the writes of the next owner. */
	before = range_slot_add(range, &range->slots[first & range->mask], -UINT64_C(1), memory_order_release);
	assert((uint32_t)before != 0);
}

/* The same, also where something is noted. */
bool range_share_noted(struct range *range, uint64_t lba, uint32_t blocks);

/*
 * Notes, for as long as the table is there, that there is something to know of
 * these blocks: whoever takes them the short way, by range_share() or
 * range_own_one(), is refused, and so what is known of few blocks costs those
 * who touch others nothing.  Who is given a hold after that of the caller ended
 * sees it, and what the caller wrote before.
 */
void range_note(struct range *range, uint64_t lba, uint32_t blocks);

/* Whether something is noted of any slot of these blocks, which the caller holds. */
bool range_is_noted(const struct range *range, uint64_t lba, uint32_t blocks);

/* Whether somebody waits for an exclusive hold of any slot of these blocks, which the caller holds. */
bool range_is_waited(const struct range *range, uint64_t lba, uint32_t blocks);

#define RANGE_OWNED (UINT64_C(1) << 63)

/*
 * Takes an exclusive hold; false: not now, and nothing is held.  `waiting`: the
 * caller waits for exactly this range, which ends when the hold is given.
 */
bool range_own(struct range *range, uint64_t lba, uint32_t blocks, bool waiting);
void range_disown(struct range *range, uint64_t lba, uint32_t blocks);

/*
 * The same for the common case, a range in one stripe of which nothing is noted
 * and a caller who does not wait; false also where it is none.
 */
static inline bool
range_own_one(struct range *range, uint64_t lba, uint32_t blocks)
{
	uint64_t stripe = lba >> range->shift;

	return stripe == (lba + blocks - 1) >> range->shift &&
	    range_slot_take(range, &range->slots[stripe & range->mask], 0, RANGE_OWNED);
}

/* Ends what range_own_one() gave. */
static inline void
range_disown_one(struct range *range, uint64_t lba)
{
	/* Release: our writes to the blocks come before what the next holder reads or writes. */
	uint64_t before = range_slot_add(range, &range->slots[lba >> range->shift & range->mask], -RANGE_OWNED,
	    memory_order_release);

	assert((before & RANGE_OWNED) != 0);
}

/* Begins or gives up waiting for an exclusive hold. */
void range_wait(struct range *range, uint64_t lba, uint32_t blocks);
void range_unwait(struct range *range, uint64_t lba, uint32_t blocks);

#endif
