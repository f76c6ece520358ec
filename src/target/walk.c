/*
 * walk.c - commands that go over their blocks piece by piece: Compare, Verify, Copy.
 *
 * Each piece is read into a scratch buffer and looked at, or written elsewhere.
 * One piece at a time is under way, and a buffer that others wait for is given
 * up between two pieces: the longest of these commands moves 256 MiB.
 * (NVM Command Set 1.0, 3.2.1, 3.2.2, 3.2.6)
 */
#include "target/command.h"

static void walk_next(struct request *req);

/* Of a Copy that failed: the first of its ranges that was not copied wholly. */
static uint32_t
range_left(const struct request *req)
{
	uint64_t done = req->walked;
	uint32_t i = 0;

	while (done >= req->io.ranges[i].blocks)
		done -= req->io.ranges[i++].blocks;
	return i;
}

static void
walk_end(struct request *req, struct nvme_status status)
{
	if (req->io.old != NULL)
		scratch_give(req);
	if (!nvme_ok(status) && req->sqe.opcode == NVME_COPY)
		req->xfer.dw0 = range_left(req);
	request_answer(req, status);
}

/* ---- which blocks ---- */

/* The piece that begins `req->walked` blocks after the first one. */
static struct blk_range
piece(const struct request *req)
{
	uint32_t most = SCRATCH_BYTES / req->block_size;
	uint64_t skip = req->walked;
	struct blk_range range = { nvme_slba(&req->sqe), nvme_blocks(&req->sqe) };

	if (req->sqe.opcode == NVME_COPY) {
		const struct blk_range *at = req->io.ranges;

		for (; skip >= at->blocks; at++)
			skip -= at->blocks;
		range = *at;
	}
	range.lba += skip;
	range.blocks -= (uint32_t)skip;
	if (range.blocks > most)
		range.blocks = most;
	return range;
}

static uint64_t
walk_blocks(const struct request *req)
{
	uint64_t blocks = 0;

	if (req->sqe.opcode != NVME_COPY)
		return nvme_blocks(&req->sqe);
	for (uint32_t i = 0; i < req->io.range_count; i++)
		blocks += req->io.ranges[i].blocks;
	return blocks;
}

/* ---- what is done with them ---- */

/* So many bytes of what was read are the host's data at `at` bytes: all, or those before the first that is not. */
static size_t
as_expected(const struct request *req, uint64_t at)
{
	const uint8_t *found = req->piece.iov_base;
	size_t same = 0;

	for (uint32_t i = 0; same < req->piece.iov_len; i++) {
		const struct iovec *iov = &req->xfer.iov[i];
		const uint8_t *expected = (const uint8_t *)iov->iov_base + at;
		size_t step;

		if (at >= iov->iov_len) {
			at -= iov->iov_len;
			continue;
		}
		step = iov->iov_len - at < req->piece.iov_len - same ? iov->iov_len - at : req->piece.iov_len - same;
		if (memcmp(expected, found + same, step) != 0) {
			while (*expected++ == found[same])
				same++;
			return same;
		}
		same += step;
		at = 0;
	}
	return same;
}

/* Of a Compare; where blocks differ, those before the first of them are done. */
static struct nvme_status
compare(struct request *req)
{
	size_t same = as_expected(req, req->walked * req->block_size);

	if (same == req->piece.iov_len)
		return NVME_OK;
	req->walked += same / req->block_size;
	return nvme_status_of(NVME_SC_COMPARE, true);
}

static void
count(const struct request *req)
{
	struct target_stats *stats = req->conn->stats;
	uint64_t sectors = req->piece.iov_len / 512;

	stats->read_blocks512 += sectors;
	if (req->sqe.opcode != NVME_VERIFY)
		stats->reads += req->walked == 0;
	if (req->sqe.opcode == NVME_COPY) {
		stats->writes += req->walked == 0;
		stats->write_blocks512 += sectors;
	}
}

static void piece_done(struct blk_io *io, struct nvme_status status);

/* Or ends, where that cannot be done any more. */
static void
submit(struct request *req)
{
	struct nvme_status status = io_submit(req, req->begun, piece_done);

	if (!nvme_ok(status))
		walk_end(req, status);
}

static void
copy_write(struct request *req)
{
	req->io.op = BLK_WRITE;
	req->io.flags = durable_fua(req);
	req->io.lba = nvme_slba(&req->sqe) + req->walked;
	submit(req);
}

static void
piece_done(struct blk_io *io, struct nvme_status status)
{
	struct request *req = io->owner;
	struct conn *conn = req->conn;
	bool finishing = io_returned(req, status);

	req->begun = true;
	if (!nvme_ok(status) && req->volume == VOLUME_ENDED)
		status = io_ended();
	if (nvme_ok(status) && req->sqe.opcode == NVME_COMPARE)
		status = compare(req);
	if (!nvme_ok(status)) {
		walk_end(req, status);
	} else if (req->sqe.opcode == NVME_COPY && io->op == BLK_READ) {
		copy_write(req);
	} else if (!durable_late(req, piece_done)) {
		count(req);
		req->walked += io->blocks;
		walk_next(req);
	}
	if (finishing)
		conn_send_soon(conn);
}

/* A scratch buffer is held. */
static void
walk_piece(struct bufs_waiter *waiter)
{
	struct request *req = request_of(waiter);
	struct blk_range range = piece(req);

	req->piece = (struct iovec){ req->io.old, (size_t)range.blocks * req->block_size };
	req->io.op = BLK_READ;
	req->io.flags = 0;
	req->io.lba = range.lba;
	req->io.blocks = range.blocks;
	req->io.iov = &req->piece;
	req->io.iov_count = 1;
	submit(req);
}

static void
walk_next(struct request *req)
{
	if (req->walked == walk_blocks(req)) {
		walk_end(req, NVME_OK);
		return;
	}
	if (!request_served(req)) {
		walk_end(req, nvme_status_of(NVME_SC_ABORT_REQUESTED, false));
		return;
	}
	if (req->io.old != NULL && scratch_wanted(req->conn->core))
		scratch_give(req);
	if (req->io.old != NULL || scratch_take(req, walk_piece))
		walk_piece(&req->waiter);
}

/* ---- beginning ---- */

void
walk_begin(struct request *req, bool begun)
{
	const struct view_ns *ns;
	/* Its data may have taken a while, and the namespace has gone meanwhile, or the host was put out. */
	struct nvme_status status = io_ns_again(req, &ns);

	if (!nvme_ok(status)) {
		request_answer(req, status);
		return;
	}
	req->begun = begun;
	req->walked = 0;
	req->io.old = NULL;
	req->block_size = ns->block_size;
	walk_next(req);
}

void
walk_check(struct request *req)
{
	if (durable_asked(req))
		durable_first(req);
	else
		walk_begin(req, false);
}

static bool
overlap(const struct blk_range *range, uint64_t lba, uint64_t blocks)
{
	return range->lba < lba + blocks && lba < range->lba + range->blocks;
}

/* Wire ranges become device ranges in place; `data` lies anywhere and is ours. */
static struct nvme_status
copy_ranges(struct request *req, uint8_t *data)
{
	static_assert(sizeof(struct blk_range) <= sizeof(struct nvme_copy_range), "converted in place");
	uint64_t dest = nvme_slba(&req->sqe), total = 0;
	const struct view_ns *ns;
	struct nvme_status status = io_ns_again(req, &ns);

	if (!nvme_ok(status))
		return status;
	for (uint32_t i = 0; i < req->io.range_count; i++) {
		struct nvme_copy_range wire;
		struct blk_range range;

		memcpy(&wire, data + i * sizeof(wire), sizeof(wire));
		range = (struct blk_range){ le64_get(wire.slba), (uint32_t)le16_get(wire.nlb) + 1 };
		if (range.blocks > TARGET_COPY_RANGE_MAX)
			return nvme_status_of(NVME_SC_SIZE_LIMIT, true);
		if (range.lba > ns->blocks || range.blocks > ns->blocks - range.lba)
			return nvme_status_of(NVME_SC_LBA_RANGE, true);
		total += range.blocks;
		memcpy(data + i * sizeof(range), &range, sizeof(range));
	}
	req->io.ranges = (const void *)data;
	if (total * ns->block_size > TARGET_COPY_MAX)
		return nvme_status_of(NVME_SC_SIZE_LIMIT, true);
	if (dest > ns->blocks || total > ns->blocks - dest)
		return nvme_status_of(NVME_SC_LBA_RANGE, true);
	/* Source and destination in one: what is read last may have been written first. */
	for (uint32_t i = 0; i < req->io.range_count; i++)
		if (overlap(&req->io.ranges[i], dest, total))
			return nvme_status_of(NVME_SC_INVALID_FIELD, true);
	return NVME_OK;
}

void
walk_copy(struct request *req, void *data)
{
	struct nvme_status status = copy_ranges(req, data);

	if (nvme_ok(status))
		walk_begin(req, false);
	else
		request_answer(req, status);
}
