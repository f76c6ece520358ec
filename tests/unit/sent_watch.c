#include "sent_watch.h"

#include <assert.h>
#include <string.h>

#include "base/crc32c.h"
#include "wire/pdu.h"

enum { HLEN = sizeof(struct pdu_data) };

void
watch_begin(struct watch *w, unsigned slot, uint16_t cid, uint32_t asks)
{
	assert(slot < WATCH_DEPTH && (!w->of[slot].known || w->of[slot].over));
	w->of[slot] = (struct watched){ .known = true, .cid = cid, .asks = asks };
}

void
watch_answer(struct watch *w, unsigned slot, const void *data, uint32_t length)
{
	struct watched *of = &w->of[slot];

	assert(of->known && !of->answered && of->asked == of->asks);
	of->answered = true;
	of->data = data;
	of->length = length;
}

static unsigned
head_len(const struct watch *w)
{
	return HLEN + (w->hdgst ? PDU_DIGEST_LEN : 0);
}

static unsigned
data_at(const struct watch *w)
{
	unsigned unit = (w->pda + 1u) * 4;

	return (head_len(w) + unit - 1) / unit * unit;
}

/* The header is as it should be, its digest too, and nothing but zeros lies between it and the data. */
static void
same_head(const struct watch *w, const void *header, unsigned end)
{
	assert(memcmp(w->pdu, header, HLEN) == 0);
	assert(!w->hdgst || get_le32(w->pdu + HLEN) == crc32c(0, header, HLEN));
	for (unsigned i = head_len(w); i < end; i++)
		assert(w->pdu[i] == 0);
}

/* The command in flight that a PDU is for. */
static struct watched *
whose(struct watch *w, uint16_t cid)
{
	struct watched *of = w->of;

	while (of < w->of + WATCH_DEPTH && (!of->known || of->over || of->cid != cid))
		of++;
	assert(of < w->of + WATCH_DEPTH);
	return of;
}

/* The next one of its command, which no more are asked for than the host takes. */
static void
on_r2t(struct watch *w)
{
	const struct pdu_data *pdu = (const void *)w->pdu;
	struct watched *of = whose(w, le16_get(pdu->cccid));
	uint32_t bytes = w->r2ts > 1 ? w->piece : UINT32_MAX, left = of->asks - of->asked;
	unsigned slot = (unsigned)(of - w->of);
	struct pdu_data want = {
		.ch = { PDU_R2T, w->hdgst ? PDU_HDGST : 0, HLEN, 0, le32_of(head_len(w)) },
		.cccid = le16_of(of->cid), .ttag = le16_of((uint16_t)(slot + of->asked / bytes * w->slots)),
		.offset = le32_of(of->asked), .length = le32_of(left < bytes ? left : bytes),
	};

	assert(left > 0 && of->asked / bytes - of->came / bytes < w->r2ts);
	same_head(w, &want, head_len(w));
	of->asked += le32_get(want.length);
}

/* The next piece of its command. */
static void
on_c2hdata(struct watch *w)
{
	const struct pdu_data *pdu = (const void *)w->pdu;
	struct watched *of = whose(w, le16_get(pdu->cccid));
	uint32_t left = of->length - of->moved, bytes = left < w->piece ? left : w->piece;
	uint32_t plen = data_at(w) + bytes + (w->ddgst ? PDU_DIGEST_LEN : 0);
	unsigned flags = (w->hdgst ? PDU_HDGST : 0u) | (w->ddgst ? PDU_DDGST : 0u) | (left == bytes ? PDU_LAST : 0u) |
	    (left == bytes && !w->sq_flow ? PDU_SUCCESS : 0u);
	struct pdu_data want = {
		.ch = { PDU_C2H_DATA, (uint8_t)flags, HLEN, (uint8_t)data_at(w), le32_of(plen) },
		.cccid = le16_of(of->cid), .offset = le32_of(of->moved), .length = le32_of(bytes),
	};

	assert(of->answered && bytes > 0);
	same_head(w, &want, data_at(w));
	assert(memcmp(w->pdu + data_at(w), of->data + of->moved, bytes) == 0);
	assert(!w->ddgst || get_le32(w->pdu + plen - PDU_DIGEST_LEN) == crc32c(0, of->data + of->moved, bytes));
	of->moved += bytes;
	of->over = flags & PDU_SUCCESS;
}

/* All its data went before it, and the queue's head does not go back. */
static void
on_response(struct watch *w, uint16_t sqhd)
{
	const struct pdu_capsule_resp *pdu = (const void *)w->pdu;
	struct watched *of = whose(w, le16_get(pdu->cqe.cid));
	struct pdu_capsule_resp want = {
		.ch = { PDU_CAPSULE_RESP, w->hdgst ? PDU_HDGST : 0, HLEN, 0, le32_of(head_len(w)) },
		.cqe = { .sqhd = w->sq_flow ? pdu->cqe.sqhd : le16_of(0xffff), .cid = le16_of(of->cid) },
	};
	uint16_t told = le16_get(pdu->cqe.sqhd);

	assert(of->answered && of->moved == of->length);
	same_head(w, &want, head_len(w));
	assert(!w->sq_flow || (uint16_t)(sqhd - told) <= (uint16_t)(sqhd - w->sqhd_last));
	w->sqhd_last = told;
	of->over = true;
}

static void
judge(struct watch *w, uint16_t sqhd)
{
	switch (w->pdu[0]) {
	case PDU_ICRESP:
		return;
	case PDU_R2T:
		on_r2t(w);
		return;
	case PDU_C2H_DATA:
		on_c2hdata(w);
		return;
	case PDU_CAPSULE_RESP:
		on_response(w, sqhd);
		return;
	}
	assert(w->pdu[0] == PDU_C2H_TERM);
	w->ended = true;
}

/* Takes bytes up to the end of what is begun: of a common header, then of the PDU; answers how many. */
static size_t
take(struct watch *w, const uint8_t *from, size_t bytes)
{
	uint32_t end = w->have < PDU_CH_LEN ? PDU_CH_LEN : get_le32(w->pdu + 4);
	size_t step = end - w->have < bytes ? end - w->have : bytes;

	assert(!w->ended && end >= PDU_CH_LEN && end <= WATCH_PLEN);
	memcpy(w->pdu + w->have, from, step);
	w->have += (uint32_t)step;
	return step;
}

void
watch_sent(struct watch *w, const struct iovec *iov, size_t bytes, uint16_t sqhd)
{
	for (; bytes > 0; iov++) {
		size_t here = iov->iov_len < bytes ? iov->iov_len : bytes;

		for (size_t at = 0; at < here;) {
			at += take(w, (const uint8_t *)iov->iov_base + at, here - at);
			if (w->have > PDU_CH_LEN && w->have == get_le32(w->pdu + 4)) {
				judge(w, sqhd);
				w->have = 0;
			}
		}
		bytes -= here;
	}
}
