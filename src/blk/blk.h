/*
 * blk.h - the joint of Weir: what every block device looks like.
 *
 * RAM, a file, nothing at all, a filter over another device: each is a
 * `struct blk` with one table of operations.  Everything above sees only this.
 */
#ifndef WEIR_BLK_BLK_H
#define WEIR_BLK_BLK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/list.h"
#include "base/nqn.h"
#include "qos/share.h"
#include "wire/nvme.h"

struct arena;
struct bad;
struct blk_io;
struct mail;
struct reactor;

enum blk_op {
	BLK_READ,
	BLK_WRITE,
	BLK_FLUSH,        /* every write completed before is durable; also those of other channels */
	BLK_WRITE_ZEROES,
	BLK_TRIM,         /* of `ranges`: they read as zeros afterwards where blk->trim_zeroes */
	/* Writes, if the blocks hold what `expected` says; else 2:85, and nothing is written.  Nobody
	 * else's write comes between the look and the change, whatever reactor it is on. */
	BLK_COMPARE_WRITE,
	/* Makes the blocks unreadable: a READ or COMPARE_WRITE that touches one ends with 2:81, DNR and
	 * BLK_BAD, until a WRITE or WRITE_ZEROES of it; a TRIM leaves it as it is.  As durable as the
	 * volume, before done().  Only where blk->bad is not NULL, and of BLK_MARK_MAX blocks at most. */
	BLK_MARK_BAD,
};

/* Behind the name of a volume's file: the list of its bad blocks (marks.h). */
#define BLK_BAD_SUFFIX ".bad"

enum {
	BLK_MARK_MAX = 65536,
	BLK_SPEC = 256, /* bytes of what an operator may write */
};


enum blk_flags {
	BLK_FUA = 1,       /* durable before done() */
	BLK_MAY_LEND = 2,  /* of a READ on a device that lends: iov holds no buffers, see below */
	BLK_TRANSIENT = 4, /* of a WRITE: the buffers are valid only until submit() returns; a device
			    * that needs them longer calls io->keep() from inside submit() */
	BLK_LENT = 8,      /* set by the device: release() must follow done() */
	BLK_DEALLOCATE = 16, /* of WRITE_ZEROES: may free the space */
	BLK_BAD = 32,      /* set by the device: it ends with 2:81 because of BLK_MARK_BAD; `at` is the first of them */
	BLK_DEVICE = 0xff00, /* bits that are the device's own until done() */
};

struct blk_range {
	uint64_t lba;
	uint32_t blocks;
};

/* On whose behalf I/O is done: a host.  Whoever serves devices has it, for as long as they may look at it. */
struct blk_tenant {
	uint16_t number;       /* of each another one, from 1, below BLK_TENANTS */
	char name[NQN_MAX + 1];
};

enum { BLK_TENANTS = 1024 };

/* Of an I/O that has to wait for its turn at a device, or had to: the filter's (fair.h), from submit() to done(). */
struct blk_turn {
	struct qos_io qos;
	uint64_t came_ns;
	enum blk_turn_at { BLK_TURN_WAITS, BLK_TURN_BELOW, BLK_TURN_OVER } at;
	void (*done)(struct blk_io *io, struct nvme_status status);
	void *owner;
};

/*
 * One I/O.  It is the device's from submit() until done(), which comes exactly
 * once and never from inside submit().  A device finishes an I/O or fails it
 * whole.  The caller has checked that every block lies in the volume.
 *
 * Lending: a READ with BLK_MAY_LEND on a device with `lends` set carries `iov`
 * with room for two entries.  The device may fill them with its own memory and
 * set BLK_LENT; it then keeps those bytes stable until release().  The holder
 * bounds how long that takes.  Without `lends` a READ brings its buffers.
 */
struct blk_io {
	union {
		struct fifo_node node; /* the device's */
		struct list place;     /* and while it waits for its blocks, line.h */
	};
	enum blk_op op;
	uint32_t flags;
	uint64_t lba;
	uint32_t blocks, iov_count;
	struct iovec *iov;
	union {
		const struct blk_range *ranges; /* of TRIM; borrowed until done() */
		const struct iovec *expected;   /* of COMPARE_WRITE: as many bytes as iov; borrowed until done() */
	};
	union {
		uint32_t range_count;
		uint32_t expected_count;
	};
	void *old;                  /* of COMPARE_WRITE: room to read the blocks into, aligned to 4096 bytes */
	uint64_t at;                /* the device's: how far it has come */
	struct nvme_status status;  /* the device's, before done() */
	void (*done)(struct blk_io *io, struct nvme_status status);
	void (*keep)(struct blk_io *io); /* moves transient data to stable buffers, clears the flag */
	void *owner;
	const struct blk_tenant *tenant; /* NULL: nobody in particular */
	uint32_t queue;             /* of the tenant's, by which it came: of each another number */
	uint8_t priority;           /* among the tenant's, 0 to QOS_PRIORITIES - 1, the first served most */
	uint16_t credits;           /* the device's, before done(): how many that queue may have under way; 0: it does
	                             * not tell */
	struct blk_turn turn;
};

/*
 * How a device that wears is: over its life, what it was prepared with included; all that is counted only grows.  It
 * does not know what never came to it, because a cache still has it or a fault took it.
 */
struct blk_health {
	uint64_t reads, writes;              /* commands of the device, */
	uint64_t read_bytes, written_bytes;  /* and what they moved */
	uint64_t media_bytes;                /* that were written to its media, for whatever reason */
	uint32_t erases_least, erases_most;  /* of one block; */
	uint64_t erases_mean_permille;       /* of all of them, in thousandths of one */
	uint64_t used_percent;               /* of its life: may be beyond 100 */
	uint32_t spare_percent;              /* what is left of its spare blocks; below the threshold that is too few */
	uint32_t spare_threshold_percent;
};

struct blk;

/* What one reactor holds of a device; nothing on the I/O path is shared. */
struct blk_chan {
	struct blk *blk;
	struct reactor *reactor;
	uint32_t busy; /* what is in flight or lent, its user says; and its device, what else it has under way: while
			* reactors run it is closed when this is 0 */
};

struct blk_ops {
	/* 0, -ENOMEM, or what opening said. */
	int (*open_chan)(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
	    __attribute__((warn_unused_result));
	/* Cannot fail and cannot block. */
	void (*submit)(struct blk_chan *chan, struct blk_io *io);
	/* Best effort; done() still comes, once.  True: with 0:07, and nothing of it was done; of a TRIM or
	 * WRITE_ZEROES, which may be long, perhaps a part. */
	bool (*cancel)(struct blk_chan *chan, struct blk_io *io);
	/* Ends the lending of a read whose done() came with BLK_LENT set. */
	void (*release)(struct blk_chan *chan, struct blk_io *io);
	/* Whether somebody waits to change what is lent so.  NULL: it lends nothing. */
	bool (*wanted)(const struct blk_chan *chan, const struct blk_io *io);
	/* Nothing is in flight or lent, nor `busy`; not from inside done(). */
	void (*close_chan)(struct blk_chan *chan);
	/* Makes it larger, to so many blocks, while it is used; with the reactor that opened it.  NULL: it
	 * stays as it is.  0, or a negative errno, and nothing has changed; -ESTALE: its path leads to another file
	 * by now. */
	int (*grow)(struct blk *blk, struct reactor *reactor, uint64_t blocks) __attribute__((warn_unused_result));
	/* What grow() to so many blocks asks of a disk, with the reactor that opened it; others use it meanwhile: an
	 * errand may, and the grow() that follows asks for nothing, and answers what came of this.  `was`: so many
	 * bytes the file had, if it was made longer: where grow() comes to nothing, or is undone, the caller puts it
	 * back.  NULL: it asks for nothing.  0, or as grow(). */
	int (*stretch)(struct blk *blk, struct reactor *reactor, uint64_t blocks, int64_t *was)
	    __attribute__((warn_unused_result));
	/* Takes back what the last grow() did, or where there was none what opening did, before anybody touched what
	 * came of it: a file is as short as it was, or gone if it was made.  With the reactor that opened it.  NULL:
	 * there is nothing to take back.  0, or a negative errno, and the file stays. */
	int (*undo)(struct blk *blk, struct reactor *reactor) __attribute__((warn_unused_result));
	/* How the device is, as this channel of it knows.  False: it does not; of each device that wears one of the
	 * channels knows, that of its home (home.h), and of others none.  May take some tens of microseconds.  NULL:
	 * it does not wear. */
	bool (*health)(const struct blk_chan *chan, struct blk_health *health);
	/* All channels are closed. */
	void (*destroy)(struct blk *blk);
};

struct blk {
	const struct blk_ops *ops;
	struct arena *arena;
	uint64_t blocks;
	uint32_t block_size;  /* bytes: 512 or 4096 */
	bool lends;
	bool volatile_cache;  /* a completed write may be lost unless FUA or a flush follows */
	/* Another number, and never 0, when what was done and not flushed may be lost: it comes back as long as that
	 * is kept, also to another process.  0: nobody knows. */
	uint64_t cache_life;
	bool trim_zeroes;     /* trimmed blocks read as zeros */
	char spec[BLK_SPEC];  /* as the operator wrote it */
	char *path;           /* of the file of the world that holds its blocks; NULL: none does */
	const struct bad *bad; /* which blocks are marked (bad.h); NULL: it takes no BLK_MARK_BAD */
	uint64_t number;       /* whoever serves it finds it by */
	uint64_t before;       /* blocks before the last grow() */
};

/* For those who grow. */
static inline void
blk_grown(struct blk *blk, uint64_t blocks)
{
	blk->before = blk->blocks;
	blk->blocks = blocks;
}

static inline int
blk_undo(struct blk *blk, struct reactor *reactor)
{
	return blk->ops->undo != NULL ? blk->ops->undo(blk, reactor) : 0;
}

static inline int
blk_stretch(struct blk *blk, struct reactor *reactor, uint64_t blocks, int64_t *was)
{
	return blk->ops->stretch != NULL ? blk->ops->stretch(blk, reactor, blocks, was) : 0;
}

static inline bool
blk_health(const struct blk_chan *chan, struct blk_health *health)
{
	return chan->blk->ops->health != NULL && chan->blk->ops->health(chan, health);
}

static inline void blk_submit(struct blk_chan *chan, struct blk_io *io) { chan->blk->ops->submit(chan, io); }

/*
 * Opens a device by what the operator wrote.  The device uses the world and
 * the arena of `reactor`, an annex (world.h) where it is in a file, until it is destroyed.
 *   mem:SIZE                        RAM
 *   null:SIZE                       reads zeros, forgets writes
 *   file:PATH[,size=SIZE]           a file or block device; size makes or extends it
 *   fault:OPTION[,OPTION...]@SPEC   SPEC with faults: drop-write=N (the N-th write is
 *                                   acknowledged and not done), flush-error=N (the N-th fails),
 *                                   read-error=LBA, write-error=LBA, dead=1 (all fails),
 *                                   hold=LBA (does not end until it is cancelled), delay=MS (begins so much later),
 *                                   delay-write=MS (what writes alone); each reactor counts its own
 *   volatile:[OPTION,...]@SPEC      SPEC behind a cache that is lost with the process: what is
 *                                   written is kept in memory until a flush; keep=SIZE: so much
 *                                   for each reactor (16M), seed=N: some of it is written early
 *   flash:PROFILE,SIZE[,OPTION...]  a modelled drive (doc/flash.md): tlc-plp, tlc-consumer, optane, qlc, or a file
 *                                   with a `/` in its name; state=sequential or fragmented: it was written before,
 *                                   seed=N: by which chance, from=FILE: it is as `weir flash condition` has kept it
 *                                   there, data=no: contents are not kept, and read as zeros;
 *                                   the size may stand as size=SIZE, too
 *   flash:PROFILE[,OPTION...]@SPEC  the same, with its contents in SPEC, but for what a drive without power-loss
 *                                   protection has in its buffer: that is lost with the process
 * SIZE is a number with K, M, G or T (powers of 1024).  0, or a negative errno
 * with `why` (256 bytes) saying in plain words what is wrong.
 */
int blk_open(struct reactor *reactor, const char *spec, uint32_t block_size, struct blk **blk,
    char why[256]) __attribute__((warn_unused_result));

/*
 * What devices say from reactor to reactor: where a process has devices, on_mail of its reactors gives all mail of
 * these kinds to blk_mail(), and has no such kinds itself.
 */
enum { BLK_MAIL = 0x8000 };
void blk_mail(struct reactor *reactor, const struct mail *mail);

/* What the operator wrote, behind all filters. */
const char *blk_spec_inner(const char *spec);

/* The path in what the operator wrote, behind all filters; false: it is of no file. */
bool blk_spec_path(const char *spec, char path[BLK_SPEC]);

/* Of a device of which nobody will know: takes back what opening did, and destroys it. */
void blk_discard(struct blk *blk, struct reactor *reactor);

/* For sums: the most bytes that a volume takes beside its blocks, in a process of so many reactors. */
size_t blk_bytes(unsigned reactors);

#endif
