/*
 * finish.h - I/Os whose outcome is known and not yet told.
 *
 * done() may not be called from inside submit() or cancel(); who knows the
 * outcome there leaves the I/O here until the reactor collects completions.
 */
#ifndef WEIR_BLK_FINISH_H
#define WEIR_BLK_FINISH_H

#include "blk/blk.h"
#include "world/reactor.h"

static inline void
finish_push(struct fifo *finished, struct blk_io *io, struct nvme_status status)
{
	io->status = status;
	fifo_push(finished, &io->node);
}

/* Tells all that were there; what done() adds waits for the next time. */
static inline void
finish_all(struct fifo *finished)
{
	struct fifo_node *node = finished->head, *next;

	fifo_init(finished);
	for (; node != NULL; node = next) {
		struct blk_io *io = container_of(node, struct blk_io, node);

		next = node->next; /* the I/O is its owner's, and may be submitted again, from done() on */
		io->done(io, io->status);
	}
}

#endif
