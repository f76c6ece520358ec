/*
 * reservation.c - what a controller tells its host of reservations: the queue
 * of notifications (log page 80h), which of them it masks (feature 82h), and
 * whether they survive a loss of power (feature 83h).
 *
 * Does not know who holds what: that is the subsystem's, and the target says
 * when there is something to tell.  (NVMe Base 2.0, 5.16.1.24, 8.19)
 */
#include "ctrl/internal.h"

#include "wire/feature.h"
#include "wire/identify.h"

static bool
masked(const struct ctrl *ctrl, uint32_t nsid, enum nvme_resv_notice kind)
{
	return ctrl->resv.masked[kind - 1][(nsid - 1) / 32] >> (nsid - 1) % 32 & 1;
}

/* Where there is no room the notification is lost, and the count of the newest one in line says so. */
void
ctrl_reservation_notice(struct ctrl *ctrl, uint32_t nsid, enum nvme_resv_notice kind)
{
	struct ctrl_resv *resv = &ctrl->resv;

	assert(kind >= NVME_RESV_REGISTRATION_PREEMPTED && kind <= NVME_RESV_PREEMPTED);
	if (ctrl_ns(ctrl, nsid) == NULL || masked(ctrl, nsid, kind))
		return;
	resv->last++;
	if (resv->count == CTRL_RESV_LOG) {
		resv->queue[(resv->first + CTRL_RESV_LOG - 1) % CTRL_RESV_LOG].number = resv->last;
		return;
	}
	resv->queue[(resv->first + resv->count++) % CTRL_RESV_LOG] =
	    (struct ctrl_resv_notice){ resv->last, nsid, (uint8_t)kind };
	events_notify(ctrl, CTRL_RESERVATION);
}

void
reservation_reset(struct ctrl *ctrl)
{
	uint64_t last = ctrl->resv.last;

	ctrl->resv = (struct ctrl_resv){ .last = last };
}

/* The oldest notification, which leaves the queue; zeros where there is none. */
void
reservation_make(struct admin *cmd, const struct window *w)
{
	struct ctrl_resv *resv = &cmd->ctrl->resv;
	const struct ctrl_resv_notice *notice = &resv->queue[resv->first];
	struct nvme_log_reservation page = { 0 };

	if (resv->count > 0) {
		page.count = le64_of(notice->number);
		page.type = notice->kind;
		page.nsid = le32_of(notice->nsid);
		page.left = (uint8_t)--resv->count;
		resv->first = (resv->first + 1) % CTRL_RESV_LOG;
	}
	window_put(w, 0, &page, sizeof(page));
}

/* ---- feature 82h ---- */

static enum nvme_sc
wrong_ns(const struct admin *cmd)
{
	uint32_t nsid = le32_get(cmd->sqe->nsid);
	const struct ns_info *ns = ctrl_ns(cmd->ctrl, nsid);

	if (nsid == UINT32_MAX)
		return NVME_SC_SUCCESS;
	if (ns == NULL)
		return NVME_SC_INVALID_NS;
	return ns->rescap != 0 ? NVME_SC_SUCCESS : NVME_SC_INVALID_FIELD;
}

static void
mask_put(uint32_t map[CTRL_NS_MAX / 32], uint32_t nsid, bool set)
{
	uint32_t bit = UINT32_C(1) << (nsid - 1) % 32;

	if (set)
		map[(nsid - 1) / 32] |= bit;
	else
		map[(nsid - 1) / 32] &= ~bit;
}

void
resv_mask_forget(struct ctrl *ctrl, uint32_t nsid)
{
	for (uint32_t kind = 1; kind <= NVME_RESV_NOTICES; kind++)
		mask_put(ctrl->resv.masked[kind - 1], nsid, false);
}

void
resv_mask_set(struct admin *cmd, uint32_t value)
{
	uint32_t nsid = le32_get(cmd->sqe->nsid);
	enum nvme_sc wrong = value & ~UINT32_C(0x0e) ? NVME_SC_INVALID_FIELD : wrong_ns(cmd);

	if (wrong != NVME_SC_SUCCESS) {
		admin_refuse(cmd, wrong);
		return;
	}
	for (uint32_t kind = 1; kind <= NVME_RESV_NOTICES; kind++) {
		uint32_t *map = cmd->ctrl->resv.masked[kind - 1];

		if (nsid == UINT32_MAX)
			memset(map, value >> kind & 1 ? 0xff : 0, sizeof(cmd->ctrl->resv.masked[0]));
		else
			mask_put(map, nsid, value >> kind & 1);
	}
}

uint32_t
resv_mask_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	uint32_t nsid = le32_get(cmd->sqe->nsid), value = 0;

	if (wrong_ns(cmd) != NVME_SC_SUCCESS)
		admin_refuse(cmd, wrong_ns(cmd));
	else if (!by_default)
		for (uint32_t kind = 1; kind <= NVME_RESV_NOTICES; kind++)
			value |= (uint32_t)masked(cmd->ctrl, nsid, kind) << kind;
	return value;
}

/* ---- feature 83h: kept with the reservations, so the target carries it out ---- */

/* Whether the namespace, or with UINT32_MAX any, can do so. */
static bool
persistence_offered(const struct admin *cmd, uint32_t nsid)
{
	const struct subsys_info *subsys = cmd->ctrl->subsys;

	for (uint32_t i = 0; i < subsys->ns_count; i++)
		if ((nsid == UINT32_MAX || nsid == subsys->ns[i].nsid) && subsys->ns[i].rescap & NVME_RESCAP_PTPL &&
		    ctrl_attached(cmd->ctrl, &subsys->ns[i]))
			return true;
	return false;
}

void
persistence_set(struct admin *cmd, uint32_t value)
{
	uint32_t nsid = le32_get(cmd->sqe->nsid);

	if (wrong_ns(cmd) != NVME_SC_SUCCESS) {
		admin_refuse(cmd, wrong_ns(cmd));
	} else if (value > 1 || (value == 1 && !persistence_offered(cmd, nsid))) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	} else {
		cmd->reply->action = CTRL_RESV_PTPL;
		cmd->reply->nsid = nsid;
		cmd->reply->value = value;
	}
}

uint32_t
persistence_get(struct admin *cmd, bool by_default, uint8_t *data)
{
	if (wrong_ns(cmd) != NVME_SC_SUCCESS) {
		admin_refuse(cmd, wrong_ns(cmd));
		return 0;
	}
	return !by_default && cmd->given->ptpl;
}
