/*
 * protect.c - feature 84h: namespaces that take no writes (NVMe Base 2.0, 5.27.1.29, 8.16).
 *
 * Judges what a host asks for.  What it comes to is for the target to keep and
 * to say in the next snapshot.
 */
#include "ctrl/internal.h"

#include "wire/feature.h"
#include "wire/identify.h"

/* Which states the subsystem offers; to lift the protection is always one. */
static bool
offered(const struct subsys_info *subsys, uint32_t value)
{
	static const uint8_t needs[] = {
		[NVME_PROTECT_NONE] = NVME_NWPC_PROTECT,
		[NVME_PROTECT_WRITES] = NVME_NWPC_PROTECT,
		[NVME_PROTECT_UNTIL_POWER_CYCLE] = NVME_NWPC_POWER_CYCLE,
		[NVME_PROTECT_FOR_EVER] = NVME_NWPC_PERMANENT,
	};

	return value < sizeof(needs) && subsys->nwpc & needs[value];
}

/* The two stronger states are not left by command. */
static bool
stays(const struct ns_info *ns, uint32_t value)
{
	return ns->protection >= NVME_PROTECT_UNTIL_POWER_CYCLE && ns->protection != value;
}

/* What is so already is asked of the target too: whether it is kept as well, a snapshot does not say. */
void
protection_set(struct admin *cmd, uint32_t value)
{
	const struct ctrl *ctrl = cmd->ctrl;
	uint32_t nsid = le32_get(cmd->sqe->nsid);
	bool fixed = false, any = false;

	if (!offered(ctrl->subsys, value)) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
		return;
	}
	for (uint32_t i = 0; i < ctrl->subsys->ns_count; i++) {
		const struct ns_info *ns = &ctrl->subsys->ns[i];

		if ((nsid != UINT32_MAX && ns->nsid != nsid) || !ctrl_attached(ctrl, ns))
			continue;
		fixed |= stays(ns, value);
		any = true;
	}
	if (fixed) {
		admin_refuse(cmd, NVME_SC_NOT_CHANGEABLE);
	} else if (any) {
		cmd->reply->action = CTRL_PROTECT;
		cmd->reply->nsid = nsid;
		cmd->reply->value = value;
	}
}

uint32_t
protection_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	return by_default ? NVME_PROTECT_NONE : ctrl_ns(cmd->ctrl, le32_get(cmd->sqe->nsid))->protection;
}
