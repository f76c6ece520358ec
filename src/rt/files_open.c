/*
 * files_open.c - a file of a reactor, from its opening to its close.
 *
 * Who opens one by its path waits for its disk.  A file that was opened with an
 * annex is only held, with all that reactors need who share it without asking
 * the disk: in the page cache a descriptor for each of them.
 */
#include "rt/files.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static void
close_spares(struct kfile *file)
{
	while (file->spare_count > 0)
		close(file->spare[--file->spare_count]);
}

static int
open_spares(struct core *core, struct kfile *file, const char *path)
{
	if (file->disk->disk.direct)
		return 0;
	file->spare = arena_alloc(&core->arena, core->rt->count * sizeof(*file->spare));
	if (file->spare == NULL)
		return -ENOMEM;
	while (file->spare_count < core->rt->count) {
		int fd = disk_again(&file->disk->disk, path);

		if (fd < 0) {
			close_spares(file);
			return fd;
		}
		file->spare[file->spare_count++] = fd;
	}
	return 0;
}

/* From now on requests can be submitted. */
static int
serve(struct core *core, struct kfile *file)
{
	file->device = device_take(&core->arena, &core->files->devices, file->disk->disk.id[0]);
	if (file->device == NULL)
		return -ENOMEM;
	file->files = core->files;
	if (core->files->ops->keep != NULL)
		file->kept = core->files->ops->keep(core->files, file->fd);
	list_push(&core->files->open, &file->open_node);
	list_init(&file->node);
	fifo_init(&file->waiting);
	fifo_init(&file->syncing);
	fifo_init(&file->to_sync);
	file->sync = (struct file_io){ .op = FILE_SYNC };
	return 0;
}

static void
serve_no_more(struct core *core, struct kfile *file)
{
	assert(file->in_flight == 0 && fifo_empty(&file->waiting) && !file->syncs);
	if (file->kept > 0)
		file->files->ops->forget(file->files, file->kept);
	list_remove(&file->open_node);
	device_give(&core->arena, file->device);
}

int
world_file_open(struct reactor *reactor, const char *path, uint64_t size, uint32_t block, struct file **out)
{
	struct core *core = core_of(reactor);
	int rc = core->annex ? 0 : files_need(core);
	struct kfile *file;
	struct disk now;

	if (rc != 0)
		return rc;
	file = arena_alloc(&core->arena, sizeof(*file));
	if (file == NULL)
		return -ENOMEM;
	rc = kdisk_open(core->rt, path, size, block, &file->disk, &now);
	if (rc != 0) {
		arena_free(&core->arena, file);
		return rc;
	}
	file->fd = now.fd;
	rc = core->annex ? open_spares(core, file, path) : serve(core, file);
	if (rc != 0) {
		if (now.was < 0)
			(void)!disk_remove(path);
		kdisk_close(core->rt, file->disk, now.fd);
		arena_free(&core->arena, file);
		return rc;
	}
	file->file = (struct file){
		.reactor = reactor, .size = now.size, .was = now.was,
		.align = now.align, .direct = now.direct, .device = now.device,
	};
	memcpy(file->file.id, file->disk->disk.id, sizeof(file->file.id));
	*out = &file->file;
	return 0;
}

/* A descriptor for one more user. */
static int
borrow(struct rt *rt, struct kfile *held)
{
	int fd;

	pthread_mutex_lock(&rt->lock);
	held->disk->users++;
	fd = held->spare_count > 0 ? held->spare[--held->spare_count] : held->fd;
	pthread_mutex_unlock(&rt->lock);
	return fd;
}

/* Closed is what was borrowed by who holds it: that may take as long as the disk likes. */
static void
give_back(struct rt *rt, struct kfile *held, int fd)
{
	pthread_mutex_lock(&rt->lock);
	held->disk->users--;
	if (fd != held->fd)
		held->spare[held->spare_count++] = fd;
	pthread_mutex_unlock(&rt->lock);
}

int
world_file_share(struct file *of, struct reactor *reactor, struct file **out)
{
	struct kfile *held = (struct kfile *)of, *file;
	struct core *core = core_of(reactor);
	int rc = files_need(core);

	assert(core_of(of->reactor)->annex && !core->annex);
	if (rc != 0)
		return rc;
	file = arena_alloc(&core->arena, sizeof(*file));
	if (file == NULL)
		return -ENOMEM;
	file->held = held;
	file->disk = held->disk;
	file->fd = borrow(core->rt, held);
	rc = serve(core, file);
	if (rc != 0) {
		give_back(core->rt, held, file->fd);
		arena_free(&core->arena, file);
		return rc;
	}
	file->file = *of;
	file->file.reactor = reactor;
	file->way = held->way;
	*out = &file->file;
	return 0;
}

void
world_file_close(struct file *of)
{
	struct kfile *file = (struct kfile *)of;
	struct core *core = core_of(of->reactor);

	if (!core->annex)
		serve_no_more(core, file);
	close_spares(file);
	if (file->maps)
		disk_unmap(of->map, of->size);
	if (file->held != NULL)
		give_back(core->rt, file->held, file->fd);
	else
		kdisk_close(core->rt, file->disk, file->fd);
	arena_free(&core->arena, file);
}

int
world_file_extend(struct file *file, uint64_t size)
{
	struct disk now;
	int rc;

	assert(file->map == NULL);
	rc = kdisk_extend(core_of(file->reactor)->rt, ((struct kfile *)file)->disk, size, &now);

	file->size = now.size;
	file->was = now.was;
	return rc;
}

int64_t
world_file_fetch(struct file *file, uint64_t offset, void *to, size_t bytes)
{
	struct kfile *kfile = (struct kfile *)file;
	const struct disk_req sync = { .kind = DISK_SYNC, .fd = kfile->fd };
	uint8_t *at = to;
	size_t moved = 0;
	int64_t rc;

	do {
		rc = disk_perform(&sync);
	} while (rc == -EINTR);
	if (rc < 0) {
		kdisk_lose(core_of(file->reactor)->rt, kfile->disk, (int)-rc);
		return rc;
	}
	if (!file->direct)
		disk_forget(kfile->fd);
	while (moved < bytes) {
		struct iovec iov = { at + moved, bytes - moved };
		struct disk_req req = {
			.kind = DISK_READ, .fd = kfile->fd, .offset = offset + moved, .iov = &iov,
			.count = 1,
		};
		int64_t got = disk_perform(&req);

		if (got == -EINTR)
			continue;
		if (got < 0)
			return got;
		if (got == 0)
			break;
		moved += (size_t)got;
	}
	return (int64_t)moved;
}

uint64_t
world_file_data(struct file *file, uint64_t offset)
{
	return disk_data(((struct kfile *)file)->fd, offset);
}

int
world_file_map(struct file *file, bool persistent)
{
	struct kfile *kfile = (struct kfile *)file;
	int rc;

	assert(file->map == NULL);
	kfile->way = writeback_best();
	if (persistent && kfile->way == WRITEBACK_NONE)
		return -EOPNOTSUPP;
	rc = disk_map(&kfile->disk->disk, file->size, persistent, &file->map);
	kfile->maps = rc == 0;
	return rc;
}

void
world_file_write_back(struct file *file, const struct iovec *iov, int iov_count)
{
	for (int i = 0; i < iov_count; i++)
		writeback_lines(((struct kfile *)file)->way, iov[i].iov_base, iov[i].iov_len);
	writeback_fence();
}

int64_t
world_file_load(struct reactor *reactor, const char *path, struct arena *arena, uint64_t most, void **bytes)
{
	(void)reactor;
	return disk_load(path, arena, most, bytes);
}
