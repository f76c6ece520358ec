/*
 * lane_io.c - what a caller wants as a command, or two.
 *
 * Knows the I/O commands of the NVM Command Set (1.0, 3.2) and what makes an
 * I/O impossible from the start; not where it is sent.  Whether blocks are
 * inside the namespace is the target's to say: it knows first when one grows.
 */
#include <errno.h>

#include "host/internal.h"

enum { BLOCKS_MAX = 65536, PAGE_IOVS = LANE_PAGE / sizeof(struct iovec) };

static const struct op {
	uint8_t opcode;
	uint8_t transfers;   /* times its blocks of data */
	enum hreq_data data;
	bool blocks, ranges; /* it has such */
	bool changes;
	void (*done)(struct hio *hio);
} ops[LANE_OPS] = {
	[LANE_READ] = { NVME_READ, 1, HREQ_READ, true, false, false, flight_answered },
	[LANE_WRITE] = { NVME_WRITE, 1, HREQ_WRITE, true, false, true, flight_written },
	[LANE_FLUSH] = { NVME_FLUSH, 0, HREQ_NONE, false, false, false, flight_flushed },
	[LANE_WRITE_ZEROES] = { NVME_WRITE_ZEROES, 0, HREQ_NONE, true, false, true, flight_written },
	[LANE_DEALLOCATE] = { NVME_DATASET_MGMT, 0, HREQ_WRITE, false, true, true, flight_written },
	[LANE_COMPARE] = { NVME_COMPARE, 1, HREQ_WRITE, true, false, false, flight_answered },
	[LANE_COMPARE_AND_WRITE] = { NVME_COMPARE, 2, HREQ_WRITE, true, false, true, flight_answered },
	[LANE_VERIFY] = { NVME_VERIFY, 0, HREQ_NONE, true, false, false, flight_answered },
	[LANE_COPY] = { NVME_COPY, 0, HREQ_WRITE, false, true, true, flight_written },
	[LANE_WRITE_UNCORRECTABLE] = { NVME_WRITE_UNCORRECTABLE, 0, HREQ_NONE, true, false, true, flight_written },
};

bool
lane_op_changes(enum lane_op op)
{
	return ops[op].changes;
}

static inline uint64_t
iov_total(const struct iovec *iov, uint32_t count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (iov[i].iov_len > UINT32_MAX)
			return UINT64_MAX; /* more than any transfer, and no sum goes round */
		bytes += iov[i].iov_len;
	}
	return bytes;
}

/* The last piece of what is compared may be the first of what is written. */
static inline bool
fits(const struct lane_io *io, const struct view_ns *ns, const struct op *op)
{
	uint64_t bytes = (uint64_t)io->blocks * ns->block_size;

	if (bytes > ns->transfer_max)
		return false;
	if (io->iov_count == 1)
		return io->iov->iov_len == bytes * op->transfers;
	return io->iov_count < (op->transfers == 2 ? PAGE_IOVS : HREQ_IOV_MAX) &&
	    iov_total(io->iov, io->iov_count) == bytes * op->transfers;
}

static inline bool
possible(const struct lane_io *io, const struct view_ns *ns, const struct op *op)
{
	if (op->blocks && (io->blocks == 0 || io->blocks > BLOCKS_MAX || io->lba > UINT64_MAX - io->blocks))
		return false;
	if (op->transfers > 0)
		return fits(io, ns, op) && (op->transfers == 1 || io->blocks <= ns->compare_write_blocks);
	return !op->ranges || (io->range_count > 0 && io->range_count <= LANE_RANGES_MAX);
}

/* Every source block is read: a range of a Copy has at most 65536. */
static int
put_ranges(struct flight *flight, const struct lane_io *io)
{
	bool copy = io->op == LANE_COPY;
	struct nvme_copy_range *from = flight->page;
	struct nvme_dsm_range *dsm = flight->page;
	struct hreq *req = &flight->hio.req;

	for (uint32_t i = 0; i < io->range_count; i++) {
		const struct lane_range *range = &io->ranges[i];

		if (range->blocks == 0 || (copy && range->blocks > BLOCKS_MAX))
			return -EINVAL;
		if (copy)
			from[i] = (struct nvme_copy_range){
				.slba = le64_of(range->lba), .nlb = le16_of((uint16_t)(range->blocks - 1)),
			};
		else
			dsm[i] = (struct nvme_dsm_range){
				.blocks = le32_of(range->blocks), .slba = le64_of(range->lba),
			};
	}
	req->length = io->range_count * (uint32_t)(copy ? sizeof(*from) : sizeof(*dsm));
	flight->page_iov = (struct iovec){ flight->page, req->length };
	req->iov = &flight->page_iov;
	req->iov_count = 1;
	if (copy) {
		req->sqe.cdw12 = le32_of(io->range_count - 1);
	} else {
		req->sqe.cdw10 = le32_of(io->range_count - 1);
		req->sqe.cdw11 = le32_of(NVME_DSM_AD);
	}
	return 0;
}

/* The pieces of a Compare and Write: those of the first half, and those of the second. */
static void
split(struct flight *flight, const struct lane_io *io, uint32_t half)
{
	struct iovec *out = flight->page;
	uint32_t left = half, count = 0, first = 0;

	for (uint32_t i = 0; i < io->iov_count; i++) {
		struct iovec piece = io->iov[i];

		if (first == 0 && piece.iov_len >= left) {
			out[count++] = (struct iovec){ piece.iov_base, left };
			first = count;
			piece.iov_base = (uint8_t *)piece.iov_base + left;
			piece.iov_len -= left;
		} else if (first == 0) {
			left -= (uint32_t)piece.iov_len;
		}
		if (piece.iov_len > 0)
			out[count++] = piece;
	}
	flight->hio.req.iov = out;
	flight->hio.req.iov_count = first;
	flight->mate->hio.req.iov = out + first;
	flight->mate->hio.req.iov_count = count - first;
}

static void
fuse(struct flight *flight, const struct lane_io *io, uint32_t half)
{
	struct hreq *first = &flight->hio.req, *second = &flight->mate->hio.req;

	first->sqe.flags = NVME_FUSE_FIRST;
	second->sqe = first->sqe;
	second->sqe.flags = NVME_FUSE_SECOND;
	second->sqe.opcode = NVME_WRITE;
	if (io->flags & LANE_FUA)
		second->sqe.cdw12 = le32_of(le32_get(second->sqe.cdw12) | NVME_RW_FUA);
	flight->mate->hio.done = flight_answered;
	second->data = HREQ_WRITE;
	second->length = half;
	split(flight, io, half);
}

static void
flush(struct flight *flight, const struct view_ns *ns)
{
	struct nvme_sqe *sqe = &flight->hio.req.sqe;

	sqe->cdw10 = sqe->cdw11 = le32_of(0);
	flight->moment = cache_flush(ns->cache);
	flight->told = flight->lane->cache_told[ns->slot];
}

static uint32_t
flags_of(const struct lane_io *io)
{
	uint32_t flags = 0;

	if (io->flags == 0)
		return 0;
	if (io->flags & LANE_FUA && (io->op == LANE_READ || io->op == LANE_WRITE || io->op == LANE_WRITE_ZEROES))
		flags |= NVME_RW_FUA;
	if (io->flags & LANE_UNMAP && io->op == LANE_WRITE_ZEROES)
		flags |= NVME_WZ_DEAC;
	return flags;
}

int
flight_build(struct flight *flight, const struct lane_io *io, const struct view_ns *ns)
{
	const struct op *op = &ops[io->op];
	struct hreq *req = &flight->hio.req;

	if (!possible(io, ns, op))
		return op->transfers == 2 && ns->compare_write_blocks == 0 ? -EOPNOTSUPP : -EINVAL;
	req->sqe = (struct nvme_sqe){
		.opcode = op->opcode, .nsid = le32_of(io->nsid),
		.cdw10 = le32_of((uint32_t)io->lba), .cdw11 = le32_of((uint32_t)(io->lba >> 32)),
		.cdw12 = le32_of(op->blocks ? (io->blocks - 1) | flags_of(io) : 0),
	};
	flight->hio.done = op->done;
	req->data = op->data;
	req->length = io->blocks * ns->block_size;
	req->iov = io->iov;
	req->iov_count = io->iov_count;
	if (io->op == LANE_FLUSH)
		flush(flight, ns);
	else if (op->ranges)
		return put_ranges(flight, io);
	else if (op->transfers == 2)
		fuse(flight, io, req->length);
	return 0;
}
