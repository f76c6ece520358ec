/*
 * fuzz_hconn.c - a target that lies, by a script, to a host with commands in flight.
 *
 * The input is the terms of the connection (three bytes) and steps of four bytes each: a command, a PDU of the target
 * whose fields are right or wrong as the step says, sending in part, bytes changed on their way.  What the host has to
 * say to each PDU is in lie.h; host_play.h has the rest of what must hold.
 */
#include <assert.h>
#include <stdlib.h>

#include "fuzz.h"
#include "lie.h"

enum { STEP = 4, STEPS_MAX = 400 };

enum step_kind { SUBMIT, C2HDATA, R2T, RESPONSE, SEND, CUT, STRAY, TERM };

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
	static const size_t cuts[] = { 1, 2, 7, 8, 23, 24, 28, 29, 72, 128, 500, 4096, 4097, 8192, 16384, LIE_WIRE };

	l->fine = l->verdict == FINE;
	switch (step[0] & 7) {
	case SUBMIT:
		step_submit(l, step);
		break;
	case C2HDATA:
		lie_c2hdata(l, step);
		break;
	case R2T:
		lie_r2t(l, step);
		break;
	case RESPONSE:
		lie_response(l, step);
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
		lie_term(l, step);
		break;
	}
	/* Some are heard one by one, some with those that follow. */
	if (!(step[0] & 8) || l->have > LIE_WIRE / 2)
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
	resp = lie_icresp(l);
	resp.reserved[5] = pda;
	if (wrong == 5)
		resp.dgst ^= 1 + limit % 3;
	else if (wrong == 6)
		resp.pda |= 32;
	else if (wrong == 7)
		resp.pfv = le16_of(1);
	l->fine = true;
	lie_put_icresp(l, &resp);
	if (!l->play.hello_out)
		lie_judged(l, PDU_FES_SEQUENCE, 0);
	else if (wrong >= 5)
		lie_judged(l, PDU_FES_HEADER_FIELD, wrong == 5 ? 11 : wrong == 6 ? 10 : 8);
	else if (l->play.maxh2cdata < 4096 || l->play.maxh2cdata % 4 != 0)
		lie_judged(l, PDU_FES_HEADER_FIELD, 12);
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
	l->cut = LIE_WIRE;
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
