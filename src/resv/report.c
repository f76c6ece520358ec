/*
 * report.c - Reservation Report (NVMe Base 2.0, 7.5), cut where the host wants it to end.
 */
#include "resv/internal.h"

#include "wire/fabrics.h"

static uint16_t
cntlid_of(const uint8_t *hostid, const struct resv_controller *controllers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (memcmp(controllers[i].hostid, hostid, RESV_HOSTID_LEN) == 0)
			return controllers[i].cntlid;
	return NVME_CNTLID_DYNAMIC;
}

/* Puts what of `count` bytes at `at` lies in front of the end. */
static void
put(uint8_t *out, size_t bytes, size_t at, const void *from, size_t count)
{
	if (at < bytes)
		memcpy(out + at, from, count < bytes - at ? count : bytes - at);
}

struct nvme_status
resv_report(const struct resv *resv, const struct nvme_sqe *sqe, const struct resv_controller *controllers,
    uint32_t count, uint8_t *out, size_t bytes)
{
	struct nvme_resv_report report = { .gen = le32_of(resv->generation), .rtype = (uint8_t)resv->type,
		.ptpls = resv->ptpl };

	assert(bytes == nvme_resv_report_bytes(sqe));
	if (!(le32_get(sqe->cdw11) & NVME_RESV_REPORT_EDS))
		return nvme_status_of(NVME_SC_HOST_ID_FORMAT, true);
	memset(out, 0, bytes);
	put_le16(report.registrants, (uint16_t)resv->host_count);
	put(out, bytes, 0, &report, sizeof(report));
	for (uint32_t i = 0; i < resv->host_count; i++) {
		const struct resv_host *host = &resv->hosts[i];
		struct nvme_resv_entry entry = {
			.cntlid = le16_of(cntlid_of(host->hostid, controllers, count)),
			.rcsts = resv_holds(resv, i) ? NVME_RCSTS_HOLDER : 0,
			.rkey = le64_of(host->key),
		};

		memcpy(entry.hostid, host->hostid, sizeof(entry.hostid));
		put(out, bytes, sizeof(report) + i * sizeof(entry), &entry, sizeof(entry));
	}
	return NVME_OK;
}
