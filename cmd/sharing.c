/*
 * sharing.c - from a configuration's `qos:` to what a target is told of it.
 */
#include "sharing.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refuse.h"

static struct fair_limits
limits_of(const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms)
{
	struct fair_limits some = { .burst_ms = burst_ms };

	memcpy(some.limits, limits, sizeof(some.limits));
	return some;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct fair_host *)a)->nqn, ((const struct fair_host *)b)->nqn);
}

int
sharing_terms(const struct conf_qos *qos, struct arena *arena, struct fair_terms *terms)
{
	struct fair_group *groups = arena_alloc(arena, (qos->group_count + 1) * sizeof(*groups));
	struct fair_host *hosts = arena_alloc(arena, (qos->tenant_count + 1) * sizeof(*hosts));

	static_assert((int)CONF_GROUPS_MAX <= (int)FAIR_GROUPS_MAX, "all groups there can be");
	static_assert((int)CONF_NAME_MAX == (int)FAIR_GROUP_NAME_MAX, "and their names");
	if (groups == NULL || hosts == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < qos->group_count; i++) {
		const struct conf_group *from = &qos->groups[i];

		groups[i] = (struct fair_group){ .weight = from->weight,
			.limits = limits_of(from->limits, from->burst_ms) };
		snprintf(groups[i].name, sizeof(groups[i].name), "%s", from->name);
	}
	for (uint32_t i = 0; i < qos->tenant_count; i++) {
		const struct conf_tenant *from = &qos->tenants[i];

		hosts[i] = (struct fair_host){
			.group = from->group != CONF_QOS_NONE ? from->group : FAIR_NO_GROUP, .weight = from->weight,
			.limits = limits_of(from->limits, from->burst_ms),
		};
		snprintf(hosts[i].nqn, sizeof(hosts[i].nqn), "%s", from->host);
	}
	qsort(hosts, qos->tenant_count, sizeof(*hosts), by_name);
	*terms = (struct fair_terms){ groups, qos->group_count, hosts, qos->tenant_count };
	return 0;
}

int
sharing_volume(const struct conf_qos *qos, const struct conf_ns *ns, struct arena *arena,
    const struct fair_volume **out)
{
	struct fair_volume *volume;

	*out = NULL;
	if (ns->mode == CONF_QOS_OFF)
		return 0;
	volume = arena_alloc(arena, sizeof(*volume));
	if (volume == NULL)
		return -ENOMEM;
	volume->paced = ns->mode == CONF_QOS_GIMBAL;
	volume->limits = limits_of(ns->limits, ns->burst_ms);
	if (ns->device != CONF_QOS_NONE)
		volume->params = qos->devices[ns->device].params;
	else
		qos_params_default(&volume->params);
	*out = volume;
	return 0;
}

int
sharing_usual(const struct conf_qos *qos, struct arena *arena, const struct fair_volume **volume)
{
	const struct conf_ns ns = { .mode = qos->mode, .device = CONF_QOS_NONE };

	return sharing_volume(qos, &ns, arena, volume);
}

int
sharing_fits(const struct conf_subsys *subsys, const struct conf_ns *ns, const struct blk *blk, char why[256])
{
	if (ns->mode == CONF_QOS_OFF || fair_is(blk))
		return 0;
	return refuse(why, -EBUSY, "namespace %u of %.80s: hosts share a volume from when it is opened: take the "
	    "namespace away and bring it back, or start anew", ns->nsid, subsys->nqn);
}
