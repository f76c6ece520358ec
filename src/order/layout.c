#include "order/layout.h"

static uint32_t
at_most(uint32_t blocks, uint32_t most)
{
	return blocks < most ? blocks : most;
}

struct order_extent
order_layout_first(const struct order_layout *layout, uint64_t lba, uint32_t blocks)
{
	const struct order_member *member = layout->members;
	uint64_t stripe;
	uint32_t within;

	if (layout->count == 1)
		return (struct order_extent){ member, lba, at_most(blocks, member->most) };
	stripe = lba / layout->stripe;
	within = (uint32_t)(lba % layout->stripe);
	member += stripe % layout->count;
	return (struct order_extent){
		member, stripe / layout->count * layout->stripe + within,
		at_most(at_most(blocks, layout->stripe - within), member->most),
	};
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
