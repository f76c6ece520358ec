#include "tcp/tconn.h"

#include <assert.h>

enum { DATA_HLEN = sizeof(struct pdu_data) };

void
tconn_init(struct tconn *tc, const struct tconn_limits *limits)
{
	uint32_t data_max = limits->maxh2cdata;

	if (data_max < limits->incapsule_max)
		data_max = limits->incapsule_max;
	*tc = (struct tconn){ .limits = *limits, .state = TCONN_HELLO, .admin = true };
	/* One byte too many must be judged by its own rule (FES 5), not as a wrong PLEN. */
	framer_init(&tc->framer, PDU_TO_TARGET, data_max * 2);
	fifo_init(&tc->out);
	fifo_init(&tc->long_ones);
	fifo_init(&tc->asked);
}

void
tconn_slots(struct tconn *tc, void *slots, size_t bytes, uint32_t count)
{
	tc->slots = slots;
	tc->slot_bytes = bytes;
	tc->slot_count = count;
	tc->slots_used = 0;
}

static void
set_plain(struct tconn *tc)
{
	tc->plain = tc->data_at == DATA_HLEN && !tc->ddgst && !tc->sq_flow;
}

void
tconn_connected(struct tconn *tc, bool admin, uint16_t sq_size, bool sq_flow)
{
	tc->admin = admin;
	tc->sq_size = sq_size;
	tc->sq_flow = sq_flow;
	set_plain(tc);
	tc->sqhd = sq_size > 1 ? 1 : 0; /* Connect itself was the first entry */
}

static struct xfer *
slot_at(const struct tconn *tc, uint32_t index)
{
	return (struct xfer *)(void *)(tc->slots + index * tc->slot_bytes);
}

struct xfer *
tconn_slot_new(struct tconn *tc)
{
	if (tc->slots_used == tc->slot_count)
		return NULL;
	return memset(slot_at(tc, tc->slots_used++), 0, tc->slot_bytes);
}

/* ---- ending ---- */

void
tconn_fault(struct tconn *tc, struct pdu_fault fault, const void *header, uint32_t header_len)
{
	uint32_t rest = tc->control_sent > 0 ? tc->control_len - tc->control_sent : 0;

	if (tc->state == TCONN_TERMINATING || tc->state == TCONN_ENDED)
		return;
	tc->fault = fault;
	/* An ICResp that went out in part must be ended first. */
	memmove(tc->control, tc->control + tc->control_sent, rest);
	tc->control_len = rest + pdu_term_write(tc->control + rest, PDU_TO_HOST, fault, header, header_len);
	tc->control_sent = 0;
	tc->state = TCONN_TERMINATING;
}

static enum tconn_event
closing(struct tconn *tc, uint16_t fes, uint32_t fei, const char *why, const uint8_t *header)
{
	uint32_t len = header[2] <= PDU_HLEN_MAX ? header[2] : PDU_HLEN_MAX;

	tconn_fault(tc, (struct pdu_fault){ fes, fei, why }, header, len);
	return TCONN_CLOSING;
}

/* ---- receiving ---- */

static enum tconn_event
on_icreq(struct tconn *tc, const uint8_t *header)
{
	const struct pdu_ic *req = (const void *)header;
	struct pdu_fault fault = pdu_check_ic(req);
	struct pdu_ic resp = {
		.ch = { .type = PDU_ICRESP, .hlen = sizeof(resp), .plen = le32_of(sizeof(resp)) },
		.dgst = req->dgst & 3,
		.limit = le32_of(tc->limits.maxh2cdata),
	};

	if (fault.fes != PDU_FES_NONE)
		return closing(tc, fault.fes, fault.fei, fault.why, header);
	tc->head_len = DATA_HLEN + (resp.dgst & 1 ? PDU_DIGEST_LEN : 0);
	tc->data_at = (uint8_t)pdu_align(tc->head_len, req->pda);
	tc->ddgst = resp.dgst >> 1 & 1;
	set_plain(tc);
	/* A host that takes one R2T at a time would wait a round trip for each. */
	tc->r2ts = le32_get(req->limit) < TCONN_R2TS ? (uint8_t)(le32_get(req->limit) + 1) : TCONN_R2TS;
	tc->r2t_bytes = tc->r2ts > 1 ? tc->limits.piece : UINT32_MAX;
	memcpy(tc->control, &resp, sizeof(resp));
	tc->control_len = sizeof(resp);
	tc->control_sent = 0;
	framer_agree(&tc->framer, resp.dgst & 1, tc->ddgst);
	tc->state = TCONN_OPEN;
	return TCONN_MORE;
}

static enum tconn_event
on_command(struct tconn *tc, const struct frame_item *frame, struct tconn_item *item)
{
	const struct pdu_capsule_cmd *pdu = (const void *)frame->header;
	uint32_t data_len = tc->framer.shape.data_len;
	uint32_t most = tc->admin || pdu->sqe.opcode == 0x7f ? 8192 : tc->limits.incapsule_max;

	if (data_len > most)
		return closing(tc, PDU_FES_LIMIT_EXCEEDED, 0, "more in-capsule data than announced",
		    frame->header);
	if (pdu->sqe.sgl1.id == NVME_SGL_OFFSET) {
		if (le64_get(pdu->sqe.sgl1.address) != 0)
			return closing(tc, PDU_FES_UNSUPPORTED, 32, "in-capsule data at an offset",
			    frame->header);
		if (le32_get(pdu->sqe.sgl1.length) != data_len)
			return closing(tc, PDU_FES_HEADER_FIELD, 4,
			    "in-capsule data is not as long as its SGL says", frame->header);
	} else if (data_len > 0) {
		return closing(tc, PDU_FES_UNSUPPORTED, 47, "in-capsule data without an in-capsule SGL",
		    frame->header);
	}
	if (tc->sq_flow && ++tc->sqhd >= tc->sq_size)
		tc->sqhd = 0;
	item->sqe = &pdu->sqe;
	item->data = frame->data;
	item->data_len = data_len;
	item->data_ok = frame->data_ok;
	return TCONN_COMMAND;
}

/* What R2Ts have asked for that are out, the last one to its last byte. */
static uint64_t
asked(const struct tconn *tc, const struct xfer *xfer)
{
	if (xfer->state != XFER_ASKING)
		return xfer->asked;
	return xfer->asked + (uint64_t)(xfer->sent / tc->head_len) * tc->r2t_bytes;
}

/*
 * The n-th R2T of a command, counted from 0, has the slot's index plus n times
 * the number of slots for its TTAG.  Here is the one that a TTAG belongs to, if
 * it is outstanding: from its first byte to the one behind its last.
 */
static struct xfer *
asked_by(const struct tconn *tc, uint32_t ttag, uint32_t *first, uint32_t *end)
{
	uint64_t at = 0;
	struct xfer *xfer;

	if (ttag >= tc->slot_count) {
		at = (uint64_t)(ttag / tc->slot_count) * tc->r2t_bytes;
		ttag %= tc->slot_count;
	}
	if (ttag >= tc->slots_used)
		return NULL;
	xfer = slot_at(tc, ttag);
	if (xfer->state != XFER_RECEIVING && xfer->state != XFER_ASKING)
		return NULL;
	if (at >= asked(tc, xfer))
		return NULL;
	*first = (uint32_t)at;
	*end = xfer->length - *first > tc->r2t_bytes ? *first + tc->r2t_bytes : xfer->length;
	return *end > xfer->moved ? xfer : NULL;
}

/* H2CData must continue exactly where its R2T stands, and that be the first one outstanding of its command. */
static enum tconn_event
check_h2cdata(struct tconn *tc, const uint8_t *header, struct xfer **out)
{
	const struct pdu_data *pdu = (const void *)header;
	uint32_t offset = le32_get(pdu->offset), length = le32_get(pdu->length), first, end;
	bool last = pdu->ch.flags & PDU_LAST;
	struct xfer *xfer = asked_by(tc, le16_get(pdu->ttag), &first, &end);

	if (xfer == NULL)
		return closing(tc, PDU_FES_HEADER_FIELD, 10, "H2CData with a TTAG nobody asked for", header);
	if (le16_get(pdu->cccid) != xfer->cid)
		return closing(tc, PDU_FES_HEADER_FIELD, 8, "H2CData with another command's id", header);
	if (length == 0 || length != tc->framer.shape.data_len)
		return closing(tc, PDU_FES_HEADER_FIELD, 16, "H2CData's DATAL is not its data's length",
		    header);
	if (length > tc->limits.maxh2cdata)
		return closing(tc, PDU_FES_LIMIT_EXCEEDED, 0, "H2CData larger than MAXH2CDATA", header);
	if (offset != xfer->moved || offset < first || length > end - offset)
		return closing(tc, PDU_FES_OUT_OF_RANGE, 0, "H2CData outside what was asked next", header);
	if (last != (offset + length == end))
		return closing(tc, PDU_FES_SEQUENCE, 0, "H2CData's LAST_PDU too early or too late", header);
	*out = xfer;
	return TCONN_MORE;
}

/* Puts R2Ts in line, as many as the host takes at a time; false: so many are out already, or all is asked for. */
static bool
ask_more(struct tconn *tc, struct xfer *xfer)
{
	uint64_t end = ((uint64_t)(xfer->moved / tc->r2t_bytes) + tc->r2ts) * tc->r2t_bytes;

	xfer->asking = end < xfer->length ? (uint32_t)end : xfer->length;
	if (xfer->asking == xfer->asked)
		return false;
	xfer->state = XFER_ASKING;
	xfer->sent = 0;
	fifo_push(&tc->out, &xfer->tx_node);
	return true;
}

/* What came for the first R2Ts while the last ones were in line may allow for more. */
void
tconn_asked(struct tconn *tc)
{
	struct fifo_node *node;

	while ((node = fifo_pop(&tc->asked)) != NULL) {
		struct xfer *xfer = container_of(node, struct xfer, tx_node);

		xfer->asked = xfer->asking;
		if (tc->state != TCONN_OPEN || !ask_more(tc, xfer))
			xfer->state = XFER_RECEIVING;
	}
}

static enum tconn_event
data_arrived(struct tconn *tc, struct xfer *xfer, uint32_t bytes, bool ok, struct tconn_item *item)
{
	xfer->moved += bytes;
	if (!ok)
		xfer->data_bad = true;
	if (xfer->moved < xfer->length) {
		if (xfer->state == XFER_RECEIVING)
			ask_more(tc, xfer);
		return TCONN_MORE;
	}
	xfer->state = XFER_HELD;
	xfer->moved = 0; /* nothing of its answer */
	item->xfer = xfer;
	return TCONN_DATA;
}

/* Copies data that came whole with its header to its place in the transfer, if it has one. */
static void
place(const struct xfer *xfer, const uint8_t *data, uint32_t bytes)
{
	const struct iovec *iov = xfer->iov;
	size_t at = xfer->moved;

	if (iov == NULL)
		return;
	while (at >= iov->iov_len) {
		at -= iov->iov_len;
		iov++;
	}
	for (; bytes > 0; iov++, at = 0) {
		size_t room = iov->iov_len - at, step = bytes < room ? bytes : room;

		memcpy((uint8_t *)iov->iov_base + at, data, step);
		data += step;
		bytes -= (uint32_t)step;
	}
}

static enum tconn_event
on_h2cdata(struct tconn *tc, const struct frame_item *frame, struct tconn_item *item)
{
	struct xfer *xfer;
	enum tconn_event event = check_h2cdata(tc, frame->header, &xfer);

	if (event != TCONN_MORE)
		return event;
	tc->crumbs += tc->framer.shape.data_len < TCONN_CRUMB;
	if (frame->data != NULL) {
		place(xfer, frame->data, tc->framer.shape.data_len);
		return data_arrived(tc, xfer, tc->framer.shape.data_len, frame->data_ok, item);
	}
	tc->filling = xfer;
	framer_sink(&tc->framer, xfer->iov, xfer->iov_count, xfer->moved);
	return TCONN_MORE;
}

/* Any PDU but a command where commands may come. */
static enum tconn_event
on_pdu(struct tconn *tc, const struct frame_item *frame, struct tconn_item *item)
{
	uint8_t type = frame->header[0];

	if (type == PDU_H2C_TERM) {
		tc->state = TCONN_ENDED;
		return TCONN_CLOSING;
	}
	if ((tc->state == TCONN_HELLO) != (type == PDU_ICREQ))
		return closing(tc, PDU_FES_SEQUENCE, 0,
		    type == PDU_ICREQ ? "a second ICReq" : "the first PDU is not an ICReq", frame->header);
	if (type == PDU_ICREQ)
		return on_icreq(tc, frame->header);
	assert(type == PDU_H2C_DATA);
	return on_h2cdata(tc, frame, item);
}

static enum tconn_event
on_frame_fault(struct tconn *tc, const struct frame_item *frame)
{
	/* A TermReq is never answered, not even a malformed one. */
	if (frame->header[0] == PDU_H2C_TERM)
		tc->state = TCONN_ENDED;
	else
		tconn_fault(tc, frame->fault, frame->header, frame->header_len);
	return TCONN_CLOSING;
}

enum tconn_event
tconn_next(struct tconn *tc, const uint8_t **at, size_t *left, struct tconn_item *item)
{
	if (tc->state != TCONN_HELLO && tc->state != TCONN_OPEN)
		return TCONN_CLOSING;
	for (;;) {
		struct frame_item frame;
		enum tconn_event event = TCONN_MORE;

		switch (framer_next(&tc->framer, at, left, &frame)) {
		case FRAME_MORE:
			return TCONN_MORE;
		case FRAME_PDU:
			if (frame.header[0] == PDU_CAPSULE_CMD && tc->state == TCONN_OPEN)
				return on_command(tc, &frame, item);
			event = on_pdu(tc, &frame, item);
			break;
		case FRAME_DATA_END:
			event = data_arrived(tc, tc->filling, tc->framer.shape.data_len,
			    frame.data_ok, item);
			break;
		case FRAME_FAULT:
			event = on_frame_fault(tc, &frame);
			break;
		}
		if (event != TCONN_MORE)
			return event;
	}
}

/* ---- commands and answers ---- */

void
tconn_hold(struct tconn *tc, struct xfer *xfer, const struct nvme_sqe *sqe)
{
	assert(xfer->state == XFER_FREE);
	xfer->state = XFER_HELD;
	xfer->ddgst_set = xfer->data_bad = false;
	xfer->cid = le16_get(sqe->cid);
	xfer->dw0 = xfer->dw1 = 0;
	xfer->moved = xfer->ddgst = 0;
}

void
tconn_incapsule(struct tconn *tc, struct xfer *xfer)
{
	assert(xfer->state == XFER_HELD && xfer->length == tc->framer.shape.data_len);
	xfer->state = XFER_RECEIVING;
	tc->filling = xfer;
	framer_sink(&tc->framer, xfer->iov, xfer->iov_count, 0);
}

void
tconn_ask(struct tconn *tc, struct xfer *xfer)
{
	assert(xfer->state == XFER_HELD && xfer->length > 0);
	xfer->ttag = (uint16_t)(((char *)xfer - tc->slots) / (ptrdiff_t)tc->slot_bytes);
	xfer->asked = xfer->moved = 0;
	assert((uint64_t)tc->slot_count * (xfer->length / tc->r2t_bytes + 1) <= UINT16_MAX);
	ask_more(tc, xfer);
}

void
tconn_ignore(struct tconn *tc, struct xfer *xfer)
{
	assert(xfer->state == XFER_RECEIVING || xfer->state == XFER_ASKING);
	assert(tc->filling != xfer || !framer_midway(&tc->framer));
	xfer->iov = NULL;
	xfer->iov_count = 0;
}

void
tconn_answer(struct tconn *tc, struct xfer *xfer, struct nvme_status status, bool with_data)
{
	assert(xfer->state == XFER_HELD);
	xfer->status = nvme_status_put(status);
	xfer->with_data = with_data;
	xfer->sent = 0;
	if (with_data && xfer->length > tc->limits.piece) {
		tconn_answer_long(tc, xfer);
		return;
	}
	xfer->state = XFER_ANSWERING;
	fifo_push(&tc->out, &xfer->tx_node);
}
