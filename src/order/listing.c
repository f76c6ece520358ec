#include "order/listing.h"

#include <string.h>

#include "order/entry.h"
#include "order/group.h"
#include "order/travel.h"

void
order_listing_begin(struct order_listing *listing)
{
	listing->begun = false;
	listing->count = listing->heard = listing->entry_count = listing->in_place_count = 0;
}

static void
put(uint16_t stream, uint32_t flags, uint32_t from, uint32_t bytes, uint32_t holder, struct nvme_sqe *sqe)
{
	*sqe = (struct nvme_sqe){
		.opcode = WEIR_ADMIN_LIST, .cdw10 = le32_of(stream | flags), .cdw11 = le32_of(from),
		.cdw12 = le32_of(bytes / 4 - 1), .cdw13 = le32_of(holder),
	};
}

void
order_listing_ask(const struct order_listing *listing, uint16_t stream, uint32_t holder, bool take,
    struct nvme_sqe *sqe)
{
	put(stream, WEIR_LIST_STOP | (take ? WEIR_LIST_TAKE : 0), listing->heard, ORDER_LISTING_BYTES, holder, sqe);
}

void
order_listing_ask_head(uint16_t stream, struct nvme_sqe *sqe)
{
	put(stream, 0, 0, sizeof(struct weir_list_head), 0, sqe);
}

/* It is the same list as that of the pages before: a stream that has stopped changes only when somebody cuts it. */
static const char *
take_head(struct order_listing *listing, uint16_t stream, const uint8_t *page)
{
	struct weir_list_head head;

	memcpy(&head, page, sizeof(head));
	if (le16_get(head.stream) != stream)
		return "it lists another stream than was asked for";
	if ((le32_get(head.flags) & (WEIR_LIST_STOPPED | WEIR_LIST_NEW)) == 0)
		return "the stream was to stop, and has not";
	if (listing->begun && memcmp(&listing->head, &head, sizeof(head)) != 0)
		return "its list is another one while it is being read";
	listing->head = head;
	listing->begun = true;
	listing->count = le32_get(head.count);
	return listing->count > listing->room ? "it lists more than this host has room for" : NULL;
}

static void
take_entry(struct order_listing *listing, const struct weir_list_entry *entry)
{
	bool counts = order_get_listed(entry, &listing->entries[listing->entry_count]);
	bool known = (entry->is & (WEIR_LIST_COUNTS | WEIR_LIST_BACK | WEIR_LIST_LEFT)) != 0;

	listing->entry_count += counts;
	if (known && (le16_get(entry->flags) & ORDER_ENTRY_IN_PLACE) != 0)
		listing->in_place[listing->in_place_count++] = *entry;
	listing->heard++;
}

/* Of one of which entries are lost: the others are in their order all the same. */
static const char *
lost_list_wrong(const struct order_list *list)
{
	for (uint32_t i = 1; i < list->count; i++)
		if (order_after(list->entries[i - 1].first, list->entries[i].first))
			return "groups go back";
	return NULL;
}

const char *
order_listing_take(struct order_listing *listing, uint16_t stream, const uint8_t *page)
{
	const char *wrong = take_head(listing, stream, page);
	struct order_list list;

	if (wrong != NULL)
		return wrong;
	for (unsigned i = 0; i < ORDER_LISTING_ENTRIES && listing->heard < listing->count; i++) {
		struct weir_list_entry entry;

		memcpy(&entry, page + sizeof(listing->head) + i * sizeof(entry), sizeof(entry));
		take_entry(listing, &entry);
	}
	list = order_listing_list(listing);
	if (!order_listing_is_whole(listing))
		return NULL;
	return (le32_get(listing->head.flags) & WEIR_LIST_LOST) != 0 ? lost_list_wrong(&list) : order_list_wrong(&list);
}

struct order_list
order_listing_list(const struct order_listing *listing)
{
	return (struct order_list){
		.floor = le32_get(listing->head.floor), .count = listing->entry_count, .entries = listing->entries,
	};
}
