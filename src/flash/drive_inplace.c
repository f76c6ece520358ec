/*
 * drive_inplace.c - commands to media that are written in place: they know when they will be over when they begin.
 *
 * There is nothing to translate, to collect or to buffer.  A write is there when it is over, and not before: what the
 * power finds under way has not happened.
 */
#include "flash/drive_parts.h"

#include <assert.h>
#include <errno.h>

/* Commands under way, by number. */
struct drive_inplace {
	struct inplace *media;
	struct due due;
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
drive_inplace_create(struct drive *d)
{
	uint32_t count = d->profile.commands_max;
	struct drive_inplace *in = d->inplace = arena_alloc(d->arena, sizeof(*in));

	if (in == NULL)
		return -ENOMEM;
	in->cmds = arena_alloc(d->arena, sizeof(*in->cmds) * count);
	in->free = arena_alloc(d->arena, sizeof(*in->free) * count);
	if (in->cmds == NULL || in->free == NULL || due_init(&in->due, d->arena, count) != 0)
		return -ENOMEM;
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
	if (d->store != NULL)
		for (uint32_t unit = cmd->next; unit <= cmd->last; unit++)
			drive_copy_in(d, cmd, unit, BUFFER_NONE, false);
	drive_end(d, cmd);
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
	inplace_cut(d->inplace->media);
	all_free(d);
}
