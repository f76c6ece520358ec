/*
 * listing.h - what a server says that its log has of a stream, page by page (doc/extension.md, LIST).
 *
 * What is asked for next, and what has come so far; the caller sends and receives.  Memory is the caller's, and what
 * there is no room for is said.
 */
#ifndef WEIR_ORDER_LISTING_H
#define WEIR_ORDER_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include "order/prefix.h"
#include "wire/extension.h"
#include "wire/nvme.h"

enum {
	ORDER_LISTING_ENTRIES = 100, /* of a page */
	ORDER_LISTING_BYTES = sizeof(struct weir_list_head) + ORDER_LISTING_ENTRIES * sizeof(struct weir_list_entry),
};

struct order_listing {
	struct weir_list_head head;
	bool begun;                        /* a page has come */
	uint32_t count, heard;             /* entries that there are, and that have come */
	uint32_t room;                     /* for so many of each of these: */
	struct order_listed *entries;      /* that count, as they came, */
	uint32_t entry_count;
	struct weir_list_entry *in_place;  /* and of what was written in place, whether they count or not */
	uint32_t in_place_count;
};

/* From the beginning. */
void order_listing_begin(struct order_listing *listing);

/* The command that asks for the next page, whose data has ORDER_LISTING_BYTES; `take`: from then on the stream is that
 * holder's, whoever had it. */
void order_listing_ask(const struct order_listing *listing, uint16_t stream, uint32_t holder, bool take,
    struct nvme_sqe *sqe);

/* The command that asks for the head alone, and does not stop the stream. */
void order_listing_ask_head(uint16_t stream, struct nvme_sqe *sqe);

/* The page that was asked for.  NULL, or why it cannot be gone on with, in plain words. */
const char *order_listing_take(struct order_listing *listing, uint16_t stream, const uint8_t *page);

/* All of it has come. */
static inline bool
order_listing_is_whole(const struct order_listing *listing)
{
	return listing->begun && listing->heard == listing->count;
}

/* Of one that is whole: what counts. */
struct order_list order_listing_list(const struct order_listing *listing);

#endif
