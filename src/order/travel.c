#include "order/travel.h"

/* Flags of an attribute travel in CDW12 as they lie side by side there. */
enum {
	SHIFT = 15,
	TRAVEL = ORDER_ENTRY_SPLIT | ORDER_ENTRY_IN_PLACE | ORDER_ENTRY_FLUSH | ORDER_ENTRY_MERGED,
};
static_assert(TRAVEL << SHIFT == WEIR_ORDERED_FLAGS && ORDER_ENTRY_SPLIT << SHIFT == WEIR_ORDERED_SPLIT &&
    ORDER_ENTRY_IN_PLACE << SHIFT == WEIR_ORDERED_IN_PLACE && ORDER_ENTRY_FLUSH << SHIFT == WEIR_ORDERED_FLUSH &&
    ORDER_ENTRY_MERGED << SHIFT == WEIR_ORDERED_MERGED, "in that order");

void
order_put(const struct order_attribute *attribute, uint16_t stream, struct nvme_sqe *sqe)
{
	bool last = (attribute->flags & ORDER_ENTRY_LAST) != 0;
	uint32_t cdw12 = le32_get(sqe->cdw12) & ~(uint32_t)WEIR_ORDERED_FLAGS;

	cdw12 |= (uint32_t)(attribute->flags & TRAVEL) << SHIFT;
	sqe->flags = (uint8_t)((sqe->flags & ~WEIR_ORDERED_MASK) |
	    (last ? WEIR_ORDERED_LAST : WEIR_ORDERED) << WEIR_ORDERED_SHIFT);
	sqe->cdw2 = le32_of(attribute->first);
	sqe->cdw3 = le32_of(attribute->last);
	sqe->mptr = le64_of(attribute->prev | (uint64_t)attribute->num << 32 | (uint64_t)stream << 48);
	sqe->cdw12 = le32_of(cdw12);
	sqe->cdw14 = le32_of(attribute->floor);
	sqe->cdw15 = le32_of(attribute->count);
}

bool
order_get(const struct nvme_sqe *sqe, struct order_attribute *attribute, uint16_t *stream)
{
	unsigned ordered = (sqe->flags & WEIR_ORDERED_MASK) >> WEIR_ORDERED_SHIFT;
	uint32_t cdw12 = le32_get(sqe->cdw12), cdw15 = le32_get(sqe->cdw15);
	uint64_t dw4 = le64_get(sqe->mptr);

	if ((sqe->opcode != NVME_WRITE && sqe->opcode != NVME_FLUSH) ||
	    (ordered != WEIR_ORDERED && ordered != WEIR_ORDERED_LAST) || cdw15 > UINT16_MAX)
		return false;
	*attribute = (struct order_attribute){
		.first = le32_get(sqe->cdw2), .last = le32_get(sqe->cdw3), .prev = (uint32_t)dw4,
		.floor = le32_get(sqe->cdw14), .num = (uint16_t)(dw4 >> 32), .count = (uint16_t)cdw15,
		.flags = (uint16_t)((ordered == WEIR_ORDERED_LAST ? ORDER_ENTRY_LAST : 0) |
		    (cdw12 & WEIR_ORDERED_FLAGS) >> SHIFT),
	};
	*stream = (uint16_t)(dw4 >> 48);
	return true;
}

void
order_put_known(const struct order_known *known, struct weir_list_entry *entry)
{
	static const uint8_t is[] = {
		[ORDER_GONE] = 0, [ORDER_COUNTS] = WEIR_LIST_COUNTS, [ORDER_LEFT] = WEIR_LIST_LEFT,
		[ORDER_BACK] = WEIR_LIST_BACK,
	};
	const struct order_entry *from = &known->entry;

	*entry = (struct weir_list_entry){
		.first = le32_of(from->first), .last = le32_of(from->last), .prev = le32_of(from->prev),
		.num = le16_of(from->num), .count = le16_of(from->count),
		.flags = le16_of((uint16_t)(from->flags & ~ORDER_ENTRY_ANEW)),
		.is = (uint8_t)(is[known->role] | (known->valid ? WEIR_LIST_VALID : 0)),
		.nsid = le32_of(from->nsid), .lba = le64_of(from->lba), .blocks = le32_of(from->blocks),
	};
}

bool
order_get_listed(const struct weir_list_entry *entry, struct order_listed *listed)
{
	*listed = (struct order_listed){
		.first = le32_get(entry->first), .last = le32_get(entry->last), .prev = le32_get(entry->prev),
		.num = le16_get(entry->num), .count = le16_get(entry->count),
		.valid = (entry->is & WEIR_LIST_VALID) != 0,
	};
	return (entry->is & WEIR_LIST_COUNTS) != 0;
}
