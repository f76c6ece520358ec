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

static struct order_head
head_made(const struct store *store, const struct store_spec *spec)
{
	return (struct order_head){
		.parts = spec->kind == STORE_FILE ? STORE_PARTS : store->reactor->count,
		.slots = spec->slots > 0 ? spec->slots : STORE_SLOTS,
	};
}

static void
make_head(struct store *store, const struct store_spec *spec)
{
	const struct world_ops *world = store->reactor->world;

	store->head = head_made(store, spec);
	store->head.boot = spec->kind == STORE_MEMORY ? world->boot(store->reactor) : 0;
	for (unsigned i = 0; i < UUID_BYTES; i += 8)
		put_le64(store->head.uuid + i, world->random(store->reactor) | 1);
	store->fresh = true;
}

/* What one that was made for another kind has would be taken for what it is not. */
static bool
is_of_kind(const struct store *store, const struct store_spec *spec, char why[256])
{
	bool memory = store->head.boot != 0;

	if (memory == (spec->kind == STORE_MEMORY))
		return true;
	snprintf(why, 256, "%.150s: the log of ordered writes there is %s: open it as %s", spec->path,
	    memory ? "one in memory" : "none in memory", memory ? "memory:" : "file: or persistent:");
	return false;
}

/* With the machine all of it is gone: what is left in the file is any of it. */
static int
begin_anew(struct store *store, const struct store_spec *spec)
{
	if (store->head.boot == 0 || store->head.boot == store->reactor->world->boot(store->reactor))
		return 0;
	store->begun_anew = true;
	memset(store->owners, 0, (size_t)ORDER_OWNERS * ORDER_OWNER_BYTES);
	make_head(store, spec);
	return 0;
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
	return wrong != NULL || !is_of_kind(store, spec, why) ? -EINVAL : begin_anew(store, spec);
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

static void put_mapped_done(struct task *task);

/* As long as a log that is made is, where there is none; else as it is. */
static int
open_file(struct store *store, const struct store_spec *spec)
{
	const struct world_ops *world = store->reactor->world;
	struct order_head made = head_made(store, spec);
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

/* What was in one that begins anew is emptied, and in the end its head comes, as always. */
static int
map(struct store *store, const struct store_spec *spec)
{
	int rc = store->reactor->world->file_map(store->held, spec->kind == STORE_PERSISTENT);

	if (rc == 0 && store->begun_anew)
		memset(store->held->map, 0, order_log_bytes(&store->head));
	return rc;
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
	if (rc != 0)
		return cannot(why, spec, "read", rc);
	rc = spec->kind != STORE_FILE ? map(store, spec) : 0;
	return rc == 0 ? 0 : cannot(why, spec, "map", rc);
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
	store->kind = spec->kind;
	store->survives = spec->kind == STORE_MEMORY ?
	    "a killed process, and neither a crash of the machine nor a loss of power" :
	    "a killed process, a crash of the machine and a loss of power";
	task_init(&store->put.task, put_mapped_done);
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

size_t
store_part_bytes(uint32_t slots)
{
	struct order_head head = { .parts = 1, .slots = slots > 0 ? slots : STORE_SLOTS };

	return head.slots * sizeof(struct order_image) + place_file_bytes(&head);
}

size_t
store_bytes(void)
{
	return sizeof(struct store) + arena_takes((size_t)ORDER_OWNERS * ORDER_OWNER_BYTES, UNIT) +
	    arena_takes(UNIT, UNIT);
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
	task_cancel(&store->put.task);
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
	struct place *place = NULL;

	if (file != NULL && store->kind == STORE_FILE)
		place = place_file_open(reactor, file, &store->head, part);
	else if (file != NULL && store->kind == STORE_MEMORY)
		place = place_memory_open(reactor, file->map, &store->head, part);
	else if (file != NULL)
		place = place_persistent_open(reactor, file, &store->head, part);
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

/* ---- and of one that is mapped ---- */

static void
put_mapped_done(struct task *task)
{
	struct store *store = container_of(task, struct store, put.task);

	store->put.done(store->put.owner, 0);
}

static void
put_mapped(struct store *store, uint64_t at, const void *bytes, size_t count)
{
	struct file *file = store->files[store->reactor->index];
	struct iovec iov = { (uint8_t *)file->map + at, count };

	memcpy(iov.iov_base, bytes, count);
	if (store->kind == STORE_PERSISTENT)
		store->reactor->world->file_write_back(file, &iov, 1);
}

static void
put_all_mapped(struct store *store)
{
	uint64_t at = ORDER_HEAD_BYTES + (uint64_t)store->put.index * ORDER_OWNER_BYTES;

	if (store->fresh) {
		order_head_write(&store->head, store->put.bytes);
		put_mapped(store, 0, store->put.bytes, ORDER_HEAD_BYTES);
	}
	store->fresh = false;
	put_mapped(store, at, store->owners[store->put.index], ORDER_OWNER_BYTES);
	reactor_run_in(store->reactor, PHASE_COLLECT, &store->put.task);
}

void
store_put_owner(struct store *store, uint32_t index, void (*done)(void *owner, int error), void *owner)
{
	store->put.index = index;
	store->put.done = done;
	store->put.owner = owner;
	if (store->kind != STORE_FILE) {
		put_all_mapped(store);
	} else if (store->fresh) {
		order_head_write(&store->head, store->put.bytes);
		put(store, 0, head_done);
	} else {
		put_owner(store);
	}
}
