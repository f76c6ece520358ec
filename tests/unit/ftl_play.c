#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ftl_play.h"

static uint32_t
below(struct play *p, uint64_t limit)
{
	return (uint32_t)rng_below(&p->b.rng, limit);
}

static size_t
places(const struct play *p)
{
	return (size_t)p->b.geometry.dies * p->b.geometry.blocks * p->b.geometry.block_units;
}

void
play_open(struct play *p)
{
	struct arena *arena = &p->b.arena;

	assert_in_range(p->b.geometry.row_units, 1, PLAY_ROW);
	ftl_bench_open(&p->b);
	p->waits = arena_alloc(arena, sizeof(*p->waits) * p->b.geometry.dies);
	p->media = arena_alloc(arena, sizeof(*p->media) * places(p));
	p->newest = arena_alloc(arena, sizeof(*p->newest) * p->b.geometry.units);
	p->barred = arena_alloc(arena, sizeof(*p->barred) * p->b.geometry.units);
	assert_true(p->waits != NULL && p->media != NULL && p->newest != NULL && p->barred != NULL);
}

void
play_close(struct play *p)
{
	arena_free(&p->b.arena, p->waits);
	arena_free(&p->b.arena, p->media);
	arena_free(&p->b.arena, p->newest);
	arena_free(&p->b.arena, p->barred);
	ftl_bench_close(&p->b);
}

/* ---- rows ---- */

static struct play_row *
row_begin(struct play *p, uint32_t die, enum ftl_stream stream)
{
	struct play_row *row = &p->rows[p->row_count++];

	*row = (struct play_row){ .die = die };
	row->place = ftl_begin_row(p->b.ftl, die, stream, &row->count);
	for (uint32_t i = 0; i < row->count; i++) {
		row->units[i] = FTL_NO_UNIT;
		row->from[i] = FTL_NOWHERE;
	}
	return row;
}

bool
play_host_row(struct play *p, uint32_t die)
{
	enum ftl_stream stream = ftl_host_stream(p->b.ftl, die);
	uint32_t pads = below(p, 8) == 0 ? 1 + below(p, 4) : 0;
	struct play_row *row;

	if (p->row_count == PLAY_ROWS || !ftl_can_begin(p->b.ftl, die, stream) ||
	    ftl_room(p->b.ftl, die) < p->b.geometry.row_units)
		return false;
	if (!p->impatient && ftl_gc_pace(p->b.ftl, die) > 0)
		return false;
	row = row_begin(p, die, stream);
	for (uint32_t i = 0; i + pads < row->count; i++) {
		row->units[i] = below(p, p->hot > 0 ? p->hot : p->b.geometry.units);
		row->data[i] = ++p->writes;
	}
	p->rows_begun++;
	return true;
}

bool
play_collect(struct play *p, uint32_t die)
{
	struct play_wait *wait = &p->waits[die];
	flash_place from[4];
	uint32_t count;

	if (wait->count + 4 > PLAY_WAIT)
		return false;
	count = ftl_collect(p->b.ftl, die, from, 1 + below(p, 4));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t unit = ftl_owner(p->b.ftl, from[i]);

		assert_int_not_equal(unit, FTL_NO_UNIT);
		assert_int_equal(from[i] / 4, from[0] / 4); /* of one page */
		wait->units[wait->count++] = (struct play_moved){ from[i], unit, p->media[from[i]] };
	}
	return count > 0;
}

/* What hosts wrote anew while it waited goes into no row. */
bool
play_gc_row(struct play *p, uint32_t die, bool padded)
{
	struct play_wait *wait = &p->waits[die];
	struct play_row *row;
	uint32_t kept = 0, taken;

	for (uint32_t i = 0; i < wait->count; i++)
		if (ftl_owner(p->b.ftl, wait->units[i].from) != FTL_NO_UNIT)
			wait->units[kept++] = wait->units[i];
		else
			ftl_not_moved(p->b.ftl, wait->units[i].from);
	wait->count = kept;
	padded = padded && ftl_free_blocks(p->b.ftl, die) > 1;
	if (kept == 0 || (kept < p->b.geometry.row_units && !padded) || p->row_count == PLAY_ROWS)
		return false;
	assert_true(ftl_can_begin(p->b.ftl, die, FTL_GC));
	row = row_begin(p, die, FTL_GC);
	taken = kept < row->count ? kept : row->count;
	for (uint32_t i = 0; i < taken; i++) {
		row->units[i] = wait->units[i].unit;
		row->from[i] = wait->units[i].from;
		row->data[i] = wait->units[i].data;
	}
	wait->count -= taken;
	for (uint32_t i = 0; i < wait->count; i++)
		wait->units[i] = wait->units[i + taken];
	return true;
}

static void
tell_host(struct play *p, flash_place place, uint32_t unit, uint64_t data)
{
	if (unit == FTL_NO_UNIT || data <= p->barred[unit]) {
		ftl_programmed(p->b.ftl, place, FTL_NO_UNIT, FTL_NOWHERE);
		return;
	}
	ftl_programmed(p->b.ftl, place, unit, FTL_NOWHERE);
	p->newest[unit] = p->barred[unit] = data;
}

bool
play_tell(struct play *p)
{
	struct play_row row;
	uint32_t which;

	if (p->row_count == 0)
		return false;
	which = below(p, p->row_count);
	row = p->rows[which];
	p->rows[which] = p->rows[--p->row_count];
	for (uint32_t i = row.count; i-- > 0;) {
		assert_int_equal(p->media[row.place + i], 0); /* nothing is programmed twice */
		p->media[row.place + i] = row.data[i] != 0 ? row.data[i] : UINT64_MAX;
		if (row.from[i] == FTL_NOWHERE)
			tell_host(p, row.place + i, row.units[i], row.data[i]);
		else
			ftl_programmed(p->b.ftl, row.place + i, row.units[i], row.from[i]);
	}
	return true;
}

/* ---- the rest ---- */

static void
forget(struct play *p, uint32_t block)
{
	for (uint32_t i = 0; i < p->b.geometry.block_units; i++)
		p->media[block * p->b.geometry.block_units + i] = 0;
}

bool
play_erase(struct play *p, uint32_t die)
{
	const struct flash_geometry *g = &p->b.geometry;
	uint32_t block = ftl_to_erase(p->b.ftl, die);

	if (block != FTL_NO_BLOCK)
		ftl_erase(p->b.ftl, block);
	if (block != FTL_NO_BLOCK && below(p, 2) == 0)
		return true;
	for (block = die * g->blocks; block < (die + 1) * g->blocks; block++) {
		if (ftl_state_of(p->b.ftl, block) != FTL_ERASING)
			continue;
		forget(p, block);
		ftl_erased(p->b.ftl, block);
		return true;
	}
	return false;
}

void
play_trim(struct play *p, uint32_t unit)
{
	ftl_trim(p->b.ftl, unit);
	p->newest[unit] = 0;
	p->barred[unit] = p->writes;
}

/* What was being programmed is not there, nor what was being erased. */
void
play_cut(struct play *p)
{
	const struct flash_geometry *g = &p->b.geometry;

	for (uint32_t i = 0; i < p->row_count; i++)
		for (uint32_t j = 0; j < p->rows[i].count; j++)
			p->media[p->rows[i].place + j] = 0;
	for (uint32_t block = 0; block < g->dies * g->blocks; block++)
		if (ftl_state_of(p->b.ftl, block) == FTL_ERASING)
			forget(p, block);
	p->row_count = 0;
	for (uint32_t die = 0; die < g->dies; die++)
		p->waits[die].count = 0;
	ftl_cut(p->b.ftl);
}

void
play_step(struct play *p)
{
	uint32_t die = below(p, p->b.geometry.dies);

	switch (below(p, 16)) {
	case 0:
	case 1:
	case 2:
		play_host_row(p, die);
		break;
	case 3:
		play_trim(p, below(p, p->b.geometry.units));
		break;
	case 4:
		play_gc_row(p, die, below(p, 8) == 0);
		break;
	case 5:
	case 6:
		play_erase(p, die);
		break;
	case 7:
		if (below(p, 16) == 0)
			play_cut(p);
		else
			ftl_fold(p->b.ftl, die);
		break;
	case 8:
	case 9:
	case 10:
		play_tell(p);
		break;
	default:
		play_collect(p, die);
	}
}

static void
turn(struct play *p, uint32_t die)
{
	while (p->row_count > 0)
		play_tell(p);
	while (play_erase(p, die))
		;
	if (p->waits[die].count < p->b.geometry.row_units)
		play_collect(p, die);
	play_gc_row(p, die, false);
	play_host_row(p, die);
}

void
play_orderly(struct play *p, uint64_t rows)
{
	uint64_t goal = p->rows_begun + rows, turns = 0;

	while (p->rows_begun < goal) {
		assert_true(turns++ < (rows + 1000) * 64);
		for (uint32_t die = 0; die < p->b.geometry.dies; die++)
			turn(p, die);
	}
}

void
play_judge(const struct play *p)
{
	const flash_place *map = ftl_map(p->b.ftl);
	const char *wrong = ftl_check(p->b.ftl);

	if (wrong != NULL)
		fail_msg("%s", wrong);
	for (uint32_t unit = 0; unit < p->b.geometry.units; unit++)
		assert_true(map[unit] == FTL_NOWHERE ? p->newest[unit] == 0 : p->media[map[unit]] == p->newest[unit]);
}
