/*
 * admin.c - what the ceiling's server says when it is not asked to read or write.
 *
 * Just enough for a host to bring up one controller with one namespace.  It
 * says yes to everything, keeps no state of a controller, and knows nothing of
 * the hot loop.
 */
#include "base/crc32c.h"
#include "ceiling.h"
#include "wire/identify.h"

enum { CNTLID = 1, DEPTH_OFFERED = 1024, QUEUES_OFFERED = 128, MAXH2CDATA = 1 << 20, REPLY_MAX = 8192 };

static void
answer_ic(struct link *link, const struct pdu_ic *asked)
{
	struct pdu_ic *ic = link_header(link, sizeof(*ic));

	*ic = (struct pdu_ic){
		.ch = { .type = PDU_ICRESP, .hlen = sizeof(*ic), .plen = le32_of(sizeof(*ic)) },
		.dgst = asked->dgst & 3, .limit = le32_of(MAXH2CDATA),
	};
	link->hdgst = asked->dgst & 1;
	link->ddgst = asked->dgst & 2;
}

static void
answer_status(struct link *link, le16 cid, uint64_t dw)
{
	uint32_t digest = link->hdgst ? PDU_DIGEST_LEN : 0;
	struct pdu_capsule_resp *resp = link_header(link, sizeof(*resp) + digest);

	link->sq_head = (uint16_t)((link->sq_head + 1) % link->sq_size);
	*resp = (struct pdu_capsule_resp){
		.ch = { .type = PDU_CAPSULE_RESP, .flags = link->hdgst ? PDU_HDGST : 0, .hlen = sizeof(*resp),
		    .plen = le32_of((uint32_t)sizeof(*resp) + digest) },
		.cqe = { .dw0 = le32_of((uint32_t)dw), .dw1 = le32_of((uint32_t)(dw >> 32)), .cid = cid,
		    .sqhd = le16_of(link->flow_control ? link->sq_head : UINT16_MAX) },
	};
	if (link->hdgst)
		put_le32(resp + 1, crc32c(0, resp, sizeof(*resp)));
}

static void
answer_data(struct link *link, le16 cid, const void *data, uint32_t bytes)
{
	uint32_t hdgst = link->hdgst ? PDU_DIGEST_LEN : 0, ddgst = link->ddgst ? PDU_DIGEST_LEN : 0;
	uint32_t pdo = (uint32_t)sizeof(struct pdu_data) + hdgst;
	struct pdu_data *header = link_header(link, pdo + bytes + ddgst);
	uint8_t *at = (uint8_t *)header + pdo;

	*header = (struct pdu_data){
		.ch = { .type = PDU_C2H_DATA, .flags = PDU_LAST, .hlen = sizeof(*header), .pdo = (uint8_t)pdo,
		    .plen = le32_of(pdo + bytes + ddgst) },
		.cccid = cid, .length = le32_of(bytes),
	};
	header->ch.flags |= (uint8_t)((link->hdgst ? PDU_HDGST : 0) | (link->ddgst ? PDU_DDGST : 0));
	if (link->hdgst)
		put_le32(header + 1, crc32c(0, header, sizeof(*header)));
	memcpy(at, data, bytes);
	if (link->ddgst)
		put_le32(at + bytes, crc32c(0, at, bytes));
}

static uint64_t
property(uint32_t offset)
{
	switch (offset) {
	case NVME_CAP: /* MQES, CQR, TO 10 s, CSS NVM */
		return (DEPTH_OFFERED - 1) | 1 << 16 | 20 << 24 | UINT64_C(1) << 37;
	case NVME_VS:
		return NVME_VS_2_0;
	case NVME_CC:
		return NVME_CC_EN | 6 << 16 | 4 << 20;
	case NVME_CSTS:
		return NVME_CSTS_RDY;
	default:
		return 0;
	}
}

static void
describe_controller(uint8_t out[NVME_IDENTIFY_LEN])
{
	struct nvme_identify_ctrl *id = (struct nvme_identify_ctrl *)out;

	memset(id->sn, ' ', sizeof(id->sn) + sizeof(id->mn) + sizeof(id->fr));
	memcpy(id->mn, "ceiling", 7);
	id->mdts = 8;
	id->cntlid = le16_of(CNTLID);
	id->ver = le32_of(NVME_VS_2_0);
	id->cntrltype = NVME_CNTRLTYPE_IO;
	id->kas = le16_of(10);
	id->sqes = 0x66;
	id->cqes = 0x44;
	id->maxcmd = le16_of(DEPTH_OFFERED);
	id->nn = le32_of(1);
	id->sgls = le32_of(NVME_SGLS_BYTE_ALIGNED | NVME_SGLS_OFFSET | NVME_SGLS_TRANSPORT);
	strcpy(id->subnqn, "nqn.2026-11.local.weir:default");
	id->ioccsz = le32_of((64 + 8192) / 16);
	id->iorcsz = le32_of(1);
	id->msdbd = 1;
}

static void
describe(uint8_t out[REPLY_MAX], const struct options *options, const struct nvme_sqe *sqe)
{
	memset(out, 0, REPLY_MAX);
	if (sqe->opcode != NVME_ADMIN_IDENTIFY)
		return;
	switch (le32_get(sqe->cdw10) & 0xff) {
	case NVME_CNS_NS:
		put_le64(out, options->size / BLOCK);
		put_le64(out + 8, options->size / BLOCK);
		put_le64(out + 16, options->size / BLOCK);
		out[128 + 2] = 12; /* LBADS of LBA format 0 */
		break;
	case NVME_CNS_CTRL:
		describe_controller(out);
		break;
	case NVME_CNS_NS_ACTIVE_LIST:
		if (le32_get(sqe->nsid) == 0)
			put_le32(out, 1);
		break;
	default:
		break;
	}
}

static void
answer_connect(struct link *link, const struct nvme_sqe *any)
{
	const struct nvme_connect_sqe *sqe = (const struct nvme_connect_sqe *)any;

	link->sq_size = (uint16_t)(le16_get(sqe->sqsize) + 1);
	if (le16_get(sqe->qid) > 0 && !link->io) {
		link->flow_control = !(sqe->cattr & NVME_CATTR_NO_SQ_FLOW);
		link_set_io(link);
	}
	answer_status(link, sqe->cid, CNTLID);
}

static void
answer_fabrics(struct link *link, const struct nvme_sqe *sqe)
{
	if (sqe->fctype == NVME_CONNECT)
		answer_connect(link, sqe);
	else if (sqe->fctype == NVME_PROPERTY_GET)
		answer_status(link, sqe->cid, property(le32_get(((const struct nvme_property_sqe *)sqe)->ofst)));
	else
		answer_status(link, sqe->cid, 0);
}

static void
answer_command(struct link *link, const struct options *options, const struct nvme_sqe *sqe)
{
	uint8_t reply[REPLY_MAX];
	uint32_t wanted = le32_get(sqe->sgl1.length);
	uint64_t dw = 0;

	if (link->sq_size == 0)
		link->sq_size = 1;
	if (sqe->opcode == NVME_FABRICS) {
		answer_fabrics(link, sqe);
		return;
	}
	if (sqe->opcode == NVME_ADMIN_ASYNC_EVENT)
		return; /* nothing ever happens */
	if (sqe->opcode == NVME_ADMIN_SET_FEATURES && (le32_get(sqe->cdw10) & 0xff) == 7)
		dw = (QUEUES_OFFERED - 1) | (QUEUES_OFFERED - 1) << 16;
	if ((sqe->opcode & 3) == 2 && wanted > 0 && wanted <= sizeof(reply)) {
		describe(reply, options, sqe);
		answer_data(link, sqe->cid, reply, wanted);
	}
	answer_status(link, sqe->cid, dw);
}

int
admin_answer(struct link *link, const struct options *options, const uint8_t *pdu, uint32_t bytes)
{
	const struct pdu_ch *ch = (const struct pdu_ch *)pdu;

	if (ch->type == PDU_ICREQ && bytes == sizeof(struct pdu_ic))
		answer_ic(link, (const struct pdu_ic *)pdu);
	else if (ch->type == PDU_CAPSULE_CMD && bytes >= sizeof(struct pdu_capsule_cmd))
		answer_command(link, options, &((const struct pdu_capsule_cmd *)pdu)->sqe);
	else
		return -1;
	return 0;
}
