/*
 * hconn_send.c - what a connection of the host has in line, as PDUs.
 *
 * Built when it is sent, as in tconn_send.c.  A request has one PDU in line at
 * a time, so those of others have their turn between two of its H2CData.
 */
#include "base/crc32c.h"
#include "tcp/hconn.h"

enum { CMD_HLEN = sizeof(struct pdu_capsule_cmd), DATA_HLEN = sizeof(struct pdu_data) };

bool
hconn_pending(const struct hconn *hc)
{
	if (hc->state == HCONN_ENDED)
		return false;
	return hc->control_sent < hc->control_len || (hc->state == HCONN_OPEN && !fifo_empty(&hc->out));
}

/* What the PDU in line carries: how much data, and how it lies. */
struct outgoing {
	uint32_t head, pdo, data_at, data_len, plen;
};

static struct outgoing
outgoing(const struct hconn *hc, const struct hreq *req)
{
	uint32_t hlen = req->state == HREQ_CAPSULE ? CMD_HLEN : DATA_HLEN;
	struct outgoing o = { .head = hlen + (hc->options.hdgst ? PDU_DIGEST_LEN : 0) };

	if (req->state == HREQ_DATA) {
		uint32_t left = req->r2t[0].end - req->r2t_at;

		o.data_at = req->r2t_at;
		o.data_len = left < hc->maxh2cdata ? left : hc->maxh2cdata;
	} else if (hconn_in_capsule(hc, req)) {
		o.data_len = req->length;
	}
	o.pdo = o.data_len > 0 ? pdu_align(o.head, hc->cpda) : o.head;
	o.plen = o.pdo + o.data_len + (o.data_len > 0 && hc->options.ddgst ? PDU_DIGEST_LEN : 0);
	return o;
}

static uint32_t
digest(const struct hreq *req, uint32_t at, uint32_t len)
{
	const struct iovec *iov = req->iov;
	uint32_t crc = 0;

	while (at >= iov->iov_len)
		at -= (uint32_t)(iov++)->iov_len;
	for (; len > 0; iov++, at = 0) {
		uint32_t room = (uint32_t)iov->iov_len - at, step = len < room ? len : room;

		crc = crc32c(crc, (const uint8_t *)iov->iov_base + at, step);
		len -= step;
	}
	return crc;
}

static void
gather_payload(struct hconn *hc, struct hreq *req, const struct outgoing *o, struct gather *g)
{
	const struct iovec *iov = req->iov;
	uint32_t at = o->data_at, len = o->data_len;

	while (at >= iov->iov_len)
		at -= (uint32_t)(iov++)->iov_len;
	for (; len > 0; iov++, at = 0) {
		uint32_t room = (uint32_t)iov->iov_len - at, step = len < room ? len : room;

		gather_data(g, &(struct iovec){ (uint8_t *)iov->iov_base + at, step }, 1);
		len -= step;
	}
	if (!hc->options.ddgst)
		return;
	if (!req->ddgst_set) {
		req->ddgst = digest(req, o->data_at, o->data_len);
		req->ddgst_set = true;
	}
	put_le32(gather_head(g, PDU_DIGEST_LEN), req->ddgst);
}

static void
gather_req(struct hconn *hc, struct hreq *req, struct gather *g)
{
	struct outgoing o = outgoing(hc, req);
	uint8_t *head = gather_head(g, o.pdo);
	uint32_t hlen = req->state == HREQ_CAPSULE ? CMD_HLEN : DATA_HLEN;
	unsigned pdo = o.data_len > 0 ? o.pdo : 0;
	unsigned flags = (hc->options.hdgst ? PDU_HDGST : 0u) |
	    (o.data_len > 0 && hc->options.ddgst ? PDU_DDGST : 0u);

	if (req->state == HREQ_CAPSULE) {
		pdu_ch_put(head, PDU_CAPSULE_CMD, flags, hlen, pdo, o.plen);
		memcpy(head + PDU_CH_LEN, &req->sqe, sizeof(req->sqe));
	} else {
		flags |= o.data_at + o.data_len == req->r2t[0].end ? PDU_LAST : 0u;
		pdu_ch_put(head, PDU_H2C_DATA, flags, hlen, pdo, o.plen);
		pdu_data_put(head, req->cid, req->r2t[0].ttag, o.data_at, o.data_len);
	}
	if (hc->options.hdgst)
		put_le32(head + hlen, crc32c(0, head, hlen));
	if (o.pdo > o.head)
		memset(head + o.head, 0, o.pdo - o.head);
	if (o.data_len > 0)
		gather_payload(hc, req, &o, g);
}

static struct hreq *
req_of(struct fifo_node *node)
{
	return container_of(node, struct hreq, tx_node);
}

static bool
room_for(const struct gather *g, const struct hreq *req)
{
	return gather_room(g) && g->count + req->iov_count + 4 <= GATHER_IOV;
}

void
hconn_gather(struct hconn *hc, struct gather *g)
{
	struct fifo_node *node = hc->out.head;
	uint32_t control = hc->control_len - hc->control_sent;

	gather_next(g);
	if (hc->state == HCONN_ENDED || !(node != NULL ? room_for(g, req_of(node)) : gather_room(g)))
		return;
	if (node != NULL && req_of(node)->sent > 0) {
		gather_req(hc, req_of(node), g);
		gather_skip(g, req_of(node)->sent);
		node = node->next;
	}
	if (control > 0)
		gather_data(g, &(struct iovec){ hc->control + hc->control_sent, control }, 1);
	if (hc->state != HCONN_OPEN)
		return;
	for (; node != NULL && room_for(g, req_of(node)); node = node->next)
		gather_req(hc, req_of(node), g);
}

/* The PDU in line is out: what follows for its request? */
static void
pdu_sent(struct hconn *hc, struct hreq *req, uint32_t data_len, struct fifo *done)
{
	fifo_pop(&hc->out);
	if (req->state == HREQ_DATA) {
		req->r2t_at += data_len;
		if (req->r2t_at == req->r2t[0].end)
			memmove(&req->r2t[0], &req->r2t[1], --req->r2ts * sizeof(req->r2t[0]));
		if (req->r2ts > 0 && !req->answered) {
			req->sent = 0;
			req->ddgst_set = false;
			fifo_push(&hc->out, &req->tx_node);
			return;
		}
	}
	req->state = HREQ_WAITING;
	if (req->answered) {
		hconn_release(hc, req);
		fifo_push(done, &req->tx_node);
	}
}

static size_t
sent_req(struct hconn *hc, size_t bytes, struct fifo *done)
{
	struct hreq *req = req_of(hc->out.head);
	struct outgoing o = outgoing(hc, req);
	uint32_t left = o.plen - req->sent;

	if (bytes < left) {
		req->sent += (uint32_t)bytes;
		return 0;
	}
	pdu_sent(hc, req, o.data_len, done);
	return bytes - left;
}

void
hconn_sent(struct hconn *hc, size_t bytes, struct fifo *done)
{
	if (bytes > 0 && !fifo_empty(&hc->out) && req_of(hc->out.head)->sent > 0)
		bytes = sent_req(hc, bytes, done);
	bytes = gather_sent(&hc->control_sent, hc->control_len, bytes);
	while (bytes > 0)
		bytes = sent_req(hc, bytes, done);
	if (hc->state == HCONN_TERMINATING && hc->control_sent == hc->control_len)
		hc->state = HCONN_ENDED;
}
