/*
 * marks.h - the bad blocks of a volume in a file, kept in a file beside it.
 *
 * PATH.bad is made when a block is marked for the first time; doc/formats/bad.md
 * says what is in it.  A mark holds, and is taken away, when the file has it
 * durably: the change is then made in memory too (bad.h), and done() is called.
 * A write of the file that failed may have landed: what stands there of its blocks
 * is in doubt from then on, until it is written again: who reads or writes them has that done first.
 * One change of a volume is under way at a time, whatever reactor it is of.
 * It does not know what else is done with the blocks, whose hold is its caller's.
 */
#ifndef WEIR_BLK_MARKS_H
#define WEIR_BLK_MARKS_H

#include "blk/bad.h"
#include "blk/devices.h"
#include "blk/range.h"
#include "blk/retry.h"
#include "world/reactor.h"

/* Of a volume. */
struct marks {
	struct bad bad;
	struct bad doubt;     /* blocks of which the file may say what memory does not */
	struct range lock;    /* of a single slot: owned by whoever makes a change */
	char *path;
	uint64_t disk;        /* that it lies on, as errands know it */
	uint32_t block_size;
	/* Of the reactor that opened it: so many blocks' marks are known, and those of so many were looked for in the
	 * file, of which these pages are not taken yet. */
	uint64_t known, read;
	struct fifo pages;
	/* The file as changes use it, and its annex; NULL: not needed yet.  This is of whoever owns the lock, */
	struct reactor *annex;
	struct file *file;
	bool begun;           /* like whether it has its header, */
	bool absent;          /* or was not there yet: then it is made, and what is there by its name is another's */
};

enum marks_kind {
	MARKS_BAD, MARKS_GOOD,
	MARKS_AGAIN,          /* as they are: the file is to say so beyond doubt */
};

/* One change, its maker's again when done() is called: 0, or a negative errno and nothing in memory has changed. */
struct marks_change {
	struct fifo_node node;
	uint64_t lba;
	uint32_t blocks;      /* BLK_MARK_MAX at most */
	enum marks_kind kind;
	void (*done)(struct marks_change *change, int error);
};

/* What one reactor has of it. */
struct marks_chan {
	struct marks *marks;
	struct reactor *reactor;
	struct file *file;    /* the volume's, shared; NULL: not needed yet */
	uint8_t *image;       /* what is written; NULL: not needed yet */
	struct file_io io;
	struct iovec iov;
	struct errand errand; /* which makes the file, or extends it, */
	uint64_t bytes;       /* to so many; */
	int made;             /* what became of that */
	struct fifo waiting;
	struct marks_change *now;
	bool waits;           /* for the lock, and the lock knows */
	uint64_t waited;      /* so many did */
	bool told;            /* it was said, last at */
	uint64_t told_ns;     /* that a change cannot be made */
	struct task work;
	struct retry retry;
};

/* Reads what is kept beside the volume at `path`, which is this file; 0, or a negative errno and perhaps `why`.
 * Either way marks_close() follows. */
int marks_open(struct marks *marks, struct reactor *reactor, struct range *range, const struct file *file,
    const char *path, uint64_t blocks, uint32_t block_size, char why[BLK_WHY]) __attribute__((warn_unused_result));
/* Reads what is kept of blocks that are not there yet, and changes nothing that others use. */
int marks_read(struct marks *marks, uint64_t blocks, char why[BLK_WHY]) __attribute__((warn_unused_result));
/* So many blocks are there now, of which that was read.  0, or -ENOMEM. */
int marks_grow(struct marks *marks, uint64_t blocks) __attribute__((warn_unused_result));
void marks_close(struct marks *marks);

/* For sums: the most bytes that they take beside these structs and the marks themselves, for so many reactors. */
size_t marks_bytes(unsigned reactors);

void marks_chan_init(struct marks_chan *mc, struct marks *marks, struct reactor *reactor);
void marks_chan_fini(struct marks_chan *mc);

/* The caller owns the blocks until done(), which is never called from inside. */
void marks_change(struct marks_chan *mc, struct marks_change *change);

#endif
