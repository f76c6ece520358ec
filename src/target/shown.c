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

/* The portals, each in its place; where there is none, nothing is to be shown. */
static void
resolve_portals(const struct assoc *assoc, const struct view *view, struct portal_info *portals)
{
	char near[80], *colon;

	assoc->admin->stream->ops->name(assoc->admin->stream, false, near, sizeof(near));
	colon = strrchr(near, ':');
	if (colon != NULL)
		*colon = '\0';
	for (uint32_t i = 0; i < TARGET_LISTENERS_MAX; i++) {
		struct portal_info *portal = &portals[i];

		*portal = view->portals[i];
		if (!(view->portals_used >> i & 1))
			portal->use = PORTAL_IO;
		if (strcmp(portal->traddr, "0.0.0.0") != 0 && strcmp(portal->traddr, "::") != 0)
			continue;
		portal->ipv6 = near[0] == '[';
		snprintf(portal->traddr, sizeof(portal->traddr), "%.*s",
		    (int)strcspn(near + (near[0] == '['), "]%"), near + (near[0] == '['));
	}
}

const struct subsys_info *
shown_fill(struct assoc *assoc, const struct view *view)
{
	struct shown *shown = assoc->shown;
	struct shown_view *next = &shown->views[shown->now ^= 1];

	next->info = view->discovery;
	next->info.portals = next->portals;
	next->info.shown = next->shown;
	resolve_portals(assoc, view, next->portals);
	for (uint32_t i = 0; i < TARGET_LISTENERS_MAX; i++)
		if (view->portals_used >> i & 1)
			next->info.portal_count = i + 1;
	for (uint32_t i = 0; i < view->subsys_count; i++)
		if (view_allows(&view->subsys[i], assoc->ctrl.hostnqn))
			next->shown[next->info.shown_count++] =
			    (struct subsys_shown){ &view->subsys[i].info, view->subsys[i].portals };
	return &next->info;
}
