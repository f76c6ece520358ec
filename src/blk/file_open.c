/*
 * file_open.c - a volume in a file: made, opened, extended, and let go of.
 */
#include "blk/file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/arena.h"

/* Makes and extends the file where that is asked for, and looks at it. */
static int
file_look(struct reactor *reactor, const char *path, uint64_t bytes, uint32_t block_size,
    uint64_t *size, bool *device, char why[BLK_WHY])
{
	struct file *file;
	int error = reactor->world->file_open(reactor, path, bytes, block_size, &file);

	if (error != 0)
		return error;
	assert(file->align <= block_size);
	*size = file->size;
	*device = file->device;
	reactor->world->file_close(file);
	if (*size % block_size != 0) {
		snprintf(why, BLK_WHY, "its size, %llu bytes, is not a multiple of the block size, %u",
		    (unsigned long long)*size, block_size);
		return -EINVAL;
	}
	return 0;
}

int
file_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks)
{
	char why[BLK_WHY];
	uint64_t size;
	bool device;
	int error = file_look(reactor, blk->path, blocks * blk->block_size, blk->block_size, &size, &device, why);

	if (error == 0 && size / blk->block_size < blocks)
		error = -EFBIG; /* a block device */
	if (error == 0 && blk->bad != NULL)
		error = marks_grow(&container_of(blk, struct file_blk, blk)->marks, size / blk->block_size, why);
	if (error == 0)
		blk->blocks = size / blk->block_size;
	return error;
}

void
file_destroy(struct blk *blk)
{
	struct file_blk *fb = container_of(blk, struct file_blk, blk);

	marks_close(&fb->marks);
	range_fini(&fb->range, blk->arena);
	arena_free(blk->arena, blk->path);
	arena_free(blk->arena, fb);
}

int
file_blk_open(struct reactor *reactor, const char *path, uint64_t bytes, uint32_t block_size,
    struct blk **blk, char why[BLK_WHY])
{
	struct file_blk *fb;
	uint64_t size;
	bool device;
	int error = file_look(reactor, path, bytes, block_size, &size, &device, why);

	if (error != 0)
		return error;
	fb = arena_alloc(reactor->arena, sizeof(*fb));
	if (fb == NULL)
		return -ENOMEM;
	fb->blk = (struct blk){
		.ops = &file_ops, .arena = reactor->arena, .blocks = size / block_size,
		.block_size = block_size, .volatile_cache = true, .trim_zeroes = true,
	};
	error = range_init(&fb->range, reactor->arena, fb->blk.blocks, block_size, reactor->count);
	if (error != 0)
		goto fail;
	error = -ENOMEM;
	fb->blk.path = arena_strdup(reactor->arena, path);
	if (fb->blk.path == NULL)
		goto fail;
	/* Beside a device nothing can lie that is still there when the machine has started again. */
	if (!device) {
		error = marks_open(&fb->marks, reactor, &fb->range, path, fb->blk.blocks, block_size, why);
		if (error != 0)
			goto fail;
		fb->blk.bad = &fb->marks.bad;
	}
	*blk = &fb->blk;
	return 0;
fail:
	file_destroy(&fb->blk);
	return error;
}

/* Of all kinds of volumes this one needs most; marks of bad blocks take what they take when there are any. */
size_t
blk_bytes(unsigned reactors)
{
	return sizeof(struct file_blk) + RANGE_SLOTS_MAX * sizeof(uint64_t) + reactors * sizeof(struct file_chan);
}
