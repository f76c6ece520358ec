/*
 * kept.h - blocks that were written and that the device below does not have yet.
 *
 * The memory of a volatile cache: as many slots of a block for each reactor,
 * used in a ring, and for each block of the volume the slot that has it.  It
 * does not know I/Os, nor the device below.
 *
 * Nothing here locks.  Whoever looks at a block or changes it holds it in the
 * table of range.h, exclusively where it changes; that orders the reactors.
 * A reactor puts into its own ring alone, and a slot is used again only after
 * its ring was popped, by who held what was in it.
 */
#ifndef WEIR_BLK_KEPT_H
#define WEIR_BLK_KEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "blk/blk.h"
#include "blk/room.h"

struct kept_ring {
	uint64_t head, tail; /* count up; place p is slot p modulo the slots of a ring */
};

struct kept {
	struct reactor *reactor; /* whose world and arena are used */
	struct kept_ring *rings; /* one per reactor */
	struct room room;        /* where `where` lies, and stays */
	uint32_t *where;         /* of each block of the volume: its slot + 1; 0: it is not kept */
	uint64_t *lba;           /* of each slot: the block it has, if `where` says so too */
	uint8_t *bytes;
	uint32_t slots;          /* of a ring */
	unsigned ring_count;
	uint32_t block_size;
};

/* Room for `slots` blocks in each ring; 0, or -ENOMEM. */
int kept_init(struct kept *kept, struct reactor *reactor, uint64_t blocks, uint32_t block_size, uint32_t slots)
    __attribute__((warn_unused_result));
void kept_fini(struct kept *kept);

/* The volume has so many blocks, the new ones unknown yet to whoever else uses it; of the reactor that opened it.
 * 0, or a negative errno, and nothing has changed. */
int kept_grow(struct kept *kept, uint64_t blocks) __attribute__((warn_unused_result));

/* Whether the ring has room for so many blocks more. */
bool kept_room(const struct kept *kept, unsigned ring, uint32_t blocks);

/* Keeps the blocks, for which there is room; iov NULL: zeros. */
void kept_put(struct kept *kept, unsigned ring, uint64_t lba, uint32_t blocks, const struct iovec *iov);

/* Whether every one of the blocks is kept. */
bool kept_all(const struct kept *kept, uint64_t lba, uint32_t blocks);

/* Copies those that are kept into the buffers, each to its place. */
void kept_over(const struct kept *kept, uint64_t lba, uint32_t blocks, const struct iovec *iov);

/* The device below has them now. */
void kept_forget(struct kept *kept, uint64_t lba, uint32_t blocks);

/* ---- to give them to the device below ---- */

/* Places of one ring, or of all in turn. */
struct kept_sweep {
	unsigned ring, last;      /* the one it is in, and the last one */
	uint64_t from, at, end;   /* places */
};

/* Blocks that follow each other in the volume and in memory. */
struct kept_run {
	uint64_t lba;
	uint32_t blocks;
	struct iovec iov;
};

/* Everything; the whole volume is held. */
struct kept_sweep kept_sweep_all(const struct kept *kept);

/* The oldest of a ring, and what followed it; `run` says which blocks they are.  The ring is not empty. */
struct kept_sweep kept_sweep_oldest(const struct kept *kept, unsigned ring, struct blk_range *run);

/* One that was put into the ring, counted by any number. */
struct kept_sweep kept_sweep_any(const struct kept *kept, unsigned ring, uint64_t nth, struct blk_range *run);

bool kept_ring_empty(const struct kept *kept, unsigned ring);

/* So full that the oldest should go. */
bool kept_ring_full(const struct kept *kept, unsigned ring);

/* Of the blocks in `held`, those that are kept still, one run after the other; false: there are no more. */
bool kept_next(const struct kept *kept, struct kept_sweep *sweep, struct blk_range held, struct kept_run *run);

/* All that the sweep went over was forgotten: its places are free. */
void kept_swept(struct kept *kept, const struct kept_sweep *sweep);
void kept_swept_all(struct kept *kept);

#endif
