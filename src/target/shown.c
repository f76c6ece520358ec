/*
 * shown.c - what a discovery controller tells its host: the subsystems that
 * it may use, by the addresses as it can reach them.
 *
 * A target that listens on every address is reached by the one the host came to.
 */
#include <stdio.h>

#include "target/assoc.h"

/* Two, so that the new can be held against the old. */
struct shown {
	struct shown_view {
		struct subsys_info info;
		struct portal_info portals[TARGET_LISTENERS_MAX];
		struct subsys_shown shown[TARGET_SUBSYS_MAX];
	} views[2];
	unsigned now;
};

struct shown *
shown_make(struct core *core)
{
	return arena_alloc(core->reactor->arena, sizeof(struct shown));
}

size_t
shown_bytes(void)
{
	return sizeof(struct shown);
}

struct near {
	char text[64]; /* numeric, without brackets and zone */
	bool ipv6;
};

/* The address that the host came to.  A socket for both families says of IPv4 that it is IPv6, ::ffff:192.0.2.1. */
static struct near
near_of(const struct assoc *assoc)
{
	static const char mapped[] = "::ffff:";
	const char *from;
	struct near near;
	char name[80];

	assoc->admin->stream->ops->name(assoc->admin->stream, false, name, sizeof(name));
	near.ipv6 = name[0] == '[';
	from = name + near.ipv6;
	if (near.ipv6 && strncmp(from, mapped, strlen(mapped)) == 0 && strchr(from, '.') != NULL) {
		from += strlen(mapped);
		near.ipv6 = false;
	}
	snprintf(near.text, sizeof(near.text), "%.*s", (int)strcspn(from, near.ipv6 ? "]%" : ":]"), from);
	return near;
}

/* The portals, each in its place, and a bit for each that can be shown: 0.0.0.0 is nowhere for who came by IPv6. */
static uint32_t
resolve_portals(const struct assoc *assoc, const struct view *view, struct portal_info *portals)
{
	const struct near near = near_of(assoc);
	uint32_t known = view->portals_used;

	for (uint32_t i = 0; i < TARGET_LISTENERS_MAX; i++) {
		struct portal_info *portal = &portals[i];
		bool any_ipv4, any;

		*portal = view->portals[i];
		any_ipv4 = strcmp(portal->traddr, "0.0.0.0") == 0;
		any = any_ipv4 || strcmp(portal->traddr, "::") == 0;
		if (any_ipv4 && near.ipv6)
			known &= ~(UINT32_C(1) << i);
		if (!(known >> i & 1))
			portal->use = PORTAL_IO; /* for which itself there is no entry */
		if (!any)
			continue;
		portal->ipv6 = near.ipv6;
		snprintf(portal->traddr, sizeof(portal->traddr), "%s", near.text);
	}
	return known;
}

static const struct subsys_info *
shown_fill(struct assoc *assoc, const struct view *view)
{
	struct shown *shown = assoc->shown;
	struct shown_view *next = &shown->views[shown->now ^= 1];
	uint32_t known;

	next->info = view->discovery;
	next->info.portals = next->portals;
	next->info.shown = next->shown;
	known = resolve_portals(assoc, view, next->portals);
	for (uint32_t i = 0; i < TARGET_LISTENERS_MAX; i++)
		if (view->portals_used >> i & 1)
			next->info.portal_count = i + 1;
	for (uint32_t i = 0; i < view->subsys_count; i++)
		if (view_allows(&view->subsys[i], assoc->ctrl.hostnqn))
			next->shown[next->info.shown_count++] =
			    (struct subsys_shown){ &view->subsys[i].info, view->subsys[i].portals & known };
	return &next->info;
}

/* A new view, or the first: its controller has it from now on. */
void
shown_update(struct assoc *assoc, const struct view *view)
{
	struct subsys_diff diff = { .old = NULL };

	ctrl_update(&assoc->ctrl, shown_fill(assoc, view), &diff);
}
