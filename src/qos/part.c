/*
 * part.c - which part of a device a tenant has, by its weight and its group's, among those that are counted.
 */
#include <assert.h>

#include "qos/share.h"

void
qos_group_init(struct qos_group *group, uint32_t weight)
{
	*group = (struct qos_group){ .weight = weight };
}

void
qos_share_count(struct qos_share *share, struct qos_tenant *tenant)
{
	assert(!tenant->counted);
	tenant->counted = true;
	share->counted++;
	share->parts++;
	if (tenant->group == NULL) {
		share->weights += tenant->weight;
		return;
	}
	tenant->group->weights += tenant->weight;
	if (tenant->group->active++ == 0)
		share->weights += tenant->group->weight;
}

static void
uncount(struct qos_share *share, struct qos_tenant *tenant)
{
	tenant->counted = false;
	share->counted--;
	share->parts++;
	if (tenant->group == NULL) {
		share->weights -= tenant->weight;
		return;
	}
	tenant->group->weights -= tenant->weight;
	if (--tenant->group->active == 0)
		share->weights -= tenant->group->weight;
}

void
qos_share_forget(struct qos_share *share, struct qos_tenant *tenant)
{
	assert(tenant->counted && tenant->waiting == 0 && tenant->inflight == 0);
	uncount(share, tenant);
}

void
qos_share_move(struct qos_share *share, struct qos_tenant *tenant, struct qos_group *group, uint32_t weight)
{
	bool counted = tenant->counted;

	if (counted)
		uncount(share, tenant);
	tenant->group = group;
	tenant->weight = weight;
	if (counted)
		qos_share_count(share, tenant);
}

void
qos_tenant_weigh(struct qos_share *share, struct qos_tenant *tenant, uint32_t weight)
{
	uint64_t *sum = tenant->group == NULL ? &share->weights : &tenant->group->weights;

	if (tenant->counted)
		*sum = *sum - tenant->weight + weight;
	tenant->weight = weight;
	share->parts++;
}

void
qos_group_weigh(struct qos_share *share, struct qos_group *group, uint32_t weight)
{
	if (group->active > 0)
		share->weights = share->weights - group->weight + weight;
	group->weight = weight;
	share->parts++;
}

uint64_t
qos_share_find_part(const struct qos_share *share, struct qos_tenant *tenant)
{
	uint64_t part = (uint64_t)share->counted * tenant->weight * QOS_PART_ONE;

	if (tenant->group != NULL)
		part = part / tenant->group->weights * tenant->group->weight;
	tenant->part = part / share->weights;
	tenant->part_of = share->parts;
	return tenant->part;
}
