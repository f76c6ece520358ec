/*
 * connect.c - may this host connect so?  (NVMe Base 2.0, 6.3)
 *
 * Judges the fields of a Connect; what only the target knows (which queues
 * live) is not asked here, and which hosts are allowed it says.
 */
#include "ctrl/internal.h"

#define IN_SQE(field) offsetof(struct nvme_connect_sqe, field), false
#define IN_DATA(field) offsetof(struct nvme_connect_data, field), true

static struct nvme_status
wrong(struct nvme_connect_fault *fault, size_t ipo, bool in_data)
{
	*fault = (struct nvme_connect_fault){ (uint16_t)ipo, in_data };
	return nvme_status_of(NVME_SC_CONNECT_PARAMS, true);
}

static bool
same_nqn(const char a[NVME_NQN_FIELD], const char b[NVME_NQN_FIELD])
{
	return strncmp(a, b, NVME_NQN_FIELD) == 0;
}

/* A host is none where it has the name of what it may connect to. */
static bool
is_host(const char nqn[NVME_NQN_FIELD])
{
	return nvme_nqn_length(nqn) >= 0 && strncmp(nqn, NVME_DISCOVERY_NQN, NVME_NQN_FIELD) != 0;
}

static bool
is_zero(const uint8_t id[16])
{
	static const uint8_t zero[16];

	return memcmp(id, zero, sizeof(zero)) == 0;
}

/* What an admin queue may ask for (Base 2.0, 3.1.2). */
static bool
asks_right(const struct subsys_info *subsys, uint16_t cntlid)
{
	if (subsys->static_ids == 0)
		return cntlid == NVME_CNTLID_DYNAMIC;
	return cntlid == NVME_CNTLID_STATIC || (cntlid >= 1 && cntlid <= subsys->static_ids);
}

static struct nvme_status
admitted(enum ctrl_admission admission, struct nvme_connect_fault *fault)
{
	switch (admission) {
	case CTRL_HOST_ADMITTED:
		return NVME_OK;
	case CTRL_HOST_UNKNOWN:
		wrong(fault, IN_DATA(hostnqn));
		return nvme_status_of(NVME_SC_CONNECT_HOST, true);
	case CTRL_HOST_OTHER_ID:
		return wrong(fault, IN_DATA(hostid));
	case CTRL_HOST_NO_ROOM:
		return nvme_status_of(NVME_SC_CONNECT_BUSY, false);
	}
	assert(false);
	return NVME_OK;
}

struct nvme_status
ctrl_check_connect(const struct subsys_info *subsys, enum ctrl_admission admission,
    const struct nvme_connect_sqe *sqe, const struct nvme_connect_data *data, struct nvme_connect_fault *fault)
{
	uint16_t sqsize = le16_get(sqe->sqsize);

	*fault = (struct nvme_connect_fault){ 0 };
	if (le16_get(sqe->recfmt) != 0)
		return nvme_status_of(NVME_SC_CONNECT_FORMAT, true);
	if (le16_get(sqe->qid) != 0)
		return wrong(fault, IN_SQE(qid));
	if (sqsize == 0 || sqsize >= CTRL_ADMIN_ENTRIES)
		return wrong(fault, IN_SQE(sqsize));
	if (is_zero(data->hostid))
		return wrong(fault, IN_DATA(hostid));
	if (nvme_nqn_length(data->subnqn) < 0 || subsys == NULL || !same_nqn(data->subnqn, subsys->nqn))
		return wrong(fault, IN_DATA(subnqn));
	if (!asks_right(subsys, le16_get(data->cntlid)))
		return wrong(fault, IN_DATA(cntlid));
	if (!is_host(data->hostnqn))
		return wrong(fault, IN_DATA(hostnqn));
	return admitted(admission, fault);
}

struct nvme_status
ctrl_check_io_connect(const struct ctrl *ctrl, const struct nvme_connect_sqe *sqe,
    const struct nvme_connect_data *data, struct nvme_connect_fault *fault)
{
	uint16_t qid = le16_get(sqe->qid), sqsize = le16_get(sqe->sqsize);
	uint32_t queues;

	*fault = (struct nvme_connect_fault){ 0 };
	if (le16_get(sqe->recfmt) != 0)
		return nvme_status_of(NVME_SC_CONNECT_FORMAT, true);
	if (ctrl == NULL || le16_get(data->cntlid) != ctrl->cntlid)
		return wrong(fault, IN_DATA(cntlid));
	queues = ctrl->io_queues_granted != 0 ? ctrl->io_queues_granted : ctrl->subsys->io_queues_max;
	if (ctrl->subsys->discovery || qid == 0 || qid > queues)
		return wrong(fault, IN_SQE(qid));
	if (sqsize == 0 || sqsize >= ctrl->subsys->entries_max)
		return wrong(fault, IN_SQE(sqsize));
	if (memcmp(data->hostid, ctrl->hostid, sizeof(ctrl->hostid)) != 0)
		return wrong(fault, IN_DATA(hostid));
	if (nvme_nqn_length(data->subnqn) < 0 || !same_nqn(data->subnqn, ctrl->subsys->nqn))
		return wrong(fault, IN_DATA(subnqn));
	if (nvme_nqn_length(data->hostnqn) < 0 || !same_nqn(data->hostnqn, ctrl->hostnqn))
		return wrong(fault, IN_DATA(hostnqn));
	if (!(ctrl->csts & NVME_CSTS_RDY) || ctrl->csts & (NVME_CSTS_CFS | NVME_CSTS_SHST_MASK) ||
	    !(ctrl->cc & NVME_CC_EN))
		return nvme_status_of(NVME_SC_SEQUENCE, true);
	return NVME_OK;
}
