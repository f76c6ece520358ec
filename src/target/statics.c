#include "target/statics.h"

#include <assert.h>
#include <string.h>

#include "wire/fabrics.h"

/* When each was left, by a clock that counts that: 0, it was not used yet. */
struct statics {
	uint64_t clock;
	uint32_t room;
	uint64_t left[]; /* by id - 1 */
};

static const uint64_t IN_USE = UINT64_MAX;

static bool
make_room(struct statics **statics, struct arena *arena, uint32_t room)
{
	struct statics *old = *statics, *new;

	if (old != NULL && old->room >= room)
		return true;
	new = arena_alloc(arena, sizeof(*new) + room * sizeof(new->left[0]));
	if (new == NULL)
		return false;
	if (old != NULL) {
		new->clock = old->clock;
		memcpy(new->left, old->left, old->room * sizeof(old->left[0]));
	}
	new->room = room;
	arena_free(arena, old);
	*statics = new;
	return true;
}

/* Of those that were not used yet the lowest; `count`: none is free. */
static uint32_t
longest_ago(const struct statics *statics, uint32_t count)
{
	uint32_t best = count;

	for (uint32_t i = 0; i < count; i++)
		if (statics->left[i] != IN_USE && (best == count || statics->left[i] < statics->left[best]))
			best = i;
	return best;
}

uint16_t
statics_take(struct statics **statics, struct arena *arena, uint16_t count, uint16_t asked)
{
	uint32_t at;

	assert(count >= 1 && count <= NVME_CNTLID_MAX);
	if (!make_room(statics, arena, count))
		return 0;
	at = asked == NVME_CNTLID_STATIC ? longest_ago(*statics, count) : asked - 1u;
	if (at >= count || (*statics)->left[at] == IN_USE)
		return 0;
	(*statics)->left[at] = IN_USE;
	return (uint16_t)(at + 1);
}

void
statics_leave(struct statics *statics, uint16_t id)
{
	assert(id >= 1 && id <= statics->room && statics->left[id - 1] == IN_USE);
	statics->left[id - 1] = ++statics->clock;
}

size_t
statics_bytes(void)
{
	return sizeof(uint64_t);
}
