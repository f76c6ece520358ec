/*
 * view_copy.c - a view once more, for what changes in it without a new config.
 *
 * It lies in one piece: what points into that is moved with it.
 */
#include "target/view.h"

static const void *
moved(const struct view *from, const struct view *to, const void *ptr)
{
	uintptr_t offset = (uintptr_t)ptr - (uintptr_t)from;

	return ptr != NULL && offset < from->bytes ? (const uint8_t *)to + offset : ptr;
}

#define MOVE(ptr) ((ptr) = (void *)(uintptr_t)moved(from, to, (ptr)))

static void
move_subsys(const struct view *from, const struct view *to, struct view_subsys *subsys)
{
	MOVE(subsys->hosts);
	MOVE(subsys->ns);
	MOVE(subsys->info.ana);
	MOVE(subsys->info.ns);
	for (uint32_t i = 0; i < subsys->info.ns_count; i++) {
		MOVE(((struct ns_info *)(uintptr_t)subsys->info.ns)[i].hosts);
		MOVE(((struct ns_info *)(uintptr_t)subsys->info.ns)[i].others);
	}
	for (uint32_t i = 0; i < subsys->ns_limit; i++) {
		MOVE(((struct view_ns *)(uintptr_t)subsys->ns)[i].info);
		MOVE(((struct view_ns *)(uintptr_t)subsys->ns)[i].fair);
	}
}

struct view *
view_copy(struct arena *arena, const struct view *from)
{
	struct view *to = arena_alloc(arena, from->bytes);

	if (to == NULL)
		return NULL;
	memcpy(to, from, from->bytes);
	MOVE(to->subsys);
	for (uint32_t i = 0; i < to->subsys_count; i++)
		move_subsys(from, to, &to->subsys[i]);
	MOVE(to->discovery.referrals);
	MOVE(to->fair.groups);
	MOVE(to->fair.hosts);
	return to;
}
