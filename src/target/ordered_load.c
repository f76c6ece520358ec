/*
 * ordered_load.c - what the log of ordered writes has when a target begins: which streams, of whom, in which parts.
 *
 * Before anything is served; each core then takes of it what is in its parts.
 */
#include <errno.h>
#include <stdio.h>

#include "target/ordered.h"

enum { SAID_MAX = 16 }; /* streams that are named, of those that may have lost something */

/* ---- what there is ---- */

struct of {
	const struct target *target;
	const struct order_owner *as;
};

static bool
keeps(void *arg, uint32_t nsid)
{
	const struct of *of = arg;
	const struct view_ns *ns = ordered_ns(of->target->view, of->as, nsid);

	return ns != NULL && !of->target->volumes[volume_slot(ns->volume)].blk->volatile_cache;
}

static struct order_part
part_of(const struct ordered_all *all, uint32_t number)
{
	const struct order_head *head = &all->store->head;

	return (struct order_part){ all->store->slots[number], head->slots, order_head_seed(head) };
}

static int
read_parts(struct target *target, struct ordered_all *all)
{
	uint32_t slots = all->store->head.slots, used = 0;

	for (uint32_t i = 0; i < all->store->head.parts; i++)
		used += all->store->slots[i] != NULL;
	if (used == 0)
		return 0;
	all->known = arena_alloc_raw(target->arena, (size_t)used * slots * sizeof(*all->known));
	if (all->known == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < all->store->head.parts; i++) {
		const struct order_part part = part_of(all, i);

		if (part.slots == NULL)
			continue;
		order_scan(&part, &all->scans[i]);
		all->corrupt = all->corrupt || all->scans[i].corrupt;
		all->count += order_known_read(&part, &all->scans[i], i, &all->known[all->count]);
	}
	order_known_sort(all->known, all->count);
	return 0;
}

static void
read_owners(struct ordered_all *all)
{
	for (uint32_t i = 0; i < ORDER_OWNERS; i++)
		if (!order_owner_read(all->store->owners[i], &all->owners[i]))
			all->owners[i].nqn[0] = '\0';
	for (uint32_t i = 0; i < all->count; i++)
		if (all->known[i].entry.owner < ORDER_OWNERS)
			all->named[all->known[i].entry.owner] = true;
	/* One that no entry names may have been torn when it was put. */
	for (uint32_t i = 0; i < ORDER_OWNERS; i++)
		all->owners_lost += all->named[i] && ordered_whose(all, i) == NULL;
}

const struct order_owner *
ordered_whose(const struct ordered_all *all, uint32_t owner)
{
	return owner < ORDER_OWNERS && all->owners[owner].nqn[0] != '\0' ? &all->owners[owner] : NULL;
}

/* Where a part is corrupt that it has something of: the last hole may have been its last entry. */
static bool
may_miss(const struct ordered_all *all, const struct order_known *known, uint32_t count, uint32_t part)
{
	const struct order_scan *scan = &all->scans[part];

	return scan->corrupt && !order_known_behind(known, count, part, scan->corrupt_at);
}

/* What follows of each entry, and that core 0 knows the stream. */
static int
read_stream(struct target *target, struct ordered_all *all, struct order_known *known, uint32_t count,
    struct order_listed *room)
{
	struct of of = { target, ordered_whose(all, known[0].entry.owner) };
	struct ordered_entry *entry = arena_alloc(target->arena, sizeof(*entry));
	struct order_stream read;

	if (entry == NULL)
		return -ENOMEM;
	order_stream_read(known, count, keeps, &of, room, &read);
	entry->owner = read.owner;
	entry->number = read.stream;
	entry->home = known[count - 1].part;
	for (uint32_t i = 0; i < count; i++) {
		ordered_set(entry->parts, known[i].part);
		entry->doubtful = entry->doubtful || may_miss(all, known, count, known[i].part);
	}
	entry->was_lost = entry->doubtful || read.lost != NULL;
	fifo_init(&entry->waiting);
	list_push(&all->streams, &entry->node);
	return 0;
}

static int
read_streams(struct target *target, struct ordered_all *all)
{
	struct order_listed *room;
	uint32_t same;
	int rc = 0;

	if (all->count == 0)
		return 0;
	room = arena_alloc_raw(target->arena, all->count * sizeof(*room));
	if (room == NULL)
		return -ENOMEM;
	for (uint32_t at = 0; rc == 0 && at < all->count; at += same) {
		same = order_known_same(&all->known[at], all->count - at);
		rc = read_stream(target, all, &all->known[at], same, room);
	}
	arena_free(target->arena, room);
	return rc;
}

int
ordered_load(struct target *target, struct store *store, char why[256])
{
	struct ordered_all *all = arena_alloc(target->arena, sizeof(*all));
	int rc;

	snprintf(why, 256, "out of memory");
	if (all == NULL)
		return -ENOMEM;
	target->ordered = all;
	all->store = store;
	list_init(&all->streams);
	fifo_init(&all->putters);
	all->owners = arena_alloc(target->arena, ORDER_OWNERS * sizeof(*all->owners));
	all->named = arena_alloc(target->arena, ORDER_OWNERS * sizeof(*all->named));
	all->scans = arena_alloc(target->arena, ORDER_PARTS_MAX * sizeof(*all->scans));
	rc = all->owners != NULL && all->named != NULL && all->scans != NULL ? read_parts(target, all) : -ENOMEM;
	if (rc == 0) {
		read_owners(all);
		rc = read_streams(target, all);
	}
	if (rc != 0)
		ordered_unload(target);
	return rc;
}

/* ---- each core takes its parts of it ---- */

static bool
is_in(const struct order_known *known, uint32_t count, uint32_t part)
{
	for (uint32_t i = 0; i < count; i++)
		if (known[i].part == part)
			return true;
	return false;
}

/* It goes on where its last term began; the others are told from there what is durable. */
static bool
adopt(struct ordered_part *part, const struct ordered_all *all, const struct order_known *known, uint32_t count)
{
	const struct order_entry *first = &known[0].entry;
	struct ordered_stream *stream = ordered_begin_stream(part, first->owner, first->stream,
	    ordered_whose(all, first->owner));

	if (stream == NULL)
		return false;
	order_track_adopt(&part->serve.log, &stream->served.track, known, count, part->number);
	stream->closed = known[count - 1].part != part->number;
	if (stream->closed)
		order_track_close(&part->serve.log, &stream->served.track, true);
	for (uint32_t i = 0; i < count && !stream->closed; i++)
		if (known[i].part != part->number)
			ordered_set(stream->elsewhere, known[i].part);
	ordered_mind(stream);
	return true;
}

bool
ordered_load_part(struct ordered_part *part, const struct ordered_all *all)
{
	uint32_t same;

	order_log_load(&part->serve.log, &all->scans[part->number]);
	for (uint32_t at = 0; at < all->count; at += same) {
		same = order_known_same(&all->known[at], all->count - at);
		if (is_in(&all->known[at], same, part->number) && !adopt(part, all, &all->known[at], same))
			return false;
	}
	return true;
}

/* Those of hosts that nobody knows any more nobody can ask for. */
static void
say_what_is_lost(struct core *core, const struct ordered_all *all)
{
	unsigned said = 0, more = 0;

	if (all->corrupt)
		core_log(core, 1, "the log of ordered writes is corrupt: streams of which something may be lost "
		    "stay stopped until they are cut by force, and all others go on");
	if (all->owners_lost > 0)
		core_log(core, 1, "the log of ordered writes is corrupt: of %u hosts nobody knows any more who they "
		    "were, so streams that it does not know begin by force alone", all->owners_lost);
	list_for_each(&all->streams, node) {
		const struct ordered_entry *entry = container_of(node, struct ordered_entry, node);
		const struct order_owner *whose = ordered_whose(all, entry->owner);

		if (!entry->was_lost || whose == NULL)
			continue;
		if (said < SAID_MAX)
			core_log(core, 1, "of stream %u of %s something may be lost", entry->number, whose->nqn);
		more += said++ >= SAID_MAX;
	}
	if (more > 0)
		core_log(core, 1, "and of %u more streams", more);
}

void
ordered_loaded(struct core *core)
{
	struct ordered_all *all = core->target->ordered;

	if (core->reactor->index == 0)
		say_what_is_lost(core, all);
	if (++all->begun < core->reactor->count)
		return;
	arena_free(core->target->arena, all->known);
	all->known = NULL;
	all->count = 0;
}

void
ordered_unload(struct target *target)
{
	struct ordered_all *all = target->ordered;
	struct list *node;

	if (all == NULL)
		return;
	while ((node = list_pop(&all->streams)) != NULL)
		arena_free(target->arena, container_of(node, struct ordered_entry, node));
	arena_free(target->arena, all->known);
	arena_free(target->arena, all->owners);
	arena_free(target->arena, all->named);
	arena_free(target->arena, all->scans);
	arena_free(target->arena, all);
	target->ordered = NULL;
}
