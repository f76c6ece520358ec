/*
 * ordered.h - a stream of ordered writes over the lanes of its servers: connections for its links, admin commands and
 * writes as it wants them, and its waits. (doc/ordered-writes.md, At the host)
 *
 * What is sent when is order/session.h's; which path there is bound.h's.  It lives on the reactor that its lanes are
 * on.  Nothing is allocated after ordered_open().
 */
#ifndef WEIR_HOST_ORDERED_H
#define WEIR_HOST_ORDERED_H

#include "host/bound.h"
#include "order/session.h"

struct ordered;

struct ordered_server {
	struct lane *lane;         /* with I/O of nobody's that may not wait for this */
	struct bound_terms terms;  /* its members; they stay where they are */
};

struct ordered_options {
	uint16_t stream;
	bool force;                /* as of struct order_session */
	uint8_t priority;          /* 0 to 3 */
	uint32_t depth;            /* commands to each server at a time */
	const struct ordered_server *servers; /* copied */
	unsigned count;
	/* From a turn, after whatever may be news of the session: that it is ready, has moved on, or has failed.  It
	 * may submit; it is not called any more after ordered_stop(). */
	void (*news)(struct ordered *ordered);
	void *owner;
};

enum { ORDERED_LISTED_MAX = 64 * 1024 }; /* entries of the stream in the log of one server */

/* Begins to look for paths, and to recover the stream.  0, or -ENOMEM. */
int ordered_open(struct reactor *reactor, const struct ordered_options *options, struct ordered **ordered)
    __attribute__((warn_unused_result));

void *ordered_owner(const struct ordered *ordered);

/* Its session is ready: as order_session_go().  The layout and the items stay where they are. */
void ordered_go(struct ordered *ordered, const struct order_layout *layout, struct order_item *items, uint32_t count);

/* To be looked at by who asks; and submitted to, or ended, where it has begun; after that ordered_soon(). */
struct order_session *ordered_session(struct ordered *ordered);

/* Commands that were sent so far. */
uint64_t ordered_sent(const struct ordered *ordered);

/* In the next turn what can go is sent. */
void ordered_soon(struct ordered *ordered);

/* Nothing more is sent or asked.  False: an admin command is under way, which is to be waited for: then its lanes may
 * be closed, and after that it. */
bool ordered_stop(struct ordered *ordered);
void ordered_close(struct ordered *ordered);

#endif
