/*
 * reservation.h - the commands of reservations and their data (NVMe Base 2.0, 7.2 to 7.6).
 *
 * Layouts and names only; what follows from a command is for `resv` to say.
 * A report has one form here, the extended one with host ids of 16 bytes: over
 * Fabrics there are no shorter ones.
 */
#ifndef WEIR_WIRE_RESERVATION_H
#define WEIR_WIRE_RESERVATION_H

#include "wire/nvme.h"

enum nvme_resv_type {
	NVME_RESV_NONE = 0,
	NVME_RESV_WE = 1,    /* write exclusive */
	NVME_RESV_EA = 2,    /* exclusive access */
	NVME_RESV_WE_RO = 3, /* write exclusive, registrants only */
	NVME_RESV_EA_RO = 4,
	NVME_RESV_WE_AR = 5, /* write exclusive, all registrants: each of them holds it */
	NVME_RESV_EA_AR = 6,
};

enum nvme_rrega { NVME_RREGA_REGISTER = 0, NVME_RREGA_UNREGISTER = 1, NVME_RREGA_REPLACE = 2 };
enum nvme_racqa { NVME_RACQA_ACQUIRE = 0, NVME_RACQA_PREEMPT = 1, NVME_RACQA_PREEMPT_ABORT = 2 };
enum nvme_rrela { NVME_RRELA_RELEASE = 0, NVME_RRELA_CLEAR = 1 };
enum nvme_cptpl { NVME_CPTPL_KEEP = 0, NVME_CPTPL_RESERVED = 1, NVME_CPTPL_CLEAR = 2, NVME_CPTPL_SET = 3 };

/* CDW10 of Register, Acquire and Release. */
#define NVME_RESV_ACTION(cdw10) ((cdw10) & 7)
#define NVME_RESV_IEKEY (UINT32_C(1) << 3)
#define NVME_RESV_RTYPE(cdw10) ((cdw10) >> 8 & 0xff)
#define NVME_RESV_CPTPL(cdw10) ((cdw10) >> 30)

struct nvme_resv_register_data {
	le64 crkey, nrkey;
};
static_assert(sizeof(struct nvme_resv_register_data) == 16, "Reservation Register data");

struct nvme_resv_acquire_data {
	le64 crkey, prkey;
};
static_assert(sizeof(struct nvme_resv_acquire_data) == 16, "Reservation Acquire data");

struct nvme_resv_release_data {
	le64 crkey;
};
static_assert(sizeof(struct nvme_resv_release_data) == 8, "Reservation Release data");

/* Report: CDW10 is the number of dwords, 0's based. */
#define NVME_RESV_REPORT_EDS UINT32_C(1) /* CDW11: the extended form */

static inline uint64_t
nvme_resv_report_bytes(const struct nvme_sqe *sqe)
{
	return ((uint64_t)le32_get(sqe->cdw10) + 1) * 4;
}

enum nvme_rcsts { NVME_RCSTS_HOLDER = 1 };

struct nvme_resv_entry {
	le16 cntlid;
	uint8_t rcsts, reserved3[5];
	le64 rkey;
	uint8_t hostid[16], reserved32[32];
};
static_assert(sizeof(struct nvme_resv_entry) == 64, "registrant, extended");
static_assert(offsetof(struct nvme_resv_entry, rkey) == 8, "registrant RKEY");
static_assert(offsetof(struct nvme_resv_entry, hostid) == 16, "registrant HOSTID");

struct nvme_resv_report {
	le32 gen;
	uint8_t rtype;
	uint8_t registrants[2]; /* not aligned */
	uint8_t reserved7[2], ptpls, reserved10[54];
	struct nvme_resv_entry entries[];
};
static_assert(sizeof(struct nvme_resv_report) == 64, "reservation status, extended");
static_assert(offsetof(struct nvme_resv_report, registrants) == 5, "number of registrants");
static_assert(offsetof(struct nvme_resv_report, ptpls) == 9, "PTPLS");

#endif
