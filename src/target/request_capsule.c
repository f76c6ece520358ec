/*
 * request_capsule.c - the data of a capsule, where the receive buffer cannot keep it.
 *
 * Because it did not come in one piece, or because it is needed for longer.
 * Its connection waits where there is no buffer.
 */
#include <assert.h>

#include "target/ordered.h"

/* The share of the volume that the command names, which may not be checked yet; of none: what is of no volume. */
static struct share *
share_said(const struct request *req)
{
	const struct conn *conn = req->conn;
	const struct view_ns *ns = conn->qid != 0 ? conn_ns(conn, le32_get(req->sqe.nsid)) : NULL;

	return &conn->core->shares[ns != NULL ? volume_slot(ns->volume) : SHARE_NOBODY];
}

/* Where the volume has more than it should have by that, its connection goes on with care (turn.c). */
void
request_take_promised(struct request *req, struct share *share, uint32_t bytes)
{
	struct bufs *bufs = &req->conn->core->reactor->bufs;

	bufs_take_promised(bufs, &share->bufs, bytes, &req->bufs);
	if (bufs_beyond(bufs, &share->bufs))
		req->conn->beyond = share;
}

/* The data of a capsule, at least a block of it, is needed for longer than the receive buffer keeps it. */
void
request_keep(struct request *req, const struct capsule *capsule)
{
	req->xfer.iov = req->iov;
	req->xfer.iov_count = 1;
	if (!capsule->transient)
		return; /* it lies where req->iov[0] says */
	request_take_promised(req, share_said(req), capsule->len);
	memcpy(req->bufs.iov[0].iov_base, capsule->data, capsule->len);
	req->iov[0] = req->bufs.iov[0];
}

static void
keep(struct blk_io *io)
{
	struct request *req = io->owner;

	assert(io->flags & BLK_TRANSIENT && io->iov_count == 1);
	request_take_promised(req, share_of(req), (uint32_t)io->iov[0].iov_len);
	memcpy(req->bufs.iov[0].iov_base, io->iov[0].iov_base, io->iov[0].iov_len);
	request_use_bufs(req);
	io->flags &= ~(uint32_t)BLK_TRANSIENT;
}

void
request_lend(struct request *req, const struct capsule *capsule)
{
	req->iov[0] = (struct iovec){ (void *)(uintptr_t)capsule->data, capsule->len };
	req->io.iov = req->iov;
	req->io.iov_count = 1;
	req->io.keep = keep;
	req->io.owner = req;
	if (capsule->transient)
		req->io.flags |= BLK_TRANSIENT;
}

/* ---- capsules whose data did not come in one piece ---- */

static void
capsule_into(struct request *req, void *buffer)
{
	req->stage = STAGE_FILL;
	req->since_ns = req->conn->core->reactor->now_ns;
	req->iov[0] = (struct iovec){ buffer, req->xfer.length };
	req->xfer.iov = req->iov;
	req->xfer.iov_count = 1;
	tconn_incapsule(&req->conn->tc, &req->xfer);
}

static void
into_reserve(struct request *req)
{
	req->conn->reserve_user = req;
	capsule_into(req, req->conn->reserve);
}

/* A buffer came free, or the reserve did: the paused connection goes on. */
void
request_unstall(struct request *req)
{
	struct conn *conn = req->conn;

	bufs_unwait(&conn->core->reactor->bufs, &req->waiter);
	into_reserve(req);
	conn_resume(conn);
}

static void
capsule_granted(struct bufs_waiter *waiter)
{
	struct request *req = request_of(waiter);

	if (!request_served(req)) {
		request_free(req);
		return;
	}
	capsule_into(req, req->bufs.iov[0].iov_base);
	conn_resume(req->conn);
}

/* The connection is not read before there is a buffer. */
static void
stall(struct request *req, struct share *share, uint32_t bytes)
{
	struct conn *conn = req->conn;

	conn->stalled = req;
	conn_pause(conn);
	ordered_conn_stalls(conn);
	req->stage = STAGE_BUFS;
	req->waiter = (struct bufs_waiter){
		.bytes = bytes, .share = &share->bufs, .list = &req->bufs, .granted = capsule_granted,
	};
	bufs_wait(&conn->core->reactor->bufs, &req->waiter);
	traffic_buffers_short(conn->core);
	patience_watch(conn->core);
}

void
request_receive(struct request *req, uint32_t bytes)
{
	struct conn *conn = req->conn;
	struct bufs *bufs = &conn->core->reactor->bufs;
	struct share *share = share_said(req);

	req->xfer.length = bytes;
	/* A queue that anybody may have, or is none yet, has its reserve first, not what I/O needs. */
	if (conn->qid == 0 && conn->reserve_user == NULL) {
		into_reserve(req);
		return;
	}
	/* Where more was received than this piece, a buffer for it was promised. */
	if (bufs->small.promised > 0) {
		request_take_promised(req, share, bytes);
		capsule_into(req, req->bufs.iov[0].iov_base);
	} else if (bufs_take(bufs, &share->bufs, bytes, &req->bufs)) {
		capsule_into(req, req->bufs.iov[0].iov_base);
	} else if (conn->reserve_user == NULL) {
		into_reserve(req);
	} else {
		stall(req, share, bytes);
	}
}
