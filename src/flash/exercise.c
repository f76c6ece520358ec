#include "flash/exercise.h"

#include <assert.h>
#include <errno.h>

#include "flash/wear.h"

enum { AT_A_TIME = 256 /* commands, until it is asked again whether enough was programmed */ };

struct exercise_io {
	struct drive_cmd cmd;
	struct iovec iov;
	uint64_t since_ns;
};

struct exercise {
	struct arena *arena;
	struct drive *drive;
	struct exercise_load load;
	struct exercise_io *ios;
	uint32_t begun;         /* ios that were ever submitted: all, once it runs */
	uint64_t slots, stream; /* places for commands; where the stream goes on */
	uint64_t now_ns, since_ns;
	uint64_t programmed;    /* units, until exercise_forget() */
	struct rng rng;
	struct exercise_result result;
};

/* ---- made and ended ---- */

int
exercise_create(struct arena *arena, struct drive *drive, const struct exercise_load *load, struct exercise **made)
{
	const struct flash_geometry *g = drive_geometry(drive);
	struct exercise *x = arena_alloc(arena, sizeof(*x));

	if (x == NULL)
		return -ENOMEM;
	*x = (struct exercise){ .arena = arena, .drive = drive, .load = *load };
	if (load->step_bytes == 0)
		x->load.step_bytes = load->bytes;
	assert(load->depth > 0 && load->bytes <= g->units * g->unit_bytes);
	x->slots = (g->units * g->unit_bytes - load->bytes) / x->load.step_bytes + 1;
	x->ios = arena_alloc(arena, sizeof(*x->ios) * load->depth);
	if (x->ios == NULL) {
		exercise_destroy(x);
		return -ENOMEM;
	}
	for (uint32_t i = 0; load->contents != NULL && i < load->depth; i++)
		x->ios[i].iov = (struct iovec){ load->contents + (size_t)i * load->bytes, load->bytes };
	rng_seed(&x->rng, load->seed);
	exercise_forget(x);
	*made = x;
	return 0;
}

void
exercise_destroy(struct exercise *x)
{
	arena_free(x->arena, x->ios);
	arena_free(x->arena, x);
}

/* ---- commands ---- */

static uint64_t
next_offset(struct exercise *x)
{
	uint64_t slot;

	if (!x->load.sequential)
		return rng_below(&x->rng, x->slots) * x->load.step_bytes;
	slot = x->stream;
	x->stream = slot + 1 < x->slots ? slot + 1 : 0;
	return slot * x->load.step_bytes;
}

static bool
next_reads(struct exercise *x)
{
	uint32_t percent = x->load.read_percent;

	return percent == 100 || (percent > 0 && rng_below(&x->rng, 100) < percent);
}

static void
submit(struct exercise *x, struct exercise_io *io)
{
	io->cmd = (struct drive_cmd){ .op = next_reads(x) ? DRIVE_READ : DRIVE_WRITE, .bytes = x->load.bytes,
		.iov = io->iov.iov_len > 0 ? &io->iov : NULL, .iov_count = 1 };
	io->cmd.offset = next_offset(x);
	io->since_ns = x->now_ns;
	drive_submit(x->drive, &io->cmd, x->now_ns);
}

void
exercise_run(struct exercise *x, uint64_t commands)
{
	while (x->begun < x->load.depth)
		submit(x, &x->ios[x->begun++]);
	for (; commands > 0; commands--) {
		struct drive_cmd *cmd = drive_run(x->drive, UINT64_MAX);
		struct exercise_io *io = container_of(cmd, struct exercise_io, cmd);

		assert(cmd != NULL);
		x->now_ns = cmd->end_ns;
		hist_add(&x->result.latency[cmd->op == DRIVE_READ ? EXERCISE_READS : EXERCISE_WRITES],
		    cmd->end_ns - io->since_ns);
		if (x->load.ended != NULL)
			x->load.ended(cmd, x->load.arg);
		submit(x, io);
	}
}

/* ---- a drive that has written for long ---- */

void
exercise_use_spare(struct exercise *x)
{
	const struct flash_geometry *g = drive_geometry(x->drive);
	struct ftl *ftl = drive_ftl(x->drive);
	uint64_t left = (uint64_t)g->dies * g->blocks * g->block_units;

	assert(x->begun == 0);
	if (ftl == NULL || x->load.read_percent == 100)
		return;
	for (uint32_t die = 0; die < g->dies; die++)
		while (left > 0 && !ftl_needs_gc(ftl, die)) {
			uint64_t offset = next_offset(x), last = (offset + x->load.bytes - 1) / g->unit_bytes;

			for (uint64_t unit = offset / g->unit_bytes; unit <= last && left > 0; unit++, left--)
				ftl_write(ftl, (uint32_t)unit);
		}
	ftl_finish_rows(ftl);
	ftl_cut(ftl);
}

/* Until so many units more were programmed because hosts wrote them. */
static void
fill(struct exercise *x, uint64_t units)
{
	struct ftl *ftl = drive_ftl(x->drive);
	uint64_t until;

	if (ftl == NULL || x->load.read_percent == 100)
		return;
	for (until = ftl_counts(ftl)->host_units + units; ftl_counts(ftl)->host_units < until;)
		exercise_run(x, AT_A_TIME);
}

void
exercise_fill_buffer(struct exercise *x)
{
	fill(x, 2 * (drive_profile(x->drive)->buffer_bytes / drive_geometry(x->drive)->unit_bytes));
}

void
exercise_fill_blocks(struct exercise *x)
{
	const struct flash_geometry *g = drive_geometry(x->drive);

	fill(x, (uint64_t)g->dies * g->block_units);
}

/* ---- what came of it ---- */

static uint64_t
programmed(const struct exercise *x)
{
	struct ftl *ftl = drive_ftl(x->drive);

	return ftl != NULL ? wear_units(ftl_counts(ftl)) : 0;
}

void
exercise_forget(struct exercise *x)
{
	for (int kind = 0; kind < EXERCISE_KINDS; kind++)
		hist_init(&x->result.latency[kind]);
	x->since_ns = x->now_ns;
	x->programmed = programmed(x);
}

const struct exercise_result *
exercise_result(struct exercise *x)
{
	x->result.ns = x->now_ns - x->since_ns;
	x->result.programmed_bytes = (programmed(x) - x->programmed) * drive_geometry(x->drive)->unit_bytes;
	return &x->result;
}
