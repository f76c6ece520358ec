/*
 * drive_write.c - commands that write or trim: unit by unit into the buffer, as far as there is room, in the order in
 * which they came.
 */
#include "flash/drive_parts.h"

#include <assert.h>

enum {
	STEP_UNITS = 4096,   /* placed at a stroke; trims may be of millions */
	STEP_NS = 10 * 1000, /* that a drive takes for so many */
};

/* In its line, as long as others have room in theirs, and on its media. */
static bool
takes_more(const struct drive *d, uint32_t die, uint32_t share)
{
	uint32_t waiting = d->buffer.lines[die].count + d->buffer.lines[die].merging;

	return waiting < share && waiting < ftl_room(d->ftl, die);
}

static bool
find_die(struct drive *d, uint32_t share)
{
	uint32_t dies = d->geometry.dies, die = d->deal_die;

	for (uint32_t i = 0; i < dies; i++) {
		die = die + 1 < dies ? die + 1 : 0;
		if (takes_more(d, die, share)) {
			d->deal_die = die;
			return true;
		}
	}
	return false;
}

/*
 * Where the next unit goes: a page's worth to each die in turn.  False: to none, before something is programmed.  All
 * dies together have room for what hosts can see, and for two rows more on each; so there is a row to be programmed.
 */
static bool
deal(struct drive *d)
{
	if (d->deal_left == 0 || !takes_more(d, d->deal_die, d->share)) {
		if (!find_die(d, d->share) && !find_die(d, UINT32_MAX))
			return false;
		d->deal_left = d->geometry.page_units > 0 ? d->geometry.page_units : 1;
	}
	d->deal_left--;
	return true;
}

static bool
has_room(struct drive *d)
{
	if (d->buffer.free_count > 0)
		return true;
	if (d->buffer.trimmed > 0)
		drive_journal_begin(d);
	return false;
}

static void
wait(struct drive *d, uint32_t slot, uint32_t die)
{
	buffer_wait(&d->buffer, slot, die);
	if (d->buffer.slots[slot].sequence <= d->force) /* it is behind, and somebody waits for it */
		d->dies[die].forced = d->buffer.lines[die].count;
	drive_die_kick(d, die);
}

void
drive_merged(struct drive *d, uint32_t slot, uint64_t sequence)
{
	const struct buffer_slot *s = &d->buffer.slots[slot];

	if (s->state == BUFFER_MERGING && s->sequence == sequence) /* else it was trimmed meanwhile */
		wait(d, slot, s->die);
}

void
drive_merge_again(struct drive *d)
{
	const struct buffer *b = &d->buffer;

	for (uint32_t slot = b->oldest; slot != BUFFER_NONE; slot = b->slots[slot].after)
		if (b->slots[slot].state == BUFFER_MERGING && !drive_merge(d, slot))
			assert(false); /* there are as many pieces as before */
}

/* What is on the media and not overwritten has to be read before the unit can be programmed. */
static bool
needs_merge(const struct drive *d, const struct drive_cmd *cmd, uint32_t unit)
{
	return drive_part_of(d, cmd, unit).bytes < d->geometry.unit_bytes && d->map[unit] != FTL_NOWHERE;
}

/* False: it has to wait for a slot, for a die, or for what is read. */
static bool
place_unit(struct drive *d, const struct drive_cmd *cmd, uint32_t unit)
{
	uint32_t slot = buffer_find(&d->buffer, unit);
	enum buffer_state state = slot != BUFFER_NONE ? d->buffer.slots[slot].state : BUFFER_FREE;
	bool merges = slot == BUFFER_NONE && needs_merge(d, cmd, unit);

	if (state == BUFFER_WAITING || state == BUFFER_MERGING) {
		drive_copy_in(d, cmd, unit, slot, false);
		d->counts.absorbed_units++;
		return true;
	}
	if (state == BUFFER_TRIMMED && d->buffer.slots[slot].sequence <= d->force) {
		/* A flush has the trim, but not this: what was there before both is not to come back. */
		drive_trim_keep(d, slot);
		state = BUFFER_FREE;
	}
	if ((merges && d->free_pieces == NULL) || (state != BUFFER_TRIMMED && !has_room(d)) || !deal(d))
		return false;
	if (state != BUFFER_TRIMMED)
		slot = buffer_take(&d->buffer, unit);
	drive_copy_in(d, cmd, unit, slot, true);
	d->dirty = true;
	if (merges) {
		buffer_merge(&d->buffer, slot, d->deal_die);
		(void)drive_merge(d, slot);
	} else {
		wait(d, slot, d->deal_die);
	}
	return true;
}

/* ---- trims ---- */

/* Nothing of it is lost, so it is gone at once. */
static void
trim_now(struct drive *d, uint32_t unit, uint32_t slot)
{
	if (slot != BUFFER_NONE && d->buffer.slots[slot].state != BUFFER_PROGRAMMING) {
		buffer_trim(&d->buffer, slot);
		buffer_done(&d->buffer, slot);
		buffer_give(&d->buffer, slot);
	} else if (slot != BUFFER_NONE) {
		buffer_done(&d->buffer, slot);
		buffer_kill(&d->buffer, slot);
	}
	ftl_trim(d->ftl, unit);
	drive_forget(d, unit);
}

static bool
trim_unit(struct drive *d, uint32_t unit)
{
	uint32_t slot = buffer_find(&d->buffer, unit);
	enum buffer_state state = slot != BUFFER_NONE ? d->buffer.slots[slot].state : BUFFER_FREE;

	if (state == BUFFER_TRIMMED || (slot == BUFFER_NONE && d->map[unit] == FTL_NOWHERE))
		return true;
	if (d->profile.power_loss_protection) {
		trim_now(d, unit, slot);
		return true;
	}
	if (state == BUFFER_FREE || state == BUFFER_PROGRAMMING) {
		if (!has_room(d))
			return false;
		slot = buffer_take(&d->buffer, unit);
	}
	buffer_trim(&d->buffer, slot);
	d->dirty = true;
	drive_flush_look(d); /* perhaps for what will not be programmed any more */
	if (d->buffer.trimmed > d->buffer.count / 4)
		drive_journal_begin(d);
	return true;
}

/* What is trimmed in part is written with zeros there, if there is anything. */
static bool
trim_part(struct drive *d, const struct drive_cmd *cmd, uint32_t unit)
{
	uint32_t slot = buffer_find(&d->buffer, unit);
	bool there = slot != BUFFER_NONE ? d->buffer.slots[slot].state != BUFFER_TRIMMED : d->map[unit] != FTL_NOWHERE;

	return !there || place_unit(d, cmd, unit);
}

/* ---- in line ---- */

static bool
place_next(struct drive *d, struct drive_cmd *cmd)
{
	uint32_t unit = cmd->next;
	bool whole = drive_part_of(d, cmd, unit).bytes == d->geometry.unit_bytes;
	bool done = cmd->op == DRIVE_WRITE ? place_unit(d, cmd, unit) :
	    whole ? trim_unit(d, unit) : trim_part(d, cmd, unit);

	cmd->next += done;
	return done;
}

/* All of it is in the buffer. */
static void
placed(struct drive *d, struct drive_cmd *cmd)
{
	if (cmd->fua && !d->profile.power_loss_protection) {
		cmd->sequence = d->buffer.sequence;
		drive_flush_begin(d, cmd);
	} else {
		drive_end(d, cmd);
	}
}

static void
place_all(struct drive *d)
{
	uint32_t left = STEP_UNITS;

	while (!fifo_empty(&d->placing)) {
		struct drive_cmd *cmd = container_of(d->placing.head, struct drive_cmd, node);

		for (; cmd->next <= cmd->last; left--) {
			if (left == 0) {
				d->place_ns = d->now_ns + STEP_NS;
				return;
			}
			if (!place_next(d, cmd))
				return;
		}
		(void)fifo_pop(&d->placing);
		placed(d, cmd);
	}
}

void
drive_place(struct drive *d)
{
	if (d->place_ns != UINT64_MAX)
		return;
	place_all(d);
	drive_forgotten(d);
}
