/*
 * fuzz_hconn.c - a target that lies, by a script, to a host with commands in flight.
 *
 * The input is the terms of the connection (three bytes) and steps of four bytes each: a command, a PDU of the target
 * whose fields are right or wrong as the step says, sending in part, bytes changed on their way.  What the host has to
 * say to each PDU is told by rules written down a second time, here; host_play.h has the rest of what must hold.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "fuzz.h"
#include "host_play.h"

enum { WIRE = 64 * 1024, STEP = 4, STEPS_MAX = 400, TARGET_DATA = 0xa7 };

enum step_kind { SUBMIT, C2HDATA, R2T, RESPONSE, SEND, CUT, STRAY, TERM };

/* What the host has to say: to the bytes gathered so far, and what no byte after them changes. */
enum verdict { FINE, FAULT, TOLD, ANYTHING };

struct lie {
	struct play play;
	bool again;            /* a command that is done is submitted again */
	bool direct;           /* data is read straight to its place where the framer wants that */
	size_t cut;            /* bytes that arrive at once */
	size_t between;        /* bytes that are sent while the data of a PDU comes in; 0: none */
	bool up, closing;
	enum verdict verdict;
	bool fine;             /* all was, before the PDU at hand */
	uint16_t fes;
	uint32_t fei;
	uint16_t ttag;
	uint8_t stray_at, stray_by; /* a byte of the next PDU is changed */
	uint8_t wire[WIRE];
	size_t have;           /* bytes on it */
	unsigned pdus;         /* which are so many PDUs */
	uint8_t offender[PDU_HLEN_MAX]; /* of the first wrong PDU */
};

static void
judged(struct lie *l, uint16_t fes, uint32_t fei)
{
	l->verdict = FAULT;
	l->fes = fes;
	l->fei = fei;
}

/* ---- delivering ---- */

static void
is_done(struct lie *l, struct hreq *req)
{
	struct play_slot *slot = container_of(req, struct play_slot, req);

	play_done(&l->play, req);
	if (l->again)
		(void)play_submit(&l->play, slot, req->data, req->length, slot->cid);
}

static void
hear(struct lie *l, const uint8_t *at, size_t left)
{
	uint8_t *copy = malloc(left + (left == 0));
	const uint8_t *from = copy;
	enum hconn_event event;
	struct hreq *req;

	assert(copy != NULL);
	memcpy(copy, at, left);
	while (!l->closing && (event = hconn_next(&l->play.hc, &from, &left, &req)) != HCONN_MORE) {
		if (event == HCONN_UP)
			l->up = true;
		else if (event == HCONN_DONE)
			is_done(l, req);
		else
			l->closing = true;
	}
	assert(l->closing || left == 0);
	free(copy);
}

/* As a read of one piece would: what the framer wants straight, then the rest. */
static void
piece(struct lie *l, const uint8_t *at, size_t bytes)
{
	struct iovec iov[PLAY_PIECES];
	int count = l->direct ? framer_direct(&l->play.hc.framer, iov, PLAY_PIECES) : 0;
	size_t landed = 0;

	for (int i = 0; i < count && landed < bytes; i++) {
		size_t step = iov[i].iov_len < bytes - landed ? iov[i].iov_len : bytes - landed;

		memcpy(iov[i].iov_base, at + landed, step);
		landed += step;
	}
	if (landed > 0)
		framer_landed(&l->play.hc.framer, landed);
	hear(l, at + landed, bytes - landed);
}

/* Nothing is taken any more, not even what would be right. */
static void
hold_to_end(struct lie *l)
{
	const uint8_t *at = l->offender;
	size_t left = sizeof(l->offender);
	struct hreq *req;
	struct iovec iov;

	assert(hconn_next(&l->play.hc, &at, &left, &req) == HCONN_CLOSING);
	assert(at == l->offender && left == sizeof(l->offender));
	assert(framer_direct(&l->play.hc.framer, &iov, 1) == 0 && l->play.hc.fault.why != NULL);
}

/* What was said must come of it. */
static void
hold_to_verdict(struct lie *l)
{
	const struct hconn *hc = &l->play.hc;

	if (l->verdict == FINE) {
		for (unsigned i = 0; i < PLAY_SLOTS; i++)
			assert(!l->play.slots[i].to_be_done);
		assert(!l->closing);
		return;
	}
	assert(l->closing || l->verdict == ANYTHING);
	if (!l->closing)
		return;
	hold_to_end(l);
	assert(l->verdict == ANYTHING || (hc->fault.fes == l->fes && hc->fault.fei == l->fei));
	assert(l->verdict == ANYTHING || (hc->state == HCONN_ENDED) == (l->verdict == TOLD));
	l->play.quoted = l->verdict == FAULT ? l->offender : NULL;
}

static void
deliver(struct lie *l)
{
	if (l->have == 0)
		return;
	for (size_t at = 0; at < l->have && !l->closing; at += l->cut) {
		/* What is sent before the header is judged could make a lie come true. */
		if (l->between > 0 && at > PDU_HLEN_MAX && l->pdus == 1)
			play_send(&l->play, l->between);
		piece(l, l->wire + at, l->cut < l->have - at ? l->cut : l->have - at);
	}
	l->have = 0;
	l->pdus = 0;
	hold_to_verdict(l);
}

/* ---- PDUs of the target ---- */

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
		judged(l, PDU_FES_HEADER_DIGEST, get_le32(at + 24));
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
		judged(l, PDU_FES_HEADER_FIELD, 1);
	else if (length == 0 || length > PLAY_DATA)
		judged(l, PDU_FES_HEADER_FIELD, 4);
	else if (l->play.options.hdgst && lies & 0x40)
		return; /* put() judges it */
	else if (slot == NULL)
		judged(l, PDU_FES_HEADER_FIELD, 8);
	else if (le32_get(pdu->length) != length)
		judged(l, PDU_FES_HEADER_FIELD, 16);
	else if (slot->req.data != HREQ_READ || slot->moved == slot->req.length)
		judged(l, PDU_FES_SEQUENCE, 0);
	else if (offset != slot->moved || (uint64_t)offset + length > slot->req.length)
		judged(l, PDU_FES_OUT_OF_RANGE, 0);
	else if (last != (offset + length == slot->req.length))
		judged(l, PDU_FES_SEQUENCE, 0);
}

static void
step_c2hdata(struct lie *l, const uint8_t *step)
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
		judged(l, PDU_FES_HEADER_FIELD, 8);
	else if (slot->req.data != HREQ_WRITE || slot->moved == slot->req.length)
		judged(l, PDU_FES_SEQUENCE, 0);
	else if (slot->r2ts == HREQ_R2TS)
		judged(l, PDU_FES_LIMIT_EXCEEDED, 0);
	else if (length == 0 || offset != slot->moved || (uint64_t)offset + length > slot->req.length)
		judged(l, PDU_FES_OUT_OF_RANGE, 0);
}

static void
step_r2t(struct lie *l, const uint8_t *step)
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
		judged(l, PDU_FES_HEADER_FIELD, 20);
	else if (nvme_ok(status) && slot->req.data != HREQ_NONE && slot->moved < slot->req.length)
		judged(l, PDU_FES_SEQUENCE, 0);
	else if (nvme_ok(status) && slot->r2ts > 0)
		judged(l, PDU_FES_SEQUENCE, 0);
}

static void
step_response(struct lie *l, const uint8_t *step)
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

static struct pdu_ic
icresp(const struct lie *l)
{
	uint8_t asked = (uint8_t)(l->play.options.hdgst | l->play.options.ddgst << 1);

	return (struct pdu_ic){
		.ch = { PDU_ICRESP, 0, 128, 0, le32_of(128) }, .pda = l->play.cpda, .dgst = asked,
		.limit = le32_of(l->play.maxh2cdata),
	};
}

static void
put_icresp(struct lie *l, const struct pdu_ic *resp)
{
	memcpy(l->wire + l->have, resp, sizeof(*resp));
	l->have += sizeof(*resp);
	l->pdus++;
	if (l->fine)
		memcpy(l->offender, resp, sizeof(*resp));
}

/* The end; or, once more, the beginning. */
static void
step_term(struct lie *l, const uint8_t *step)
{
	struct pdu_data pdu = { .ch.type = PDU_C2H_TERM };
	struct pdu_ic resp = icresp(l);

	if (step[3] & 1) {
		if (l->fine)
			judged(l, PDU_FES_SEQUENCE, 0);
		put_icresp(l, &resp);
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

/* ---- the play ---- */

static void
step_submit(struct lie *l, const uint8_t *step)
{
	static const uint32_t lengths[] = { 4, 512, 513, 4096, 4100, 8192, 9000, PLAY_DATA };
	static const enum hreq_data kinds[] = { HREQ_READ, HREQ_WRITE, HREQ_WRITE, HREQ_READ, HREQ_NONE };
	struct play_slot *slot;
	bool taken;

	deliver(l);
	slot = play_free_slot(&l->play);
	if (slot == NULL)
		return;
	taken = play_submit(&l->play, slot, kinds[step[1] % 5], lengths[step[2] % 8], step[3]);
	assert(taken == (l->up && !l->closing));
}

/* False: there is nothing more to play. */
static bool
play_step(struct lie *l, const uint8_t *step)
{
	static const size_t cuts[] = { 1, 2, 7, 8, 23, 24, 28, 29, 72, 128, 500, 4096, 4097, 8192, 16384, WIRE };

	l->fine = l->verdict == FINE;
	switch (step[0] & 7) {
	case SUBMIT:
		step_submit(l, step);
		break;
	case C2HDATA:
		step_c2hdata(l, step);
		break;
	case R2T:
		step_r2t(l, step);
		break;
	case RESPONSE:
		step_response(l, step);
		break;
	case SEND:
		deliver(l);
		play_send(&l->play, step[1] + 256u * (step[2] & 0x3f));
		break;
	case CUT:
		deliver(l);
		l->cut = cuts[step[1] & 15];
		l->direct = step[1] & 16;
		l->between = step[2];
		break;
	case STRAY:
		l->stray_at = step[1];
		l->stray_by = step[2];
		break;
	case TERM:
		step_term(l, step);
		break;
	}
	/* Some are heard one by one, some with those that follow. */
	if (!(step[0] & 8) || l->have > WIRE / 2)
		deliver(l);
	return !l->closing && !l->play.strayed;
}

/* ICResp, whose fields may be wrong. */
static void
say_hello(struct lie *l, uint8_t pda, uint8_t limit)
{
	static const uint32_t limits[] = { 4096, 8192, 4100, 131072, UINT32_MAX - 3, 4096, 4092, 4098 };
	uint8_t wrong = pda >> 5;
	struct pdu_ic resp;

	l->play.cpda = pda & 31;
	l->play.maxh2cdata = limits[limit & 7];
	resp = icresp(l);
	resp.reserved[5] = pda;
	if (wrong == 5)
		resp.dgst ^= 1 + limit % 3;
	else if (wrong == 6)
		resp.pda |= 32;
	else if (wrong == 7)
		resp.pfv = le16_of(1);
	l->fine = true;
	put_icresp(l, &resp);
	if (!l->play.hello_out)
		judged(l, PDU_FES_SEQUENCE, 0);
	else if (wrong >= 5)
		judged(l, PDU_FES_HEADER_FIELD, wrong == 5 ? 11 : wrong == 6 ? 10 : 8);
	else if (l->play.maxh2cdata < 4096 || l->play.maxh2cdata % 4 != 0)
		judged(l, PDU_FES_HEADER_FIELD, 12);
	deliver(l);
}

static void
play_all(struct lie *l, const uint8_t *data, size_t size)
{
	static const uint32_t incapsule[] = { 0, 512, 8192, 4096 };
	struct play *p = &l->play;

	p->options = (struct hconn_options){
		.hdgst = data[0] & 1, .ddgst = data[0] & 2, .incapsule_max = incapsule[data[0] >> 2 & 3],
		.data_max = PLAY_DATA,
	};
	l->again = data[0] & 0x80;
	l->cut = WIRE;
	hconn_init(&p->hc, &p->options, p->reqs, p->cids, 1 + (data[0] >> 4 & 7));
	play_send(p, data[2] & 0x80 ? 100 : 0);
	if (!(data[2] & 0x20)) /* and the rest */
		play_send(p, 0);
	say_hello(l, data[1], data[2]);
	for (size_t at = 3, n = 0; at + STEP <= size && n < STEPS_MAX && !l->closing; at += STEP, n++)
		if (!play_step(l, data + at))
			break;
	if ((size - 3) % STEP > 0 && l->have > 0) { /* what was said last is cut off */
		l->have = l->have * ((size - 3) % STEP) / STEP;
		l->verdict = ANYTHING;
		p->strayed = true;
	}
	deliver(l);
	/* The end of what had begun, and a TermReq; or not even that. */
	if (data[2] & 0x40) {
		play_send(p, 0);
		assert(p->strayed || p->term_out == (l->closing && l->verdict == FAULT));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lie *l;

	if (size < 3)
		return 0;
	l = calloc(1, sizeof(*l));
	assert(l != NULL);
	play_all(l, data, size);
	play_end(&l->play);
	free(l);
	return 0;
}
