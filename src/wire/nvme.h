/*
 * nvme.h - submission and completion queue entries, opcodes and status.
 *
 * Layouts of NVMe Base 2.0 (3.3.3 and 4.x) and NVM Command Set 1.0, as they
 * travel over Fabrics.  Names keep the letters of the specifications.
 */
#ifndef WEIR_WIRE_NVME_H
#define WEIR_WIRE_NVME_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

enum nvme_admin_opcode {
	NVME_ADMIN_GET_LOG_PAGE = 0x02,
	NVME_ADMIN_IDENTIFY = 0x06,
	NVME_ADMIN_ABORT = 0x08,
	NVME_ADMIN_SET_FEATURES = 0x09,
	NVME_ADMIN_GET_FEATURES = 0x0a,
	NVME_ADMIN_ASYNC_EVENT = 0x0c,
	NVME_ADMIN_NS_MANAGEMENT = 0x0d,
	NVME_ADMIN_NS_ATTACHMENT = 0x15,
	NVME_ADMIN_KEEP_ALIVE = 0x18,
};

enum nvme_ns_select { NVME_NS_CREATE = 0, NVME_NS_DELETE = 1, NVME_NS_ATTACH = 0, NVME_NS_DETACH = 1 };

enum nvme_io_opcode {
	NVME_FLUSH = 0x00,
	NVME_WRITE = 0x01,
	NVME_READ = 0x02,
	NVME_WRITE_UNCORRECTABLE = 0x04,
	NVME_COMPARE = 0x05,
	NVME_WRITE_ZEROES = 0x08,
	NVME_DATASET_MGMT = 0x09,
	NVME_VERIFY = 0x0c,
	NVME_RESV_REGISTER = 0x0d,
	NVME_RESV_REPORT = 0x0e,
	NVME_RESV_ACQUIRE = 0x11,
	NVME_RESV_RELEASE = 0x15,
	NVME_COPY = 0x19,
};

enum { NVME_FABRICS = 0x7f };

enum nvme_fctype {
	NVME_PROPERTY_SET = 0x00,
	NVME_CONNECT = 0x01,
	NVME_PROPERTY_GET = 0x04,
	NVME_DISCONNECT = 0x08,
};

/* Of nvme_sqe.flags.  Those of a plain command are NVME_PSDT_SGL and nothing else: bits 5:2 are reserved. */
enum { NVME_PSDT_SGL = 0x40, NVME_FUSE_MASK = 0x03 };
enum { NVME_FUSE_FIRST = 1, NVME_FUSE_SECOND = 2 };

/* SGL descriptor type << 4 | subtype (Base 2.0, 4.1.2). */
enum nvme_sgl_id {
	NVME_SGL_OFFSET = 0x01,    /* data block at an offset: in the capsule */
	NVME_SGL_TRANSPORT = 0x5a, /* transport data block: by R2T or C2HData */
};

struct nvme_sgl {
	le64 address;
	le32 length;
	uint8_t reserved[3];
	uint8_t id;
};
static_assert(sizeof(struct nvme_sgl) == 16, "SGL descriptor");

struct nvme_sqe {
	uint8_t opcode;
	uint8_t flags; /* FUSE, PSDT */
	le16 cid;
	union {
		le32 nsid;
		uint8_t fctype;
	};
	le32 cdw2, cdw3;
	le64 mptr;
	struct nvme_sgl sgl1;
	le32 cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
};
static_assert(sizeof(struct nvme_sqe) == 64, "SQE");
static_assert(offsetof(struct nvme_sqe, cdw10) == 40, "SQE CDW10");

struct nvme_cqe {
	le32 dw0, dw1;
	le16 sqhd, sqid, cid;
	le16 status; /* b0 phase (0), 8:1 SC, 11:9 SCT, 13:12 CRD, b14 More, b15 DNR */
};
static_assert(sizeof(struct nvme_cqe) == 16, "CQE");

enum { NVME_STATUS_SC = 0x7ff, NVME_STATUS_DNR = 0x800 }; /* where in its bits: SCT << 8 | SC, and DNR */

/*
 * A status as a value: all 0 is success (Base 2.0, 3.3.3.2.1).  It is passed and
 * tested with every I/O, which goes by its bits: fields would be taken apart and
 * put together again at each call.
 */
struct nvme_status {
	union {
		uint16_t bits;
		struct {
			uint16_t sc : 8, sct : 3, dnr : 1;
		};
	};
};

#define NVME_OK ((struct nvme_status){ .bits = 0 })

enum nvme_sct { NVME_SCT_GENERIC = 0, NVME_SCT_COMMAND = 1, NVME_SCT_MEDIA = 2, NVME_SCT_PATH = 3 };

/* Status codes as SCT << 8 | SC. */
enum nvme_sc {
	NVME_SC_SUCCESS = 0x000,
	NVME_SC_INVALID_OPCODE = 0x001,
	NVME_SC_INVALID_FIELD = 0x002,
	NVME_SC_CID_CONFLICT = 0x003,
	NVME_SC_DATA_TRANSFER = 0x004,
	NVME_SC_POWER_LOSS = 0x005,
	NVME_SC_INTERNAL = 0x006,
	NVME_SC_ABORT_REQUESTED = 0x007,
	NVME_SC_SQ_DELETED = 0x008,
	NVME_SC_FUSED_FAILED = 0x009,
	NVME_SC_FUSED_MISSING = 0x00a,
	NVME_SC_INVALID_NS = 0x00b,
	NVME_SC_SEQUENCE = 0x00c,
	NVME_SC_SGL_LENGTH = 0x00f,
	NVME_SC_SGL_TYPE = 0x011,
	NVME_SC_ATOMIC_UNIT = 0x014,
	NVME_SC_DENIED = 0x015,
	NVME_SC_HOST_ID_FORMAT = 0x018,
	NVME_SC_KATO_INVALID = 0x01a,
	NVME_SC_PREEMPT_ABORTED = 0x01b,
	NVME_SC_SANITIZING = 0x01d,
	NVME_SC_WRITE_PROTECTED = 0x020,
	NVME_SC_INTERRUPTED = 0x021,
	NVME_SC_TRANSIENT_TRANSPORT = 0x022,
	NVME_SC_LBA_RANGE = 0x080,
	NVME_SC_CAPACITY = 0x081,
	NVME_SC_NS_NOT_READY = 0x082,
	NVME_SC_RESV_CONFLICT = 0x083,
	NVME_SC_FORMATTING = 0x084,
	NVME_SC_ABORT_LIMIT = 0x103,
	NVME_SC_AER_LIMIT = 0x105,
	NVME_SC_LOG_PAGE = 0x109,
	NVME_SC_INVALID_FORMAT = 0x10a,
	NVME_SC_NOT_SAVEABLE = 0x10d,
	NVME_SC_NOT_CHANGEABLE = 0x10e,
	NVME_SC_NOT_NS_SPECIFIC = 0x10f,
	NVME_SC_NS_CAPACITY = 0x115,
	NVME_SC_NSID_UNAVAILABLE = 0x116,
	NVME_SC_NS_ATTACHED = 0x118,
	NVME_SC_NS_PRIVATE = 0x119,
	NVME_SC_NS_NOT_ATTACHED = 0x11a,
	NVME_SC_THIN_PROVISIONING = 0x11b,
	NVME_SC_CTRL_LIST = 0x11c,
	NVME_SC_ANA_GROUP = 0x124,
	NVME_SC_ATTACHMENTS = 0x127,
	NVME_SC_COMMAND_SET = 0x129,
	NVME_SC_CONFLICTING_ATTRIBUTES = 0x180,
	NVME_SC_CONNECT_FORMAT = 0x180,
	NVME_SC_CONNECT_BUSY = 0x181,
	NVME_SC_CONNECT_PARAMS = 0x182,
	NVME_SC_READ_ONLY_RANGE = 0x182,
	NVME_SC_CONNECT_HOST = 0x184,
	NVME_SC_CONNECT_QUEUE_TYPE = 0x185,
	NVME_SC_AUTH_REQUIRED = 0x191,
	NVME_SC_SIZE_LIMIT = 0x183,
	NVME_SC_WRITE_FAULT = 0x280,
	NVME_SC_READ_ERROR = 0x281,
	NVME_SC_COMPARE = 0x285,
	NVME_SC_ACCESS_DENIED = 0x286,
	NVME_SC_ANA_PERSISTENT_LOSS = 0x301,
	NVME_SC_ANA_INACCESSIBLE = 0x302,
	NVME_SC_ANA_TRANSITION = 0x303,
	NVME_SC_HOST_ABORTED = 0x371,
};

static inline struct nvme_status
nvme_status_of(enum nvme_sc sc, bool dnr)
{
	return (struct nvme_status){ .bits = (uint16_t)((sc & NVME_STATUS_SC) | (dnr ? NVME_STATUS_DNR : 0)) };
}

static inline bool nvme_ok(struct nvme_status s) { return (s.bits & NVME_STATUS_SC) == 0; }

/* SCT << 8 | SC of a status. */
static inline enum nvme_sc
nvme_sc(struct nvme_status s)
{
	return (enum nvme_sc)(s.bits & NVME_STATUS_SC);
}

static inline le16
nvme_status_put(struct nvme_status s)
{
	return le16_of((uint16_t)(nvme_sc(s) << 1 | (s.dnr ? 0x8000 : 0)));
}

static inline struct nvme_status
nvme_status_get(le16 wire)
{
	unsigned v = le16_get(wire);

	return nvme_status_of((enum nvme_sc)(v >> 1 & NVME_STATUS_SC), v >> 15);
}

/* In a status on the wire: the host finds more of the command in log 01h. */
static inline le16
nvme_status_more(le16 wire)
{
	return le16_of(le16_get(wire) | 0x4000);
}

/* What the status is called in the specification; `connect`: of a Connect, whose codes overlap. */
const char *nvme_status_text(struct nvme_status status, bool connect);

/*
 * The one place where a failure of the machine becomes a status: `error` is a
 * negative errno of a read (`write` false) or of anything that changes data.
 */
struct nvme_status nvme_status_of_errno(int error, bool write);

/* And the one place the other way round, for a host; 0 for success.  Not of a Connect, whose codes overlap.
 * weir/status.h says what which errno means. */
int nvme_status_errno(struct nvme_status status);

/* I/O command fields (NVM Command Set 1.0, 3.2). */
#define NVME_RW_FUA (UINT32_C(1) << 30)    /* CDW12 of Read, Write, Write Zeroes */
#define NVME_RW_PRACT (UINT32_C(1) << 29)  /* CDW12 of them and of Verify: of protection information */
#define NVME_WZ_DEAC (UINT32_C(1) << 25)   /* CDW12 of Write Zeroes */
#define NVME_DSM_AD (UINT32_C(1) << 2)     /* CDW11 of Dataset Management */

static inline uint64_t
nvme_slba(const struct nvme_sqe *sqe)
{
	return le32_get(sqe->cdw10) | (uint64_t)le32_get(sqe->cdw11) << 32;
}

/* Blocks of a Read, Write or Write Zeroes: NLB is 0's based. */
static inline uint32_t
nvme_blocks(const struct nvme_sqe *sqe)
{
	return (le32_get(sqe->cdw12) & 0xffff) + 1;
}

/* Of a Copy (3.2.2): ranges, 0's based, and the format of what describes them. */
static inline uint32_t nvme_copy_ranges(const struct nvme_sqe *sqe) { return (le32_get(sqe->cdw12) & 0xff) + 1; }
static inline unsigned nvme_copy_format(const struct nvme_sqe *sqe) { return le32_get(sqe->cdw12) >> 8 & 0xf; }

struct nvme_copy_range { /* format 0 */
	uint8_t reserved0[8];
	le64 slba;
	le16 nlb; /* 0's based */
	uint8_t reserved18[6];
	le32 eilbrt; /* protection information: there is none */
	le16 elbat, elbatm;
};
static_assert(sizeof(struct nvme_copy_range) == 32, "Copy range, format 0");

struct nvme_dsm_range {
	le32 attributes, blocks; /* not 0's based */
	le64 slba;
};
static_assert(sizeof(struct nvme_dsm_range) == 16, "DSM range");

#endif
