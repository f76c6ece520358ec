/*
 * test_tcp_pieces.c - several PDUs of data of one command: which R2Ts count, in which order the pieces of a long read
 * go, and what passes between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "tcp_pair.h"

/* ---- R2Ts ---- */

/* A write of eight pieces, in slot 0, whose first R2Ts are gathered; and of those so many bytes are out. */
static void
asked(struct pair *pair, size_t out)
{
	struct nvme_sqe sqe = { .opcode = NVME_WRITE, .cid = le16_of(7) };
	struct pair_slot *slot = pair_slot(pair, 0);
	struct fifo finished;

	fifo_init(&finished);
	tconn_hold(&pair->tc, &slot->xfer, &sqe);
	slot->iov[0] = (struct iovec){ slot->data, PAIR_DATA };
	slot->xfer.iov = slot->iov;
	slot->xfer.iov_count = 1;
	slot->xfer.length = PAIR_DATA;
	tconn_ask(&pair->tc, &slot->xfer);
	pair_gather_target(pair);
	assert_int_equal(pair->gather.bytes, TCONN_R2TS * 24);
	tconn_sent(&pair->tc, out, &finished);
	assert_null(fifo_pop(&finished));
}

/* Data for the n-th R2T that was gathered, from `at` to its end. */
static struct pdu_fault
answered_r2t(struct pair *pair, unsigned n, uint32_t at)
{
	static uint8_t bytes[24 + PAIR_PIECE];
	uint32_t length = (n + 1) * PAIR_PIECE - at;
	struct pdu_data pdu = {
		.ch = { PDU_H2C_DATA, PDU_LAST, 24, 24, le32_of(24 + length) }, .cccid = le16_of(7),
		.ttag = le16_of((uint16_t)(n * PAIR_DEPTH)), .offset = le32_of(at), .length = le32_of(length),
	};
	const uint8_t *from = bytes;
	size_t left = 24 + length;
	struct tconn_item item;

	memcpy(bytes, &pdu, sizeof(pdu));
	(void)tconn_next(&pair->tc, &from, &left, &item);
	return pair->tc.fault;
}

static void
an_r2t_may_be_answered_once_it_is_out_to_its_last_byte(void **state)
{
	static const struct {
		size_t out;
		unsigned n;
		uint32_t at;
		uint16_t fes;
		uint32_t fei;
	} cases[] = {
		{ 0, 0, 0, PDU_FES_HEADER_FIELD, 10 }, { 23, 0, 0, PDU_FES_HEADER_FIELD, 10 },
		{ 24, 0, 0, PDU_FES_NONE, 0 }, { 24, 1, PAIR_PIECE, PDU_FES_HEADER_FIELD, 10 },
		{ 47, 1, PAIR_PIECE, PDU_FES_HEADER_FIELD, 10 }, { 48, 1, PAIR_PIECE, PDU_FES_OUT_OF_RANGE, 0 },
		{ 96, 3, 3 * PAIR_PIECE, PDU_FES_OUT_OF_RANGE, 0 },
		{ 96, 4, 4 * PAIR_PIECE, PDU_FES_HEADER_FIELD, 10 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair *pair = pair_connected(23, false, false, false);
		struct pdu_fault fault;

		asked(pair, cases[i].out);
		fault = answered_r2t(pair, cases[i].n, cases[i].at);
		assert_int_equal(fault.fes, cases[i].fes);
		assert_int_equal(fault.fei, cases[i].fei);
		free(pair);
	}
}

/* Four are outstanding again, though the answer came before the others were out. */
static void
an_r2t_that_is_answered_while_others_go_out_is_followed_by_one(void **state)
{
	struct pair *pair = pair_connected(23, false, false, false);
	struct fifo finished;

	(void)state;
	fifo_init(&finished);
	asked(pair, 30);
	assert_int_equal(answered_r2t(pair, 0, 0).fes, PDU_FES_NONE);
	pair_gather_target(pair);
	assert_int_equal(pair->gather.bytes, 66);
	tconn_sent(&pair->tc, 66, &finished);
	pair_gather_target(pair);
	assert_int_equal(pair->gather.bytes, 24);
	assert_int_equal(le32_get(((const struct pdu_data *)pair->gather.iov[0].iov_base)->offset), 4 * PAIR_PIECE);
	free(pair);
}

/* The pieces of a long read were gathered behind the first R2Ts, and a part of them is out. */
static void
an_r2t_that_follows_waits_for_what_was_gathered_before_it(void **state)
{
	struct pair *pair = pair_connected(23, false, false, false);
	struct iovec whole = { pair->volume, 3 * PAIR_PIECE };
	struct gather *g = &pair->gather;
	struct fifo finished;

	(void)state;
	fifo_init(&finished);
	asked(pair, 30);
	assert_int_equal(answered_r2t(pair, 0, 0).fes, PDU_FES_NONE);
	pair_answer(pair, 1, &whole);
	pair_gather_target(pair);
	assert_int_equal(g->bytes, 66 + 3 * (24 + PAIR_PIECE));
	tconn_sent(&pair->tc, 66 + 24 + PAIR_PIECE + 10, &finished);
	pair_gather_target(pair);
	assert_int_equal(g->bytes, 14 + PAIR_PIECE + 24 + 24 + PAIR_PIECE);
	assert_int_equal(g->iov[g->first].iov_len, 14);
	assert_ptr_equal(g->iov[g->first + 1].iov_base, pair->volume + PAIR_PIECE);
	assert_int_equal(((const struct pdu_data *)g->iov[g->first + 2].iov_base)->ch.type, PDU_R2T);
	free(pair);
}

/* What is being ended asks for nothing more. */
static void
a_termreq_follows_the_r2ts_that_had_begun(void **state)
{
	struct pair *pair = pair_connected(23, false, false, false);
	uint8_t header[8] = { 0 };
	struct fifo fifo;

	(void)state;
	fifo_init(&fifo);
	asked(pair, 30);
	assert_int_equal(answered_r2t(pair, 0, 0).fes, PDU_FES_NONE);
	tconn_fault(&pair->tc, (struct pdu_fault){ PDU_FES_SEQUENCE, 0, "" }, header, sizeof(header));
	tconn_drop(&pair->tc, false, &fifo);
	assert_null(fifo_pop(&fifo));
	pair_gather_target(pair);
	assert_int_equal(pair->gather.bytes, 66 + pair->tc.control_len);
	tconn_sent(&pair->tc, pair->gather.bytes, &fifo);
	assert_int_equal(pair->tc.state, TCONN_ENDED);
	assert_int_equal(pair->slots[0].xfer.state, XFER_RECEIVING);
	assert_true(fifo_empty(&pair->tc.out));
	free(pair);
}

/* It has not gone out to its end when the host breaks a rule. */
static void
a_termreq_follows_the_end_of_an_icresp_that_had_begun(void **state)
{
	struct pdu_ic req = { .ch = { PDU_ICREQ, 0, sizeof(req), 0, le32_of(sizeof(req)) } };
	struct pair *pair = pair_create(23, false, false, false);
	const uint8_t *at = (const void *)&req;
	size_t left = sizeof(req);
	struct tconn_item item;
	struct fifo finished;
	const uint8_t *out;

	(void)state;
	fifo_init(&finished);
	assert_int_equal(tconn_next(&pair->tc, &at, &left, &item), TCONN_MORE);
	pair_gather_target(pair);
	assert_int_equal(pair->gather.bytes, sizeof(req));
	tconn_sent(&pair->tc, 100, &finished);
	tconn_fault(&pair->tc, (struct pdu_fault){ PDU_FES_SEQUENCE, 0, "" }, &req, 8);
	pair_gather_target(pair);
	assert_int_equal(pair->gather.bytes, sizeof(req) - 100 + PDU_TERM_HLEN + 8);
	out = pair->gather.iov[pair->gather.first].iov_base;
	assert_int_equal(out[0], 0);
	assert_int_equal(out[sizeof(req) - 100], PDU_C2H_TERM);
	tconn_sent(&pair->tc, pair->gather.bytes, &finished);
	assert_int_equal(pair->tc.state, TCONN_ENDED);
	free(pair);
}

static void
a_termreq_follows_the_end_of_an_icreq_that_had_begun(void **state)
{
	struct pdu_data early = { .ch = { PDU_R2T, 0, 24, 0, le32_of(24) } };
	struct pair *pair = pair_create(23, false, false, false);
	const uint8_t *at = (const void *)&early, *out;
	size_t left = sizeof(early);
	struct fifo done;
	struct hreq *req;

	(void)state;
	fifo_init(&done);
	pair_gather_host(pair);
	hconn_sent(&pair->hc, 100, &done);
	assert_int_equal(hconn_next(&pair->hc, &at, &left, &req), HCONN_CLOSING);
	pair_gather_host(pair);
	out = pair->gather.iov[pair->gather.first].iov_base;
	assert_int_equal(pair->gather.bytes, sizeof(struct pdu_ic) - 100 + PDU_TERM_HLEN + sizeof(early));
	assert_int_equal(out[sizeof(struct pdu_ic) - 100], PDU_H2C_TERM);
	hconn_sent(&pair->hc, pair->gather.bytes, &done);
	assert_int_equal(pair->hc.state, HCONN_ENDED);
	free(pair);
}

/* The target has let go of the command: what is sent for it now would be for nobody. */
static void
a_write_that_failed_sends_the_end_of_its_pdu_and_no_more(void **state)
{
	static uint8_t data[16384];
	struct pdu_capsule_resp resp = { .ch = { PDU_CAPSULE_RESP, 0, 24, 0, le32_of(24) } };
	struct pair *pair = pair_connected(29, false, false, false);
	struct iovec iov = { data, sizeof(data) };
	struct hreq req = { 0 }, *done = NULL;
	struct pdu_data r2ts[2];
	const uint8_t *at = (const void *)r2ts;
	size_t left = sizeof(r2ts);
	struct fifo finished;

	(void)state;
	fifo_init(&finished);
	pair_request(&req, NVME_WRITE, 0, &iov, 1, sizeof(data));
	assert_true(hconn_submit(&pair->hc, &req));
	pair_gather_host(pair);
	hconn_sent(&pair->hc, pair->gather.bytes, &finished);
	for (uint16_t i = 0; i < 2; i++)
		r2ts[i] = (struct pdu_data){
			.ch = { PDU_R2T, 0, 24, 0, le32_of(24) }, .cccid = le16_of(req.cid),
			.ttag = le16_of(i), .offset = le32_of(64u * i), .length = le32_of(64),
		};
	assert_int_equal(hconn_next(&pair->hc, &at, &left, &done), HCONN_MORE);
	pair_gather_host(pair);
	assert_int_equal(pair->gather.bytes, 24 + 64);
	hconn_sent(&pair->hc, 10, &finished);
	resp.cqe.cid = le16_of(req.cid);
	resp.cqe.status = nvme_status_put(nvme_status_of(NVME_SC_WRITE_FAULT, true));
	at = (const void *)&resp;
	left = sizeof(resp);
	assert_int_equal(hconn_next(&pair->hc, &at, &left, &done), HCONN_MORE);
	pair_gather_host(pair);
	assert_int_equal(pair->gather.bytes, 24 + 64 - 10);
	hconn_sent(&pair->hc, pair->gather.bytes, &finished);
	assert_ptr_equal(fifo_pop(&finished), &req.tx_node);
	assert_int_equal(nvme_sc(req.status), NVME_SC_WRITE_FAULT);
	assert_false(hconn_pending(&pair->hc));
	assert_int_equal(pair->hc.free_count, PAIR_DEPTH);
	free(pair);
}

/* ---- C2HData ---- */

/* Whose C2HData would be sent now, and where they begin, in order; no part of one is sent yet. */
static unsigned
line_of(struct pair *pair, uint16_t *cids, uint32_t *offsets, unsigned most)
{
	struct gather *g = &pair->gather;
	unsigned count = 0;

	pair_gather_target(pair);
	for (unsigned i = g->first; i < g->count; i += 2) {
		const struct pdu_data *pdu = g->iov[i].iov_base;

		assert_true(count < most && pdu->ch.type == PDU_C2H_DATA);
		cids[count] = le16_get(pdu->cccid);
		offsets[count++] = le32_get(pdu->offset);
	}
	return count;
}

static void
what_is_short_waits_for_one_piece_of_what_is_long(void **state)
{
	static const uint16_t order[] = { 0, 2, 0, 0, 1, 1, 1 };
	static const uint32_t piece[] = { 0, 0, 1, 2, 0, 1, 2 };
	struct pair *pair = pair_connected(17, false, false, false);
	struct iovec whole = { pair->volume, 3 * PAIR_PIECE }, little = { pair->volume, 4096 };
	uint32_t offsets[16];
	uint16_t cids[16];
	struct fifo finished;

	(void)state;
	fifo_init(&finished);
	pair_answer(pair, 0, &whole);
	pair_answer(pair, 1, &whole);
	pair_answer(pair, 2, &little);
	assert_int_equal(line_of(pair, cids, offsets, 16), 7);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(cids[i], order[i]);
		assert_int_equal(offsets[i], piece[i] * PAIR_PIECE);
	}
	/* The first piece, the short one, and a part of the second piece go; then another short one comes. */
	tconn_sent(&pair->tc, 24 + PAIR_PIECE + 24 + 4096 + 100, &finished);
	assert_ptr_equal(fifo_pop(&finished), &pair->slots[2].xfer.tx_node);
	assert_null(fifo_pop(&finished));
	pair_answer(pair, 3, &little);
	pair_gather_target(pair);
	assert_int_equal(pair->gather.bytes, 24 + PAIR_PIECE - 100 + 24 + 4096 + 4 * (24 + PAIR_PIECE));
	tconn_sent(&pair->tc, 24 + PAIR_PIECE - 100, &finished);
	assert_int_equal(line_of(pair, cids, offsets, 16), 5);
	assert_int_equal(cids[0], 3);
	assert_int_equal(cids[1], 0);
	assert_int_equal(offsets[1], 2 * PAIR_PIECE);
	tconn_sent(&pair->tc, pair->gather.bytes, &finished);
	assert_false(tconn_pending(&pair->tc));
	assert_null(pair->tc.long_one);
	free(pair);
}

/* It was gathered behind the pieces; a short answer passes between them.  SQHD must not go back (Base 2.0, 3.3.1.2). */
static void
the_last_piece_tells_the_queue_head_of_when_it_is_sent(void **state)
{
	struct pair *pair = pair_connected(41, false, false, true);
	struct xfer *lengthy = &pair->slots[0].xfer, *little = &pair->slots[1].xfer;
	struct iovec whole = { pair->volume, 3 * PAIR_PIECE }, block = { pair->volume, 4096 };
	struct fifo finished;
	uint16_t then;

	(void)state;
	fifo_init(&finished);
	pair_answer(pair, 0, &whole);
	pair_gather_target(pair);
	then = lengthy->sqhd;
	tconn_sent(&pair->tc, 100, &finished);
	pair->tc.sqhd++;
	pair_answer(pair, 1, &block);
	pair_gather_target(pair);
	assert_int_equal(little->sqhd, then + 1);
	assert_int_equal(lengthy->sqhd, then + 1);
	/* All but the last byte goes; what is behind it can only be a repetition. */
	tconn_sent(&pair->tc, pair->gather.bytes - 1, &finished);
	assert_ptr_equal(fifo_pop(&finished), &little->tx_node);
	pair->tc.sqhd++;
	pair_gather_target(pair);
	assert_int_equal(pair->gather.bytes, 1);
	assert_int_equal(lengthy->sqhd, then + 1);
	free(pair);
}

/* What of it was sent stays sent; and who gets a TermReq gets the end of the PDU before it, and no more. */
static void
an_answer_in_pieces_that_was_withdrawn_goes_on_where_it_was(void **state)
{
	struct pair *pair = pair_connected(19, false, false, false);
	struct iovec whole = { pair->volume, 3 * PAIR_PIECE };
	uint32_t offsets[16];
	uint16_t cids[16];
	struct fifo fifo;

	(void)state;
	fifo_init(&fifo);
	pair_answer(pair, 0, &whole);
	pair_answer(pair, 1, &whole);
	(void)line_of(pair, cids, offsets, 16);
	tconn_sent(&pair->tc, 24 + PAIR_PIECE, &fifo);
	pair_withdraw(pair, &fifo);
	assert_ptr_equal(fifo_pop(&fifo), &pair->slots[0].xfer.tx_node);
	assert_ptr_equal(fifo_pop(&fifo), &pair->slots[1].xfer.tx_node);
	assert_false(tconn_pending(&pair->tc));
	tconn_answer(&pair->tc, &pair->slots[1].xfer, NVME_OK, true);
	tconn_answer(&pair->tc, &pair->slots[0].xfer, NVME_OK, true);
	assert_int_equal(line_of(pair, cids, offsets, 16), 5);
	assert_int_equal(cids[3], 0);
	assert_int_equal(offsets[3], PAIR_PIECE);
	tconn_sent(&pair->tc, 100, &fifo);
	pair_withdraw(pair, &fifo);
	assert_ptr_equal(fifo_pop(&fifo), &pair->slots[0].xfer.tx_node);
	tconn_fault(&pair->tc, (struct pdu_fault){ PDU_FES_SEQUENCE, 0, "" }, cids, 8);
	pair_gather_target(pair);
	assert_int_equal(pair->gather.bytes, 24 + PAIR_PIECE - 100 + pair->tc.control_len);
	tconn_sent(&pair->tc, pair->gather.bytes, &fifo);
	assert_ptr_equal(fifo_pop(&fifo), &pair->slots[1].xfer.tx_node);
	assert_int_equal(pair->tc.state, TCONN_ENDED);
	free(pair);
}

/* It was computed when the answer was first gathered; what is read again may be other data. */
static void
the_digest_of_an_answer_that_was_withdrawn_is_that_of_the_data_sent(void **state)
{
	static const uint32_t sizes[] = { 4096, 3 * PAIR_PIECE };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct pair *pair = pair_connected(37, false, true, false);
		struct iovec iov = { pair->volume, sizes[i] };
		struct gather *g = &pair->gather;
		struct fifo fifo;

		fifo_init(&fifo);
		pair_answer(pair, 0, &iov);
		pair_gather_target(pair);
		pair_withdraw(pair, &fifo);
		assert_ptr_equal(fifo_pop(&fifo), &pair->slots[0].xfer.tx_node);
		pair->volume[100] ^= 1;
		tconn_answer(&pair->tc, &pair->slots[0].xfer, NVME_OK, true);
		pair_gather_target(pair);
		assert_int_equal(g->count - g->first, 3);
		assert_int_equal(get_le32(g->iov[g->count - 1].iov_base),
		    crc32c(0, pair->volume, sizes[i] < PAIR_PIECE ? sizes[i] : PAIR_PIECE));
		free(pair);
	}
}

static unsigned
length_of(struct fifo *fifo)
{
	unsigned length = 0;

	while (fifo_pop(fifo) != NULL)
		length++;
	return length;
}

/* Those that wait for the long one too, so that what they hold is let go of. */
static void
all_long_reads_are_dropped_but_the_one_that_is_under_way(void **state)
{
	(void)state;
	for (unsigned all = 0; all < 2; all++) {
		struct pair *pair = pair_connected(31, false, false, false);
		struct iovec whole = { pair->volume, 3 * PAIR_PIECE };
		uint32_t offsets[16];
		uint16_t cids[16];
		struct fifo fifo;

		fifo_init(&fifo);
		for (unsigned i = 0; i < 4; i++)
			pair_answer(pair, i, &whole);
		assert_int_equal(line_of(pair, cids, offsets, 16), 12);
		tconn_sent(&pair->tc, 24 + PAIR_PIECE + 1, &fifo);
		tconn_drop(&pair->tc, all, &fifo);
		assert_int_equal(length_of(&fifo), 3 + all);
		assert_null(pair->tc.long_one);
		assert_true(fifo_empty(&pair->tc.long_ones));
		assert_int_equal(tconn_pending(&pair->tc), !all);
		free(pair);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_r2t_may_be_answered_once_it_is_out_to_its_last_byte),
		cmocka_unit_test(an_r2t_that_is_answered_while_others_go_out_is_followed_by_one),
		cmocka_unit_test(an_r2t_that_follows_waits_for_what_was_gathered_before_it),
		cmocka_unit_test(a_termreq_follows_the_r2ts_that_had_begun),
		cmocka_unit_test(a_termreq_follows_the_end_of_an_icresp_that_had_begun),
		cmocka_unit_test(a_termreq_follows_the_end_of_an_icreq_that_had_begun),
		cmocka_unit_test(a_write_that_failed_sends_the_end_of_its_pdu_and_no_more),
		cmocka_unit_test(what_is_short_waits_for_one_piece_of_what_is_long),
		cmocka_unit_test(the_last_piece_tells_the_queue_head_of_when_it_is_sent),
		cmocka_unit_test(an_answer_in_pieces_that_was_withdrawn_goes_on_where_it_was),
		cmocka_unit_test(the_digest_of_an_answer_that_was_withdrawn_is_that_of_the_data_sent),
		cmocka_unit_test(all_long_reads_are_dropped_but_the_one_that_is_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
