/*
 * pump.h - moves bytes from one end to another, piece by piece, with many pieces on their way at a time.
 *
 * What is moved is cut into pieces of one size (the last may be shorter).
 * Each is filled by the source and then emptied by the sink; which comes first
 * at an end that does not care is left to it, and an end that is a stream gets
 * its pieces in order.  All in flight lie in a ring: behind the oldest that is
 * not done, everything is.
 *
 * The pump knows neither volumes nor files: an end is a struct of operations
 * (ends.h).  It belongs to one thread.
 */
#ifndef WEIR_CMD_PUMP_H
#define WEIR_CMD_PUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define PUMP_UNKNOWN UINT64_MAX

enum { PUMP_DEPTH_MAX = 256 };

struct pump;
struct end;

enum piece_state {
	PIECE_FILLING,  /* the source's */
	PIECE_FULL,     /* `bytes` of it are there; the sink has not heard of it */
	PIECE_EMPTYING, /* the sink's */
	PIECE_DONE,     /* nobody's */
};

struct piece {
	enum piece_state state;
	bool asked;       /* the end that it is at answers by piece_done() */
	bool zeros;       /* it is nothing but zeros; of a source that knows so, `data` is not filled */
	uint32_t bytes;   /* how many it has, up to `wanted` */
	uint32_t wanted;
	uint32_t sent;    /* of a sink that takes it bit by bit */
	uint64_t offset;  /* of what is moved: 0 is its first byte */
	uint8_t *data;    /* room for pump.piece_bytes */
	struct iovec iov; /* for the end that it is at */
	struct pump *pump;
};

enum step {
	STEP_DONE = 1,  /* that was all */
	STEP_LATER = 0, /* when the end's fd is ready */
	STEP_ASKED = 2, /* piece_done() will say */
};

struct end_ops {
	/*
	 * A source fills the piece, a sink takes it.  What the source answers with fewer bytes than are wanted is the
	 * last of its pieces.  An enum step, or a negative errno, with pump_failed() called before it where more can
	 * be said.
	 */
	int (*step)(struct end *end, struct piece *piece);
	/* Calls piece_done() for what is done; how many that were.  NULL: it has nothing to look for. */
	int (*poll)(struct end *end);
};

struct end {
	const struct end_ops *ops;
	int fd;         /* what is waited for; -1: nothing ever is */
	short events;   /* POLLIN or POLLOUT: waited for while a piece is to be moved; 0: POLLIN, always */
	bool in_order;
};

struct pump {
	struct end *source, *sink;
	uint64_t total;         /* bytes to be moved; PUMP_UNKNOWN: until the source ends.  Set when it does */
	uint32_t piece_bytes;
	unsigned depth;         /* pieces on their way, up to PUMP_DEPTH_MAX */
	bool find_zeros;        /* pieces that are filled with zeros are marked so */
	/* Called of each piece when it is full, before the sink is; 0 or a negative errno.  May be NULL. */
	int (*full)(void *arg, struct piece *piece);
	/* Called now and then, several times a second at least.  May be NULL. */
	void (*tick)(void *arg, uint64_t done);
	void *arg;
	bool (*stopped)(void); /* true: what is on its way ends, and nothing new begins.  NULL: never */
	int stop_fd;           /* can be read when that is going to change; -1: none */

	/* What came of it. */
	uint64_t done;          /* so many bytes, from the first on, have been moved; more behind them may */
	int error;              /* the first; 0: none */
	char why[256];

	/* Its own. */
	struct piece *pieces;
	uint8_t *memory;
	uint64_t first, next;   /* pieces since the beginning: the oldest that is not done, the next to begin */
	bool ended;             /* the source has said that it has no more */
	bool stopping;
};

/* Moves all of it.  0, or a negative errno, the same as `error`; stopped is no error. */
int pump_run(struct pump *pump) __attribute__((warn_unused_result));

/* By who needs the bytes of a full piece: of one that is known to be zeros, they are made. */
void piece_need_data(struct piece *piece);

/* By ends.  A piece that was asked for is done, or has failed. */
void piece_done(struct piece *piece, int error);

/* Words for what went wrong; the first counts.  Answers the error. */
int pump_failed(struct pump *pump, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
