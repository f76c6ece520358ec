/*
 * devices.h - the devices that blk_open() chooses from.
 *
 * Each is given what open.c has read from the specification and checked:
 * `bytes` is a multiple of the block size and at least 1 MiB.  The reactor's
 * world and arena are used until the device is destroyed.  0, or a negative
 * errno; `why` is filled where the errno alone would not tell an operator.
 */
#ifndef WEIR_BLK_DEVICES_H
#define WEIR_BLK_DEVICES_H

#include "blk/blk.h"
#include "flash/condition.h"
#include "world/reactor.h"

enum {
	BLK_WHY = 256,
	BLK_WHY_SPEC = 100, /* of the specification, which it begins with */
};

struct fault_plan {
	uint64_t drop_write;  /* the n-th write of each reactor is not done; 0: none */
	uint64_t flush_error; /* the n-th flush of each reactor fails; 0: none */
	uint64_t read_lba, write_lba; /* touching these fails; UINT64_MAX: none */
	uint64_t dead;        /* not 0: all fails */
	uint64_t hold_lba;    /* touching this does not end until it is cancelled */
	uint64_t delay_ms;    /* everything is begun so much later, and cannot be cancelled before */
	uint64_t delay_write_ms; /* the same of writes alone; at most one of the two */
};

struct volatile_plan {
	uint64_t keep; /* bytes that each reactor keeps at most; at least a block */
	uint64_t seed; /* of what is written early; 0: nothing is */
};

/* A modelled drive, and what it is like before it is used. */
struct flash_plan {
	struct flash_profile profile;
	struct condition condition;
	const uint8_t *kept;   /* the state as condition_save() has it, until it is open; NULL: it is made */
	size_t kept_bytes;
	uint64_t seed;         /* of what is left, by chance, when its power goes */
	uint64_t bytes;        /* of a drive that has its contents itself, */
	bool data;             /* or has none at all */
};

/* Takes `inner`, also where it fails: it has the contents, or NULL. */
int flash_open(struct reactor *reactor, const struct flash_plan *plan, struct blk *inner, uint32_t block_size,
    struct blk **blk, char why[BLK_WHY]) __attribute__((warn_unused_result));

int mem_open(struct reactor *reactor, uint64_t bytes, uint32_t block_size, struct blk **blk)
    __attribute__((warn_unused_result));

int null_open(struct reactor *reactor, uint64_t bytes, uint32_t block_size, struct blk **blk)
    __attribute__((warn_unused_result));

/* bytes 0: as large as the file is. */
int file_blk_open(struct reactor *reactor, const char *path, uint64_t bytes, uint32_t block_size,
    struct blk **blk, char why[BLK_WHY]) __attribute__((warn_unused_result));

/* The undo() of those for whom the number of blocks is all. */
int blk_undo_blocks(struct blk *blk, struct reactor *reactor) __attribute__((warn_unused_result));

/* For those who keep in memory what they are given: with them it is lost. */
static inline uint64_t
blk_new_life(struct reactor *reactor)
{
	return reactor->world->random(reactor) | 1;
}

/* Takes `inner`, also where it fails. */
int fault_open(struct reactor *reactor, const struct fault_plan *plan, struct blk *inner,
    struct blk **blk) __attribute__((warn_unused_result));
int volatile_open(struct reactor *reactor, const struct volatile_plan *plan, struct blk *inner,
    struct blk **blk) __attribute__((warn_unused_result));
/* `inner` with reactor `index` as its home (home.h): that alone opens a channel of it, one in all. */
int home_open(struct reactor *reactor, unsigned index, struct blk *inner, struct blk **blk)
    __attribute__((warn_unused_result));

#endif
