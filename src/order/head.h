/*
 * head.h - how the log of ordered writes lies where it lives: its head, its owners, and where its parts are
 * (doc/formats/ordered-log.md, Layout).
 *
 * Bytes are the caller's; nothing is kept.
 */
#ifndef WEIR_ORDER_HEAD_H
#define WEIR_ORDER_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nqn.h"
#include "base/uuid.h"

enum {
	ORDER_HEAD_BYTES = 4096,
	ORDER_OWNER_BYTES = 512,
	ORDER_OWNERS = 1024,
	ORDER_PARTS_MAX = 256,
	ORDER_SLOTS_MAX = 1 << 24,      /* of a part */
	ORDER_OWNER_NONE = UINT32_MAX,
};

struct order_head {
	uint8_t uuid[UUID_BYTES]; /* of the log */
	uint32_t parts, slots;    /* slots of a part */
	uint64_t boot;            /* the start of the machine with which it is gone; 0: it survives that */
};

/* A host at a subsystem. */
struct order_owner {
	uint8_t host_id[16];
	char nqn[NQN_MAX + 1], subsystem[NQN_MAX + 1];
};

/* Bytes of a log in all, and where the slots of a part begin; the owners are behind the head. */
uint64_t order_log_bytes(const struct order_head *head);
uint64_t order_part_at(const struct order_head *head, uint32_t part);

/* What the sums of its entries begin with, by its UUID: what another log has left in the same place is no entry. */
uint32_t order_head_seed(const struct order_head *head);

/* NULL, or why there can be no such log, in plain words. */
const char *order_head_wrong(const struct order_head *head);

void order_head_write(const struct order_head *head, uint8_t bytes[ORDER_HEAD_BYTES]);

/* NULL, or why this is no log that can be used.  All zeros are none: `*none` says so. */
const char *order_head_read(const uint8_t bytes[ORDER_HEAD_BYTES], struct order_head *head, bool *none);

/* Both NQNs are usable, see nqn_usable(). */
void order_owner_write(const struct order_owner *owner, uint8_t bytes[ORDER_OWNER_BYTES]);

/* False: there is none, or one that was torn, and that no entry names then. */
bool order_owner_read(const uint8_t bytes[ORDER_OWNER_BYTES], struct order_owner *owner);

/*
 * Where one stands among all owners, or ORDER_OWNER_NONE.  `*room`: where it can be put then, or ORDER_OWNER_NONE.
 * `named`, by owners: whether an entry names that place, so that nobody else may have it.
 */
uint32_t order_owner_find(const uint8_t (*owners)[ORDER_OWNER_BYTES], const bool *named,
    const struct order_owner *owner, uint32_t *room);

#endif
