/*
 * update.c - a controller is given another snapshot of its subsystem: what has
 * changed for its host?
 *
 * Compares, and raises what follows.  Who changed it, and when the others
 * hear of it, is not known here.
 */
#include <assert.h>

#include "ctrl/internal.h"

/* What page 04h is for: the host asks Identify anew about a namespace that is not the same. */
static bool
ns_same(const struct ns_info *a, const struct ns_info *b)
{
	return a->blocks == b->blocks && a->block_size == b->block_size && a->shared == b->shared &&
	    a->protection == b->protection && a->ana_group == b->ana_group &&
	    a->rescap == b->rescap && a->cache_life == b->cache_life && subsys_same_ns(a, b);
}

/* Nor is there a controller for which anything of it is not the same. */
static bool
ns_same_to_all(const struct ns_info *a, const struct ns_info *b)
{
	return ns_same(a, b) && subsys_same_lists(a, b);
}

/* Both lists ascend, so one walk over both finds what is in one alone. */
void
subsys_compare(const struct subsys_info *old, const struct subsys_info *new, struct subsys_diff *diff)
{
	uint32_t i = 0, j = 0;

	if (diff->old == old && diff->new == new)
		return;
	subsys_assert(new);
	diff->old = old;
	diff->new = new;
	diff->count = 0;
	while (i < old->ns_count || j < new->ns_count) {
		const struct ns_info *was = i < old->ns_count ? &old->ns[i] : NULL;
		const struct ns_info *is = j < new->ns_count ? &new->ns[j] : NULL;

		if (is != NULL && (was == NULL || is->nsid < was->nsid))
			was = NULL;
		else if (is != NULL && was->nsid < is->nsid)
			is = NULL;
		assert(was != NULL || is != NULL);
		if (was == NULL || is == NULL || !ns_same_to_all(was, is))
			diff->ns[diff->count++] = (struct subsys_ns_diff){
				was != NULL ? was->nsid : is->nsid, was, is,
			};
		i += was != NULL;
		j += is != NULL;
	}
}

static void
ns_compare(struct ctrl *ctrl, const struct subsys_ns_diff *diff)
{
	const struct ns_info *was = diff->was, *is = diff->is;

	if (was == NULL || is == NULL || !subsys_same_ns(was, is))
		resv_mask_forget(ctrl, diff->nsid);
	if (was != NULL && !ctrl_attached(ctrl, was))
		was = NULL;
	if (is != NULL && !ctrl_attached(ctrl, is))
		is = NULL;
	if (was != NULL && is != NULL ? !ns_same(was, is) : was != is)
		events_ns_changed(ctrl, diff->nsid);
	/* Page 04h brings hosts to Identify, not to page 0Ch, which has the state of the other group (8.1). */
	if (was != NULL && is != NULL && was->ana_group != is->ana_group)
		events_notify(ctrl, CTRL_ANA_CHANGED);
}

void
ctrl_update(struct ctrl *ctrl, const struct subsys_info *subsys, struct subsys_diff *diff)
{
	const struct subsys_info *old = ctrl->subsys;

	assert(strncmp(old->nqn, subsys->nqn, NVME_NQN_FIELD) == 0 && old->discovery == subsys->discovery);
	assert((old->ana_count > 0) == (subsys->ana_count > 0));
	subsys_compare(old, subsys, diff);
	ctrl->subsys = subsys;
	for (uint32_t i = 0; i < diff->count; i++)
		ns_compare(ctrl, &diff->ns[i]);
	ana_compare(ctrl, old, subsys);
	if (old->genctr != subsys->genctr)
		events_notify(ctrl, CTRL_DISCOVERY_CHANGED);
}
