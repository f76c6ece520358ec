/* Streams of a part of the log: how they come, from what was read of it, and how they leave. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "order/group.h"
#include "order/log_inside.h"

/* ---- a part ---- */

void
order_log_init(struct order_log *log, struct order_image *slots, uint32_t count, uint32_t seed,
    struct order_slot *states, uint8_t *is, uint32_t *words)
{
	assert((count & (count - 1)) == 0 && count >= ORDER_SLOTS_LEAST);
	*log = (struct order_log){
		.slots = slots, .count = count, .seed = seed, .states = states, .is = is, .words = words,
		.guaranteed = order_guaranteed(count),
	};
	memset(is, ORDER_SLOT_FREE, count);
}

void
order_log_load(struct order_log *log, const struct order_scan *scan)
{
	for (uint64_t place = scan->next; place < scan->torn_to; place++)
		log->slots[order_slot_of(log, place)] = (struct order_image){ 0 };
	log->tail = log->swept = log->swept_taken = scan->from;
	log->next = log->durable = log->begun = scan->next;
}

/* ---- streams of it ---- */

void
order_track_init(struct order_log *log, struct order_track *track, uint32_t owner, uint16_t stream)
{
	*track = (struct order_track){
		.owner = owner, .stream = stream, .newest = ORDER_NO_PLACE,
		.writes = { ORDER_NO_SLOT, ORDER_NO_SLOT, 0 }, .marks = { ORDER_NO_SLOT, ORDER_NO_SLOT, 0 },
	};
	log->tracks++;
	log->unspent += order_unspent(log, track);
}

void
order_track_tell(struct order_track *track, uint32_t floor)
{
	if (order_above(floor, track->floor))
		track->floor = floor;
}

/* What there is of a stream up to an entry, in the order of terms. */
struct so_far {
	bool any;
	uint16_t term;
	uint32_t greatest, before_term; /* groups: of all, and of earlier terms */
};

static void
add(struct so_far *so_far, const struct order_entry *entry)
{
	if (!so_far->any || entry->term != so_far->term)
		so_far->before_term = so_far->greatest;
	so_far->any = true;
	so_far->term = entry->term;
	if ((entry->flags & ORDER_ENTRY_MARK) == 0 && order_above(entry->last, so_far->greatest))
		so_far->greatest = entry->last;
}

/* Its term; and of this part the newest entry, and which groups there were before the last term that it has. */
static void
look_at(struct order_track *track, const struct order_known *known, uint32_t count, uint32_t part)
{
	struct so_far so_far = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		const struct order_entry *entry = &known[i].entry;

		add(&so_far, entry);
		if (so_far.term != track->term) {
			track->cut = ORDER_NO_GROUP;
			track->taking = false;
		}
		track->term = so_far.term;
		if ((entry->flags & ORDER_ENTRY_MARK) != 0) {
			track->cut = entry->last;
			track->taking = (entry->flags & ORDER_ENTRY_TAKING) != 0;
		}
		order_track_tell(track, entry->floor);
		if (known[i].part != part)
			continue;
		track->high = so_far.before_term;
		if (track->newest == ORDER_NO_PLACE || known[i].place > track->newest) {
			track->newest = known[i].place;
			track->stands = entry->floor;
		}
	}
}

/* It stands in the newest entry of that part. */
static void
hold_what_stands_in(struct order_track *track, const struct order_known *known, uint32_t count, uint32_t home)
{
	for (uint32_t i = 0; i < count; i++)
		if (known[i].part == home && order_above(known[i].entry.floor, track->stands))
			track->stands = known[i].entry.floor;
}

/* What is below a floor that only another entry has goes on being needed until it stands in the newest one. */
static bool
is_needed(const struct order_track *track, const struct order_known *known)
{
	uint32_t first = known->entry.first;

	return known->role != ORDER_GONE || (order_above(first, track->stands) && !order_above(first, track->floor));
}

/* The newer one is looked at first. */
static bool
is_kept_anew(const struct order_log *log, const struct order_track *track, const struct order_entry *mark)
{
	uint32_t latest = track->marks.latest;

	return latest != ORDER_NO_SLOT && le16_get(log->slots[latest].term) == mark->term &&
	    le32_get(log->slots[latest].last) == mark->last;
}

/* `before_term`: the greatest group that a mark has cut anything off before. */
static void
adopt_one(struct order_log *log, struct order_track *track, const struct order_known *known, uint32_t before_term)
{
	uint32_t slot = order_slot_of(log, known->place);
	bool mark = (known->entry.flags & ORDER_ENTRY_MARK) != 0;

	if (mark && order_above(before_term, track->stands) && !is_kept_anew(log, track, &known->entry))
		order_need_mark(log, track, slot);
	else if (!mark && is_needed(track, known))
		order_need(log, track, slot, ORDER_SLOT_WRITE);
	else if (known->place == track->newest)
		order_keep_newest(log, track, slot);
}

void
order_track_adopt(struct order_log *log, struct order_track *track, const struct order_known *known,
    uint32_t count, uint32_t part)
{
	uint32_t home = known[count - 1].part; /* one part has all of a term */
	struct so_far so_far = { 0 };

	look_at(track, known, count, part);
	if (home != part)
		hold_what_stands_in(track, known, count, home);
	for (uint32_t i = 0; i < count; i++) {
		add(&so_far, &known[i].entry);
		if (known[i].part == part)
			adopt_one(log, track, &known[i], so_far.before_term);
	}
}

/* ---- what there is of it ---- */

uint32_t
order_track_count(const struct order_track *track)
{
	return track->writes.count + track->marks.count + 1;
}

/* Its place, if it is that of the slot's last entry. */
static bool
list_one(const struct order_log *log, uint32_t slot, uint32_t part, struct order_known *known)
{
	const struct order_part all = { log->slots, log->count, log->seed };
	uint64_t place = (log->next - 1 - slot) / log->count * log->count + slot;

	known->part = part;
	known->place = place;
	return order_part_entry(&all, place, &known->entry, &known->persists);
}

static uint32_t
list_chain(const struct order_log *log, const struct order_chain *chain, uint32_t part, struct order_known *known)
{
	uint32_t listed = 0;

	for (uint32_t slot = chain->oldest; slot != ORDER_NO_SLOT; slot = log->states[slot].after)
		listed += list_one(log, slot, part, &known[listed]);
	return listed;
}

uint32_t
order_track_list(const struct order_log *log, const struct order_track *track, uint32_t part,
    struct order_known *known)
{
	uint32_t listed = list_chain(log, &track->writes, part, known);

	listed += list_chain(log, &track->marks, part, &known[listed]);
	if (order_keeps_newest(log, track))
		listed += list_one(log, order_slot_of(log, track->newest), part, &known[listed]);
	return listed;
}

/* ---- how they leave ---- */

void
order_track_close(struct order_log *log, struct order_track *track, bool elsewhere)
{
	log->unspent -= order_unspent(log, track);
	/*
	 * Its last mark is overwritten in one batch with what is a batch before it at most.  Of that something could
	 * be left then, for which the mark said that it is not needed; so the mark goes on once more, and away from it.
	 */
	track->leaving = elsewhere ? 1 : 2;
}

/* What may be overwritten is there until it is. */
bool
order_track_leave(struct order_log *log, struct order_track *track)
{
	if (track->leaving == 0 || track->writes.count > 0 || track->marks.count > 0)
		return false;
	if (track->newest != ORDER_NO_PLACE && log->next < track->newest + log->count + ORDER_BATCH_MAX)
		return false;
	log->tracks--;
	return true;
}
