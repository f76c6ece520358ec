#include "order/layout.h"

struct order_extent
order_layout_first(const struct order_layout *layout, uint64_t lba, uint32_t blocks)
{
	uint64_t stripe = lba / layout->stripe;
	uint32_t within = (uint32_t)(lba % layout->stripe), left = layout->stripe - within;
	const struct order_member *member = &layout->members[stripe % layout->count];
	struct order_extent extent = { member, stripe / layout->count * layout->stripe + within, blocks };

	if (extent.blocks > left)
		extent.blocks = left;
	if (extent.blocks > member->most)
		extent.blocks = member->most;
	return extent;
}

uint32_t
order_layout_count(const struct order_layout *layout, uint64_t lba, uint32_t blocks)
{
	uint32_t count = 0;

	for (; blocks > 0; count++) {
		struct order_extent extent = order_layout_first(layout, lba, blocks);

		lba += extent.blocks;
		blocks -= extent.blocks;
	}
	return count;
}

bool
order_layout_has(const struct order_layout *layout, uint64_t lba, uint32_t blocks)
{
	uint64_t all = layout->blocks * layout->count;

	return blocks > 0 && lba < all && blocks <= all - lba;
}
