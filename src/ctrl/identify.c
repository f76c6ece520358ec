/*
 * identify.c - who the controller and its namespaces are (NVMe Base 2.0, 5.17).
 *
 * Values follow what the Linux host demands of a Fabrics controller where the
 * specification leaves a choice.
 */
#include "ctrl/internal.h"

#include "wire/feature.h"
#include "wire/identify.h"
#include "wire/log.h"

enum {
	RTD3E_US = 10 * 1000 * 1000, /* how long a shutdown may take */
};

static void
common_part(const struct ctrl *ctrl, struct nvme_identify_ctrl *id)
{
	const struct subsys_info *subsys = ctrl->subsys;

	ctrl_pad(id->sn, sizeof(id->sn), subsys->serial);
	ctrl_pad(id->mn, sizeof(id->mn), subsys->model);
	ctrl_pad(id->fr, sizeof(id->fr), subsys->firmware);
	id->mdts = subsys->mdts_shift;
	id->cntlid = le16_of(ctrl->cntlid);
	id->ver = le32_of(NVME_VS_2_0);
	id->oaes = le32_of(events_supported(ctrl) & ~NVME_ASYNC_SMART); /* SMART events have no bit here */
	id->ctratt = le32_of(NVME_CTRATT_HOSTID128 | NVME_CTRATT_TBKAS);
	id->acl = CTRL_ABORTS_MAX - 1;
	id->aerl = CTRL_AER_MAX - 1;
	id->lpa = NVME_LPA_EXTENDED;
	id->kas = le16_of(CTRL_KAS_MS / 100);
	id->maxcmd = le16_of((uint16_t)(subsys->discovery ? CTRL_ADMIN_ENTRIES : subsys->entries_max));
	id->sgls = le32_of(NVME_SGLS_BYTE_ALIGNED | NVME_SGLS_OFFSET | NVME_SGLS_TRANSPORT);
	memcpy(id->subnqn, subsys->nqn, sizeof(id->subnqn));
}

/* All that the subsystem's namespaces have, whoever made them, and what hosts may still make. */
static void
capacity_part(const struct subsys_info *subsys, struct nvme_identify_ctrl *id)
{
	unsigned __int128 total = subsys->capacity_free;

	for (uint32_t i = 0; i < subsys->ns_count; i++)
		total += (unsigned __int128)subsys->ns[i].blocks * subsys->ns[i].block_size;
	id->tnvmcap.low = le64_of((uint64_t)total);
	id->tnvmcap.high = le64_of((uint64_t)(total >> 64));
	id->unvmcap.low = le64_of(subsys->capacity_free);
}

static void
io_part(const struct ctrl *ctrl, struct nvme_identify_ctrl *id)
{
	const struct subsys_info *subsys = ctrl->subsys;

	id->cmic = NVME_CMIC_MULTI_PORT | NVME_CMIC_MULTI_CTRL;
	id->rtd3e = le32_of(RTD3E_US);
	id->cntrltype = NVME_CNTRLTYPE_IO;
	id->frmw = 0x03; /* one slot, read only */
	id->lpa |= NVME_LPA_EFFECTS | NVME_LPA_PAGES;
	if (subsys->ns_management) {
		id->oacs = le16_of(NVME_OACS_NS_MANAGEMENT);
		capacity_part(subsys, id);
	}
	if (subsys->event_log) {
		id->lpa |= NVME_LPA_PERSISTENT;
		id->pels = le32_of(EVENTLOG_PAGE_MAX / 65536);
	}
	id->elpe = CTRL_ERROR_LOG - 1;
	id->wctemp = le16_of(CTRL_KELVIN_WARNING);
	id->cctemp = le16_of(CTRL_KELVIN_CRITICAL);
	id->sqes = 0x66;
	id->cqes = 0x44;
	id->nn = le32_of(CTRL_NS_MAX);
	id->oncs = le16_of(NVME_ONCS_COMPARE | NVME_ONCS_DSM | NVME_ONCS_WRITE_ZEROES | NVME_ONCS_SAVE_SELECT |
	    NVME_ONCS_TIMESTAMP | NVME_ONCS_VERIFY | NVME_ONCS_COPY |
	    (subsys_marks_bad(subsys) ? NVME_ONCS_WRITE_UNCORRECTABLE : 0) |
	    (subsys->reservations ? NVME_ONCS_RESERVATIONS : 0));
	id->fuses = le16_of(NVME_FUSES_COMPARE_WRITE);
	id->acwu = le16_of((uint16_t)(subsys->fused_max / 4096 - 1)); /* of the largest blocks there are */
	id->cdfs = le16_of(NVME_OCFS_FORMAT0);
	id->nwpc = subsys->nwpc;
	id->vwc = NVME_VWC_FLUSH_ALL | (subsys_volatile_cache(subsys) ? NVME_VWC_PRESENT : 0);
	id->ioccsz = le32_of((64 + subsys->incapsule_max) / 16);
	id->iorcsz = le32_of(1);
	id->fcatt = subsys->static_ids > 0 ? NVME_FCATT_STATIC : 0;
	id->msdbd = 1;
	id->ofcs = le16_of(NVME_OFCS_DISCONNECT);
	extension_identify(ctrl, id);
}

static void
ana_part(const struct ctrl *ctrl, struct nvme_identify_ctrl *id)
{
	id->cmic |= NVME_CMIC_ANA;
	id->anatt = CTRL_ANATT_S;
	id->anacap = (uint8_t)(NVME_ANACAP_STATES |
	    (ctrl->subsys->ns_management ? NVME_ANACAP_GROUP_CHOSEN : 0));
	id->anagrpmax = id->nanagrpid = le32_of(CTRL_ANA_MAX);
	id->mnan = le32_of(CTRL_NS_MAX);
}

static void
identify_ctrl(struct admin *cmd)
{
	struct nvme_identify_ctrl *id = admin_answer(cmd, NVME_IDENTIFY_LEN);

	if (id == NULL)
		return;
	common_part(cmd->ctrl, id);
	if (cmd->ctrl->subsys->discovery)
		id->cntrltype = NVME_CNTRLTYPE_DISCOVERY;
	else
		io_part(cmd->ctrl, id);
	if (cmd->ctrl->subsys->ana_count > 0)
		ana_part(cmd->ctrl, id);
}

/* A port from which a namespace cannot be reached does not know how much is used of it, nor for it (8.1.3.3). */
static bool
usage_known(const struct ctrl *ctrl, const struct ns_info *ns)
{
	enum nvme_ana_state state = ctrl_ana_state(ctrl, ns->nsid);

	return state != NVME_ANA_INACCESSIBLE && state != NVME_ANA_PERSISTENT_LOSS;
}

static void
fill_formats(const struct subsys_info *subsys, uint32_t block_size, struct nvme_identify_ns *id)
{
	if (!subsys->ns_management) {
		id->lbaf[0].lbads = (uint8_t)__builtin_ctz(block_size);
		return;
	}
	id->nlbaf = 1;
	id->flbas = subsys_format(subsys, block_size);
	id->lbaf[0].lbads = 9;
	id->lbaf[1].lbads = 12;
}

static void
fill_limits(const struct subsys_info *subsys, const struct ns_info *ns, struct nvme_identify_ns *id)
{
	uint32_t copy_max = subsys->copy_max / ns->block_size;

	id->nsfeat |= NVME_NSFEAT_ATOMICS;
	id->nacwu = le16_of((uint16_t)(subsys->fused_max / ns->block_size - 1));
	id->mssrl = le16_of((uint16_t)(subsys->copy_range_max < copy_max ? subsys->copy_range_max : copy_max));
	id->mcl = le32_of(copy_max);
	id->msrc = (uint8_t)(subsys->copy_ranges - 1);
}

static void
fill_ns(const struct ctrl *ctrl, const struct ns_info *ns, struct nvme_identify_ns *id)
{
	id->nsze = id->ncap = le64_of(ns->blocks);
	if (usage_known(ctrl, ns)) {
		id->nuse = id->nsze;
		put_le64(id->nvmcap, ns->blocks * ns->block_size);
	}
	id->anagrpid = le32_of(ns->ana_group);
	id->rescap = ns->rescap;
	id->nmic = ns->shared ? NVME_NMIC_SHARED : 0;
	id->nsattr = ns->protection != NVME_PROTECT_NONE ? NVME_NSATTR_PROTECTED : 0;
	id->dlfeat = ns->trim_zeroes ? NVME_DLFEAT_ZEROES | NVME_DLFEAT_DEAC : 0;
	memcpy(id->nguid, ns->nguid, sizeof(id->nguid));
	fill_formats(ctrl->subsys, ns->block_size, id);
	extension_identify_ns(ns, id);
}

/* Whether the NSID may be asked about; it need not be active. */
static bool
ns_valid(struct admin *cmd)
{
	uint32_t nsid = le32_get(cmd->sqe->nsid);

	if (nsid != 0 && nsid <= CTRL_NS_MAX)
		return true;
	admin_refuse(cmd, NVME_SC_INVALID_NS);
	return false;
}

static const struct ns_info *
ns_active(struct admin *cmd)
{
	const struct ns_info *ns = ctrl_ns(cmd->ctrl, le32_get(cmd->sqe->nsid));

	if (ns == NULL)
		admin_refuse(cmd, NVME_SC_INVALID_NS);
	return ns;
}

/* NSID FFFFFFFFh: what a namespace that is created can have. */
static void
identify_common(struct admin *cmd)
{
	struct nvme_identify_ns *id = admin_answer(cmd, NVME_IDENTIFY_LEN);

	if (id == NULL)
		return;
	id->nmic = NVME_NMIC_SHARED;
	fill_formats(cmd->ctrl->subsys, 512, id);
}

static void
identify_one(struct admin *cmd, const struct ns_info *ns)
{
	struct nvme_identify_ns *id;

	if (!ns_valid(cmd))
		return;
	id = admin_answer(cmd, NVME_IDENTIFY_LEN);
	if (id == NULL || ns == NULL)
		return;
	fill_ns(cmd->ctrl, ns, id);
	fill_limits(cmd->ctrl->subsys, ns, id);
}

static void
identify_ns(struct admin *cmd)
{
	uint32_t nsid = le32_get(cmd->sqe->nsid);

	if (nsid == UINT32_MAX && cmd->ctrl->subsys->ns_management)
		identify_common(cmd);
	else
		identify_one(cmd, ctrl_ns(cmd->ctrl, nsid));
}

static void
identify_allocated(struct admin *cmd)
{
	identify_one(cmd, subsys_ns(cmd->ctrl->subsys, le32_get(cmd->sqe->nsid)));
}

/* Those behind the NSID that was named: `all`, or those attached to the controller. */
void
identify_list(struct admin *cmd, bool all)
{
	const struct subsys_info *subsys = cmd->ctrl->subsys;
	uint32_t after = le32_get(cmd->sqe->nsid), count = 0;
	uint8_t *list;

	if (after >= UINT32_MAX - 1) {
		admin_refuse(cmd, NVME_SC_INVALID_NS);
		return;
	}
	list = admin_answer(cmd, NVME_IDENTIFY_LEN);
	if (list == NULL)
		return;
	for (uint32_t i = 0; i < subsys->ns_count && count < NVME_NS_LIST_MAX; i++)
		if (subsys->ns[i].nsid > after && (all || ctrl_attached(cmd->ctrl, &subsys->ns[i])))
			put_le32(list + 4 * count++, subsys->ns[i].nsid);
}

static void
identify_ns_list(struct admin *cmd)
{
	identify_list(cmd, false);
}

static uint8_t *
put_descriptor(uint8_t *at, enum nvme_nidt nidt, const void *nid, uint8_t bytes)
{
	*at = (uint8_t)nidt;
	at[1] = bytes;
	memcpy(at + sizeof(struct nvme_ns_descriptor), nid, bytes);
	return at + sizeof(struct nvme_ns_descriptor) + bytes;
}

static void
identify_descriptors(struct admin *cmd)
{
	const struct ns_info *ns = ns_active(cmd);
	const uint8_t csi = NVME_CSI_NVM;
	uint8_t *at;

	if (ns == NULL)
		return;
	at = admin_answer(cmd, NVME_IDENTIFY_LEN);
	if (at == NULL)
		return;
	at = put_descriptor(at, NVME_NIDT_NGUID, ns->nguid, sizeof(ns->nguid));
	at = put_descriptor(at, NVME_NIDT_UUID, ns->uuid, sizeof(ns->uuid));
	put_descriptor(at, NVME_NIDT_CSI, &csi, sizeof(csi));
}

/* The NVM command set adds nothing for a namespace without protection information, as all are. */
static void
identify_csi_ns(struct admin *cmd)
{
	if ((le32_get(cmd->sqe->nsid) == UINT32_MAX && cmd->ctrl->subsys->ns_management) || ns_valid(cmd))
		admin_answer(cmd, NVME_IDENTIFY_LEN);
}

static void
identify_csi_allocated(struct admin *cmd)
{
	if (ns_valid(cmd))
		admin_answer(cmd, NVME_IDENTIFY_LEN);
}

/* Zeros say "no limit": Write Zeroes goes by NLB, Dataset Management by its 256 ranges. */
static void
identify_csi_ctrl(struct admin *cmd)
{
	admin_answer(cmd, NVME_IDENTIFY_LEN);
}

static void
identify_ns_independent(struct admin *cmd)
{
	const struct ns_info *ns = ctrl_ns(cmd->ctrl, le32_get(cmd->sqe->nsid));
	struct nvme_identify_ns_independent *id;

	if (!ns_valid(cmd))
		return;
	id = admin_answer(cmd, NVME_IDENTIFY_LEN);
	if (id == NULL || ns == NULL)
		return;
	id->nmic = ns->shared ? NVME_NMIC_SHARED : 0;
	id->nsattr = ns->protection != NVME_PROTECT_NONE ? NVME_NSATTR_PROTECTED : 0;
	id->anagrpid = le32_of(ns->ana_group);
	id->rescap = ns->rescap;
	id->nstat = NVME_NSTAT_READY;
}

/* The only combination of command sets is NVM alone. */
static void
identify_command_sets(struct admin *cmd)
{
	uint16_t cntid = (uint16_t)(le32_get(cmd->sqe->cdw10) >> 16);
	uint8_t *vectors;

	if (cntid != 0xffff && cntid != cmd->ctrl->cntlid && !manage_there(cmd, cntid)) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
		return;
	}
	vectors = admin_answer(cmd, NVME_IDENTIFY_LEN);
	if (vectors != NULL)
		put_le64(vectors, UINT64_C(1) << NVME_CSI_NVM);
}

static const struct cns {
	void (*run)(struct admin *cmd);
	bool csi;       /* a command set is asked for: there is only NVM */
	bool discovery; /* also of a discovery controller */
	bool management; /* where there is namespace management */
} table[] = {
	[NVME_CNS_NS] =                  { identify_ns,             false, false, false },
	[NVME_CNS_CTRL] =                { identify_ctrl,           false, true, false },
	[NVME_CNS_NS_ACTIVE_LIST] =      { identify_ns_list,        false, false, false },
	[NVME_CNS_NS_DESCRIPTORS] =      { identify_descriptors,    false, false, false },
	[NVME_CNS_CSI_NS] =              { identify_csi_ns,         true,  false, false },
	[NVME_CNS_CSI_CTRL] =            { identify_csi_ctrl,       true,  false, false },
	[NVME_CNS_CSI_NS_ACTIVE_LIST] =  { identify_ns_list,        true,  false, false },
	[NVME_CNS_CSI_INDEPENDENT_NS] =  { identify_ns_independent, false, false, false },
	[NVME_CNS_NS_ALLOCATED_LIST] =   { identify_allocated_list, false, false, true },
	[NVME_CNS_NS_ALLOCATED] =        { identify_allocated,      false, false, true },
	[NVME_CNS_NS_CTRL_LIST] =        { identify_ns_controllers, false, false, true },
	[NVME_CNS_CTRL_LIST] =           { identify_controllers,    false, false, true },
	[NVME_CNS_CSI_NS_ALLOCATED_LIST] = { identify_allocated_list, true, false, true },
	[NVME_CNS_CSI_NS_ALLOCATED] =    { identify_csi_allocated,  true,  false, true },
	[NVME_CNS_COMMAND_SETS] =        { identify_command_sets,   false, false, false },
};

void
admin_identify(struct admin *cmd)
{
	uint8_t number = (uint8_t)le32_get(cmd->sqe->cdw10);
	uint8_t csi = (uint8_t)(le32_get(cmd->sqe->cdw11) >> 24);
	const struct cns *cns = number < sizeof(table) / sizeof(table[0]) ? &table[number] : NULL;

	if (cns == NULL || cns->run == NULL || (cmd->ctrl->subsys->discovery && !cns->discovery) ||
	    (cns->csi && csi != NVME_CSI_NVM) || (cns->management && !cmd->ctrl->subsys->ns_management))
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	else
		cns->run(cmd);
}
