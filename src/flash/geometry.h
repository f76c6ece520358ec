/*
 * geometry.h - a modelled drive of a certain capacity: how many blocks, rows and units it has, and what places are.
 *
 * All dies of the drive that is sold are there, each with fewer blocks, and where that would leave too few of them for
 * collection to be what it is, with fewer pages in each.
 */
#ifndef WEIR_FLASH_GEOMETRY_H
#define WEIR_FLASH_GEOMETRY_H

#include "flash/profile.h"

/* A place on the media: of a unit, counted die by die, block by block, row by row.  Below FLASH_PLACES_MAX. */
typedef uint32_t flash_place;
#define FLASH_PLACES_MAX (UINT32_C(1) << 31)

/* Of media that are written in place: units, unit_bytes, channels and dies; the rest is 0. */
struct flash_geometry {
	uint64_t units;           /* that hosts see */
	uint32_t unit_bytes;
	uint32_t channels, dies;
	uint32_t planes;
	uint32_t blocks;          /* of each die, those in reserve and those always in SLC mode among them */
	uint32_t block_units, row_units;
	uint32_t page_units;      /* 0: a unit is larger than a page, and takes unit_pages */
	uint32_t unit_pages;      /* of as many planes: 1, or what a large unit fills */
	uint32_t block_rows;
	uint32_t slc_row_units, slc_block_units; /* of a block in SLC mode; 0: there is none */
	uint32_t slc_blocks;      /* of each die that may be in SLC mode at a time, where there is room */
	uint32_t slc_fixed_blocks; /* of those, how many always are: the first ones of each die */
	uint32_t erase_ns;        /* as it is for blocks of this size */
	uint32_t spare_permille;  /* as it came out, without reserve_blocks and slc_fixed_blocks */
};

enum { FLASH_WHY = 160 };

/*
 * `bytes` is rounded down to whole units.  0; -EINVAL, with `why`: too small, more than the drive that is sold has, or
 * more than places can say; -ENOSPC, with `why`: a full drive could not be collected.  `why` is a sentence about the
 * drive: "it has 513 MiB at least ...".
 */
int flash_geometry_init(struct flash_geometry *geometry, const struct flash_profile *profile, uint64_t bytes,
    char why[FLASH_WHY]) __attribute__((warn_unused_result));

/* The smallest capacity, in bytes, a whole number of MiB: each of `scale_blocks` has a row. */
uint64_t flash_geometry_smallest(const struct flash_profile *profile);

/*
 * How many units of hosts a die may hold: halfway between its share of them and what it could hold beside the blocks
 * that are being filled, `gc_low` free ones and what is always in SLC mode.  In between is what chance, and hosts that
 * rewrite one die's units, may bring it.  0: that is not two rows, or gc_low is not two, and it could not be collected.
 */
uint32_t flash_die_limit(const struct flash_geometry *geometry, const struct flash_profile *profile);

static inline uint32_t
flash_die_units(const struct flash_geometry *g)
{
	return g->blocks * g->block_units;
}

static inline uint32_t
flash_die_of(const struct flash_geometry *g, flash_place place)
{
	return place / flash_die_units(g);
}

/* Blocks are numbered over all dies. */
static inline uint32_t
flash_block_of(const struct flash_geometry *g, flash_place place)
{
	return place / g->block_units;
}

#endif
