/*
 * prefix.h - up to which group of a stream is all there? (doc/ordered-writes.md, Recovery)
 *
 * Of one stream, of which each server has said what its log knows.  Nothing is changed, and nothing kept.
 */
#ifndef WEIR_ORDER_PREFIX_H
#define WEIR_ORDER_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

enum { ORDER_SERVERS_MAX = 64 }; /* of one stream */

/* An entry that counts, of a server's log. */
struct order_listed {
	uint32_t first, last; /* groups */
	uint32_t prev;
	uint16_t num, count;  /* as in struct order_entry */
	bool valid;           /* it is known to be on the medium */
};

/* What one server knows, in the order in which it was appended: so by groups. */
struct order_list {
	uint32_t floor;       /* all groups up to it are durable on every server; ORDER_NO_GROUP: it knows of none */
	uint32_t count;
	const struct order_listed *entries; /* of groups after the floor */
};

/* NULL, or why it cannot be what a gate has let through, in plain words: groups go back, or one that is named is not
 * there. */
const char *order_list_wrong(const struct order_list *list);

/* Up to where one server has all, as far as it can know. */
struct order_there {
	uint32_t group;       /* of this, and of all before, every entry is valid */
	uint32_t pieces;      /* of this; more of it may have been sent, which only its host knows */
	uint32_t before;      /* the one that is so before it; of that nothing more was sent */
};

/*
 * Where it was the server that went, and the host is there, which sends again what comes after.  Where nothing is
 * listed it is the floor.  The list is right.
 */
struct order_there order_server_prefix(const struct order_list *list);

/*
 * The last group up to which all servers together have all, or ORDER_NO_GROUP: where the host is gone.  Each list is
 * right, and there are 1 to ORDER_SERVERS_MAX.  It takes as many steps as there are entries.
 */
uint32_t order_prefix(const struct order_list *lists, unsigned count);

#endif
