/*
 * layout.h - an ordered volume: where its blocks are, in stripes over members, which are namespaces of servers.
 *
 * All members have blocks of one length, and as many of them are used of each.
 */
#ifndef WEIR_ORDER_LAYOUT_H
#define WEIR_ORDER_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "order/prefix.h"

struct order_member {
	unsigned server;  /* below ORDER_SERVERS_MAX */
	uint32_t nsid;
	uint32_t most;    /* blocks of one command */
	bool keeps;       /* it keeps what it has answered, even where it loses power */
};

struct order_layout {
	const struct order_member *members;
	unsigned count, servers;
	uint32_t block_length; /* bytes */
	uint32_t stripe;  /* blocks that lie on one member behind one another; with one member it says nothing */
	uint64_t blocks;  /* of each member that are used; a multiple of the stripe */
};

/* Of a run of blocks as much as goes to one member in one command. */
struct order_extent {
	const struct order_member *member;
	uint64_t lba;     /* on it */
	uint32_t blocks;
};

/* Its first one.  The run is in the volume, and not empty. */
struct order_extent order_layout_first(const struct order_layout *layout, uint64_t lba, uint32_t blocks);

/* How many there are of it. */
uint32_t order_layout_count(const struct order_layout *layout, uint64_t lba, uint32_t blocks);

/* Whether the volume has all of a run, which is not empty. */
bool order_layout_has(const struct order_layout *layout, uint64_t lba, uint32_t blocks);

#endif
