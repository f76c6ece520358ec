#include "order/known.h"

#include <assert.h>
#include <stdlib.h>

#include "order/group.h"

/* ---- which there are, and which are of one stream ---- */

uint32_t
order_known_read(const struct order_part *part, const struct order_scan *scan, uint32_t number,
    struct order_known *known)
{
	uint32_t count = 0;

	for (uint64_t place = scan->from; place < scan->next; place++) {
		known[count].part = number;
		known[count].place = place;
		count += order_part_entry(part, place, &known[count].entry, &known[count].persists);
	}
	return count;
}

static bool
is_same(const struct order_entry *a, const struct order_entry *b)
{
	return a->owner == b->owner && a->stream == b->stream;
}

/* Terms are compared serially, as groups are. */
static int
by_term(const struct order_entry *a, const struct order_entry *b)
{
	if (a->term != b->term)
		return (int16_t)(a->term - b->term);
	if (a->first != b->first)
		return order_after(b->first, a->first) ? -1 : 1;
	return a->piece - b->piece;
}

/* Of two that are the same the newer one is first, and stays. */
static int
by_stream(const void *x, const void *y)
{
	const struct order_known *a = x, *b = y;
	int order = by_term(&a->entry, &b->entry);

	if (a->entry.owner != b->entry.owner)
		return a->entry.owner < b->entry.owner ? -1 : 1;
	if (a->entry.stream != b->entry.stream)
		return a->entry.stream < b->entry.stream ? -1 : 1;
	return order != 0 ? order : (a->place < b->place) - (a->place > b->place);
}

void
order_known_sort(struct order_known *known, uint32_t count)
{
	qsort(known, count, sizeof(*known), by_stream);
}

uint32_t
order_known_same(const struct order_known *known, uint32_t count)
{
	uint32_t same = 0;

	while (same < count && is_same(&known[same].entry, &known[0].entry))
		same++;
	return same;
}

/* ---- what one stream has ---- */

static uint32_t
floor_of(const struct order_known *known, uint32_t count)
{
	uint32_t floor = ORDER_NO_GROUP;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t told = known[i].entry.floor;

		if (order_above(told, floor))
			floor = told;
	}
	return floor;
}

/* A group, or that none was said. */
struct cut {
	bool said;
	uint32_t after;      /* what comes after it is cut off */
};

/* What those have said that come later, looked at from the last one on. */
struct later {
	uint16_t term;       /* of the one that was looked at last */
	struct cut said;     /* so far; it holds for earlier terms, */
	struct cut holds;    /* and this for that term, too */
	struct cut taken, gone; /* the same, of what was taken back */
	bool flushed;        /* all that came before is on its medium */
	struct order_known *one; /* the last one that was looked at */
};

/* Of several cuts the least holds: what a later one lets stand, an earlier one has cut off already. */
static void
add_cut(struct cut *cut, uint32_t after)
{
	if (!cut->said || order_after(cut->after, after))
		*cut = (struct cut){ true, after };
}

static bool
is_after(const struct cut *cut, uint32_t group)
{
	return cut->said && order_above(group, cut->after);
}

static void
enter_term(struct later *later, uint16_t term)
{
	if (term != later->term) {
		later->holds = later->said;
		later->gone = later->taken;
	}
	later->term = term;
}

static enum order_role
role_of(const struct later *later, const struct order_entry *entry, uint32_t floor)
{
	if (!order_above(entry->first, floor))
		return ORDER_GONE;
	if (!is_after(&later->holds, entry->last))
		return ORDER_COUNTS;
	if ((entry->flags & ORDER_ENTRY_IN_PLACE) != 0)
		return ORDER_LEFT;
	return is_after(&later->gone, entry->last) ? ORDER_GONE : ORDER_BACK;
}

/* One that was appended anew is there twice, until its first place is used again. */
static void
take_older(struct later *later, struct order_known *one)
{
	struct order_known *older = later->one;

	if (older != NULL && by_term(&older->entry, &one->entry) == 0) {
		one->persists = one->persists || older->persists;
		older->role = ORDER_GONE;
	}
	later->one = one;
}

/* From the last one to the first. */
static void
give_roles(struct order_known *known, uint32_t count, uint32_t floor, order_keeps *keeps, void *arg)
{
	struct later later = { .term = known[count - 1].entry.term };

	for (uint32_t i = count; i-- > 0;) {
		struct order_known *one = &known[i];
		const struct order_entry *entry = &one->entry;

		enter_term(&later, entry->term);
		if ((entry->flags & ORDER_ENTRY_MARK) != 0) {
			add_cut(&later.said, entry->last);
			if ((entry->flags & ORDER_ENTRY_TAKING) == 0)
				add_cut(&later.taken, entry->last);
			one->role = ORDER_GONE;
			continue;
		}
		take_older(&later, one);
		later.flushed = later.flushed || ((entry->flags & ORDER_ENTRY_FLUSH) != 0 && one->persists);
		one->valid = later.flushed || (one->persists && keeps(arg, entry->nsid));
		one->role = (uint8_t)role_of(&later, entry, floor);
	}
}

void
order_stream_read(struct order_known *known, uint32_t count, order_keeps *keeps, void *arg, struct order_listed *room,
    struct order_stream *stream)
{
	uint32_t floor = floor_of(known, count), listed = 0;

	assert(count > 0);
	*stream = (struct order_stream){
		.owner = known[0].entry.owner, .stream = known[0].entry.stream, .term = known[count - 1].entry.term,
	};
	give_roles(known, count, floor, keeps, arg);
	for (uint32_t i = 0; i < count; i++) {
		const struct order_entry *entry = &known[i].entry;

		stream->left += known[i].role == ORDER_LEFT;
		if (known[i].role == ORDER_COUNTS)
			room[listed++] = (struct order_listed){
				entry->first, entry->last, entry->prev, entry->num, entry->count, known[i].valid,
			};
	}
	stream->list = (struct order_list){ floor, listed, room };
	stream->lost = order_list_wrong(&stream->list);
}

bool
order_known_behind(const struct order_known *known, uint32_t count, uint32_t part, uint64_t place)
{
	for (uint32_t i = 0; i < count; i++)
		if (known[i].part == part && known[i].place > place)
			return true;
	return false;
}

/* ---- how it is cut ---- */

bool
order_is_taken_back(const struct order_known *known, uint32_t cut)
{
	bool after = known->role == ORDER_COUNTS && order_above(known->entry.last, cut);

	return (after || known->role == ORDER_BACK) && known->entry.blocks > 0 &&
	    (known->entry.flags & ORDER_ENTRY_IN_PLACE) == 0;
}

uint32_t
order_list_last(const struct order_list *list, uint32_t cut)
{
	uint32_t last = ORDER_NO_GROUP;

	for (uint32_t i = 0; i < list->count && !order_above(list->entries[i].last, cut); i++)
		last = list->entries[i].last;
	return last;
}

uint32_t
order_known_greatest(const struct order_known *known, uint32_t count)
{
	uint32_t greatest = ORDER_NO_GROUP;

	for (uint32_t i = 0; i < count; i++)
		if ((known[i].entry.flags & ORDER_ENTRY_MARK) == 0 && order_above(known[i].entry.last, greatest))
			greatest = known[i].entry.last;
	return greatest;
}
