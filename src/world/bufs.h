/*
 * bufs.h - the data buffers of one reactor: two pools of fixed pieces.
 *
 * Small pieces (8 KiB) serve in-capsule data and small transfers, large ones
 * (64 KiB) the rest; all are aligned to 4 KiB for direct I/O.  Who finds too
 * few waits in line and is called when it is its turn.  Memory is reserved at
 * start and touched only when used.
 *
 * Pieces are counted by whom they are for (a volume, whose device may not answer):
 * nobody has more of a pool than he leaves free, so one who gives nothing back has
 * half, a second one a quarter, and others find something.  (Choudhury and Hahne,
 * Dynamic Queue Length Thresholds, 1998.)  Each has a line of his own, first come
 * first served, and the lines of those who have not their share take turns, as do
 * lines in which somebody else says whose turn it is (bufs_order).
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

/* Those who stand in line behind each other. */
struct bufs_line {
	struct list node;    /* among the pool's lines, while somebody waits in it */
	struct list waiting; /* waiters, by node */
	bool ordered;        /* that of a bufs_order */
};

/* What one has of one pool. */
struct bufs_part {
	struct bufs_line line;
	uint32_t held;  /* pieces */
	uint32_t asks;  /* waiters for him that stand in a line that is not his (bufs_order) */
	uint64_t passed; /* the last pass in which one of them was passed over because of his share */
};

/* One for whom pieces are taken.  The caller's; begun by bufs_share_init(), and there as long as anything of it is. */
struct bufs_share {
	struct bufs_part part[2]; /* of small pieces and, [true], of large ones */
};

/* The pieces of one transfer, in order; the last one may be used in part. */
struct bufs_list {
	uint32_t bytes; /* asked for: the iov_lens add up to it; 0: holds nothing */
	uint16_t count;
	bool large;
	struct bufs_share *share; /* whose they are; NULL: nobody's, who has no limit */
	struct iovec iov[BUFS_IOV_MAX];
};

struct bufs_waiter {
	struct list node;
	uint32_t bytes;
	struct bufs_share *share;
	struct bufs_list *list;
	/* The list was filled; called from what made it possible. */
	void (*granted)(struct bufs_waiter *waiter);
};

/* A line in whose order more counts than pieces: somebody else keeps it, who is asked. */
struct bufs_order {
	struct bufs_line line; /* `waiting` is his, and empty where nobody waits */
	/* Whose turn it is of those that bufs_may_have() theirs, or NULL. */
	struct bufs_waiter *(*next)(struct bufs_order *order);
	/* He gets his pieces, and is to leave the line. */
	void (*leave)(struct bufs_order *order, struct bufs_waiter *waiter);
};

struct bufs_pool {
	uint8_t *memory;
	struct list lines;        /* in which somebody waits for pieces of this pool, in turn */
	struct bufs_part nobody;  /* of those who wait and are of no share */
	void **free; /* a stack: the piece given back last is the one in the cache */
	uint32_t count, free_count;
	uint32_t promised;        /* pieces that only bufs_take_promised() may take */
	uint64_t pass;            /* so often was looked whose turn it is */
	bool stuck;               /* one who has not his share waits for as many as he needs: nobody else takes any */
	bool granting;
};

struct bufs {
	struct arena *arena;
	struct bufs_pool small, large; /* small transfers never wait behind large ones */
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

static inline struct bufs_pool *
bufs_pool(struct bufs *bufs, bool large)
{
	return large ? &bufs->large : &bufs->small;
}

void bufs_share_init(struct bufs_share *share);

/* For a bufs_order: he would have no more than he leaves free.  If not, nobody takes what comes free for him before the
 * one that this was asked for.  Who has nothing may have what there is. */
bool bufs_may_have(struct bufs *bufs, struct bufs_share *share, uint32_t bytes);

/* Pieces that he has or could have, were nobody else there from now on. */
uint32_t bufs_room(const struct bufs *bufs, const struct bufs_share *share, bool large);

/* Fills `list` with buffers for 1 to BUFS_TRANSFER_MAX bytes; false: too few are free, or it would be beyond the share,
 * or others wait. */
bool bufs_take(struct bufs *bufs, struct bufs_share *share, uint32_t bytes, struct bufs_list *list);

/* How many small pieces may be promised: a quarter is left for those who have to ask. */
uint32_t bufs_promisable(const struct bufs *bufs);

/* Keeps so many small pieces, which must be free, for bufs_take_promised(); 0 ends the promise. */
void bufs_promise(struct bufs *bufs, uint32_t small_count);

/* Takes one of them: cannot fail, nor wait behind others.  At most BUFS_SMALL bytes. */
void bufs_take_promised(struct bufs *bufs, struct bufs_share *share, uint32_t bytes, struct bufs_list *list);

/* He has more small pieces than he leaves free, as promises may make it, or somebody waits for such for him. */
bool bufs_beyond(const struct bufs *bufs, const struct bufs_share *share);

/* Stands in line; granted() comes later, never from inside. */
void bufs_wait(struct bufs *bufs, struct bufs_waiter *waiter);

/* Leaves the line before being granted; those behind may have their turn. */
void bufs_unwait(struct bufs *bufs, struct bufs_waiter *waiter);

/* Gives all pieces back; an empty list is ignored. */
void bufs_give(struct bufs *bufs, struct bufs_list *list);

/* The caller's, who sets next() and leave(); a line of one of the pools, with others if there are such. */
void bufs_order_init(struct bufs_order *order);

/* Somebody came into that line of the pool, or left it, or something else changed that counts there. */
void bufs_ordered(struct bufs *bufs, bool large, struct bufs_order *order);

/* Somebody waits for what the list holds: pieces of its share, or such of the pool as everybody may have. */
bool bufs_wanted(const struct bufs *bufs, const struct bufs_list *list);

/* Somebody waits for pieces of the pool. */
bool bufs_waited(const struct bufs *bufs, bool large);

/* Nothing is held and nobody waits. */
bool bufs_idle(const struct bufs *bufs);

#endif
