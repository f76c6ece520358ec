/*
 * ana.c - asymmetric namespace access (NVMe Base 2.0, 8.1): through which
 * ports can which namespaces be reached, and how well?
 *
 * Reports what the snapshot says of the port this controller's host came
 * through.  Who decides on states, and keeps commands to them, is elsewhere.
 */
#include "ctrl/internal.h"

#include "wire/log.h"

enum nvme_ana_state
ana_group_state(const struct ctrl *ctrl, const struct subsys_info *subsys, uint32_t id)
{
	for (uint32_t i = 0; i < subsys->ana_count; i++)
		if (subsys->ana[i].id == id)
			return subsys->ana[i].state[ctrl->portal];
	return 0;
}

enum nvme_ana_state
ctrl_ana_state(const struct ctrl *ctrl, uint32_t nsid)
{
	const struct ns_info *ns = ctrl_ns(ctrl, nsid);

	if (ns == NULL || ctrl->subsys->ana_count == 0)
		return NVME_ANA_OPTIMIZED;
	return ana_group_state(ctrl, ctrl->subsys, ns->ana_group);
}

struct nvme_status
ctrl_ana_status(enum nvme_ana_state state)
{
	switch (state) {
	case NVME_ANA_OPTIMIZED:
	case NVME_ANA_NON_OPTIMIZED:
		return NVME_OK;
	case NVME_ANA_INACCESSIBLE:
		return nvme_status_of(NVME_SC_ANA_INACCESSIBLE, false);
	case NVME_ANA_PERSISTENT_LOSS:
		return nvme_status_of(NVME_SC_ANA_PERSISTENT_LOSS, false);
	case NVME_ANA_CHANGE:
		return nvme_status_of(NVME_SC_ANA_TRANSITION, false);
	}
	assert(false);
	return NVME_OK;
}

bool
ana_holds(struct admin *cmd, bool lost_alone)
{
	const struct subsys_info *subsys = cmd->ctrl->subsys;
	uint32_t nsid = le32_get(cmd->sqe->nsid);

	for (uint32_t i = 0; i < subsys->ns_count; i++) {
		enum nvme_ana_state state = ctrl_ana_state(cmd->ctrl, subsys->ns[i].nsid);

		if ((nsid != UINT32_MAX && subsys->ns[i].nsid != nsid) || nvme_ok(ctrl_ana_status(state)) ||
		    (lost_alone && state != NVME_ANA_PERSISTENT_LOSS))
			continue;
		cmd->reply->status = ctrl_ana_status(state);
		return true;
	}
	return false;
}

/* A namespace that changes its group is ns_compare()'s. */
void
ana_compare(struct ctrl *ctrl, const struct subsys_info *old, const struct subsys_info *new)
{
	bool changed = old->ana_count != new->ana_count;

	for (uint32_t i = 0; i < new->ana_count; i++)
		changed |= ana_group_state(ctrl, old, new->ana[i].id) != new->ana[i].state[ctrl->portal];
	if (changed)
		events_notify(ctrl, CTRL_ANA_CHANGED);
}

/* ---- log page 0Ch: ascending groups, each with its namespaces, ascending too ---- */

static bool
groups_only(const struct admin *cmd)
{
	return le32_get(cmd->sqe->cdw10) & NVME_ANA_RGO;
}

/* Writes the group at `at`, where there is a window, and returns where the next begins. */
static uint64_t
group_put(const struct ctrl *ctrl, const struct ana_group *group, bool names, const struct window *w, uint64_t at)
{
	const struct subsys_info *subsys = ctrl->subsys;
	struct nvme_log_ana_group entry = {
		.id = le32_of(group->id), .changes = le64_of(group->changes), .state = group->state[ctrl->portal],
	};
	uint64_t next = at + sizeof(entry);
	uint32_t count = 0;

	for (uint32_t i = 0; names && i < subsys->ns_count; i++) {
		le32 nsid = le32_of(subsys->ns[i].nsid);

		if (subsys->ns[i].ana_group != group->id || !ctrl_attached(ctrl, &subsys->ns[i]))
			continue;
		window_put(w, next, &nsid, sizeof(nsid));
		next += sizeof(nsid);
		count++;
	}
	entry.ns_count = le32_of(count);
	window_put(w, at, &entry, sizeof(entry));
	return next;
}

void
ana_make(struct admin *cmd, const struct window *w)
{
	const struct subsys_info *subsys = cmd->ctrl->subsys;
	struct nvme_log_ana head = {
		.changes = le64_of(subsys->ana_changes), .group_count = le16_of((uint16_t)subsys->ana_count),
	};
	uint64_t at = sizeof(head);

	window_put(w, 0, &head, sizeof(head));
	for (uint32_t i = 0; i < subsys->ana_count; i++)
		at = group_put(cmd->ctrl, &subsys->ana[i], !groups_only(cmd), w, at);
}
