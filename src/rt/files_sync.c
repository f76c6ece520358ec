/*
 * files_sync.c - when what was written to a file is durable, and what is told where it is not.
 *
 * The kernel tells a descriptor once of pages that it failed to write, whoever
 * asks first, and takes them for written then.  So that the answer is for all
 * whom it concerns, a reactor that uses the page cache has a descriptor of its own, and
 * one sync of it under way: those that came before it began are answered with it, those
 * that come meanwhile wait for the next.  A durable write is there a write
 * with a sync after it.  One failure is remembered for the whole process, since no
 * later sync says anything about what it has lost.
 */
#include <errno.h>

#include "rt/files.h"

static bool
has_no_room(int64_t error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG;
}

void
sync_join(struct kfile *file, struct file_io *io)
{
	fifo_push(&file->to_sync, &io->node);
	if (file->syncs)
		return;
	file->syncs = true;
	files_begin(file, &file->sync);
}

void
sync_began(struct kfile *file)
{
	fifo_splice(&file->syncing, &file->to_sync);
}

/* After the last done() the file may be gone. */
void
sync_ended(struct kfile *file)
{
	int64_t result = file->sync.result;
	struct fifo_node *node;
	struct fifo ended;
	bool lost;

	if (result < 0)
		kdisk_lose(core_of(file->file.reactor)->rt, file->disk, (int)-result);
	lost = file->file.lost = kdisk_is_lost(core_of(file->file.reactor)->rt, file->disk);
	fifo_init(&ended);
	fifo_splice(&ended, &file->syncing);
	file->syncs = !fifo_empty(&file->to_sync);
	if (file->syncs)
		files_begin(file, &file->sync);
	while ((node = fifo_pop(&ended)) != NULL) {
		struct file_io *io = container_of(node, struct file_io, node);

		if (result < 0)
			io->result = result;
		else if (io->op == FILE_SYNC) /* of a write the own bytes were synced, and its result stands */
			io->result = lost ? -EIO : 0;
		io->done(io);
	}
}

/* Where there was no room for its bytes, nothing else is concerned: they do not go through the page cache. */
void
sync_unneeded(struct kfile *file, const struct file_io *io)
{
	if (io->result < 0 && !has_no_room(io->result))
		kdisk_lose(core_of(file->file.reactor)->rt, file->disk, (int)-io->result);
	file->file.lost = kdisk_is_lost(core_of(file->file.reactor)->rt, file->disk);
}
