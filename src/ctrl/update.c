/*
 * update.c - a controller is given another snapshot of its subsystem: what has
 * changed for its host?
 *
 * Compares, and raises what follows.  Who changed it, and when the others
 * hear of it, is not known here.
 */
#include "ctrl/internal.h"

/* What page 04h is for: the host asks Identify anew about a namespace that is not the same. */
static bool
ns_same(const struct ns_info *a, const struct ns_info *b)
{
	return a->blocks == b->blocks && a->block_size == b->block_size && a->shared == b->shared &&
	    a->protection == b->protection && a->ana_group == b->ana_group &&
	    a->rescap == b->rescap && subsys_same_ns(a, b);
}

static void
ns_compare(struct ctrl *ctrl, const struct ns_info *was, const struct ns_info *is, uint32_t nsid)
{
	if (was == NULL || is == NULL || !subsys_same_ns(was, is))
		resv_mask_forget(ctrl, nsid);
	if (was != NULL && !ctrl_attached(ctrl, was))
		was = NULL;
	if (is != NULL && !ctrl_attached(ctrl, is))
		is = NULL;
	if (was != NULL && is != NULL ? !ns_same(was, is) : was != is)
		events_ns_changed(ctrl, nsid);
}

/* Both lists ascend, so one walk over both finds what is in one alone. */
static void
namespaces_compare(struct ctrl *ctrl, const struct subsys_info *old, const struct subsys_info *new)
{
	uint32_t i = 0, j = 0;

	while (i < old->ns_count || j < new->ns_count) {
		const struct ns_info *was = i < old->ns_count ? &old->ns[i] : NULL;
		const struct ns_info *is = j < new->ns_count ? &new->ns[j] : NULL;

		if (is != NULL && (was == NULL || is->nsid < was->nsid))
			was = NULL;
		else if (is != NULL && was->nsid < is->nsid)
			is = NULL;
		ns_compare(ctrl, was, is, was != NULL ? was->nsid : is->nsid);
		i += was != NULL;
		j += is != NULL;
	}
}

void
ctrl_update(struct ctrl *ctrl, const struct subsys_info *subsys)
{
	const struct subsys_info *old = ctrl->subsys;

	assert(strncmp(old->nqn, subsys->nqn, NVME_NQN_FIELD) == 0 && old->discovery == subsys->discovery);
	assert((old->ana_count > 0) == (subsys->ana_count > 0));
	subsys_assert(subsys);
	ctrl->subsys = subsys;
	namespaces_compare(ctrl, old, subsys);
	ana_compare(ctrl, old, subsys);
	if (old->genctr != subsys->genctr)
		events_notify(ctrl, CTRL_DISCOVERY_CHANGED);
}
