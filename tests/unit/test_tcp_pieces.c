/*
 * test_tcp_pieces.c - answers to long reads: in which order their pieces go, and what passes between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tcp_pair.h"

static struct pair *
connected(uint64_t seed)
{
	const struct hconn_options options = { .incapsule_max = 8192, .data_max = PAIR_DATA };
	struct pair *pair = pair_create(seed, &options, false);

	pair_run(pair);
	assert_true(pair->up);
	return pair;
}

static bool
pick_any(const struct xfer *xfer, void *arg)
{
	(void)xfer;
	(void)arg;
	return true;
}

static void
answered(struct pair *pair, unsigned slot, struct iovec *iov)
{
	struct nvme_sqe sqe = { .opcode = NVME_READ, .cid = le16_of((uint16_t)slot) };
	struct xfer *xfer = &pair->slots[slot].xfer;

	tconn_hold(&pair->tc, xfer, &sqe);
	xfer->iov = iov;
	xfer->iov_count = 1;
	xfer->length = (uint32_t)iov->iov_len;
	tconn_answer(&pair->tc, xfer, NVME_OK, true);
}

/* Whose C2HData would be sent now, and where they begin, in order; no part of one is sent yet. */
static unsigned
line_of(struct pair *pair, uint16_t *cids, uint32_t *offsets, unsigned most)
{
	struct gather *g = &pair->gather;
	unsigned count = 0;

	gather_reset(g);
	tconn_gather(&pair->tc, g);
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
	struct pair *pair = connected(17);
	struct iovec whole = { pair->volume, 3 * PAIR_PIECE }, little = { pair->volume, 4096 };
	uint32_t offsets[16];
	uint16_t cids[16];
	struct fifo finished;

	(void)state;
	fifo_init(&finished);
	answered(pair, 0, &whole);
	answered(pair, 1, &whole);
	answered(pair, 2, &little);
	assert_int_equal(line_of(pair, cids, offsets, 16), 7);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(cids[i], order[i]);
		assert_int_equal(offsets[i], piece[i] * PAIR_PIECE);
	}
	/* The first piece, the short one, and a part of the second piece go; then another short one comes. */
	tconn_sent(&pair->tc, 24 + PAIR_PIECE + 24 + 4096 + 100, &finished);
	assert_ptr_equal(fifo_pop(&finished), &pair->slots[2].xfer.tx_node);
	assert_null(fifo_pop(&finished));
	answered(pair, 3, &little);
	gather_reset(&pair->gather);
	tconn_gather(&pair->tc, &pair->gather);
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

/* What of it was sent stays sent; and who gets a TermReq gets the end of the PDU before it, and no more. */
static void
an_answer_in_pieces_that_was_withdrawn_goes_on_where_it_was(void **state)
{
	struct pair *pair = connected(19);
	struct iovec whole = { pair->volume, 3 * PAIR_PIECE };
	uint32_t offsets[16];
	uint16_t cids[16];
	struct fifo fifo;

	(void)state;
	fifo_init(&fifo);
	answered(pair, 0, &whole);
	answered(pair, 1, &whole);
	(void)line_of(pair, cids, offsets, 16);
	tconn_sent(&pair->tc, 24 + PAIR_PIECE, &fifo);
	tconn_withdraw(&pair->tc, pick_any, NULL, &fifo);
	assert_ptr_equal(fifo_pop(&fifo), &pair->slots[0].xfer.tx_node);
	assert_ptr_equal(fifo_pop(&fifo), &pair->slots[1].xfer.tx_node);
	assert_false(tconn_pending(&pair->tc));
	tconn_answer(&pair->tc, &pair->slots[1].xfer, NVME_OK, true);
	tconn_answer(&pair->tc, &pair->slots[0].xfer, NVME_OK, true);
	assert_int_equal(line_of(pair, cids, offsets, 16), 5);
	assert_int_equal(cids[3], 0);
	assert_int_equal(offsets[3], PAIR_PIECE);
	tconn_sent(&pair->tc, 100, &fifo);
	tconn_withdraw(&pair->tc, pick_any, NULL, &fifo);
	assert_ptr_equal(fifo_pop(&fifo), &pair->slots[0].xfer.tx_node);
	tconn_fault(&pair->tc, (struct pdu_fault){ PDU_FES_SEQUENCE, 0, "" }, cids, 8);
	gather_reset(&pair->gather);
	tconn_gather(&pair->tc, &pair->gather);
	assert_int_equal(pair->gather.bytes, 24 + PAIR_PIECE - 100 + pair->tc.control_len);
	tconn_sent(&pair->tc, pair->gather.bytes, &fifo);
	assert_ptr_equal(fifo_pop(&fifo), &pair->slots[1].xfer.tx_node);
	assert_int_equal(pair->tc.state, TCONN_ENDED);
	free(pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_short_waits_for_one_piece_of_what_is_long),
		cmocka_unit_test(an_answer_in_pieces_that_was_withdrawn_goes_on_where_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
