#include "order/scan.h"

#include <assert.h>

bool
order_part_entry(const struct order_part *part, uint64_t place, struct order_entry *entry, bool *persists)
{
	return order_entry_read(&part->slots[place & (part->count - 1)], part->seed, entry, persists) &&
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
		if (!order_entry_read(&part->slots[slot], part->seed, &entry, &persists))
			continue;
		place = (entry.lap - 1) * part->count + slot;
		if (place >= next)
			next = place + 1;
	}
	return next;
}

/* What persists, and did not from the beginning, was durable before, with all of its batch. */
static bool
was_durable(const struct order_entry *entry, bool persists)
{
	return persists && (entry->flags & ORDER_ENTRY_ANEW) == 0;
}

/*
 * Of the batch that was appended last nothing may be missing, or nothing of it went to drives: then it never was.  But
 * where something of it says that it was durable, what is missing was, too.
 */
static uint64_t
find_whole(const struct order_part *part, uint64_t end)
{
	struct order_entry newest, entry;
	uint64_t begun, there = 0;
	bool persists;

	if (end == 0 || !order_part_entry(part, end - 1, &newest, &persists) || newest.batch >= end)
		return end;
	begun = end - 1 - newest.batch;
	for (uint64_t place = begun; place < end; place++) {
		if (!order_part_entry(part, place, &entry, &persists))
			continue;
		if (was_durable(&entry, persists))
			return end;
		there++;
	}
	return there == end - begun ? end : begun;
}

/*
 * Before the last batch a hole is what was durable once; but among the oldest, in the place of which the last batch was
 * to come.
 */
void
order_scan(const struct order_part *part, struct order_scan *scan)
{
	struct order_entry entry;
	uint64_t end = find_next(part);
	bool persists;

	assert((part->count & (part->count - 1)) == 0 && part->count >= ORDER_SLOTS_LEAST);
	*scan = (struct order_scan){ .next = find_whole(part, end), .torn_to = end };
	scan->from = scan->next > part->count ? scan->next - part->count : 0;
	for (uint64_t place = scan->next; place-- > scan->from;) {
		if (order_part_entry(part, place, &entry, &persists))
			continue;
		scan->holes++;
		if (!scan->corrupt && place + part->count >= scan->next + ORDER_BATCH_MAX) {
			scan->corrupt = true;
			scan->corrupt_at = place;
		}
	}
}
