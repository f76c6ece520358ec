/*
 * keep.h - where a part of the log of ordered writes lives, and how what changes there becomes durable.
 *
 * A part is its reactor's, and so is its place.  What is kept is what the part's slots are in memory: a commit says
 * which of them have changed.  It may be kept as of later, too: whatever a slot has may be durable at any time
 * (src/order/log.h), only what it had must not be gone before.
 */
#ifndef WEIR_KEEP_KEEP_H
#define WEIR_KEEP_KEEP_H

#include "flash/pmr.h"
#include "order/head.h"
#include "order/log.h"
#include "world/reactor.h"

struct keep {
	const struct keep_ops *ops;
	struct reactor *reactor;
	struct order_image *slots; /* the part's, as long as it is open; only read */
	uint32_t count;
	/* The commit that went on is durable; or a negative errno: that and no later one may ever be.  Never called
	 * from inside. */
	void (*done)(struct keep *keep, int error);
	void *owner;
};

struct keep_ops {
	/* One at a time; what was taken of the words is copied.  True: it is durable now, and nobody is told; as it
	 * always is where `at_once`. */
	bool (*commit)(struct keep *keep, const struct order_commit *commit);
	/* None is under way. */
	void (*close)(struct keep *keep);
	bool at_once;
};

/*
 * Of all of these: the part's slots were read from there, and what order_log_load() has emptied is to be the first
 * commit.  `slots`, `done` and `owner` are filled in by the caller.  NULL: no memory.
 */

/* In a file, which outlives it.  It survives a loss of power, and nobody waits for the disk. */
struct keep *keep_file_open(struct reactor *reactor, struct file *file, const struct order_head *head, uint32_t part);

/* Bytes that a place in a file takes, and places elsewhere do not. */
size_t keep_file_bytes(const struct order_head *head);

/* In memory that outlives the process, and not the machine, as a file that is mapped: `slots` lie there. */
struct keep *keep_memory_open(struct reactor *reactor, const struct order_head *head);

/* In a file of the reactor's that is mapped to persistent memory, and stays open as long: `slots` lie in its map.  It
 * survives a loss of power. */
struct keep *keep_persistent_open(struct reactor *reactor, struct file *file, const struct order_head *head);

/* The persistent memory of a drive, which several places may share; no thread but one uses it at a time. */
struct keep_region {
	struct pmr *pmr;
	uint64_t last_ns;  /* it was told; time does not go back there, but reactors may be at different ones */
};

/* In such a region, from its beginning.  It survives a loss of power. */
struct keep *keep_region_open(struct reactor *reactor, struct keep_region *region, const struct order_head *head,
    uint32_t part);

#endif
