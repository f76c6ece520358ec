#include "host_play.h"

#include <assert.h>
#include <stdlib.h>

#include "base/crc32c.h"

enum { GUARD = 0xd6, UNTOUCHED = 0x3c };

/* ---- buffers ---- */

/* Pieces of any size, also empty ones, with guards before, between and behind them. */
static void
cut_pieces(struct play_slot *slot, uint32_t length, unsigned seed)
{
	unsigned pieces = 1 + seed % PLAY_PIECES;
	uint8_t *at = slot->memory + PLAY_GUARD;

	memset(slot->memory, GUARD, sizeof(slot->memory));
	for (unsigned i = 0; i < pieces; i++) {
		uint32_t bytes = i + 1 == pieces ? length : length * (seed >> (2 + i) & 3) / 4;

		slot->iov[i] = (struct iovec){ at, bytes };
		memset(at, UNTOUCHED, bytes);
		at += bytes + PLAY_GUARD;
		length -= bytes;
	}
	slot->req.iov = slot->iov;
	slot->req.iov_count = pieces;
}

static void
fill_pieces(struct play_slot *slot)
{
	const uint8_t *from = slot->shadow;

	for (unsigned i = 0; i < slot->req.iov_count; i++) {
		memcpy(slot->iov[i].iov_base, from, slot->iov[i].iov_len);
		from += slot->iov[i].iov_len;
	}
}

static void
check_guard(const uint8_t *at, const uint8_t *end)
{
	for (; at < end; at++)
		assert(*at == GUARD);
}

static void
check_slot(const struct play *p, const struct play_slot *slot)
{
	const uint8_t *guard = slot->memory, *want = slot->shadow;

	if (!slot->known)
		return;
	for (unsigned i = 0; i < slot->req.iov_count; i++) {
		check_guard(guard, slot->iov[i].iov_base);
		guard = (const uint8_t *)slot->iov[i].iov_base + slot->iov[i].iov_len;
		if (!p->strayed || slot->req.data != HREQ_READ)
			assert(memcmp(slot->iov[i].iov_base, want, slot->iov[i].iov_len) == 0);
		want += slot->iov[i].iov_len;
	}
	check_guard(guard, slot->memory + sizeof(slot->memory));
}

/* ---- commands ---- */

struct play_slot *
play_free_slot(struct play *p)
{
	for (unsigned i = 0; i < p->hc.depth; i++)
		if (!p->slots[i].in_flight)
			return &p->slots[i];
	return NULL;
}

bool
play_submit(struct play *p, struct play_slot *slot, enum hreq_data data, uint32_t length, unsigned seed)
{
	struct hreq *req = &slot->req;
	unsigned index = (unsigned)(slot - p->slots);

	check_slot(p, slot);
	assert(!slot->in_flight && req->state == HREQ_IDLE);
	cut_pieces(slot, length, seed);
	for (uint32_t i = 0; i < length; i++)
		slot->shadow[i] = data == HREQ_WRITE ? (uint8_t)(i * 7 + i / 256 + index) : UNTOUCHED;
	if (data == HREQ_WRITE)
		fill_pieces(slot);
	req->sqe = (struct nvme_sqe){ .opcode = NVME_READ, .cdw10 = le32_of(index) };
	req->data = data;
	req->length = length;
	slot->known = slot->in_flight = hconn_submit(&p->hc, req);
	assert(slot->known == (p->hc.state == HCONN_OPEN));
	slot->at_target = slot->answered = slot->to_be_done = slot->data_bad = false;
	slot->moved = slot->taken = 0;
	slot->r2ts = 0;
	slot->cid = req->cid;
	return slot->known;
}

void
play_done(struct play *p, struct hreq *req)
{
	struct play_slot *slot = container_of(req, struct play_slot, req);

	assert(slot->in_flight && req->state == HREQ_IDLE);
	if (!p->strayed) {
		assert(slot->to_be_done);
		assert(nvme_sc(req->status) == nvme_sc(slot->status) && req->status.dnr == slot->status.dnr);
	}
	slot->in_flight = slot->at_target = slot->answered = slot->to_be_done = false;
	check_slot(p, slot);
}

void
play_end(struct play *p)
{
	struct hreq *req;

	while ((req = hconn_orphan(&p->hc)) != NULL) {
		struct play_slot *slot = container_of(req, struct play_slot, req);

		assert(slot->in_flight && req->state == HREQ_IDLE);
		assert(p->strayed || req->answered == slot->answered);
		slot->in_flight = false;
	}
	for (unsigned i = 0; i < PLAY_SLOTS; i++) {
		assert(!p->slots[i].in_flight);
		check_slot(p, &p->slots[i]);
	}
	assert(!hconn_pending(&p->hc));
}

/* ---- what the host sends ---- */

/* A PDU with data from `from` on of a command's, as this connection has to have it. */
static void
judge_data(const struct play *p, const struct play_slot *slot, uint32_t from, uint32_t length)
{
	const uint8_t *pdu = p->out;
	uint32_t head = pdu[2] + (p->options.hdgst ? 4u : 0), align = (p->cpda + 1u) * 4;
	uint32_t pdo = length > 0 ? (head + align - 1) / align * align : head;

	assert(pdu[3] == (length > 0 ? pdo : 0));
	assert((pdu[1] & PDU_DDGST) == (length > 0 && p->options.ddgst ? PDU_DDGST : 0));
	assert(p->out_have == pdo + length + (length > 0 && p->options.ddgst ? 4 : 0));
	for (uint32_t i = head; i < pdo; i++)
		assert(pdu[i] == 0);
	assert(memcmp(pdu + pdo, slot->shadow + from, length) == 0);
	if (length > 0 && p->options.ddgst)
		assert(get_le32(pdu + pdo + length) == crc32c(0, pdu + pdo, length));
}

static void
judge_command(struct play *p)
{
	const struct nvme_sqe *sqe = &((const struct pdu_capsule_cmd *)(const void *)p->out)->sqe;
	struct play_slot *slot = &p->slots[le32_get(sqe->cdw10)];
	bool inside = slot->req.data == HREQ_WRITE && slot->req.length <= p->options.incapsule_max;

	assert(slot->in_flight && !slot->at_target && !slot->answered && le16_get(sqe->cid) == slot->cid);
	assert(sqe->flags == NVME_PSDT_SGL && sqe->sgl1.id == (inside ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT));
	assert(le32_get(sqe->sgl1.length) == (slot->req.data == HREQ_NONE ? 0 : slot->req.length));
	judge_data(p, slot, 0, inside ? slot->req.length : 0);
	slot->at_target = true;
	if (inside)
		slot->moved = slot->taken = slot->req.length;
}

static struct play_slot *
slot_of(struct play *p, uint16_t cid)
{
	for (unsigned i = 0; i < PLAY_SLOTS; i++)
		if (p->slots[i].in_flight && p->slots[i].cid == cid)
			return &p->slots[i];
	return NULL;
}

static void
judge_h2cdata(struct play *p)
{
	const struct pdu_data *pdu = (const void *)p->out;
	struct play_slot *slot = slot_of(p, le16_get(pdu->cccid));
	uint32_t offset = le32_get(pdu->offset), length = le32_get(pdu->length), left;

	assert(slot != NULL);
	if (!p->strayed) {
		assert(slot->r2ts > 0 && (slot->at_target || slot->answered) && offset == slot->taken);
		assert(le16_get(pdu->ttag) == slot->r2t[0].ttag);
		left = slot->r2t[0].end - offset;
		assert(length == (left < p->maxh2cdata ? left : p->maxh2cdata));
		assert(!(pdu->ch.flags & PDU_LAST) == (length < left));
		if (length == left)
			memmove(&slot->r2t[0], &slot->r2t[1], --slot->r2ts * sizeof(slot->r2t[0]));
	}
	judge_data(p, slot, offset, length);
	slot->taken = offset + length;
	if (slot->answered) {
		slot->r2ts = 0;
		slot->to_be_done = true;
	}
}

static void
judge_term(struct play *p)
{
	const struct pdu_term *term = (const void *)p->out;
	uint32_t quote = p->out_have - PDU_TERM_HLEN;

	assert(le16_get(term->fes) == p->hc.fault.fes && get_le32(term->fei) == p->hc.fault.fei);
	assert(quote >= PDU_CH_LEN && quote <= PDU_TERM_DATA_MAX);
	if (p->quoted != NULL)
		assert(memcmp(p->out + PDU_TERM_HLEN, p->quoted, quote) == 0);
	p->term_out = true;
}

static void
judge(struct play *p)
{
	uint8_t type = p->out[0], flags = p->out[1];

	assert(!p->term_out);
	if (!p->hello_out) {
		assert(type == PDU_H2C_TERM || (type == PDU_ICREQ && p->out_have == sizeof(struct pdu_ic)));
		p->hello_out = type == PDU_ICREQ;
		if (p->hello_out)
			return;
	}
	if (type == PDU_H2C_TERM) {
		judge_term(p);
		return;
	}
	assert(!(flags & PDU_HDGST) == !p->options.hdgst);
	if (flags & PDU_HDGST)
		assert(get_le32(p->out + p->out[2]) == crc32c(0, p->out, p->out[2]));
	if (type == PDU_CAPSULE_CMD) {
		judge_command(p);
		return;
	}
	assert(type == PDU_H2C_DATA);
	judge_h2cdata(p);
}

static void
went_out(struct play *p, const uint8_t *at, size_t bytes)
{
	while (bytes > 0) {
		uint32_t want = p->out_have < PDU_CH_LEN ? PDU_CH_LEN : get_le32(p->out + 4);
		size_t step = want - p->out_have < bytes ? want - p->out_have : bytes;

		assert(want <= sizeof(p->out));
		memcpy(p->out + p->out_have, at, step);
		p->out_have += (uint32_t)step;
		at += step;
		bytes -= step;
		if (p->out_have >= PDU_CH_LEN && p->out_have == get_le32(p->out + 4)) {
			judge(p);
			p->out_have = 0;
		}
	}
}

static void
send_once(struct play *p, size_t most, struct fifo *done)
{
	struct gather *g = &p->gather;
	size_t left, bytes;

	gather_reset(g);
	hconn_gather(&p->hc, g);
	assert(g->bytes > 0);
	left = bytes = most > 0 && most < g->bytes ? most : g->bytes;
	for (unsigned i = g->first; left > 0; i++) {
		size_t step = g->iov[i].iov_len < left ? g->iov[i].iov_len : left;

		assert(i < g->count);
		went_out(p, g->iov[i].iov_base, step);
		left -= step;
	}
	hconn_sent(&p->hc, bytes, done);
}

void
play_send(struct play *p, size_t most)
{
	struct fifo_node *node;
	struct fifo done;

	fifo_init(&done);
	while (hconn_pending(&p->hc)) {
		send_once(p, most, &done);
		if (most > 0)
			break;
	}
	while ((node = fifo_pop(&done)) != NULL)
		play_done(p, container_of(node, struct hreq, tx_node));
}
