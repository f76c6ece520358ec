/*
 * ftl_check.c - whether a translation layer is in order: what it keeps twice says the same.
 *
 * For tests and for states that come from a file; it looks at everything there is.
 */
#include "flash/ftl_inside.h"

static uint32_t
valid_in_bitmap(const struct ftl *f, uint32_t block)
{
	uint32_t count = 0;

	for (uint32_t i = ftl_next_valid(f, block, 0); i < f->g.block_units; i = ftl_next_valid(f, block, i + 1))
		count++;
	return count;
}

static const char *
owners_check(const struct ftl *f, uint32_t block)
{
	for (uint32_t i = ftl_next_valid(f, block, 0); i < f->g.block_units; i = ftl_next_valid(f, block, i + 1)) {
		flash_place place = block * f->g.block_units + i;

		if (i >= f->blocks[block].begun)
			return "a place is valid where no row was begun";
		if (f->owner[place] >= f->g.units || f->map[f->owner[place]] != place)
			return "the map does not know the owner of a valid place";
	}
	return NULL;
}

static const char *
block_check(const struct ftl *f, uint32_t block)
{
	const struct ftl_block *b = &f->blocks[block];
	bool holds = b->state == FTL_OPEN || b->state == FTL_CLOSED || b->state == FTL_VICTIM;

	if (b->valid != valid_in_bitmap(f, block))
		return "a block's count of valid units is not what its bitmap says";
	if (b->valid > 0 && !holds)
		return "a block that is empty has valid units";
	if (holds && (b->begun > ftl_capacity(f, b) || b->told > b->begun || b->valid > b->told))
		return "a block holds more than was told of it";
	if ((b->state == FTL_CLOSED || b->state == FTL_VICTIM) && b->told != ftl_capacity(f, b))
		return "a closed block is not full";
	if (b->state == FTL_OPEN && b->told == ftl_capacity(f, b))
		return "a full block is open";
	if (b->state == FTL_VICTIM && f->dies[b->die].victim != block && b->moving == 0)
		return "a victim waits for nothing";
	if (b->fixed && b->state != FTL_FREE && b->stream != FTL_SLC)
		return "a block that is always in SLC mode is not";
	if (!b->fixed && (b->erases > f->dies[b->die].erases_most || b->erases < f->dies[b->die].erases_least))
		return "a block is worn more, or less, than its die knows";
	return owners_check(f, block);
}

/* How many blocks are in the list, all of which have that state; UINT32_MAX: not all have. */
static uint32_t
list_count(const struct ftl *f, const struct ftl_list *list, enum ftl_block_state state)
{
	uint32_t count = 0, before = FTL_NO_BLOCK;

	for (uint32_t i = list->first; i != FTL_NO_BLOCK; i = f->blocks[i].next) {
		if (f->blocks[i].state != state || f->blocks[i].prev != before || ++count > f->g.blocks)
			return UINT32_MAX;
		before = i;
	}
	return list->last == before ? count : UINT32_MAX;
}

static const char *
lists_check(const struct ftl *f, uint32_t die, const uint32_t states[])
{
	const struct ftl_die *d = &f->dies[die];
	uint32_t closed = list_count(f, &d->slc, FTL_CLOSED);

	if (closed == UINT32_MAX)
		return "what is closed in SLC mode is not what its list says";
	for (uint32_t valid = 0; valid <= f->g.block_units; valid++) {
		uint32_t count = list_count(f, ftl_counted(f, die, valid), FTL_CLOSED);

		if (count == UINT32_MAX || (count > 0 && valid < d->fewest))
			return "what is closed is not what the lists say";
		closed += count;
		for (uint32_t i = ftl_counted(f, die, valid)->first; i != FTL_NO_BLOCK; i = f->blocks[i].next)
			if (f->blocks[i].valid != valid || f->blocks[i].stream == FTL_SLC)
				return "a closed block is in the wrong list";
	}
	if (closed != states[FTL_CLOSED])
		return "a closed block is in no list";
	if (list_count(f, &d->free, FTL_FREE) != d->free_count ||
	    list_count(f, &d->fixed, FTL_FREE) != states[FTL_FREE] - d->free_count)
		return "what is free is not what its list says";
	if (list_count(f, &d->empty, FTL_EMPTY) != states[FTL_EMPTY])
		return "what is to be erased is not what its list says";
	return NULL;
}

static const char *
die_check(const struct ftl *f, uint32_t die)
{
	const struct ftl_die *d = &f->dies[die];
	uint32_t states[FTL_ERASING + 1] = { 0 }, valid = 0, begun = 0, moving = 0, space = 0, slc = 0, coming = 0;
	bool chosen = d->victim != FTL_NO_BLOCK;

	for (uint32_t block = die * f->g.blocks; block < (die + 1) * f->g.blocks; block++) {
		const struct ftl_block *b = &f->blocks[block];
		const char *wrong = b->die == die && b->state <= FTL_ERASING ? block_check(f, block) :
		    "a block has no such state, or die";

		if (wrong != NULL)
			return wrong;
		states[b->state]++;
		valid += b->valid;
		begun += b->state == FTL_OPEN && b->stream != FTL_GC ? b->begun - b->told : 0;
		space += b->state == FTL_OPEN && b->stream == FTL_GC ? f->g.block_units - b->told : 0;
		moving += b->state == FTL_VICTIM ? b->moving : 0;
		slc += b->state != FTL_FREE && b->stream == FTL_SLC;
		coming += b->state >= FTL_VICTIM && !b->fixed && block != d->victim;
	}
	if (chosen && f->blocks[d->victim].state != FTL_VICTIM)
		return "the die's victim is none";
	if (d->valid != valid || d->begun != begun || d->slc_count != slc || d->coming != coming ||
	    d->moving != moving || d->gc_space != space)
		return "a die's counts are not those of its blocks";
	if (d->slack > d->debt + d->taken)
		return "more of a die's debt is not pressing than there is";
	if (moving > space + d->free_count * f->g.block_units)
		return "more is being moved than there is space for";
	return lists_check(f, die, states);
}

const char *
ftl_check(const struct ftl *f)
{
	uint64_t mapped = 0, valid = 0;

	for (uint32_t die = 0; die < f->g.dies; die++) {
		const char *wrong = die_check(f, die);

		if (wrong != NULL)
			return wrong;
		valid += f->dies[die].valid;
	}
	for (uint64_t unit = 0; unit < f->g.units; unit++)
		mapped += f->map[unit] != FTL_NOWHERE;
	return mapped == valid ? NULL : "the map has a place that is not valid";
}
