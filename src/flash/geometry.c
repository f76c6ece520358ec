#include "flash/geometry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { MIB = 1024 * 1024 };

static uint64_t
up(uint64_t value, uint64_t by)
{
	return (value + by - 1) / by;
}

/* Of what is programmed at a stroke, in all bits of its cells. */
static uint32_t
row_units(const struct flash_profile *p)
{
	return p->planes * p->bits * p->page_bytes / p->unit_bytes;
}

/* Of each die, without those in reserve or always in SLC mode: so many there should be at least. */
static uint32_t
blocks_wanted(const struct flash_profile *p)
{
	return p->scale_blocks - p->reserve_blocks;
}

/* That each die has to have for so many of hosts, in these blocks. */
static uint64_t
raw_units(const struct flash_profile *p, uint64_t units)
{
	return up(units * (1000 + p->spare_permille), UINT64_C(1000) * p->dies);
}

uint64_t
flash_geometry_smallest(const struct flash_profile *p)
{
	uint64_t units = p->dies;

	/* The fewest of which raw_units() makes a row for each block. */
	if (p->media == FLASH_NAND)
		units = ((uint64_t)blocks_wanted(p) * row_units(p) - 1) * 1000 * p->dies / (1000 + p->spare_permille) +
		    1;
	return up(units * p->unit_bytes, MIB) * MIB;
}

/* ---- blocks ---- */

/* Blocks become fewer first; where they are few enough they become smaller, row by row. */
static void
blocks_lay(struct flash_geometry *g, const struct flash_profile *p)
{
	uint64_t raw = raw_units(p, g->units), wanted = blocks_wanted(p);

	g->row_units = row_units(p);
	g->block_rows = p->pages / p->bits;
	if (up(raw, (uint64_t)g->block_rows * g->row_units) < wanted) {
		uint64_t rows = (2 * raw + wanted * g->row_units) / (2 * wanted * g->row_units); /* the nearest */

		g->block_rows = rows < g->block_rows ? (uint32_t)rows : g->block_rows;
	}
	g->block_units = g->block_rows * g->row_units;
	g->blocks = (uint32_t)up(raw, g->block_units) + p->reserve_blocks;
	g->spare_permille = (uint32_t)((uint64_t)(g->blocks - p->reserve_blocks) * g->block_units * g->dies * 1000 /
	    g->units - 1000);
	g->erase_ns = p->erase_ns;
	if (p->erase_scales)
		g->erase_ns = (uint32_t)up((uint64_t)p->erase_ns * g->block_rows, p->pages / p->bits);
}

/* What is always in SLC mode has blocks of its own. */
static void
slc_lay(struct flash_geometry *g, const struct flash_profile *p)
{
	uint64_t thousand;

	if (p->slc_permille == 0)
		return;
	g->slc_row_units = g->row_units / p->bits;
	g->slc_block_units = g->block_units / p->bits;
	thousand = UINT64_C(1000) * g->dies * g->slc_block_units;
	g->slc_blocks = (uint32_t)((g->units * p->slc_permille + thousand / 2) / thousand);
	g->slc_fixed_blocks = (uint32_t)((g->units * p->slc_fixed_permille + thousand / 2) / thousand);
	g->blocks += g->slc_fixed_blocks;
}

/* Blocks of each die that what hosts have cannot fill.  Open are the frontiers of hosts and of collection; and where
 * there is SLC mode one of these blocks is being folded. */
static uint32_t
blocks_held(const struct flash_geometry *g, const struct flash_profile *p)
{
	enum { OPEN = 2 };

	return p->gc_low + OPEN + (g->slc_blocks > 0 ? g->slc_fixed_blocks + 1 : 0);
}

uint32_t
flash_die_limit(const struct flash_geometry *g, const struct flash_profile *p)
{
	uint32_t share = (uint32_t)up(g->units, g->dies), held = blocks_held(g, p);
	uint32_t most = g->blocks > held ? (g->blocks - held) * g->block_units : 0;
	uint32_t limit = most > share ? share + (most - share) / 2 : 0;

	return p->gc_low >= 2 && limit >= share + 2 * g->row_units ? limit : 0;
}

static bool
has_room(const struct flash_geometry *g, const struct flash_profile *p, char why[FLASH_WHY])
{
	uint64_t full = up(g->units, (uint64_t)g->dies * g->block_units);

	if (flash_die_limit(g, p) > 0)
		return true;
	snprintf(why, FLASH_WHY, "of %u blocks of a die hosts fill %" PRIu64 ", %u are held back, %u of them for "
	    "`gc-low`, and the rest is too little", g->blocks, full, blocks_held(g, p), p->gc_low);
	return false;
}

/* ---- all of it ---- */

/* So that all places can be counted, those in reserve and of each die the last block, and the last that is always in
 * SLC mode, among them. */
static uint64_t
units_max(const struct flash_profile *p)
{
	uint64_t beside = 0;

	if (p->media == FLASH_NAND)
		beside = (uint64_t)p->dies * (p->reserve_blocks + 2) * p->planes * p->pages * p->page_bytes /
		    p->unit_bytes;
	return beside < FLASH_PLACES_MAX ? (FLASH_PLACES_MAX - beside) * 1000 / flash_raw_permille(p) : 0;
}

static void
nand_lay(struct flash_geometry *g, const struct flash_profile *p)
{
	g->planes = p->planes;
	g->page_units = p->page_bytes / p->unit_bytes;
	g->unit_pages = g->page_units > 0 ? 1 : p->unit_bytes / p->page_bytes;
	blocks_lay(g, p);
	slc_lay(g, p);
}

int
flash_geometry_init(struct flash_geometry *g, const struct flash_profile *p, uint64_t bytes, char why[FLASH_WHY])
{
	uint64_t smallest = flash_geometry_smallest(p);
	uint64_t units = bytes / p->unit_bytes;
	char capacity[AMOUNT_TEXT];

	if (bytes < smallest) {
		amount_print(smallest / MIB, "MiB", capacity);
		snprintf(why, FLASH_WHY, "it has %s at least, so that each of %u dies has blocks enough", capacity,
		    p->dies);
		return -EINVAL;
	}
	if (bytes / 1000000 > p->capacity_mb) {
		amount_print(p->capacity_mb, "MB", capacity);
		snprintf(why, FLASH_WHY, "it has %s at most, with which the drive is sold", capacity);
		return -EINVAL;
	}
	if (units > units_max(p)) {
		snprintf(why, FLASH_WHY, "it has %" PRIu64 " units, and no more than %" PRIu64 " can be counted", units,
		    units_max(p));
		return -EINVAL;
	}
	*g = (struct flash_geometry) { .units = units, .unit_bytes = p->unit_bytes,
		.channels = p->channels, .dies = p->dies };
	if (p->media == FLASH_NAND)
		nand_lay(g, p);
	return p->media == FLASH_IN_PLACE || has_room(g, p, why) ? 0 : -ENOSPC;
}
