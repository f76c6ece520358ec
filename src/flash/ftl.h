/*
 * ftl.h - the flash translation layer: where each unit lies, which block is collected next, what is worn.
 *
 * No time, no data, no power: whoever drives it (drive.c in time, condition.c without) asks where a row goes, tells
 * what was programmed and erased, and asks what is to be collected.  Source: doc/flash.md, "Translation".
 */
#ifndef WEIR_FLASH_FTL_H
#define WEIR_FLASH_FTL_H

#include "base/arena.h"
#include "flash/geometry.h"

/* What map[] says of a unit that lies nowhere; else it is a place.  What waits in the buffer is not known here: its
 * older copy stays valid until the newer one is programmed, and is what is left when the power goes. */
#define FTL_NOWHERE UINT32_MAX
#define FTL_NO_UNIT UINT32_MAX
#define FTL_NO_BLOCK UINT32_MAX

/* For whom a row is programmed; each die has a frontier for each. */
enum ftl_stream { FTL_HOST, FTL_GC, FTL_SLC, FTL_STREAMS };

enum ftl_block_state {
	FTL_FREE,    /* erased */
	FTL_OPEN,    /* rows of it are to be begun, or to be told */
	FTL_CLOSED,  /* full: may be collected */
	FTL_VICTIM,  /* its valid units are being moved */
	FTL_EMPTY,   /* nothing valid is in it, nor will be: to be erased */
	FTL_ERASING,
};

struct ftl_counts {
	uint64_t host_units;      /* programmed for hosts, first time */
	uint64_t gc_units, fold_units, wear_units; /* moved */
	uint64_t pad_units;       /* programmed with nothing in them */
	uint64_t erases;
};

struct ftl;

/*
 * 0, -ENOMEM, or -EINVAL: a die has no room (flash_die_limit()), which what flash_geometry_init() made always has.  The
 * geometry is copied, and what is needed of the profile.
 */
int ftl_create(struct arena *arena, const struct flash_geometry *geometry, const struct flash_profile *profile,
    struct ftl **ftl) __attribute__((warn_unused_result));
void ftl_destroy(struct ftl *ftl);

/* The whole map, geometry->units long. */
const flash_place *ftl_map(const struct ftl *ftl);
const struct ftl_counts *ftl_counts(const struct ftl *ftl);

/* ---- rows ---- */

/*
 * How many units more hosts may put on the die, those that wait for it included: a die that held much more than its
 * share could not collect with gain.  All dies together always have room for what hosts can see.
 */
uint32_t ftl_room(const struct ftl *ftl, uint32_t die);

/* Which stream the next row of hosts' units goes to: FTL_SLC where the drive has that mode and the die has room for
 * it. */
enum ftl_stream ftl_host_stream(const struct ftl *ftl, uint32_t die);

/* Whether a row of that stream can be begun on the die: a frontier has room, or a free block may be taken for it.  Of
 * FTL_GC it is so whenever ftl_collect() gives something. */
bool ftl_can_begin(const struct ftl *ftl, uint32_t die, enum ftl_stream stream);

/*
 * The next row of the frontier, which can be begun: the place of its first unit; *units: so many it holds.  One of
 * FTL_GC is filled with what was collected; it may be padded only while more than one block of the die is free, or
 * where ftl_collect() gives nothing and all that was not told back goes into it: then victims become empty, so that a
 * block can be erased for the one that it may have taken.
 */
flash_place ftl_begin_row(struct ftl *ftl, uint32_t die, enum ftl_stream stream, uint32_t *units);

/*
 * What was programmed at that place of a row that was begun: the unit is there now, and where it was before is valid
 * no more.  `from`: where it was collected, and then only if it still is there; FTL_NOWHERE: a host wrote it.  `unit`
 * FTL_NO_UNIT: nothing, it was padded, or came to nothing.  Every place of a row is told, in any order; the block is
 * closed when all its rows are.  Of one unit what hosts wrote is told in the order it was written; what is overtaken
 * is FTL_NO_UNIT.
 */
void ftl_programmed(struct ftl *ftl, flash_place place, uint32_t unit, flash_place from);

/* The unit lies nowhere: it was trimmed, or what lies there will not be needed even if the power goes. */
void ftl_trim(struct ftl *ftl, uint32_t unit);

/* Which unit lies at a place, or FTL_NO_UNIT: none that is valid. */
uint32_t ftl_owner(const struct ftl *ftl, flash_place place);

/*
 * The power went: of rows that were begun and not told nothing is there, and such as are the last of a frontier are
 * begun again.  Collection begins anew, and erases are over.
 */
void ftl_cut(struct ftl *ftl);

/* ---- collection ---- */

/* Whether the die has something to collect: it has a victim, or too few free blocks. */
bool ftl_needs_gc(const struct ftl *ftl, uint32_t die);

/* How many units are to be collected before the next row of hosts is begun on the die, so that the number of its free
 * blocks stays where it is; 0: it may be begun at once. */
uint32_t ftl_gc_pace(struct ftl *ftl, uint32_t die);

/*
 * The next valid units of the die's victim, which is chosen if there is none and one is needed: up to `max` places, all
 * of one page, in order.  Each is told back, by ftl_programmed() with `from`, or by ftl_not_moved().  0: there is
 * nothing to collect, or no space to move it to before rows are told or a block is erased.
 */
uint32_t ftl_collect(struct ftl *ftl, uint32_t die, flash_place *places, uint32_t max);

/* What was collected there is not moved: it is not valid any more. */
void ftl_not_moved(struct ftl *ftl, flash_place from);

/*
 * Nobody asks for anything: what is begun is finished, free blocks are collected where the die has too few, and then
 * blocks in SLC mode, the oldest first.  True as long as there is something to collect for that; false: all is folded,
 * but for what is being filled.  A drive without that mode has nothing of it.
 */
bool ftl_fold(struct ftl *ftl, uint32_t die);

/* A block of the die that is to be erased, as all that was valid in it has been programmed elsewhere; or
 * FTL_NO_BLOCK. */
uint32_t ftl_to_erase(const struct ftl *ftl, uint32_t die);

/* It is being erased; it was, and is free. */
void ftl_erase(struct ftl *ftl, uint32_t block);
void ftl_erased(struct ftl *ftl, uint32_t block);

/* Whether it is, or is to be filled, with one bit per cell. */
bool ftl_is_slc(const struct ftl *ftl, uint32_t block);

/* ---- without time ---- */

/* The unit is written, and whatever has to be collected is: for preparing a drive, and for measuring amplification. */
void ftl_write(struct ftl *ftl, uint32_t unit);

/* Nobody asks for anything, for as long as there is something to fold. */
void ftl_rest(struct ftl *ftl);

/* Rows that ftl_write() began are padded: nothing is begun and not told, and nothing waits to be erased. */
void ftl_finish_rows(struct ftl *ftl);

/* ---- for oracles ---- */

/* What is wrong with it, or NULL: valid counts, owners, states and lists are held against each other. */
const char *ftl_check(const struct ftl *ftl);
enum ftl_block_state ftl_state_of(const struct ftl *ftl, uint32_t block);
uint32_t ftl_erases_of(const struct ftl *ftl, uint32_t block);
uint32_t ftl_free_blocks(const struct ftl *ftl, uint32_t die);

#endif
