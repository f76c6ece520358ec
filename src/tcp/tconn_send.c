/*
 * tconn_send.c - what a connection of the target has in line, as PDUs.
 *
 * Built when it is sent, and built again, the same to the byte, when only a
 * part of it went out; no request stores a header.
 */
#include "base/crc32c.h"
#include "tcp/tconn.h"

enum { DATA_HLEN = sizeof(struct pdu_data) };

bool
tconn_pending(const struct tconn *tc)
{
	if (tc->control_sent < tc->control_len)
		return true;
	return tc->state == TCONN_OPEN && !fifo_empty(&tc->out);
}

/* A read's answer is its data alone where nothing more is to be said (3.4.4). */
static bool
data_suffices(const struct tconn *tc, const struct xfer *xfer)
{
	return !tc->sq_flow && get_le16(xfer->status.b) == 0 && (xfer->dw0 | xfer->dw1) == 0;
}

static unsigned
head_flags(const struct tconn *tc)
{
	return tc->head_len > DATA_HLEN ? PDU_HDGST : 0;
}

static __attribute__((noinline)) void
put_digest(uint8_t *head)
{
	put_le32(head + DATA_HLEN, crc32c(0, head, DATA_HLEN));
}

static void
seal_head(const struct tconn *tc, uint8_t *head)
{
	if (tc->head_len > DATA_HLEN)
		put_digest(head);
}

static __attribute__((noinline)) void
gather_r2t(const struct tconn *tc, struct xfer *xfer, struct gather *g)
{
	uint32_t at = xfer->asked, ttag = xfer->ttag + at / tc->r2t_bytes * tc->slot_count;

	xfer->wire_len = 0;
	do {
		uint32_t bytes = xfer->asking - at < tc->r2t_bytes ? xfer->asking - at : tc->r2t_bytes;
		uint8_t *head = gather_head(g, tc->head_len);

		pdu_ch_put(head, PDU_R2T, head_flags(tc), DATA_HLEN, 0, tc->head_len);
		pdu_data_put(head, xfer->cid, (uint16_t)ttag, at, bytes);
		seal_head(tc, head);
		xfer->wire_len += tc->head_len;
		ttag += tc->slot_count;
		at += bytes;
	} while (at < xfer->asking);
}

/*
 * What has `begun`, its PDUs sent in part, is gathered again and must say the
 * same; what has not may have been overtaken since by one that says more.
 */
static __attribute__((noinline)) void
gather_response(struct tconn *tc, struct xfer *xfer, bool begun, struct gather *g)
{
	uint8_t *head = gather_head(g, tc->head_len);

	if (!begun)
		xfer->sqhd = tc->sq_flow ? tc->sqhd : 0xffff;
	pdu_ch_put(head, PDU_CAPSULE_RESP, head_flags(tc), DATA_HLEN, 0, tc->head_len);
	pdu_cqe_put(head, xfer->dw0, xfer->dw1, xfer->sqhd, xfer->cid, le16_get(xfer->status));
	seal_head(tc, head);
}

static __attribute__((noinline)) void
gather_data_digest(struct xfer *xfer, struct gather *g)
{
	if (!xfer->ddgst_set) {
		for (unsigned i = 0; i < xfer->iov_count; i++)
			xfer->ddgst = crc32c(xfer->ddgst, xfer->iov[i].iov_base, xfer->iov[i].iov_len);
		xfer->ddgst_set = true;
	}
	put_le32(gather_head(g, PDU_DIGEST_LEN), xfer->ddgst);
}

static __attribute__((noinline)) void
gather_any_read(struct tconn *tc, struct xfer *xfer, struct gather *g)
{
	bool alone = data_suffices(tc, xfer);
	uint32_t plen = tc->data_at + xfer->length + (tc->ddgst ? PDU_DIGEST_LEN : 0);
	uint8_t *head = gather_head(g, tc->data_at);

	pdu_ch_put(head, PDU_C2H_DATA, head_flags(tc) | (tc->ddgst ? PDU_DDGST : 0u) | PDU_LAST |
	    (alone ? PDU_SUCCESS : 0u), DATA_HLEN, tc->data_at, plen);
	pdu_data_put(head, xfer->cid, 0, 0, xfer->length);
	seal_head(tc, head);
	memset(head + tc->head_len, 0, tc->data_at - tc->head_len);
	gather_data(g, xfer->iov, xfer->iov_count);
	if (tc->ddgst)
		gather_data_digest(xfer, g);
	xfer->wire_len = plen;
	if (alone)
		return;
	gather_response(tc, xfer, xfer->sent > 0, g);
	xfer->wire_len += tc->head_len;
}

/* ---- answers in pieces ---- */

/* The bytes of data that follow the first `at`, in one PDU. */
static uint32_t
piece_bytes(const struct tconn *tc, const struct xfer *xfer, uint32_t at)
{
	return xfer->length - at < tc->limits.piece ? xfer->length - at : tc->limits.piece;
}

/* And of the wire, with the completion that follows the last of them. */
static uint32_t
piece_wire(const struct tconn *tc, const struct xfer *xfer, uint32_t at)
{
	uint32_t bytes = piece_bytes(tc, xfer, at), wire = tc->data_at + bytes + (tc->ddgst ? PDU_DIGEST_LEN : 0);

	return at + bytes < xfer->length || data_suffices(tc, xfer) ? wire : wire + tc->head_len;
}

static void
gather_slice(const struct xfer *xfer, uint32_t at, uint32_t bytes, struct gather *g, uint32_t *crc)
{
	const struct iovec *iov = xfer->iov;

	for (; at >= iov->iov_len; iov++)
		at -= (uint32_t)iov->iov_len;
	for (; bytes > 0; iov++, at = 0) {
		uint32_t room = (uint32_t)iov->iov_len - at, step = bytes < room ? bytes : room;
		struct iovec part = { (uint8_t *)iov->iov_base + at, step };

		gather_data(g, &part, 1);
		if (crc != NULL)
			*crc = crc32c(*crc, part.iov_base, step);
		bytes -= step;
	}
}

/* One C2HData of several, and behind the last the completion, where one is needed. */
static void
gather_piece(struct tconn *tc, struct xfer *xfer, uint32_t at, struct gather *g)
{
	uint32_t bytes = piece_bytes(tc, xfer, at), plen = tc->data_at + bytes + (tc->ddgst ? PDU_DIGEST_LEN : 0);
	bool last = at + bytes == xfer->length, alone = last && data_suffices(tc, xfer);
	uint8_t *head = gather_head(g, tc->data_at);

	pdu_ch_put(head, PDU_C2H_DATA, head_flags(tc) | (tc->ddgst ? PDU_DDGST : 0u) | (last ? PDU_LAST : 0u) |
	    (alone ? PDU_SUCCESS : 0u), DATA_HLEN, tc->data_at, plen);
	pdu_data_put(head, xfer->cid, 0, at, bytes);
	seal_head(tc, head);
	memset(head + tc->head_len, 0, tc->data_at - tc->head_len);
	gather_slice(xfer, at, bytes, g, tc->ddgst && !xfer->ddgst_set ? &xfer->ddgst : NULL);
	if (tc->ddgst) {
		xfer->ddgst_set = true;
		put_le32(gather_head(g, PDU_DIGEST_LEN), xfer->ddgst);
	}
	if (last && !alone)
		gather_response(tc, xfer, at == xfer->moved && xfer->sent > 0, g);
}

/* Its next piece, or its first one, is behind all others in line. */
static void
line_up(struct tconn *tc, struct xfer *xfer)
{
	xfer->sent = 0;
	xfer->ddgst_set = false;
	xfer->ddgst = 0;
	xfer->wire_len = piece_wire(tc, xfer, xfer->moved);
	tc->long_one = xfer;
	fifo_push(&tc->out, &xfer->tx_node);
	tc->line_end = tc->out.tail;
}

/* One at a time goes in pieces, so what is short waits for one piece, however many there are. */
void __attribute__((noinline))
tconn_answer_long(struct tconn *tc, struct xfer *xfer)
{
	xfer->state = XFER_PIECES;
	if (tc->long_one == NULL)
		line_up(tc, xfer);
	else
		fifo_push(&tc->long_ones, &xfer->tx_node);
}

/* The one that went in pieces is out of the line. */
static void
next_long_one(struct tconn *tc)
{
	struct fifo_node *node = fifo_pop(&tc->long_ones);

	tc->long_one = NULL;
	if (node != NULL)
		line_up(tc, container_of(node, struct xfer, tx_node));
}

/*
 * Behind everything that is in line, with one piece of the long one among it,
 * come its other pieces and then those of the next: in the order in which
 * tconn_sent() will take them off.  A digest is computed when its piece is next.
 */
static __attribute__((noinline)) void
gather_long_ones(struct tconn *tc, struct gather *g)
{
	struct fifo_node *next = tc->long_ones.head;
	struct xfer *xfer = tc->long_one;
	uint32_t at = xfer->moved + piece_bytes(tc, xfer, xfer->moved);

	while (!tc->ddgst && gather_room(g)) {
		if (at < xfer->length) {
			gather_piece(tc, xfer, at, g);
			at += piece_bytes(tc, xfer, at);
		} else if (next != NULL) {
			xfer = container_of(next, struct xfer, tx_node);
			next = next->next;
			at = xfer->moved;
		} else {
			return;
		}
	}
}

/* ---- answers in one ---- */

/* A read in one piece that needs neither digest, padding nor completion: what nearly all are. */
static void
gather_read(struct tconn *tc, struct xfer *xfer, struct gather *g)
{
	uint32_t plen = DATA_HLEN + xfer->length;
	uint64_t dw01;
	uint8_t *head;

	memcpy(&dw01, &xfer->dw0, sizeof(dw01));
	if (!tc->plain || xfer->iov_count != 1 || dw01 != 0) {
		gather_any_read(tc, xfer, g);
		return;
	}
	head = gather_new_head(g, DATA_HLEN);
	pdu_ch_put(head, PDU_C2H_DATA, PDU_LAST | PDU_SUCCESS, DATA_HLEN, DATA_HLEN, plen);
	pdu_data_put(head, xfer->cid, 0, 0, xfer->length);
	gather_data(g, xfer->iov, 1);
	xfer->wire_len = plen;
}

/* Kept, like all that is long or rare, out of the way of answers in one PDU. */
static __attribute__((noinline)) void
gather_other(struct tconn *tc, struct xfer *xfer, struct gather *g)
{
	if (xfer->state == XFER_ASKING)
		gather_r2t(tc, xfer, g);
	else
		gather_piece(tc, xfer, xfer->moved, g);
}

/* The PDUs of what the xfer has in line; the same to the byte whenever it is asked. */
static inline void
gather_xfer(struct tconn *tc, struct xfer *xfer, struct gather *g)
{
	if (xfer->state != XFER_ANSWERING) {
		gather_other(tc, xfer, g);
	} else if (xfer->with_data) {
		gather_read(tc, xfer, g);
	} else {
		gather_response(tc, xfer, xfer->sent > 0, g);
		xfer->wire_len = tc->head_len;
	}
}

static void
gather_control(struct tconn *tc, struct gather *g)
{
	uint32_t len = tc->control_len - tc->control_sent;

	if (len > 0)
		gather_data(g, &(struct iovec){ tc->control + tc->control_sent, len }, 1);
}

static struct xfer *
xfer_of(struct fifo_node *node)
{
	return container_of(node, struct xfer, tx_node);
}

void
tconn_gather(struct tconn *tc, struct gather *g)
{
	struct fifo_node *node = tc->out.head;

	gather_next(g);
	/* A PDU that went out in part must be ended before anything else is sent. */
	if (node != NULL && xfer_of(node)->sent > 0) {
		gather_xfer(tc, xfer_of(node), g);
		gather_skip(g, xfer_of(node)->sent);
		node = node->next;
	}
	gather_control(tc, g);
	if (tc->state != TCONN_OPEN)
		return;
	for (; node != NULL && gather_room(g); node = node->next)
		gather_xfer(tc, xfer_of(node), g);
	if (tc->long_one == NULL)
		return;
	tc->line_end = tc->out.tail;
	if (node == NULL)
		gather_long_ones(tc, g);
}

/* The piece of the long one that was in line is out; when it was the last, so is the answer.  What will not be
 * answered in full needs no more than the end of its PDU. */
static void
piece_done(struct tconn *tc, struct xfer *xfer, struct fifo *finished)
{
	xfer->moved += piece_bytes(tc, xfer, xfer->moved);
	/* Its next piece may be gathered already, behind the line as it was then. */
	assert(tc->state != TCONN_OPEN || fifo_empty(&tc->out) || tc->out.tail == tc->line_end);
	if (xfer->moved < xfer->length && tc->state == TCONN_OPEN) {
		line_up(tc, xfer);
		return;
	}
	xfer->state = XFER_HELD;
	fifo_push(finished, &xfer->tx_node);
	next_long_one(tc);
}

static __attribute__((noinline)) void
other_done(struct tconn *tc, struct xfer *xfer, struct fifo *finished)
{
	/* Nothing gets in line again in front of what was gathered behind the line. */
	if (xfer->state == XFER_ASKING)
		fifo_push(&tc->asked, &xfer->tx_node);
	else
		piece_done(tc, xfer, finished);
}

static inline void
xfer_done(struct tconn *tc, struct xfer *xfer, struct fifo *finished)
{
	fifo_pop(&tc->out);
	if (xfer->state != XFER_ANSWERING) {
		other_done(tc, xfer, finished);
		return;
	}
	xfer->state = XFER_HELD;
	fifo_push(finished, &xfer->tx_node);
}

/* Takes `bytes` off the first xfer; answers how many are left over. */
static size_t
sent_xfer(struct tconn *tc, size_t bytes, struct fifo *finished)
{
	struct xfer *xfer = xfer_of(tc->out.head);
	uint32_t left = xfer->wire_len - xfer->sent;

	if (bytes < left) {
		xfer->sent += (uint32_t)bytes;
		return 0;
	}
	xfer_done(tc, xfer, finished);
	return bytes - left;
}

void
tconn_sent(struct tconn *tc, size_t bytes, struct fifo *finished)
{
	if (bytes > 0 && !fifo_empty(&tc->out) && xfer_of(tc->out.head)->sent > 0)
		bytes = sent_xfer(tc, bytes, finished);
	bytes = gather_sent(&tc->control_sent, tc->control_len, bytes);
	while (bytes > 0)
		bytes = sent_xfer(tc, bytes, finished);
	if (!fifo_empty(&tc->asked))
		tconn_asked(tc);
	if (tc->state == TCONN_TERMINATING && tc->control_sent == tc->control_len)
		tc->state = TCONN_ENDED;
}

void
tconn_drop(struct tconn *tc, bool all, struct fifo *dropped)
{
	struct fifo_node *node, *kept = NULL;

	tc->long_one = NULL;
	fifo_splice(&tc->out, &tc->long_ones);
	while ((node = fifo_pop(&tc->out)) != NULL) {
		if (!all && kept == NULL && xfer_of(node)->sent > 0) {
			kept = node;
			continue;
		}
		xfer_of(node)->state = XFER_HELD;
		fifo_push(dropped, node);
	}
	if (kept != NULL)
		fifo_push(&tc->out, kept);
}

static void
withdraw_from(struct fifo *line, bool (*pick)(const struct xfer *xfer, void *arg), void *arg,
    struct fifo *withdrawn)
{
	struct fifo_node *node;
	struct fifo rest;

	fifo_init(&rest);
	while ((node = fifo_pop(line)) != NULL) {
		struct xfer *xfer = xfer_of(node);

		if (xfer->state == XFER_ASKING || !xfer->with_data || xfer->sent > 0 || !pick(xfer, arg)) {
			fifo_push(&rest, node);
			continue;
		}
		xfer->state = XFER_HELD;
		xfer->ddgst_set = false; /* the data may be others when it is answered again */
		xfer->ddgst = 0;
		fifo_push(withdrawn, node);
	}
	fifo_splice(line, &rest);
}

/* What was sent of one in pieces stays so: it goes on from there when it is answered again. */
void
tconn_withdraw(struct tconn *tc, bool (*pick)(const struct xfer *xfer, void *arg), void *arg,
    struct fifo *withdrawn)
{
	withdraw_from(&tc->out, pick, arg, withdrawn);
	withdraw_from(&tc->long_ones, pick, arg, withdrawn);
	if (tc->long_one != NULL && tc->long_one->state != XFER_PIECES)
		next_long_one(tc);
}
