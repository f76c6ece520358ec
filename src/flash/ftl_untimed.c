/*
 * ftl_untimed.c - writes without time: dealt out to the dies as in time, each at its place at once, and collected
 * for.
 *
 * For preparing a drive, and for measuring amplification.  What a unit costs is waiting for memory: the map's entries
 * of a victim's units lie anywhere, so they are asked for before the first of them is moved.
 */
#include "flash/ftl_inside.h"

enum { BATCH = 64 };

/* The next place of a row that is begun where the last one is full. */
static flash_place
place_next(struct ftl *f, uint32_t die, enum ftl_stream stream)
{
	struct ftl_die *d = &f->dies[die];

	if (d->left[stream] == 0)
		d->at[stream] = ftl_begin_row(f, die, stream, &d->left[stream]);
	d->left[stream]--;
	return d->at[stream]++;
}

static void
erase_all(struct ftl *f, uint32_t die)
{
	for (uint32_t block = ftl_to_erase(f, die); block != FTL_NO_BLOCK; block = ftl_to_erase(f, die)) {
		ftl_erase(f, block);
		ftl_erased(f, block);
	}
}

static void
collect(struct ftl *f, uint32_t die, uint32_t max)
{
	flash_place from[BATCH];
	uint32_t count = ftl_collect_any(f, die, from, max < BATCH ? max : BATCH);

	assert(count > 0);
	for (uint32_t i = 0; i < count; i++)
		__builtin_prefetch(&f->map[f->owner[from[i]]], 1);
	for (uint32_t i = 0; i < count; i++)
		ftl_programmed(f, place_next(f, die, FTL_GC), f->owner[from[i]], from[i]);
}

/* A row of hosts can be begun on the die. */
static enum ftl_stream
row_prepare(struct ftl *f, uint32_t die)
{
	uint32_t due;

	do {
		erase_all(f, die);
		due = ftl_gc_pace(f, die);
		if (due > 0)
			collect(f, die, due);
	} while (due > 0);
	erase_all(f, die);
	return ftl_host_stream(f, die);
}

static void
deal(struct ftl *f)
{
	uint32_t page = f->g.page_units > 0 ? f->g.page_units : 1;

	for (uint32_t i = 0; i < f->g.dies; i++) {
		f->deal_die = (f->deal_die + 1) % f->g.dies;
		if (ftl_room(f, f->deal_die) >= page)
			break;
	}
	f->deal_left = page;
}

void
ftl_write(struct ftl *f, uint32_t unit)
{
	struct ftl_die *d;
	enum ftl_stream stream;

	if (f->deal_left == 0)
		deal(f);
	f->deal_left--;
	d = &f->dies[f->deal_die];
	stream = d->left[FTL_SLC] > 0 ? FTL_SLC : FTL_HOST;
	if (d->left[stream] == 0)
		stream = row_prepare(f, f->deal_die);
	ftl_programmed(f, place_next(f, f->deal_die, stream), unit, FTL_NOWHERE);
}

void
ftl_rest(struct ftl *f)
{
	for (uint32_t die = 0; die < f->g.dies; die++)
		while (ftl_fold(f, die)) {
			collect(f, die, BATCH);
			erase_all(f, die);
		}
}

void
ftl_finish_rows(struct ftl *f)
{
	for (uint32_t die = 0; die < f->g.dies; die++)
		for (int stream = 0; stream < FTL_STREAMS; stream++)
			while (f->dies[die].left[stream] > 0)
				ftl_programmed(f, place_next(f, die, (enum ftl_stream)stream), FTL_NO_UNIT,
				    FTL_NOWHERE);
	for (uint32_t die = 0; die < f->g.dies; die++)
		erase_all(f, die);
	f->deal_left = 0;
}
