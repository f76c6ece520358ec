#include "tcp/framer.h"

#include <assert.h>

#include "base/crc32c.h"

/* Below this, a copy is cheaper than an entry of its own in a read. */
enum { DIRECT_MIN = 4096 };

void
framer_init(struct framer *framer, enum pdu_side side, uint32_t data_max)
{
	*framer = (struct framer){ .terms = { .side = side, .data_max = data_max } };
}

void
framer_agree(struct framer *framer, bool hdgst, bool ddgst)
{
	framer->terms.hdgst = hdgst;
	framer->terms.ddgst = ddgst;
	framer->is_known = false;
}

/* pdu_check(), whose answer to the same eight bytes is remembered: most PDUs are like the last one. */
static struct pdu_fault
check(struct framer *f, const uint8_t *ch)
{
	struct pdu_fault fault = { 0 };
	uint64_t word = get_le64(ch);

	if (f->is_known && word == f->known)
		return fault;
	fault = pdu_check(ch, &f->terms, &f->shape);
	f->is_known = fault.fes == PDU_FES_NONE;
	f->known = word;
	return fault;
}

static uint32_t
header_bytes(const struct pdu_shape *shape)
{
	return shape->hlen + (shape->hdgst ? PDU_DIGEST_LEN : 0);
}

static enum frame
fault(struct frame_item *item, struct pdu_fault fault, const uint8_t *header, uint32_t header_len)
{
	item->fault = fault;
	item->header = header;
	item->header_len = header_len;
	return FRAME_FAULT;
}

static bool
header_digest_ok(const uint8_t *header, const struct pdu_shape *shape, struct pdu_fault *wrong)
{
	uint32_t received;

	if (!shape->hdgst)
		return true;
	received = get_le32(header + shape->hlen);
	if (received == crc32c(0, header, shape->hlen))
		return true;
	*wrong = (struct pdu_fault){ PDU_FES_HEADER_DIGEST, received, "header digest is wrong" };
	return false;
}

static bool
data_digest_ok(const uint8_t *digest, uint32_t crc)
{
	return get_le32(digest) == crc;
}

static __attribute__((noinline)) enum frame
check_digests(struct framer *f, struct frame_item *item)
{
	const struct pdu_shape *shape = &f->shape;
	const uint8_t *pdu = item->header;
	struct pdu_fault wrong;

	if (!header_digest_ok(pdu, shape, &wrong))
		return fault(item, wrong, pdu, shape->hlen);
	if (shape->ddgst && shape->data_len > 0)
		item->data_ok = data_digest_ok(pdu + shape->data_at + shape->data_len,
		    crc32c(0, item->data, shape->data_len));
	return FRAME_PDU;
}

/* The whole PDU lies in the bytes: nothing is copied. */
static enum frame
whole(struct framer *f, const uint8_t **at, size_t *left, struct frame_item *item)
{
	const uint8_t *pdu = *at;

	*at += f->shape.plen;
	*left -= f->shape.plen;
	item->header = pdu;
	item->data = f->shape.data_len > 0 ? pdu + f->shape.data_at : NULL;
	item->data_ok = true;
	return f->shape.hdgst || f->shape.ddgst ? check_digests(f, item) : FRAME_PDU;
}

/* Takes header bytes until `want` are there; false: the bytes ran out. */
static bool
gather(struct framer *f, uint32_t want, const uint8_t **at, size_t *left)
{
	size_t take = want - f->have < *left ? want - f->have : *left;

	memcpy(f->head + f->have, *at, take);
	f->have += (uint32_t)take;
	*at += take;
	*left -= take;
	return f->have == want;
}

/* A header that came in pieces, or whose data did not come whole with it. */
static enum frame
gather_header(struct framer *f, const uint8_t **at, size_t *left, struct frame_item *item)
{
	struct pdu_fault wrong;

	if (f->have < PDU_CH_LEN) {
		if (!gather(f, PDU_CH_LEN, at, left))
			return FRAME_MORE;
		wrong = check(f, f->head);
		if (wrong.fes != PDU_FES_NONE)
			return fault(item, wrong, f->head, PDU_CH_LEN);
	}
	if (!gather(f, header_bytes(&f->shape), at, left))
		return FRAME_MORE;
	if (!header_digest_ok(f->head, &f->shape, &wrong))
		return fault(item, wrong, f->head, f->shape.hlen);
	item->header = f->head;
	item->data = NULL;
	item->data_ok = true;
	f->have = 0;
	if (f->shape.data_len > 0)
		f->state = FRAMER_SINK;
	return FRAME_PDU;
}

static enum frame
next_header(struct framer *f, const uint8_t **at, size_t *left, struct frame_item *item)
{
	struct pdu_fault wrong;
	const uint8_t *pdu = *at;

	if (f->have > 0 || *left < PDU_CH_LEN)
		return *left > 0 ? gather_header(f, at, left, item) : FRAME_MORE;
	wrong = check(f, pdu);
	if (wrong.fes != PDU_FES_NONE) {
		uint32_t quote = pdu[2] >= PDU_CH_LEN && pdu[2] <= PDU_HLEN_MAX ? pdu[2] : PDU_CH_LEN;

		return fault(item, wrong, pdu, quote <= *left ? quote : PDU_CH_LEN);
	}
	if (*left < f->shape.plen)
		return gather_header(f, at, left, item);
	return whole(f, at, left, item);
}

/* On to the piece that takes the next byte: behind what is full, or was empty from the start. */
static void
leave_full(struct framer *f)
{
	while (f->sink != NULL && f->sink_count > 0 && f->sink_at == f->sink[0].iov_len) {
		f->sink++;
		f->sink_count--;
		f->sink_at = 0;
	}
}

void
framer_sink(struct framer *f, const struct iovec *iov, uint32_t count, size_t skip)
{
	assert(f->state == FRAMER_SINK);
	f->sink = iov;
	f->sink_count = count;
	while (iov != NULL && skip > f->sink[0].iov_len) {
		skip -= f->sink[0].iov_len;
		f->sink++;
		f->sink_count--;
	}
	f->sink_at = skip;
	leave_full(f);
	f->pad_left = f->shape.data_at - header_bytes(&f->shape);
	f->data_left = f->shape.data_len;
	f->crc = 0;
	f->digest_have = 0;
	f->state = f->pad_left > 0 ? FRAMER_PAD : FRAMER_DATA;
}

/* Moves the cursor over bytes that are in place, and continues their digest. */
static void
advance(struct framer *f, size_t bytes)
{
	f->data_left -= (uint32_t)bytes;
	while (bytes > 0 && f->sink != NULL) {
		size_t room = f->sink[0].iov_len - f->sink_at;
		size_t step = bytes < room ? bytes : room;

		if (f->shape.ddgst)
			f->crc = crc32c(f->crc, (uint8_t *)f->sink[0].iov_base + f->sink_at, step);
		f->sink_at += step;
		bytes -= step;
		leave_full(f);
	}
}

static void
take_data(struct framer *f, const uint8_t **at, size_t *left)
{
	while (f->data_left > 0 && *left > 0) {
		size_t step = f->data_left < *left ? f->data_left : *left;

		if (f->sink != NULL) {
			size_t room = f->sink[0].iov_len - f->sink_at;

			step = step < room ? step : room;
			memcpy((uint8_t *)f->sink[0].iov_base + f->sink_at, *at, step);
		}
		advance(f, step);
		*at += step;
		*left -= step;
	}
}

static enum frame
data_end(struct framer *f, bool ok, struct frame_item *item)
{
	f->state = FRAMER_HEADER;
	item->data_ok = ok;
	return FRAME_DATA_END;
}

static enum frame
take_digest(struct framer *f, const uint8_t **at, size_t *left, struct frame_item *item)
{
	while (f->digest_have < PDU_DIGEST_LEN) {
		if (*left == 0)
			return FRAME_MORE;
		f->digest[f->digest_have++] = **at;
		++*at;
		--*left;
	}
	/* Of data that was thrown away no digest was made, and nobody asks. */
	return data_end(f, f->sink == NULL ? true : data_digest_ok(f->digest, f->crc), item);
}

/* Kept out of the way of the common case below, whose registers it would take. */
static __attribute__((noinline)) enum frame
next_piece(struct framer *f, const uint8_t **at, size_t *left, struct frame_item *item)
{
	size_t step;

	switch (f->state) {
	case FRAMER_HEADER:
		return next_header(f, at, left, item);
	case FRAMER_SINK:
		assert(f->state != FRAMER_SINK); /* framer_sink() must follow a header with data */
		return FRAME_MORE;
	case FRAMER_PAD:
		step = f->pad_left < *left ? f->pad_left : *left;
		f->pad_left -= (uint32_t)step;
		*at += step;
		*left -= step;
		if (f->pad_left > 0)
			return FRAME_MORE;
		f->state = FRAMER_DATA;
		__attribute__((fallthrough));
	case FRAMER_DATA:
		take_data(f, at, left);
		if (f->data_left > 0)
			return FRAME_MORE;
		if (!f->shape.ddgst)
			return data_end(f, true, item);
		f->state = FRAMER_DIGEST;
		__attribute__((fallthrough));
	case FRAMER_DIGEST:
		return take_digest(f, at, left, item);
	}
	__builtin_unreachable();
}

enum frame
framer_next(struct framer *f, const uint8_t **at, size_t *left, struct frame_item *item)
{
	/* A whole PDU like the one before: what nearly all bytes of a busy connection are. */
	if (f->state == FRAMER_HEADER && f->have == 0 && f->is_known && *left >= f->shape.plen &&
	    get_le64(*at) == f->known)
		return whole(f, at, left, item);
	return next_piece(f, at, left, item);
}

int
framer_direct(const struct framer *f, struct iovec *iov, int max)
{
	size_t left = f->data_left, at = f->sink_at;
	int count = 0;

	if (f->state != FRAMER_DATA || f->sink == NULL || left < DIRECT_MIN)
		return 0;
	for (uint32_t i = 0; i < f->sink_count && left > 0 && count < max; i++, at = 0) {
		size_t room = f->sink[i].iov_len - at;

		iov[count].iov_base = (uint8_t *)f->sink[i].iov_base + at;
		iov[count].iov_len = room < left ? room : left;
		left -= iov[count++].iov_len;
	}
	return count;
}

void
framer_landed(struct framer *f, size_t bytes)
{
	assert(bytes <= f->data_left);
	advance(f, bytes);
}

size_t
framer_need(const struct framer *f)
{
	switch (f->state) {
	case FRAMER_HEADER:
		return f->have < PDU_CH_LEN ? PDU_CH_LEN - f->have : header_bytes(&f->shape) - f->have;
	case FRAMER_SINK:
		return 0;
	case FRAMER_PAD:
	case FRAMER_DATA:
		return f->pad_left + f->data_left + (f->shape.ddgst ? PDU_DIGEST_LEN : 0);
	case FRAMER_DIGEST:
		return PDU_DIGEST_LEN - f->digest_have;
	}
	__builtin_unreachable();
}
