/*
 * What reactors have of a log of ordered writes: places of its parts, and on the first one who owns streams.
 */
#include "keep/store_inside.h"

#include <errno.h>
#include <string.h>

/* ---- what reactors have of it ---- */

static struct file *
file_of(struct store *store, struct reactor *reactor)
{
	struct file **file = &store->files[reactor->index];

	if (*file == NULL && reactor->world->file_share(store->held, reactor, file) != 0)
		*file = NULL;
	return *file;
}

struct keep *
store_keep(struct store *store, struct reactor *reactor, uint32_t part)
{
	struct file *file = store->region == NULL ? file_of(store, reactor) : NULL;
	struct keep *keep = NULL;

	if (store->region != NULL)
		keep = keep_region_open(reactor, store->region, &store->head, part);
	else if (file != NULL && store->kind == STORE_FILE)
		keep = keep_file_open(reactor, file, &store->head, part);
	else if (file != NULL && store->kind == STORE_MEMORY)
		keep = keep_memory_open(reactor, &store->head);
	else if (file != NULL)
		keep = keep_persistent_open(reactor, file, &store->head);
	if (keep != NULL)
		keep->slots = store->slots[part];
	return keep;
}

/* ---- an owner ---- */

static void
put_done(struct file_io *io)
{
	struct store *store = io->owner;
	int error = io->result < 0 ? (int)io->result : (size_t)io->result == store->put.iov.iov_len ? 0 : -EIO;

	store->put.done(store->put.owner, error);
}

static void
put(struct store *store, uint64_t at, void (*done)(struct file_io *io))
{
	store->put.iov = (struct iovec){ store->put.bytes, STORE_UNIT };
	store->put.io = (struct file_io){
		.op = FILE_WRITE, .durable = true, .offset = at, .iov = &store->put.iov, .iov_count = 1,
		.done = done, .owner = store,
	};
	store->put.reactor->world->file_submit(store->files[store->put.reactor->index], &store->put.io);
}

static void
put_owner(struct store *store)
{
	uint32_t first = store->put.index - store->put.index % (STORE_UNIT / ORDER_OWNER_BYTES);

	memcpy(store->put.bytes, store->owners[first], STORE_UNIT);
	put(store, ORDER_HEAD_BYTES + (uint64_t)first * ORDER_OWNER_BYTES, put_done);
}

static void
head_done(struct file_io *io)
{
	struct store *store = io->owner;

	store->fresh = io->result != STORE_UNIT;
	if (store->fresh)
		put_done(io);
	else
		put_owner(store);
}

/* ---- and where it is memory ---- */

static void
put_memory_done(struct task *task)
{
	struct store *store = container_of(task, struct store, put.task);

	store->put.done(store->put.owner, 0);
}

static void
put_memory(struct store *store, uint64_t at, const void *bytes, size_t count)
{
	struct keep_region *region = store->region;
	struct file *file = store->files[store->put.reactor->index];
	struct iovec iov;

	if (region != NULL) {
		region->last_ns = pmr_store(region->pmr, (uint32_t)at, bytes, (uint32_t)count, region->last_ns);
		region->last_ns = pmr_fence(region->pmr, region->last_ns);
		return;
	}
	iov = (struct iovec){ (uint8_t *)file->map + at, count };
	memcpy(iov.iov_base, bytes, count);
	if (store->kind == STORE_PERSISTENT)
		store->put.reactor->world->file_write_back(file, &iov, 1);
}

static void
put_all_memory(struct store *store)
{
	uint64_t at = ORDER_HEAD_BYTES + (uint64_t)store->put.index * ORDER_OWNER_BYTES;

	if (store->fresh) {
		order_head_write(&store->head, store->put.bytes);
		put_memory(store, 0, store->put.bytes, ORDER_HEAD_BYTES);
	}
	store->fresh = false;
	put_memory(store, at, store->owners[store->put.index], ORDER_OWNER_BYTES);
	reactor_run_in(store->put.reactor, PHASE_COLLECT, &store->put.task);
}

void
store_put_init(struct store *store)
{
	task_init(&store->put.task, put_memory_done);
}

void
store_put_owner(struct store *store, struct reactor *reactor, uint32_t index, void (*done)(void *owner, int error),
    void *owner)
{
	store->put.reactor = reactor;
	store->put.index = index;
	store->put.done = done;
	store->put.owner = owner;
	if (store->kind != STORE_FILE) {
		put_all_memory(store);
	} else if (store->fresh) {
		order_head_write(&store->head, store->put.bytes);
		put(store, 0, head_done);
	} else {
		put_owner(store);
	}
}
