/*
 * property.c - the properties, and the life of a controller that CC and CSTS
 * tell of (NVMe Base 2.0, 3.1.3, 3.5, 3.6).
 */
#include "ctrl/internal.h"

enum { READY_HALF_SECONDS = 30 }; /* CAP.TO: 15 s */

static uint64_t
cap(const struct ctrl *ctrl)
{
	uint64_t entries = ctrl->subsys->discovery ? CTRL_ADMIN_ENTRIES : ctrl->subsys->entries_max;

	return (entries - 1) | NVME_CAP_CQR | (uint64_t)READY_HALF_SECONDS << 24 | NVME_CAP_CSS_NVM |
	    NVME_CAP_CRWMS;
}

static uint64_t version(const struct ctrl *ctrl) { return NVME_VS_2_0; }
static uint64_t config(const struct ctrl *ctrl) { return ctrl->cc; }
static uint64_t state(const struct ctrl *ctrl) { return ctrl->csts; }
static uint64_t ready_timeout(const struct ctrl *ctrl) { return READY_HALF_SECONDS; }

static const struct property {
	uint32_t ofst;
	uint8_t attrib; /* 0: four bytes, 1: eight */
	bool writable;
	uint64_t (*get)(const struct ctrl *ctrl);
} properties[] = {
	{ NVME_CAP,  1, false, cap },
	{ NVME_VS,   0, false, version },
	{ NVME_CC,   0, true,  config },
	{ NVME_CSTS, 0, false, state },
	{ NVME_CRTO, 0, false, ready_timeout },
};

/* EN 0 -> 1.  A discovery controller has no I/O queues, so it minds no entry sizes. */
static enum ctrl_action
enable(struct ctrl *ctrl, uint32_t cc)
{
	bool sizes = ctrl->subsys->discovery || (NVME_CC_IOSQES(cc) == 6 && NVME_CC_IOCQES(cc) == 4);

	ctrl->cc = cc;
	if (!sizes || NVME_CC_MPS(cc) != 0 || NVME_CC_AMS(cc) != 0 || NVME_CC_CSS(cc) != 0) {
		ctrl->csts = NVME_CSTS_CFS;
		return CTRL_FAILED;
	}
	ctrl->csts = NVME_CSTS_RDY;
	return CTRL_ENABLED;
}

/* A shutdown is asked for once; only a reset leaves the state behind it. */
static enum ctrl_action
shut_down(struct ctrl *ctrl)
{
	if (ctrl->csts & NVME_CSTS_SHST_MASK)
		return CTRL_NOTHING;
	ctrl->csts |= NVME_CSTS_SHST_OCCURRING;
	return CTRL_SHUTDOWN;
}

/* EN 1 -> 0.  A shutdown that is asked for with it begins when the reset is over; one of before is forgotten. */
static enum ctrl_action
reset(struct ctrl *ctrl, uint32_t cc)
{
	ctrl->cc = cc;
	ctrl->resetting = true;
	if (NVME_CC_SHN(cc) != 0)
		ctrl->csts = (ctrl->csts & ~NVME_CSTS_SHST_MASK) | NVME_CSTS_SHST_OCCURRING;
	events_reset(ctrl); /* the target lets go of the held requests now: nothing is told until the end */
	return CTRL_RESET;
}

static void
config_set(struct ctrl *ctrl, uint32_t cc, struct ctrl_reply *reply)
{
	const uint32_t fixed = NVME_CC_CSS_MASK | NVME_CC_MPS_MASK | NVME_CC_AMS_MASK;
	bool was = ctrl->cc & NVME_CC_EN, is = cc & NVME_CC_EN;

	if (NVME_CC_SHN(cc) == 3 || (was && is && (cc ^ ctrl->cc) & fixed)) {
		reply->status = nvme_status_of(NVME_SC_INVALID_FIELD, true);
	} else if (ctrl->resetting && (is || NVME_CC_SHN(cc) != 0)) {
		reply->status = nvme_status_of(NVME_SC_SEQUENCE, true);
	} else if (!was && is) {
		reply->action = enable(ctrl, cc);
		if (reply->action == CTRL_ENABLED && NVME_CC_SHN(cc) != 0)
			reply->action = shut_down(ctrl);
	} else if (was && !is) {
		reply->action = reset(ctrl, cc);
	} else {
		ctrl->cc = cc;
		if (NVME_CC_SHN(cc) != 0)
			reply->action = shut_down(ctrl);
	}
}

void
ctrl_property(struct ctrl *ctrl, const struct nvme_property_sqe *sqe, struct ctrl_reply *reply)
{
	const struct property *property = NULL;
	bool set = sqe->fctype == NVME_PROPERTY_SET;

	assert(set || sqe->fctype == NVME_PROPERTY_GET);
	*reply = (struct ctrl_reply){ .status = NVME_OK };
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
		if (properties[i].ofst == le32_get(sqe->ofst))
			property = &properties[i];
	if (property == NULL || property->attrib != (sqe->attrib & 7) || (set && !property->writable)) {
		reply->status = nvme_status_of(NVME_SC_INVALID_FIELD, true);
	} else if (set) {
		config_set(ctrl, (uint32_t)le64_get(sqe->value) & NVME_CC_MASK, reply);
	} else {
		uint64_t value = property->get(ctrl);

		reply->dw0 = (uint32_t)value;
		reply->dw1 = (uint32_t)(value >> 32);
	}
}

enum ctrl_action
ctrl_reset_done(struct ctrl *ctrl)
{
	bool shutdown = NVME_CC_SHN(ctrl->cc) != 0;

	assert(ctrl->resetting);
	ctrl->resetting = false;
	ctrl->csts = shutdown ? NVME_CSTS_SHST_OCCURRING : 0;
	ctrl->io_queues_granted = 0;
	ctrl->io_queues_made = false;
	ctrl_events_drop(ctrl);
	features_reset(ctrl);
	events_reset(ctrl);
	return shutdown ? CTRL_SHUTDOWN : CTRL_NOTHING;
}

void
ctrl_shutdown_done(struct ctrl *ctrl)
{
	/* A reset may have overtaken it. */
	if ((ctrl->csts & NVME_CSTS_SHST_MASK) == NVME_CSTS_SHST_OCCURRING)
		ctrl->csts = (ctrl->csts & ~NVME_CSTS_SHST_MASK) | NVME_CSTS_SHST_DONE;
}

bool
ctrl_ready(const struct ctrl *ctrl)
{
	return ctrl->cc & NVME_CC_EN && ctrl->csts & NVME_CSTS_RDY;
}

void
ctrl_fatal(struct ctrl *ctrl)
{
	ctrl->csts |= NVME_CSTS_CFS;
}
