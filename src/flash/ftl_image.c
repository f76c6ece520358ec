/*
 * ftl_image.c - a translation layer at rest as bytes, and back: dies, blocks and the map
 * (doc/formats/flash-state.md).
 *
 * A die's blocks are in the order of the lists that they are in, so that what is read goes on exactly as what was
 * written would have.  Owners, what is valid and all that is counted follow from the map, and are not kept.  It knows
 * neither of what else is in the file, nor whether the bytes are those that were written.
 */
#include "flash/ftl_inside.h"

#include "base/bytes.h"

enum { COUNTS = 6, HEAD = COUNTS * 8 + 8, DIE = 16, BLOCK = 20 };

size_t
ftl_image_bytes(const struct ftl *f)
{
	return HEAD + (size_t)f->g.dies * (DIE + (size_t)f->g.blocks * BLOCK) + (size_t)f->g.units * 4;
}

bool
ftl_at_rest(const struct ftl *f)
{
	for (uint32_t i = 0; i < f->g.dies; i++) {
		const struct ftl_die *d = &f->dies[i];

		if (d->victim != FTL_NO_BLOCK || d->coming > 0 || d->begun > 0 || d->moving > 0)
			return false;
	}
	return f->deal_left == 0;
}

/* ---- to bytes ---- */

static uint8_t *
block_put(const struct ftl *f, uint32_t block, uint8_t *out)
{
	const struct ftl_block *b = &f->blocks[block];

	put_le32(out, block);
	out[4] = b->state;
	out[5] = b->state == FTL_FREE ? 0 : b->stream;
	put_le16(out + 6, 0);
	put_le32(out + 8, b->state == FTL_FREE ? 0 : b->begun);
	put_le32(out + 12, b->state == FTL_FREE ? 0 : b->stamp);
	put_le32(out + 16, b->erases);
	return out + BLOCK;
}

static uint8_t *
list_put(const struct ftl *f, const struct ftl_list *list, uint8_t *out)
{
	for (uint32_t block = list->first; block != FTL_NO_BLOCK; block = f->blocks[block].next)
		out = block_put(f, block, out);
	return out;
}

static uint8_t *
die_put(const struct ftl *f, uint32_t die, uint8_t *out)
{
	const struct ftl_die *d = &f->dies[die];

	put_le32(out, d->clock);
	put_le32(out + 4, d->debt);
	put_le32(out + 8, d->slack);
	put_le32(out + 12, d->wore);
	out = list_put(f, &d->free, out + DIE);
	out = list_put(f, &d->fixed, out);
	for (uint32_t valid = 0; valid <= f->g.block_units; valid++)
		out = list_put(f, ftl_counted(f, die, valid), out);
	out = list_put(f, &d->slc, out);
	for (int stream = 0; stream < FTL_STREAMS; stream++)
		if (d->frontier[stream] != FTL_NO_BLOCK)
			out = block_put(f, d->frontier[stream], out);
	return d->aside != FTL_NO_BLOCK ? block_put(f, d->aside, out) : out;
}

void
ftl_image_put(const struct ftl *f, uint8_t *out)
{
	const uint64_t counts[COUNTS] = { f->counts.host_units, f->counts.gc_units, f->counts.fold_units,
		f->counts.wear_units, f->counts.pad_units, f->counts.erases };

	assert(ftl_at_rest(f));
	for (int i = 0; i < COUNTS; i++)
		put_le64(out + 8 * i, counts[i]);
	put_le32(out + COUNTS * 8, f->deal_die);
	put_le32(out + COUNTS * 8 + 4, 0);
	out += HEAD;
	for (uint32_t die = 0; die < f->g.dies; die++)
		out = die_put(f, die, out);
	for (uint64_t unit = 0; unit < f->g.units; unit++, out += 4)
		put_le32(out, f->map[unit]);
}

/* ---- and back ---- */

static const char *
block_get(struct ftl *f, const uint8_t *in, uint32_t die)
{
	uint32_t block = get_le32(in), capacity, row;
	struct ftl_block *b;

	if (block / f->g.blocks != die || f->blocks[block].state != FTL_ERASING)
		return "a die has not each of its blocks once";
	b = &f->blocks[block];
	b->state = in[4];
	b->stream = in[5];
	b->begun = b->told = b->reached = get_le32(in + 8);
	b->stamp = get_le32(in + 12);
	b->erases = get_le32(in + 16);
	if (b->state > FTL_CLOSED || b->stream >= FTL_STREAMS || get_le16(in + 6) != 0)
		return "a block has no such state";
	if (b->erases > UINT32_MAX / 2)
		return "a block is worn more than any can be";
	if (b->stream == FTL_SLC && f->g.slc_block_units == 0)
		return "a block is in SLC mode, and the drive has none";
	if (b->fixed && b->state != FTL_FREE && b->stream != FTL_SLC)
		return "a block is always in SLC mode, and is not";
	capacity = ftl_capacity(f, b);
	row = b->stream == FTL_SLC ? f->g.slc_row_units : f->g.row_units;
	if (b->begun > capacity || b->begun % row != 0 || b->stamp > f->dies[die].clock)
		return "a block has been filled further than it can be";
	if ((b->begun == capacity) != (b->state == FTL_CLOSED) ||
	    (b->state == FTL_FREE && (b->begun | b->stamp | b->stream) != 0))
		return "a block is filled further, or less, than its state says";
	return NULL;
}

/* Before the map is read no block has a list, and all are as if being erased. */
static const char *
blocks_get(struct ftl *f, const uint8_t *in, uint32_t die)
{
	struct ftl_die *d = &f->dies[die];

	d->clock = get_le32(in);
	d->debt = get_le32(in + 4);
	d->slack = get_le32(in + 8);
	d->wore = get_le32(in + 12) == 1;
	if (get_le32(in + 12) > 1 || d->slack > d->debt || d->debt > f->g.blocks * f->g.block_units)
		return "a die has no such debt";
	for (uint32_t i = 0; i < f->g.blocks; i++) {
		const char *wrong = block_get(f, in + DIE + i * BLOCK, die);

		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

static const char *
map_get(struct ftl *f, const uint8_t *in)
{
	for (uint32_t unit = 0; unit < f->g.units; unit++, in += 4) {
		flash_place place = get_le32(in);
		uint32_t block = place / f->g.block_units, index = place % f->g.block_units;

		if (place == FTL_NOWHERE)
			continue;
		if (block >= f->g.dies * f->g.blocks || index >= f->blocks[block].told)
			return "a unit lies where nothing was programmed";
		if (ftl_is_valid(f, block, index))
			return "two units lie at one place";
		ftl_put_unit(f, place, unit);
	}
	return NULL;
}

static bool
frontier_get(struct ftl *f, struct ftl_die *d, uint32_t block)
{
	const struct ftl_block *b = &f->blocks[block];
	uint32_t *frontier = &d->frontier[b->stream];

	if (*frontier != FTL_NO_BLOCK && b->stream == FTL_GC)
		frontier = &d->aside;
	if (*frontier != FTL_NO_BLOCK)
		return false;
	*frontier = block;
	d->gc_space += b->stream == FTL_GC ? f->g.block_units - b->told : 0;
	return true;
}

static bool
can_collect(const struct ftl *f, uint32_t die)
{
	uint32_t least = ftl_least_valid(f, die);

	return f->dies[die].free_count > 0 ||
	    (least != FTL_NO_BLOCK && f->blocks[least].valid <= f->dies[die].gc_space);
}

static const char *
lists_get(struct ftl *f, const uint8_t *in, uint32_t die)
{
	struct ftl_die *d = &f->dies[die];

	d->erases_least = UINT32_MAX;
	for (uint32_t i = 0; i < f->g.blocks; i++) {
		uint32_t block = get_le32(in + DIE + i * BLOCK);
		struct ftl_block *b = &f->blocks[block];

		if (!b->fixed) {
			d->erases_most = b->erases > d->erases_most ? b->erases : d->erases_most;
			d->erases_least = b->erases < d->erases_least ? b->erases : d->erases_least;
		}
		d->slc_count += b->state != FTL_FREE && b->stream == FTL_SLC;
		if (b->state == FTL_CLOSED) {
			b->state = FTL_OPEN;
			ftl_close(f, block);
		} else if (b->state == FTL_OPEN && !frontier_get(f, d, block)) {
			return "a die has too many open blocks";
		} else if (b->state == FTL_FREE) {
			ftl_list_push(f, b->fixed ? &d->fixed : &d->free, block);
			d->free_count += !b->fixed;
		}
	}
	return d->valid > f->limit || !can_collect(f, die) ? "a die is fuller than it can be" : NULL;
}

static const char *
image_get(struct ftl *f, const uint8_t *in)
{
	uint64_t *const counts[COUNTS] = { &f->counts.host_units, &f->counts.gc_units, &f->counts.fold_units,
		&f->counts.wear_units, &f->counts.pad_units, &f->counts.erases };
	size_t die_bytes = DIE + (size_t)f->g.blocks * BLOCK;
	const char *wrong = NULL;

	for (int i = 0; i < COUNTS; i++)
		*counts[i] = get_le64(in + 8 * i);
	f->deal_die = get_le32(in + COUNTS * 8);
	if (f->deal_die >= f->g.dies || get_le32(in + COUNTS * 8 + 4) != 0)
		return "there is no such die";
	for (uint32_t die = 0; die < f->g.dies && wrong == NULL; die++)
		wrong = blocks_get(f, in + HEAD + die * die_bytes, die);
	if (wrong == NULL)
		wrong = map_get(f, in + HEAD + f->g.dies * die_bytes);
	for (uint32_t die = 0; die < f->g.dies && wrong == NULL; die++)
		wrong = lists_get(f, in + HEAD + die * die_bytes, die);
	return wrong;
}

const char *
ftl_image_get(struct ftl *f, const uint8_t *in)
{
	const char *wrong;

	ftl_reset(f);
	for (uint32_t die = 0; die < f->g.dies; die++) {
		f->dies[die].free = f->dies[die].fixed = (struct ftl_list){ FTL_NO_BLOCK, FTL_NO_BLOCK };
		f->dies[die].free_count = 0;
	}
	for (uint32_t block = 0; block < f->g.dies * f->g.blocks; block++)
		f->blocks[block].state = FTL_ERASING;
	wrong = image_get(f, in);
	if (wrong != NULL)
		ftl_reset(f);
	return wrong;
}
