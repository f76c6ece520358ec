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

static void
line_up(struct hconn *hc, struct hreq *req, enum pdu_type type, uint32_t hlen, unsigned flags, uint32_t data_len)
{
	uint32_t head = hlen + (hc->options.hdgst ? PDU_DIGEST_LEN : 0);

	if (hc->options.hdgst)
		flags |= PDU_HDGST;
	req->data_len = data_len;
	req->pdo = req->plen = head;
	if (data_len > 0) {
		req->pdo = pdu_align(head, hc->cpda);
		req->plen = req->pdo + data_len + (hc->options.ddgst ? PDU_DIGEST_LEN : 0);
		flags |= hc->options.ddgst ? PDU_DDGST : 0u;
	}
	pdu_ch_put(req->ch, type, flags, hlen, data_len > 0 ? req->pdo : 0, req->plen);
	req->sent = 0;
	req->ddgst_set = false;
	fifo_push(&hc->out, &req->tx_node);
}

void
hconn_line_up_capsule(struct hconn *hc, struct hreq *req)
{
	req->state = HREQ_CAPSULE;
	/* So far nothing else has moved but what is inside. */
	line_up(hc, req, PDU_CAPSULE_CMD, CMD_HLEN, 0, req->moved);
}

void
hconn_line_up_data(struct hconn *hc, struct hreq *req)
{
	uint32_t left = req->r2t[0].end - req->data_at;

	req->state = HREQ_DATA;
	if (left > hc->maxh2cdata)
		line_up(hc, req, PDU_H2C_DATA, DATA_HLEN, 0, hc->maxh2cdata);
	else
		line_up(hc, req, PDU_H2C_DATA, DATA_HLEN, PDU_LAST, left);
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

static __attribute__((noinline)) void
gather_payload(struct hconn *hc, struct hreq *req, struct gather *g)
{
	const struct iovec *iov = req->iov;
	uint32_t at = req->data_at, len = req->data_len;

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
		req->ddgst = digest(req, req->data_at, req->data_len);
		req->ddgst_set = true;
	}
	put_le32(gather_head(g, PDU_DIGEST_LEN), req->ddgst);
}

static __attribute__((noinline)) uint32_t
put_digest(uint8_t *head, uint32_t hlen)
{
	put_le32(head + hlen, crc32c(0, head, hlen));
	return PDU_DIGEST_LEN;
}

static inline void
gather_req(struct hconn *hc, struct hreq *req, struct gather *g)
{
	uint8_t *head = gather_head(g, req->pdo);
	uint32_t end = CMD_HLEN;

	memcpy(head, req->ch, sizeof(req->ch));
	if (req->state == HREQ_CAPSULE) {
		memcpy(head + PDU_CH_LEN, &req->sqe, sizeof(req->sqe));
	} else {
		pdu_data_put(head, req->cid, req->r2t[0].ttag, req->data_at, req->data_len);
		end = DATA_HLEN;
	}
	if (hc->options.hdgst)
		end += put_digest(head, end);
	if (req->pdo > end)
		memset(head + end, 0, req->pdo - end);
	if (req->data_len > 0)
		gather_payload(hc, req, g);
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

/* H2CData is out; true: more is to follow it. */
static __attribute__((noinline)) bool
data_sent(struct hconn *hc, struct hreq *req)
{
	req->data_at += req->data_len;
	if (req->data_at == req->r2t[0].end)
		memmove(&req->r2t[0], &req->r2t[1], --req->r2ts * sizeof(req->r2t[0]));
	if (req->r2ts == 0 || req->answered)
		return false;
	hconn_line_up_data(hc, req);
	return true;
}

/* The first in line has so many more bytes sent; answers how many are behind it. */
static inline size_t
sent_req(struct hconn *hc, size_t bytes, struct fifo *done)
{
	struct hreq *req = req_of(hc->out.head);
	uint32_t left = req->plen - req->sent;

	if (bytes < left) {
		req->sent += (uint32_t)bytes;
		return 0;
	}
	fifo_pop(&hc->out);
	if (req->state == HREQ_DATA && data_sent(hc, req))
		return bytes - left;
	req->state = HREQ_WAITING;
	if (req->answered) {
		hconn_release(hc, req);
		fifo_push(done, &req->tx_node);
	}
	return bytes - left;
}

/* ICReq or a TermReq, behind the end of a PDU that had begun. */
static __attribute__((noinline)) size_t
sent_control(struct hconn *hc, size_t bytes, struct fifo *done)
{
	if (bytes > 0 && !fifo_empty(&hc->out) && req_of(hc->out.head)->sent > 0)
		bytes = sent_req(hc, bytes, done);
	bytes = gather_sent(&hc->control_sent, hc->control_len, bytes);
	if (hc->state == HCONN_TERMINATING && hc->control_sent == hc->control_len)
		hc->state = HCONN_ENDED;
	return bytes;
}

void
hconn_sent(struct hconn *hc, size_t bytes, struct fifo *done)
{
	if (hc->control_sent < hc->control_len)
		bytes = sent_control(hc, bytes, done);
	while (bytes > 0)
		bytes = sent_req(hc, bytes, done);
}
