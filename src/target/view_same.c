/*
 * view_same.c - whether two views tell hosts the same in their discovery log.
 *
 * It is asked for each change, however little that changes: what is as it was, in the same order, costs nothing.
 */
#include <stdlib.h>

#include "target/view.h"

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
sort_hosts(const struct view_subsys *subsys, const char *list[TARGET_HOSTS_MAX])
{
	for (uint32_t i = 0; i < subsys->host_count; i++)
		list[i] = subsys->hosts[i];
	qsort(list, subsys->host_count, sizeof(list[0]), by_name);
}

/* Whether the same hosts may use both. */
static bool
same_hosts(const struct view_subsys *a, const struct view_subsys *b)
{
	const char *list[2][TARGET_HOSTS_MAX];
	bool same = true;

	if (!a->hosts_listed || !b->hosts_listed)
		return a->hosts_listed == b->hosts_listed;
	if (a->host_count != b->host_count || memcmp(a->hosts, b->hosts, a->host_count * sizeof(*a->hosts)) == 0)
		return a->host_count == b->host_count;
	sort_hosts(a, list[0]);
	sort_hosts(b, list[1]);
	for (uint32_t i = 0; i < a->host_count && same; i++)
		same = strcmp(list[0][i], list[1][i]) == 0;
	return same;
}

/* The next subsystem from *at on that a discovery log shows to somebody, or NULL. */
static const struct view_subsys *
next_shown(const struct view *view, uint32_t *at)
{
	while (*at < view->subsys_count) {
		const struct view_subsys *subsys = &view->subsys[(*at)++];

		if (subsys->portals != 0 && (!subsys->hosts_listed || subsys->host_count > 0))
			return subsys;
	}
	return NULL;
}

static bool
same_subsystems(const struct view *a, const struct view *b)
{
	uint32_t i = 0, k = 0;

	for (;;) {
		const struct view_subsys *x = next_shown(a, &i), *y = next_shown(b, &k);

		if (x == NULL || y == NULL)
			return x == y;
		if (strcmp(x->info.nqn, y->info.nqn) != 0 || x->portals != y->portals || !same_hosts(x, y) ||
		    (x->info.static_ids > 0) != (y->info.static_ids > 0))
			return false;
	}
}

/* The portals that lead to discovery, or to a subsystem that is shown. */
static uint32_t
shown_portals(const struct view *view, bool discovery)
{
	const struct view_subsys *subsys;
	uint32_t portals = 0, at = 0;

	while (!discovery && (subsys = next_shown(view, &at)) != NULL)
		portals |= subsys->portals;
	for (uint32_t i = 0; i < TARGET_LISTENERS_MAX && discovery; i++)
		if (view->portals_used >> i & 1 && view->listen[i].use != PORTAL_IO)
			portals |= UINT32_C(1) << i;
	return portals;
}

static bool
same_portal(const struct portal_info *a, const struct portal_info *b)
{
	return strcmp(a->traddr, b->traddr) == 0 && strcmp(a->trsvcid, b->trsvcid) == 0 && a->ipv6 == b->ipv6 &&
	    a->use == b->use;
}

bool
view_same_log(const struct view *a, const struct view *b)
{
	uint32_t discovery = shown_portals(a, true), shown = discovery | shown_portals(a, false);
	bool same = discovery == shown_portals(b, true) && same_subsystems(a, b) &&
	    a->discovery.referral_count == b->discovery.referral_count;

	for (uint32_t i = 0; i < TARGET_LISTENERS_MAX && same; i++)
		if (shown >> i & 1)
			same = strcmp(a->listen[i].host, b->listen[i].host) == 0 &&
			    a->listen[i].port == b->listen[i].port;
	for (uint32_t i = 0; i < a->discovery.referral_count && same; i++)
		same = same_portal(&a->referrals[i], &b->referrals[i]);
	return same;
}
