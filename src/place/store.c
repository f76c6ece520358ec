#include "place/store.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { UNIT = 4096 };

static_assert((int)ORDER_HEAD_BYTES == (int)UNIT, "the head is one unit");
static_assert(UNIT % ORDER_OWNER_BYTES == 0, "owners are whole in their unit");

/* ---- what is there ---- */

static int
cannot(char why[256], const struct store_spec *spec, const char *what, int error)
{
	snprintf(why, 256, "cannot %s the log of ordered writes %.150s: %s", what, spec->path, strerrordesc_np(-error));
	return error;
}

static int
fetch(struct store *store, uint64_t offset, void *to, size_t bytes)
{
	int64_t got = store->reactor->world->file_fetch(store->held, offset, to, bytes);

	return got < 0 ? (int)got : (size_t)got == bytes ? 0 : -EIO;
}

static bool
is_zeros(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* A head that was torn before anything came behind it: as good as none. */
static bool
was_never_used(const struct store *store, const uint8_t *head)
{
	return is_zeros(store->owners[0], (size_t)ORDER_OWNERS * ORDER_OWNER_BYTES) &&
	    memcmp(head, "WEIRORDR", 8) == 0;
}

static void
make_head(struct store *store, const struct store_spec *spec)
{
	store->head = (struct order_head){ .parts = STORE_PARTS, .slots = spec->slots > 0 ? spec->slots : STORE_SLOTS };
	for (unsigned i = 0; i < UUID_BYTES; i += 8)
		put_le64(store->head.uuid + i, store->reactor->world->random(store->reactor) | 1);
	store->fresh = true;
}

static int
read_head(struct store *store, const struct store_spec *spec, char why[256])
{
	uint8_t *head = store->put.bytes;
	const char *wrong;
	bool none;
	int rc;

	if (store->held->size < ORDER_HEAD_BYTES + (uint64_t)ORDER_OWNERS * ORDER_OWNER_BYTES) {
		snprintf(why, 256, "%.150s is no log of ordered writes: it is too short for one", spec->path);
		return -EINVAL;
	}
	rc = fetch(store, 0, head, ORDER_HEAD_BYTES);
	if (rc == 0)
		rc = fetch(store, ORDER_HEAD_BYTES, store->owners, (size_t)ORDER_OWNERS * ORDER_OWNER_BYTES);
	if (rc != 0)
		return cannot(why, spec, "read", rc);
	wrong = order_head_read(head, &store->head, &none);
	if (none || (wrong != NULL && was_never_used(store, head))) {
		make_head(store, spec);
		return 0;
	}
	if (wrong != NULL)
		snprintf(why, 256, "%.150s: %s", spec->path, wrong);
	return wrong != NULL ? -EINVAL : 0;
}

/* Parts of which nothing was ever written take no memory. */
static int
read_parts(struct store *store)
{
	const struct world_ops *world = store->reactor->world;
	uint64_t bytes = (uint64_t)store->head.slots * sizeof(struct order_image);

	for (uint32_t part = 0; part < store->head.parts && !store->fresh; part++) {
		uint64_t at = order_part_at(&store->head, part);
		uint64_t data = world->file_data(store->held, at);
		int rc;

		if (data == UINT64_MAX || data >= at + bytes)
			continue;
		rc = store_need(store, part);
		if (rc == 0)
			rc = fetch(store, at, store->slots[part], bytes);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* ---- it is opened ---- */

/* As long as a log that is made is, where there is none; else as it is. */
static int
open_file(struct store *store, const struct store_spec *spec)
{
	const struct world_ops *world = store->reactor->world;
	struct order_head made = { .parts = STORE_PARTS, .slots = spec->slots > 0 ? spec->slots : STORE_SLOTS };
	uint64_t id[2];
	int rc = world->file_id(store->annex, spec->path, id);

	if (rc != 0 && rc != -ENOENT)
		return rc;
	return world->file_open(store->annex, spec->path, rc != 0 ? order_log_bytes(&made) : 0, UNIT, &store->held);
}

/* One that was being made may be too short. */
static int
lengthen(struct store *store)
{
	uint64_t bytes = order_log_bytes(&store->head);

	return store->held->size >= bytes ? 0 : store->fresh ?
	    store->reactor->world->file_extend(store->held, bytes) : -EINVAL;
}

static int
read_all(struct store *store, const struct store_spec *spec, char why[256])
{
	int rc = read_head(store, spec, why);

	if (rc != 0)
		return rc;
	rc = lengthen(store);
	if (rc == -EINVAL) {
		snprintf(why, 256, "%.150s: the log of ordered writes was cut off", spec->path);
		return rc;
	}
	if (rc == 0)
		rc = read_parts(store);
	return rc == 0 ? 0 : cannot(why, spec, "read", rc);
}

static bool
is_spec(const struct store_spec *spec, char why[256])
{
	struct order_head head = { .uuid = { 1 }, .parts = STORE_PARTS, .slots = spec->slots };
	const char *wrong = spec->slots > 0 ? order_head_wrong(&head) : NULL;

	if (wrong != NULL)
		snprintf(why, 256, "there can be no such log of ordered writes: %s", wrong);
	return wrong == NULL;
}

int
store_open(struct reactor *reactor, const struct store_spec *spec, struct store **out, char why[256])
{
	struct store *store;
	int rc = -ENOMEM;

	if (!is_spec(spec, why))
		return -EINVAL;
	snprintf(why, 256, "out of memory");
	store = arena_alloc(reactor->arena, sizeof(*store));
	if (store == NULL)
		return -ENOMEM;
	store->reactor = reactor;
	store->survives = "a killed process, a crash of the machine, and a loss of power";
	store->owners = arena_alloc_aligned(reactor->arena, (size_t)ORDER_OWNERS * ORDER_OWNER_BYTES, UNIT);
	store->put.bytes = arena_alloc_aligned(reactor->arena, UNIT, UNIT);
	store->annex = reactor->world->annex_open(reactor);
	if (store->owners != NULL && store->put.bytes != NULL && store->annex != NULL) {
		rc = open_file(store, spec);
		rc = rc != 0 ? cannot(why, spec, "open", rc) : read_all(store, spec, why);
	}
	if (rc != 0)
		store_close(store);
	else
		*out = store;
	return rc;
}

int
store_need(struct store *store, uint32_t part)
{
	assert(part < store->head.parts);
	if (store->slots[part] == NULL)
		store->slots[part] = store->reactor->world->pages_map(store->reactor,
		    (size_t)store->head.slots * sizeof(struct order_image), true);
	return store->slots[part] != NULL ? 0 : -ENOMEM;
}

void
store_close(struct store *store)
{
	struct reactor *reactor = store->reactor;
	size_t bytes = (size_t)store->head.slots * sizeof(struct order_image);

	for (uint32_t i = 0; i < ORDER_PARTS_MAX; i++) {
		if (store->files[i] != NULL)
			reactor->world->file_close(store->files[i]);
		if (store->slots[i] != NULL)
			reactor->world->pages_unmap(reactor, store->slots[i], bytes);
	}
	if (store->held != NULL)
		reactor->world->file_close(store->held);
	if (store->annex != NULL)
		reactor->world->annex_close(store->annex);
	arena_free(reactor->arena, store->put.bytes);
	arena_free(reactor->arena, store->owners);
	arena_free(reactor->arena, store);
}

/* ---- what reactors have of it ---- */

static struct file *
file_of(struct store *store, struct reactor *reactor)
{
	struct file **file = &store->files[reactor->index];

	if (*file == NULL && reactor->world->file_share(store->held, reactor, file) != 0)
		*file = NULL;
	return *file;
}

struct place *
store_place(struct store *store, struct reactor *reactor, uint32_t part)
{
	struct file *file = file_of(store, reactor);
	struct place *place = file != NULL ? place_file_open(reactor, file, &store->head, part) : NULL;

	if (place != NULL)
		place->slots = store->slots[part];
	return place;
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
	store->put.iov = (struct iovec){ store->put.bytes, UNIT };
	store->put.io = (struct file_io){
		.op = FILE_WRITE, .durable = true, .offset = at, .iov = &store->put.iov, .iov_count = 1,
		.done = done, .owner = store,
	};
	store->reactor->world->file_submit(store->files[store->reactor->index], &store->put.io);
}

static void
put_owner(struct store *store)
{
	uint32_t first = store->put.index - store->put.index % (UNIT / ORDER_OWNER_BYTES);

	memcpy(store->put.bytes, store->owners[first], UNIT);
	put(store, ORDER_HEAD_BYTES + (uint64_t)first * ORDER_OWNER_BYTES, put_done);
}

static void
head_done(struct file_io *io)
{
	struct store *store = io->owner;

	store->fresh = io->result != UNIT;
	if (store->fresh)
		put_done(io);
	else
		put_owner(store);
}

void
store_put_owner(struct store *store, uint32_t index, void (*done)(void *owner, int error), void *owner)
{
	store->put.index = index;
	store->put.done = done;
	store->put.owner = owner;
	if (store->fresh) {
		order_head_write(&store->head, store->put.bytes);
		put(store, 0, head_done);
	} else {
		put_owner(store);
	}
}
