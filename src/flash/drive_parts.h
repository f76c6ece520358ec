/*
 * drive_parts.h - what the files of a drive share: drive.c (commands), drive_read.c, drive_write.c (into the buffer),
 * drive_data.c (contents), drive_die.c (what dies do for themselves) and drive_flush.c (what becomes durable, and
 * what does not).
 */
#ifndef WEIR_FLASH_DRIVE_PARTS_H
#define WEIR_FLASH_DRIVE_PARTS_H

#include "flash/buffer.h"
#include "flash/drive.h"
#include "flash/due.h"
#include "flash/inplace.h"
#include "flash/nand.h"

enum {
	DRIVE_PIECES = 4096,     /* of DRIVE_PIECE, under way at a time */
};

enum drive_job_kind {
	DRIVE_PIECE,   /* read for a command, or because a part of a unit is written */
	DRIVE_COLLECT, /* read to be moved */
	DRIVE_ROW,     /* programmed for hosts, or moved */
	DRIVE_ERASE,
	DRIVE_JOURNAL,
};

struct drive_job {
	struct nand_job nand;
	uint8_t kind; /* enum drive_job_kind */
};

struct drive_piece {
	struct drive_job job;
	struct drive_cmd *cmd;   /* NULL: it is for a slot of the buffer, that came then */
	uint32_t slot;
	uint64_t sequence;
	struct drive_piece *next_free;
	uint32_t bytes; /* over the link */
};

/* A unit on its way from one place of its die to another. */
struct drive_move {
	uint32_t unit;
	flash_place from;
};

/* What a die does for itself: one job at a time. */
struct drive_die {
	struct drive_job job;
	bool busy;
	uint8_t stream;          /* of the row that is programmed: enum ftl_stream */
	flash_place row;
	uint32_t row_units;
	uint32_t slots;          /* of the row, linked by next */
	uint32_t row_moves;      /* of the row: the first so many of `moves` */
	uint32_t forced;         /* the first so many in the die's line are programmed though they fill no row */
	struct drive_move *moves; /* gathered; room for a row, and what one read finds */
	uint32_t move_count;
	uint32_t reading;        /* of these so many, the last ones, are being read */
	uint32_t erasing;        /* which block */
};

struct drive {
	struct arena *arena;
	struct flash_profile profile;
	struct flash_geometry geometry;
	struct ftl *ftl;         /* this, */
	struct nand *nand;
	struct buffer buffer;
	const flash_place *map;  /* NULL: there is none; */
	struct drive_inplace *inplace; /* or this: media that are written in place */
	uint8_t *store;
	void (*zero)(void *owner, uint64_t offset, uint64_t bytes);
	void *owner;
	uint32_t gone, gone_end; /* units that are trimmed for good and not yet zeros in the store */
	struct pmr *pmr;         /* or NULL */
	struct drive_counts counts;
	uint64_t now_ns;         /* of the event that is being handled */

	/* commands, in the order in which they go on, but for `journaling` */
	struct fifo outside;     /* too many are inside */
	struct fifo reads;       /* at the front end and the controller, until at_ns */
	struct fifo writes;      /* all that is no read, until at_ns */
	struct fifo starved;     /* reads that want more pieces than there are */
	struct fifo placing;     /* wait for slots of the buffer */
	struct fifo flushes;     /* until at_ns, then for what came before them to be programmed */
	struct fifo flushing;
	struct fifo journaling;  /* for the journal */
	struct fifo leaving;     /* on the link, until at_ns */
	struct fifo ended;
	uint32_t inside;
	uint64_t front_ns;       /* when the front end is free, */
	uint64_t in_ns, out_ns;  /* and the link, either way */
	uint64_t place_ns;       /* when `placing` goes on by itself; UINT64_MAX: when there are slots */
	uint32_t front_step_ns;
	uint64_t link_step;      /* ns a byte, in 2^-20 */

	struct drive_piece *pieces, *free_pieces;
	struct drive_die *dies;
	struct drive_move *moves; /* of all dies */
	uint32_t deal_die, deal_left; /* where the next unit goes, and how many more to the same die */
	uint32_t share;          /* slots that may wait for a die */
	uint64_t force;          /* somebody waits for what came until then */

	struct drive_job journal;
	bool journal_busy, dirty; /* something is durable only once a journal is written */
	uint64_t journal_sequence; /* of the trims that it has */
	uint32_t journal_die;
	struct fifo journal_cmds;  /* that end with it */
};

/* A multiple of the unit, and the part of a command that lies in one. */
static inline uint32_t drive_unit_of(const struct drive *d, uint64_t offset)
{
	return (uint32_t)(offset / d->geometry.unit_bytes);
}

struct drive_part {
	uint32_t from, bytes; /* within the unit */
};

static inline struct drive_part
drive_part_of(const struct drive *d, const struct drive_cmd *cmd, uint32_t unit)
{
	uint64_t start = (uint64_t)unit * d->geometry.unit_bytes, end = start + d->geometry.unit_bytes;
	uint64_t first = cmd->offset > start ? cmd->offset : start;
	uint64_t last = cmd->offset + cmd->bytes < end ? cmd->offset + cmd->bytes : end;

	return (struct drive_part){ (uint32_t)(first - start), (uint32_t)(last - first) };
}

/* ---- drive.c ---- */

/* It is over, now. */
void drive_end(struct drive *drive, struct drive_cmd *cmd);

/* So many bytes cross the link from `ns` on: when they have. */
uint64_t drive_link_in(struct drive *drive, uint64_t ns, uint64_t bytes);
uint64_t drive_link_out(struct drive *drive, uint64_t ns, uint64_t bytes);

/* ---- drive_read.c ---- */

/* All that it asks for was moved from the media, or was there: it is over when it has crossed the link. */
void drive_read_leaves(struct drive *drive, struct drive_cmd *cmd);

void drive_read(struct drive *drive, struct drive_cmd *cmd);
void drive_piece_done(struct drive *drive, struct drive_piece *piece);

/* Has what is on the media of a slot's unit read, as only a part of it is written.  False: too many pieces are under
 * way. */
bool drive_merge(struct drive *drive, uint32_t slot);

/* ---- drive_inplace.c: commands to media that are written in place ---- */

int drive_inplace_create(struct drive *drive, uint64_t seed) __attribute__((warn_unused_result));
void drive_inplace_destroy(struct drive *drive);
void drive_inplace_begin(struct drive *drive, struct drive_cmd *cmd);
/* When the first of those under way is over with the media, and what is done then. */
uint64_t drive_inplace_next(const struct drive *drive);
void drive_inplace_done(struct drive *drive);
void drive_inplace_cut(struct drive *drive);

/* ---- drive_data.c: contents, where they are anybody's business ---- */

/* The part of a unit that the command reads or writes, as it is now. */
void drive_copy_out(const struct drive *drive, const struct drive_cmd *cmd, uint32_t unit);

/* That part will be copied: where it lies is asked of memory. */
void drive_copy_soon(const struct drive *drive, const struct drive_cmd *cmd, uint32_t unit);

/* The same into a slot of the buffer, the newest of its unit, or, where what is in the buffer is not lost, for good.
 * `fresh`: nothing of the unit is in that slot yet. */
void drive_copy_in(struct drive *drive, const struct drive_cmd *cmd, uint32_t unit, uint32_t slot, bool fresh);

/* The slot was programmed. */
void drive_keep(struct drive *drive, uint32_t slot);

/* The unit is trimmed for good; and, before anybody looks, all that were so are zeros: those that follow each other are
 * made so together. */
void drive_forget(struct drive *drive, uint32_t unit);
void drive_forgotten(struct drive *drive);

/* ---- drive_write.c ---- */

/* Puts what waits into the buffer, as far as there is room. */
void drive_place(struct drive *drive);

/* What a slot that came then was read for is here; and, after the power was gone, all that is being read is read
 * again. */
void drive_merged(struct drive *drive, uint32_t slot, uint64_t sequence);
void drive_merge_again(struct drive *drive);

/* ---- drive_die.c ---- */

/* The die has perhaps something to do for itself. */
void drive_die_kick(struct drive *drive, uint32_t die);
void drive_die_done(struct drive *drive, struct drive_job *job);
void drive_die_cut(struct drive *drive, uint32_t die);

/* ---- drive_flush.c ---- */

void drive_flush_begin(struct drive *drive, struct drive_cmd *cmd);
/* Something was programmed: whoever waited for it goes on. */
void drive_flush_look(struct drive *drive);
/* The trim that the slot stands for is for good, and the slot is free. */
void drive_trim_keep(struct drive *drive, uint32_t slot);
void drive_journal_begin(struct drive *drive);
void drive_journal_done(struct drive *drive);

#endif
