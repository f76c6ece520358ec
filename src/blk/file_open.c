/*
 * file_open.c - a volume in a file: made, opened, extended, put back as it was, and let go of.
 */
#include "blk/file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

/* What was found. */
struct look {
	uint64_t size;
	int64_t was; /* see struct file; */
	uint64_t id[2];
	bool device;
};

/* Nothing was written to it since. */
static int
take_back(struct reactor *reactor, const char *path, const struct look *look)
{
	bool same = look->was >= 0 && (uint64_t)look->was == look->size;

	return same ? 0 : reactor->world->file_undo(reactor, path, look->was, look->id);
}

/* Makes and extends the file where that is asked for, and looks at it. */
static int
file_look(struct reactor *reactor, const char *path, uint64_t bytes, uint32_t block_size, struct look *look,
    char why[BLK_WHY])
{
	struct file *file;
	int error = reactor->world->file_open(reactor, path, bytes, block_size, &file);

	if (error != 0)
		return error;
	assert(file->align <= block_size);
	*look = (struct look){ file->size, file->was, { file->id[0], file->id[1] }, file->device };
	reactor->world->file_close(file);
	if (look->size % block_size != 0) {
		snprintf(why, BLK_WHY, "its size, %llu bytes, is not a multiple of the block size, %u",
		    (unsigned long long)look->size, block_size);
		(void)!take_back(reactor, path, look);
		return -EINVAL;
	}
	return 0;
}

int
file_open_own(const struct file_blk *fb, struct reactor *reactor, struct file **file)
{
	int error = reactor->world->file_open(reactor, fb->blk.path, 0, fb->blk.block_size, file);

	if (error == 0 && memcmp((*file)->id, fb->id, sizeof(fb->id)) == 0)
		return 0;
	if (error == 0)
		reactor->world->file_close(*file);
	return error == 0 || error == -ENOENT ? -ESTALE : error;
}

/* The file that is served, and no other: a new one at its path would be made, or another one made larger. */
static int
file_extend(const struct file_blk *fb, struct reactor *reactor, uint64_t bytes, struct look *look)
{
	struct file *file;
	int error = file_open_own(fb, reactor, &file);

	if (error != 0)
		return error;
	error = reactor->world->file_extend(file, bytes);
	*look = (struct look){ .size = file->size, .was = file->was, .id = { fb->id[0], fb->id[1] } };
	reactor->world->file_close(file);
	return error;
}

int
file_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks)
{
	struct file_blk *fb = container_of(blk, struct file_blk, blk);
	char why[BLK_WHY];
	struct look look;
	int error = file_extend(fb, reactor, blocks * blk->block_size, &look);

	if (error != 0)
		return error;
	if (look.size / blk->block_size < blocks)
		error = -EFBIG; /* a block device */
	else if (blk->bad != NULL)
		error = marks_grow(&fb->marks, look.size / blk->block_size, why);
	if (error != 0) {
		(void)!take_back(reactor, blk->path, &look); /* why it cannot be is told */
		return error;
	}
	fb->was = look.was;
	blk_grown(blk, look.size / blk->block_size);
	return 0;
}

int
file_undo(struct blk *blk, struct reactor *reactor)
{
	struct file_blk *fb = container_of(blk, struct file_blk, blk);
	const struct look look = {
		.size = blk->blocks * blk->block_size, .was = fb->was, .id = { fb->id[0], fb->id[1] },
	};

	blk->blocks = blk->before;
	return take_back(reactor, blk->path, &look);
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
	struct look look;
	int error = file_look(reactor, path, bytes, block_size, &look, why);

	if (error != 0)
		return error;
	fb = arena_alloc(reactor->arena, sizeof(*fb));
	if (fb == NULL) {
		(void)!take_back(reactor, path, &look);
		return -ENOMEM;
	}
	fb->blk = (struct blk){
		.ops = &file_ops, .arena = reactor->arena, .blocks = look.size / block_size,
		.block_size = block_size, .volatile_cache = true, .trim_zeroes = true,
	};
	fb->was = look.was;
	memcpy(fb->id, look.id, sizeof(fb->id));
	error = range_init(&fb->range, reactor->arena, fb->blk.blocks, block_size, reactor->count);
	if (error != 0)
		goto fail;
	error = -ENOMEM;
	fb->blk.path = arena_strdup(reactor->arena, path);
	if (fb->blk.path == NULL)
		goto fail;
	/* Beside a device nothing can lie that is still there when the machine has started again. */
	if (!look.device) {
		error = marks_open(&fb->marks, reactor, &fb->range, path, fb->blk.blocks, block_size, why);
		if (error != 0)
			goto fail;
		fb->blk.bad = &fb->marks.bad;
	}
	*blk = &fb->blk;
	return 0;
fail:
	(void)!take_back(reactor, path, &look);
	file_destroy(&fb->blk);
	return error;
}

/* Of all kinds of volumes this one needs most; marks of bad blocks take what they take when there are any. */
size_t
blk_bytes(unsigned reactors)
{
	return sizeof(struct file_blk) + RANGE_SLOTS_MAX * sizeof(uint64_t) + reactors * sizeof(struct file_chan);
}
