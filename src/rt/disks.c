/*
 * disks.c - the open files of the process.
 *
 * Reactors that open the same file share one descriptor, which holds the lock
 * that keeps other processes out until the last of them has closed it; who shares it
 * in the page cache has one of its own beside it (files_sync.c).
 *
 * Whatever may take as long as a disk likes is done under no lock, or under that
 * of its own file: who opens or closes another one does not wait for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "rt/files.h"

enum { ANY_BLOCK = 4096 }; /* nothing is read or written */

struct device *
device_take(struct arena *arena, struct list *devices, uint64_t id)
{
	struct device *device;

	list_for_each(devices, node) {
		device = container_of(node, struct device, node);
		if (device->id == id) {
			device->users++;
			return device;
		}
	}
	device = arena_alloc(arena, sizeof(*device));
	if (device == NULL)
		return NULL;
	device->id = id;
	device->users = 1;
	list_push(devices, &device->node);
	return device;
}

void
device_give(struct arena *arena, struct device *device)
{
	if (device == NULL || --device->users > 0)
		return;
	list_remove(&device->node);
	arena_free(arena, device);
}

/* Under the lock of rt, as are `users` and rt->disks. */
static struct kdisk *
find(struct rt *rt, const struct disk *disk)
{
	list_for_each(&rt->disks, node) {
		struct kdisk *kdisk = container_of(node, struct kdisk, node);

		if (memcmp(kdisk->disk.id, disk->id, sizeof(disk->id)) == 0)
			return kdisk;
	}
	return NULL;
}

static struct kdisk *
add(struct rt *rt, const struct disk *disk, const char *path)
{
	struct kdisk *kdisk = arena_alloc(&rt->arena, sizeof(*kdisk));

	if (kdisk == NULL)
		return NULL;
	kdisk->path = arena_strdup(&rt->arena, path);
	kdisk->device = device_take(&rt->arena, &rt->devices, disk->id[0]);
	if (kdisk->path == NULL || kdisk->device == NULL) {
		arena_free(&rt->arena, kdisk->path);
		device_give(&rt->arena, kdisk->device);
		arena_free(&rt->arena, kdisk);
		return NULL;
	}
	kdisk->disk = *disk;
	pthread_mutex_init(&kdisk->lock, NULL);
	fifo_init(&kdisk->jobs);
	list_init(&kdisk->ready);
	list_push(&rt->disks, &kdisk->node);
	return kdisk;
}

/* `disk`, opened once more, is to be used as the first is.  Answers the descriptor for that; `disk` has none then. */
static int
share(const struct kdisk *kdisk, struct disk *disk)
{
	int flags, fd = disk->fd;

	if (kdisk->disk.direct) {
		disk_close(disk);
		return kdisk->disk.fd;
	}
	flags = fcntl(fd, F_GETFL);
	if (disk->direct && fcntl(fd, F_SETFL, flags & ~O_DIRECT) != 0) {
		disk_close(disk);
		return kdisk->disk.fd;
	}
	return fd;
}

/* The file of `disk`, whose descriptor is kept, or is the user's own, or is closed; `fd` is for the user. */
static struct kdisk *
join(struct rt *rt, struct disk *disk, const char *path, int *fd)
{
	struct kdisk *kdisk;
	bool there;

	pthread_mutex_lock(&rt->lock);
	kdisk = find(rt, disk);
	there = kdisk != NULL;
	if (!there)
		kdisk = add(rt, disk, path);
	if (kdisk != NULL)
		kdisk->users++;
	pthread_mutex_unlock(&rt->lock);
	if (kdisk == NULL)
		disk_close(disk);
	else
		*fd = there ? share(kdisk, disk) : disk->fd;
	return kdisk;
}

static void
kdisk_free(struct rt *rt, struct kdisk *kdisk)
{
	disk_close(&kdisk->disk);
	pthread_mutex_destroy(&kdisk->lock);
	pthread_mutex_lock(&rt->lock);
	arena_free(&rt->arena, kdisk->path);
	device_give(&rt->arena, kdisk->device);
	arena_free(&rt->arena, kdisk);
	pthread_mutex_unlock(&rt->lock);
}

void
kdisk_close(struct rt *rt, struct kdisk *kdisk, int fd)
{
	bool last;

	if (fd != kdisk->disk.fd)
		close(fd);
	pthread_mutex_lock(&rt->lock);
	last = --kdisk->users == 0;
	if (last)
		list_remove(&kdisk->node);
	pthread_mutex_unlock(&rt->lock);
	if (last)
		kdisk_free(rt, kdisk);
}

/* To change its size has failed: maybe the sync that goes with it did, and was told of what others have written. */
static bool
is_sync_error(const struct kdisk *kdisk, int rc)
{
	bool cached = !kdisk->disk.direct && !kdisk->disk.device;

	return rc == -EIO || (cached && (rc == -ENOSPC || rc == -EDQUOT));
}

/* Who is not has written nothing yet. */
static bool
is_shared(struct rt *rt, const struct kdisk *kdisk)
{
	bool shared;

	pthread_mutex_lock(&rt->lock);
	shared = kdisk->users > 1;
	pthread_mutex_unlock(&rt->lock);
	return shared;
}

/* Other processes are kept out, and it is as long as it must be.  All use it in the way of the first. */
static int
settle(struct rt *rt, struct kdisk *kdisk, uint64_t size, uint32_t block)
{
	int rc = 0;

	if (kdisk->disk.align > block)
		return -EBUSY;
	/* A predecessor that is just ending is waited for before anything is served: then nobody waits for us. */
	if (!kdisk->ours)
		rc = disk_lock(&kdisk->disk, !rt->cores[0]->runs);
	kdisk->ours |= rc == 0;
	return rc == 0 ? disk_extend(&kdisk->disk, size) : rc;
}

int
kdisk_open(struct rt *rt, const char *path, uint64_t size, uint32_t block, struct kdisk **out, struct disk *now)
{
	struct kdisk *kdisk;
	struct disk disk;
	int64_t was;
	int fd = -1, rc = disk_open(path, size, block, &disk);

	if (rc != 0)
		return rc;
	was = disk.was;
	kdisk = join(rt, &disk, path, &fd);
	if (kdisk != NULL) {
		pthread_mutex_lock(&kdisk->lock);
		rc = settle(rt, kdisk, size, block);
		*now = kdisk->disk;
		pthread_mutex_unlock(&kdisk->lock);
	} else {
		rc = -ENOMEM;
	}
	now->was = was;
	now->fd = fd;
	if (kdisk != NULL && is_sync_error(kdisk, rc) && is_shared(rt, kdisk))
		kdisk_lose(rt, kdisk, -rc);
	if (rc != 0 && rc != -EBUSY && was < 0)
		(void)!disk_remove(path);
	if (rc != 0 && kdisk != NULL)
		kdisk_close(rt, kdisk, fd);
	*out = rc == 0 ? kdisk : NULL;
	return rc;
}

int
kdisk_extend(struct rt *rt, struct kdisk *kdisk, uint64_t size, struct disk *now)
{
	int rc;

	pthread_mutex_lock(&kdisk->lock);
	rc = disk_extend(&kdisk->disk, size);
	*now = kdisk->disk;
	pthread_mutex_unlock(&kdisk->lock);
	if (is_sync_error(kdisk, rc))
		kdisk_lose(rt, kdisk, -rc);
	return rc;
}

void
kdisk_lose(struct rt *rt, struct kdisk *kdisk, int error)
{
	char text[512];
	bool was;

	pthread_mutex_lock(&rt->lock);
	was = kdisk->lost;
	kdisk->lost = true;
	pthread_mutex_unlock(&rt->lock);
	if (was)
		return;
	snprintf(text, sizeof(text), "%.300s: what was written to it may be lost: %s; until it is opened anew nothing "
	    "of it can be flushed", kdisk->path, strerrordesc_np(error));
	rt_say(rt, 0, text);
}

bool
kdisk_is_lost(struct rt *rt, const struct kdisk *kdisk)
{
	bool lost;

	pthread_mutex_lock(&rt->lock);
	lost = kdisk->lost;
	pthread_mutex_unlock(&rt->lock);
	return lost;
}

/* Of a file that another process has meanwhile, and of another one that has its name, nothing is taken back. */
int
kdisk_undo(struct rt *rt, const char *path, int64_t was, const uint64_t id[2])
{
	struct kdisk *kdisk;
	struct disk now;
	int rc = kdisk_open(rt, path, 0, ANY_BLOCK, &kdisk, &now);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&kdisk->lock);
	rc = memcmp(kdisk->disk.id, id, sizeof(kdisk->disk.id)) == 0 ? disk_undo(&kdisk->disk, path, was) : -ESTALE;
	pthread_mutex_unlock(&kdisk->lock);
	if (is_sync_error(kdisk, rc))
		kdisk_lose(rt, kdisk, -rc);
	kdisk_close(rt, kdisk, now.fd);
	return rc;
}

/* ---- by path, for the world ---- */

/* In any block: nothing is read or written. */
int
world_file_make(struct reactor *reactor, const char *path, uint64_t size, int64_t *was)
{
	struct kdisk *kdisk;
	struct disk now;
	int rc = kdisk_open(core_of(reactor)->rt, path, size, UINT32_MAX, &kdisk, &now);

	if (rc != 0)
		return rc;
	*was = now.was;
	kdisk_close(core_of(reactor)->rt, kdisk, now.fd);
	return 0;
}

int
world_file_id(struct reactor *reactor, const char *path, uint64_t id[2])
{
	(void)reactor;
	return disk_id(path, id);
}

int
world_file_undo(struct reactor *reactor, const char *path, int64_t was, const uint64_t id[2])
{
	return kdisk_undo(core_of(reactor)->rt, path, was, id);
}

void
disks_close(struct rt *rt)
{
	while (!list_empty(&rt->disks)) {
		struct kdisk *kdisk = container_of(rt->disks.next, struct kdisk, node);

		kdisk->users = 1;
		kdisk_close(rt, kdisk, kdisk->disk.fd);
	}
}
