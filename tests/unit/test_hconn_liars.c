/*
 * test_hconn_liars.c - the host's side of a connection against targets that lie.
 *
 * Each lie is told to a host with one command in flight; what it has to say to
 * that stands in the TermReq that it sends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hconn_bench.h"

/* The host ended the connection for this reason, says so, and then nothing; its command is orphaned once. */
static void
ends(struct hbench *b, uint16_t fes, uint32_t fei, const char *why)
{
	const struct pdu_term *term = (const void *)b->wire;
	struct hreq *orphan;

	assert_string_equal(b->hc.fault.why, why);
	assert_int_equal(b->hc.fault.fes, fes);
	assert_int_equal(b->hc.fault.fei, fei);
	assert_int_equal(b->hc.state, HCONN_TERMINATING);
	assert_int_equal(hbench_hear(b, b->data, 100), HCONN_CLOSING);
	assert_true(hconn_pending(&b->hc));
	hbench_send(b, 0);
	assert_int_equal(b->wire_len, le32_get(term->ch.plen));
	assert_int_equal(term->ch.type, PDU_H2C_TERM);
	assert_int_equal(le16_get(term->fes), fes);
	assert_int_equal(get_le32(term->fei), fei);
	assert_int_equal(b->hc.state, HCONN_ENDED);
	assert_false(hconn_pending(&b->hc));
	orphan = hconn_orphan(&b->hc);
	assert_true(orphan == NULL || orphan == &b->req);
	assert_null(hconn_orphan(&b->hc));
	free(b);
}

/* ---- success that cannot be ---- */

static void
a_write_is_not_done_before_its_data_was_sent(void **state)
{
	static const size_t out[] = { 0, 10, 24 + 8192 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct hbench *b = hbench_with(HREQ_WRITE, HBENCH_DATA);

		assert_int_equal(hbench_r2t(b, 0, HBENCH_DATA), HCONN_MORE);
		if (out[i] > 0)
			hbench_send(b, out[i]);
		assert_int_equal(hbench_response(b, b->req.cid, NVME_SC_SUCCESS), HCONN_CLOSING);
		assert_int_equal(b->hc.fault.fes, PDU_FES_SEQUENCE);
		assert_string_equal(b->hc.fault.why, "success of a write whose data was not sent to its end");
		hbench_send(b, 0);
		/* What had begun is ended, and the TermReq is behind it. */
		assert_int_equal(b->wire_len, (out[i] == 10 ? 24 + 8192 - 10 : 0) + PDU_TERM_HLEN + 24);
		assert_int_equal(b->wire[b->wire_len - PDU_TERM_HLEN - 24], PDU_H2C_TERM);
		assert_ptr_equal(hconn_orphan(&b->hc), &b->req);
		assert_false(b->req.answered);
		free(b);
	}
}

static void
a_write_may_fail_before_its_data_was_sent(void **state)
{
	struct hbench *b = hbench_with(HREQ_WRITE, HBENCH_DATA);

	(void)state;
	assert_int_equal(hbench_r2t(b, 0, HBENCH_DATA), HCONN_MORE);
	assert_int_equal(hbench_response(b, b->req.cid, NVME_SC_WRITE_FAULT), HCONN_MORE);
	hbench_send(b, 0);
	assert_ptr_equal(fifo_pop(&b->done), &b->req.tx_node);
	assert_int_equal(nvme_sc(b->req.status), NVME_SC_WRITE_FAULT);
	free(b);
}

static void
success_needs_all_data(void **state)
{
	struct hbench *b = hbench_with(HREQ_READ, HBENCH_DATA);

	(void)state;
	assert_int_equal(hbench_data(b, 0, 0, 4096), HCONN_MORE);
	assert_int_equal(hbench_response(b, b->req.cid, NVME_SC_SUCCESS), HCONN_CLOSING);
	ends(b, PDU_FES_SEQUENCE, 0, "success of a read without all its data");
	b = hbench_with(HREQ_WRITE, HBENCH_DATA);
	assert_int_equal(hbench_response(b, b->req.cid, NVME_SC_SUCCESS), HCONN_CLOSING);
	ends(b, PDU_FES_SEQUENCE, 0, "success of a write whose data was not asked for");
}

/* ---- answers to nothing ---- */

/* Its place is another command's when the second completion comes, and that was sent. */
static void
a_completion_that_comes_twice_is_that_of_no_command(void **state)
{
	struct hbench *b = hbench_with(HREQ_WRITE, 512);
	uint16_t cid = b->req.cid;

	(void)state;
	assert_int_equal(hbench_response(b, cid, NVME_SC_SUCCESS), HCONN_DONE);
	assert_int_equal(b->req.state, HREQ_IDLE);
	assert_true(hbench_submit(b, HREQ_WRITE, 512));
	assert_int_not_equal(b->req.cid, cid);
	hbench_send(b, 0);
	assert_int_equal(hbench_response(b, cid, NVME_SC_SUCCESS), HCONN_CLOSING);
	assert_int_equal(b->req.state, HREQ_WAITING);
	ends(b, PDU_FES_HEADER_FIELD, 20, "a completion of no command");
}

static void
a_read_that_is_done_takes_no_more_data(void **state)
{
	struct hbench *b = hbench_with(HREQ_READ, 4096);

	(void)state;
	assert_int_equal(hbench_data(b, PDU_LAST | PDU_SUCCESS, 0, 4096), HCONN_DONE);
	memset(b->data, 0x11, sizeof(b->data));
	assert_int_equal(hbench_data(b, PDU_LAST | PDU_SUCCESS, 0, 4096), HCONN_CLOSING);
	assert_int_equal(b->data[0], 0x11);
	ends(b, PDU_FES_HEADER_FIELD, 8, "C2HData for no command");
}

/* All data is there, and the completion is not. */
static void
a_read_takes_its_data_once(void **state)
{
	struct hbench *b = hbench_with(HREQ_READ, 4096);

	(void)state;
	assert_int_equal(hbench_data(b, PDU_LAST, 0, 4096), HCONN_MORE);
	memset(b->data, 0x11, sizeof(b->data));
	assert_int_equal(hbench_data(b, PDU_LAST, 0, 4096), HCONN_CLOSING);
	assert_int_equal(b->data[0], 0x11);
	ends(b, PDU_FES_SEQUENCE, 0, "C2HData where none can follow");
}

static void
what_is_not_sent_to_its_end_is_not_answered(void **state)
{
	struct hbench *b = hbench_open(0);

	(void)state;
	assert_true(hbench_submit(b, HREQ_WRITE, 512));
	hbench_send(b, 72 + 511);
	assert_int_equal(hbench_response(b, b->req.cid, NVME_SC_SUCCESS), HCONN_CLOSING);
	assert_string_equal(b->hc.fault.why, "a completion of no command");
	free(b);
}

/* A failed write asks for nothing any more, though the end of its PDU is still going out. */
static void
an_r2t_after_the_completion_is_for_no_command(void **state)
{
	struct hbench *b = hbench_with(HREQ_WRITE, HBENCH_DATA);

	(void)state;
	assert_int_equal(hbench_r2t(b, 0, 4096), HCONN_MORE);
	hbench_send(b, 10);
	assert_int_equal(hbench_response(b, b->req.cid, NVME_SC_WRITE_FAULT), HCONN_MORE);
	assert_int_equal(hbench_r2t(b, 4096, 4096), HCONN_CLOSING);
	assert_string_equal(b->hc.fault.why, "R2T for no command");
	hbench_send(b, 0);
	assert_ptr_equal(fifo_pop(&b->done), &b->req.tx_node);
	assert_null(hconn_orphan(&b->hc));
	free(b);
}

/* ---- headers ---- */

static void
last_pdu_is_on_the_last_c2hdata_alone(void **state)
{
	struct hbench *b = hbench_with(HREQ_READ, HBENCH_DATA);

	(void)state;
	assert_int_equal(hbench_data(b, PDU_LAST, 0, 4096), HCONN_CLOSING);
	ends(b, PDU_FES_SEQUENCE, 0, "LAST_PDU of C2HData comes early, or is missing");
	b = hbench_with(HREQ_READ, 4096);
	assert_int_equal(hbench_data(b, 0, 0, 4096), HCONN_CLOSING);
	ends(b, PDU_FES_SEQUENCE, 0, "LAST_PDU of C2HData comes early, or is missing");
}

static void
offsets_do_not_wrap(void **state)
{
	static const struct { uint32_t offset, length; } lies[] = {
		{ 4096, 4096 }, { UINT32_MAX, 1 }, { UINT32_MAX - 4095, 4096 }, { 0, HBENCH_DATA / 2 + 4 },
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct hbench *b = hbench_with(HREQ_READ, HBENCH_DATA / 2);

		assert_int_equal(hbench_data(b, 0, lies[i].offset, lies[i].length), HCONN_CLOSING);
		ends(b, PDU_FES_OUT_OF_RANGE, 0, "C2HData outside what is read");
		b = hbench_with(HREQ_WRITE, HBENCH_DATA / 2);
		assert_int_equal(hbench_r2t(b, lies[i].offset, lies[i].length), HCONN_CLOSING);
		ends(b, PDU_FES_OUT_OF_RANGE, 0, "R2T outside what is written next");
	}
}

/* ICResp is not among them: digests begin behind it. */
static void
a_wrong_header_digest_of_each_type_ends_the_connection(void **state)
{
	static const uint8_t types[] = { PDU_CAPSULE_RESP, PDU_C2H_DATA, PDU_R2T };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct hbench *b = hbench_open(1);
		uint8_t pdu[28 + 512] = { 0 };
		struct pdu_data head;
		size_t len, cut = i % 2 == 0 ? 0 : 27; /* in one piece, and in two */

		assert_true(hbench_submit(b, types[i / 2] == PDU_R2T ? HREQ_WRITE : HREQ_READ, 4096));
		hbench_send(b, 0);
		head = hbench_pdu(types[i / 2], PDU_HDGST, &b->req, 0, 512);
		len = types[i / 2] == PDU_C2H_DATA ? 28 + 512 : 28;
		head.ch.pdo = len > 28 ? 28 : 0;
		head.ch.plen = le32_of((uint32_t)len);
		memcpy(pdu, &head, sizeof(head));
		put_le32(pdu + 24, 0xdeadbeef);
		assert_int_equal(hbench_hear(b, pdu, cut), HCONN_MORE);
		assert_int_equal(hbench_hear(b, pdu + cut, len - cut), HCONN_CLOSING);
		ends(b, PDU_FES_HEADER_DIGEST, 0xdeadbeef, "header digest is wrong");
	}
}

/* ---- the handshake ---- */

static void
an_icresp_before_the_icreq_was_sent_is_no_answer(void **state)
{
	static const size_t out[] = { 0, 100 };
	struct pdu_ic resp = hbench_icresp(0);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct hbench *b = hbench_create(0, HBENCH_DEPTH);

		if (out[i] > 0)
			hbench_send(b, out[i]);
		assert_int_equal(hbench_hear(b, &resp, sizeof(resp)), HCONN_CLOSING);
		assert_string_equal(b->hc.fault.why, "ICResp before ICReq was sent");
		hbench_send(b, 0);
		assert_int_equal(b->wire_len, (out[i] > 0 ? 128 - out[i] : 0) + PDU_TERM_HLEN + 128);
		free(b);
	}
}

static void
of_two_wrong_fields_of_icresp_the_lower_is_named(void **state)
{
	struct pdu_ic resp = hbench_icresp(3);
	struct hbench *b = hbench_create(0, HBENCH_DEPTH);

	(void)state;
	hbench_send(b, 0);
	resp.limit = le32_of(4092);
	assert_int_equal(hbench_hear(b, &resp, sizeof(resp)), HCONN_CLOSING);
	ends(b, PDU_FES_HEADER_FIELD, 11, "digests other than asked for");
	b = hbench_create(0, HBENCH_DEPTH);
	hbench_send(b, 0);
	resp.pda = 32;
	assert_int_equal(hbench_hear(b, &resp, sizeof(resp)), HCONN_CLOSING);
	ends(b, PDU_FES_HEADER_FIELD, 10, "data alignment above 128 bytes");
}

/* ---- TermReqs of the target ---- */

static void
a_termreq_of_the_target_is_told_in_words_and_not_answered(void **state)
{
	static const char *const words[] = {
		"the target ended the connection by a TermReq whose reason has no name",
		"the target says: invalid PDU header field", "the target says: PDU sequence error",
		"the target says: header digest error", "the target says: data transfer out of range",
		"the target says: data transfer limit exceeded", "the target says: unsupported parameter",
		"the target ended the connection by a TermReq whose reason has no name",
	};

	(void)state;
	for (uint16_t fes = 0; fes < 8; fes++) {
		struct hbench *b = hbench_with(HREQ_WRITE, HBENCH_DATA);
		struct pdu_term term = {
			.ch = { PDU_C2H_TERM, 0, 24, 0, le32_of(24) }, .fes = le16_of(fes),
			.fei = { 0x78, 0x56, 0x34, 0x12 },
		};

		assert_int_equal(hbench_r2t(b, 0, 4096), HCONN_MORE);
		hbench_send(b, 10);
		assert_int_equal(hbench_hear(b, &term, sizeof(term)), HCONN_CLOSING);
		assert_string_equal(b->hc.fault.why, words[fes]);
		assert_int_equal(b->hc.fault.fes, fes);
		assert_int_equal(b->hc.fault.fei, 0x12345678);
		assert_int_equal(b->hc.state, HCONN_ENDED);
		assert_false(hconn_pending(&b->hc));
		assert_ptr_equal(hconn_orphan(&b->hc), &b->req);
		free(b);
	}
}

static void
a_termreq_of_the_target_that_is_wrong_itself_is_not_answered(void **state)
{
	static const uint32_t plens[] = { 23, 24 + 129, UINT32_MAX };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct hbench *b = hbench_with(HREQ_READ, 4096);
		struct pdu_term term = { .ch = { PDU_C2H_TERM, 0, 24, 0, le32_of(plens[i]) } };

		assert_int_equal(hbench_hear(b, &term, sizeof(term)), HCONN_CLOSING);
		assert_string_equal(b->hc.fault.why,
		    "the target ended the connection by a TermReq that is wrong itself");
		assert_false(hconn_pending(&b->hc));
		free(b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_is_not_done_before_its_data_was_sent),
		cmocka_unit_test(a_write_may_fail_before_its_data_was_sent),
		cmocka_unit_test(success_needs_all_data),
		cmocka_unit_test(a_completion_that_comes_twice_is_that_of_no_command),
		cmocka_unit_test(a_read_that_is_done_takes_no_more_data),
		cmocka_unit_test(a_read_takes_its_data_once),
		cmocka_unit_test(what_is_not_sent_to_its_end_is_not_answered),
		cmocka_unit_test(an_r2t_after_the_completion_is_for_no_command),
		cmocka_unit_test(last_pdu_is_on_the_last_c2hdata_alone),
		cmocka_unit_test(offsets_do_not_wrap),
		cmocka_unit_test(a_wrong_header_digest_of_each_type_ends_the_connection),
		cmocka_unit_test(an_icresp_before_the_icreq_was_sent_is_no_answer),
		cmocka_unit_test(of_two_wrong_fields_of_icresp_the_lower_is_named),
		cmocka_unit_test(a_termreq_of_the_target_is_told_in_words_and_not_answered),
		cmocka_unit_test(a_termreq_of_the_target_that_is_wrong_itself_is_not_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
