/*
 * ctrl.c - a controller as a whole: its birth, what it is made of, its errors.
 */
#include "ctrl/internal.h"

#include "wire/log.h"

void
ctrl_init(struct ctrl *ctrl, const struct subsys_info *subsys, uint16_t cntlid, uint16_t portal,
    const struct nvme_connect_data *data, uint32_t kato_ms, uint64_t now_ns)
{
	assert(portal < CTRL_PORTALS_MAX && cntlid > 0 && cntlid <= NVME_CNTLID_MAX);
	subsys_assert(subsys);
	*ctrl = (struct ctrl){
		.subsys = subsys, .cntlid = cntlid, .portal = portal, .kato_connect_ms = ctrl_kato_round(kato_ms),
		.timestamp_set_ns = now_ns,
	};
	memcpy(ctrl->hostid, data->hostid, sizeof(ctrl->hostid));
	memcpy(ctrl->hostnqn, data->hostnqn, sizeof(ctrl->hostnqn));
	features_reset(ctrl);
	events_reset(ctrl);
}

uint32_t
ctrl_kato_round(uint32_t kato_ms)
{
	uint64_t rounded = ((uint64_t)kato_ms + CTRL_KAS_MS - 1) / CTRL_KAS_MS * CTRL_KAS_MS;

	return rounded <= UINT32_MAX ? (uint32_t)rounded : UINT32_MAX / CTRL_KAS_MS * CTRL_KAS_MS;
}

uint32_t
ctrl_silence_ms(const struct ctrl *ctrl)
{
	bool works = ctrl->cc & NVME_CC_EN && !(ctrl->csts & NVME_CSTS_SHST_MASK);

	if (works && (ctrl->kato_ms != 0 || !ctrl->subsys->discovery))
		return ctrl->kato_ms;
	return CTRL_IDLE_MS;
}

bool
ctrl_durable_writes(const struct ctrl *ctrl)
{
	return ctrl->features.write_cache == 0;
}

bool
ctrl_attached(const struct ctrl *ctrl, const struct ns_info *ns)
{
	return subsys_attached(ns, ctrl->hostnqn, ctrl->association);
}

const struct ns_info *
ctrl_ns(const struct ctrl *ctrl, uint32_t nsid)
{
	const struct ns_info *ns = subsys_ns(ctrl->subsys, nsid);

	return ns != NULL && ctrl_attached(ctrl, ns) ? ns : NULL;
}

void
ctrl_pad(char *field, size_t bytes, const char *text)
{
	size_t length = strlen(text);

	if (length > bytes)
		length = bytes;
	memcpy(field, text, length);
	memset(field + length, ' ', bytes - length);
}

void
ctrl_errors_missed(struct ctrl *ctrl, uint32_t count)
{
	ctrl->error_count += count;
}

/* The field of the command that a status is about, as byte and bit, where the status alone says it. */
static uint16_t
location_of(enum nvme_sc sc, bool addresses)
{
	enum { BIT7 = 7 << 8 };

	switch (sc) {
	case NVME_SC_INVALID_OPCODE:
		return offsetof(struct nvme_sqe, opcode);
	case NVME_SC_INVALID_NS:
	case NVME_SC_NOT_NS_SPECIFIC:
		return offsetof(struct nvme_sqe, nsid);
	case NVME_SC_SGL_TYPE:
		return offsetof(struct nvme_sqe, sgl1) + offsetof(struct nvme_sgl, id);
	case NVME_SC_SGL_LENGTH:
		return offsetof(struct nvme_sqe, sgl1) + offsetof(struct nvme_sgl, length);
	case NVME_SC_NOT_SAVEABLE:
		return (offsetof(struct nvme_sqe, cdw10) + 3) | BIT7;
	case NVME_SC_LOG_PAGE:
	case NVME_SC_NOT_CHANGEABLE:
		return offsetof(struct nvme_sqe, cdw10);
	case NVME_SC_LBA_RANGE:
		return addresses ? offsetof(struct nvme_sqe, cdw10) : NVME_ERROR_NO_LOCATION;
	default:
		return NVME_ERROR_NO_LOCATION;
	}
}

/* What failed in us, or in what we keep data on, the host may want to look at. */
static void
error_tell(struct ctrl *ctrl, enum nvme_sc sc)
{
	if (sc == NVME_SC_INTERNAL)
		events_notify(ctrl, CTRL_INTERNAL_ERROR);
	else if (sc == NVME_SC_WRITE_FAULT || sc == NVME_SC_READ_ERROR)
		events_notify(ctrl, CTRL_RELIABILITY);
}

/* Of an I/O queue: whether the command says in CDW10 and CDW11 where it begins. */
static bool
has_lba(uint8_t opcode)
{
	switch (opcode) {
	case NVME_FLUSH:
	case NVME_DATASET_MGMT:
	case NVME_RESV_REGISTER:
	case NVME_RESV_REPORT:
	case NVME_RESV_ACQUIRE:
	case NVME_RESV_RELEASE:
	case NVME_FABRICS:
		return false;
	default:
		return opcode < NVME_FABRICS; /* above are vendors' */
	}
}

void
ctrl_log_bad(struct ctrl *ctrl, uint16_t sqid, const struct nvme_sqe *sqe, struct nvme_status status)
{
	bool addresses = sqid != 0 && has_lba(sqe->opcode);

	ctrl->errors[ctrl->error_lines++ % CTRL_ERROR_LOG] = (struct ctrl_error){
		.count = ctrl->error_count + 1, .lba = addresses ? nvme_slba(sqe) : 0,
		.sqid = sqid, .cid = le16_get(sqe->cid), .status = le16_get(nvme_status_put(status)),
		.location = location_of(nvme_sc(status), addresses),
		.nsid = sqe->opcode == NVME_FABRICS ? 0 : le32_get(sqe->nsid), .opcode = sqe->opcode,
	};
	ctrl->error_count++;
}

void
ctrl_log_specific(struct ctrl *ctrl, uint64_t specific)
{
	assert(ctrl->error_lines > 0);
	ctrl->errors[(ctrl->error_lines - 1) % CTRL_ERROR_LOG].specific = specific;
}

void
ctrl_log_error(struct ctrl *ctrl, uint16_t sqid, const struct nvme_sqe *sqe,
    struct nvme_status status)
{
	ctrl_log_bad(ctrl, sqid, sqe, status);
	if (!ctrl->subsys->discovery)
		error_tell(ctrl, nvme_sc(status));
}
