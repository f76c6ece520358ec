/*
 * persistent.c - Get Log Page 0Dh: a host reads the persistent events.
 *
 * A host first establishes a context: from then on it reads one copy of the
 * log, whatever happens meanwhile, until it releases it.  The copy is the
 * target's memory; which events there are is eventlog.c's.
 */
#include "ctrl/internal.h"

#include "wire/feature.h"

static uint32_t
action_of(const struct nvme_sqe *sqe)
{
	return le32_get(sqe->cdw10) >> 8 & 0x7f;
}

static bool
establishes(uint32_t action)
{
	return action == NVME_PERSISTENT_ESTABLISH || action == NVME_PERSISTENT_ESTABLISH_HEADER;
}

static void
header_put(const struct ctrl *ctrl, const struct window *w)
{
	static const uint8_t types[] = {
		NVME_PERSISTENT_SMART, NVME_PERSISTENT_TIMESTAMP, NVME_PERSISTENT_RESET, NVME_PERSISTENT_HARDWARE,
		NVME_PERSISTENT_NAMESPACE, NVME_PERSISTENT_FEATURE, NVME_PERSISTENT_VENDOR,
	};
	const struct eventlog *events = ctrl->events;
	const struct subsys_info *subsys = ctrl->subsys;
	struct nvme_persistent_log head = {
		.lid = NVME_LOG_PERSISTENT, .events = le32_of(events->count),
		.length = le64_of(sizeof(head) + events->used), .revision = NVME_PERSISTENT_REVISION,
		.header_length = le16_of(sizeof(head) - NVME_PERSISTENT_HEADER_BEHIND),
		.timestamp = le64_of(events->copied_ms & NVME_TIMESTAMP_MASK),
		.power_on_hours = { le64_of(events->on_ms / 3600000), le64_of(0) },
		.power_cycles = le64_of(events->power_cycles), .generation = le16_of(events->generation),
		.context = le32_of(NVME_PERSISTENT_CONTEXT | (ctrl->portal + 1u)),
	};

	ctrl_pad(head.sn, sizeof(head.sn), subsys->serial);
	ctrl_pad(head.mn, sizeof(head.mn), subsys->model);
	memcpy(head.subnqn, subsys->nqn, sizeof(head.subnqn));
	for (size_t i = 0; i < sizeof(types); i++)
		head.supported[types[i] / 8] |= (uint8_t)(1 << types[i] % 8);
	window_put(w, 0, &head, sizeof(head));
}

uint64_t
persistent_bytes(const struct admin *cmd)
{
	const struct eventlog *events = cmd->ctrl->events;
	uint32_t action = action_of(cmd->sqe);

	if (action == NVME_PERSISTENT_ESTABLISH_HEADER)
		return sizeof(struct nvme_persistent_log);
	if (action == NVME_PERSISTENT_ESTABLISH && events == NULL)
		events = cmd->given->events;
	return sizeof(struct nvme_persistent_log) + (events != NULL ? events->used : 0);
}

void
persistent_make(struct admin *cmd, const struct window *w)
{
	struct ctrl *ctrl = cmd->ctrl;
	uint32_t action = action_of(cmd->sqe);

	if (action == NVME_PERSISTENT_RELEASE) { /* no matter whether there is a context; nothing is read */
		if (ctrl->events != NULL)
			cmd->reply->action = CTRL_EVENTS_RELEASED;
		ctrl->events = NULL;
	} else if (action > NVME_PERSISTENT_ESTABLISH_HEADER) {
		admin_refuse(cmd, NVME_SC_INVALID_FIELD);
	} else if (establishes(action) == (ctrl->events != NULL)) {
		admin_refuse(cmd, NVME_SC_SEQUENCE);
	} else {
		if (establishes(action)) {
			assert(cmd->given->events != NULL);
			ctrl->events = cmd->given->events;
			cmd->reply->action = CTRL_EVENTS_TAKEN;
		}
		header_put(ctrl, w);
		if (action != NVME_PERSISTENT_ESTABLISH_HEADER) /* else zeros, however much is asked for */
			window_put(w, sizeof(struct nvme_persistent_log), ctrl->events->bytes, ctrl->events->used);
	}
}

void
ctrl_events_drop(struct ctrl *ctrl)
{
	ctrl->events = NULL;
}

bool
persistent_establishes(const struct ctrl *ctrl, const struct nvme_sqe *sqe)
{
	return ctrl->subsys->event_log && ctrl->events == NULL && sqe->opcode == NVME_ADMIN_GET_LOG_PAGE &&
	    (uint8_t)le32_get(sqe->cdw10) == NVME_LOG_PERSISTENT && establishes(action_of(sqe));
}
