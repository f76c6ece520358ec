#include "flash/ftl_inside.h"

#include <errno.h>
#include <string.h>

static const struct ftl_list nobody = { FTL_NO_BLOCK, FTL_NO_BLOCK };

/* ---- made and given back ---- */

void
ftl_reset(struct ftl *f)
{
	size_t blocks = (size_t)f->g.dies * f->g.blocks;

	memset(f->map, 0xff, sizeof(*f->map) * f->g.units);
	memset(f->bitmap, 0, sizeof(*f->bitmap) * f->words * blocks);
	memset(f->blocks, 0, sizeof(*f->blocks) * blocks);
	memset(f->dies, 0, sizeof(*f->dies) * f->g.dies);
	f->counts = (struct ftl_counts){ 0 };
	f->deal_die = f->deal_left = 0;
	for (uint32_t i = 0; i < f->g.dies; i++) {
		struct ftl_die *die = &f->dies[i];

		die->free = die->fixed = die->slc = die->empty = nobody;
		die->victim = die->aside = FTL_NO_BLOCK;
		die->fewest = f->g.block_units;
		for (int stream = 0; stream < FTL_STREAMS; stream++)
			die->frontier[stream] = FTL_NO_BLOCK;
		for (uint32_t valid = 0; valid <= f->g.block_units; valid++)
			*ftl_counted(f, i, valid) = nobody;
		for (uint32_t block = i * f->g.blocks; block < (i + 1) * f->g.blocks; block++) {
			f->blocks[block].die = (uint16_t)i;
			f->blocks[block].fixed = block - i * f->g.blocks < f->g.slc_fixed_blocks;
			ftl_list_push(f, f->blocks[block].fixed ? &die->fixed : &die->free, block);
		}
		die->free_count = f->g.blocks - f->g.slc_fixed_blocks;
	}
}

int
ftl_create(struct arena *arena, const struct flash_geometry *geometry, const struct flash_profile *profile,
    struct ftl **ftl)
{
	size_t blocks = (size_t)geometry->dies * geometry->blocks, places = blocks * geometry->block_units;
	struct ftl *f = arena_alloc(arena, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	f->arena = arena;
	f->g = *geometry;
	f->policy = profile->policy;
	f->gc_low = profile->gc_low;
	f->wear_gap = profile->wear_gap;
	f->limit = flash_die_limit(geometry, profile);
	f->words = (geometry->block_units + 63) / 64;
	if (f->limit == 0) {
		ftl_destroy(f);
		return -EINVAL;
	}
	f->map = arena_alloc_raw(arena, sizeof(*f->map) * geometry->units);
	f->owner = arena_alloc_raw(arena, sizeof(*f->owner) * places);
	f->bitmap = arena_alloc_raw(arena, sizeof(*f->bitmap) * f->words * blocks);
	f->blocks = arena_alloc(arena, sizeof(*f->blocks) * blocks);
	f->dies = arena_alloc(arena, sizeof(*f->dies) * geometry->dies);
	f->counted = arena_alloc(arena, sizeof(*f->counted) * geometry->dies * (geometry->block_units + 1));
	if (f->map == NULL || f->owner == NULL || f->bitmap == NULL || f->blocks == NULL || f->dies == NULL ||
	    f->counted == NULL) {
		ftl_destroy(f);
		return -ENOMEM;
	}
	ftl_reset(f);
	*ftl = f;
	return 0;
}

void
ftl_destroy(struct ftl *f)
{
	if (f == NULL)
		return;
	arena_free(f->arena, f->map);
	arena_free(f->arena, f->owner);
	arena_free(f->arena, f->bitmap);
	arena_free(f->arena, f->blocks);
	arena_free(f->arena, f->dies);
	arena_free(f->arena, f->counted);
	arena_free(f->arena, f);
}

const flash_place *
ftl_map(const struct ftl *f)
{
	return f->map;
}

const struct ftl_counts *
ftl_counts(const struct ftl *f)
{
	return &f->counts;
}

/* ---- which die, which stream ---- */

uint32_t
ftl_room(const struct ftl *f, uint32_t die)
{
	uint32_t used = f->dies[die].valid + f->dies[die].begun;

	return used < f->limit ? f->limit - used : 0;
}

static bool
frontier_has_room(const struct ftl *f, uint32_t die, enum ftl_stream stream)
{
	uint32_t block = f->dies[die].frontier[stream];

	return block != FTL_NO_BLOCK && f->blocks[block].begun < ftl_capacity(f, &f->blocks[block]);
}

/*
 * The last free block is for what is collected, and so is what the units that were collected need.  A victim has fewer
 * valid units than a block holds; so when collection has taken the last free block, a victim comes to its end before
 * that is full, and there is a free one again: collection never stops, and hosts' rows wait for it at worst.  A victim
 * that is always in SLC mode gives nobody a free one: it does not need the last, and what it needs is kept for it.
 */
bool
ftl_can_begin(const struct ftl *f, uint32_t die, enum ftl_stream stream)
{
	const struct ftl_die *d = &f->dies[die];
	uint32_t needed = d->moving;

	if (frontier_has_room(f, die, stream))
		return true;
	if (stream == FTL_GC)
		return d->free_count > 0 || d->aside != FTL_NO_BLOCK;
	if (stream == FTL_SLC && d->fixed.first != FTL_NO_BLOCK)
		return true;
	if (ftl_folds_fixed(f, d))
		needed += d->victim_valid - d->collected + f->g.block_units;
	return d->free_count > 1 && d->gc_space + (d->free_count - 1) * f->g.block_units >= needed;
}

enum ftl_stream
ftl_host_stream(const struct ftl *f, uint32_t die)
{
	const struct ftl_die *d = &f->dies[die];

	if (frontier_has_room(f, die, FTL_SLC) || d->fixed.first != FTL_NO_BLOCK)
		return FTL_SLC;
	/* As the drive fills, fewer blocks are free, and what is not always in SLC mode is there no more. */
	return d->slc_count < f->g.slc_blocks && d->free_count > f->gc_low + 1 ? FTL_SLC : FTL_HOST;
}

/* ---- rows ---- */

/* Where wear is levelled, what hosts write goes to what is worn least, and what is collected, which is colder, to
 * what is worn most. */
static uint32_t
free_choose(const struct ftl *f, const struct ftl_die *d, enum ftl_stream stream)
{
	uint32_t best = d->free.first;

	if (f->wear_gap == 0)
		return best;
	for (uint32_t i = best; i != FTL_NO_BLOCK; i = f->blocks[i].next) {
		uint32_t erases = f->blocks[i].erases, least = f->blocks[best].erases;

		if (stream == FTL_GC ? erases > least : erases < least)
			best = i;
	}
	return best;
}

void
ftl_frontier_take(struct ftl *f, uint32_t die, enum ftl_stream stream)
{
	struct ftl_die *d = &f->dies[die];
	bool fixed = stream == FTL_SLC && d->fixed.first != FTL_NO_BLOCK;
	uint32_t block = fixed ? d->fixed.first : free_choose(f, d, stream);
	struct ftl_block *b = &f->blocks[block];

	assert((fixed || d->free_count > 0) && b->state == FTL_FREE && b->valid == 0);
	ftl_list_remove(f, fixed ? &d->fixed : &d->free, block);
	d->free_count -= !fixed;
	d->slc_count += stream == FTL_SLC;
	d->gc_space += stream == FTL_GC ? f->g.block_units : 0;
	b->state = FTL_OPEN;
	b->stream = (uint8_t)stream;
	b->begun = b->told = b->reached = b->stamp = 0;
	d->frontier[stream] = block;
}

flash_place
ftl_begin_row(struct ftl *f, uint32_t die, enum ftl_stream stream, uint32_t *units)
{
	struct ftl_die *d = &f->dies[die];
	struct ftl_block *b;
	flash_place place;

	assert(ftl_can_begin(f, die, stream));
	if (!frontier_has_room(f, die, stream) && stream == FTL_GC && d->aside != FTL_NO_BLOCK) {
		d->frontier[stream] = d->aside;
		d->aside = FTL_NO_BLOCK;
	} else if (!frontier_has_room(f, die, stream)) {
		ftl_frontier_take(f, die, stream);
	}
	b = &f->blocks[d->frontier[stream]];
	place = d->frontier[stream] * f->g.block_units + b->begun;
	*units = stream == FTL_SLC ? f->g.slc_row_units : f->g.row_units;
	b->begun += *units;
	if (stream != FTL_GC) {
		d->begun += *units;
		d->taken += b->fixed ? 0 : f->g.row_units; /* of space, whatever is put into it */
		d->clock++;
	}
	return place;
}

static void
invalidate(struct ftl *f, flash_place place)
{
	uint32_t block = place / f->g.block_units, index = place % f->g.block_units;
	struct ftl_block *b = &f->blocks[block];
	struct ftl_die *d = &f->dies[b->die];
	bool counted = b->state == FTL_CLOSED && b->stream != FTL_SLC;

	if (counted)
		ftl_list_remove(f, ftl_counted(f, b->die, b->valid), block);
	*ftl_word(f, block, index) &= ~(UINT64_C(1) << index % 64);
	b->valid--;
	d->valid--;
	if (!counted)
		return;
	ftl_list_push(f, ftl_counted(f, b->die, b->valid), block);
	if (b->valid < d->fewest)
		d->fewest = b->valid;
}

/* What was moved is as old as it was: a block is as young as the youngest in it. */
static void
count_moved(struct ftl *f, struct ftl_block *to, const struct ftl_block *from)
{
	uint64_t *const counts[] = { [FTL_FOR_SPACE] = &f->counts.gc_units, [FTL_FOR_FOLDING] = &f->counts.fold_units,
		[FTL_FOR_WEAR] = &f->counts.wear_units };

	++*counts[from->reason];
	if (from->stamp > to->stamp)
		to->stamp = from->stamp;
}

void
ftl_put_unit(struct ftl *f, flash_place place, uint32_t unit)
{
	uint32_t block = place / f->g.block_units, index = place % f->g.block_units;

	f->map[unit] = place;
	f->owner[place] = unit;
	*ftl_word(f, block, index) |= UINT64_C(1) << index % 64;
	f->blocks[block].valid++;
	f->dies[f->blocks[block].die].valid++;
}

static void
place_unit(struct ftl *f, flash_place place, uint32_t unit, flash_place from)
{
	struct ftl_block *b = &f->blocks[place / f->g.block_units];

	if (f->map[unit] != FTL_NOWHERE)
		invalidate(f, f->map[unit]);
	ftl_put_unit(f, place, unit);
	if (from != FTL_NOWHERE) {
		count_moved(f, b, &f->blocks[from / f->g.block_units]);
		return;
	}
	f->counts.host_units++;
	b->stamp = f->dies[b->die].clock;
}

static void
row_reached(struct ftl *f, flash_place place)
{
	struct ftl_block *b = &f->blocks[place / f->g.block_units];
	uint32_t row = b->stream == FTL_SLC ? f->g.slc_row_units : f->g.row_units;
	uint32_t end = (place % f->g.block_units / row + 1) * row;

	if (end > b->reached)
		b->reached = end;
}

/* A host may have written the unit anew, or trimmed it, since it was collected: then it is not where it came from, and
 * must not come back. */
void
ftl_programmed(struct ftl *f, flash_place place, uint32_t unit, flash_place from)
{
	uint32_t block = place / f->g.block_units;
	struct ftl_block *b = &f->blocks[block];

	assert(b->state == FTL_OPEN && place % f->g.block_units < b->begun && b->told < b->begun);
	assert(!ftl_is_valid(f, block, place % f->g.block_units) && (from == FTL_NOWHERE || b->stream == FTL_GC));
	if (unit != FTL_NO_UNIT && (from == FTL_NOWHERE || f->map[unit] == from))
		place_unit(f, place, unit, from);
	else
		f->counts.pad_units++;
	if (from != FTL_NOWHERE)
		ftl_not_moved(f, from);
	row_reached(f, place);
	if (b->stream == FTL_GC)
		f->dies[b->die].gc_space--;
	else
		f->dies[b->die].begun--;
	if (++b->told == ftl_capacity(f, b))
		ftl_close(f, block);
}

void
ftl_trim(struct ftl *f, uint32_t unit)
{
	if (f->map[unit] != FTL_NOWHERE)
		invalidate(f, f->map[unit]);
	f->map[unit] = FTL_NOWHERE;
}

/* ---- what is asked ---- */

uint32_t
ftl_owner(const struct ftl *f, flash_place place)
{
	return ftl_is_valid(f, place / f->g.block_units, place % f->g.block_units) ? f->owner[place] : FTL_NO_UNIT;
}

bool
ftl_is_slc(const struct ftl *f, uint32_t block)
{
	return f->blocks[block].state != FTL_FREE && f->blocks[block].stream == FTL_SLC;
}

enum ftl_block_state
ftl_state_of(const struct ftl *f, uint32_t block)
{
	return (enum ftl_block_state)f->blocks[block].state;
}

uint32_t
ftl_erases_of(const struct ftl *f, uint32_t block)
{
	return f->blocks[block].erases;
}

uint32_t
ftl_free_blocks(const struct ftl *f, uint32_t die)
{
	return f->dies[die].free_count;
}
