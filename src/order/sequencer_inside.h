/* sequencer_inside.h - what sequencer.c and way.c share. */
#ifndef WEIR_ORDER_SEQUENCER_INSIDE_H
#define WEIR_ORDER_SEQUENCER_INSIDE_H

#include "order/sequencer.h"

static inline struct order_item *
order_item_at(struct list *node)
{
	return container_of(node, struct order_item, at_server);
}

static inline struct order_item *
order_item_held(struct list *node)
{
	return container_of(node, struct order_item, held);
}

#endif
