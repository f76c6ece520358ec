/*
 * pdu.h - NVMe/TCP PDUs: their headers, and whether one may follow.
 *
 * pdu_check() answers one question about eight bytes from the network: may
 * this PDU follow, and where does its data lie?  Pure: no socket, clock,
 * allocation or log, so the target, the host and the fuzzers share it.
 * (NVMe/TCP Transport 1.0, 3.6)
 */
#ifndef WEIR_WIRE_PDU_H
#define WEIR_WIRE_PDU_H

#include <stdbool.h>

#include "wire/nvme.h"

enum pdu_type {
	PDU_ICREQ = 0x00,
	PDU_ICRESP = 0x01,
	PDU_H2C_TERM = 0x02,
	PDU_C2H_TERM = 0x03,
	PDU_CAPSULE_CMD = 0x04,
	PDU_CAPSULE_RESP = 0x05,
	PDU_H2C_DATA = 0x06,
	PDU_C2H_DATA = 0x07,
	PDU_R2T = 0x09,
};

enum pdu_flags {
	PDU_HDGST = 0x01,
	PDU_DDGST = 0x02,
	PDU_LAST = 0x04,
	PDU_SUCCESS = 0x08,
};

enum {
	PDU_CH_LEN = 8,
	PDU_HLEN_MAX = 128,
	PDU_DIGEST_LEN = 4,
	PDU_TERM_HLEN = 24,
	PDU_TERM_DATA_MAX = 128,
	PDU_PDA_MAX = 31,
	PDU_MAXH2CDATA_MIN = 4096,
};

struct pdu_ch {
	uint8_t type, flags, hlen, pdo;
	le32 plen;
};
static_assert(sizeof(struct pdu_ch) == PDU_CH_LEN, "common header");

struct pdu_ic { /* ICReq and ICResp */
	struct pdu_ch ch;
	le16 pfv;
	uint8_t pda;  /* HPDA, CPDA: (n + 1) * 4 bytes */
	uint8_t dgst; /* b0 header, b1 data digest */
	le32 limit;   /* MAXR2T (0's based); MAXH2CDATA (bytes) */
	uint8_t reserved[112];
};
static_assert(sizeof(struct pdu_ic) == 128, "ICReq");

struct pdu_term {
	struct pdu_ch ch;
	le16 fes;
	uint8_t fei[4];
	uint8_t reserved[10];
};
static_assert(sizeof(struct pdu_term) == PDU_TERM_HLEN, "TermReq");

struct pdu_capsule_cmd {
	struct pdu_ch ch;
	struct nvme_sqe sqe;
};
static_assert(sizeof(struct pdu_capsule_cmd) == 72, "CapsuleCmd");

struct pdu_capsule_resp {
	struct pdu_ch ch;
	struct nvme_cqe cqe;
};
static_assert(sizeof(struct pdu_capsule_resp) == 24, "CapsuleResp");

struct pdu_data { /* H2CData, C2HData; R2T with R2TO and R2TL */
	struct pdu_ch ch;
	le16 cccid, ttag;
	le32 offset, length;
	uint8_t reserved[4];
};
static_assert(sizeof(struct pdu_data) == 24, "H2CData");

enum pdu_fes {
	PDU_FES_NONE = 0,
	PDU_FES_HEADER_FIELD = 1,
	PDU_FES_SEQUENCE = 2,
	PDU_FES_HEADER_DIGEST = 3,
	PDU_FES_OUT_OF_RANGE = 4,
	PDU_FES_LIMIT_EXCEEDED = 5,
	PDU_FES_UNSUPPORTED = 6,
};

/* The peer broke a rule: what a TermReq says of it.  fes 0: no fault. */
struct pdu_fault {
	uint16_t fes;
	uint32_t fei;
	const char *why; /* in plain words, for the log; static */
};

/* Which end received the PDU. */
enum pdu_side { PDU_TO_TARGET = 0, PDU_TO_HOST = 1 };

/* What the receiving end knows and agreed; before ICReq/ICResp the digests are off. */
struct pdu_terms {
	enum pdu_side side;
	bool hdgst, ddgst;
	uint8_t pda;       /* alignment asked of the sender of data: HPDA or CPDA */
	uint32_t data_max; /* most data one PDU may carry; a larger PLEN is refused */
};

/* Where the parts of a PDU lie; offsets from its first byte. */
struct pdu_shape {
	uint8_t type, flags;
	uint32_t hlen;      /* header without digest */
	uint32_t data_at;   /* PDO, or the end of the header where there is no data */
	uint32_t data_len;
	uint32_t plen;
	bool hdgst, ddgst;
};

/*
 * Checks a common header against the rules for its type and the terms, fields
 * in ascending order, so that the fault names the lowest wrong byte (3.7).
 * On success (fes 0) `shape` is filled; else it is untouched.
 */
struct pdu_fault pdu_check(const uint8_t ch[PDU_CH_LEN], const struct pdu_terms *terms,
    struct pdu_shape *shape);

/* Checks the body of an ICReq or ICResp. */
struct pdu_fault pdu_check_ic(const struct pdu_ic *ic);

/*
 * Headers are written word by word: a struct written by bytes and then copied
 * would be read back before its bytes have reached the cache.
 */
static inline void
pdu_ch_put(uint8_t *at, enum pdu_type type, unsigned flags, unsigned hlen, unsigned pdo, uint32_t plen)
{
	put_le64(at, (unsigned)type | flags << 8 | hlen << 16 | pdo << 24 | (uint64_t)plen << 32);
}

/* The body of a struct pdu_data, behind its common header. */
static inline void
pdu_data_put(uint8_t *at, uint16_t cccid, uint16_t ttag, uint32_t offset, uint32_t length)
{
	put_le64(at + 8, cccid | (uint32_t)ttag << 16 | (uint64_t)offset << 32);
	put_le64(at + 16, length);
}

/* The CQE of a CapsuleResp, behind its common header. */
static inline void
pdu_cqe_put(uint8_t *at, uint32_t dw0, uint32_t dw1, uint16_t sqhd, uint16_t cid, uint16_t status)
{
	put_le64(at + 8, dw0 | (uint64_t)dw1 << 32);
	put_le64(at + 16, sqhd | (uint64_t)cid << 32 | (uint64_t)status << 48);
}

static inline uint32_t
pdu_align(uint32_t at, uint8_t pda)
{
	uint32_t align = (pda + 1u) * 4;

	return (at + align - 1) / align * align;
}

/*
 * Writes a TermReq for `fault`, quoting the first min(HLEN, 128) bytes of the
 * offending PDU (at least eight, which `header` must hold).
 * `to`: PDU_TO_HOST writes a C2HTermReq.  Returns its length, 32 to 152 bytes.
 */
uint32_t pdu_term_write(uint8_t out[PDU_TERM_HLEN + PDU_TERM_DATA_MAX], enum pdu_side to,
    struct pdu_fault fault, const uint8_t *header, uint32_t header_len);

#endif
