/*
 * events.c - asynchronous events (NVMe Base 2.0, 5.2): held requests, and what
 * they are told.
 *
 * An event is kept while no request is held, once per kind.  After it was
 * reported its kind is silent until the host reads the page it points to.
 */
#include "ctrl/internal.h"

#include "wire/log.h"

static const struct kind {
	uint8_t type, info, page;
	uint32_t enable; /* the bit of feature 0Bh; 0: always on */
	bool discovery;
} kinds[CTRL_NOTICES] = {
	[CTRL_INTERNAL_ERROR] = { NVME_EVENT_ERROR, NVME_ERROR_TRANSIENT, NVME_LOG_ERROR, 0, false },
	[CTRL_RELIABILITY] =
	    { NVME_EVENT_SMART, NVME_SMART_EVENT_RELIABILITY, NVME_LOG_SMART, NVME_SMART_RELIABILITY, false },
	[CTRL_TEMPERATURE] =
	    { NVME_EVENT_SMART, NVME_SMART_EVENT_TEMPERATURE, NVME_LOG_SMART, NVME_SMART_TEMPERATURE, false },
	[CTRL_NS_CHANGED] = { NVME_EVENT_NOTICE, NVME_NOTICE_NS, NVME_LOG_CHANGED_NS, NVME_ASYNC_NS, false },
	[CTRL_ANA_CHANGED] = { NVME_EVENT_NOTICE, NVME_NOTICE_ANA, NVME_LOG_ANA, NVME_ASYNC_ANA, false },
	[CTRL_RESERVATION] =
	    { NVME_EVENT_COMMAND_SET, NVME_COMMAND_SET_RESERVATION, NVME_LOG_RESERVATION, 0, false },
	[CTRL_DISCOVERY_CHANGED] =
	    { NVME_EVENT_NOTICE, NVME_NOTICE_DISCOVERY, NVME_LOG_DISCOVERY, NVME_ASYNC_DISCOVERY, true },
};

uint32_t
events_supported(const struct ctrl *ctrl)
{
	uint32_t ana = ctrl->subsys->ana_count > 0 ? NVME_ASYNC_ANA : 0;

	return ctrl->subsys->discovery ? NVME_ASYNC_DISCOVERY : NVME_ASYNC_SMART | NVME_ASYNC_NS | ana;
}

void
events_reset(struct ctrl *ctrl)
{
	ctrl->aer_count = 0;
	ctrl->events_pending = ctrl->events_masked = 0;
	memset(ctrl->changed, 0, sizeof(ctrl->changed));
}

void
events_notify(struct ctrl *ctrl, enum ctrl_notice notice)
{
	const struct kind *kind = &kinds[notice];

	assert(kind->discovery == ctrl->subsys->discovery);
	if (kind->enable == 0 || ctrl->async_config & kind->enable)
		ctrl->events_pending |= UINT32_C(1) << notice;
}

void
events_page_read(struct ctrl *ctrl, uint8_t lid)
{
	for (uint32_t i = 0; i < CTRL_NOTICES; i++) {
		if (kinds[i].page != lid)
			continue;
		/* Page 80h is one of many: what came meanwhile is told while there are more. */
		if (i != CTRL_RESERVATION || ctrl->resv.count == 0)
			ctrl->events_pending &= ~(UINT32_C(1) << i);
		ctrl->events_masked &= ~(UINT32_C(1) << i);
	}
}

void
events_configured(struct ctrl *ctrl)
{
	for (uint32_t i = 0; i < CTRL_NOTICES; i++)
		if (kinds[i].enable != 0 && !(ctrl->async_config & kinds[i].enable))
			ctrl->events_pending &= ~(UINT32_C(1) << i);
}

void
events_ns_changed(struct ctrl *ctrl, uint32_t nsid)
{
	assert(nsid != 0 && nsid <= CTRL_NS_MAX);
	ctrl->changed[(nsid - 1) / 32] |= UINT32_C(1) << (nsid - 1) % 32;
	events_notify(ctrl, CTRL_NS_CHANGED);
}

void
admin_async_event(struct admin *cmd)
{
	struct ctrl *ctrl = cmd->ctrl;

	if (ctrl->aer_count == CTRL_AER_MAX) {
		admin_refuse(cmd, NVME_SC_AER_LIMIT);
		return;
	}
	ctrl->aer[ctrl->aer_count++] = le16_get(cmd->sqe->cid);
	cmd->reply->held = true;
}

static void
aer_forget(struct ctrl *ctrl, uint32_t at)
{
	ctrl->aer_count--;
	memmove(&ctrl->aer[at], &ctrl->aer[at + 1], (ctrl->aer_count - at) * sizeof(ctrl->aer[0]));
}

bool
ctrl_aer_abort(struct ctrl *ctrl, uint16_t cid)
{
	for (uint32_t i = 0; i < ctrl->aer_count; i++) {
		if (ctrl->aer[i] == cid) {
			aer_forget(ctrl, i);
			return true;
		}
	}
	return false;
}

bool
ctrl_event(struct ctrl *ctrl, uint16_t *cid, uint32_t *dw0)
{
	uint32_t ready = ctrl->events_pending & ~ctrl->events_masked;
	const struct kind *kind;
	uint32_t bit;

	if (ready == 0 || ctrl->aer_count == 0)
		return false;
	bit = ready & -ready;
	kind = &kinds[__builtin_ctz(ready)];
	ctrl->events_pending &= ~bit;
	for (uint32_t i = 0; i < CTRL_NOTICES; i++)
		if (kinds[i].type == kind->type && kinds[i].page == kind->page)
			ctrl->events_masked |= UINT32_C(1) << i;
	*cid = ctrl->aer[0];
	*dw0 = kind->type | (uint32_t)kind->info << 8 | (uint32_t)kind->page << 16;
	aer_forget(ctrl, 0);
	return true;
}
