/*
 * hconn_bench.h - the host's side of one connection, whose target is the test.
 *
 * The test tells it one PDU after the other, and sees what it sends; there is
 * no wire, and nothing is lost.
 */
#ifndef WEIR_TEST_HCONN_BENCH_H
#define WEIR_TEST_HCONN_BENCH_H

#include "tcp/hconn.h"

enum { HBENCH_DEPTH = 4, HBENCH_DATA = 16384, HBENCH_WIRE = 64 * 1024 };

struct hbench {
	struct hconn hc;           /* in-capsule data to 512 bytes */
	struct hreq *reqs[HBENCH_DEPTH];
	uint16_t cids[HBENCH_DEPTH];
	struct gather gather;
	struct fifo done;          /* by hconn_sent() */
	uint8_t data[HBENCH_DATA];
	struct iovec iov;
	struct hreq req;
	uint8_t wire[HBENCH_WIRE]; /* what the host sent last */
	size_t wire_len;
};

/* On the heap, freed by the caller.  Digests as in ICReq: b0 header, b1 data. */
struct hbench *hbench_create(uint8_t dgst, uint32_t depth);

/* One that has shaken hands. */
struct hbench *hbench_open(uint8_t dgst);

/* And has one command at the target. */
struct hbench *hbench_with(enum hreq_data data, uint32_t length);

/* Its request, for the first `length` bytes of its data. */
bool hbench_submit(struct hbench *b, enum hreq_data data, uint32_t length);

/* So many bytes of what the host has to send go out; 0: all. */
void hbench_send(struct hbench *b, size_t most);

/* The target says something; the first event that comes of it.  PDUs are about the request. */
enum hconn_event hbench_hear(struct hbench *b, const void *pdu, size_t len);
enum hconn_event hbench_data(struct hbench *b, uint8_t flags, uint32_t offset, uint32_t length);
enum hconn_event hbench_r2t(struct hbench *b, uint32_t offset, uint32_t length);
enum hconn_event hbench_response(struct hbench *b, uint16_t cid, enum nvme_sc sc);

/* What it may say: MAXH2CDATA is 8192, CPDA 0. */
struct pdu_ic hbench_icresp(uint8_t dgst);
struct pdu_data hbench_pdu(uint8_t type, uint8_t flags, const struct hreq *req, uint32_t offset, uint32_t length);

#endif
