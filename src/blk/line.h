/*
 * line.h - the I/Os of one channel that wait for the blocks they touch.
 *
 * An I/O takes the hold of its blocks, or stands in line and asks again later:
 * holds of other reactors end without our knowledge.  Of two I/Os of one
 * channel that touch the same blocks, the later one does not overtake.  It
 * does not know what is done with the blocks once they are held.
 *
 * TRIM and WRITE_ZEROES are done in pieces, each under a hold of its own: what
 * must be all old or all new is one block.  io->at says how far they are.
 */
#ifndef WEIR_BLK_LINE_H
#define WEIR_BLK_LINE_H

#include "blk/blk.h"
#include "blk/range.h"

enum {
	LINE_WINDOW = 32, /* so many in front are looked at; those behind keep their order */

	/* In blk_io.flags: */
	LINE_WAITING = 0x0100, /* stands in line */
	LINE_MARKED = 0x0200,  /* range_wait() was called for its current piece */
	LINE_SMALL = 0x0400,   /* its pieces are small ones; changed while it holds and waits for none */
	LINE_STOPPED = 0x0800, /* its next piece is not begun */
};

struct line {
	struct range *range;
	struct fifo waiting;
	uint32_t count;
	uint32_t piece_max; /* blocks of one piece of a TRIM or WRITE_ZEROES */
	uint32_t small_max; /* and of a small one */
};

void line_init(struct line *line, struct range *range, uint32_t piece_max, uint32_t small_max);

/* Sets io->at to the first piece; false: the I/O touches no block at all (FLUSH does not either). */
bool line_begin(struct blk_io *io);

/* The blocks of the current piece; of a TRIM or WRITE_ZEROES a part, else all of them. */
struct blk_range line_piece(const struct line *line, const struct blk_io *io);

/* The current piece is done: drops its hold; false: it was the last one. */
bool line_next(struct line *line, struct blk_io *io);

/* Drops the hold of the current piece. */
void line_drop(struct line *line, struct blk_io *io);

/* True: the hold of the current piece is taken.  False: the I/O stands in line now. */
bool line_enter(struct line *line, struct blk_io *io);

/* Stands in line without trying. */
void line_join(struct line *line, struct blk_io *io);

/*
 * Tries those in front, in order, until `starts` of them were started: start()
 * is called with the piece held and the I/O out of the line.  Where it answers
 * false, the hold is dropped and the I/O goes back to its place with a next piece.
 */
void line_retry(struct line *line, unsigned starts, bool (*start)(void *owner, struct blk_io *io), void *owner);

/* Takes an I/O out of the line; false: it is not there. */
bool line_leave(struct line *line, struct blk_io *io);

/* Of an I/O that is not in line: marks a TRIM or WRITE_ZEROES as stopped.  True: it has a next piece, which its device
 * will find not to be begun. */
bool line_stop(struct line *line, struct blk_io *io);

#endif
