/*
 * file_open.c - a volume in a file: made, opened, extended, put back as it was, and let go of.
 */
#include "blk/file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

/* As it was before it was opened, or grew: nothing was written to it since. */
static int
take_back(const struct file_blk *fb, struct reactor *reactor, uint64_t bytes)
{
	bool same = fb->was >= 0 && (uint64_t)fb->was == bytes;

	return same ? 0 : reactor->world->file_undo(reactor, fb->blk.path, fb->was, fb->id);
}

static void
let_go(struct file_blk *fb)
{
	if (fb->file != NULL)
		fb->file->reactor->world->file_close(fb->file);
	fb->file = NULL;
}

/* The file that is served, and no other: its path may lead elsewhere by now. */
static int
file_extend(struct file_blk *fb, struct reactor *reactor, uint64_t bytes)
{
	uint64_t id[2];
	int error = reactor->world->file_id(reactor, fb->blk.path, id);

	if (error == -ENOENT || (error == 0 && memcmp(id, fb->id, sizeof(id)) != 0))
		error = -ESTALE;
	return error == 0 ? reactor->world->file_extend(fb->file, bytes) : error;
}

int
file_stretch(struct blk *blk, struct reactor *reactor, uint64_t blocks, int64_t *was)
{
	struct file_blk *fb = container_of(blk, struct file_blk, blk);
	char why[BLK_WHY];
	int error = file_extend(fb, reactor, blocks * blk->block_size);

	if (error == 0) {
		*was = fb->file->was;
		if (fb->file->size / blk->block_size < blocks)
			error = -EFBIG; /* a block device */
		else if (blk->bad != NULL)
			error = marks_read(&fb->marks, fb->file->size / blk->block_size, why);
	}
	fb->stretched = true;
	fb->stretch_error = error;
	return error;
}

/* Where nobody has stretched it for this, that is done now; else who did puts the file back, if need be. */
int
file_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks)
{
	struct file_blk *fb = container_of(blk, struct file_blk, blk);
	bool here = !fb->stretched;
	int64_t was = -1, before = fb->was;
	int error = here ? file_stretch(blk, reactor, blocks, &was) : fb->stretch_error;

	fb->stretched = false;
	if (error == 0 && blk->bad != NULL)
		error = marks_grow(&fb->marks, fb->file->size / blk->block_size);
	fb->was = was >= 0 ? was : (int64_t)fb->file->size;
	if (error == 0) {
		blk_grown(blk, fb->file->size / blk->block_size);
		return 0;
	}
	(void)!take_back(fb, reactor, fb->file->size); /* why it cannot be is told */
	fb->was = before;
	return error;
}

/* One that was made is let go of before it is removed: it is as if it had never been. */
int
file_undo(struct blk *blk, struct reactor *reactor)
{
	struct file_blk *fb = container_of(blk, struct file_blk, blk);
	uint64_t bytes = fb->file->size;

	if (fb->was < 0)
		let_go(fb);
	blk->blocks = blk->before;
	return take_back(fb, reactor, bytes);
}

void
file_destroy(struct blk *blk)
{
	struct file_blk *fb = container_of(blk, struct file_blk, blk);

	let_go(fb);
	marks_close(&fb->marks);
	range_fini(&fb->range, blk->arena);
	arena_free(blk->arena, blk->path);
	arena_free(blk->arena, fb);
}

/* What is found in the file, and beside it. */
static int
look(struct file_blk *fb, struct reactor *reactor, char why[BLK_WHY])
{
	const struct file *file = fb->file;
	uint32_t block_size = fb->blk.block_size;
	int error;

	assert(file->align <= block_size);
	fb->was = file->was;
	memcpy(fb->id, file->id, sizeof(fb->id));
	if (file->size % block_size != 0) {
		snprintf(why, BLK_WHY, "its size, %llu bytes, is not a multiple of the block size, %u",
		    (unsigned long long)file->size, block_size);
		return -EINVAL;
	}
	fb->blk.blocks = file->size / block_size;
	error = range_init(&fb->range, reactor->arena, fb->blk.blocks, block_size, reactor->count);
	/* Beside a device nothing can lie that is still there when the machine has started again. */
	if (error != 0 || file->device)
		return error;
	fb->blk.bad = &fb->marks.bad;
	return marks_open(&fb->marks, reactor, &fb->range, fb->file, fb->blk.path, fb->blk.blocks, block_size,
	    why);
}

int
file_blk_open(struct reactor *reactor, const char *path, uint64_t bytes, uint32_t block_size,
    struct blk **blk, char why[BLK_WHY])
{
	struct file_blk *fb = arena_alloc(reactor->arena, sizeof(*fb));
	int error = -ENOMEM;

	if (fb == NULL)
		return -ENOMEM;
	fb->blk = (struct blk){
		.ops = &file_ops, .arena = reactor->arena, .block_size = block_size, .volatile_cache = true,
		.trim_zeroes = true, .cache_life = reactor->world->boot(reactor),
	};
	fb->blk.path = arena_strdup(reactor->arena, path);
	if (fb->blk.path != NULL)
		error = reactor->world->file_open(reactor, path, bytes, block_size, &fb->file);
	if (error == 0) {
		error = look(fb, reactor, why);
		if (error != 0)
			(void)!blk_undo(&fb->blk, reactor);
	}
	if (error != 0)
		file_destroy(&fb->blk);
	*blk = error == 0 ? &fb->blk : NULL;
	return error;
}

/* Of all kinds of volumes this one needs most; bits of bad blocks take what they take when there are any. */
size_t
blk_bytes(unsigned reactors)
{
	return sizeof(struct file_blk) + RANGE_SLOTS_MAX * sizeof(uint64_t) + reactors * sizeof(struct file_chan) +
	    marks_bytes(reactors);
}
