#include "lie.h"

#include <assert.h>

#include "base/crc32c.h"

enum { TARGET_DATA = 0xa7 };

void
lie_judged(struct lie *l, uint16_t fes, uint32_t fei)
{
	l->verdict = FAULT;
	l->fes = fes;
	l->fei = fei;
}

/* Puts a PDU on the wire whose header is there, with data from `from` on and digests, as agreed or wrong. */
static void
put(struct lie *l, struct pdu_data head, const uint8_t *data, uint32_t length, uint8_t lies)
{
	const struct hconn_options *options = &l->play.options;
	bool hdgst = options->hdgst && head.ch.type != PDU_C2H_TERM;
	uint32_t hlen = 24 + (hdgst ? 4 : 0), pad = length > 0 && lies & 0x80 ? 4u * (1 + l->ttag % 8) : 0;
	uint32_t tail = length > 0 && options->ddgst ? 4 : 0;
	uint8_t *at = l->wire + l->have;

	head.ch.hlen = 24;
	head.ch.flags |= (uint8_t)((hdgst ? PDU_HDGST : 0) | (tail > 0 ? PDU_DDGST : 0));
	if (head.ch.type == PDU_C2H_DATA && options->ddgst)
		head.ch.flags |= PDU_DDGST;
	head.ch.pdo = (uint8_t)(head.ch.type == PDU_C2H_DATA ? hlen + pad : 0);
	head.ch.plen = le32_of(hlen + pad + length + tail);
	memcpy(at, &head, sizeof(head));
	if (hdgst)
		put_le32(at + 24, crc32c(0, at, 24) ^ (lies & 0x40 ? 0x1000 : 0));
	memset(at + hlen, 0xee, pad);
	if (length > 0)
		memcpy(at + hlen + pad, data, length);
	if (tail > 0)
		put_le32(at + hlen + pad + length, crc32c(0, data, length) ^ (lies & 0x20 ? 1 : 0));
	if (l->verdict == FINE && hdgst && lies & 0x40)
		lie_judged(l, PDU_FES_HEADER_DIGEST, get_le32(at + 24));
	if (l->fine && l->stray_by != 0) {
		at[l->stray_at % hlen] ^= l->stray_by;
		l->verdict = ANYTHING;
		l->play.strayed = true;
	}
	if (l->fine)
		memcpy(l->offender, at, 24);
	l->have += hlen + pad + length + tail;
	l->pdus++;
}

/* The command that a PDU is about, and its id, which may be a lie; NULL: none that the target has. */
static struct play_slot *
about(struct lie *l, uint8_t which, uint8_t by, uint16_t *cid)
{
	*cid = l->play.slots[which % PLAY_SLOTS].cid;
	if (which >= 0xc0)
		*cid ^= (uint16_t)(1u << by % 16);
	for (unsigned i = 0; i < PLAY_SLOTS; i++)
		if (l->play.slots[i].at_target && l->play.slots[i].cid == *cid)
			return &l->play.slots[i];
	return NULL;
}

static uint32_t
length_of(uint8_t code, uint32_t rest)
{
	return code == 0 ? rest : code < 0x80 ? code * 4u : (code & 0x7f) * 128u;
}

/* A command is over: this is how. */
static void
completes(struct play_slot *slot, struct nvme_status status)
{
	slot->status = slot->data_bad && nvme_ok(status) ? nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false) : status;
	slot->at_target = false;
	if (slot->r2ts > 0)
		slot->answered = true;
	else
		slot->to_be_done = true;
}

static void
judge_c2hdata(struct lie *l, struct play_slot *slot, const struct pdu_data *pdu, uint32_t length, uint8_t lies)
{
	uint32_t offset = le32_get(pdu->offset);
	bool last = pdu->ch.flags & PDU_LAST;

	if (pdu->ch.flags & PDU_SUCCESS && !last)
		lie_judged(l, PDU_FES_HEADER_FIELD, 1);
	else if (length == 0 || length > PLAY_DATA)
		lie_judged(l, PDU_FES_HEADER_FIELD, 4);
	else if (l->play.options.hdgst && lies & 0x40)
		return; /* put() judges it */
	else if (slot == NULL)
		lie_judged(l, PDU_FES_HEADER_FIELD, 8);
	else if (le32_get(pdu->length) != length)
		lie_judged(l, PDU_FES_HEADER_FIELD, 16);
	else if (slot->req.data != HREQ_READ || slot->moved == slot->req.length)
		lie_judged(l, PDU_FES_SEQUENCE, 0);
	else if (offset != slot->moved || (uint64_t)offset + length > slot->req.length)
		lie_judged(l, PDU_FES_OUT_OF_RANGE, 0);
	else if (last != (offset + length == slot->req.length))
		lie_judged(l, PDU_FES_SEQUENCE, 0);
}

void
lie_c2hdata(struct lie *l, const uint8_t *step)
{
	static const uint32_t strays[] = { 0, 4, UINT32_MAX - 3, 1u << 31 };
	static uint8_t data[2 * PLAY_DATA];
	struct pdu_data pdu = { .ch.type = PDU_C2H_DATA };
	uint8_t lies = step[3];
	uint16_t cid;
	struct play_slot *slot = about(l, step[1], lies, &cid);
	uint32_t moved = slot != NULL ? slot->moved : 0, rest = slot != NULL ? slot->req.length - moved : 512;
	uint32_t length = length_of(step[2], rest), offset = moved + strays[lies >> 2 & 3];
	bool last = (length == rest) != (lies & 1);

	memset(data, TARGET_DATA + (int)moved % 32, length);
	pdu.cccid = le16_of(cid);
	pdu.offset = le32_of(offset);
	pdu.length = le32_of(length + (lies & 0x10 ? 4 : 0));
	pdu.ch.flags = (uint8_t)((last ? PDU_LAST : 0) | (lies & 2 ? PDU_SUCCESS : 0));
	if (l->verdict == FINE)
		judge_c2hdata(l, slot, &pdu, length, lies);
	if (l->verdict == FINE && !(l->play.options.hdgst && lies & 0x40)) {
		memcpy(slot->shadow + moved, data, length);
		slot->moved += length;
		slot->data_bad |= l->play.options.ddgst && lies & 0x20;
		if (lies & 2)
			completes(slot, NVME_OK);
	}
	put(l, pdu, data, length, lies);
}

static void
judge_r2t(struct lie *l, struct play_slot *slot, uint32_t offset, uint32_t length)
{
	if (slot == NULL)
		lie_judged(l, PDU_FES_HEADER_FIELD, 8);
	else if (slot->req.data != HREQ_WRITE || slot->moved == slot->req.length)
		lie_judged(l, PDU_FES_SEQUENCE, 0);
	else if (slot->r2ts == HREQ_R2TS)
		lie_judged(l, PDU_FES_LIMIT_EXCEEDED, 0);
	else if (length == 0 || offset != slot->moved || (uint64_t)offset + length > slot->req.length)
		lie_judged(l, PDU_FES_OUT_OF_RANGE, 0);
}

void
lie_r2t(struct lie *l, const uint8_t *step)
{
	static const uint32_t strays[] = { 0, 4, UINT32_MAX - 3, 1u << 31 };
	struct pdu_data pdu = { .ch.type = PDU_R2T };
	uint8_t lies = step[3];
	uint16_t cid;
	struct play_slot *slot = about(l, step[1], lies, &cid);
	uint32_t moved = slot != NULL ? slot->moved : 0, rest = slot != NULL ? slot->req.length - moved : 512;
	uint32_t length = lies & 0x10 ? (lies & 1 ? 0 : UINT32_MAX) : length_of(step[2], rest);
	uint32_t offset = moved + strays[lies >> 2 & 3];
	bool digest_lies = l->play.options.hdgst && lies & 0x40;

	pdu.cccid = le16_of(cid);
	pdu.ttag = le16_of(l->ttag++);
	pdu.offset = le32_of(offset);
	pdu.length = le32_of(length);
	if (l->verdict == FINE && !digest_lies)
		judge_r2t(l, slot, offset, length);
	if (l->verdict == FINE && !digest_lies) {
		slot->moved += length;
		slot->r2t[slot->r2ts].end = slot->moved;
		slot->r2t[slot->r2ts++].ttag = le16_get(pdu.ttag);
	}
	put(l, pdu, NULL, 0, lies & 0x7f);
}

static void
judge_response(struct lie *l, struct play_slot *slot, struct nvme_status status)
{
	if (slot == NULL)
		lie_judged(l, PDU_FES_HEADER_FIELD, 20);
	else if (nvme_ok(status) && slot->req.data != HREQ_NONE && slot->moved < slot->req.length)
		lie_judged(l, PDU_FES_SEQUENCE, 0);
	else if (nvme_ok(status) && slot->r2ts > 0)
		lie_judged(l, PDU_FES_SEQUENCE, 0);
}

void
lie_response(struct lie *l, const uint8_t *step)
{
	struct nvme_status status = nvme_status_of((enum nvme_sc)((step[2] & 7) << 8 | (step[2] & 0xf8)), step[2] >> 7);
	struct pdu_capsule_resp resp = { .ch.type = PDU_CAPSULE_RESP };
	bool digest_lies = l->play.options.hdgst && step[3] & 0x40;
	struct pdu_data pdu;
	uint16_t cid;
	struct play_slot *slot = about(l, step[1], step[3], &cid);
	uint16_t bits = le16_get(nvme_status_put(status));

	/* The phase, the time for trying again, more in the log; SQHD and SQID: they mean nothing here. */
	resp.cqe = (struct nvme_cqe){
		.cid = le16_of(cid), .status = le16_of((uint16_t)(bits | (step[3] & 1 ? 0x7001 : 0))),
		.sqhd = le16_of((uint16_t)(step[3] * 0x101)), .sqid = le16_of(step[3]), .dw0 = le32_of(step[3]),
	};
	memcpy(&pdu, &resp, sizeof(pdu));
	if (l->verdict == FINE && !digest_lies)
		judge_response(l, slot, status);
	if (l->verdict == FINE && !digest_lies)
		completes(slot, status);
	put(l, pdu, NULL, 0, step[3] & 0x7f);
}

struct pdu_ic
lie_icresp(const struct lie *l)
{
	uint8_t asked = (uint8_t)(l->play.options.hdgst | l->play.options.ddgst << 1);

	return (struct pdu_ic){
		.ch = { PDU_ICRESP, 0, 128, 0, le32_of(128) }, .pda = l->play.cpda, .dgst = asked,
		.limit = le32_of(l->play.maxh2cdata),
	};
}

void
lie_put_icresp(struct lie *l, const struct pdu_ic *resp)
{
	memcpy(l->wire + l->have, resp, sizeof(*resp));
	l->have += sizeof(*resp);
	l->pdus++;
	if (l->fine)
		memcpy(l->offender, resp, sizeof(*resp));
}

void
lie_term(struct lie *l, const uint8_t *step)
{
	struct pdu_data pdu = { .ch.type = PDU_C2H_TERM };
	struct pdu_ic resp = lie_icresp(l);

	if (step[3] & 1) {
		if (l->fine)
			lie_judged(l, PDU_FES_SEQUENCE, 0);
		lie_put_icresp(l, &resp);
		return;
	}
	pdu.cccid = le16_of(step[1]);
	memcpy(&pdu.ttag, &step[2], 1);
	if (l->verdict == FINE) {
		l->verdict = TOLD;
		l->fes = step[1];
		l->fei = step[2];
	}
	put(l, pdu, NULL, 0, 0);
}
