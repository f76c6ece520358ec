/*
 * rio_form.c - how many writes a second there must be, and why: the least of what the drives give, what the processors
 * and the card let through, and what is under way over how long it takes.
 *
 * All of it in nanoseconds and bytes.  doc/lab-rio.md says it in words.
 */
#include <math.h>

#include "flash_device.h"
#include "rio_cell.h"

enum {
	COMMAND = 72, ANSWER = 24, DATA = 24, /* bytes of PDUs, without what they carry */
	IN_CAPSULE = 8192,                    /* more is asked for by the target */
	PMR_READ = 600, LINE = 64,
};

struct form {
	const struct lab_ordered *told;
	struct lab_world world;
	struct flash_profile drive;
	double bytes;             /* of a group, which is one command */
	double under_way;         /* of all streams */
};

/* ---- the network and the processors ---- */

/* A turn in which so many calls move so many bytes. */
static double
turn(const struct form *f, unsigned calls, double bytes)
{
	return f->world.turn_ns + calls * (double)f->world.io_ns + bytes * f->world.byte_ps / 1e3;
}

static double
card(const struct form *f, double bytes)
{
	return bytes * 8e3 / f->world.mbit;
}

/* From one end to the other: through both cards, of which the second has each segment as it comes. */
static double
way(const struct form *f, double bytes)
{
	return card(f, bytes) + card(f, fmin(bytes, f->world.segment_bytes)) + f->world.latency_ns;
}

/* ---- the drive ---- */

static double
row_ns(const struct flash_profile *p)
{
	double transfer = p->page_bytes * (1e3 + p->overhead_permille) / p->channel_mb_s;

	return p->slc_program_ns + p->planes * transfer;
}

/* One write that finds it idle. */
static double
device_ns(const struct form *f)
{
	const struct flash_profile *p = &f->drive;
	double in = p->controller_write_ns + f->bytes * 1e3 / p->link_mb_s;
	double units = ceil(f->bytes / p->unit_bytes / p->channels);

	if (p->media == FLASH_NAND)
		return in;
	return in + units * p->unit_bytes * 1e3 / p->channel_write_mb_s + p->program_ns;
}

/* Of a flush that finds one row begun: it is programmed, and a page of the journal. */
static double
flush_ns(const struct form *f)
{
	const struct flash_profile *p = &f->drive;
	double page = p->page_bytes * (1e3 + p->overhead_permille) / p->channel_mb_s;

	if (p->media != FLASH_NAND)
		return p->controller_write_ns + p->flush_ns;
	return p->controller_write_ns + fmax(p->flush_ns, row_ns(p)) + page + p->journal_ns;
}

/* Groups a second, of all drives, once their buffers are full. */
static double
device_rate(const struct form *f)
{
	const struct flash_profile *p = &f->drive;
	double media = p->media == FLASH_NAND ? p->dies * (double)p->planes * p->page_bytes / row_ns(p) * 1e9 :
	    p->channels * p->channel_write_mb_s * 1e6;

	return f->told->drives * fmin(p->front_end_iops, fmin(p->link_mb_s * 1e6, media) / f->bytes);
}

static bool
keeps(const struct form *f)
{
	return f->drive.media != FLASH_NAND || f->drive.power_loss_protection != 0;
}

/* ---- one group alone ---- */

/* It goes out, and what is asked for follows, until the target has all of it. */
static double
out_ns(const struct form *f)
{
	double sent = f->bytes + DATA;

	if (f->bytes <= IN_CAPSULE)
		return turn(f, 2, ANSWER + COMMAND + f->bytes) + way(f, COMMAND + f->bytes);
	return turn(f, 2, ANSWER + COMMAND) + way(f, COMMAND) + turn(f, 2, COMMAND + ANSWER) + way(f, ANSWER) +
	    turn(f, 2, ANSWER + sent) + way(f, sent) + turn(f, 1, f->world.segment_bytes);
}

static double
back_ns(const struct form *f)
{
	return turn(f, 1, ANSWER) + way(f, ANSWER);
}

static double
flushed_ns(const struct form *f)
{
	return turn(f, 2, ANSWER + COMMAND) + way(f, COMMAND) + flush_ns(f) + back_ns(f);
}

/* What an entry costs: the drive begins only in the turn behind its barrier, and a second one follows where the entry
 * persists with the write. */
static double
entry_ns(const struct form *f)
{
	double barrier = PMR_READ + LINE * 1e3 / f->told->pmr_mb_s;

	return fmax(barrier, turn(f, 1, fmin(f->bytes, IN_CAPSULE) + COMMAND)) + (keeps(f) ? barrier : 0);
}

/* From one control message to the next. */
static double
control_ns(const struct form *f)
{
	double carried = COMMAND + (f->bytes <= IN_CAPSULE ? f->bytes : 0), sent = ANSWER + COMMAND + carried;
	double ns = turn(f, 2, sent) + way(f, carried + COMMAND) + turn(f, 1, carried + COMMAND) + back_ns(f);

	/* The data that is asked for goes before the next one, at both ends. */
	if (f->bytes > IN_CAPSULE)
		ns += 2 * f->world.io_ns + 2 * f->bytes * f->world.byte_ps / 1e3;
	return ns;
}

/* ---- many ---- */

/* Groups travel in bunches, as all that has come is done in one turn: so each waits for half of those that are under
 * way, at the processor of each end and at the card. */
static double
bunched_ns(const struct form *f, double under_way)
{
	double copied = f->bytes * f->world.byte_ps / 1e3;

	return under_way / 2 * (copied / f->told->streams + copied / f->told->targets + card(f, f->bytes));
}

/* What a target's processor bears where nothing comes together: so many calls for each group. */
static double
processor_rate(const struct form *f, unsigned calls)
{
	return f->told->targets * 1e9 / (calls * (double)f->world.io_ns + f->bytes * f->world.byte_ps / 1e3);
}

static double
groups(const struct form *f)
{
	double alone = out_ns(f) + device_ns(f) + back_ns(f), streams = f->told->streams, rate = 0;

	switch (f->told->way) {
	case LAB_ORDERLESS:
		rate = f->under_way * 1e9 / (alone + bunched_ns(f, f->under_way));
		break;
	case LAB_ORDERED:
		rate = f->under_way * 1e9 / (alone + entry_ns(f) + bunched_ns(f, f->under_way));
		break;
	case LAB_HORAE:
		rate = fmin(streams * 1e9 / (control_ns(f) + bunched_ns(f, streams - 1)), processor_rate(f, 3));
		break;
	case LAB_SYNC:
		if (f->told->flushes || !keeps(f))
			alone += flushed_ns(f);
		rate = fmin(streams * 1e9 / (alone + bunched_ns(f, streams - 1)), processor_rate(f, 2));
		break;
	case LAB_WAYS:
		break;
	}
	return fmin(rate, device_rate(f));
}

double
rio_form(const struct lab *lab, const struct rio_cell *cell, enum lab_way which)
{
	struct lab_ordered told;
	struct form form = { .told = &told };

	rio_cell_told(cell, which, &told);
	if ((which == LAB_ORDERED && (cell->axis == RIO_WINDOW || cell->axis == RIO_PIECES)) ||
	    !flash_device_profile(lab, &told.drive, &form.drive))
		return NAN;
	form.world = lab_ordered_world(lab, &told);
	form.bytes = (double)told.bytes * told.batch;
	form.under_way = (double)told.depth * told.streams;
	return groups(&form) * told.batch;
}
