/*
 * durable.c - what must be durable before it is answered: writes with FUA, those of a host that has turned its
 * write cache off, and what is read with FUA.
 *
 * Feature 06h is answered when every queue has heard of it and the volumes are
 * flushed; a write that was under way then is done later, and is followed by a
 * flush of its own.  (NVMe Base 2.0, 5.27.1.4; NVM Command Set 1.0, 3.2.4)
 */
#include "target/command.h"

/* As the host asked for it, or because it turned the write cache off. */
uint32_t
durable_fua(const struct request *req)
{
	return le32_get(req->sqe.cdw12) & NVME_RW_FUA || req->conn->durable ? BLK_FUA : 0;
}

static void
first_done(struct blk_io *io, struct nvme_status status)
{
	struct request *req = io->owner;
	struct conn *conn = req->conn;
	bool finishing = io_returned(req, status);

	if (!nvme_ok(status))
		request_answer(req, req->volume == VOLUME_ENDED ? io_ended() : status);
	else if (req->sqe.opcode == NVME_READ)
		io_again(req);
	else
		walk_begin(req, true);
	if (finishing)
		conn_send_soon(conn);
}

void
durable_first(struct request *req)
{
	struct nvme_status status;

	req->io.op = BLK_FLUSH;
	req->io.flags = 0;
	status = io_submit(req, false, first_done);
	if (!nvme_ok(status))
		request_answer(req, status);
}

bool
durable_late(struct request *req, void (*done)(struct blk_io *io, struct nvme_status status))
{
	struct blk_io *io = &req->io;
	bool wrote = io->op == BLK_WRITE || io->op == BLK_WRITE_ZEROES || io->op == BLK_COMPARE_WRITE;

	if (!req->conn->durable || !wrote || io->flags & BLK_FUA)
		return false;
	io->op = BLK_FLUSH;
	io->flags = 0;
	io_submit_to(req, req->chan, done);
	return true;
}
