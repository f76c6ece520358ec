/*
 * abort.c - Abort: of held event requests and wishes here, of I/O commands on their queue's core.
 *
 * A command that has not begun ends at once with 0:07; one at a device does if
 * the device lets go of it.  One whose data is on its way from the host is left
 * alone: its R2T stands.  (NVMe Base 2.0, 5.1)
 */
#include <assert.h>

#include "target/assoc.h"
#include "target/command.h"

/* ---- on the queue's core ---- */

static struct nvme_status
aborted_status(void)
{
	return nvme_status_of(NVME_SC_ABORT_REQUESTED, false);
}

static struct request *
find(struct conn *conn, uint16_t cid)
{
	for (uint32_t i = 0; conn->slots != &conn->first && i < conn->tc.slots_used; i++) {
		struct request *req = &conn->slots[i];

		if (req->xfer.state == XFER_HELD && req->xfer.cid == cid)
			return req;
	}
	return NULL;
}

/* Out of a line of its connection. */
static void
leave_line(struct fifo *line, const struct request *req)
{
	struct fifo_node *node;
	struct fifo rest;

	fifo_init(&rest);
	while ((node = fifo_pop(line)) != NULL)
		if (node != &req->xfer.tx_node)
			fifo_push(&rest, node);
	fifo_splice(line, &rest);
}

/* True: it was ended, or is about to end with 0:07. */
static bool
abort_request(struct request *req)
{
	struct conn *conn = req->conn;

	switch (req->stage) {
	case STAGE_TURN:
		leave_line(&conn->turns, req);
		request_answer(req, aborted_status());
		request_next_turns(conn);
		return true;
	case STAGE_SHARE:
		request_unwait(req);
		request_answer(req, aborted_status());
		conn->asked_bytes -= req->xfer.length;
		request_next_turns(conn);
		return true;
	case STAGE_READ:
		request_unwait(req);
		request_answer(req, aborted_status());
		return true;
	case STAGE_SCRATCH:
		scratch_leave(req);
		request_answer(req, aborted_status());
		return true;
	case STAGE_FUSED:
		assert(conn->fused == req);
		conn->fused = NULL;
		request_answer(req, aborted_status());
		return true;
	case STAGE_AGAIN:
		leave_line(&conn->again, req);
		request_answer(req, aborted_status());
		return true;
	case STAGE_DEVICE:
		return req->chan->blk->ops->cancel(req->chan, &req->io);
	case STAGE_NEW:
	case STAGE_ADMIN:
	case STAGE_PARTNER:
	case STAGE_FILL:
	case STAGE_BUFS: /* its capsule is half received */
	case STAGE_MAIL:
	case STAGE_EVENT:
	case STAGE_ANSWER:
	case STAGE_SLOW:
	case STAGE_ORDER:
		break;
	}
	return false;
}

void
abort_ask(struct core *core, const struct target_mail *mail)
{
	struct conn *conn = mail->abort.conn;
	struct target_mail back = *mail;
	struct request *req = NULL;

	if (conn->phase == CONN_LIVE || conn->phase == CONN_LEAVING)
		req = find(conn, mail->abort.cid);
	/* Halves of a pair end together or not at all, and what has come into a stream does not leave it. */
	back.kind = MAIL_ABORTED;
	back.abort.done = req != NULL && req->partner == NULL && req->ordered == NULL && abort_request(req);
	core_post(core, mail->from, &back);
}

/* ---- on the controller's core ---- */

static void
ask_queue(struct assoc *assoc, struct request *req, const struct assoc_queue *queue, uint16_t cid)
{
	struct target_mail mail = {
		.kind = MAIL_ABORT, .key = assoc->key, .abort = { .conn = queue->conn, .cid = cid },
	};

	while (mail.abort.place < CTRL_ABORTS_MAX && assoc->aborts[mail.abort.place] != NULL)
		mail.abort.place++;
	if (mail.abort.place == CTRL_ABORTS_MAX) {
		request_answer(req, nvme_status_of(NVME_SC_ABORT_LIMIT, false));
		return;
	}
	assoc->aborts[mail.abort.place] = req;
	req->stage = STAGE_MAIL;
	core_post(assoc->core, queue->core, &mail);
}

void
abort_command(struct request *req)
{
	struct assoc *assoc = req->conn->assoc;
	uint32_t cdw10 = le32_get(req->sqe.cdw10);
	uint16_t sqid = (uint16_t)cdw10, cid = (uint16_t)(cdw10 >> 16);

	if (sqid > 0 && sqid <= TARGET_IO_QUEUES && assoc->queues[sqid].conn != NULL) {
		ask_queue(assoc, req, &assoc->queues[sqid], cid);
		return;
	}
	if (sqid == 0 && wish_abort(req, cid))
		return;
	req->xfer.dw0 = sqid != 0 || !admin_abort_event(assoc, cid);
	request_answer(req, NVME_OK);
}

void
abort_answer(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);
	struct request *req = assoc != NULL ? assoc->aborts[mail->abort.place] : NULL;

	if (req == NULL)
		return; /* its admin connection is gone */
	assoc->aborts[mail->abort.place] = NULL;
	req->xfer.dw0 = !mail->abort.done;
	request_answer_late(req, NVME_OK);
}

/* The admin connection goes: nobody waits any more. */
void
abort_drop(struct assoc *assoc)
{
	for (unsigned i = 0; i < CTRL_ABORTS_MAX; i++) {
		if (assoc->aborts[i] != NULL)
			request_free(assoc->aborts[i]);
		assoc->aborts[i] = NULL;
	}
}
