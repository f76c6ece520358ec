/*
 * test_qpair.c - a queue pair whose stream is the test's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hconn_bench.h"
#include "host/qpair.h"

enum { BYTES = 16384, IN_MAX = 1024 };

struct wire {
	struct stream stream;
	uint8_t in[IN_MAX];     /* what the target has said */
	size_t in_len;
	unsigned writes_left;   /* then the stream is dead */
	bool closed;
};

struct bench {
	struct arena arena;
	struct reactor reactor;
	struct gather *gather;
	struct wire wire;
	struct qpair qp;
	unsigned ups, downs;
	struct ask {
		struct hio io;
		struct iovec iov;
		unsigned dones;
	} asks[2];
	uint8_t data[BYTES];
};

static struct wire *the_wire;

/* ---- a world with one stream ---- */

static ssize_t
wire_readv(struct stream *stream, const struct iovec *iov, int count)
{
	struct wire *wire = container_of(stream, struct wire, stream);
	size_t bytes = wire->in_len;

	assert_true(count > 0 && iov[count - 1].iov_len >= bytes);
	if (bytes == 0)
		return -EAGAIN;
	memcpy(iov[count - 1].iov_base, wire->in, bytes);
	wire->in_len = 0;
	return (ssize_t)bytes;
}

static ssize_t
wire_writev(struct stream *stream, const struct iovec *iov, int count)
{
	struct wire *wire = container_of(stream, struct wire, stream);
	ssize_t bytes = 0;

	if (wire->writes_left-- == 0)
		return -EPIPE;
	for (int i = 0; i < count; i++)
		bytes += (ssize_t)iov[i].iov_len;
	return bytes;
}

static void
wire_wants(struct stream *stream, unsigned events)
{
	stream->wanted = (uint8_t)events;
}

static void
wire_close(struct stream *stream, bool abort)
{
	(void)abort;
	reactor_stream_gone(stream);
	container_of(stream, struct wire, stream)->closed = true;
}

static int
wire_connect(struct reactor *reactor, const char *host, uint16_t port, struct stream **stream)
{
	static const struct stream_ops ops = {
		.readv = wire_readv, .writev = wire_writev, .wants = wire_wants, .close = wire_close,
	};

	(void)host;
	(void)port;
	the_wire->stream = (struct stream){ .ops = &ops, .reactor = reactor };
	list_init(&the_wire->stream.ready_node);
	*stream = &the_wire->stream;
	return 0;
}

/* ---- what the target says ---- */

static void
says(struct bench *b, const void *pdu, size_t bytes)
{
	memcpy(b->wire.in + b->wire.in_len, pdu, bytes);
	b->wire.in_len += bytes;
}

static void
responds(struct bench *b, const struct hreq *req, enum nvme_sc sc)
{
	struct pdu_capsule_resp resp = {
		.ch = { PDU_CAPSULE_RESP, 0, 24, 0, le32_of(24) },
		.cqe = { .cid = le16_of(req->cid), .status = nvme_status_put(nvme_status_of(sc, false)) },
	};

	says(b, &resp, sizeof(resp));
}

static void
turn(struct bench *b)
{
	reactor_stream_ready(&b->wire.stream, STREAM_READABLE | STREAM_WRITABLE);
	reactor_turn(&b->reactor, b->reactor.now_ns + 1000);
}

/* ---- the host ---- */

static void
up(struct qpair *qp)
{
	((struct bench *)qp->owner)->ups++;
}

static void
down(struct qpair *qp, int error)
{
	assert_int_equal(error, -EPIPE);
	((struct bench *)qp->owner)->downs++;
}

static void
done(struct hio *io)
{
	container_of(io, struct ask, io)->dones++;
}

static void
submit_write(struct bench *b, struct ask *ask)
{
	ask->iov = (struct iovec){ b->data, BYTES };
	ask->io.req.data = HREQ_WRITE;
	ask->io.req.length = BYTES;
	ask->io.req.iov = &ask->iov;
	ask->io.req.iov_count = 1;
	ask->io.done = done;
	assert_true(qpair_submit(&b->qp, &ask->io));
}

static struct bench *
bench_open(void)
{
	static const struct world_ops world = { .connect = wire_connect };
	const struct reactor_options pools = { .small_bufs = 128, .large_bufs = 16 };
	const struct qpair_options options = {
		.host = "10.0.0.1", .port = 4420, .qid = 1, .entries = 4, .subnqn = "subsystem", .hostnqn = "host",
	};
	struct bench *b = calloc(1, sizeof(*b));
	struct pdu_ic resp = hbench_icresp(0);

	assert_non_null(b);
	the_wire = &b->wire;
	b->wire.writes_left = UINT32_MAX;
	arena_init(&b->arena, 0);
	assert_int_equal(reactor_init(&b->reactor, &world, &b->arena, 0, 1, &pools), 0);
	b->gather = arena_alloc(&b->arena, sizeof(*b->gather));
	assert_non_null(b->gather);
	b->qp.owner = b;
	b->qp.up = up;
	b->qp.down = down;
	assert_int_equal(qpair_open(&b->qp, &b->reactor, b->gather, &options), 0);
	turn(b);
	says(b, &resp, sizeof(resp));
	turn(b);
	responds(b, &b->qp.connect.req, NVME_SC_SUCCESS);
	turn(b);
	assert_int_equal(b->ups, 1);
	return b;
}

static void
bench_close(struct bench *b)
{
	qpair_abort(&b->qp);
	assert_true(b->wire.closed);
	reactor_fini(&b->reactor);
	arena_drop(&b->arena);
	free(b);
}

/* ---- tests ---- */

/* One write fails while its data is in line, and with the next piece of the other one's the stream breaks: the first is
 * out of the line by then, and nobody else has it. */
static void
what_was_answered_is_done_though_the_stream_breaks_in_that_turn(void **state)
{
	struct bench *b = bench_open();
	struct ask *failed = &b->asks[0], *lost = &b->asks[1];
	struct pdu_data r2t;

	(void)state;
	submit_write(b, failed);
	submit_write(b, lost);
	turn(b);
	for (unsigned i = 0; i < 2; i++) {
		r2t = hbench_pdu(PDU_R2T, 0, &b->asks[i].io.req, 0, BYTES);
		says(b, &r2t, sizeof(r2t));
	}
	responds(b, &failed->io.req, NVME_SC_LBA_RANGE);
	b->wire.writes_left = 1;
	turn(b);
	assert_int_equal(b->downs, 1);
	assert_int_equal(failed->dones, 1);
	assert_false(failed->io.lost);
	assert_int_equal(nvme_sc(failed->io.req.status), NVME_SC_LBA_RANGE);
	assert_int_equal(lost->dones, 1);
	assert_true(lost->io.lost);
	bench_close(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_answered_is_done_though_the_stream_breaks_in_that_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
