/* log_inside.h - what log.c and log_load.c share: what the slots of a part are. */
#ifndef WEIR_ORDER_LOG_INSIDE_H
#define WEIR_ORDER_LOG_INSIDE_H

#include "order/log.h"

enum order_slot_is {
	ORDER_SLOT_FREE,   /* nobody needs what is in it */
	ORDER_SLOT_FLIGHT, /* a write that has not ended */
	ORDER_SLOT_WRITE,  /* one that has, and is needed */
	ORDER_SLOT_NEWEST, /* one that is not; but it is the newest of its stream, with its floor */
	ORDER_SLOT_MARK,
};

#define ORDER_NO_SLOT UINT32_MAX

uint32_t order_slot_of(const struct order_log *log, uint64_t place);

/* It stands for its stream's floor, and is not needed otherwise. */
void order_keep_newest(struct order_log *log, struct order_track *track, uint32_t slot);
bool order_keeps_newest(const struct order_log *log, const struct order_track *track);

/* Slots that are kept for writes of that stream. */
uint32_t order_unspent(const struct order_log *log, const struct order_track *track);

/* It is needed, as the latest one of its chain. */
void order_need(struct order_log *log, struct order_track *track, uint32_t slot, enum order_slot_is is);
void order_need_mark(struct order_log *log, struct order_track *track, uint32_t slot);

#endif
