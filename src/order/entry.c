#include "order/entry.h"

#include <assert.h>
#include <stddef.h>

#include "base/crc32c.h"

static const char *
mark_wrong(const struct order_entry *entry)
{
	if ((entry->flags & ~(ORDER_ENTRY_MARK | ORDER_ENTRY_TAKING | ORDER_ENTRY_ANEW)) != 0 ||
	    entry->first != entry->last || entry->blocks != 0 || entry->count != 0 || entry->num != 0 ||
	    entry->piece != 0)
		return "a mark is no write";
	return NULL;
}

const char *
order_entry_wrong(const struct order_entry *entry)
{
	if ((entry->flags & ~ORDER_ENTRY_FLAGS) != 0)
		return "there are no such flags";
	if (entry->lap == 0 || entry->lap >> 48 != 0)
		return "laps begin with 1 and have 48 bits";
	if ((entry->flags & ORDER_ENTRY_MARK) != 0)
		return mark_wrong(entry);
	if (entry->blocks == 0 && (entry->flags & ORDER_ENTRY_FLUSH) == 0)
		return "only a flush has no blocks";
	return order_groups_wrong(entry->first, entry->last, entry->prev, entry->num, entry->count, entry->flags);
}

uint32_t
order_entry_nsid(uint32_t nsid, const uint8_t uuid[16], uint32_t block_size)
{
	const le32 size = le32_of(block_size);
	uint32_t crc = crc32c(0, uuid, 16);

	assert(nsid < 1 << 16);
	return nsid | crc32c(crc, &size, sizeof(size)) << 16;
}

static le32
crc_of(const struct order_image *image, uint32_t seed)
{
	return le32_of(crc32c(seed, image, offsetof(struct order_image, crc)));
}

void
order_entry_write(const struct order_entry *entry, uint32_t seed, struct order_image *image)
{
	*image = (struct order_image){
		.first = le32_of(entry->first), .last = le32_of(entry->last), .prev = le32_of(entry->prev),
		.num = le16_of(entry->num), .stream = le16_of(entry->stream), .lba = le64_of(entry->lba),
		.blocks = le32_of(entry->blocks), .nsid = le32_of(entry->nsid), .owner = le32_of(entry->owner),
		.flags = le16_of(entry->flags), .term = le16_of(entry->term),
		.lap = le32_of((uint32_t)entry->lap), .lap_high = le16_of((uint16_t)(entry->lap >> 32)),
		.piece = le16_of(entry->piece),
		.floor = le32_of(entry->floor), .count = le16_of(entry->count), .batch = le16_of(entry->batch),
		/* what no lap but another one 2^31 later has */
		.persist = le32_of(~(uint32_t)entry->lap),
	};
	image->crc = crc_of(image, seed);
}

le32
order_entry_persist(const struct order_entry *entry)
{
	return le32_of((uint32_t)entry->lap);
}

bool
order_entry_read(const struct order_image *image, uint32_t seed, struct order_entry *entry, bool *persists)
{
	if (le32_get(crc_of(image, seed)) != le32_get(image->crc))
		return false;
	*entry = (struct order_entry){
		.first = le32_get(image->first), .last = le32_get(image->last), .prev = le32_get(image->prev),
		.num = le16_get(image->num), .stream = le16_get(image->stream), .lba = le64_get(image->lba),
		.blocks = le32_get(image->blocks), .nsid = le32_get(image->nsid), .owner = le32_get(image->owner),
		.flags = le16_get(image->flags), .term = le16_get(image->term),
		.lap = (uint64_t)le16_get(image->lap_high) << 32 | le32_get(image->lap),
		.piece = le16_get(image->piece),
		.floor = le32_get(image->floor), .count = le16_get(image->count), .batch = le16_get(image->batch),
	};
	*persists = le32_get(image->persist) == (uint32_t)entry->lap;
	return order_entry_wrong(entry) == NULL;
}
