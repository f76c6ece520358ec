/*
 * request.c - a command between its capsule and its answer.
 *
 * Hands the whole to fabrics, admin or I/O code, and takes their answer.  Every
 * request is answered once, or dropped with its connection; either way its
 * buffers, lent memory and slot are given back in request_free().  How data comes
 * that did not lie in one piece in the capsule is request_capsule.c's, and how it
 * is asked for by R2T request_fetch.c's.
 */
#include <assert.h>

#include "target/assoc.h"
#include "target/command.h"
#include "target/ordered.h"
#include "wire/extension.h"

struct request *
request_take(struct conn *conn)
{
	struct fifo_node *node = fifo_pop(&conn->free);
	struct request *req;

	if (node != NULL) {
		req = container_of(node, struct request, xfer.tx_node);
	} else {
		struct xfer *xfer = tconn_slot_new(&conn->tc);

		if (xfer == NULL)
			return NULL;
		req = container_of(xfer, struct request, xfer);
		req->io.tenant = conn->tenant;
		req->io.queue = (uint32_t)conn->key << 16 | conn->qid;
	}
	req->conn = conn;
	req->stage = STAGE_NEW;
	req->given_back = false;
	req->ordered = NULL;
	req->io.flags = 0;
	req->io.priority = 0;
	conn->request_count++;
	return req;
}

/* What the device lent is not needed any more. */
void
request_release(struct request *req)
{
	req->chan->blk->ops->release(req->chan, &req->io);
	req->chan->busy--;
	req->io.flags = 0;
}

/* The memory its data lay in, and its connection's reserve: others have them, which may go on in here. */
static __attribute__((noinline)) void
give(struct request *req)
{
	struct conn *conn = req->conn;

	if (conn->admin_user == req)
		admin_bufs_give(req);
	else
		bufs_give(&conn->core->reactor->bufs, &req->bufs);
	asked_give(req);
	if (conn->reserve_user != req)
		return;
	conn->reserve_user = NULL;
	if (conn->stalled != NULL)
		request_unstall(conn->stalled);
}

void
request_free(struct request *req)
{
	struct conn *conn = req->conn;

	if (req->io.flags & BLK_LENT)
		request_release(req);
	if (conn->reserve_user == req)
		conn->reserve_user = NULL;
	req->xfer.state = XFER_FREE;
	conn->request_count--;
	/* The Connect's own slot serves no second time. */
	if (req != &conn->first)
		fifo_push(&conn->free, &req->xfer.tx_node);
	else if (conn->slots == &conn->first)
		conn->tc.slots_used = 0;
	if (req->bufs.bytes > 0)
		give(req);
	if (conn->stalled != NULL && conn->reserve_user == NULL)
		request_unstall(conn->stalled);
	if (conn->phase >= CONN_TERMINATED)
		conn_maybe_free(conn);
}

/* Those that tconn is done with. */
void
request_free_all(struct fifo *finished)
{
	struct fifo_node *node;

	while ((node = fifo_pop(finished)) != NULL)
		request_free(container_of(node, struct request, xfer.tx_node));
}

/* Its connection will not be served any more: let go of what only we hold. */
void
request_abandon(struct request *req)
{
	switch (req->xfer.state) {
	case XFER_FREE:
	case XFER_ASKING:    /* in line: tconn_drop() gave it to request_free() */
	case XFER_ANSWERING:
	case XFER_PIECES:
		return;
	case XFER_HELD:
	case XFER_RECEIVING:
		break;
	}
	switch (req->stage) {
	case STAGE_DEVICE:
		req->chan->blk->ops->cancel(req->chan, &req->io);
		return; /* freed by its done() */
	case STAGE_MAIL:
		return; /* freed when the answer comes */
	case STAGE_PARTNER:
		return; /* freed with its other half */
	case STAGE_ORDER:
		return; /* freed when its stream is done with it */
	case STAGE_SCRATCH:
		scratch_leave(req);
		break;
	case STAGE_ADMIN:
		admin_bufs_leave(req);
		break;
	case STAGE_SHARE:
	case STAGE_READ:
	case STAGE_BUFS:
		request_unwait(req);
		break;
	case STAGE_NEW:
	case STAGE_TURN:
	case STAGE_FILL:
	case STAGE_AGAIN:
	case STAGE_FUSED:
	case STAGE_EVENT:
	case STAGE_ANSWER:
	case STAGE_SLOW:
		break;
	}
	request_free(req);
}

/* ---- answers ---- */

/* A command failed, whose answer is in line.  What is of no controller, a Connect, nobody keeps. */
static __attribute__((noinline)) void
report(struct request *req, struct nvme_status status)
{
	struct assoc *assoc = req->conn->assoc;
	bool more = req->conn->attached && errors_tell(req, status);

	if (assoc != NULL) {
		assoc_failed(assoc, 0, &req->sqe, status, false);
		if (nvme_sc(status) == NVME_SC_NS_CAPACITY)
			ctrl_log_specific(&assoc->ctrl, req->walked);
		more = !assoc->ctrl.subsys->discovery;
	}
	if (more)
		req->xfer.status = nvme_status_more(req->xfer.status);
}

/* Its connection still wants an answer. */
bool
request_served(const struct request *req)
{
	return req->conn->phase != CONN_DEAD && req->conn->phase != CONN_TERMINATED;
}

/* What it came with is not needed any more. */
void
request_spent(struct request *req)
{
	if (req->bufs.bytes > 0 || req->conn->reserve_user == req)
		give(req);
}

void
request_answer(struct request *req, struct nvme_status status)
{
	if (!request_served(req)) {
		request_free(req);
		return;
	}
	req->stage = STAGE_ANSWER;
	tconn_answer(&req->conn->tc, &req->xfer, status, false);
	if (!nvme_ok(status))
		report(req, status);
	conn_send_soon(req->conn);
	request_spent(req); /* however long the peer leaves the answer lying */
}

bool
request_wanted(const struct request *req)
{
	return request_served(req) && !req->dropped;
}

/* A reset may have waited for it. */
void
request_let_go(struct request *req)
{
	struct assoc *assoc = req->conn->assoc;

	request_free(req);
	if (assoc != NULL)
		assoc_settle(assoc);
}

void
request_answer_late(struct request *req, struct nvme_status status)
{
	if (request_wanted(req))
		request_answer(req, status);
	else
		request_let_go(req);
}

/* Success, with data: iov stays valid until the request is freed; xfer.length bytes. */
void
request_answer_data(struct request *req, struct iovec *iov, uint32_t count)
{
	if (!request_served(req)) {
		request_free(req);
		return;
	}
	req->stage = STAGE_ANSWER;
	req->xfer.iov = iov;
	req->xfer.iov_count = (uint8_t)count;
	tconn_answer(&req->conn->tc, &req->xfer, NVME_OK, true);
	conn_send_data_soon(req->conn);
}

/* Moves lent data that is still to be sent into buffers of our own, if there are any. */
void
request_unlend(struct request *req)
{
	struct core *core = req->conn->core;
	const uint8_t *from;
	uint32_t i = 0;

	/* A peer's that does not read, not a volume's that does not answer. */
	if (!bufs_take(&core->reactor->bufs, &core->shares[SHARE_SLOW].bufs, req->xfer.length, &req->bufs))
		return;
	for (uint32_t k = 0; k < req->xfer.iov_count; k++) {
		size_t left = req->xfer.iov[k].iov_len;

		for (from = req->xfer.iov[k].iov_base; left > 0; i++) {
			size_t step = req->bufs.iov[i].iov_len < left ? req->bufs.iov[i].iov_len : left;

			/* Volumes lend one piece, or pieces of whole buffers. */
			memcpy(req->bufs.iov[i].iov_base, from, step);
			from += step;
			left -= step;
		}
	}
	req->xfer.iov = req->bufs.iov;
	req->xfer.iov_count = (uint8_t)req->bufs.count;
	request_release(req);
}

/* Gives back what was read, or reported: it will be done again when the peer takes it.  Then it is in no line. */
void
request_unread(struct request *req)
{
	struct target_stats *stats = req->conn->stats;

	assert(req->sqe.opcode == NVME_READ || req->sqe.opcode == NVME_RESV_REPORT);
	if (req->io.flags & BLK_LENT)
		request_release(req);
	req->io.flags = 0;
	if (req->sqe.opcode == NVME_READ) {
		stats->reads--; /* it is counted when it is read again */
		stats->read_blocks512 -= req->xfer.length / 512;
	}
	bufs_give(&req->conn->core->reactor->bufs, &req->bufs);
	asked_give(req);
	req->stage = STAGE_AGAIN;
}

/* ---- data ---- */

/* Not before Connect and, where the host has to, its showing who it is; nor behind a Disconnect (Base 2.0, 6.4). */
void
request_untimely(struct request *req)
{
	request_answer(req, nvme_status_of(req->conn->phase == CONN_AUTH ? NVME_SC_AUTH_REQUIRED : NVME_SC_SEQUENCE,
	    true));
}

/* What few commands are; kept out of dispatch(), which then has a smaller frame. */
static void __attribute__((noinline))
dispatch_other(struct request *req, const struct capsule *capsule)
{
	if (req->sqe.opcode == NVME_FABRICS)
		fabrics_command(req, capsule);
	else if (req->conn->phase != CONN_LIVE)
		request_untimely(req);
	else
		admin_command(req, capsule);
}

static void
dispatch(struct request *req, const struct capsule *capsule)
{
	struct conn *conn = req->conn;

	if (req->sqe.opcode != NVME_FABRICS && conn->phase == CONN_LIVE && conn->qid != 0)
		io_command(req, capsule);
	else
		dispatch_other(req, capsule);
}

/* Its flags are not those of a plain command, or half of a pair waits for the other half. */
static void __attribute__((noinline))
execute_special(struct request *req, const struct capsule *capsule)
{
	if (req->conn->credits) {
		req->io.priority = (req->sqe.flags & WEIR_PRIORITY_MASK) >> WEIR_PRIORITY_SHIFT;
		req->sqe.flags &= (uint8_t)~WEIR_PRIORITY_MASK;
	}
	if (req->conn->fused != NULL && !fused_follows(req))
		fused_orphan(req->conn);
	if (req->conn->ordered_writes != NULL && order_travels(&req->sqe) &&
	    (req->sqe.flags & ~WEIR_ORDERED_MASK) == NVME_PSDT_SGL)
		ordered_command(req, capsule);
	else if (req->sqe.flags != NVME_PSDT_SGL)
		fused_command(req, capsule);
	else
		dispatch(req, capsule);
}

static void
execute(struct request *req, const struct capsule *capsule)
{
	if (req->sqe.flags != NVME_PSDT_SGL || req->conn->fused != NULL)
		execute_special(req, capsule);
	else
		dispatch(req, capsule);
}

/* The digest of a capsule's data is wrong: the command is not looked at. */
static void
spoiled(struct request *req)
{
	if (req->conn->fused != NULL)
		fused_orphan(req->conn);
	request_answer(req, nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false));
}

/* ---- what the connection tells ---- */

void
request_command(struct request *req, const struct tconn_item *item)
{
	struct capsule capsule = { item->data, item->data_len, true };

	if (item->data_len > 0 && item->data == NULL)
		request_receive(req, item->data_len);
	else if (!item->data_ok)
		spoiled(req);
	else
		execute(req, &capsule);
}

/* Whether the command is one that data comes with: bit 0 of an opcode, of a Fabrics command of its type, says so;
 * of an admin command it says only that data may come. */
static bool
takes_data(const struct request *req)
{
	if (req->sqe.opcode == NVME_FABRICS)
		return req->sqe.fctype & 1;
	return req->conn->qid == 0 ? ctrl_admin_data_in(&req->sqe) > 0 : req->sqe.opcode & 1;
}

/* All data of its capsule was received.  Who takes none does not keep the memory it lies in: it may live long. */
static void
received(struct request *req)
{
	struct capsule capsule = { req->iov[0].iov_base, req->xfer.length, false };

	if (req->xfer.data_bad) {
		spoiled(req);
		return;
	}
	if (!takes_data(req)) {
		capsule = (struct capsule){ 0 };
		give(req);
	}
	execute(req, &capsule);
}

/* All data of the request is there: of its capsule, or what was asked for. */
void
request_data(struct request *req)
{
	if (req->xfer.iov == req->iov) {
		received(req);
		return;
	}
	if (req->sqe.opcode == NVME_FABRICS) {
		fabrics_data(req);
		return;
	}
	if (req->conn->qid == 0) {
		admin_data(req);
		return;
	}
	request_fetched(req);
	if (req->ordered != NULL)
		ordered_data(req);
	else if (req->partner != NULL)
		fused_data(req);
	else if (req->xfer.data_bad)
		request_answer(req, nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false));
	else
		io_data(req);
}
