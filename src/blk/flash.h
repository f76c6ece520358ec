/*
 * flash.h - what the files of the flash: volume share, see flash.c; and for those who look into a drive, take its
 * power, or have one that is not as its profile says.
 */
#ifndef WEIR_BLK_FLASH_H
#define WEIR_BLK_FLASH_H

#include "blk/devices.h"
#include "blk/line.h"
#include "flash/drive.h"

enum { FLASH_REQUESTS = 1024 }; /* under way in a drive, of one volume */

struct flash_blk {
	struct blk blk;
	struct blk *inner;  /* which has the contents; NULL: the drive has */
	struct range range;
	struct drive *drive;
	uint64_t prepared_bytes; /* that hosts wrote before it was opened */
	uint8_t *store;     /* pages of the world; NULL: contents are nobody's business */
	uint8_t *pmr;       /* the same of its persistent memory region; NULL: it has none */
	uint64_t store_bytes, pmr_bytes;
	struct reactor *opener;
};

struct flash_req {
	struct drive_cmd cmd;
	struct flash_chan *chan;
	struct flash_req *next_free;
	struct blk_io *io;  /* NULL: it is free */
	bool compares;      /* it reads what a COMPARE_WRITE looks at */
	struct iovec old;
	struct blk_io inner; /* as the device below has it, once the drive is done with it */
	bool below;          /* it does */
};

/* The drive's: there is one, on its home reactor. */
struct flash_chan {
	struct blk_chan chan;
	struct drive *drive;
	struct blk_chan *inner;
	struct line line;
	struct flash_req *free;
	uint32_t free_count;
	struct fifo finished; /* not yet told */
	struct task collect;
	struct timer timer;   /* when the drive wants to go on */
	struct flash_req reqs[FLASH_REQUESTS];
};

/*
 * flash_cut.c: the power of a drive goes, and is back at once; of one that has its contents itself.  The reactor is its
 * home, in which this is called, for experiments in virtual time: what a drive with its contents elsewhere loses is
 * seen when its process ends.  What hosts were not answered fails; of what they were drive.h says what is left.
 */
void flash_cut(struct blk *blk, struct reactor *reactor);

/* flash.c: what it does; the drive comes to the reactor's time; and whatever is in it ends so, for the drive has given
 * it back. */
extern const struct blk_ops flash_ops;
void flash_catch_up(struct flash_chan *chan);
void flash_end_all(struct flash_chan *chan, struct nvme_status status);

#define FLASH_PREFIX "flash:"

/*
 * What a specification that begins so says; `below`: what stands behind its `@`, or NULL.  `reactor` NULL: a profile in
 * a file cannot be read, -ENOTSUP, and a state in a file is passed over; else that is refused.  0, or a negative errno,
 * and `why` says what is wrong.
 */
int flash_plan_read(struct reactor *reactor, const char *spec, uint32_t block_size, struct flash_plan *plan,
    const char **below, char why[BLK_WHY]) __attribute__((warn_unused_result));

/*
 * The most that such a volume takes in a process of so many reactors, beside blk_bytes() and its contents; of `bytes`
 * where something is below.  0, or a negative errno, and `why` says why there is none.
 */
int flash_bytes(const struct flash_plan *plan, uint64_t bytes, unsigned reactors, size_t *took, char why[BLK_WHY])
    __attribute__((warn_unused_result));

/* The drive of such a volume, for its home or where nothing runs; NULL: it is none. */
struct drive *flash_drive(const struct blk *blk);

#endif
