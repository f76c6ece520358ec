/*
 * place.h - where a part of the log of ordered writes lives, and how what changes there becomes durable.
 *
 * A part is its reactor's, and so is its place.  What is kept is what the part's slots are in memory: a commit says
 * which of them have changed.  It may be kept as of later, too: whatever a slot has may be durable at any time
 * (src/order/log.h), only what it had must not be gone before.
 */
#ifndef WEIR_PLACE_PLACE_H
#define WEIR_PLACE_PLACE_H

#include "order/head.h"
#include "order/log.h"
#include "world/reactor.h"

struct place {
	const struct place_ops *ops;
	struct reactor *reactor;
	const struct order_image *slots; /* the part's, as long as it is open */
	uint32_t count;
	/* The commit is durable; or a negative errno: that and no later one may ever be.  Never called from inside. */
	void (*done)(struct place *place, int error);
	void *owner;
};

struct place_ops {
	/* One at a time. What was taken of the words is copied. */
	void (*commit)(struct place *place, const struct order_commit *commit);
	/* None is under way. */
	void (*close)(struct place *place);
};

/*
 * A part of a log in a file, which outlives it: what is done with this survives a loss of power.  It never blocks. The
 * part's slots were read from there, and what order_log_load() has emptied is to be the first commit.  `slots`, `done`
 * and `owner` are filled in by the caller.  NULL: no memory.
 */
struct place *place_file_open(struct reactor *reactor, struct file *file, const struct order_head *head, uint32_t part);

#endif
