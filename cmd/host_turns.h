/*
 * host_turns.h - what waits, host by host: who has much there waits behind his own.
 *
 * Pure.  A host has one thing done in its turn, and its next turn after all others that are there.  What waits is the
 * giver's.
 */
#ifndef WEIR_CMD_HOST_TURNS_H
#define WEIR_CMD_HOST_TURNS_H

#include <stdint.h>

#include "base/list.h"

struct host_turns {
	struct list hosts; /* those of whom anything waits, in the order of their turns */
};

void host_turns_init(struct host_turns *turns);

bool host_turns_empty(const struct host_turns *turns);

/* One more of this host, behind its others; takes as long as there are hosts.  0, or -ENOMEM. */
int host_turns_push(struct host_turns *turns, const uint8_t hostid[16], struct fifo_node *node)
    __attribute__((warn_unused_result));

/* Whose turn it is; NULL: nothing waits. */
struct fifo_node *host_turns_pop(struct host_turns *turns);

/* Moves those that are over out of all lines, to `over`; the others stay in their order. */
void host_turns_take(struct host_turns *turns, bool (*is_over)(void *arg, const struct fifo_node *node), void *arg,
    struct fifo *over);

/* What waits is forgotten. */
void host_turns_end(struct host_turns *turns);

#endif
