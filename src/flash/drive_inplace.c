/*
 * drive_inplace.c - commands to media that are written in place: they know when they will be over when they begin.
 *
 * There is nothing to translate, to collect or to buffer.  A write is read when it is over, and not before; of one that
 * the power finds under way each piece is there or not, by chance.
 */
#include "flash/drive_parts.h"

#include <assert.h>
#include <errno.h>

#include "base/rng.h"

enum { PIECE = 4096 /* never torn, though units are smaller: the largest block of a namespace */ };

/* Commands under way, by number. */
struct drive_inplace {
	struct inplace *media;
	struct due due;
	struct rng rng;          /* of what is torn */
	struct drive_cmd **cmds;
	uint32_t *free; /* numbers, a stack */
	uint32_t free_count;
};

static void
all_free(struct drive *d)
{
	struct drive_inplace *in = d->inplace;

	in->free_count = 0;
	for (uint32_t i = d->profile.commands_max; i-- > 0;) {
		due_set(&in->due, i, DUE_NEVER);
		in->free[in->free_count++] = i;
	}
}

int
drive_inplace_create(struct drive *d, uint64_t seed)
{
	uint32_t count = d->profile.commands_max;
	struct drive_inplace *in = d->inplace = arena_alloc(d->arena, sizeof(*in));

	if (in == NULL)
		return -ENOMEM;
	in->cmds = arena_alloc(d->arena, sizeof(*in->cmds) * count);
	in->free = arena_alloc(d->arena, sizeof(*in->free) * count);
	if (in->cmds == NULL || in->free == NULL || due_init(&in->due, d->arena, count) != 0)
		return -ENOMEM;
	rng_seed(&in->rng, seed);
	all_free(d);
	return inplace_create(d->arena, &d->geometry, &d->profile, &in->media);
}

void
drive_inplace_destroy(struct drive *d)
{
	struct drive_inplace *in = d->inplace;

	if (in == NULL)
		return;
	if (in->media != NULL)
		inplace_destroy(in->media);
	due_fini(&in->due);
	arena_free(d->arena, in->free);
	arena_free(d->arena, in->cmds);
	arena_free(d->arena, in);
}

void
drive_inplace_begin(struct drive *d, struct drive_cmd *cmd)
{
	struct drive_inplace *in = d->inplace;
	uint32_t units = cmd->last - cmd->next + 1, number = in->free[--in->free_count];
	uint64_t end_ns = d->now_ns;

	if (cmd->op == DRIVE_READ)
		end_ns = inplace_read(in->media, cmd->next, units, d->now_ns);
	else if (cmd->op == DRIVE_WRITE)
		end_ns = inplace_write(in->media, cmd->next, units, d->now_ns);
	in->cmds[number] = cmd;
	due_set(&in->due, number, end_ns);
}

uint64_t
drive_inplace_next(const struct drive *d)
{
	return due_first_ns(&d->inplace->due);
}

static void
written(struct drive *d, struct drive_cmd *cmd)
{
	for (uint32_t unit = cmd->next; unit <= cmd->last; unit++) {
		if (cmd->op == DRIVE_TRIM && drive_part_of(d, cmd, unit).bytes == d->geometry.unit_bytes)
			drive_forget(d, unit);
		else
			drive_copy_in(d, cmd, unit, BUFFER_NONE, false);
	}
	drive_forgotten(d);
	drive_end(d, cmd);
}

static void
torn(struct drive *d, const struct drive_cmd *cmd)
{
	uint32_t units = d->geometry.unit_bytes < PIECE ? PIECE / d->geometry.unit_bytes : 1;
	bool landed = false;

	for (uint32_t unit = cmd->next; unit <= cmd->last; unit++) {
		if (unit == cmd->next || unit % units == 0)
			landed = rng_below(&d->inplace->rng, 2) == 0;
		if (landed)
			drive_copy_in(d, cmd, unit, BUFFER_NONE, false);
	}
}

void
drive_inplace_done(struct drive *d)
{
	struct drive_inplace *in = d->inplace;
	uint32_t number = due_first(&in->due);
	struct drive_cmd *cmd = in->cmds[number];

	due_set(&in->due, number, DUE_NEVER);
	in->free[in->free_count++] = number;
	if (cmd->op == DRIVE_READ) {
		drive_link_out(d, d->now_ns, cmd->bytes);
		drive_read_leaves(d, cmd);
	} else {
		written(d, cmd);
	}
}

void
drive_inplace_cut(struct drive *d)
{
	struct drive_inplace *in = d->inplace;

	for (uint32_t i = 0; i < d->profile.commands_max; i++)
		if (in->due.at_ns[i] != DUE_NEVER && in->cmds[i]->op != DRIVE_READ)
			torn(d, in->cmds[i]);
	inplace_cut(in->media);
	all_free(d);
}
