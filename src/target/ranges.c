/*
 * ranges.c - commands whose data is a list of ranges: Dataset Management, Copy.
 *
 * Checks the list's length, keeps the list, and makes of it what a device
 * takes.  What a Copy then does with its ranges is walk.c's.
 * (NVM Command Set 1.0, 3.2.2, 3.2.3)
 */
#include <assert.h>

#include "target/command.h"

void *
ranges_keep(struct request *req, const struct capsule *capsule, size_t len)
{
	void *data = req->iov;

	assert(len <= capsule->len);
	if (!capsule->transient)
		return (void *)(uintptr_t)capsule->data;
	/* A few find room in the request; with more the capsule is long enough for a promised buffer. */
	if (len > sizeof(req->iov)) {
		request_take_promised(req, share_of(req), (uint32_t)len);
		data = req->bufs.iov[0].iov_base;
	}
	return memcpy(data, capsule->data, len);
}

/* ---- Dataset Management ---- */

struct nvme_status
ranges_check_dsm(struct request *req, const struct view_ns *ns)
{
	uint32_t ranges = (le32_get(req->sqe.cdw10) & 0xff) + 1;
	uint8_t id = req->sqe.sgl1.id;

	(void)ns;
	if (id != NVME_SGL_TRANSPORT && id != NVME_SGL_OFFSET)
		return nvme_status_of(NVME_SC_SGL_TYPE, true);
	if (le32_get(req->sqe.sgl1.length) < ranges * sizeof(struct nvme_dsm_range) ||
	    le32_get(req->sqe.sgl1.length) > 4096)
		return nvme_status_of(NVME_SC_SGL_LENGTH, true);
	req->io.op = BLK_TRIM;
	req->io.lba = req->io.blocks = 0;
	req->io.range_count = ranges;
	req->xfer.length = le32_get(req->sqe.sgl1.length);
	return NVME_OK;
}

/* Wire ranges become device ranges in place: both are 16 bytes. */
static void
trim(struct request *req, void *data)
{
	static_assert(sizeof(struct blk_range) == sizeof(struct nvme_dsm_range), "converted in place");
	const struct view_ns *ns;
	struct nvme_status status = io_ns_again(req, &ns);
	uint8_t *at = data;

	if (!nvme_ok(status)) {
		request_answer(req, status);
		return;
	}
	for (uint32_t i = 0; i < req->io.range_count; i++, at += sizeof(struct blk_range)) {
		struct nvme_dsm_range wire;
		struct blk_range range;

		memcpy(&wire, at, sizeof(wire));
		range = (struct blk_range){ le64_get(wire.slba), le32_get(wire.blocks) };
		if (range.lba > ns->blocks || range.blocks > ns->blocks - range.lba) {
			request_answer(req, nvme_status_of(NVME_SC_LBA_RANGE, true));
			return;
		}
		memcpy(at, &range, sizeof(range));
	}
	req->io.ranges = data;
	if (le32_get(req->sqe.cdw11) & NVME_DSM_AD)
		io_submit_late(req);
	else
		request_answer(req, NVME_OK); /* the other attributes are hints */
}

void
ranges_begin_dsm(struct request *req, const struct capsule *capsule)
{
	if (capsule->len > 0)
		trim(req, ranges_keep(req, capsule, req->io.range_count * sizeof(struct nvme_dsm_range)));
	else
		request_fetch(req);
}

void
ranges_dsm_data(struct request *req)
{
	trim(req, req->bufs.iov[0].iov_base);
}

/* ---- Copy ---- */

struct nvme_status
ranges_check_copy(struct request *req, const struct view_ns *ns)
{
	uint32_t ranges = nvme_copy_ranges(&req->sqe);
	uint8_t id = req->sqe.sgl1.id;

	(void)ns;
	if (nvme_copy_format(&req->sqe) != 0)
		return nvme_status_of(NVME_SC_INVALID_FIELD, true);
	if (ranges > TARGET_COPY_RANGES)
		return nvme_status_of(NVME_SC_SIZE_LIMIT, true);
	if (id != NVME_SGL_TRANSPORT && id != NVME_SGL_OFFSET)
		return nvme_status_of(NVME_SC_SGL_TYPE, true);
	req->xfer.length = le32_get(req->sqe.sgl1.length);
	if (req->xfer.length < ranges * sizeof(struct nvme_copy_range) || req->xfer.length > 4096)
		return nvme_status_of(NVME_SC_SGL_LENGTH, true);
	req->io.range_count = ranges;
	return NVME_OK;
}

void
ranges_begin_copy(struct request *req, const struct capsule *capsule)
{
	if (capsule->len > 0)
		walk_copy(req, ranges_keep(req, capsule, req->io.range_count * sizeof(struct nvme_copy_range)));
	else
		request_fetch(req);
}

void
ranges_copy_data(struct request *req)
{
	walk_copy(req, req->bufs.iov[0].iov_base);
}
