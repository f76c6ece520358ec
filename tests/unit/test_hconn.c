/*
 * test_hconn.c - the host's side of a connection: its ids, its buffers, what it
 * sends when, and what is left of it at its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "hconn_bench.h"

static void
nothing_is_sent_between_icreq_and_icresp(void **state)
{
	struct hbench *b = hbench_create(0, HBENCH_DEPTH);
	struct pdu_ic resp = hbench_icresp(0);

	(void)state;
	hbench_send(b, 0);
	assert_int_equal(b->wire_len, sizeof(resp));
	assert_false(hbench_submit(b, HREQ_READ, 4096));
	assert_false(hconn_pending(&b->hc));
	assert_int_equal(hbench_hear(b, &resp, sizeof(resp) - 1), HCONN_MORE);
	assert_false(hbench_submit(b, HREQ_READ, 4096));
	assert_int_equal(hbench_hear(b, (uint8_t *)&resp + sizeof(resp) - 1, 1), HCONN_UP);
	assert_true(hbench_submit(b, HREQ_READ, 4096));
	free(b);
}

/* With and without digests: both kinds of data begin at a multiple of 128, behind zeros. */
static void
data_is_aligned_as_cpda_asks(void **state)
{
	(void)state;
	for (uint8_t dgst = 0; dgst < 4; dgst++) {
		struct hbench *b = hbench_create(dgst, HBENCH_DEPTH);
		struct pdu_ic resp = hbench_icresp(dgst);
		uint32_t tail = dgst & 2 ? 4 : 0;

		resp.pda = 31;
		hbench_send(b, 0);
		assert_int_equal(hbench_hear(b, &resp, sizeof(resp)), HCONN_UP);
		memset(b->data, 0xff, sizeof(b->data));
		assert_true(hbench_submit(b, HREQ_WRITE, 512));
		hbench_send(b, 0);
		assert_int_equal(b->wire[3], 128);
		assert_int_equal(b->wire_len, 128 + 512 + tail);
		assert_int_equal(b->wire[127], 0);
		assert_int_equal(b->wire[128], 0xff);
		(void)hconn_orphan(&b->hc);
		free(b);
		b = hbench_create(0, HBENCH_DEPTH);
		resp.dgst = 0;
		hbench_send(b, 0);
		assert_int_equal(hbench_hear(b, &resp, sizeof(resp)), HCONN_UP);
		memset(b->data, 0xff, sizeof(b->data));
		assert_true(hbench_submit(b, HREQ_WRITE, HBENCH_DATA));
		hbench_send(b, 0);
		assert_int_equal(b->wire[3], 0);
		assert_int_equal(hbench_r2t(b, 0, 512), HCONN_MORE);
		hbench_send(b, 0);
		assert_int_equal(b->wire[0], PDU_H2C_DATA);
		assert_int_equal(b->wire[3], 128);
		assert_int_equal(b->wire_len, 128 + 512);
		assert_int_equal(b->wire[128], 0xff);
		free(b);
	}
}

/* 512 bytes; and nothing, where a queue takes none.  What is in line is not changed by a limit that comes after it. */
static void
data_is_in_the_capsule_as_far_as_the_limit_goes(void **state)
{
	static const struct { uint32_t limit, length; bool inside; } cases[] = {
		{ 512, 4, true }, { 512, 512, true }, { 512, 513, false }, { 0, 1, false }, { 0, 512, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hbench *b = hbench_open(0);
		const struct pdu_capsule_cmd *cmd = (const void *)b->wire;

		b->hc.options.incapsule_max = cases[i].limit;
		assert_true(hbench_submit(b, HREQ_WRITE, cases[i].length));
		b->hc.options.incapsule_max = 512 - cases[i].limit;
		hbench_send(b, 0);
		assert_int_equal(b->wire_len, sizeof(*cmd) + (cases[i].inside ? cases[i].length : 0));
		assert_int_equal(cmd->ch.pdo, cases[i].inside ? sizeof(*cmd) : 0);
		assert_int_equal(cmd->sqe.sgl1.id, cases[i].inside ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT);
		assert_int_equal(le32_get(cmd->sqe.sgl1.length), cases[i].length);
		free(b);
	}
}

/* Each id of a queue differs from the one before it in the same place, and none is FFFFh. */
static void
ids_come_back_late(void **state)
{
	static const uint32_t depths[] = { 1, 2, 3, 4 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct hbench *b = hbench_create(0, depths[i]);
		struct pdu_ic resp = hbench_icresp(0);
		uint16_t first;

		hbench_send(b, 0);
		assert_int_equal(hbench_hear(b, &resp, sizeof(resp)), HCONN_UP);
		assert_true(hbench_submit(b, HREQ_NONE, 0));
		first = b->req.cid;
		for (unsigned n = 1; n < 20000; n++) {
			hbench_send(b, 0);
			assert_int_equal(hbench_response(b, b->req.cid, NVME_SC_SUCCESS), HCONN_DONE);
			assert_true(hbench_submit(b, HREQ_NONE, 0));
			assert_int_not_equal(b->req.cid, UINT16_MAX);
			assert_int_equal(b->req.cid == first, n % (65536 / (b->hc.cid_mask + 1u)) == 0);
		}
		free(b);
	}
}

/* A C2HData whose data digest is wrong; `cut` bytes of it come first. */
static void
hear_bad_digest(struct hbench *b, uint8_t flags, size_t cut)
{
	static uint8_t pdu[24 + 4096 + 4];
	struct pdu_data head = hbench_pdu(PDU_C2H_DATA, (uint8_t)(flags | PDU_DDGST), &b->req, 0, 4096);

	head.ch.plen = le32_of(sizeof(pdu));
	memcpy(pdu, &head, sizeof(head));
	put_le32(pdu + 24 + 4096, crc32c(0, pdu + 24, 4096) ^ 1);
	assert_int_equal(hbench_hear(b, pdu, cut), HCONN_MORE);
	assert_int_equal(hbench_hear(b, pdu + cut, sizeof(pdu) - cut), flags & PDU_SUCCESS ? HCONN_DONE : HCONN_MORE);
}

static void
a_wrong_data_digest_fails_the_read_and_not_the_connection(void **state)
{
	static const size_t cuts[] = { 0, 7, 24, 2000, 24 + 4096, 24 + 4096 + 3 };

	(void)state;
	for (unsigned i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct hbench *b = hbench_open(2);

		for (unsigned n = 0; n < 2; n++) {
			assert_true(hbench_submit(b, HREQ_READ, 4096));
			hbench_send(b, 0);
			hear_bad_digest(b, n == 0 ? PDU_LAST | PDU_SUCCESS : PDU_LAST, cuts[i]);
			if (n == 1)
				assert_int_equal(hbench_response(b, b->req.cid, NVME_SC_SUCCESS), HCONN_DONE);
			assert_int_equal(nvme_sc(b->req.status), NVME_SC_TRANSIENT_TRANSPORT);
			assert_false(b->req.status.dnr);
			assert_int_equal(b->hc.state, HCONN_OPEN);
		}
		free(b);
	}
}

/* Pieces of a buffer may be empty, wherever they are. */
static void
empty_pieces_of_a_buffer_take_nothing(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < 24 + 4096; cut += 95) {
		struct hbench *b = hbench_open(0);
		struct iovec iov[6] = {
			{ NULL, 0 }, { b->data, 2048 }, { NULL, 0 }, { NULL, 0 }, { b->data + 2048, 2048 }, { NULL, 0 },
		};
		uint8_t pdu[24 + 4096];
		struct pdu_data head;

		b->req.data = HREQ_READ;
		b->req.length = 4096;
		b->req.iov = iov;
		b->req.iov_count = 6;
		assert_true(hconn_submit(&b->hc, &b->req));
		hbench_send(b, 0);
		memset(pdu, 0x5a, sizeof(pdu));
		head = hbench_pdu(PDU_C2H_DATA, PDU_LAST | PDU_SUCCESS, &b->req, 0, 4096);
		memcpy(pdu, &head, sizeof(head));
		assert_int_equal(hbench_hear(b, pdu, cut), HCONN_MORE);
		assert_int_equal(hbench_hear(b, pdu + cut, sizeof(pdu) - cut), HCONN_DONE);
		assert_memory_equal(b->data, pdu + 24, 4096);
		assert_int_equal(b->data[4096], 0);
		free(b);
	}
}

/* It stays the owner's decision when that is; but nothing is written to it from then on. */
static void
an_orphan_is_filled_no_more(void **state)
{
	struct hbench *b = hbench_with(HREQ_READ, HBENCH_DATA);
	static uint8_t pdu[24 + HBENCH_DATA];
	struct pdu_data head = hbench_pdu(PDU_C2H_DATA, PDU_LAST, &b->req, 0, HBENCH_DATA);
	struct iovec iov[4];

	(void)state;
	memset(pdu, 0x5a, sizeof(pdu));
	memcpy(pdu, &head, sizeof(head));
	assert_int_equal(hbench_hear(b, pdu, 24 + 100), HCONN_MORE);
	assert_int_equal(framer_direct(&b->hc.framer, iov, 4), 1);
	assert_ptr_equal(hconn_orphan(&b->hc), &b->req);
	assert_int_equal(framer_direct(&b->hc.framer, iov, 4), 0);
	assert_int_equal(hbench_hear(b, pdu + 124, HBENCH_DATA - 100), HCONN_CLOSING);
	assert_int_equal(b->data[99], 0x5a);
	assert_int_equal(b->data[100], 0);
	assert_null(hconn_orphan(&b->hc));
	assert_false(hbench_submit(b, HREQ_READ, 4096));
	free(b);
}

/* It is another connection's turn to fill the same gather, which has room for nothing more. */
static void
a_full_gather_takes_nothing(void **state)
{
	struct hbench *b = hbench_open(0);
	struct gather *g = &b->gather;

	(void)state;
	assert_true(hbench_submit(b, HREQ_WRITE, 512));
	hbench_send(b, 10);
	gather_reset(g);
	g->count = GATHER_IOV - 2;
	hconn_gather(&b->hc, g);
	assert_int_equal(g->bytes, 0);
	assert_int_equal(g->count, GATHER_IOV - 2);
	hbench_send(b, 0);
	assert_int_equal(b->wire_len, 72 + 512 - 10);
	free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_sent_between_icreq_and_icresp),
		cmocka_unit_test(data_is_aligned_as_cpda_asks),
		cmocka_unit_test(data_is_in_the_capsule_as_far_as_the_limit_goes),
		cmocka_unit_test(ids_come_back_late),
		cmocka_unit_test(a_wrong_data_digest_fails_the_read_and_not_the_connection),
		cmocka_unit_test(empty_pieces_of_a_buffer_take_nothing),
		cmocka_unit_test(an_orphan_is_filled_no_more),
		cmocka_unit_test(a_full_gather_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
