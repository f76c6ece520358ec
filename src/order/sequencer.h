/*
 * sequencer.h - a stream at its host: which attribute has each piece, when is a group complete, when durable, and what
 * is sent again?  (doc/ordered-writes.md, At the host)
 *
 * Pieces stand in a line for each server until they are sent, and meanwhile are merged; nothing waits for anything that
 * was sent before.  The caller's buffers are read until their group is durable: what a server has lost is sent again.
 *
 * One thread.  Memory is the caller's, and what there is no room for is refused.
 */
#ifndef WEIR_ORDER_SEQUENCER_H
#define WEIR_ORDER_SEQUENCER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "order/gate.h"
#include "order/layout.h"

/* With a write. */
enum {
	ORDER_END = 1 << 0,      /* it is the last one of its group */
	ORDER_DURABLE = 1 << 1,  /* and the group is to be durable; only with ORDER_END */
	ORDER_IN_PLACE = 1 << 2, /* what it writes over is not free: it is not taken back */
};

/* Of a write what goes to one member; or a flush alone. */
struct order_item {
	struct list held;        /* until its group is durable, in the order in which all were submitted */
	struct list at_server;   /* of one that is sent by itself, in the line of its server */
	struct order_item *more; /* of what is sent together the next one */
	const struct order_member *member;
	uint64_t lba;
	uint32_t blocks;         /* its own */
	const char *data;
	uint32_t group;

	/* Of one that is sent by itself, with all that was merged into it. */
	struct order_attribute attribute;
	struct order_item *end;  /* the last one of that */
	uint32_t blocks_in_all, in_it;

	bool ends;               /* its group */
	bool answered, durable;
};

/* A stream's way to a server. */
struct order_way {
	struct list items;       /* in the order in which they go, until their groups are durable */
	struct list *next;       /* the first of them that was not sent, or the list's head */
	uint32_t last, prev;     /* the group of the last item, and that before it; here */
	uint32_t sent;           /* since what was sent with a flush mark */
	uint32_t sent_most;      /* of these, before one is sent with a flush mark */
	uint32_t guaranteed;     /* entries that the server's log has for the stream, however full it is */
	uint32_t told;           /* floor */
	uint32_t durable;        /* the last group that is durable, of which something went here */
	bool cached;             /* a member does not keep what it has answered */
	bool dirty;              /* something went here that no flush mark is behind */
	bool down;               /* nothing is sent */
	bool going_back;         /* what is after this goes again, and may be other pieces since: */
	uint32_t cut;
};

struct order_sequencer {
	const struct order_layout *layout;
	struct order_way ways[ORDER_SERVERS_MAX];
	struct list held, free;  /* items */
	uint32_t item_count, free_count;
	struct list *answered_to, *durable_to; /* the first one of `held` that is not, or its head */
	uint32_t group;          /* that the next write is of */
	uint32_t in_group;       /* pieces of it */
	uint32_t ended;          /* the group before it */
	uint32_t unflushed;      /* items since all ways had flush marks */
	uint32_t complete, durable; /* groups: all up to it are */
	bool keeps;              /* all members do */
	bool flush_at_end;
};

enum { ORDER_TOGETHER_MAX = 32 }; /* items that are sent together */

enum order_submitted {
	ORDER_TAKEN,
	ORDER_FULL,      /* not now: some group has to become durable first */
	ORDER_TOO_LARGE, /* never: its group would be larger than there is room for */
};

/*
 * Goes on behind `group`, the last one that is there; ORDER_NO_GROUP: none.  Each server is down; order_sequencer_up()
 * is told of it before anything goes there.  Items: eight for each server at least; a group has less than half of them.
 */
void order_sequencer_init(struct order_sequencer *sequencer, const struct order_layout *layout,
    struct order_item *items, uint32_t count, uint32_t group);

/* A write of blocks that the volume has; `group` is which one it is of.  The data stays where it is until that is
 * durable. */
enum order_submitted order_sequencer_submit(struct order_sequencer *sequencer, uint64_t lba, uint32_t blocks,
    const void *data, unsigned flags, uint32_t *group);

/*
 * The group that has begun, if one has, ends with what was submitted; of `flags` only ORDER_DURABLE says anything.
 * There always is room for that.
 */
void order_sequencer_end(struct order_sequencer *sequencer, unsigned flags);

/*
 * All that was submitted is to be durable; if a group has begun, when it ends.  `group`: the one that is durable then.
 * False: not now, as of order_sequencer_submit().
 */
bool order_sequencer_flush(struct order_sequencer *sequencer, uint32_t *group);

/* What is sent to that server next, or NULL; it has its attribute.  To be called when all was submitted that there is,
 * or less is merged. */
struct order_item *order_sequencer_next(struct order_sequencer *sequencer, unsigned server);

/* It was answered with success, and with how many more entries the stream may have there now.  False: by a server
 * that does not keep to the rules. */
bool order_sequencer_answered(struct order_sequencer *sequencer, struct order_item *item, uint32_t left);

/* Whether a floor is to be told to that server by itself: to be asked when nothing can go there that tells it. */
bool order_sequencer_floor(struct order_sequencer *sequencer, unsigned server, uint32_t *floor);

/* Nothing goes to that server any more, and nothing more is answered by it: its stream has stopped, or it is gone. */
void order_sequencer_down(struct order_sequencer *sequencer, unsigned server);

/*
 * Of a server that is down, and has said what is there: where the stream is to be cut, behind the last group of which
 * it has all that it was sent, and nothing more is to come.  What came after that is sent again.  False: it has lost
 * what was durable, and nothing has changed.
 */
bool order_sequencer_cut(struct order_sequencer *sequencer, unsigned server, const struct order_there *there,
    uint32_t *cut);

/* It was cut, and goes on behind `last`. */
void order_sequencer_up(struct order_sequencer *sequencer, unsigned server, uint32_t last, uint32_t guaranteed);

#endif
