/*
 * bad.h - which blocks of a volume are marked as unreadable (BLK_MARK_BAD).
 *
 * A bit per block, in pages that are touched, and so take memory, only where a
 * block is marked: 4 KiB for 32768 blocks, at most a bit for each block there
 * is.  The bits of a block are guarded by the hold of that block in the
 * volume's range: nobody else's are changed with them, since a stripe has whole
 * bytes.  Several who read share a hold: then the volume's lock (marks.h) has one of
 * them change a byte at a time, and bytes are read whole.  A stripe with a mark is
 * noted in the range, so that who touches other blocks does not look here at all.
 * It does not know what a read answers, nor where marks are kept (marks.h).
 */
#ifndef WEIR_BLK_BAD_H
#define WEIR_BLK_BAD_H

#include <stdbool.h>
#include <stdint.h>

struct range;
struct reactor;

enum {
	BAD_PAGE = 4096,                  /* bytes of marks, as they are kept together */
	BAD_PAGE_BLOCKS = BAD_PAGE * 8,
	BAD_PARTS = 48,                   /* each but the first is as large as all before it together, or larger */
};

struct bad {
	struct reactor *reactor; /* who opened the volume */
	struct range *range;
	struct bad_part {
		uint8_t *bits;
		uint64_t first, end; /* blocks; whole pages */
	} parts[BAD_PARTS];
	unsigned count;
};

/* 0, or -ENOMEM; bad_fini() follows in any case. */
int bad_init(struct bad *bad, struct reactor *reactor, struct range *range, uint64_t blocks)
    __attribute__((warn_unused_result));
void bad_fini(struct bad *bad);

/* The volume has more blocks, of which nobody but the caller knows yet; on the reactor that opened it.  What
 * others look at stays where it is.  0, or -ENOMEM. */
int bad_grow(struct bad *bad, uint64_t blocks) __attribute__((warn_unused_result));

/* For so many blocks there is room now, and for so many there was when this one came; whole pages.  The first is
 * for the reactor that opened the volume alone. */
uint64_t bad_end(const struct bad *bad);
uint64_t bad_room(const struct bad *bad, uint64_t lba);

/* Whether a block is marked; *first: the first one.  The caller holds them, here or in a device above this one. */
bool bad_any(const struct bad *bad, uint64_t lba, uint32_t blocks, uint64_t *first);

/* Marks them or takes their marks away.  The caller owns them. */
void bad_set(struct bad *bad, uint64_t lba, uint32_t blocks, bool marked);

/* The bits of a page: of BAD_PAGE_BLOCKS blocks from page * BAD_PAGE_BLOCKS on. */
const uint8_t *bad_page(const struct bad *bad, uint64_t page);

/* Sets or clears bits lba to lba + blocks - 1 in bytes whose first bit is that of block 0. */
void bad_put_bits(uint8_t *bits, uint64_t lba, uint32_t blocks, bool marked);

#endif
