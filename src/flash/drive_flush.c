/*
 * drive_flush.c - what becomes durable, and when: flushes, and writes that are to be durable when they are answered.
 *
 * Without power-loss protection what came before is programmed, in rows that are not full where there is no more, and
 * then a page of the map's journal, which several that wait share.
 */
#include "flash/drive_parts.h"

static bool
has_journal(const struct drive *d)
{
	return !d->profile.power_loss_protection && d->profile.journal_ns > 0;
}

void
drive_flush_begin(struct drive *d, struct drive_cmd *cmd)
{
	cmd->at_ns = d->now_ns + d->profile.flush_ns;
	fifo_push(&d->flushes, &cmd->node);
	if (d->profile.power_loss_protection)
		return;
	d->force = cmd->sequence;
	for (uint32_t die = 0; die < d->geometry.dies; die++) {
		d->dies[die].forced = d->buffer.lines[die].count;
		if (d->dies[die].forced > 0)
			drive_die_kick(d, die);
	}
}

/* In the order they came, so who is behind one that waits waits for no less. */
void
drive_flush_look(struct drive *d)
{
	while (!fifo_empty(&d->flushing)) {
		struct drive_cmd *cmd = container_of(d->flushing.head, struct drive_cmd, node);

		if (!d->profile.power_loss_protection && !buffer_settled(&d->buffer, cmd->sequence))
			break;
		(void)fifo_pop(&d->flushing);
		if (has_journal(d) && (d->dirty || d->journal_busy))
			fifo_push(&d->journaling, &cmd->node);
		else
			drive_end(d, cmd);
	}
	if (!fifo_empty(&d->journaling))
		drive_journal_begin(d);
}

/* A page of it, on one die after the other; what comes while it is written has to wait for the next. */
void
drive_journal_begin(struct drive *d)
{
	if (d->journal_busy)
		return;
	d->journal_busy = true;
	d->dirty = false;
	d->journal_sequence = d->buffer.sequence;
	fifo_splice(&d->journal_cmds, &d->journaling);
	d->journal_die = d->journal_die + 1 < d->geometry.dies ? d->journal_die + 1 : 0;
	d->counts.journal_pages++;
	d->journal.kind = DRIVE_JOURNAL;
	d->journal.nand = (struct nand_job){ .op = NAND_PROGRAM, .die = (uint16_t)d->journal_die,
		.cells_ns = d->profile.journal_ns, .bytes = d->profile.page_bytes };
	nand_submit(d->nand, &d->journal.nand, d->now_ns);
}

void
drive_trim_keep(struct drive *d, uint32_t slot)
{
	uint32_t unit = d->buffer.slots[slot].unit;

	buffer_done(&d->buffer, slot);
	buffer_give(&d->buffer, slot);
	ftl_trim(d->ftl, unit);
	drive_forget(d, unit);
}

/* The trims that it has are for good. */
static void
forget_trimmed(struct drive *d)
{
	struct buffer *b = &d->buffer;

	for (uint32_t slot = b->oldest, after; b->trimmed > 0 && slot != BUFFER_NONE; slot = after) {
		after = b->slots[slot].after;
		if (b->slots[slot].sequence > d->journal_sequence)
			break;
		if (b->slots[slot].state == BUFFER_TRIMMED)
			drive_trim_keep(d, slot);
	}
	drive_forgotten(d);
}

void
drive_journal_done(struct drive *d)
{
	struct fifo_node *node;

	d->journal_busy = false;
	forget_trimmed(d);
	while ((node = fifo_pop(&d->journal_cmds)) != NULL)
		drive_end(d, container_of(node, struct drive_cmd, node));
	drive_flush_look(d);
	drive_place(d);
}
