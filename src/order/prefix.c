#include "order/prefix.h"

#include <assert.h>
#include <stddef.h>

#include "order/group.h"

/* ---- one server ---- */

const char *
order_list_wrong(const struct order_list *list)
{
	const struct order_listed *before = NULL; /* the last one of the group before */

	for (uint32_t i = 0; i < list->count; i++) {
		const struct order_listed *entry = &list->entries[i], *last = i > 0 ? &list->entries[i - 1] : NULL;

		if (order_after(entry->first, entry->last) || !order_above(entry->first, list->floor))
			return "a group is not after the floor";
		/* Several pieces of a group have each an entry of it alone. */
		if (last != NULL && (last->first != entry->first || last->last != entry->last)) {
			if (!order_after(entry->first, last->last))
				return "groups go back";
			before = last;
		}
		/* What came before the floor is not listed any more. */
		if (before != NULL ? entry->prev != before->last : order_above(entry->prev, list->floor))
			return "a group before it is not there";
	}
	return NULL;
}

struct order_there
order_server_prefix(const struct order_list *list)
{
	struct order_there there = { .group = list->floor, .before = list->floor };

	for (uint32_t i = 0, end; i < list->count; i = end) {
		uint32_t pieces = 0;

		/* Of a group in several entries each has to be valid. */
		for (end = i; end < list->count && list->entries[end].first == list->entries[i].first; end++) {
			if (!list->entries[end].valid)
				return there;
			pieces += list->entries[end].count;
		}
		there = (struct order_there){ list->entries[i].last, pieces, there.group };
	}
	return there;
}

/* ---- all of them ---- */

/* What is listed of a group, of all servers; and so of all from it to `until`. */
struct found {
	uint32_t pieces, num;
	uint32_t until;
	bool any, invalid;
};

static void
narrow(struct found *found, uint32_t until)
{
	if (found->until == ORDER_NO_GROUP || order_after(found->until, until))
		found->until = until;
}

/* `at`: the first entry that may be of this group or a later one. */
static void
find(const struct order_list *list, uint32_t group, uint32_t *at, struct found *found)
{
	while (*at < list->count && order_after(group, list->entries[*at].last))
		(*at)++;
	for (uint32_t i = *at; i < list->count; i++) {
		const struct order_listed *entry = &list->entries[i];

		if (order_after(entry->first, group)) {
			narrow(found, order_before(entry->first));
			break;
		}
		narrow(found, entry->last);
		found->any = true;
		found->invalid = found->invalid || !entry->valid;
		found->pieces += entry->count;
		found->num += entry->num;
	}
}

static bool
is_there(const struct found *found)
{
	return found->any && !found->invalid && found->pieces == found->num;
}

/* The greatest floor, or ORDER_NO_GROUP. */
static uint32_t
greatest_floor(const struct order_list *lists, unsigned count)
{
	uint32_t floor = ORDER_NO_GROUP;

	for (unsigned i = 0; i < count; i++)
		if (order_above(lists[i].floor, floor))
			floor = lists[i].floor;
	return floor;
}

uint32_t
order_prefix(const struct order_list *lists, unsigned count)
{
	uint32_t at[ORDER_SERVERS_MAX] = { 0 }, there = greatest_floor(lists, count);

	assert(count > 0 && count <= ORDER_SERVERS_MAX);
	for (;;) {
		struct found found = { 0 };

		for (unsigned i = 0; i < count; i++)
			find(&lists[i], order_next(there), &at[i], &found);
		if (!is_there(&found))
			return there;
		there = found.until;
	}
}
