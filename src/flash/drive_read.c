/*
 * drive_read.c - commands that read: what lies in the buffer or nowhere crosses the link at once, the rest is read from
 * the media, what lies on one page together.
 */
#include "flash/drive_parts.h"

#include <assert.h>
#include <string.h>

#include "base/iov.h"

/* Every page of a die takes its own time, always the same. */
static uint32_t
sense_ns(const struct drive *d, uint32_t page)
{
	uint32_t spread = d->profile.read_spread_ns, scattered = page * UINT32_C(2654435761);

	if (spread == 0)
		return d->profile.read_ns;
	return d->profile.read_ns - spread + (uint32_t)((uint64_t)scattered * (2 * spread + 1) >> 32);
}

/* The page that a part of a unit begins in; a unit of several pages has them on planes that are sensed together. */
static uint32_t
page_of(const struct drive *d, flash_place place)
{
	return d->geometry.page_units > 0 ? place / d->geometry.page_units : place;
}

static struct drive_piece *
piece_send(struct drive *d, struct drive_cmd *cmd, flash_place place, uint32_t bytes)
{
	struct drive_piece *piece = d->free_pieces;

	d->free_pieces = piece->next_free;
	piece->cmd = cmd;
	piece->bytes = bytes;
	piece->job.kind = DRIVE_PIECE;
	piece->job.nand = (struct nand_job){ .op = NAND_READ, .urgent = true, .bytes = bytes,
		.die = (uint16_t)flash_die_of(&d->geometry, place), .cells_ns = sense_ns(d, page_of(d, place)) };
	nand_submit(d->nand, &piece->job.nand, d->now_ns);
	return piece;
}

/* Where the unit lies on the media, if it is read from there. */
static flash_place
media_of(const struct drive *d, uint32_t unit)
{
	return buffer_find(&d->buffer, unit) == BUFFER_NONE ? d->map[unit] : FTL_NOWHERE;
}

/* From cmd->next on, what is read in one go: units that follow each other on one page, or one unit. */
static uint32_t
run_bytes(const struct drive *d, struct drive_cmd *cmd, flash_place place)
{
	uint32_t bytes = drive_part_of(d, cmd, cmd->next).bytes;

	while (++cmd->next <= cmd->last && d->geometry.page_units > 1) {
		flash_place next = media_of(d, cmd->next);

		if (next != ++place || page_of(d, next) != page_of(d, place - 1))
			break;
		bytes += drive_part_of(d, cmd, cmd->next).bytes;
	}
	return bytes;
}

void
drive_read_leaves(struct drive *d, struct drive_cmd *cmd)
{
	cmd->at_ns = d->out_ns > d->now_ns ? d->out_ns : d->now_ns;
	fifo_push(&d->leaving, &cmd->node);
	if (cmd->iov == NULL)
		return;
	for (uint32_t unit = drive_unit_of(d, cmd->offset); unit <= cmd->last; unit++)
		drive_copy_out(d, cmd, unit);
}

void
drive_read(struct drive *d, struct drive_cmd *cmd)
{
	while (cmd->next <= cmd->last) {
		flash_place place = media_of(d, cmd->next);

		if (place == FTL_NOWHERE) {
			drive_link_out(d, d->now_ns, drive_part_of(d, cmd, cmd->next).bytes);
			cmd->next++;
		} else if (d->free_pieces == NULL) {
			fifo_push(&d->starved, &cmd->node);
			return;
		} else {
			cmd->left++;
			drive_copy_soon(d, cmd, cmd->next);
			(void)piece_send(d, cmd, place, run_bytes(d, cmd, place));
		}
	}
	if (cmd->left == 0)
		drive_read_leaves(d, cmd);
}

/* Pieces are free again: those that want some go on, in turn. */
static void
feed(struct drive *d)
{
	struct fifo_node *node;

	while (d->free_pieces != NULL && (node = fifo_pop(&d->starved)) != NULL)
		drive_read(d, container_of(node, struct drive_cmd, node));
	drive_place(d);
}

void
drive_piece_done(struct drive *d, struct drive_piece *piece)
{
	struct drive_cmd *cmd = piece->cmd;

	piece->next_free = d->free_pieces;
	d->free_pieces = piece;
	if (cmd == NULL) {
		drive_merged(d, piece->slot, piece->sequence);
	} else {
		drive_link_out(d, d->now_ns, piece->bytes);
		if (--cmd->left == 0 && cmd->next > cmd->last)
			drive_read_leaves(d, cmd);
	}
	if (!fifo_empty(&d->starved) || !fifo_empty(&d->placing))
		feed(d);
}

bool
drive_merge(struct drive *d, uint32_t slot)
{
	const struct buffer_slot *s = &d->buffer.slots[slot];
	struct drive_piece *piece;

	if (d->free_pieces == NULL)
		return false;
	piece = piece_send(d, NULL, d->map[s->unit], d->geometry.unit_bytes);
	piece->slot = slot;
	piece->sequence = s->sequence;
	d->counts.merged_units++;
	return true;
}
