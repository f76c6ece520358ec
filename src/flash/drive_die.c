/*
 * drive_die.c - what a die does for itself: rows of what hosts wrote, what is moved, erases.
 *
 * One job at a time, chosen when the last one ended: what makes room first.  It does not know which block is collected,
 * nor how fast (ftl.h).
 */
#include "flash/drive_parts.h"

#include <assert.h>
#include <string.h>

static uint32_t
index_of(const struct drive *d, const struct drive_die *die)
{
	return (uint32_t)(die - d->dies);
}

static void
send(struct drive *d, struct drive_die *die, enum drive_job_kind kind, enum nand_op op, uint32_t cells_ns,
    uint32_t bytes)
{
	die->busy = true;
	die->job.kind = (uint8_t)kind;
	die->job.nand = (struct nand_job){ .op = (uint8_t)op, .die = (uint16_t)index_of(d, die), .cells_ns = cells_ns,
		.bytes = bytes };
	nand_submit(d->nand, &die->job.nand, d->now_ns);
}

/* ---- rows ---- */

static uint32_t
program_ns(const struct drive *d, enum ftl_stream stream)
{
	return stream == FTL_SLC ? d->profile.slc_program_ns : d->profile.program_ns;
}

static void
send_row(struct drive *d, struct drive_die *die, enum ftl_stream stream)
{
	uint32_t bytes;

	die->stream = (uint8_t)stream;
	die->row = ftl_begin_row(d->ftl, index_of(d, die), stream, &die->row_units);
	bytes = die->row_units * d->geometry.unit_bytes;
	send(d, die, DRIVE_ROW, NAND_PROGRAM, program_ns(d, stream), bytes);
}

/* There is a row's worth, or somebody waits for what there is. */
static bool
host_row_ready(struct drive *d, struct drive_die *die, enum ftl_stream stream)
{
	uint32_t count = d->buffer.lines[index_of(d, die)].count;
	uint32_t row = stream == FTL_SLC ? d->geometry.slc_row_units : d->geometry.row_units;

	if (die->forced > count)
		die->forced = count;
	return count >= row || die->forced > 0;
}

static void
host_row(struct drive *d, struct drive_die *die, enum ftl_stream stream)
{
	uint32_t i = index_of(d, die), count = d->buffer.lines[i].count, *last = &die->slots;

	send_row(d, die, stream);
	if (count > die->row_units)
		count = die->row_units;
	die->row_moves = 0;
	for (uint32_t k = 0; k < count; k++) {
		*last = buffer_program(&d->buffer, i);
		last = &d->buffer.slots[*last].next;
	}
	die->forced -= die->forced < count ? die->forced : count;
}

static void
move_row(struct drive *d, struct drive_die *die)
{
	send_row(d, die, FTL_GC);
	die->slots = BUFFER_NONE;
	die->row_moves = die->move_count < die->row_units ? die->move_count : die->row_units;
}

/* Each place of the row is told: what has a slot, what was moved, and what is padding. */
static void
row_done(struct drive *d, struct drive_die *die)
{
	flash_place place = die->row, end = die->row + die->row_units;

	for (uint32_t slot = die->slots, next; slot != BUFFER_NONE; slot = next) {
		const struct buffer_slot *s = &d->buffer.slots[slot];

		next = s->next;
		ftl_programmed(d->ftl, place++, s->dead ? FTL_NO_UNIT : s->unit, FTL_NOWHERE);
		if (!s->dead) {
			buffer_done(&d->buffer, slot);
			drive_keep(d, slot);
		}
		buffer_give(&d->buffer, slot);
		d->dirty = true;
	}
	for (uint32_t i = 0; i < die->row_moves; i++)
		ftl_programmed(d->ftl, place++, die->moves[i].unit, die->moves[i].from);
	while (place < end)
		ftl_programmed(d->ftl, place++, FTL_NO_UNIT, FTL_NOWHERE);
	die->move_count -= die->row_moves;
	memmove(die->moves, die->moves + die->row_moves, sizeof(*die->moves) * die->move_count);
	die->slots = BUFFER_NONE;
	die->row_moves = die->row_units = 0;
}

/* ---- collection ---- */

static bool
erase(struct drive *d, struct drive_die *die)
{
	uint32_t block = ftl_to_erase(d->ftl, index_of(d, die));

	if (block == FTL_NO_BLOCK)
		return false;
	ftl_erase(d->ftl, block);
	die->erasing = block;
	send(d, die, DRIVE_ERASE, NAND_ERASE, d->geometry.erase_ns, 0);
	return true;
}

/* Reads the next units of the victim: those of one page are sensed together. */
static bool
collect(struct drive *d, struct drive_die *die)
{
	flash_place places[FLASH_ROW_UNITS_MAX];
	uint32_t found = ftl_collect(d->ftl, index_of(d, die), places, d->geometry.row_units);

	if (found == 0)
		return false;
	for (uint32_t i = 0; i < found; i++)
		die->moves[die->move_count + i] = (struct drive_move){ ftl_owner(d->ftl, places[i]), places[i] };
	die->reading = found;
	send(d, die, DRIVE_COLLECT, NAND_READ, d->profile.read_ns, found * d->geometry.unit_bytes);
	return true;
}

/* What hosts wrote meanwhile need not be moved. */
static void
collect_done(struct drive *d, struct drive_die *die)
{
	uint32_t end = die->move_count + die->reading;

	for (uint32_t i = die->move_count; i < end; i++) {
		struct drive_move move = die->moves[i];

		if (ftl_owner(d->ftl, move.from) == move.unit)
			die->moves[die->move_count++] = move;
		else
			ftl_not_moved(d->ftl, move.from);
	}
	die->reading = 0;
}

/* ---- one after the other ---- */

/* What hosts wrote, if there is a row's worth of it and the die is not behind with collecting. */
static bool
serve_hosts(struct drive *d, struct drive_die *die)
{
	uint32_t i = index_of(d, die);
	enum ftl_stream stream = ftl_host_stream(d->ftl, i);

	if (!host_row_ready(d, die, stream))
		return false;
	if (ftl_gc_pace(d->ftl, i) == 0) {
		stream = ftl_host_stream(d->ftl, i); /* choosing a victim may have taken a block */
		if (!host_row_ready(d, die, stream))
			return false;
		if (ftl_can_begin(d->ftl, i, stream)) {
			host_row(d, die, stream);
			return true;
		}
	}
	if (collect(d, die))
		return true;
	/* A block becomes free only when what was in it is elsewhere, though that fills no row: there is nothing more
	 * to fill it with, and hosts cannot go on. */
	if (die->move_count > 0)
		move_row(d, die);
	return die->busy;
}

void
drive_die_kick(struct drive *d, uint32_t i)
{
	struct drive_die *die = &d->dies[i];

	if (die->busy)
		return;
	if (erase(d, die))
		return;
	if (die->move_count >= d->geometry.row_units) {
		move_row(d, die);
		return;
	}
	if (serve_hosts(d, die))
		return;
	/* Nobody asks for anything: what is begun is finished, and what is in SLC mode makes room. */
	if (ftl_fold(d->ftl, i) && collect(d, die))
		return;
	/* What was to be collected had nothing valid in it. */
	(void)erase(d, die);
}

void
drive_die_done(struct drive *d, struct drive_job *job)
{
	struct drive_die *die = container_of(job, struct drive_die, job);
	bool freed = job->kind == DRIVE_ROW && die->slots != BUFFER_NONE;

	die->busy = false;
	if (job->kind == DRIVE_ROW)
		row_done(d, die);
	else if (job->kind == DRIVE_COLLECT)
		collect_done(d, die);
	else
		ftl_erased(d->ftl, die->erasing);
	drive_die_kick(d, index_of(d, die));
	if (!freed)
		return;
	drive_flush_look(d);
	drive_place(d);
}

/* What is newer of its unit is in the buffer too, so that it is not needed any more, or it is the first in line. */
static void
slot_again(struct drive *d, uint32_t slot)
{
	const struct buffer_slot *s = &d->buffer.slots[slot];

	if (!s->dead && buffer_find(&d->buffer, s->unit) != slot)
		buffer_kill(&d->buffer, slot);
	if (s->dead)
		buffer_give(&d->buffer, slot);
	else
		buffer_again(&d->buffer, slot);
}

/* What it did comes to nothing; slots are again the first in line, in their order. */
void
drive_die_cut(struct drive *d, uint32_t i)
{
	struct drive_die *die = &d->dies[i];
	uint32_t slots[FLASH_ROW_UNITS_MAX], count = 0;

	for (uint32_t slot = die->slots; slot != BUFFER_NONE; slot = d->buffer.slots[slot].next)
		slots[count++] = slot;
	while (count-- > 0)
		slot_again(d, slots[count]);
	die->slots = BUFFER_NONE;
	die->busy = false;
	die->row_units = die->row_moves = die->move_count = die->reading = die->forced = 0;
}
