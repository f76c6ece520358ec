/*
 * manage.c - Namespace Management and Attachment (NVMe Base 2.0, 5.23, 5.22), and
 * the Identify pages that belong to them.
 *
 * Judges what a host asks for.  To create, delete, attach and detach is the
 * target's work; it says what came of it by a snapshot and the answer.
 */
#include "ctrl/internal.h"

#include "wire/identify.h"

bool
manage_claimed(const struct subsys_info *subsys)
{
	return subsys->ns_management;
}

/* ---- Namespace Management ---- */

/* Formats are in the order that every namespace has them in: see fill_formats() in identify.c. */
static uint32_t
block_size_of(uint8_t flbas)
{
	return flbas == 0 ? 512 : flbas == 1 ? 4096 : 0;
}

static bool
group_exists(const struct subsys_info *subsys, uint32_t id)
{
	for (uint32_t i = 0; i < subsys->ana_count; i++)
		if (subsys->ana[i].id == id)
			return true;
	return false;
}

/* The sets and endurance groups that it may ask for there are not, so what it says of them is ignored. */
static enum nvme_sc
create_wrong(const struct admin *cmd, const struct nvme_identify_ns *ns)
{
	const struct subsys_info *subsys = cmd->ctrl->subsys;
	uint64_t blocks = le64_get(ns->nsze), capacity = le64_get(ns->ncap);
	uint32_t group = le32_get(ns->anagrpid);

	if (le32_get(cmd->sqe->cdw11) >> 24 != NVME_CSI_NVM)
		return NVME_SC_COMMAND_SET;
	if (block_size_of(ns->flbas) == 0)
		return NVME_SC_INVALID_FORMAT;
	if (blocks == 0 || capacity > blocks || ns->dps != 0 || ns->nmic > NVME_NMIC_SHARED)
		return NVME_SC_INVALID_FIELD;
	if (capacity != blocks)
		return NVME_SC_THIN_PROVISIONING;
	if (group != 0 && !group_exists(subsys, group))
		return NVME_SC_ANA_GROUP;
	if (subsys->ns_count == CTRL_NS_MAX)
		return NVME_SC_NSID_UNAVAILABLE;
	if (blocks > subsys->capacity_free / block_size_of(ns->flbas))
		return NVME_SC_NS_CAPACITY;
	return NVME_SC_SUCCESS;
}

static void
create(struct admin *cmd)
{
	const struct nvme_identify_ns *ns = (const void *)cmd->in;
	enum nvme_sc wrong;

	if (cmd->in_len < sizeof(*ns)) {
		admin_refuse(cmd, NVME_SC_SGL_LENGTH);
		return;
	}
	cmd->reply->create = (struct ns_info){
		.block_size = block_size_of(ns->flbas), .blocks = le64_get(ns->nsze),
		.shared = ns->nmic & NVME_NMIC_SHARED, .ana_group = le32_get(ns->anagrpid),
	};
	wrong = create_wrong(cmd, ns);
	if (wrong == NVME_SC_SUCCESS)
		cmd->reply->action = CTRL_NS_CREATE;
	else
		admin_refuse(cmd, wrong);
}

static void
delete(struct admin *cmd)
{
	uint32_t nsid = le32_get(cmd->sqe->nsid);

	if (ana_holds(cmd, false))
		return;
	if (nsid != UINT32_MAX && subsys_ns(cmd->ctrl->subsys, nsid) == NULL) {
		admin_refuse(cmd, NVME_SC_INVALID_NS);
		return;
	}
	cmd->reply->action = CTRL_NS_DELETE;
	cmd->reply->nsid = nsid;
}

void
admin_ns_management(struct admin *cmd)
{
	uint32_t select = le32_get(cmd->sqe->cdw10) & 15;

	if (select == NVME_NS_CREATE)
		create(cmd);
	else if (select == NVME_NS_DELETE)
		delete(cmd);
	else
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
}

/* ---- Namespace Attachment ---- */

static bool
in_set(const uint64_t *set, uint32_t cntlid)
{
	return cntlid <= NVME_CNTLID_MAX && set[cntlid / 64] >> cntlid % 64 & 1;
}

/* The first one from the id on; above NVME_CNTLID_MAX: there is none. */
static uint32_t
next_in_set(const uint64_t *set, uint32_t cntlid)
{
	while (cntlid <= NVME_CNTLID_MAX && !in_set(set, cntlid))
		cntlid = set[cntlid / 64] >> cntlid % 64 == 0 ? (cntlid / 64 + 1) * 64 : cntlid + 1;
	return cntlid;
}

/* One id or more, ascending, each of a controller that there is. */
static bool
list_right(const struct admin *cmd, const struct nvme_ctrl_ids *list)
{
	uint32_t count = le16_get(list->count), last = 0;

	if (count == 0 || count > sizeof(list->cntlid) / sizeof(list->cntlid[0]))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint16_t id = le16_get(list->cntlid[i]);

		if (id <= last || !in_set(cmd->given->there, id))
			return false;
		last = id;
	}
	return true;
}

static enum nvme_sc
attach_wrong(const struct ns_info *ns, const uint64_t *has, const struct nvme_ctrl_ids *list, uint32_t select)
{
	uint32_t count = le16_get(list->count);

	for (uint32_t i = 0; i < count; i++) {
		bool attached = in_set(has, le16_get(list->cntlid[i]));

		if (select == NVME_NS_ATTACH && attached)
			return NVME_SC_NS_ATTACHED;
		if (select == NVME_NS_DETACH && !attached)
			return NVME_SC_NS_NOT_ATTACHED;
	}
	if (select == NVME_NS_ATTACH && !ns->shared && (count > 1 || next_in_set(has, 0) <= NVME_CNTLID_MAX))
		return NVME_SC_NS_PRIVATE;
	return NVME_SC_SUCCESS;
}

void
admin_ns_attachment(struct admin *cmd)
{
	const struct nvme_ctrl_ids *list = (const void *)cmd->in;
	uint32_t select = le32_get(cmd->sqe->cdw10) & 15, nsid = le32_get(cmd->sqe->nsid);
	const struct ns_info *ns = subsys_ns(cmd->ctrl->subsys, nsid);
	enum nvme_sc wrong = NVME_SC_SUCCESS;

	if (ana_holds(cmd, false))
		return;
	if (select != NVME_NS_ATTACH && select != NVME_NS_DETACH)
		wrong = NVME_SC_INVALID_FIELD;
	else if (ns == NULL)
		wrong = NVME_SC_INVALID_NS;
	else if (cmd->in_len < sizeof(*list))
		wrong = NVME_SC_SGL_LENGTH;
	else if (!list_right(cmd, list))
		wrong = NVME_SC_CTRL_LIST;
	else
		wrong = attach_wrong(ns, cmd->given->attached, list, select);
	if (wrong != NVME_SC_SUCCESS) {
		admin_refuse(cmd, wrong);
		return;
	}
	cmd->reply->action = select == NVME_NS_ATTACH ? CTRL_NS_ATTACH : CTRL_NS_DETACH;
	cmd->reply->nsid = nsid;
	cmd->reply->cntlids = list;
	cmd->reply->newest = cmd->given->newest;
}

/* ---- Identify 10h, 12h, 13h ---- */

void
identify_allocated_list(struct admin *cmd)
{
	identify_list(cmd, true);
}

/* Those of the set from CNTID on. */
static void
list_controllers(struct admin *cmd, const uint64_t *set)
{
	uint32_t cntlid = next_in_set(set, le32_get(cmd->sqe->cdw10) >> 16);
	struct nvme_ctrl_ids *list = admin_answer(cmd, NVME_IDENTIFY_LEN);
	uint32_t count = 0, room = sizeof(list->cntlid) / sizeof(list->cntlid[0]);

	if (list == NULL)
		return;
	for (; cntlid <= NVME_CNTLID_MAX && count < room; cntlid = next_in_set(set, cntlid + 1))
		list->cntlid[count++] = le16_of((uint16_t)cntlid);
	list->count = le16_of((uint16_t)count);
}

void
identify_controllers(struct admin *cmd)
{
	list_controllers(cmd, cmd->given->there);
}

bool
manage_there(const struct admin *cmd, uint16_t cntlid)
{
	return in_set(cmd->given->there, cntlid);
}

void
identify_ns_controllers(struct admin *cmd)
{
	if (le32_get(cmd->sqe->nsid) == UINT32_MAX)
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	else if (subsys_ns(cmd->ctrl->subsys, le32_get(cmd->sqe->nsid)) == NULL)
		admin_refuse(cmd, NVME_SC_INVALID_NS);
	else
		list_controllers(cmd, cmd->given->attached);
}

bool
manage_needs_controllers(const struct ctrl *ctrl, const struct nvme_sqe *sqe)
{
	uint8_t cns = (uint8_t)le32_get(sqe->cdw10);

	if (sqe->opcode == NVME_ADMIN_IDENTIFY && cns == NVME_CNS_COMMAND_SETS)
		return !ctrl->subsys->discovery;
	if (!ctrl->subsys->ns_management)
		return false;
	return sqe->opcode == NVME_ADMIN_NS_ATTACHMENT || (sqe->opcode == NVME_ADMIN_IDENTIFY &&
	    (cns == NVME_CNS_NS_CTRL_LIST || cns == NVME_CNS_CTRL_LIST));
}

uint32_t
manage_data_in(const struct nvme_sqe *sqe)
{
	if (sqe->opcode == NVME_ADMIN_NS_ATTACHMENT)
		return sizeof(struct nvme_ctrl_ids);
	return (le32_get(sqe->cdw10) & 15) == NVME_NS_CREATE ? NVME_IDENTIFY_LEN : 0;
}
