/*
 * nand.h - dies and channels in time: what is done where, in which order, and when it is over.
 *
 * It is handed jobs and says which ended when.  A die does one thing at a time; channels, and the number of dies that
 * may work for the drive itself, are shared.  Reads of hosts go first, and suspend what can be suspended.  It does not
 * know what is read or written.  Source: doc/flash.md, "Time".
 *
 * Of what happens at the same instant, what happens on dies comes before what channels choose, and lower numbers
 * before higher ones.
 */
#ifndef WEIR_FLASH_NAND_H
#define WEIR_FLASH_NAND_H

#include "base/arena.h"
#include "base/list.h"
#include "flash/geometry.h"

enum nand_op {
	NAND_READ,    /* sense, then the channel */
	NAND_PROGRAM, /* the channel, page by page, then the cells */
	NAND_ERASE,
};

enum {
	/*
	 * So many urgent reads go before another job that might begin, and so many in each of its suspensions:
	 * enough to be worth what suspending takes; and a program that has its power ends after at most
	 * (suspends_max + 1) times as many, however many hosts read.
	 */
	NAND_READS_AHEAD = 8,
};

/* A job is its maker's; nand's from nand_submit() until nand_run() answers it. */
struct nand_job {
	struct fifo_node node;
	uint8_t op;        /* enum nand_op */
	bool urgent;       /* of a READ: somebody waits for it; it goes before all that is not */
	uint16_t die;
	uint32_t cells_ns; /* sensing, programming, erasing; at least 1 */
	uint32_t bytes;    /* over the channel, without what error correction adds; of an ERASE 0, else at least 1 */
	uint64_t end_ns;   /* when it was over; set before nand_run() answers it */
};

struct nand;

/* Die n is on channel n % channels.  0, or -ENOMEM. */
int nand_create(struct arena *arena, const struct flash_geometry *geometry, const struct flash_profile *profile,
    struct nand **nand) __attribute__((warn_unused_result));
void nand_destroy(struct nand *nand);

/*
 * `now_ns` is not before what nand_run() was given or answered last, and nothing is to happen before it: nand_run() was
 * called as nand_next() said.  Never answers by itself: nand_run() does.
 */
void nand_submit(struct nand *nand, struct nand_job *job, uint64_t now_ns);

/* When it next wants nand_run(); UINT64_MAX: nothing is under way. */
uint64_t nand_next(const struct nand *nand);

/* Goes on until a job ends, and answers it, or until `now_ns`, and answers NULL. */
struct nand_job *nand_run(struct nand *nand, uint64_t now_ns);

/* Jobs that wait for the die or are on it, but for urgent reads. */
uint32_t nand_load(const struct nand *nand, uint32_t die);

/* The power is gone: everything is forgotten, and every job is its maker's again. */
void nand_cut(struct nand *nand);

#endif
