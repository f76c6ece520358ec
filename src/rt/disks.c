/*
 * disks.c - the open files of the process.
 *
 * Reactors that open the same file share one descriptor, which holds the lock
 * that keeps other processes out until the last of them has closed it.
 */
#include <errno.h>
#include <string.h>

#include "rt/files.h"

enum { UNDO_BLOCK = 4096 }; /* nothing is read or written */

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

static int
add(struct rt *rt, struct disk *disk, struct kdisk **out)
{
	/* A predecessor that is just ending is waited for before anything is served: then nobody waits for us. */
	int rc = disk_lock(disk, !rt->running);

	if (rc != 0)
		return rc;
	*out = arena_alloc(&rt->arena, sizeof(**out));
	if (*out == NULL)
		return -ENOMEM;
	(*out)->disk = *disk;
	list_push(&rt->disks, &(*out)->node);
	return 0;
}

/* Closes the descriptor in `disk` where it is not kept. */
static int
open_locked(struct rt *rt, struct disk *disk, uint64_t size, uint32_t block, struct kdisk **out)
{
	struct kdisk *kdisk = find(rt, disk);
	int rc = 0;

	/* One descriptor serves all who have it open, in the way of the first. */
	if (kdisk != NULL && kdisk->disk.align > block)
		rc = -EBUSY;
	if (kdisk != NULL)
		disk_close(disk);
	else if ((rc = add(rt, disk, &kdisk)) != 0)
		disk_close(disk);
	if (rc != 0)
		return rc;
	kdisk->users++;
	*out = kdisk;
	return disk_extend(&kdisk->disk, size);
}

static void
leave(struct rt *rt, struct kdisk *kdisk)
{
	if (--kdisk->users > 0)
		return;
	list_remove(&kdisk->node);
	disk_close(&kdisk->disk);
	arena_free(&rt->arena, kdisk);
}

int
kdisk_open(struct rt *rt, const char *path, uint64_t size, uint32_t block, struct kdisk **out, int64_t *was)
{
	struct disk disk;
	int rc;

	*out = NULL;
	pthread_mutex_lock(&rt->lock);
	rc = disk_open(path, size, block, &disk);
	if (rc == 0) {
		rc = open_locked(rt, &disk, size, block, out);
		if (rc != 0 && rc != -EBUSY && disk.was < 0)
			(void)!disk_remove(path);
	}
	if (rc != 0 && *out != NULL)
		leave(rt, *out);
	*was = rc == 0 ? disk.was : 0;
	pthread_mutex_unlock(&rt->lock);
	return rc;
}

/* Of a file that another process has meanwhile, nothing is taken back. */
int
kdisk_undo(struct rt *rt, const char *path, int64_t was)
{
	struct disk disk;
	int rc;

	pthread_mutex_lock(&rt->lock);
	rc = disk_open(path, 0, UNDO_BLOCK, &disk);
	if (rc == 0) {
		struct kdisk *kdisk = find(rt, &disk);

		rc = kdisk == NULL ? disk_lock(&disk, false) : 0;
		if (rc == 0)
			rc = disk_undo(kdisk != NULL ? &kdisk->disk : &disk, path, was);
		disk_close(&disk);
	}
	pthread_mutex_unlock(&rt->lock);
	return rc;
}

void
kdisk_close(struct rt *rt, struct kdisk *kdisk)
{
	pthread_mutex_lock(&rt->lock);
	leave(rt, kdisk);
	pthread_mutex_unlock(&rt->lock);
}

void
disks_close(struct rt *rt)
{
	while (!list_empty(&rt->disks)) {
		struct kdisk *kdisk = container_of(rt->disks.next, struct kdisk, node);

		kdisk->users = 1;
		leave(rt, kdisk);
	}
}
