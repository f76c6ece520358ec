/*
 * ordered_command.c - LIST, CUT and FLOOR at their controller's core: lent to core 0 until they are done.
 */
#include "target/assoc.h"
#include "target/ordered.h"
#include "wire/extension.h"

/* The core of a queue that this controller has, for CUT. */
static bool
find_queue(const struct assoc *assoc, const struct nvme_sqe *sqe, uint16_t *core)
{
	uint32_t qid = le32_get(sqe->cdw10) >> 16;

	if (qid == 0 || qid > TARGET_IO_QUEUES || assoc->queues[qid].conn == NULL || assoc->queues[qid].closing)
		return false;
	*core = assoc->queues[qid].core;
	return true;
}

static void
fill(struct ordered_command *command, struct request *req)
{
	const struct ctrl *ctrl = &req->conn->assoc->ctrl;

	command->req = req;
	command->sqe = req->sqe;
	command->core = (uint16_t)req->conn->core->reactor->index;
	command->key = req->conn->key;
	command->iov = req->bufs.iov;
	command->iov_count = req->bufs.count;
	memcpy(command->as.host_id, ctrl->hostid, sizeof(command->as.host_id));
	memcpy(command->as.nqn, ctrl->hostnqn, strnlen(ctrl->hostnqn, NQN_MAX));
	memcpy(command->as.subsystem, ctrl->subsys->nqn, strnlen(ctrl->subsys->nqn, NQN_MAX));
}

void
ordered_ask(struct request *req, uint32_t data_len)
{
	struct conn *conn = req->conn;
	struct ordered_command *command = arena_alloc(conn->core->reactor->arena, sizeof(*command));
	struct target_mail mail = { .kind = MAIL_ORDER, .order = command };

	if (command == NULL) {
		core_log_peer(conn->core, "a command of ordered writes is not done: out of memory");
		request_answer(req, nvme_status_of(NVME_SC_INTERNAL, false));
		return;
	}
	if (req->sqe.opcode == WEIR_ADMIN_CUT && !find_queue(conn->assoc, &req->sqe, &command->queue_core)) {
		arena_free(conn->core->reactor->arena, command);
		request_answer(req, nvme_status_of(NVME_SC_INVALID_FIELD, true));
		return;
	}
	fill(command, req);
	for (uint32_t i = 0; data_len > 0 && i < req->bufs.count; i++)
		memset(req->bufs.iov[i].iov_base, 0, req->bufs.iov[i].iov_len);
	req->xfer.length = data_len;
	req->stage = STAGE_MAIL;
	conn->device_count++;
	core_post(conn->core, 0, &mail);
}

void
ordered_answered(struct core *core, const struct target_mail *mail)
{
	struct ordered_command *command = mail->order;
	struct request *req = command->req;
	struct conn *conn = req->conn;
	struct nvme_status status = command->status;

	req->xfer.dw0 = command->dw0;
	arena_free(core->reactor->arena, command);
	conn->held++;
	conn->device_count--;
	req->stage = STAGE_NEW;
	if (nvme_ok(status) && req->xfer.length > 0 && request_wanted(req))
		request_answer_data(req, req->bufs.iov, req->bufs.count);
	else
		request_answer_late(req, status);
	if (conn->phase == CONN_FINISHING)
		conn_send_soon(conn);
	conn->held--;
	conn_maybe_free(conn);
}
