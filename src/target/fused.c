/*
 * fused.c - Compare and Write as one: the write is done if the blocks are as
 * expected, and nobody's write comes between the two.
 *
 * The first half waits for the second, which must be the next command of its
 * queue.  Both are checked, then what they miss of their data is asked for with
 * one buffer for both: a half that held its own while it waits for the other's
 * could wait for ever.  The device does both under one hold (BLK_COMPARE_WRITE);
 * each half has its own answer.  (NVMe Base 2.0, 3.4.2; NVM Command Set 1.0, 2.1.4)
 */
#include "target/command.h"

enum { BLOCK_MIN = 512 };

static bool
is_second(const struct request *req)
{
	return (req->sqe.flags & NVME_FUSE_MASK) == NVME_FUSE_SECOND;
}

/* Ends the pair: each half by its own status. */
static void
answer_both(struct request *first, struct nvme_status first_status, struct request *second,
    struct nvme_status second_status)
{
	first->partner = second->partner = NULL;
	request_answer(first, first_status);
	request_answer(second, second_status);
}

/* One half cannot be done, so the other is not. */
static void
fail(struct request *req, struct nvme_status status)
{
	struct nvme_status other = nvme_status_of(NVME_SC_FUSED_FAILED, false);

	if (is_second(req))
		answer_both(req->partner, other, req, status);
	else
		answer_both(req, status, req->partner, other);
}

/* ---- at the device ---- */

static bool
of_write(struct nvme_status status)
{
	enum nvme_sc sc = nvme_sc(status);

	return sc == NVME_SC_WRITE_FAULT || sc == NVME_SC_CAPACITY || sc == NVME_SC_WRITE_PROTECTED;
}

static void
count(struct target_stats *stats, uint32_t bytes)
{
	stats->reads++;
	stats->read_blocks512 += bytes / 512;
	stats->writes++;
	stats->write_blocks512 += bytes / 512;
}

static void
done(struct blk_io *io, struct nvme_status status)
{
	struct request *write = io->owner, *compare = write->partner;
	struct conn *conn = write->conn;
	bool finishing = io_returned(write, status);

	if (nvme_ok(status) && durable_late(write, done))
		return;
	scratch_give(write);
	compare->stage = STAGE_NEW;
	if (nvme_ok(status)) {
		count(conn->stats, write->xfer.length);
		answer_both(compare, NVME_OK, write, NVME_OK);
	} else if (of_write(status)) {
		answer_both(compare, NVME_OK, write, status);
	} else {
		compare->io.flags |= write->io.flags & BLK_BAD;
		compare->io.at = write->io.at;
		compare->walked = 0; /* which block differs the device does not say */
		fail(compare, write->volume == VOLUME_ENDED ? io_ended() : status);
	}
	if (finishing)
		conn_send_soon(conn);
}

static void
granted(struct bufs_waiter *waiter)
{
	struct request *write = request_of(waiter), *compare = write->partner;
	struct nvme_status status;

	compare->stage = STAGE_PARTNER;
	write->io.op = BLK_COMPARE_WRITE;
	write->io.iov = write->xfer.iov;
	write->io.iov_count = write->xfer.iov_count;
	write->io.expected = compare->xfer.iov;
	write->io.expected_count = compare->xfer.iov_count;
	status = io_submit(write, false, done);
	if (nvme_ok(status))
		return;
	scratch_give(write);
	compare->stage = STAGE_FUSED;
	fail(compare, status);
}

static void
compare_write(struct request *write)
{
	if (scratch_take(write, granted))
		granted(&write->waiter);
}

/* ---- data ---- */

static bool
lacks_data(const struct request *req)
{
	return req->xfer.iov == NULL;
}

/* How many bytes must be asked for: of the pair, if `req` is half of one. */
uint32_t
fused_asks(const struct request *req)
{
	uint32_t both = req->partner != NULL && lacks_data(req) && lacks_data(req->partner) ? 2 : 1;

	return both * req->xfer.length;
}

static void
ask(struct request *req, void *buffer)
{
	req->iov[1] = (struct iovec){ buffer, req->xfer.length };
	request_ask(req, &req->iov[1], 1);
}

/* req->bufs is one large piece: for its own data and, behind it, its partner's. */
void
fused_ask(struct request *req)
{
	struct request *partner = lacks_data(req->partner) ? req->partner : NULL;
	uint8_t *buffer = req->bufs.iov[0].iov_base;

	static_assert(2 * TARGET_FUSED_MAX <= BUFS_LARGE, "both halves find room in one piece");
	ask(req, buffer);
	if (partner != NULL)
		ask(partner, buffer + TARGET_FUSED_MAX);
}

static void
complete(struct request *req)
{
	struct request *write = is_second(req) ? req : req->partner;
	struct request *compare = write->partner;

	if (compare->xfer.data_bad)
		fail(compare, nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false));
	else if (write->xfer.data_bad)
		fail(write, nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false));
	else
		compare_write(write);
}

/* What one half asked for is there. */
void
fused_data(struct request *req)
{
	struct request *partner = req->partner;

	req->stage = STAGE_FUSED;
	if (partner->stage == STAGE_FUSED)
		complete(req);
}

/* ---- the pair ---- */

static bool
same_blocks(const struct request *a, const struct request *b)
{
	return le32_get(a->sqe.nsid) == le32_get(b->sqe.nsid) && nvme_slba(&a->sqe) == nvme_slba(&b->sqe) &&
	    nvme_blocks(&a->sqe) == nvme_blocks(&b->sqe);
}

static struct nvme_status
check(struct request *req)
{
	struct nvme_status status = io_check(req);

	if (nvme_ok(status) && req->xfer.length > TARGET_FUSED_MAX)
		return nvme_status_of(NVME_SC_ATOMIC_UNIT, true);
	return status;
}

/* Both halves are there. */
static void
pair(struct request *first, struct request *second)
{
	struct nvme_status status;

	first->partner = second;
	second->partner = first;
	if (!same_blocks(first, second)) {
		status = nvme_status_of(NVME_SC_INVALID_FIELD, true);
		answer_both(first, status, second, status);
		return;
	}
	status = check(first);
	if (!nvme_ok(status)) {
		fail(first, status);
		return;
	}
	status = check(second);
	if (!nvme_ok(status)) {
		fail(second, status);
		return;
	}
	if (lacks_data(first))
		request_fetch(first);
	else if (lacks_data(second))
		request_fetch(second);
	else
		complete(second);
}

/* The first half's second does not follow it. */
void
fused_orphan(struct conn *conn)
{
	struct request *first = conn->fused;

	conn->fused = NULL;
	request_answer(first, nvme_status_of(NVME_SC_FUSED_MISSING, true));
}

/* The first half of a pair, or the second; data that came with it is kept. */
static void
half(struct request *req, const struct capsule *capsule)
{
	struct conn *conn = req->conn;
	struct request *first = conn->fused;

	req->stage = STAGE_FUSED;
	req->since_ns = conn->core->reactor->now_ns;
	req->xfer.iov = NULL;
	/* Even if it is refused now: it may not be any more when the other half is there.  What is shorter than a
	 * block is wrong for ever, and no buffer was promised for it. */
	if (capsule->len >= BLOCK_MIN)
		request_keep(req, capsule);
	if (!is_second(req)) {
		conn->fused = req;
		conn_watch(conn);
	} else {
		conn->fused = NULL;
		pair(first, req);
	}
}

/* Whether it may be the second half of the pair whose first half waits. */
bool
fused_follows(const struct request *req)
{
	return req->sqe.flags == (NVME_PSDT_SGL | NVME_FUSE_SECOND) && req->sqe.opcode != NVME_FABRICS;
}

/* A command whose flags are not those of a plain one: half of a pair, or wrong. */
void
fused_command(struct request *req, const struct capsule *capsule)
{
	unsigned fuse = req->sqe.flags & NVME_FUSE_MASK;
	uint8_t opcode = req->sqe.opcode;

	if ((req->sqe.flags & ~NVME_FUSE_MASK) != NVME_PSDT_SGL || req->conn->qid == 0 ||
	    req->conn->phase != CONN_LIVE || opcode == NVME_FABRICS) {
		request_answer(req, nvme_status_of(NVME_SC_INVALID_FIELD, true));
	} else if (fuse == NVME_FUSE_SECOND && req->conn->fused == NULL) {
		request_answer(req, nvme_status_of(NVME_SC_FUSED_MISSING, true));
	} else if ((fuse == NVME_FUSE_FIRST && opcode == NVME_COMPARE) ||
	    (fuse == NVME_FUSE_SECOND && opcode == NVME_WRITE)) {
		half(req, capsule);
	} else {
		if (req->conn->fused != NULL)
			fused_orphan(req->conn);
		request_answer(req, nvme_status_of(NVME_SC_INVALID_FIELD, true));
	}
}
