#include "order/gate.h"

#include <stddef.h>

#include "order/entry.h"
#include "order/group.h"

void
order_gate_init(struct order_gate *gate, uint32_t last, uint32_t floor)
{
	*gate = (struct order_gate){ .last = last, .floor = floor, .ended = true };
	list_init(&gate->pieces_held);
}

/* As an entry it has to be right, and one that writes. */
static const char *
wrong_alone(const struct order_attribute *attribute)
{
	if ((attribute->flags & ~ORDER_ENTRY_OF_WRITES) != 0)
		return "no write has such flags";
	return order_groups_wrong(attribute->first, attribute->last, attribute->prev, attribute->num,
	    attribute->count, attribute->flags);
}

static bool
is_more_of_last(const struct order_gate *gate, const struct order_attribute *attribute)
{
	return !gate->ended && attribute->first == gate->last && attribute->last == gate->last;
}

/* Of a floor only a later one is told, and never one that the group itself is not after. */
static const char *
wrong_floor(const struct order_gate *gate, const struct order_attribute *attribute)
{
	uint32_t floor = attribute->floor;

	if (order_above(gate->floor, floor))
		return "its floor is before the one told before";
	if (!order_above(attribute->first, floor))
		return "it is not after its floor";
	return NULL;
}

static const char *
wrong_here(const struct order_gate *gate, const struct order_attribute *attribute, bool more)
{
	uint32_t pieces = attribute->count + (more ? gate->pieces : 0);

	/* Its own groups are after that: they cannot have come yet. */
	if (attribute->prev != (more ? gate->prev : gate->last))
		return "what is to be before it is not what came";
	if (attribute->first == attribute->last &&
	    pieces > ((attribute->flags & ORDER_ENTRY_LAST) != 0 ? attribute->num : UINT16_MAX))
		return "more pieces of its group have come than there are";
	return wrong_floor(gate, attribute);
}

const char *
order_gate_admit(struct order_gate *gate, const struct order_attribute *attribute, struct order_piece *piece)
{
	bool more = is_more_of_last(gate, attribute);
	const char *wrong = wrong_alone(attribute);

	if (wrong == NULL)
		wrong = wrong_here(gate, attribute, more);
	if (wrong != NULL)
		return wrong;
	piece->index = 0;
	if (more) {
		piece->index = (uint16_t)gate->pieces;
		gate->pieces += attribute->count;
	} else {
		gate->prev = gate->last;
		gate->last = attribute->last;
		gate->pieces = attribute->count;
	}
	gate->ended = (attribute->flags & (ORDER_ENTRY_LAST | ORDER_ENTRY_FLUSH)) != 0;
	gate->floor = attribute->floor;
	list_push(&gate->pieces_held, &piece->node);
	return NULL;
}

bool
order_gate_open(const struct order_gate *gate)
{
	return !list_empty(&gate->pieces_held) &&
	    container_of(gate->pieces_held.next, struct order_piece, node)->ready;
}

struct order_piece *
order_gate_next(struct order_gate *gate)
{
	return order_gate_open(gate) ? order_gate_clear(gate) : NULL;
}

struct order_piece *
order_gate_clear(struct order_gate *gate)
{
	struct list *node = list_pop(&gate->pieces_held);

	return node != NULL ? container_of(node, struct order_piece, node) : NULL;
}
