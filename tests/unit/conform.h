/*
 * conform.h - what every block device must do: one table of properties, held against each device.
 *
 * The properties are those of src/blk/blk.h.  They ask a device only what everybody above it asks, from turns of
 * its reactors, in whatever world these are; a device, and a world, is a line of conform_devices.c, or a struct in
 * a test that calls conform_run().  What is special about one kind of device is in the test of that kind.
 */
#ifndef TESTS_CONFORM_H
#define TESTS_CONFORM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "blk/blk.h"
#include "world/reactor.h"

enum {
	CONFORM_REACTORS = 4,
	CONFORM_BYTES = 4 * 1024 * 1024, /* what a device has */
	CONFORM_IOVS = 8,
	CONFORM_RUN = 64,                /* blocks of one I/O, mostly at most */
};

/* A device that is to conform. */
struct conform_device {
	const char *name;
	const char *spec;    /* for blk_open(), of CONFORM_BYTES bytes; a file is /v */
	/* In place of that; 0 or a negative errno. */
	int (*open)(struct reactor *reactor, uint32_t block_size, struct blk **blk);
	const char *forgets; /* why what is written is not read again; NULL: it is */
	bool lasts;          /* what was flushed is there when it is opened again */
};

/* Where its reactors are. */
struct conform_world {
	void (*begin)(unsigned reactors);
	void (*end)(void);                      /* fails where anything is left */
	struct reactor *(*reactor)(unsigned index);
	void (*wake)(struct reactor *reactor);  /* which has got a task, outside of a turn */
	void (*turn)(void);                     /* of all that have something to do, once or a few times */
	/* The power fails, and comes back: what is in memory is gone, and what is in files was flushed.  NULL: here it
	 * does not. */
	void (*cut)(void);
};

/* A device under test, with a channel on each reactor. */
struct conform {
	const struct conform_world *world;
	const struct conform_device *device;
	uint32_t block_size;
	unsigned reactors;
	struct rng rng;
	struct blk *blk;
	struct blk_chan *chans[CONFORM_REACTORS];
	struct arena memory; /* of what is read and written */
};

struct conform_property {
	const char *name;
	const char *(*exempt)(const struct conform *c); /* why it does not apply; NULL: it does */
	void (*hold)(struct conform *c);
};

/* Each file has some, and ends its table with zeros. */
extern const struct conform_property conform_data[], conform_shared[], conform_life[], conform_random[];

/* All properties of all devices, to one without a name, each with blocks of 512 and 4096 bytes, with `few` reactors and
 * with `many`.  What main() returns. */
int conform_run(const struct conform_world *world, const struct conform_device *devices, unsigned few, unsigned many);

/* Why there is nothing to be seen of what is written; NULL: there is. */
const char *conform_forgets(const struct conform *c);

/* ---- one I/O, and what became of it ---- */

struct cio {
	struct blk_io io;
	struct conform *c;
	struct blk_chan *chan;
	struct task task;
	struct iovec iov[CONFORM_IOVS], expected[CONFORM_IOVS];
	uint8_t *memory, *kept;
	uint64_t stamp; /* of cio_fill() */
	bool in_submit, submitted;
	unsigned done;
	enum nvme_sc sc;
};

/* Of an operation on one run of blocks, its buffers cut into pieces with something between them.  Where it is the
 * device's it is yours again after cio_wait(), and gone after cio_end() or cio_ended(). */
struct cio *cio_make(struct conform *c, unsigned chan, enum blk_op op, uint32_t flags, uint64_t lba, uint32_t blocks);
struct cio *cio_trim(struct conform *c, unsigned chan, const struct blk_range *ranges, uint32_t count);
void cio_start(struct cio *t); /* in the next turn of its reactor */
void cio_wait(struct cio *t);
void cio_end(struct cio *t);
void cio_ended(struct cio *t, enum nvme_sc sc);

/* Asks for it to end; what the device answered. */
bool cio_cancel(struct cio *t);
bool cio_wanted(struct cio *t);
void cio_release(struct cio *t);

/* One of its blocks. */
uint8_t *cio_block(const struct cio *t, uint32_t block);

/* ---- what is in blocks: `stamp` says which of many contents, 0: zeros ---- */

void block_fill(const struct conform *c, uint8_t *bytes, uint64_t lba, uint64_t stamp);
/* Fails where the block is not one of these contents whole. */
uint64_t block_stamp(const struct conform *c, const uint8_t *bytes, uint64_t lba);

void cio_fill(struct cio *t, uint64_t stamp);
void cio_expect(const struct cio *t, uint64_t stamp);

/* Done by this channel, and over. */
void write_blocks(struct conform *c, unsigned chan, uint32_t flags, uint64_t lba, uint32_t blocks, uint64_t stamp);
void assert_blocks(struct conform *c, unsigned chan, uint64_t lba, uint32_t blocks, uint64_t stamp);
void zero_blocks(struct conform *c, unsigned chan, uint32_t flags, uint64_t lba, uint32_t blocks);
void flush(struct conform *c, unsigned chan);
enum nvme_sc compare_write(struct conform *c, unsigned chan, uint64_t lba, uint32_t blocks, uint64_t want,
    uint64_t stamp);

/* ---- the device's life ---- */

/* From a turn of the reactor, and when that is over; a test may not assume how many turns that takes. */
void conform_do(struct conform *c, unsigned reactor, void (*run)(void *arg), void *arg);
void conform_turns(struct conform *c, unsigned turns);

/* 0, or a negative errno and there is none. */
int conform_try_open(struct conform *c);
void conform_open(struct conform *c);
void conform_close(struct conform *c);
void conform_open_chan(struct conform *c, unsigned chan);
void conform_close_chan(struct conform *c, unsigned chan);
/* Another life of the process: after a cut of the power, or in good order. */
void conform_again(struct conform *c);
int conform_grow(struct conform *c, uint64_t blocks);

#endif
