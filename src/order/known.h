/*
 * known.h - what the log of a server knows of each stream (doc/ordered-writes.md, What the log knows).
 *
 * Out of all entries that there are, of all its parts: which of them count, which of these are valid, and which stream
 * has lost some.  It needs no memory but the caller's.
 */
#ifndef WEIR_ORDER_KNOWN_H
#define WEIR_ORDER_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "order/entry.h"
#include "order/prefix.h"
#include "order/scan.h"

enum order_role {
	ORDER_GONE,   /* nothing is to be known of it any more: below the floor, cut off, or no write */
	ORDER_COUNTS,
	ORDER_LEFT,   /* cut off, but what it wrote in place is not taken back */
	ORDER_BACK,   /* cut off, and to be taken back yet */
};

/* An entry, and where it is. */
struct order_known {
	struct order_entry entry;
	bool persists;
	bool valid;        /* and what follows is known once order_stream_read() has looked: it is on the medium */
	uint8_t role;      /* enum order_role */
	uint32_t part;
	uint64_t place;
};

/* What is known of a stream. */
struct order_stream {
	uint32_t owner;
	uint16_t stream, term; /* the last one */
	struct order_list list;
	uint32_t left;         /* entries that are ORDER_LEFT */
	const char *lost;      /* NULL, or why there must have been others: then the stream is not to be gone on with */
};

/* All entries that a part of that number has; there is room for `part->count`.  Answers how many. */
uint32_t order_known_read(const struct order_part *part, const struct order_scan *scan, uint32_t number,
    struct order_known *known);

/* By streams, and of each in the order in which they came: by terms, groups, and pieces of these. */
void order_known_sort(struct order_known *known, uint32_t count);

/* How many from the first one on are of its stream; they are sorted. */
uint32_t order_known_same(const struct order_known *known, uint32_t count);

/* Whether the device of a namespace keeps what it has answered, even where it loses power. */
typedef bool order_keeps(void *arg, uint32_t nsid);

/*
 * One stream, of which these are the entries: their roles, and what is known of it.  `room` is for as many as `count`;
 * the list of `stream` lies there.
 */
void order_stream_read(struct order_known *known, uint32_t count, order_keeps *keeps, void *arg,
    struct order_listed *room, struct order_stream *stream);

/* Whether anything of a stream is behind that place of a part: then what it lost there is missed by what is. */
bool order_known_behind(const struct order_known *known, uint32_t count, uint32_t part, uint64_t place);

/* When its stream is cut there its blocks are deallocated. */
bool order_is_taken_back(const struct order_known *known, uint32_t cut);

/* The last group of which something is listed, and that is not after the cut: that before the next one that comes here.
 * ORDER_NO_GROUP: there is none. */
uint32_t order_list_last(const struct order_list *list, uint32_t cut);

/* The greatest group of all writes of a stream, or ORDER_NO_GROUP. */
uint32_t order_known_greatest(const struct order_known *known, uint32_t count);

#endif
