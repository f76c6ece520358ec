/*
 * bufs.h - the data buffers of one reactor: two pools of fixed pieces.
 *
 * Small pieces (8 KiB) serve in-capsule data and small transfers, large ones
 * (64 KiB) the rest; all are aligned to 4 KiB for direct I/O.  Who finds too
 * few waits in line, first come first served, and is called when it is its
 * turn.  Memory is reserved at start and touched only when used.
 */
#ifndef WEIR_WORLD_BUFS_H
#define WEIR_WORLD_BUFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/list.h"

struct arena;

enum {
	BUFS_SMALL = 8 * 1024,
	BUFS_LARGE = 64 * 1024,
	BUFS_IOV_MAX = 16,                           /* pieces one transfer may have */
	BUFS_TRANSFER_MAX = BUFS_LARGE * BUFS_IOV_MAX, /* 1 MiB */
};

/* The pieces of one transfer, in order; the last one may be used in part. */
struct bufs_list {
	uint32_t bytes; /* asked for: the iov_lens add up to it; 0: holds nothing */
	uint16_t count;
	bool large;
	struct iovec iov[BUFS_IOV_MAX];
};

struct bufs_waiter {
	struct list node;
	uint32_t bytes;
	struct bufs_list *list;
	/* The list was filled; called from the bufs_give() that made it possible. */
	void (*granted)(struct bufs_waiter *waiter);
};

struct bufs_pool {
	uint8_t *memory;
	struct list waiting; /* for pieces of this pool: small transfers never wait behind large ones */
	void **free; /* a stack: the piece given back last is the one in the cache */
	uint32_t count, free_count;
	bool granting;
};

struct bufs {
	struct arena *arena;
	struct bufs_pool small, large;
	uint32_t promised; /* small pieces that only bufs_take_promised() may take */
};

/* 0, or -ENOMEM.  Each pool holds at least one transfer of the largest size. */
int bufs_init(struct bufs *bufs, struct arena *arena, uint32_t small_count, uint32_t large_count)
    __attribute__((warn_unused_result));
void bufs_fini(struct bufs *bufs);

/* Which pool transfers of so many bytes are from, and how many pieces they take. */
static inline bool
bufs_are_large(uint32_t bytes)
{
	/* Small pieces up to half a large one: beyond that the waste is smaller the other way. */
	return bytes > BUFS_LARGE / 2;
}

static inline uint32_t
bufs_pieces(uint32_t bytes)
{
	uint32_t piece = bufs_are_large(bytes) ? BUFS_LARGE : BUFS_SMALL;

	return (bytes + piece - 1) / piece;
}

/* Fills `list` with buffers for 1 to BUFS_TRANSFER_MAX bytes; false: too few are free, or others wait. */
bool bufs_take(struct bufs *bufs, uint32_t bytes, struct bufs_list *list);

/* Keeps so many small pieces, which must be free, for bufs_take_promised(); 0 ends the promise. */
void bufs_promise(struct bufs *bufs, uint32_t small_count);

/* Takes one of them: cannot fail, nor wait behind others.  At most BUFS_SMALL bytes. */
void bufs_take_promised(struct bufs *bufs, uint32_t bytes, struct bufs_list *list);

/* Stands in line; granted() comes later, never from inside. */
void bufs_wait(struct bufs *bufs, struct bufs_waiter *waiter);

/* Leaves the line before being granted; those behind may have their turn. */
void bufs_unwait(struct bufs *bufs, struct bufs_waiter *waiter);

/* Gives all pieces back; an empty list is ignored. */
void bufs_give(struct bufs *bufs, struct bufs_list *list);

/* Somebody waits for buffers of either kind. */
bool bufs_short(const struct bufs *bufs);

/* Nothing is held and nobody waits. */
bool bufs_idle(const struct bufs *bufs);

#endif
