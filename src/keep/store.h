/*
 * store.h - a log of ordered writes where it lives, as a whole: it is made where there is none, its head, its owners
 * and the slots of its parts are read before anything is served, and each reactor has places of parts
 * (doc/formats/ordered-log.md, Layout).
 *
 * What entries say is not looked at here.
 */
#ifndef WEIR_KEEP_STORE_H
#define WEIR_KEEP_STORE_H

#include "keep/keep.h"

enum {
	STORE_PARTS = 64,       /* of one that is made in a file: one for each reactor that there may be; what of them
	                         * is not used takes nothing.  What is mapped has one for each reactor that there is */
	STORE_SLOTS = 65536,    /* of each, where nothing else is said */
};

enum store_kind {
	STORE_FILE,
	STORE_MEMORY,           /* a file that is mapped: it is there when the process has died, and not the machine */
	STORE_PERSISTENT,       /* the same, of persistent memory */
	STORE_REGION,           /* the persistent memory of a modelled drive */
};

struct store_spec {
	enum store_kind kind;
	const char *path;       /* of a region what it is called */
	struct keep_region *region; /* the caller's, longer than the log; NULL: it is none */
	uint32_t slots;         /* of a part, of a log that is made; 0: STORE_SLOTS */
};

struct store {
	struct order_head head;
	bool fresh;             /* it has no head yet: that is written with the first owner */
	uint8_t (*owners)[ORDER_OWNER_BYTES];
	const char *survives;   /* what that is, in plain words */
	bool begun_anew;        /* there was one, which is gone with an earlier start of the machine */
	struct order_image *slots[ORDER_PARTS_MAX]; /* NULL: nothing was ever written to the part, and it has none.
	                                             * Of what is mapped they lie there */

	/* The rest is its own. */
	enum store_kind kind;
	struct keep_region *region;
	struct reactor *reactor, *annex;
	struct file *held, *files[ORDER_PARTS_MAX]; /* by the reactor that shares it */
	struct store_owner {
		struct file_io io;
		struct iovec iov;
		uint8_t *bytes;  /* a unit of the disk */
		uint32_t index;
		struct task task; /* of memory: says that it is done */
		void (*done)(void *owner, int error);
		void *owner;
		struct reactor *reactor;
	} put;
};

/*
 * Opens it, and makes it where it is not there.  Blocks: before reactors run.  The memory is the reactor's.  0, or a
 * negative errno with `why` in plain words; -EINVAL: what is there is no log, or one that cannot be used.
 */
int store_open(struct reactor *reactor, const struct store_spec *spec, struct store **store, char why[256])
    __attribute__((warn_unused_result));

/* The slots of a part, which then has some.  Before reactors run.  0 or -ENOMEM. */
int store_need(struct store *store, uint32_t part) __attribute__((warn_unused_result));

/* Places of parts that have slots, for a reactor, whose index is less than that of any part.  NULL: no memory.  Closed
 * by its `close`, before the store is. */
struct keep *store_keep(struct store *store, struct reactor *reactor, uint32_t part);

/*
 * Writes an owner, and the head before it if there is none.  On a reactor that has a place, one at a time; `done` is
 * never called from inside; `error` 0: it is durable.
 */
void store_put_owner(struct store *store, struct reactor *reactor, uint32_t index,
    void (*done)(void *owner, int error), void *owner);

/* For sums: bytes that a log with so many slots takes of each reactor that has a part, and once. */
size_t store_part_bytes(uint32_t slots);
size_t store_bytes(void);

/* All places are closed, and nothing is being put. */
void store_close(struct store *store);

#endif
