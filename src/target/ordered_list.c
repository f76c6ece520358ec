/*
 * ordered_list.c - what all parts have of a stream, on core 0: gathered from their cores, one after the other, and
 * listed.  (doc/extension.md, LIST)
 */
#include "target/ordered.h"
#include "wire/extension.h"

/* ---- what parts have of it ---- */

static void
fill_next(struct ordered_all *all, struct ordered_entry *entry)
{
	while (entry->part < ORDER_PARTS_MAX && !ordered_has(entry->parts, entry->part))
		entry->part++;
	if (entry->part == ORDER_PARTS_MAX) {
		entry->gathered(all, entry);
		return;
	}
	entry->ask.known = entry->known + entry->count;
	entry->ask.room = entry->room - entry->count;
	ordered_ask_part(all, entry, ORDERED_FILL, entry->part);
}

void
ordered_gather(struct ordered_all *all, struct ordered_entry *entry,
    void (*then)(struct ordered_all *, struct ordered_entry *))
{
	entry->gathered = then;
	entry->part = 0;
	entry->count = 0;
	entry->still = true;
	entry->ask.high = entry->ask.floor = ORDER_NO_GROUP;
	entry->ask.is_there = false;
	entry->ask.term = 0;
	entry->ask.guaranteed = order_guaranteed(all->store->head.slots);
	fill_next(all, entry);
}

/* Room for so many, with what is there. */
static bool
make_room(struct ordered_all *all, struct ordered_entry *entry, uint32_t room)
{
	struct arena *arena = all->core->target->arena;
	struct order_known *known = arena_alloc_raw(arena, room * sizeof(*known));

	if (known == NULL)
		return false;
	if (entry->count > 0)
		memcpy(known, entry->known, entry->count * sizeof(*known));
	arena_free(arena, entry->known);
	entry->known = known;
	entry->room = room;
	return true;
}

void
ordered_filled(struct ordered_all *all, struct ordered_entry *entry)
{
	const struct ordered_ask *said = &entry->ask;

	if (said->count <= said->room) {
		entry->count += said->count;
		entry->still = entry->still && said->still;
		entry->part++;
	} else if (!make_room(all, entry, entry->count + said->count + ORDER_BATCH_MAX)) {
		core_log_peer(all->core, "a command of ordered writes is not done: out of memory");
		ordered_finish(all, entry, nvme_status_of(NVME_SC_INTERNAL, false));
		return;
	}
	fill_next(all, entry);
}

struct of {
	const struct ordered_all *all;
	const struct order_owner *as;
};

static bool
keeps(void *arg, uint32_t nsid)
{
	const struct of *of = arg;
	const struct core *core = of->all->core;
	const struct view_ns *ns = ordered_ns(core->view, of->as, nsid);

	return ns != NULL && !core->target->volumes[volume_slot(ns->volume)].blk->volatile_cache;
}

/* All that was gathered, as one list; false: no memory. */
bool
ordered_read(struct ordered_all *all, struct ordered_entry *entry, struct order_stream *read)
{
	struct of of = { all, ordered_whose(all, entry->owner) };
	struct order_listed *room;

	/* Without entries it has what its parts know. */
	*read = (struct order_stream){ .term = entry->ask.term, .list.floor = entry->ask.floor };
	if (entry->count == 0)
		return true;
	room = arena_alloc_raw(all->core->target->arena, entry->count * sizeof(*room));
	if (room == NULL)
		return false;
	order_known_sort(entry->known, entry->count);
	order_stream_read(entry->known, entry->count, keeps, &of, room, read);
	return true;
}

void
ordered_read_end(const struct ordered_all *all, const struct order_stream *read)
{
	arena_free(all->core->target->arena, (void *)(uintptr_t)read->list.entries);
}

bool
ordered_is_doubtful(const struct ordered_all *all)
{
	return all->corrupt || all->owners_lost > 0;
}

/* Some of it was lost; or a namespace is not there in which something would have to be taken back. */
bool
ordered_is_lost(const struct ordered_all *all, const struct ordered_entry *entry, const struct order_stream *read)
{
	const struct order_owner *as = ordered_whose(all, entry->owner);

	for (uint32_t i = 0; i < entry->count; i++) {
		const struct order_entry *one = &entry->known[i].entry;
		const struct view_ns *ns;

		if (!order_is_taken_back(&entry->known[i], ORDER_NO_GROUP))
			continue;
		ns = ordered_ns(all->core->view, as, one->nsid);
		if (ns == NULL || !ordered_is_in(ns, one))
			return true;
	}
	return read->lost != NULL || entry->doubtful;
}

/* ---- LIST ---- */

static void
put(struct ordered_command *command, uint64_t at, const void *bytes, size_t count)
{
	const uint8_t *from = bytes;

	for (uint32_t i = 0; i < command->iov_count && count > 0; i++) {
		const struct iovec *iov = &command->iov[i];
		size_t step;

		if (at >= iov->iov_len) {
			at -= iov->iov_len;
			continue;
		}
		step = iov->iov_len - at < count ? iov->iov_len - at : count;
		memcpy((uint8_t *)iov->iov_base + at, from, step);
		from += step;
		count -= step;
		at = 0;
	}
}

static struct weir_list_head
head_of(const struct ordered_all *all, uint16_t number)
{
	struct weir_list_head head = { .stream = le16_of(number) };

	memcpy(head.log, all->store->head.uuid, sizeof(head.log));
	return head;
}

static void
put_entries(struct ordered_command *command, const struct ordered_entry *entry, struct weir_list_head *head)
{
	uint32_t skip = le32_get(command->sqe.cdw11), count = 0;

	for (uint32_t i = 0; i < entry->count; i++) {
		struct weir_list_entry item;

		if (entry->known[i].role == ORDER_GONE)
			continue;
		if (count++ < skip)
			continue;
		order_put_known(&entry->known[i], &item);
		item.nsid = le32_of(le32_get(item.nsid) & 0xffff); /* its tag is the log's */
		put(command, sizeof(*head) + (uint64_t)(count - 1 - skip) * sizeof(item), &item, sizeof(item));
	}
	head->count = le32_of(count);
	put(command, 0, head, sizeof(*head));
}

void
ordered_listed(struct ordered_all *all, struct ordered_entry *entry)
{
	struct weir_list_head head = head_of(all, entry->number);
	struct order_stream read;

	if (!ordered_read(all, entry, &read)) {
		ordered_finish(all, entry, nvme_status_of(NVME_SC_INTERNAL, false));
		return;
	}
	head.term = le16_of(read.term);
	head.floor = le32_of(read.list.floor);
	head.guaranteed = le32_of(entry->ask.guaranteed);
	head.holder = le32_of(entry->holder);
	head.flags = le32_of((entry->still ? WEIR_LIST_STOPPED : 0) | (entry->ask.is_there ? 0 : WEIR_LIST_NEW) |
	    (ordered_is_lost(all, entry, &read) ? WEIR_LIST_LOST : 0));
	put_entries(entry->now, entry, &head);
	ordered_read_end(all, &read);
	ordered_finish(all, entry, NVME_OK);
}

/* Of a stream of which there is nothing. */
void
ordered_list_none(struct ordered_all *all, struct ordered_command *command)
{
	struct weir_list_head head = head_of(all, number_of(command));

	head.guaranteed = le32_of(order_guaranteed(all->store->head.slots));
	head.flags = le32_of(WEIR_LIST_STOPPED | WEIR_LIST_NEW | (ordered_is_doubtful(all) ? WEIR_LIST_LOST : 0));
	put(command, 0, &head, sizeof(head));
	ordered_done(all, command, NVME_OK);
}

void
ordered_list_streams(struct ordered_all *all, struct ordered_command *command, uint32_t owner)
{
	struct weir_list_head head = head_of(all, 0);
	uint32_t skip = le32_get(command->sqe.cdw11), count = 0;

	list_for_each(&all->streams, node) {
		const struct ordered_entry *entry = container_of(node, struct ordered_entry, node);
		le16 number = le16_of(entry->number);

		if (entry->owner != owner || entry->ends || entry->ended)
			continue;
		if (count++ >= skip)
			put(command, sizeof(head) + (uint64_t)(count - 1 - skip) * sizeof(number), &number,
			    sizeof(number));
	}
	head.count = le32_of(count);
	put(command, 0, &head, sizeof(head));
	ordered_done(all, command, NVME_OK);
}
