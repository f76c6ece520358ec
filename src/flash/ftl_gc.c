/*
 * ftl_gc.c - which block is collected next, how fast, and when it may be erased.
 *
 * A block goes from FTL_CLOSED to FTL_VICTIM, when it is chosen; to FTL_EMPTY, when all that was valid in it has been
 * programmed elsewhere, or written anew by hosts; to FTL_ERASING and to FTL_FREE.  It does not know when that is.
 *
 * The pace.  A victim with v valid units of B gives hosts B - v units of space, its gain, after v were moved.  So
 * while hosts take h units of space, v * h / (B - v) are moved: when they have taken the gain, all is moved.  What
 * they took beyond, as rows are not divided, is the die's debt, and counts as taken of the next victim.  Free space
 * is free blocks, those to be erased, and what is left of the frontiers.  When a victim is chosen it is gc_low blocks
 * or more, less the debt, which is less than a row; and until that victim gives its block back it has become less by
 * its gain and what was moved, which is B, and by a row.  In each of the two frontiers there is less than B of it.
 * So of blocks that are free or to be erased a die has never fewer than gc_low - 3.  Where wear is levelled hosts are
 * given nothing for about B / 2, which the next victims make good with up to half of their gains: one block less.  If
 * there were none, hosts' rows would wait (ftl_can_begin()).
 *
 * What is always in SLC mode is apart from this: its blocks are for nothing else, hosts' rows there take no space, and
 * to fold one gives none.  That is done while nobody asks for anything and the die has free blocks enough; if hosts
 * come meanwhile, a unit is moved for each of the space that they take.
 */
#include "flash/ftl_inside.h"

/* ---- blocks ---- */

void
ftl_close(struct ftl *f, uint32_t block)
{
	struct ftl_block *b = &f->blocks[block];
	struct ftl_die *d = &f->dies[b->die];

	assert(b->state == FTL_OPEN && b->told == b->begun);
	b->state = FTL_CLOSED;
	if (d->frontier[b->stream] == block)
		d->frontier[b->stream] = FTL_NO_BLOCK;
	if (b->stream == FTL_SLC) {
		ftl_list_push(f, &d->slc, block);
		return;
	}
	ftl_list_push(f, ftl_counted(f, b->die, b->valid), block);
	if (b->valid < d->fewest)
		d->fewest = b->valid;
}

uint32_t
ftl_next_valid(const struct ftl *f, uint32_t block, uint32_t index)
{
	const uint64_t *words = &f->bitmap[(size_t)block * f->words];
	uint32_t at = index / 64;
	uint64_t word;

	if (index >= f->g.block_units)
		return f->g.block_units;
	word = words[at] >> index % 64 << index % 64;
	while (word == 0 && ++at < f->words)
		word = words[at];
	return word == 0 ? f->g.block_units : at * 64 + (uint32_t)__builtin_ctzll(word);
}

/* ---- the choice ---- */

/* The list of the fewest is found by going up from where it was last: that goes down by one for a unit that became
 * invalid, or for a block that was closed to what that has, so that all steps up are no more than the units written.
 * */
static uint32_t
greedy(struct ftl *f, uint32_t die)
{
	struct ftl_die *d = &f->dies[die];

	while (d->fewest < f->g.block_units && ftl_counted(f, die, d->fewest)->first == FTL_NO_BLOCK)
		d->fewest++;
	return d->fewest < f->g.block_units ? ftl_counted(f, die, d->fewest)->first : FTL_NO_BLOCK;
}

static bool
is_candidate(const struct ftl_block *b)
{
	return b->state == FTL_CLOSED && b->stream != FTL_SLC;
}

/* age x (1 - u) / 2u, by 1024, with u = valid / block_units. */
static unsigned __int128
benefit(const struct ftl *f, const struct ftl_block *b)
{
	unsigned __int128 age = f->dies[b->die].clock - b->stamp + 1;

	return b->valid == 0 ? ~(unsigned __int128)0 : age * (f->g.block_units - b->valid) * 512 / b->valid;
}

static uint32_t
cost_benefit(const struct ftl *f, uint32_t die)
{
	uint32_t best = FTL_NO_BLOCK;
	unsigned __int128 most = 0;

	for (uint32_t i = die * f->g.blocks; i < (die + 1) * f->g.blocks; i++) {
		unsigned __int128 score;

		if (!is_candidate(&f->blocks[i]))
			continue;
		score = benefit(f, &f->blocks[i]);
		if (score > most) {
			most = score;
			best = i;
		}
	}
	return best;
}

/* What is in it is as old as all that the die can hold: by hosts that write it now and then it would have been
 * collected. */
static bool
is_cold(const struct ftl *f, const struct ftl_block *b)
{
	return is_candidate(b) && f->dies[b->die].clock - b->stamp >= f->g.blocks * f->g.block_rows;
}

/* The least worn block that holds what is cold, if it is time for it; never twice in turn, nor when hosts have not
 * been given back what the last time took. */
static uint32_t
worn(struct ftl *f, uint32_t die)
{
	struct ftl_die *d = &f->dies[die];
	uint32_t best = FTL_NO_BLOCK, least = UINT32_MAX;

	if (f->wear_gap == 0 || d->erases_most - d->erases_least < f->wear_gap)
		return FTL_NO_BLOCK;
	if (d->wore || d->debt > f->g.row_units || d->free_count < 2 || d->aside != FTL_NO_BLOCK)
		return FTL_NO_BLOCK;
	for (uint32_t i = die * f->g.blocks; i < (die + 1) * f->g.blocks; i++) {
		const struct ftl_block *b = &f->blocks[i];

		if (b->erases < least && !b->fixed)
			least = b->erases;
		if (is_cold(f, b) && (best == FTL_NO_BLOCK || b->erases < f->blocks[best].erases))
			best = i;
	}
	d->erases_least = least;
	return best != FTL_NO_BLOCK && d->erases_most - f->blocks[best].erases >= f->wear_gap ? best : FTL_NO_BLOCK;
}

uint32_t
ftl_least_valid(const struct ftl *f, uint32_t die)
{
	uint32_t best = FTL_NO_BLOCK;

	for (uint32_t i = die * f->g.blocks; i < (die + 1) * f->g.blocks; i++) {
		const struct ftl_block *b = &f->blocks[i];

		if (b->state == FTL_CLOSED && !b->fixed && (best == FTL_NO_BLOCK || b->valid < f->blocks[best].valid))
			best = i;
	}
	return best;
}

static void
victim_begin(struct ftl *f, uint32_t block, enum ftl_reason reason)
{
	struct ftl_block *b = &f->blocks[block];
	struct ftl_die *d = &f->dies[b->die];

	assert(b->state == FTL_CLOSED && d->victim == FTL_NO_BLOCK);
	ftl_list_remove(f, b->stream == FTL_SLC ? &d->slc : ftl_counted(f, b->die, b->valid), block);
	b->state = FTL_VICTIM;
	b->reason = (uint8_t)reason;
	b->moving = 0;
	d->victim = block;
	d->wore = reason == FTL_FOR_WEAR;
	d->cursor = d->collected = 0;
	d->victim_valid = b->valid;
	d->taken = 0;
	if (b->fixed) {
		d->quota = b->valid + 1;
		return;
	}
	d->gain = d->quota = f->g.block_units - b->valid;
	d->taken = d->debt < d->gain / 2 ? d->debt : d->gain / 2;
	if (d->taken < d->debt - d->slack)
		d->taken = d->debt - d->slack;
	d->debt -= d->taken;
}

/* Whatever it gives; two units are moved for each of hosts', so that they hardly feel it.  What is cold is not mixed
 * with what was collected for space: that would be collected again, and what is cold with it. */
static void
victim_begin_worn(struct ftl *f, uint32_t block)
{
	struct ftl_die *d = &f->dies[f->blocks[block].die];
	uint32_t frontier = d->frontier[FTL_GC];

	victim_begin(f, block, FTL_FOR_WEAR);
	d->quota = d->victim_valid / 2 + 1;
	if (frontier != FTL_NO_BLOCK && f->blocks[frontier].begun < f->g.block_units)
		d->aside = frontier;
	ftl_frontier_take(f, f->blocks[block].die, FTL_GC);
}

/* The oldest block in SLC mode that is not always so. */
static uint32_t
slc_oldest(const struct ftl *f, const struct ftl_die *d)
{
	uint32_t block = d->slc.first;

	while (block != FTL_NO_BLOCK && f->blocks[block].fixed)
		block = f->blocks[block].next;
	return block;
}

/* Blocks in SLC mode give most; those that are always so give nothing. */
static bool
victim_choose(struct ftl *f, uint32_t die)
{
	struct ftl_die *d = &f->dies[die];
	uint32_t oldest = slc_oldest(f, d), block;

	/* The power went while the last free block was filled: that has space for what the victim had left, which is
	 * chosen anew, but perhaps not for another. */
	if (d->free_count == 0) {
		block = ftl_least_valid(f, die);
		if (block == FTL_NO_BLOCK || f->blocks[block].valid == f->g.block_units)
			return false;
		victim_begin(f, block, f->blocks[block].stream == FTL_SLC ? FTL_FOR_FOLDING : FTL_FOR_SPACE);
		return true;
	}
	if (oldest != FTL_NO_BLOCK) {
		victim_begin(f, oldest, FTL_FOR_FOLDING);
		return true;
	}
	block = worn(f, die);
	if (block != FTL_NO_BLOCK) {
		victim_begin_worn(f, block);
		return true;
	}
	block = f->policy == FLASH_COST_BENEFIT ? cost_benefit(f, die) : greedy(f, die);
	if (block == FTL_NO_BLOCK)
		return false;
	victim_begin(f, block, FTL_FOR_SPACE);
	return true;
}

/* ---- the victim ---- */

void
ftl_told_back(struct ftl *f, uint32_t block)
{
	struct ftl_block *b = &f->blocks[block];
	struct ftl_die *d = &f->dies[b->die];

	if (b->moving > 0 || d->victim == block)
		return;
	assert(b->state == FTL_VICTIM && b->valid == 0);
	b->state = FTL_EMPTY;
	ftl_list_push(f, &d->empty, block);
}

/* All of it was collected. */
static void
victim_end(struct ftl *f, struct ftl_die *d)
{
	uint32_t block = d->victim, owed = d->debt + d->taken;

	d->victim = FTL_NO_BLOCK;
	if (!f->blocks[block].fixed) {
		d->debt = owed > d->gain ? owed - d->gain : 0;
		if (d->wore || d->slack > d->debt)
			d->slack = d->debt;
		d->coming++;
	}
	ftl_told_back(f, block);
}

/* Where hosts cannot go on it does not count that blocks will come: their last units may wait for others to fill a
 * row. */
bool
ftl_needs_gc(const struct ftl *f, uint32_t die)
{
	const struct ftl_die *d = &f->dies[die];

	return d->victim != FTL_NO_BLOCK || d->free_count <= 1 || d->free_count + d->coming <= f->gc_low;
}

/* The die has a victim, and what the cursor is at is valid. */
static bool
victim_ready(struct ftl *f, uint32_t die)
{
	struct ftl_die *d = &f->dies[die];

	while (ftl_needs_gc(f, die)) {
		if (d->victim == FTL_NO_BLOCK && !victim_choose(f, die))
			return false;
		d->cursor = ftl_next_valid(f, d->victim, d->cursor);
		if (d->cursor < f->g.block_units)
			return true;
		victim_end(f, d);
	}
	return false;
}

uint32_t
ftl_gc_pace(struct ftl *f, uint32_t die)
{
	struct ftl_die *d = &f->dies[die];
	uint32_t due;

	if (!victim_ready(f, die))
		return 0;
	if (d->taken >= d->quota || !ftl_can_begin(f, die, ftl_host_stream(f, die)))
		return d->victim_valid - d->collected;
	due = (uint32_t)(((uint64_t)d->victim_valid * d->taken + d->quota - 1) / d->quota);
	return due > d->collected ? due - d->collected : 0;
}

/* Up to `max` valid units of the victim, as long as `end` is not reached, and as there is space to move them to. */
static uint32_t
victim_take(struct ftl *f, struct ftl_die *d, flash_place *places, uint32_t max, uint32_t end)
{
	uint32_t space = d->gc_space + d->free_count * f->g.block_units - d->moving, count = 0;

	if (max > space)
		max = space;
	while (count < max && d->cursor < end) {
		places[count++] = d->victim * f->g.block_units + d->cursor;
		d->cursor = ftl_next_valid(f, d->victim, d->cursor + 1);
	}
	f->blocks[d->victim].moving += count;
	d->moving += count;
	d->collected += count;
	if (d->cursor == f->g.block_units)
		victim_end(f, d);
	return count;
}

uint32_t
ftl_collect_any(struct ftl *f, uint32_t die, flash_place *places, uint32_t max)
{
	return victim_ready(f, die) ? victim_take(f, &f->dies[die], places, max, f->g.block_units) : 0;
}

uint32_t
ftl_collect(struct ftl *f, uint32_t die, flash_place *places, uint32_t max)
{
	struct ftl_die *d = &f->dies[die];
	uint32_t page = f->g.page_units > 0 ? f->g.page_units : 1;

	return victim_ready(f, die) ? victim_take(f, d, places, max, d->cursor / page * page + page) : 0;
}

void
ftl_not_moved(struct ftl *f, flash_place from)
{
	uint32_t block = from / f->g.block_units;

	assert(f->blocks[block].state == FTL_VICTIM && f->blocks[block].moving > 0);
	assert(!ftl_is_valid(f, block, from % f->g.block_units));
	f->blocks[block].moving--;
	f->dies[f->blocks[block].die].moving--;
	ftl_told_back(f, block);
}

bool
ftl_fold(struct ftl *f, uint32_t die)
{
	struct ftl_die *d = &f->dies[die];

	if (f->g.slc_blocks == 0)
		return false;
	while (!victim_ready(f, die)) {
		if (d->slc.first == FTL_NO_BLOCK || ftl_needs_gc(f, die))
			return false;
		victim_begin(f, d->slc.first, FTL_FOR_FOLDING);
	}
	return true;
}

/* ---- erasing ---- */

uint32_t
ftl_to_erase(const struct ftl *f, uint32_t die)
{
	return f->dies[die].empty.first;
}

void
ftl_erase(struct ftl *f, uint32_t block)
{
	struct ftl_block *b = &f->blocks[block];

	assert(b->state == FTL_EMPTY && b->valid == 0 && b->moving == 0);
	ftl_list_remove(f, &f->dies[b->die].empty, block);
	b->state = FTL_ERASING;
}

void
ftl_erased(struct ftl *f, uint32_t block)
{
	struct ftl_block *b = &f->blocks[block];
	struct ftl_die *d = &f->dies[b->die];

	assert(b->state == FTL_ERASING);
	d->slc_count -= b->stream == FTL_SLC;
	f->counts.erases++;
	b->erases++;
	b->state = FTL_FREE;
	ftl_list_push(f, b->fixed ? &d->fixed : &d->free, block);
	if (b->fixed)
		return;
	d->coming--;
	d->free_count++;
	if (b->erases > d->erases_most)
		d->erases_most = b->erases;
}

/* ---- the power ---- */

/* A victim of which something was on its way is one no more: it is closed, and chosen again when its time comes. */
static void
victim_forget(struct ftl *f, uint32_t block)
{
	struct ftl_block *b = &f->blocks[block];
	struct ftl_die *d = &f->dies[b->die];

	if (d->victim == block) {
		d->victim = FTL_NO_BLOCK;
		d->debt += b->fixed ? 0 : d->taken; /* for which they were given nothing */
		d->taken = 0;
	} else if (!b->fixed) {
		d->coming--;
	}
	d->moving -= b->moving;
	b->moving = 0;
	b->state = FTL_OPEN;
	ftl_close(f, block);
}

/*
 * The last rows of a frontier, of which nothing was told, are begun anew.  That is kinder than flash is, which would
 * have to leave them as they are; but if that cost space, a drive whose power goes again and again could not collect.
 */
static void
rows_forget(struct ftl *f, uint32_t block)
{
	struct ftl_block *b = &f->blocks[block];
	struct ftl_die *d = &f->dies[b->die];

	d->begun -= b->stream != FTL_GC ? b->begun - b->told : 0;
	if (d->frontier[b->stream] == block)
		b->begun = b->reached;
	d->gc_space -= b->stream == FTL_GC ? b->begun - b->told : 0;
	f->counts.pad_units += b->begun - b->told;
	b->told = b->begun;
	if (b->told == ftl_capacity(f, b))
		ftl_close(f, block);
}

void
ftl_cut(struct ftl *f)
{
	for (uint32_t block = 0; block < f->g.dies * f->g.blocks; block++) {
		struct ftl_block *b = &f->blocks[block];

		if (b->state == FTL_VICTIM)
			victim_forget(f, block);
		else if (b->state == FTL_ERASING)
			ftl_erased(f, block);
		if (b->state == FTL_OPEN && b->told < b->begun)
			rows_forget(f, block);
	}
}
