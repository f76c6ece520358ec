/* The ways of a stream to its servers: what goes, what was answered, and what goes again. */
#include <stddef.h>

#include "order/entry.h"
#include "order/group.h"
#include "order/sequencer_inside.h"

/* ---- what goes ---- */

/* Nothing of its last group goes there behind it. */
static bool
is_last_here(const struct order_sequencer *sequencer, const struct order_way *way, const struct order_item *item)
{
	const struct list *behind = item->at_server.next;
	uint32_t group = item->attribute.last;

	if (sequencer->in_group > 0 && group == sequencer->group)
		return false;
	return behind == &way->items ||
	    container_of(behind, struct order_item, at_server)->attribute.first != group;
}

/* So that the log never is full of what cannot be forgotten. */
static void
flush_in_time(const struct order_sequencer *sequencer, struct order_way *way, struct order_item *item)
{
	way->sent++;
	if (way->cached && way->sent >= way->sent_most && is_last_here(sequencer, way, item)) {
		item->attribute.flags |= ORDER_ENTRY_FLUSH;
		way->dirty = way->dirty && way->next != &way->items;
	}
	if ((item->attribute.flags & ORDER_ENTRY_FLUSH) != 0)
		way->sent = 0;
}

struct order_item *
order_sequencer_next(struct order_sequencer *sequencer, unsigned server)
{
	struct order_way *way = &sequencer->ways[server];
	struct order_item *item;

	if (way->down || way->next == &way->items)
		return NULL;
	item = order_item_at(way->next);
	way->next = item->at_server.next;
	flush_in_time(sequencer, way, item);
	item->attribute.floor = way->told = sequencer->durable;
	return item;
}

bool
order_sequencer_floor(struct order_sequencer *sequencer, unsigned server, uint32_t *floor)
{
	struct order_way *way = &sequencer->ways[server];

	if (way->down || way->told == sequencer->durable)
		return false;
	*floor = way->told = sequencer->durable;
	return true;
}

/* ---- what was answered ---- */

static void
set_answered(struct order_item *item)
{
	for (struct order_item *one = item; one != NULL; one = one->more) {
		one->answered = true;
		one->durable = one->durable || one->member->keeps;
	}
}

static void
set_durable(struct order_item *item)
{
	for (struct order_item *one = item; one != NULL; one = one->more)
		one->answered = one->durable = true;
}

/* Of the group that ends with it, and all before. */
static void
forget(struct order_sequencer *sequencer, struct order_item *end)
{
	struct order_item *item;

	sequencer->durable = end->group;
	do {
		item = order_item_held(list_pop(&sequencer->held));
		sequencer->ways[item->member->server].durable = item->group;
		list_remove(&item->at_server);
		list_push_front(&sequencer->free, &item->held); /* it is in the processor's cache */
		sequencer->free_count++;
	} while (item != end);
}

static void
move_on(struct order_sequencer *sequencer)
{
	struct list *held = &sequencer->held;

	while (sequencer->answered_to != held && order_item_held(sequencer->answered_to)->answered) {
		const struct order_item *item = order_item_held(sequencer->answered_to);

		if (item->ends && order_above(item->group, sequencer->complete))
			sequencer->complete = item->group;
		sequencer->answered_to = item->held.next;
	}
	while (sequencer->durable_to != held && order_item_held(sequencer->durable_to)->durable) {
		struct order_item *item = order_item_held(sequencer->durable_to);

		sequencer->durable_to = item->held.next;
		if (item->ends)
			forget(sequencer, item);
	}
}

/* All that went there before has ended before it was flushed, and was answered before. */
static bool
cover(const struct order_way *way, struct order_item *flush)
{
	set_durable(flush);
	for (struct list *node = flush->at_server.prev; node != &way->items; node = node->prev) {
		struct order_item *item = order_item_at(node);

		if (!item->answered)
			return false;
		if (item->durable && (item->attribute.flags & ORDER_ENTRY_FLUSH) != 0)
			break;
		set_durable(item);
	}
	return true;
}

bool
order_sequencer_answered(struct order_sequencer *sequencer, struct order_item *item, uint32_t left)
{
	struct order_way *way = &sequencer->ways[item->member->server];
	bool right = true;

	way->sent_most = left > way->guaranteed / 2 ? left : way->guaranteed / 2;
	set_answered(item);
	if ((item->attribute.flags & ORDER_ENTRY_FLUSH) != 0)
		right = cover(way, item);
	move_on(sequencer);
	return right;
}

/* ---- what goes again ---- */

void
order_sequencer_down(struct order_sequencer *sequencer, unsigned server)
{
	sequencer->ways[server].down = true;
}

static void
set_unsent(struct order_item *item)
{
	for (struct order_item *one = item; one != NULL; one = one->more)
		one->answered = one->durable = false;
}

/* Pieces of a group, as its entries count them. */
static uint32_t
count_pieces(const struct order_way *way, uint32_t group)
{
	uint32_t pieces = 0;

	for (struct list *node = way->items.next; node != &way->items; node = node->next) {
		const struct order_item *item = order_item_at(node);

		pieces += item->attribute.last == group ? item->attribute.count : 0;
	}
	return pieces;
}

static uint32_t
cut_for(const struct order_sequencer *sequencer, const struct order_way *way, const struct order_there *there)
{
	bool begun = sequencer->in_group > 0 && there->group == sequencer->group;
	uint32_t cut = begun || count_pieces(way, there->group) > there->pieces ? there->before : there->group;

	/* What was to go again is not what the server has, though that may look like it. */
	return way->going_back && order_above(cut, way->cut) ? way->cut : cut;
}

bool
order_sequencer_cut(struct order_sequencer *sequencer, unsigned server, const struct order_there *there,
    uint32_t *cut)
{
	struct order_way *way = &sequencer->ways[server];
	struct list *node = way->items.next;

	*cut = cut_for(sequencer, way, there);
	if (order_above(way->durable, *cut))
		return false;
	/* Of what is durable since then it has had nothing; and its floor may be that. */
	if (order_above(sequencer->durable, *cut))
		*cut = sequencer->durable;
	for (; node != &way->items && !order_above(order_item_at(node)->attribute.last, *cut); node = node->next)
		set_durable(order_item_at(node));
	way->next = node;
	way->going_back = true;
	way->cut = *cut;
	/* From now on: it is taken back there, whatever was answered. */
	for (; node != &way->items; node = node->next)
		set_unsent(order_item_at(node));
	sequencer->answered_to = sequencer->durable_to = sequencer->held.next;
	move_on(sequencer);
	return true;
}

/* Those of the first group that goes are behind another one now. */
static void
put_behind(struct order_way *way, uint32_t last)
{
	uint32_t first = order_item_at(way->next)->attribute.first;

	for (struct list *node = way->next; node != &way->items; node = node->next)
		if (order_item_at(node)->attribute.first == first)
			order_item_at(node)->attribute.prev = last;
	if (way->last == first)
		way->prev = last;
}

void
order_sequencer_up(struct order_sequencer *sequencer, unsigned server, uint32_t last, uint32_t guaranteed)
{
	struct order_way *way = &sequencer->ways[server];

	if (way->next != &way->items)
		put_behind(way, last);
	else
		way->last = last;
	way->sent = 0;
	way->guaranteed = guaranteed;
	way->sent_most = guaranteed / 2;
	way->told = ORDER_NO_GROUP;
	way->down = way->going_back = false;
}
