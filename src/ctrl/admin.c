/*
 * admin.c - which admin commands there are, and what is asked of each before
 * it runs (NVMe Base 2.0, 5).
 */
#include "ctrl/internal.h"

#include "wire/extension.h"
#include "wire/feature.h"
#include "wire/log.h"

static void
admin_keep_alive(struct admin *cmd)
{
	/* Arriving is all it does: the target restarts its timer with every command. */
}

static void
admin_abort(struct admin *cmd)
{
	cmd->reply->action = CTRL_ABORT; /* the queues are the target's */
}

static const struct command {
	void (*run)(struct admin *cmd);
	uint32_t effects; /* and scope, beside that it is there */
	bool (*claimed)(const struct subsys_info *subsys); /* NULL: always there */
	uint32_t granted; /* enum weir_capability: only where the host was granted it */
} commands[256] = {
	[NVME_ADMIN_GET_LOG_PAGE] = { admin_get_log, NVME_SCOPE_CTRL, NULL, 0 },
	[NVME_ADMIN_IDENTIFY] = { admin_identify, NVME_SCOPE_CTRL, NULL, 0 },
	[NVME_ADMIN_ABORT] = { admin_abort, NVME_SCOPE_CTRL, NULL, 0 },
	[NVME_ADMIN_SET_FEATURES] = { admin_set_features, NVME_SCOPE_CTRL, NULL, 0 },
	[NVME_ADMIN_GET_FEATURES] = { admin_get_features, NVME_SCOPE_CTRL, NULL, 0 },
	[NVME_ADMIN_ASYNC_EVENT] = { admin_async_event, NVME_SCOPE_CTRL, NULL, 0 },
	[NVME_ADMIN_NS_MANAGEMENT] = { admin_ns_management, NVME_EFFECT_INVENTORY | NVME_SCOPE_SUBSYS,
	    manage_claimed, 0 },
	[NVME_ADMIN_NS_ATTACHMENT] = { admin_ns_attachment, NVME_EFFECT_INVENTORY | NVME_SCOPE_SUBSYS,
	    manage_claimed, 0 },
	[NVME_ADMIN_KEEP_ALIVE] = { admin_keep_alive, NVME_SCOPE_CTRL, NULL, 0 },
	[WEIR_ADMIN_FENCE] = { admin_fence, NVME_SCOPE_SUBSYS, NULL, WEIR_FENCE },
	[WEIR_ADMIN_LIST] = { admin_list, NVME_SCOPE_SUBSYS, NULL, WEIR_ORDER },
	[WEIR_ADMIN_CUT] = { admin_cut, NVME_EFFECT_CONTENT | NVME_SCOPE_SUBSYS, NULL, WEIR_ORDER },
	[WEIR_ADMIN_FLOOR] = { admin_floor, NVME_SCOPE_SUBSYS, NULL, WEIR_ORDER },
};

static const struct command *
command_find(const struct ctrl *ctrl, uint8_t opcode)
{
	const struct command *command = &commands[opcode];

	if (command->run == NULL || (command->claimed != NULL && !command->claimed(ctrl->subsys)) ||
	    command->granted & ~ctrl->features.extension)
		return NULL;
	return command;
}

void
admin_effects(const struct ctrl *ctrl, le32 effects[256])
{
	for (uint32_t i = 0; i < 256; i++)
		if (command_find(ctrl, (uint8_t)i) != NULL)
			effects[i] = le32_of(NVME_EFFECT_SUPPORTED | commands[i].effects);
}

void *
admin_answer(struct admin *cmd, uint32_t bytes)
{
	const struct nvme_sgl *sgl = &cmd->sqe->sgl1;

	if (sgl->id != NVME_SGL_TRANSPORT) {
		admin_refuse(cmd, NVME_SC_SGL_TYPE);
		return NULL;
	}
	if (le32_get(sgl->length) != bytes) {
		admin_refuse(cmd, NVME_SC_SGL_LENGTH);
		return NULL;
	}
	memset(cmd->out, 0, bytes < CTRL_PAGE_MAX ? bytes : CTRL_PAGE_MAX);
	cmd->reply->data_len = bytes;
	return cmd->out;
}

uint32_t
ctrl_admin_data_in(const struct nvme_sqe *sqe)
{
	uint32_t bytes = 0;

	if (sqe->opcode == NVME_ADMIN_SET_FEATURES)
		bytes = features_data_in((uint8_t)le32_get(sqe->cdw10));
	else if (sqe->opcode == NVME_ADMIN_NS_MANAGEMENT || sqe->opcode == NVME_ADMIN_NS_ATTACHMENT)
		bytes = manage_data_in(sqe);
	return le32_get(sqe->sgl1.length) >= bytes ? bytes : 0;
}

uint32_t
ctrl_needs(const struct ctrl *ctrl, const struct nvme_sqe *sqe)
{
	uint8_t lid = (uint8_t)le32_get(sqe->cdw10);

	if (sqe->opcode == NVME_ADMIN_GET_LOG_PAGE && lid == NVME_LOG_SMART)
		return CTRL_NEEDS_STATS;
	if (sqe->opcode == NVME_ADMIN_GET_LOG_PAGE && lid == WEIR_LOG_VIEW && ctrl->features.extension & WEIR_VIEW)
		return CTRL_NEEDS_VIEW;
	if (persistent_establishes(ctrl, sqe))
		return CTRL_NEEDS_EVENTS;
	if (sqe->opcode == NVME_ADMIN_GET_FEATURES && (uint8_t)le32_get(sqe->cdw10) == NVME_FEATURE_RESV_PERSISTENCE)
		return CTRL_NEEDS_PTPL;
	return manage_needs_controllers(ctrl, sqe) ? CTRL_NEEDS_CONTROLLERS : 0;
}

void
ctrl_admin(struct ctrl *ctrl, const struct nvme_sqe *sqe, const void *in, uint32_t in_len,
    uint8_t *out, const struct ctrl_given *given, uint64_t now_ns, struct ctrl_reply *reply)
{
	struct admin cmd = {
		.ctrl = ctrl, .sqe = sqe, .in = in, .in_len = in_len, .out = out,
		.given = given, .now_ns = now_ns, .reply = reply,
	};
	const struct command *command = command_find(ctrl, sqe->opcode);

	*reply = (struct ctrl_reply){ .status = NVME_OK };
	if (!ctrl_ready(ctrl))
		admin_refuse(&cmd, NVME_SC_SEQUENCE);
	else if (command == NULL)
		admin_refuse(&cmd, NVME_SC_INVALID_OPCODE);
	else if (sqe->flags != NVME_PSDT_SGL)
		admin_refuse(&cmd, NVME_SC_INVALID_FIELD);
	else
		command->run(&cmd);
	assert(nvme_ok(reply->status) || (reply->data_len == 0 && !reply->held));
}
