/*
 * ordered.h - an ordered volume: queues of its targets on one seat, and the stream that goes by them (weir/ordered.h).
 */
#ifndef WEIR_LIB_ORDERED_H
#define WEIR_LIB_ORDERED_H

#include <weir/ordered.h>

#include "host/ordered.h"
#include "lib/queue.h"

/* A group as its servers count, and as its user does: who knows nothing of those that flush alone. */
struct ordered_number {
	uint32_t group;
	uint64_t number;
	uint64_t flushes;          /* so many of all that there were are not after it */
};

struct ordered_target {
	struct weir_subsys *ws;
	struct weir_queue *queue;
	uint32_t nsids[WEIR_MEMBERS_MAX];
	unsigned nsid_count;
	uint32_t bytes;            /* of one command */
};

struct weir_ordered {
	struct weir_ordered_options options;
	struct ordered_target *targets;
	unsigned target_count;
	struct order_member members[WEIR_MEMBERS_MAX];
	struct order_layout layout;
	unsigned block_shift;      /* of the length of its blocks */
	struct order_item *items;
	struct ordered *ordered;   /* NULL: it is not there yet */
	struct ordered_number ended, complete, durable;
	uint32_t *flushes;         /* groups that flush alone, of those that are not durable: a ring of `pieces` */
	uint64_t flush_count;      /* of all */
	uint64_t news;             /* so often something was complete or durable */
	bool finishing;            /* nothing more is written */
};

static inline struct queue_seat *
ordered_seat(const struct weir_ordered *o)
{
	return o->targets[0].queue->seat;
}

/* 0, or why it has failed, which lib_fail() knows. */
int ordered_failed(const struct weir_ordered *o);

/* When nothing is kept any more, all targets are to forget the stream: until they have.  As weir_ordered_finish(). */
int ordered_forget(struct weir_ordered *o, uint64_t end_ns);

/* What has come since: callbacks.  As of struct ordered_options. */
void ordered_news(struct ordered *ordered);

#endif
