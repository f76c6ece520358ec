#include "order/scan.h"

#include <assert.h>

bool
order_part_entry(const struct order_part *part, uint64_t place, struct order_entry *entry, bool *persists)
{
	return order_entry_read(&part->slots[place & (part->count - 1)], entry, persists) &&
	    entry->lap == order_lap_of(part, place);
}

/* One behind the newest entry; 0: there is none. */
static uint64_t
find_next(const struct order_part *part)
{
	struct order_entry entry;
	uint64_t next = 0, place;
	bool persists;

	for (uint32_t slot = 0; slot < part->count; slot++) {
		if (!order_entry_read(&part->slots[slot], &entry, &persists))
			continue;
		place = (entry.lap - 1) * part->count + slot;
		if (place >= next)
			next = place + 1;
	}
	return next;
}

/*
 * A hole is nothing strange where its batch may have been torn.  That of an entry behind it was, if it had begun before
 * the hole; and one of which nothing came may have torn the oldest entries, which it was to take the place of.
 */
void
order_scan(const struct order_part *part, struct order_scan *scan)
{
	uint64_t begun = 0, most;
	struct order_entry entry;
	bool persists;

	assert((part->count & (part->count - 1)) == 0 && part->count >= ORDER_SLOTS_LEAST);
	*scan = (struct order_scan){ .next = find_next(part) };
	scan->from = scan->next > part->count ? scan->next - part->count : 0;
	most = scan->from > 0 ? scan->from + ORDER_BATCH_MAX : 0;
	for (uint64_t place = scan->next; place-- > scan->from;) {
		if (order_part_entry(part, place, &entry, &persists)) {
			if (entry.batch <= place && place - entry.batch > begun)
				begun = place - entry.batch;
			continue;
		}
		scan->holes++;
		if (place < begun && place >= most && !scan->corrupt) {
			scan->corrupt = true;
			scan->corrupt_at = place;
		}
	}
}
