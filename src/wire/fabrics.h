/*
 * fabrics.h - Fabrics commands, properties and the data of Connect
 * (NVMe Base 2.0, 3.1.3 and 6).
 */
#ifndef WEIR_WIRE_FABRICS_H
#define WEIR_WIRE_FABRICS_H

#include "base/nqn.h"
#include "wire/nvme.h"

#define NVME_DISCOVERY_NQN NQN_DISCOVERY

enum { NVME_NQN_MAX = NQN_MAX, NVME_NQN_FIELD = 256, NVME_ADMIN_INCAPSULE = 8192 };

enum { NVME_CNTLID_DYNAMIC = 0xffff, NVME_CNTLID_STATIC = 0xfffe, NVME_CNTLID_MAX = 0xffef };

struct nvme_connect_sqe {
	uint8_t opcode, flags;
	le16 cid;
	uint8_t fctype;
	uint8_t reserved5[19];
	struct nvme_sgl sgl1;
	le16 recfmt, qid, sqsize; /* SQSIZE is 0's based */
	uint8_t cattr, reserved47;
	le32 kato;                /* milliseconds */
	uint8_t reserved52[12];
};
static_assert(sizeof(struct nvme_connect_sqe) == 64, "Connect SQE");
static_assert(offsetof(struct nvme_connect_sqe, recfmt) == 40, "Connect RECFMT");
static_assert(offsetof(struct nvme_connect_sqe, kato) == 48, "Connect KATO");

enum { NVME_CATTR_NO_SQ_FLOW = 0x04 };

/* DW0 of a Connect's success, beside the controller's number: the host has to authenticate. */
enum { NVME_CONNECT_ATR = 1 << 17 };

struct nvme_connect_data {
	uint8_t hostid[16];
	le16 cntlid;
	uint8_t reserved18[238];
	char subnqn[NVME_NQN_FIELD];
	char hostnqn[NVME_NQN_FIELD];
	uint8_t reserved768[256];
};
static_assert(sizeof(struct nvme_connect_data) == 1024, "Connect data");
static_assert(offsetof(struct nvme_connect_data, subnqn) == 256, "Connect SUBNQN");

struct nvme_property_sqe {
	uint8_t opcode, flags;
	le16 cid;
	uint8_t fctype;
	uint8_t reserved5[35];
	uint8_t attrib; /* b2:0: 0 four bytes, 1 eight bytes */
	uint8_t reserved41[3];
	le32 ofst;
	le64 value;     /* Property Set */
	uint8_t reserved56[8];
};
static_assert(sizeof(struct nvme_property_sqe) == 64, "Property SQE");
static_assert(offsetof(struct nvme_property_sqe, ofst) == 44, "Property OFST");

enum nvme_property {
	NVME_CAP = 0x00,  /* 8 bytes */
	NVME_VS = 0x08,
	NVME_CC = 0x14,
	NVME_CSTS = 0x1c,
	NVME_CRTO = 0x68,
};

#define NVME_CAP_CQR (UINT64_C(1) << 16)
#define NVME_CAP_CSS_NVM (UINT64_C(1) << 37)
#define NVME_CAP_CRWMS (UINT64_C(1) << 59)

#define NVME_CC_EN UINT32_C(1)
#define NVME_CC_CSS(cc) ((cc) >> 4 & 7)
#define NVME_CC_MPS(cc) ((cc) >> 7 & 15)
#define NVME_CC_AMS(cc) ((cc) >> 11 & 7)
#define NVME_CC_CSS_MASK UINT32_C(0x0070)
#define NVME_CC_MPS_MASK UINT32_C(0x0780)
#define NVME_CC_AMS_MASK UINT32_C(0x3800)
#define NVME_CC_MASK UINT32_C(0x00fffff1) /* what is above and below; CRIME, where CAP.CRMS has no choice, is 0 */
#define NVME_CC_SHN(cc) ((cc) >> 14 & 3)
#define NVME_CC_IOSQES(cc) ((cc) >> 16 & 15)
#define NVME_CC_IOCQES(cc) ((cc) >> 20 & 15)
#define NVME_CC_ENTRIES (UINT32_C(6) << 16 | UINT32_C(4) << 20) /* of 64 and 16 bytes, as all queues have them */

#define NVME_CSTS_RDY UINT32_C(1)
#define NVME_CSTS_CFS UINT32_C(2)
#define NVME_CSTS_SHST_MASK UINT32_C(0x0c)
#define NVME_CSTS_SHST_OCCURRING UINT32_C(0x04)
#define NVME_CSTS_SHST_DONE UINT32_C(0x08)

#define NVME_VS_2_0 UINT32_C(0x00020000)

/* Property Get or Set, of four bytes. */
struct nvme_sqe nvme_property_command(uint8_t fctype, uint32_t ofst, uint32_t value);

/* Where a Connect went wrong: DW0 of its completion. */
struct nvme_connect_fault {
	uint16_t ipo;
	bool in_data;
};

/* The length of an NQN in its 256-byte field, or -1: not terminated, or none (base/nqn.h). */
int nvme_nqn_length(const char field[NVME_NQN_FIELD]);

#endif
