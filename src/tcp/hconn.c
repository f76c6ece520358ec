#include "tcp/hconn.h"

#include <assert.h>

#include "wire/extension.h"

void
hconn_init(struct hconn *hc, const struct hconn_options *options, struct hreq **reqs,
    uint16_t *cids, uint32_t depth)
{
	struct pdu_ic req = {
		.ch = { .type = PDU_ICREQ, .hlen = sizeof(req), .plen = le32_of(sizeof(req)) },
		.dgst = (uint8_t)(options->hdgst | options->ddgst << 1),
		.limit = le32_of(HREQ_R2TS - 1),
	};

	assert(depth <= UINT16_MAX);
	*hc = (struct hconn){
		.options = *options, .state = HCONN_HELLO,
		.reqs = reqs, .free_cids = cids, .depth = depth, .free_count = depth, .cid_mask = 1,
	};
	/* Above depth - 1, so that no CID is FFFFh (Base 2.0, 3.3.3.1: it should not be used). */
	while (hc->cid_mask < depth)
		hc->cid_mask = (uint16_t)(hc->cid_mask << 1 | 1);
	framer_init(&hc->framer, PDU_TO_HOST, options->data_max);
	fifo_init(&hc->out);
	for (uint32_t i = 0; i < depth; i++) {
		reqs[i] = NULL;
		cids[i] = (uint16_t)(depth - 1 - i);
	}
	memcpy(hc->control, &req, sizeof(req));
	hc->control_len = sizeof(req);
}

/* ---- ending ---- */

static enum hconn_event
closing(struct hconn *hc, uint16_t fes, uint32_t fei, const char *why, const uint8_t *header,
    uint32_t len)
{
	uint32_t rest = hc->control_sent > 0 ? hc->control_len - hc->control_sent : 0;

	hc->fault = (struct pdu_fault){ fes, fei, why };
	/* An ICReq that went out in part must be ended first. */
	memmove(hc->control, hc->control + hc->control_sent, rest);
	hc->control_len = rest + pdu_term_write(hc->control + rest, PDU_TO_TARGET, hc->fault, header, len);
	hc->control_sent = 0;
	hc->state = HCONN_TERMINATING;
	return HCONN_CLOSING;
}

static enum hconn_event
broken(struct hconn *hc, uint16_t fes, uint32_t fei, const char *why, const void *header)
{
	return closing(hc, fes, fei, why, header, hc->framer.shape.hlen);
}

/* ---- receiving ---- */

static enum hconn_event
on_icresp(struct hconn *hc, const uint8_t *header)
{
	const struct pdu_ic *resp = (const void *)header;
	struct pdu_fault fault = pdu_check_ic(resp);
	const uint32_t at = offsetof(struct pdu_ic, dgst);
	uint8_t asked = (uint8_t)(hc->options.hdgst | hc->options.ddgst << 1);

	if (hc->control_sent < hc->control_len)
		return broken(hc, PDU_FES_SEQUENCE, 0, "ICResp before ICReq was sent", header);
	/* The lowest wrong field is named. */
	if ((resp->dgst & 3) != asked && (fault.fes == PDU_FES_NONE || fault.fei > at))
		fault = (struct pdu_fault){ PDU_FES_HEADER_FIELD, at, "digests other than asked for" };
	if (fault.fes != PDU_FES_NONE)
		return broken(hc, fault.fes, fault.fei, fault.why, header);
	hc->cpda = resp->pda;
	hc->maxh2cdata = le32_get(resp->limit);
	framer_agree(&hc->framer, hc->options.hdgst, hc->options.ddgst);
	hc->state = HCONN_OPEN;
	return HCONN_UP;
}

static inline struct hreq *
find(const struct hconn *hc, uint16_t cid)
{
	uint32_t index = cid & hc->cid_mask;
	struct hreq *req = index < hc->depth ? hc->reqs[index] : NULL;

	/* What was not sent cannot be answered, nor what was answered. */
	return req != NULL && req->cid == cid && req->state != HREQ_CAPSULE && !req->answered ? req : NULL;
}

void
hconn_release(struct hconn *hc, struct hreq *req)
{
	hc->reqs[req->cid & hc->cid_mask] = NULL;
	/* The same place by another name: who answers a command twice does not answer the next one in its place. */
	hc->free_cids[hc->free_count++] = (uint16_t)(req->cid + hc->cid_mask + 1);
	req->state = HREQ_IDLE;
}

/* The result stands in the request; it is done once its data is out of the line. */
static enum hconn_event
complete(struct hconn *hc, struct hreq *req, struct hreq **done)
{
	if (req->data_bad && nvme_ok(req->status))
		req->status = nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false);
	if (req->state == HREQ_DATA) {
		req->answered = true;
		return HCONN_MORE;
	}
	hconn_release(hc, req);
	*done = req;
	return HCONN_DONE;
}

/* The target says that all went well: why that cannot be, or NULL. */
static const char *
too_early(const struct hreq *req)
{
	if (req->data == HREQ_READ && req->moved < req->length)
		return "success of a read without all its data";
	if (req->data == HREQ_WRITE && req->moved < req->length)
		return "success of a write whose data was not asked for";
	if (req->state == HREQ_DATA)
		return "success of a write whose data was not sent to its end";
	return NULL;
}

static enum hconn_event
on_response(struct hconn *hc, const uint8_t *header, struct hreq **done)
{
	const struct nvme_cqe *cqe = &((const struct pdu_capsule_resp *)(const void *)header)->cqe;
	struct hreq *req = find(hc, le16_get(cqe->cid));
	const char *why;

	if (req == NULL)
		return broken(hc, PDU_FES_HEADER_FIELD, 20, "a completion of no command", header);
	req->status = nvme_status_get(cqe->status);
	req->dw0 = le32_get(cqe->dw0);
	req->dw1 = le32_get(cqe->dw1);
	why = nvme_ok(req->status) ? too_early(req) : NULL;
	if (why != NULL)
		return broken(hc, PDU_FES_SEQUENCE, 0, why, header);
	return complete(hc, req, done);
}

static enum hconn_event
data_arrived(struct hconn *hc, struct hreq *req, bool ok, uint8_t flags, struct hreq **done)
{
	req->moved += hc->framer.shape.data_len;
	if (!ok)
		req->data_bad = true;
	if (!(flags & PDU_SUCCESS))
		return HCONN_MORE;
	req->status = NVME_OK;
	req->dw0 = req->dw1 = 0;
	return complete(hc, req, done);
}

/* Copies data that came whole with its header to its place. */
static void
place(const struct hreq *req, const uint8_t *data, uint32_t bytes)
{
	const struct iovec *iov = req->iov;
	size_t at = req->moved;

	do {
		size_t room, step;

		while (at >= iov->iov_len)
			at -= (iov++)->iov_len;
		room = iov->iov_len - at;
		step = bytes < room ? bytes : room;
		memcpy((uint8_t *)iov->iov_base + at, data, step);
		data += step;
		at += step;
		bytes -= (uint32_t)step;
	} while (bytes > 0);
}

static enum hconn_event
on_c2hdata(struct hconn *hc, const struct frame_item *frame, struct hreq **done)
{
	const struct pdu_data *pdu = (const void *)frame->header;
	uint32_t offset = le32_get(pdu->offset), length = le32_get(pdu->length);
	uint8_t flags = pdu->ch.flags;
	struct hreq *req = find(hc, le16_get(pdu->cccid));

	if (req == NULL)
		return broken(hc, PDU_FES_HEADER_FIELD, 8, "C2HData for no command", frame->header);
	if (length == 0 || length != hc->framer.shape.data_len)
		return broken(hc, PDU_FES_HEADER_FIELD, 16, "C2HData's DATAL is not its data's length",
		    frame->header);
	if (req->data != HREQ_READ || req->moved == req->length)
		return broken(hc, PDU_FES_SEQUENCE, 0, "C2HData where none can follow", frame->header);
	if (offset != req->moved || length > req->length - offset)
		return broken(hc, PDU_FES_OUT_OF_RANGE, 0, "C2HData outside what is read", frame->header);
	if (!(flags & PDU_LAST) != (offset + length < req->length))
		return broken(hc, PDU_FES_SEQUENCE, 0, "LAST_PDU of C2HData comes early, or is missing", frame->header);
	if (frame->data != NULL) {
		place(req, frame->data, length);
		return data_arrived(hc, req, frame->data_ok, flags, done);
	}
	hc->filling = req;
	framer_sink(&hc->framer, req->iov, req->iov_count, req->moved);
	return HCONN_MORE;
}

static enum hconn_event
on_r2t(struct hconn *hc, const uint8_t *header)
{
	const struct pdu_data *pdu = (const void *)header;
	uint32_t offset = le32_get(pdu->offset), length = le32_get(pdu->length);
	struct hreq *req = find(hc, le16_get(pdu->cccid));

	if (req == NULL)
		return broken(hc, PDU_FES_HEADER_FIELD, 8, "R2T for no command", header);
	if (req->data != HREQ_WRITE || req->moved == req->length)
		return broken(hc, PDU_FES_SEQUENCE, 0, "R2T where nothing is to be sent", header);
	if (req->r2ts == HREQ_R2TS)
		return broken(hc, PDU_FES_LIMIT_EXCEEDED, 0, "more R2Ts of a command than MAXR2T allows", header);
	if (length == 0 || offset != req->moved || length > req->length - offset)
		return broken(hc, PDU_FES_OUT_OF_RANGE, 0, "R2T outside what is written next", header);
	req->moved += length;
	req->r2t[req->r2ts++] = (struct hreq_r2t){ req->moved, le16_get(pdu->ttag) };
	if (req->state == HREQ_DATA)
		return HCONN_MORE; /* those before it are being answered */
	req->data_at = offset;
	hconn_line_up_data(hc, req);
	return HCONN_MORE;
}

/* A TermReq is answered by silence, also one that is wrong itself. */
static enum hconn_event
on_term(struct hconn *hc, const uint8_t *header)
{
	static const char *const words[] = {
		"the target ended the connection by a TermReq whose reason has no name",
		[PDU_FES_HEADER_FIELD] = "the target says: invalid PDU header field",
		[PDU_FES_SEQUENCE] = "the target says: PDU sequence error",
		[PDU_FES_HEADER_DIGEST] = "the target says: header digest error",
		[PDU_FES_OUT_OF_RANGE] = "the target says: data transfer out of range",
		[PDU_FES_LIMIT_EXCEEDED] = "the target says: data transfer limit exceeded",
		[PDU_FES_UNSUPPORTED] = "the target says: unsupported parameter",
	};
	const struct pdu_term *term = (const void *)header;
	uint16_t fes = le16_get(term->fes);

	hc->fault = (struct pdu_fault){ fes, get_le32(term->fei), words[fes <= PDU_FES_UNSUPPORTED ? fes : 0] };
	hc->state = HCONN_ENDED;
	return HCONN_CLOSING;
}

static enum hconn_event
on_pdu(struct hconn *hc, const struct frame_item *frame, struct hreq **done)
{
	uint8_t type = frame->header[0];

	if (type == PDU_C2H_TERM)
		return on_term(hc, frame->header);
	if ((hc->state == HCONN_HELLO) != (type == PDU_ICRESP))
		return broken(hc, PDU_FES_SEQUENCE, 0, "ICResp is not the first PDU, or not alone",
		    frame->header);
	switch (type) {
	case PDU_ICRESP:
		return on_icresp(hc, frame->header);
	case PDU_CAPSULE_RESP:
		return on_response(hc, frame->header, done);
	case PDU_C2H_DATA:
		return on_c2hdata(hc, frame, done);
	default:
		assert(type == PDU_R2T);
		return on_r2t(hc, frame->header);
	}
}

static enum hconn_event
on_fault(struct hconn *hc, const struct frame_item *frame)
{
	if (frame->header[0] == PDU_C2H_TERM) {
		hc->fault = frame->fault;
		hc->fault.why = "the target ended the connection by a TermReq that is wrong itself";
		hc->state = HCONN_ENDED;
		return HCONN_CLOSING;
	}
	/* Something else may listen there. */
	return closing(hc, frame->fault.fes, frame->fault.fei, hc->state == HCONN_HELLO ?
	    "what answers there does not speak NVMe/TCP" : frame->fault.why, frame->header, frame->header_len);
}

enum hconn_event
hconn_next(struct hconn *hc, const uint8_t **at, size_t *left, struct hreq **done)
{
	if (hc->state != HCONN_HELLO && hc->state != HCONN_OPEN)
		return HCONN_CLOSING;
	for (;;) {
		struct frame_item frame;
		enum hconn_event event = HCONN_MORE;

		switch (framer_next(&hc->framer, at, left, &frame)) {
		case FRAME_MORE:
			return HCONN_MORE;
		case FRAME_PDU:
			event = on_pdu(hc, &frame, done);
			break;
		case FRAME_DATA_END:
			event = data_arrived(hc, hc->filling, frame.data_ok, hc->framer.shape.flags, done);
			break;
		case FRAME_FAULT:
			event = on_fault(hc, &frame);
			break;
		}
		if (event != HCONN_MORE)
			return event;
	}
}

/* ---- commands ---- */

bool
hconn_submit(struct hconn *hc, struct hreq *req)
{
	bool inside = req->data == HREQ_WRITE && req->length <= hc->options.incapsule_max;

	assert(req->state == HREQ_IDLE && req->iov_count <= HREQ_IOV_MAX);
	if (hc->free_count == 0 || hc->state != HCONN_OPEN)
		return false;
	req->cid = hc->free_cids[--hc->free_count];
	hc->reqs[req->cid & hc->cid_mask] = req;
	req->answered = req->data_bad = false;
	req->r2ts = 0;
	req->moved = inside ? req->length : 0;
	req->data_at = 0;
	req->sqe.flags = (uint8_t)((req->sqe.flags & (NVME_FUSE_MASK | WEIR_PRIORITY_MASK | WEIR_ORDERED_MASK)) |
	    NVME_PSDT_SGL);
	req->sqe.cid = le16_of(req->cid);
	req->sqe.sgl1 = (struct nvme_sgl){
		.length = le32_of(req->data != HREQ_NONE ? req->length : 0),
		.id = inside ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT,
	};
	hconn_line_up_capsule(hc, req);
	return true;
}

struct hreq *
hconn_orphan(struct hconn *hc)
{
	/* The framer fills no buffer of a request that is taken out. */
	framer_init(&hc->framer, PDU_TO_HOST, 0);
	fifo_init(&hc->out);
	hc->state = HCONN_ENDED;
	while (hc->depth > 0) {
		struct hreq *req = hc->reqs[--hc->depth];

		if (req != NULL) {
			hconn_release(hc, req);
			return req;
		}
	}
	return NULL;
}
