/*
 * extension.c - what a host that knows Weir may ask for beyond the standard.
 *
 * Announced in Identify Controller, granted by a feature, and not there for who
 * was not granted it.  (doc/extension.md)
 */
#include "ctrl/internal.h"

#include "wire/extension.h"
#include "wire/identify.h"

enum { OFFERED = WEIR_CREDITS | WEIR_FENCE | WEIR_VIEW };

/* Ordered writes only where there is a log for them. */
static uint32_t
offered(const struct ctrl *ctrl)
{
	return OFFERED | (ctrl->subsys->order_slots > 0 ? WEIR_ORDER : 0);
}

void
extension_identify(const struct ctrl *ctrl, struct nvme_identify_ctrl *id)
{
	struct weir_identify weir = {
		.magic = WEIR_MAGIC, .version = le16_of(WEIR_EXTENSION_VERSION), .length = le16_of(sizeof(weir)),
		.capabilities = le32_of(offered(ctrl)), .log_slots = le32_of(ctrl->subsys->order_slots),
		.streams = le32_of(ctrl->subsys->order_slots > 0 ? CTRL_STREAMS : 0),
	};

	static_assert(sizeof(weir) <= sizeof(id->vendor), "finds room in Identify Controller");
	memcpy(id->vendor, &weir, sizeof(weir));
}

void
extension_identify_ns(const struct ns_info *ns, struct nvme_identify_ns *id)
{
	struct weir_identify_ns weir = {
		.magic = WEIR_MAGIC, .version = le16_of(WEIR_EXTENSION_VERSION), .length = le16_of(sizeof(weir)),
		.cache_life = le64_of(ns->cache_life),
	};

	memcpy(id->vendor, &weir, sizeof(weir));
}

/* Bits that nobody knows are not granted, and no error: the host is told what it has. */
void
extension_set(struct admin *cmd, uint32_t value)
{
	cmd->ctrl->features.extension = value & offered(cmd->ctrl);
	cmd->reply->dw0 = cmd->ctrl->features.extension;
}

uint32_t
extension_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	return by_default ? 0 : cmd->ctrl->features.extension;
}

/* What there is of the namespace the target knows. */
void
extension_view(struct admin *cmd, const struct window *w)
{
	uint32_t nsid = le32_get(cmd->sqe->nsid);
	struct weir_log_view page = { 0 };

	if (ctrl_ns(cmd->ctrl, nsid) == NULL) {
		admin_refuse(cmd, nsid == UINT32_MAX ? NVME_SC_INVALID_FIELD : NVME_SC_INVALID_NS);
		return;
	}
	if (cmd->given->view != NULL)
		page = *cmd->given->view;
	weir_view_sign(&page, nsid);
	window_put(w, 0, &page, sizeof(page));
}

/* Which others there are the target knows. */
void
admin_fence(struct admin *cmd)
{
	uint32_t which = le32_get(cmd->sqe->cdw10);

	if (which > UINT16_MAX || which == cmd->ctrl->cntlid || which == 0 ||
	    (which > NVME_CNTLID_MAX && which != WEIR_FENCE_OLDER)) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
		return;
	}
	cmd->reply->action = CTRL_FENCE;
	cmd->reply->value = which;
}

/* ---- ordered writes: what there is of them the target knows ---- */

/* Only what is stopped is taken, and by somebody. */
static bool
is_list(const struct nvme_sqe *sqe)
{
	uint32_t flags = le32_get(sqe->cdw10) & ~(uint32_t)UINT16_MAX;

	return flags == 0 || flags == WEIR_LIST_STOP || flags == WEIR_LIST_STREAMS ||
	    (flags == (WEIR_LIST_STOP | WEIR_LIST_TAKE) && le32_get(sqe->cdw13) != 0);
}

void
admin_list(struct admin *cmd)
{
	uint64_t bytes = ((uint64_t)le32_get(cmd->sqe->cdw12) + 1) * 4;

	if (!is_list(cmd->sqe) || bytes > UINT32_MAX) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
		return;
	}
	if (admin_answer(cmd, (uint32_t)bytes) != NULL)
		cmd->reply->action = CTRL_ORDERED;
}

void
admin_cut(struct admin *cmd)
{
	if (le32_get(cmd->sqe->cdw12) & ~(uint32_t)(WEIR_CUT_GONE | WEIR_CUT_FORCE))
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	else
		cmd->reply->action = CTRL_ORDERED;
}

void
admin_floor(struct admin *cmd)
{
	if (le32_get(cmd->sqe->cdw10) > UINT16_MAX || le32_get(cmd->sqe->cdw12) & ~(uint32_t)WEIR_FLOOR_ENDS)
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	else
		cmd->reply->action = CTRL_ORDERED;
}
