/*
 * line.h - the I/Os of one channel that wait for the blocks they touch.
 *
 * An I/O takes the hold of its blocks, or stands in line and asks again later:
 * holds of other reactors end without our knowledge.  Of two I/Os of one
 * channel that touch the same blocks, the later one does not overtake.  It
 * does not know what is done with the blocks once they are held.
 *
 * Those in line stand in zones, which have no block in common: who touches blocks
 * of a zone stands in it, and who touches some of several makes them one.  The
 * first of a zone may go, the zones take turns, and who touches blocks of none
 * passes, however many wait elsewhere.  A zone would only ever grow; so when all
 * are gone who stood there as it began, those who are left look for zones anew.
 * Where there is no zone for an I/O it and all that come later, but for those who
 * touch nothing of what anybody waits for, stand behind the zones in one line.  So
 * zones empty, and everybody finds one in his turn.
 *
 * TRIM and WRITE_ZEROES are done in pieces, each under a hold of its own: what
 * must be all old or all new is one block.  io->at says how far they are.  In
 * the order of the line each piece is an I/O by itself, which comes when the
 * one before it is done: one TRIM may have millions of pieces, and nobody waits
 * for more than the one that is under way.  Of those that have several few are
 * at it at once; the others stand aside, before nobody, and all take turns piece
 * by piece.
 */
#ifndef WEIR_BLK_LINE_H
#define WEIR_BLK_LINE_H

#include "blk/blk.h"
#include "blk/range.h"

enum {
	LINE_ZONES = 32,
	LINE_STANDS = 64, /* so many find a zone at a time: more than are started */
	LINE_STARTS = 32, /* of those whose start is all that there is to do */

	/* In blk_io.flags: */
	LINE_WAITING = 0x0100, /* stands in line */
	LINE_MARKED = 0x0200,  /* range_wait() was called for its current piece */
	LINE_SMALL = 0x0400,   /* its pieces are small ones; changed while it holds and waits for none */
	LINE_STOPPED = 0x0800, /* its next piece is not begun */
	LINE_LONG = 0x1000,    /* it had several pieces left, and its next one is under way or stands in line */
	LINE_ASIDE = 0x2000,   /* it has, and stands aside */
};

/* Blocks, both included; first > last: none. */
struct line_hull {
	uint64_t first, last;
};

/* I/Os in their order, the first of which may go, and all the blocks that they touch. */
struct line_zone {
	struct list waiting;
	struct list mark; /* in it, behind those who stood there when it began */
	struct line_hull hull;
};

struct line {
	struct range *range;
	uint32_t count;
	uint64_t moves;     /* how often somebody began to stand in it, or left */
	uint32_t turn;      /* which zone is tried next */
	uint32_t piece_max; /* blocks of one piece of a TRIM or WRITE_ZEROES */
	uint32_t small_max; /* and of a small one */
	struct list aside;
	uint32_t long_count, long_max; /* with LINE_LONG; nobody stands aside while there are fewer than may be */
	bool whole; /* the device keeps each block whole by itself: who compares alone needs blocks for himself */
	struct line_zone behind;       /* those who have no zone; without a mark */
	struct line_zone zones[LINE_ZONES];
};

void line_init(struct line *line, struct range *range, uint32_t piece_max, uint32_t small_max, uint32_t long_max);

/* Sets io->at to the first piece; false: the I/O touches no block at all (FLUSH does not either). */
bool line_begin(struct blk_io *io);

/* The blocks of the current piece; of a TRIM or WRITE_ZEROES a part, else all of them. */
struct blk_range line_piece(const struct line *line, const struct blk_io *io);

/* The current piece is done: drops its hold; false: it was the last one, see line_over(). */
bool line_next(struct line *line, struct blk_io *io);

/* Of an I/O that has no hold and is not in line: nothing more of it is done.  Another one may join the line for it,
 * which the caller tries then. */
void line_over(struct line *line, struct blk_io *io);

/* Drops the hold of the current piece. */
void line_drop(struct line *line, struct blk_io *io);

/* True: the hold of the current piece is taken.  False: the I/O stands in line now, or aside. */
bool line_enter(struct line *line, struct blk_io *io);

/* Stands in line, or aside, without trying. */
void line_join(struct line *line, struct blk_io *io);

/*
 * Tries the first of each zone in turn until `starts` I/Os were started: start()
 * is called with the piece held and the I/O out of the line.  Where it answers
 * false, the hold is dropped and the I/O stands behind all others with a next
 * piece, which is not tried this time.
 */
void line_retry(struct line *line, unsigned starts, bool (*start)(void *owner, struct blk_io *io), void *owner);

/* Takes an I/O out of the line, or from where it stands aside, for good; false: it is not there.
 * How many others are there does not matter: an ended connection takes its I/Os out one by one. */
bool line_leave(struct line *line, struct blk_io *io);

/* Of an I/O that is not in line: marks a TRIM or WRITE_ZEROES as stopped.  True: it has a next piece, which its device
 * will find not to be begun. */
bool line_stop(struct line *line, struct blk_io *io);

#endif
