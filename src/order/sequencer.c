#include "order/sequencer.h"

#include <assert.h>
#include <stddef.h>

#include "order/entry.h"
#include "order/group.h"
#include "order/sequencer_inside.h"

static struct order_way *
way_of(struct order_sequencer *sequencer, const struct order_item *item)
{
	return &sequencer->ways[item->member->server];
}

void
order_sequencer_init(struct order_sequencer *sequencer, const struct order_layout *layout,
    struct order_item *items, uint32_t count, uint32_t group)
{
	assert(count >= 8 * layout->servers);
	*sequencer = (struct order_sequencer){
		.layout = layout, .item_count = count, .free_count = count, .keeps = true,
		.group = order_next(group), .ended = group, .complete = group, .durable = group,
	};
	list_init(&sequencer->held);
	list_init(&sequencer->free);
	for (uint32_t i = 0; i < count; i++)
		list_push(&sequencer->free, &items[i].held);
	sequencer->answered_to = sequencer->durable_to = &sequencer->held;
	for (unsigned server = 0; server < layout->servers; server++) {
		struct order_way *way = &sequencer->ways[server];

		*way = (struct order_way){ .down = true, .guaranteed = UINT32_MAX };
		list_init(&way->items);
		way->next = &way->items;
	}
	for (unsigned i = 0; i < layout->count; i++)
		if (!layout->members[i].keeps) {
			sequencer->ways[layout->members[i].server].cached = true;
			sequencer->keeps = false;
		}
}

/* ---- what goes together ---- */

/* The last one that goes to a server, if something may be merged into it still. */
static struct order_item *
open_tail(const struct order_way *way)
{
	return way->next != &way->items ? order_item_at(way->items.prev) : NULL;
}

/* As commands: are they next to each other, of one kind, and together not too large? */
static bool
fit(const struct order_item *a, const struct order_item *b)
{
	enum { SINGLE = ORDER_ENTRY_SPLIT | ORDER_ENTRY_FLUSH };

	return a->member == b->member && a->lba + a->blocks_in_all == b->lba &&
	    a->blocks_in_all <= a->member->most - b->blocks_in_all && a->in_it + b->in_it <= ORDER_TOGETHER_MAX &&
	    (a->attribute.flags & SINGLE) == 0 && (b->attribute.flags & ORDER_ENTRY_SPLIT) == 0 &&
	    ((a->attribute.flags ^ b->attribute.flags) & ORDER_ENTRY_IN_PLACE) == 0;
}

static void
join(struct order_item *a, struct order_item *b)
{
	a->end->more = b;
	a->end = b->end;
	a->in_it += b->in_it;
	a->blocks_in_all += b->blocks_in_all;
	a->attribute.flags |= ORDER_ENTRY_MERGED;
}

/* Every piece of its groups is in it. */
static bool
is_whole(const struct order_item *item)
{
	const struct order_attribute *attribute = &item->attribute;

	return (attribute->flags & ORDER_ENTRY_LAST) != 0 && attribute->num == attribute->count;
}

/* Groups that are whole, each behind the other. */
static void
join_groups(struct order_way *way, struct order_item *item)
{
	struct order_item *before;

	if (way->next == &item->at_server || !is_whole(item))
		return;
	before = order_item_at(item->at_server.prev);
	if (!is_whole(before) || order_next(before->attribute.last) != item->attribute.first ||
	    !fit(before, item))
		return;
	list_remove(&item->at_server);
	join(before, item);
	before->attribute.last = item->attribute.last;
	before->attribute.count = before->attribute.num = 1;
	before->attribute.flags |= item->attribute.flags;
}

/* ---- what is submitted ---- */

static struct order_item *
take(struct order_sequencer *sequencer, const struct order_extent *extent, const char *data, uint16_t flags)
{
	struct order_item *item = order_item_held(list_pop(&sequencer->free));

	sequencer->free_count--;
	sequencer->in_group++;
	sequencer->unflushed++;
	*item = (struct order_item){
		.member = extent->member, .lba = extent->lba, .blocks = extent->blocks, .data = data,
		.group = sequencer->group, .end = item, .blocks_in_all = extent->blocks, .in_it = 1,
		.attribute = { .first = sequencer->group, .last = sequencer->group, .count = 1, .flags = flags },
	};
	list_init(&item->at_server);
	list_push(&sequencer->held, &item->held);
	if (sequencer->answered_to == &sequencer->held)
		sequencer->answered_to = &item->held;
	if (sequencer->durable_to == &sequencer->held)
		sequencer->durable_to = &item->held;
	return item;
}

/* Answers what it goes with. */
static struct order_item *
line_up(struct order_sequencer *sequencer, struct order_item *item)
{
	struct order_way *way = way_of(sequencer, item);
	struct order_item *tail = open_tail(way);

	way->dirty = true;
	if (tail != NULL && tail->attribute.first == item->group && fit(tail, item)) {
		join(tail, item);
		tail->attribute.count++;
		return tail;
	}
	if (way->last != item->group) {
		way->prev = way->last;
		way->last = item->group;
	}
	item->attribute.prev = way->prev;
	list_push(&way->items, &item->at_server);
	if (way->next == &way->items)
		way->next = &item->at_server;
	return item;
}

/* `item` goes with the last piece of the group. */
static void
end_group(struct order_sequencer *sequencer, struct order_item *item)
{
	order_item_held(sequencer->held.prev)->ends = true;
	item->attribute.flags |= ORDER_ENTRY_LAST;
	item->attribute.num = (uint16_t)sequencer->in_group;
	sequencer->ended = sequencer->group;
	sequencer->group = order_next(sequencer->group);
	sequencer->in_group = 0;
	join_groups(way_of(sequencer, item), item);
}

/* ---- flush marks ---- */

static bool
needs_flush(const struct order_way *way)
{
	return way->cached && way->dirty;
}

static void
set_flush(struct order_way *way, struct order_item *tail)
{
	tail->attribute.flags |= ORDER_ENTRY_FLUSH;
	way->dirty = false;
}

/* Behind all that went to that server; with a piece of its own if what went there last is on its way already. */
static struct order_item *
flush_way(struct order_sequencer *sequencer, unsigned server)
{
	struct order_way *way = &sequencer->ways[server];
	struct order_item *tail = open_tail(way);

	if (tail == NULL) {
		const struct order_member *member = sequencer->layout->members;

		while (member->server != server)
			member++;
		tail = line_up(sequencer, take(sequencer, &(struct order_extent){ member, 0, 0 }, NULL, 0));
	}
	set_flush(way, tail);
	return tail;
}

/* All of them, but for one that is seen to. */
static void
flush_others(struct order_sequencer *sequencer, unsigned but)
{
	for (unsigned server = 0; server < sequencer->layout->servers; server++)
		if (server != but && needs_flush(&sequencer->ways[server]))
			flush_way(sequencer, server);
	sequencer->unflushed = 0;
	sequencer->flush_at_end = false;
}

bool
order_sequencer_flush(struct order_sequencer *sequencer, uint32_t *group)
{
	struct order_item *last = NULL;

	*group = sequencer->in_group > 0 ? sequencer->group : sequencer->ended;
	if (sequencer->keeps)
		return true;
	if (sequencer->in_group > 0) {
		sequencer->flush_at_end = true;
		return true;
	}
	if (sequencer->free_count < sequencer->layout->servers)
		return false;
	for (unsigned server = 0; server < sequencer->layout->servers; server++)
		if (needs_flush(&sequencer->ways[server])) {
			struct order_item *tail = flush_way(sequencer, server);

			last = tail->group == sequencer->group ? tail : last;
		}
	if (last != NULL)
		end_group(sequencer, last);
	*group = sequencer->ended;
	sequencer->unflushed = 0;
	return true;
}

/* ---- a write ---- */

static uint32_t
most_in_group(const struct order_sequencer *sequencer)
{
	uint32_t most = sequencer->item_count / 2;

	for (unsigned server = 0; server < sequencer->layout->servers; server++)
		if (sequencer->ways[server].guaranteed / 2 < most)
			most = sequencer->ways[server].guaranteed / 2;
	return most < UINT16_MAX ? most : UINT16_MAX;
}

/* Before there is no room for the group that comes, and no way to make some. */
static bool
is_to_be_durable(const struct order_sequencer *sequencer, unsigned flags)
{
	return !sequencer->keeps && ((flags & ORDER_DURABLE) != 0 || sequencer->flush_at_end ||
	    sequencer->unflushed >= sequencer->item_count / 4);
}

static void
add_last(struct order_sequencer *sequencer, const struct order_extent *extent, const char *data, uint16_t flags,
    bool durable)
{
	struct order_way *way = &sequencer->ways[extent->member->server];
	struct order_item *item;

	if (durable)
		flush_others(sequencer, extent->member->server);
	item = line_up(sequencer, take(sequencer, extent, data, flags));
	if (durable && way->cached)
		set_flush(way, item);
	end_group(sequencer, item);
}

enum order_submitted
order_sequencer_submit(struct order_sequencer *sequencer, uint64_t lba, uint32_t blocks, const void *data,
    unsigned flags, uint32_t *group)
{
	const struct order_layout *layout = sequencer->layout;
	struct order_extent extent = order_layout_first(layout, lba, blocks);
	uint32_t pieces = extent.blocks == blocks ? 1 : order_layout_count(layout, lba, blocks);
	uint16_t marks = (uint16_t)((pieces > 1 ? ORDER_ENTRY_SPLIT : 0) |
	    ((flags & ORDER_IN_PLACE) != 0 ? ORDER_ENTRY_IN_PLACE : 0));
	const char *from = data;

	assert(order_layout_has(layout, lba, blocks));
	/* One for each server stays for flushes, and one for the group's end. */
	if (sequencer->in_group + pieces + layout->servers + 1 > most_in_group(sequencer))
		return ORDER_TOO_LARGE;
	if (sequencer->free_count < pieces + layout->servers + 1)
		return ORDER_FULL;
	*group = sequencer->group;
	for (; extent.blocks < blocks; extent = order_layout_first(layout, lba, blocks)) {
		line_up(sequencer, take(sequencer, &extent, from, marks));
		lba += extent.blocks;
		blocks -= extent.blocks;
		from += (size_t)extent.blocks * layout->block_length;
	}
	if ((flags & ORDER_END) != 0)
		add_last(sequencer, &extent, from, marks, is_to_be_durable(sequencer, flags));
	else
		line_up(sequencer, take(sequencer, &extent, from, marks));
	return ORDER_TAKEN;
}

void
order_sequencer_end(struct order_sequencer *sequencer, unsigned flags)
{
	bool durable = is_to_be_durable(sequencer, flags);
	struct order_item *tail;
	unsigned server;

	if (sequencer->in_group == 0)
		return;
	server = order_item_held(sequencer->held.prev)->member->server;
	if (durable)
		flush_others(sequencer, server);
	tail = open_tail(&sequencer->ways[server]);
	/* With a piece of its own if all of it is on its way already: only a flush has no blocks. */
	if (tail == NULL || (durable && sequencer->ways[server].cached))
		tail = flush_way(sequencer, server);
	end_group(sequencer, tail);
}
