/*
 * pmr.h - a persistent memory region of a drive, as a processor has it through a BAR: what was stored there, from when
 * on is it there for good, and what is left of it if the power goes now?
 *
 * Stores are posted: the processor goes on, and a line of 64 bytes is on its way until a read comes back that went
 * behind it, a fence (NVMe Base 2.0, PMRCAP.PMRWBM; Rio, EuroSys 2023, "an MMIO read after an MMIO write").  Before
 * that the power finds it arrived or not: what one store has in one line whole or not at all, so no naturally aligned
 * word of 8 bytes is torn; what was stored to one line in the order it was stored; different lines in any order.
 *
 * Pure: it is told the time, which never goes back, and says when the processor goes on.  Source of the times:
 * doc/flash.md.
 */
#ifndef WEIR_FLASH_PMR_H
#define WEIR_FLASH_PMR_H

#include "base/arena.h"

enum {
	PMR_LINE = 64,
	PMR_POSTED = 1024,       /* lines on their way at most: of more, those stored first have arrived */
	PMR_ROUND_TRIP_NS = 600, /* of a read */
};

struct pmr_options {
	uint8_t *memory;    /* `bytes`: what is there when the region is made, and whenever the power is gone; the
			     * caller's, longer than the region */
	uint32_t bytes;     /* whole lines */
	uint32_t link_mb_s; /* by which stores leave the processor, 1e6 bytes a second */
	uint64_t seed;      /* of what is left when the power goes */
};

struct pmr;

/* 0, or -ENOMEM. */
int pmr_create(struct arena *arena, const struct pmr_options *options, struct pmr **pmr)
    __attribute__((warn_unused_result));
/* Without a loss of power: all that was stored is in its memory. */
void pmr_destroy(struct pmr *pmr);

uint32_t pmr_bytes(const struct pmr *pmr);

/* Each answers when the processor goes on.  What is stored or loaded lies in the region. */
uint64_t pmr_store(struct pmr *pmr, uint32_t at, const void *from, uint32_t bytes, uint64_t now_ns);
/* What was stored is there from then on. */
uint64_t pmr_fence(struct pmr *pmr, uint64_t now_ns);
/* Reads what was stored last, some of it at least, line by line; the first of them is a fence. */
uint64_t pmr_load(struct pmr *pmr, uint32_t at, void *to, uint32_t bytes, uint64_t now_ns);

/* The power goes, now, and is back. */
void pmr_cut(struct pmr *pmr, uint64_t now_ns);

#endif
