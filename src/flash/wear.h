/*
 * wear.h - how worn is a drive: what was programmed and erased in its life, and how much of that life is over?
 *
 * What it was prepared with is of its life too.  The profile's endurance says how long that is: of the blocks that are
 * programmed with all their bits.  Those that are always in SLC mode bear so much more that they do not count.
 */
#ifndef WEIR_FLASH_WEAR_H
#define WEIR_FLASH_WEAR_H

#include "flash/drive.h"

struct flash_wear {
	uint64_t media_bytes;                /* programmed, for whatever reason; written, where that is in place */
	uint64_t erases;                     /* of all blocks */
	uint32_t erases_least, erases_most;  /* of one block that is not always in SLC mode */
	uint64_t erases_mean_permille;       /* in thousandths of one; all are 0 where nothing is erased */
	uint64_t used_percent;               /* of its life, rounded down; may be beyond 100 */
};

/* Units that were programmed, for whatever reason. */
static inline uint64_t
wear_units(const struct ftl_counts *c)
{
	return c->host_units + c->gc_units + c->fold_units + c->wear_units + c->pad_units;
}

/* Looks at every block. */
void wear_of_ftl(const struct ftl *ftl, const struct flash_geometry *geometry, const struct flash_profile *profile,
    struct flash_wear *wear);

/* The same, with its journal; or of media that are written in place. */
void wear_of_drive(struct drive *drive, struct flash_wear *wear);

#endif
