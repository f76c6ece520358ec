/*
 * blk_bench.h - a block device with a channel on each of two reactors, in a
 * world of memory, and I/Os whose end can be looked at.
 */
#ifndef TESTS_BLK_BENCH_H
#define TESTS_BLK_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "blk/blk.h"
#include "blk/line.h"
#include "fakeworld.h"

enum { BS = 4096, CHANS = 2, IO_MAX = 1024 * 1024 };

extern struct fakeworld fw;
extern struct blk *blk;
extern struct blk_chan *chans[CHANS];

/* An I/O of a test, its buffer, and what became of it. */
struct test_io {
	struct blk_io io;
	struct blk_chan *chan;
	struct iovec iov[2];
	uint8_t *buffer, *kept;
	unsigned done;
	bool in_submit;
	enum nvme_sc sc;
};

/* Made, handed to the device, and both; the buffers are the arena's. */
struct test_io *io_make(unsigned chan, enum blk_op op, uint32_t flags, uint64_t lba, uint32_t blocks);
void io_submit(struct test_io *t);
struct test_io *io_start(unsigned chan, enum blk_op op, uint32_t flags, uint64_t lba, uint32_t blocks);
struct test_io *write_start(unsigned chan, uint32_t flags, uint64_t lba, uint32_t blocks, int byte);

/* It is over, with this status; io_end(): it was already. */
void io_ended(struct test_io *t, enum nvme_sc sc);
void io_end(struct test_io *t);

/* Ends the lending of a read. */
void io_release(struct test_io *t);

/* Whole writes and reads of the first channel. */
void write_now(uint64_t lba, uint32_t blocks, int byte);
void assert_block(uint64_t lba, int byte);

/* Marks blocks as bad; and reading them fails, and says that `first` is the first that is bad. */
void mark(unsigned chan, uint64_t lba, uint32_t blocks);
void assert_bad(unsigned chan, uint64_t lba, uint32_t blocks, uint64_t first);

void assert_bytes(const uint8_t *bytes, size_t count, int byte);

/* A device with a channel on each reactor: alone; over a file /v of so many bytes; over one of four times IO_MAX. */
void blk_begin(const char *spec);
void blk_begin_over(const char *spec, uint64_t bytes);
void blk_begin_file(const char *spec);

/* Another life of the target over the same files; the end; and channels alone, of `blk`. */
void blk_begin_again(void);
void blk_end(void);
void blk_open_chans(void);

/* It stands in its channel's line. */
bool waits(const struct test_io *t);

void turns(unsigned count);

#endif
