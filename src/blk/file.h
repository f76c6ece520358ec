/*
 * file.h - what the files of the file: volume share; see file.c.
 */
#ifndef WEIR_BLK_FILE_H
#define WEIR_BLK_FILE_H

#include "blk/devices.h"
#include "blk/line.h"
#include "blk/marks.h"
#include "blk/retry.h"

enum { FILE_REQUESTS = 256 }; /* in flight per channel */

struct file_blk {
	struct blk blk;
	struct range range;
	struct marks marks;  /* of a regular file: blk.bad points into it */
	int64_t was;         /* bytes of the file before it was opened, or grew; -1: it was not there */
	uint64_t id[2];      /* which file that is, whatever its path leads to later */
	struct file *file;   /* it, of who opened the volume: channels share it */
	bool stretched;      /* file_stretch() was called since the last file_grow(), */
	int stretch_error;   /* and answered so */
};

struct file_req {
	struct file_io io;
	struct file_req *next_free;
	struct file_chan *chan;
	struct blk_io *blk_io;
	const struct iovec *iov; /* what a read or write moves: the I/O's, or `old` */
	uint32_t iov_count;
	uint64_t moved;    /* bytes of it that are done */
	unsigned stuck;    /* times that it moved less than a block */
	struct iovec rest; /* after a short one: what is left of one buffer */
	struct iovec old;  /* of COMPARE_WRITE: where the blocks are read to */
	bool mends;        /* it writes over bad blocks, which are good when it is durable */
	struct marks_change change;
};

struct file_chan {
	struct blk_chan chan;
	struct file *file;
	struct line line;
	uint32_t pieces; /* LINE_SMALL where zeros must be written, as is known once that was said */
	struct marks_chan marks;
	struct file_req *free;
	uint32_t free_count;
	struct fifo finished; /* not yet told */
	struct task collect;
	struct retry retry;
	struct file_req reqs[FILE_REQUESTS];
};

/* file_rest.c: whether the piece needs another operation, which is then sent; else *error may be another one now. */
bool file_goes_on(struct file_req *req, int64_t *error);

/* file.c, but for what is of file_open.c: */
extern const struct blk_ops file_ops;
int file_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks) __attribute__((warn_unused_result));
int file_stretch(struct blk *blk, struct reactor *reactor, uint64_t blocks, int64_t *was)
    __attribute__((warn_unused_result));
int file_undo(struct blk *blk, struct reactor *reactor) __attribute__((warn_unused_result));
void file_destroy(struct blk *blk);

#endif
