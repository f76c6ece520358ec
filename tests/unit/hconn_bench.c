#include "hconn_bench.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- the wire ---- */

void
hbench_send(struct hbench *b, size_t most)
{
	struct gather *g = &b->gather;
	size_t left;

	gather_reset(g);
	hconn_gather(&b->hc, g);
	left = b->wire_len = most > 0 && most < g->bytes ? most : g->bytes;
	assert(left <= HBENCH_WIRE);
	for (unsigned i = g->first; left > 0; i++) {
		size_t step = g->iov[i].iov_len < left ? g->iov[i].iov_len : left;

		memcpy(b->wire + b->wire_len - left, g->iov[i].iov_base, step);
		left -= step;
	}
	hconn_sent(&b->hc, b->wire_len, &b->done);
}

enum hconn_event
hbench_hear(struct hbench *b, const void *pdu, size_t len)
{
	const uint8_t *at = pdu;
	struct hreq *req;

	return hconn_next(&b->hc, &at, &len, &req);
}

struct pdu_ic
hbench_icresp(uint8_t dgst)
{
	return (struct pdu_ic){
		.ch = { PDU_ICRESP, 0, 128, 0, le32_of(128) }, .dgst = dgst, .limit = le32_of(8192),
	};
}

struct pdu_data
hbench_pdu(uint8_t type, uint8_t flags, const struct hreq *req, uint32_t offset, uint32_t length)
{
	uint32_t data = type == PDU_C2H_DATA ? length : 0;

	return (struct pdu_data){
		.ch = { type, flags, 24, data > 0 ? 24 : 0, le32_of(24 + data) },
		.cccid = le16_of(req->cid), .ttag = le16_of(7), .offset = le32_of(offset), .length = le32_of(length),
	};
}

enum hconn_event
hbench_data(struct hbench *b, uint8_t flags, uint32_t offset, uint32_t length)
{
	static uint8_t pdu[24 + HBENCH_DATA];
	struct pdu_data head = hbench_pdu(PDU_C2H_DATA, flags, &b->req, offset, length);

	memset(pdu, 0x5a, sizeof(pdu));
	memcpy(pdu, &head, sizeof(head));
	return hbench_hear(b, pdu, 24 + length);
}

enum hconn_event
hbench_r2t(struct hbench *b, uint32_t offset, uint32_t length)
{
	struct pdu_data r2t = hbench_pdu(PDU_R2T, 0, &b->req, offset, length);

	return hbench_hear(b, &r2t, sizeof(r2t));
}

enum hconn_event
hbench_response(struct hbench *b, uint16_t cid, enum nvme_sc sc)
{
	struct pdu_capsule_resp resp = {
		.ch = { PDU_CAPSULE_RESP, 0, 24, 0, le32_of(24) },
		.cqe = { .cid = le16_of(cid), .status = nvme_status_put(nvme_status_of(sc, false)) },
	};

	return hbench_hear(b, &resp, sizeof(resp));
}

/* ---- the bench ---- */

struct hbench *
hbench_create(uint8_t dgst, uint32_t depth)
{
	const struct hconn_options options = {
		.hdgst = dgst & 1, .ddgst = dgst & 2, .incapsule_max = 512, .data_max = HBENCH_DATA,
	};
	struct hbench *b = calloc(1, sizeof(*b));

	assert(b != NULL);
	fifo_init(&b->done);
	hconn_init(&b->hc, &options, b->reqs, b->cids, depth);
	return b;
}

bool
hbench_submit(struct hbench *b, enum hreq_data data, uint32_t length)
{
	b->iov = (struct iovec){ b->data, length };
	b->req.data = data;
	b->req.length = length;
	b->req.iov = &b->iov;
	b->req.iov_count = 1;
	return hconn_submit(&b->hc, &b->req);
}

struct hbench *
hbench_open(uint8_t dgst)
{
	struct hbench *b = hbench_create(dgst, HBENCH_DEPTH);
	struct pdu_ic resp = hbench_icresp(dgst);
	enum hconn_event event;

	hbench_send(b, 0);
	event = hbench_hear(b, &resp, sizeof(resp));
	assert(event == HCONN_UP);
	return b;
}

struct hbench *
hbench_with(enum hreq_data data, uint32_t length)
{
	struct hbench *b = hbench_open(0);
	bool room = hbench_submit(b, data, length);

	assert(room);
	hbench_send(b, 0);
	return b;
}
