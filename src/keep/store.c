/*
 * A log of ordered writes is made or read, before anything is served.
 */
#include "keep/store_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC = 8 };

static_assert((int)ORDER_HEAD_BYTES == (int)STORE_UNIT, "the head is one unit");
static_assert(STORE_UNIT % ORDER_OWNER_BYTES == 0, "owners are whole in their unit");

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
	struct keep_region *region = store->region;
	int64_t got;

	if (region != NULL) {
		region->last_ns = pmr_load(region->pmr, (uint32_t)offset, to, (uint32_t)bytes, region->last_ns);
		return 0;
	}
	got = store->reactor->world->file_fetch(store->held, offset, to, bytes);
	return got < 0 ? (int)got : (size_t)got == bytes ? 0 : -EIO;
}

static uint64_t
size_of(const struct store *store)
{
	return store->region != NULL ? pmr_bytes(store->region->pmr) : store->held->size;
}

static bool
is_zeros(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != 0)
			return false;
	return true;
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

/* A log that was in memory when the machine ended is gone, and what is left in the file is any of it. */
static void
begin_anew(struct store *store, const struct store_spec *spec, bool was)
{
	store->begun_anew = was;
	memset(store->owners, 0, (size_t)ORDER_OWNERS * ORDER_OWNER_BYTES);
	make_head(store, spec);
}

/* Nobody else's: the file may be anything. */
static bool
is_left_of_ours(const struct store *store, const uint8_t *head)
{
	struct order_owner owner;

	for (unsigned i = 0; i < ORDER_OWNERS; i++)
		if (!is_zeros(store->owners[i], ORDER_OWNER_BYTES) && !order_owner_read(store->owners[i], &owner))
			return false;
	return (is_zeros(head, MAGIC) || memcmp(head, "WEIRORDR", MAGIC) == 0) &&
	    is_zeros(head + 48, ORDER_HEAD_BYTES - 48 - sizeof(le32));
}

/* The head comes with the first owner; where there is none of either, there is no log yet, or one that was torn before
 * it was used. */
static int
take_head(struct store *store, const struct store_spec *spec, const uint8_t *head, char why[256])
{
	bool none, used = !is_zeros(store->owners[0], (size_t)ORDER_OWNERS * ORDER_OWNER_BYTES);
	const char *wrong = order_head_read(head, &store->head, &none);

	if (wrong != NULL && (!used || spec->kind == STORE_MEMORY) && is_left_of_ours(store, head)) {
		begin_anew(store, spec, used);
		return 0;
	}
	if (wrong != NULL)
		snprintf(why, 256, "%.150s: %s", spec->path, wrong);
	if (wrong != NULL || !is_of_kind(store, spec, why))
		return -EINVAL;
	if (store->head.boot != 0 && store->head.boot != store->reactor->world->boot(store->reactor))
		begin_anew(store, spec, true);
	return 0;
}

static bool
fits(const struct store *store, const struct store_spec *spec, char why[256])
{
	if (store->held == NULL || store->held->align <= STORE_UNIT)
		return true;
	snprintf(why, 256, "%.150s: its disk is written in pieces of %u bytes, and a log of ordered writes in such "
	    "of %d", spec->path, store->held->align, STORE_UNIT);
	return false;
}

static int
read_head(struct store *store, const struct store_spec *spec, char why[256])
{
	uint8_t *head = store->put.bytes;
	int rc;

	if (!fits(store, spec, why))
		return -EINVAL;
	if (size_of(store) < ORDER_HEAD_BYTES + (uint64_t)ORDER_OWNERS * ORDER_OWNER_BYTES) {
		snprintf(why, 256, "%.150s is no log of ordered writes: it is too short for one", spec->path);
		return -EINVAL;
	}
	rc = fetch(store, 0, head, ORDER_HEAD_BYTES);
	if (rc == 0)
		rc = fetch(store, ORDER_HEAD_BYTES, store->owners, (size_t)ORDER_OWNERS * ORDER_OWNER_BYTES);
	if (rc != 0)
		return cannot(why, spec, "read", rc);
	return take_head(store, spec, head, why);
}

static bool
is_mapped(const struct store *store)
{
	return store->kind == STORE_MEMORY || store->kind == STORE_PERSISTENT;
}

/* Parts of which nothing was ever written take no memory. */
static int
read_parts(struct store *store)
{
	const struct world_ops *world = store->reactor->world;
	uint64_t bytes = (uint64_t)store->head.slots * sizeof(struct order_image);

	for (uint32_t part = 0; part < store->head.parts && !store->fresh; part++) {
		uint64_t at = order_part_at(&store->head, part);
		uint64_t data = store->region == NULL ? world->file_data(store->held, at) : at;
		int rc;

		if (data == UINT64_MAX || data >= at + bytes)
			continue;
		rc = store_need(store, part);
		if (rc == 0 && !is_mapped(store))
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
	struct order_head made = head_made(store, spec);
	uint64_t id[2];
	int rc;

	if (store->region != NULL)
		return 0;
	rc = world->file_id(store->annex, spec->path, id);

	if (rc != 0 && rc != -ENOENT)
		return rc;
	rc = world->file_open(store->annex, spec->path, rc != 0 ? order_log_bytes(&made) : 0, STORE_UNIT, &store->held);
	if (rc != 0 || store->held->size > 0)
		return rc;
	/* It was made, and nothing more. */
	world->file_close(store->held);
	store->held = NULL;
	return world->file_open(store->annex, spec->path, order_log_bytes(&made), STORE_UNIT, &store->held);
}

/* One that was being made may be too short. */
static int
lengthen(struct store *store)
{
	uint64_t bytes = order_log_bytes(&store->head);

	if (size_of(store) >= bytes)
		return 0;
	return store->fresh && store->region == NULL ? store->reactor->world->file_extend(store->held, bytes) : -EINVAL;
}

/* What was in one that begins anew is emptied, and in the end its head comes, as always. */
static int
map(struct store *store)
{
	int rc = store->reactor->world->file_map(store->held, store->kind == STORE_PERSISTENT);

	if (rc == 0 && store->fresh && store->held->was >= 0)
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
		snprintf(why, 256, store->fresh ? "%.150s is too small for the log of ordered writes" :
		    "%.150s: the log of ordered writes was cut off", spec->path);
		return rc;
	}
	if (rc != 0)
		return cannot(why, spec, "read", rc);
	rc = is_mapped(store) ? map(store) : 0;
	if (rc != 0)
		return cannot(why, spec, "map", rc);
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
	store->kind = spec->kind;
	store->region = spec->region;
	store->survives = spec->kind == STORE_MEMORY ?
	    "a killed process, and neither a crash of the machine nor a loss of power" :
	    "a killed process, a crash of the machine and a loss of power";
	store_put_init(store);
	store->owners = arena_alloc_aligned(reactor->arena, (size_t)ORDER_OWNERS * ORDER_OWNER_BYTES, STORE_UNIT);
	store->put.bytes = arena_alloc_aligned(reactor->arena, STORE_UNIT, STORE_UNIT);
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
	if (store->slots[part] == NULL && is_mapped(store))
		store->slots[part] = (void *)((uint8_t *)store->held->map + order_part_at(&store->head, part));
	else if (store->slots[part] == NULL)
		store->slots[part] = store->reactor->world->pages_map(store->reactor,
		    (size_t)store->head.slots * sizeof(struct order_image), true);
	return store->slots[part] != NULL ? 0 : -ENOMEM;
}

size_t
store_part_bytes(uint32_t slots)
{
	struct order_head head = { .parts = 1, .slots = slots > 0 ? slots : STORE_SLOTS };

	return head.slots * sizeof(struct order_image) + keep_file_bytes(&head);
}

size_t
store_bytes(void)
{
	return sizeof(struct store) + arena_takes((size_t)ORDER_OWNERS * ORDER_OWNER_BYTES, STORE_UNIT) +
	    arena_takes(STORE_UNIT, STORE_UNIT);
}

void
store_close(struct store *store)
{
	struct reactor *reactor = store->reactor;
	size_t bytes = (size_t)store->head.slots * sizeof(struct order_image);

	for (uint32_t i = 0; i < ORDER_PARTS_MAX; i++) {
		if (store->files[i] != NULL)
			reactor->world->file_close(store->files[i]);
		if (store->slots[i] != NULL && !is_mapped(store))
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
