/*
 * test_tcp.c - both sides of a connection against each other, and each against
 * a peer that lies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "tcp_pair.h"

enum { SEEDS = 60, ROUNDS = 8 };

/* ---- data arrives whole whatever the wire does ---- */

struct job {
	struct hreq req;
	struct iovec iov[2];
	uint8_t *data;
	uint32_t offset;
	bool done;
};

static void
job_done(struct pair *pair, struct hreq *req)
{
	(void)pair;
	assert_true(nvme_ok(req->status));
	container_of(req, struct job, req)->done = true;
}

static void
job_start(struct pair *pair, struct job *job, unsigned index, uint8_t opcode)
{
	static const uint32_t sizes[] = { 512, 4096, 8192, 8196, 65536, 131072, PAIR_DATA };
	uint32_t length = sizes[rng_below(&pair->rng, sizeof(sizes) / sizeof(sizes[0]))];
	uint32_t split = (uint32_t)rng_below(&pair->rng, length);

	job->offset = index * PAIR_DATA;
	job->iov[0] = (struct iovec){ job->data, split };
	job->iov[1] = (struct iovec){ job->data + split, length - split };
	job->done = false;
	for (uint32_t i = 0; opcode == NVME_WRITE && i < length; i++)
		job->data[i] = (uint8_t)rng_next(&pair->rng);
	pair_request(&job->req, opcode, job->offset, job->iov + (split == 0), 2 - (split == 0), length);
	assert_true(hconn_submit(&pair->hc, &job->req));
}

static void
load(uint64_t seed, bool hdgst, bool ddgst, bool sq_flow)
{
	struct pair *pair = pair_connected(seed, hdgst, ddgst, sq_flow);
	struct job jobs[4] = { 0 };

	pair->completed = job_done;
	pair->segment_max = (uint32_t)(1 + rng_below(&pair->rng, 20000));
	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < 4; i++) {
			jobs[i].data = jobs[i].data != NULL ? jobs[i].data : calloc(1, PAIR_DATA);
			job_start(pair, &jobs[i], i, round % 2 == 0 ? NVME_WRITE : NVME_READ);
		}
		pair_run(pair);
		for (unsigned i = 0; i < 4; i++) {
			assert_true(jobs[i].done);
			assert_memory_equal(jobs[i].data, pair->volume + jobs[i].offset, jobs[i].req.length);
		}
	}
	assert_false(pair->host_closing || pair->target_closing);
	assert_int_equal(pair->hc.free_count, PAIR_DEPTH);
	for (unsigned i = 0; i < 4; i++)
		free(jobs[i].data);
	free(pair);
}

static void
reads_and_writes_survive_any_segmentation(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		load(seed, seed & 1, seed & 2, seed & 4);
}

static void
one_byte_at_a_time_is_enough(void **state)
{
	struct pair *pair = pair_connected(7, true, true, true);
	uint8_t data[20000], back[20000];
	struct iovec out = { data, sizeof(data) }, in = { back, sizeof(back) };
	struct hreq write = { 0 }, read = { 0 };

	(void)state;
	pair->segment_max = 1;
	memset(data, 0x5a, sizeof(data));
	pair_request(&write, NVME_WRITE, 100, &out, 1, sizeof(data));
	assert_true(hconn_submit(&pair->hc, &write));
	pair_run(pair);
	pair_request(&read, NVME_READ, 100, &in, 1, sizeof(back));
	assert_true(hconn_submit(&pair->hc, &read));
	pair_run(pair);
	assert_memory_equal(data, back, sizeof(data));
	free(pair);
}

/* ---- flow control and the SUCCESS flag ---- */

static uint8_t
flags_of_a_read(bool sq_flow)
{
	struct pair *pair = pair_connected(1, false, false, sq_flow);
	uint8_t data[512], flags;
	struct iovec iov = { data, sizeof(data) };
	struct hreq req = { 0 };
	size_t start;

	pair_request(&req, NVME_READ, 0, &iov, 1, sizeof(data));
	assert_true(hconn_submit(&pair->hc, &req));
	pair->to_host.head = pair->to_host.tail = start = 0;
	pair_run(pair);
	flags = pair->to_host.bytes[start + 1];
	free(pair);
	return flags;
}

static void
success_replaces_the_completion_only_without_flow_control(void **state)
{
	(void)state;
	assert_int_equal(flags_of_a_read(false), PDU_LAST | PDU_SUCCESS);
	assert_int_equal(flags_of_a_read(true), PDU_LAST);
}

static struct nvme_status
refuse_all(struct pair *pair, const struct nvme_sqe *sqe)
{
	(void)pair;
	(void)sqe;
	return nvme_status_of(NVME_SC_LBA_RANGE, true);
}

static void
a_failing_command_brings_its_status_and_no_data(void **state)
{
	struct pair *pair = pair_connected(3, true, true, false);
	uint8_t data[4096] = { 1, 2, 3 };
	struct iovec iov = { data, sizeof(data) };
	struct hreq req = { 0 };

	(void)state;
	pair->verdict = refuse_all;
	pair_request(&req, NVME_READ, 0, &iov, 1, sizeof(data));
	assert_true(hconn_submit(&pair->hc, &req));
	pair_run(pair);
	assert_int_equal(nvme_sc(req.status), NVME_SC_LBA_RANGE);
	assert_true(req.status.dnr);
	assert_int_equal(data[1], 2);
	free(pair);
}

static void
a_wrong_data_digest_fails_one_command_and_spares_the_connection(void **state)
{
	struct pair *pair = pair_connected(5, false, true, false);
	uint8_t data[4096] = { 0 };
	struct iovec iov = { data, sizeof(data) };
	struct hreq req = { 0 };
	struct fifo done;

	(void)state;
	fifo_init(&done);
	pair_request(&req, NVME_WRITE, 0, &iov, 1, sizeof(data));
	assert_true(hconn_submit(&pair->hc, &req));
	pair_gather_host(pair);
	for (unsigned i = 0; i < pair->gather.count; i++) {
		memcpy(pair->to_target.bytes + pair->to_target.tail, pair->gather.iov[i].iov_base,
		    pair->gather.iov[i].iov_len);
		pair->to_target.tail += pair->gather.iov[i].iov_len;
	}
	hconn_sent(&pair->hc, pair->gather.bytes, &done);
	pair->to_target.bytes[1000] ^= 1;
	memset(pair->volume, 0xee, 4096);
	pair_run(pair);
	assert_int_equal(nvme_sc(req.status), NVME_SC_TRANSIENT_TRANSPORT);
	assert_int_equal(pair->volume[0], 0xee);
	assert_false(pair->target_closing);
	free(pair);
}

/* Others may be answered before it: SQHD must not go back (Base 2.0, 3.3.1.2). */
static void
an_answer_that_was_withdrawn_tells_the_queue_head_of_when_it_is_sent(void **state)
{
	struct pair *pair = pair_connected(13, false, false, true);
	struct xfer *xfer = &pair->slots[0].xfer;
	struct iovec iov = { pair->volume, 4096 };
	struct fifo withdrawn;
	uint16_t then;

	(void)state;
	fifo_init(&withdrawn);
	pair_answer(pair, 0, &iov);
	pair_gather_target(pair);
	then = xfer->sqhd;
	pair_withdraw(pair, &withdrawn);
	assert_ptr_equal(fifo_pop(&withdrawn), &xfer->tx_node);
	pair->tc.sqhd++;
	tconn_answer(&pair->tc, xfer, NVME_OK, true);
	pair_gather_target(pair);
	assert_int_equal(xfer->sqhd, then + 1);
	free(pair);
}

/* ---- peers that break the rules ---- */

/* What the target says to these bytes after a handshake. */
static struct pdu_fault
target_says(const void *bytes, size_t len)
{
	struct pair *pair = pair_connected(9, false, false, false);
	struct pdu_fault fault;

	memcpy(pair->to_target.bytes, bytes, len);
	pair->to_target.head = 0;
	pair->to_target.tail = len;
	pair_run(pair);
	fault = pair->tc.fault;
	/* What the target saw as a fault the host saw as a TermReq. */
	assert_int_equal(pair->target_closing, pair->host_closing);
	free(pair);
	return fault;
}

static struct pdu_fault
host_says(const void *bytes, size_t len, uint8_t opcode)
{
	struct pair *pair = pair_connected(11, false, false, false);
	static uint8_t data[16384];
	struct iovec iov = { data, sizeof(data) };
	struct hreq req = { 0 };
	struct pdu_fault fault;
	struct fifo done;

	fifo_init(&done);
	pair_request(&req, opcode, 0, &iov, 1, sizeof(data));
	assert_true(hconn_submit(&pair->hc, &req)); /* CID 0 */
	pair_gather_host(pair);
	hconn_sent(&pair->hc, pair->gather.bytes, &done); /* sent, and lost */
	memcpy(pair->to_host.bytes, bytes, len);
	pair->to_host.tail = len;
	pair_run(pair);
	fault = pair->hc.fault;
	free(pair);
	return fault;
}

static struct pdu_data
data_pdu(uint8_t type, uint8_t flags, uint16_t cid, uint32_t offset, uint32_t length, uint32_t data)
{
	return (struct pdu_data){
		.ch = { type, flags, 24, data > 0 ? 24 : 0, le32_of(24 + data) },
		.cccid = le16_of(cid), .offset = le32_of(offset), .length = le32_of(length),
	};
}

static void
expect(struct pdu_fault fault, uint16_t fes, uint32_t fei)
{
	assert_int_equal(fault.fes, fes);
	assert_int_equal(fault.fei, fei);
}

static void
the_target_names_the_rule_that_was_broken(void **state)
{
	struct pdu_ic ic = { .ch = { PDU_ICREQ, 0, 128, 0, le32_of(128) } };
	struct pdu_data data = data_pdu(PDU_H2C_DATA, PDU_LAST, 0, 0, 4, 4);
	uint8_t buffer[sizeof(data) + 4] = { 0 };
	struct {
		struct pdu_capsule_cmd cmd;
		uint8_t data[16384];
	} big = { .cmd = { .ch = { PDU_CAPSULE_CMD, 0, 72, 72, le32_of(72 + 16384) } } };

	(void)state;
	expect(target_says(&ic, sizeof(ic)), PDU_FES_SEQUENCE, 0);
	memcpy(buffer, &data, sizeof(data));
	expect(target_says(buffer, sizeof(buffer)), PDU_FES_HEADER_FIELD, 10);
	big.cmd.sqe.sgl1 = (struct nvme_sgl){ .length = le32_of(16384), .id = NVME_SGL_OFFSET };
	expect(target_says(&big, sizeof(big)), PDU_FES_LIMIT_EXCEEDED, 0);
	big.cmd.ch.plen = le32_of(72 + 512);
	expect(target_says(&big, 72 + 512), PDU_FES_HEADER_FIELD, 4);
	big.cmd.sqe.sgl1.address = le64_of(64);
	expect(target_says(&big, 72 + 512), PDU_FES_UNSUPPORTED, 32);
	expect(target_says("GET / HTTP/1.1\r\n\r\n", 18), PDU_FES_HEADER_FIELD, 0);
}

/* All of them look as if they waited for data: what a slot holds before it is used counts for nothing. */
static void
slots_that_were_never_used_take_no_data(void **state)
{
	struct pdu_data data = data_pdu(PDU_H2C_DATA, 0, 0, 0, 64, 64);
	uint8_t buffer[sizeof(data) + 64];

	(void)state;
	for (unsigned ttag = 0; ttag < 3 * PAIR_DEPTH; ttag++) {
		struct pair *pair = pair_connected(9, false, false, false);
		unsigned used = ttag % PAIR_DEPTH;

		if (used > 0)
			(void)pair_slot(pair, used - 1);
		memset(buffer, 0x55, sizeof(buffer));
		data.ttag = le16_of((uint16_t)ttag);
		memcpy(buffer, &data, sizeof(data));
		memcpy(pair->to_target.bytes, buffer, sizeof(buffer));
		pair->to_target.head = 0;
		pair->to_target.tail = sizeof(buffer);
		pair_run(pair);
		expect(pair->tc.fault, PDU_FES_HEADER_FIELD, 10);
		assert_int_equal(pair->slots[used].xfer.moved, 0);
		assert_int_equal(pair->volume[0], 0);
		free(pair);
	}
}

static void
a_slot_is_ready_before_it_is_used(void **state)
{
	struct pair *pair = pair_connected(9, false, false, false);
	static const struct xfer zeros;

	(void)state;
	for (unsigned i = 0; i < PAIR_DEPTH; i++)
		assert_memory_equal(tconn_slot_new(&pair->tc), &zeros, sizeof(zeros));
	assert_null(tconn_slot_new(&pair->tc));
	/* Those of the queue come in the place of the first one. */
	tconn_slots(&pair->tc, pair->slots, sizeof(pair->slots[0]), PAIR_DEPTH);
	assert_ptr_equal(tconn_slot_new(&pair->tc), &pair->slots[0]);
	free(pair);
}

static void
the_host_names_the_rule_that_was_broken(void **state)
{
	struct pdu_capsule_resp resp = { .ch = { PDU_CAPSULE_RESP, 0, 24, 0, le32_of(24) } };
	struct pdu_data data;
	uint8_t buffer[24 + 64] = { 0 };

	(void)state;
	/* Success of a read that brought nothing; a completion of no command. */
	expect(host_says(&resp, sizeof(resp), NVME_READ), PDU_FES_SEQUENCE, 0);
	resp.cqe.cid = le16_of(5);
	expect(host_says(&resp, sizeof(resp), NVME_READ), PDU_FES_HEADER_FIELD, 20);
	data = data_pdu(PDU_C2H_DATA, 0, 3, 0, 64, 64);
	memcpy(buffer, &data, sizeof(data));
	expect(host_says(buffer, sizeof(buffer), NVME_READ), PDU_FES_HEADER_FIELD, 8);
	data = data_pdu(PDU_C2H_DATA, 0, 0, 64, 64, 64);
	memcpy(buffer, &data, sizeof(data));
	expect(host_says(buffer, sizeof(buffer), NVME_READ), PDU_FES_OUT_OF_RANGE, 0);
	data = data_pdu(PDU_C2H_DATA, 0, 0, 0, 64, 64);
	memcpy(buffer, &data, sizeof(data));
	expect(host_says(buffer, sizeof(buffer), NVME_WRITE), PDU_FES_SEQUENCE, 0);
	data = data_pdu(PDU_C2H_DATA, PDU_LAST, 0, 0, 64, 64);
	memcpy(buffer, &data, sizeof(data));
	expect(host_says(buffer, sizeof(buffer), NVME_READ), PDU_FES_SEQUENCE, 0);
	data = data_pdu(PDU_R2T, 0, 0, 0, 64, 0);
	expect(host_says(&data, sizeof(data), NVME_READ), PDU_FES_SEQUENCE, 0);
	data = data_pdu(PDU_R2T, 0, 0, 0, 0, 0);
	expect(host_says(&data, sizeof(data), NVME_WRITE), PDU_FES_OUT_OF_RANGE, 0);
	data = data_pdu(PDU_R2T, 0, 0, 16384 - 8, 16, 0);
	expect(host_says(&data, sizeof(data), NVME_WRITE), PDU_FES_OUT_OF_RANGE, 0);
}

/* `count` R2Ts of 64 bytes, of which the host hears before it can send; the second begins at `second`. */
static struct pdu_fault
host_says_to_r2ts(unsigned count, uint32_t second)
{
	struct pair *pair = pair_connected(11, false, false, false);
	static uint8_t data[16384];
	struct iovec iov = { data, sizeof(data) };
	struct hreq req = { 0 }, *done;
	struct pdu_data r2ts[HREQ_R2TS + 1];
	const uint8_t *at = (const void *)r2ts;
	size_t left = count * sizeof(r2ts[0]);
	struct pdu_fault fault;
	struct fifo out;

	fifo_init(&out);
	assert_int_equal(le32_get(((const struct pdu_ic *)(const void *)pair->hc.control)->limit), HREQ_R2TS - 1);
	pair_request(&req, NVME_WRITE, 0, &iov, 1, sizeof(data));
	assert_true(hconn_submit(&pair->hc, &req));
	pair_gather_host(pair);
	hconn_sent(&pair->hc, pair->gather.bytes, &out);
	for (uint32_t i = 0; i < count; i++)
		r2ts[i] = data_pdu(PDU_R2T, 0, 0, i == 1 ? second : 64 * i, 64, 0);
	(void)hconn_next(&pair->hc, &at, &left, &done);
	fault = pair->hc.fault;
	free(pair);
	return fault;
}

static void
the_host_takes_as_many_r2ts_as_it_said(void **state)
{
	(void)state;
	expect(host_says_to_r2ts(HREQ_R2TS, 64), PDU_FES_NONE, 0);
	expect(host_says_to_r2ts(HREQ_R2TS + 1, 64), PDU_FES_LIMIT_EXCEEDED, 0);
	expect(host_says_to_r2ts(2, 65), PDU_FES_OUT_OF_RANGE, 0);
	expect(host_says_to_r2ts(2, 0), PDU_FES_OUT_OF_RANGE, 0);
}

static void
digests_other_than_asked_for_are_refused(void **state)
{
	struct pair *pair = pair_create(1, true, false, false);
	struct pdu_ic resp = {
		.ch = { PDU_ICRESP, 0, 128, 0, le32_of(128) }, .dgst = 3, .limit = le32_of(8192),
	};
	struct fifo done;

	(void)state;
	fifo_init(&done);
	pair_gather_host(pair);
	hconn_sent(&pair->hc, pair->gather.bytes, &done);
	memcpy(pair->to_host.bytes, &resp, sizeof(resp));
	pair->to_host.tail = sizeof(resp);
	while (!pair->host_closing)
		pair_run(pair);
	expect(pair->hc.fault, PDU_FES_HEADER_FIELD, 11);
	free(pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_writes_survive_any_segmentation),
		cmocka_unit_test(one_byte_at_a_time_is_enough),
		cmocka_unit_test(success_replaces_the_completion_only_without_flow_control),
		cmocka_unit_test(a_failing_command_brings_its_status_and_no_data),
		cmocka_unit_test(a_wrong_data_digest_fails_one_command_and_spares_the_connection),
		cmocka_unit_test(an_answer_that_was_withdrawn_tells_the_queue_head_of_when_it_is_sent),
		cmocka_unit_test(the_target_names_the_rule_that_was_broken),
		cmocka_unit_test(slots_that_were_never_used_take_no_data),
		cmocka_unit_test(a_slot_is_ready_before_it_is_used),
		cmocka_unit_test(the_host_names_the_rule_that_was_broken),
		cmocka_unit_test(the_host_takes_as_many_r2ts_as_it_said),
		cmocka_unit_test(digests_other_than_asked_for_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
