/*
 * ftl_inside.h - what the files of the translation layer share: blocks and their lists.
 *
 * A block is in one list of its die at most: of the free ones, of those free that are always in SLC mode, of those
 * closed with as many valid units, of those closed in SLC mode, of those to be erased.
 */
#ifndef WEIR_FLASH_FTL_INSIDE_H
#define WEIR_FLASH_FTL_INSIDE_H

#include <assert.h>

#include "flash/ftl.h"

enum ftl_reason { FTL_FOR_SPACE, FTL_FOR_FOLDING, FTL_FOR_WEAR };

struct ftl_block {
	uint32_t valid;     /* units */
	uint32_t prev, next;
	uint32_t begun;     /* units of the rows that were begun */
	uint32_t told;      /* of these */
	uint32_t reached;   /* units of the rows up to the last one of which any was told */
	uint32_t moving;    /* of a victim: collected and not told back */
	uint32_t stamp;     /* its die's clock when the youngest of its units was written by a host */
	uint32_t erases;
	uint16_t die;
	uint8_t state;      /* enum ftl_block_state */
	uint8_t stream;     /* enum ftl_stream; of what is not free */
	uint8_t reason;     /* enum ftl_reason; of a victim */
	bool fixed;         /* it is always in SLC mode: for nothing else, and free in a list of its own */
};

struct ftl_list {
	uint32_t first, last;
};

struct ftl_die {
	struct ftl_list free, fixed, slc, empty;
	uint32_t frontier[FTL_STREAMS]; /* FTL_NO_BLOCK: a free one is to be taken */
	uint32_t aside;     /* the frontier of collection that waits while what is cold fills a block of its own */
	uint32_t free_count; /* of what is always in SLC mode nothing is counted here, */
	uint32_t coming;    /* nor here: blocks that were collected and are not erased */
	uint32_t slc_count; /* blocks in SLC mode */
	uint32_t valid;     /* units */
	uint32_t begun;     /* for hosts, and not told */
	uint32_t moving;    /* collected, and not told back: never more than there is space for */
	uint32_t gc_space;  /* in the frontier of collection: not begun, or not told */
	uint32_t fewest;    /* no closed block has fewer valid units */
	uint32_t clock;     /* rows begun for hosts */

	uint32_t victim;    /* or FTL_NO_BLOCK */
	uint32_t cursor;    /* of the victim: what lies before it was collected */
	uint32_t victim_valid; /* units, when it was chosen */
	uint32_t collected; /* of these */
	uint32_t gain;      /* what it gives hosts, in units of space */
	uint32_t quota;     /* when they have taken so much since it was chosen, all of it has to be collected */
	uint32_t taken;     /* of that */
	uint32_t debt;      /* what they took beyond what they were given */
	uint32_t slack;     /* of the debt: what levelling wear left, and is not pressing */

	uint32_t erases_most, erases_least; /* of its blocks, but for those always in SLC mode; none has fewer than the
					     * latter */
	bool wore;          /* the last victim was chosen for wear */

	flash_place at[FTL_STREAMS]; /* ftl_write(): the rows it is in, and what is left of them */
	uint32_t left[FTL_STREAMS];
};

struct ftl {
	struct arena *arena;
	struct flash_geometry g;
	uint32_t policy, gc_low, wear_gap;
	uint32_t limit;     /* units of each die that hosts may fill */
	uint32_t words;     /* of a block's bitmap */
	flash_place *map;
	uint32_t *owner;
	uint64_t *bitmap;   /* of what is valid, block by block */
	struct ftl_block *blocks;
	struct ftl_die *dies;
	struct ftl_list *counted; /* closed blocks of each die by the number of valid units */
	uint32_t deal_die, deal_left; /* ftl_write(): where the page goes, and what is left of it */
	struct ftl_counts counts;
};

static inline uint32_t
ftl_capacity(const struct ftl *f, const struct ftl_block *b)
{
	return b->stream == FTL_SLC ? f->g.slc_block_units : f->g.block_units;
}

static inline struct ftl_list *
ftl_counted(const struct ftl *f, uint32_t die, uint32_t valid)
{
	return &f->counted[die * (f->g.block_units + 1) + valid];
}

static inline void
ftl_list_push(struct ftl *f, struct ftl_list *list, uint32_t block)
{
	struct ftl_block *b = &f->blocks[block];

	b->prev = list->last;
	b->next = FTL_NO_BLOCK;
	if (list->last != FTL_NO_BLOCK)
		f->blocks[list->last].next = block;
	else
		list->first = block;
	list->last = block;
}

static inline void
ftl_list_remove(struct ftl *f, struct ftl_list *list, uint32_t block)
{
	struct ftl_block *b = &f->blocks[block];

	if (b->prev != FTL_NO_BLOCK)
		f->blocks[b->prev].next = b->next;
	else
		list->first = b->next;
	if (b->next != FTL_NO_BLOCK)
		f->blocks[b->next].prev = b->prev;
	else
		list->last = b->prev;
}

static inline uint64_t *
ftl_word(const struct ftl *f, uint32_t block, uint32_t index)
{
	return &f->bitmap[(size_t)block * f->words + index / 64];
}

static inline bool
ftl_is_valid(const struct ftl *f, uint32_t block, uint32_t index)
{
	return *ftl_word(f, block, index) >> index % 64 & 1;
}

/* The die's victim is always in SLC mode. */
static inline bool
ftl_folds_fixed(const struct ftl *f, const struct ftl_die *d)
{
	return d->victim != FTL_NO_BLOCK && f->blocks[d->victim].fixed;
}

/* The first valid unit of the block from `index` on; block_units: there is none. */
uint32_t ftl_next_valid(const struct ftl *ftl, uint32_t block, uint32_t index);

/* A closed block is in its list. */
void ftl_close(struct ftl *ftl, uint32_t block);

/* A place that was collected was told back: where that was the victim's last, it is to be erased. */
void ftl_told_back(struct ftl *ftl, uint32_t block);

/* The closed block of the die that has the fewest valid units, in SLC mode or not, but for what is always so;
 * FTL_NO_BLOCK: there is none. */
uint32_t ftl_least_valid(const struct ftl *ftl, uint32_t die);

/* A free block becomes the frontier of that stream. */
void ftl_frontier_take(struct ftl *ftl, uint32_t die, enum ftl_stream stream);

/* The unit, which is nowhere, is at that place, which has none. */
void ftl_put_unit(struct ftl *ftl, flash_place place, uint32_t unit);

/* Nothing was ever written. */
void ftl_reset(struct ftl *ftl);

/*
 * As bytes, what is at rest: nothing is begun and not told, nothing is collected, nothing waits to be erased.  Where
 * ftl_image_get() answers what is wrong with them, not NULL, nothing was ever written.
 */
size_t ftl_image_bytes(const struct ftl *ftl);
bool ftl_at_rest(const struct ftl *ftl);
void ftl_image_put(const struct ftl *ftl, uint8_t *out);
const char *ftl_image_get(struct ftl *ftl, const uint8_t *in);

/* As ftl_collect(), of as many pages as there are. */
uint32_t ftl_collect_any(struct ftl *ftl, uint32_t die, flash_place *places, uint32_t max);

#endif
