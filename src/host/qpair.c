#include "host/qpair.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { LARGE_DATA = 32 * 1024, AFTER_LARGE = 8 * 1024 };

static const uint64_t ENDING_NS = 500 * 1000 * 1000;

/* ---- ending ---- */

/*
 * Commands go back to their owners after the connection was reset: else the socket could go on to send what it has
 * taken of them, however late, when it has been sent again elsewhere and the blocks belong to a younger write.
 */
static void
release(struct qpair *qp, bool abort)
{
	struct hreq *req;

	qp->state = QPAIR_DOWN;
	task_cancel(&qp->send);
	timer_clear(&qp->reactor->timers, &qp->ending);
	if (qp->stream != NULL)
		qp->stream->ops->close(qp->stream, abort);
	qp->stream = NULL;
	while ((req = hconn_orphan(&qp->hc)) != NULL) {
		struct hio *io = container_of(req, struct hio, req);

		io->lost = !req->answered;
		if (io->lost)
			req->status = nvme_status_of(NVME_SC_HOST_ABORTED, false);
		if (io != &qp->connect)
			io->done(io);
	}
	arena_free(qp->reactor->arena, qp->reqs);
	arena_free(qp->reactor->arena, qp->cids);
	arena_free(qp->reactor->arena, qp->data);
	qp->reqs = NULL;
	qp->cids = NULL;
	qp->data = NULL;
}

void
qpair_close(struct qpair *qp)
{
	if (qp->state != QPAIR_DOWN)
		release(qp, false);
}

void
qpair_abort(struct qpair *qp)
{
	if (qp->state != QPAIR_DOWN)
		release(qp, true);
}

static void
go_down(struct qpair *qp, int error, const char *why)
{
	if (qp->state == QPAIR_DOWN)
		return;
	/* Of one that is ending the reason was another one, and stands there. */
	if (qp->state == QPAIR_ENDING)
		error = -EPROTO;
	else
		snprintf(qp->why, sizeof(qp->why), "%s", why);
	release(qp, true);
	qp->down(qp, error);
}

static void
waited_enough(struct timer *timer)
{
	go_down(container_of(timer, struct qpair, ending), -EPROTO, "");
}

/*
 * The target broke a rule, and a TermReq is in line.  A reset would overtake it, but nothing less may come before
 * the commands go back to their owners (see above): so the target has some time to read it and to close.
 */
static void
terminate(struct qpair *qp)
{
	const struct pdu_fault *fault = &qp->hc.fault;
	char why[sizeof(qp->why)];

	snprintf(why, sizeof(why), "%s (FES %u, FEI %" PRIu32 ")", fault->why, fault->fes, fault->fei);
	if (qp->hc.state != HCONN_TERMINATING) {
		go_down(qp, -EPROTO, why);
		return;
	}
	memcpy(qp->why, why, sizeof(why));
	qp->state = QPAIR_ENDING;
	qp->held = false; /* there is nothing but the TermReq to be sent */
	timer_set(&qp->reactor->timers, &qp->ending, qp->reactor->now_ns + ENDING_NS);
}

/* ---- Connect ---- */

/* What of its data the target says is wrong (NVMe over Fabrics 1.1, 3.3), where it is a name that somebody chose. */
static const char *
wrong_name(struct nvme_status status, uint32_t dw0)
{
	if (nvme_sc(status) == NVME_SC_CONNECT_HOST)
		return ": this host may not use the subsystem";
	if (nvme_sc(status) != NVME_SC_CONNECT_PARAMS)
		return "";
	if (dw0 == (1u << 16 | offsetof(struct nvme_connect_data, subnqn)))
		return ": the NQN of the subsystem";
	if (dw0 == (1u << 16 | offsetof(struct nvme_connect_data, hostnqn)))
		return ": the NQN of the host";
	return "";
}

static void
connected(struct hio *io)
{
	struct qpair *qp = io->owner;
	struct nvme_status status = io->req.status;

	if (!nvme_ok(status)) {
		char why[160];

		qp->connect_status = status;
		snprintf(why, sizeof(why), "Connect of queue %u was refused: %s (%u:%02x%s)%s", qp->options.qid,
		    nvme_status_text(status, true), status.sct, status.sc, status.dnr ? ", do not retry" : "",
		    wrong_name(status, io->req.dw0));
		go_down(qp, -ECONNREFUSED, why);
		return;
	}
	qp->cntlid = (uint16_t)io->req.dw0;
	qp->state = QPAIR_UP;
	qp->hc.options.incapsule_max = qp->options.incapsule_max;
	qp->up(qp);
}

static void
send_connect(struct qpair *qp)
{
	struct nvme_connect_sqe sqe = {
		.opcode = NVME_FABRICS, .fctype = NVME_CONNECT,
		.qid = le16_of(qp->options.qid),
		.sqsize = le16_of((uint16_t)(qp->options.entries - 1)),
		.cattr = qp->options.sq_flow ? 0 : NVME_CATTR_NO_SQ_FLOW,
		.kato = le32_of(qp->options.qid == 0 ? qp->options.kato_ms : 0),
	};
	bool room;

	memcpy(qp->data->hostid, qp->options.hostid, sizeof(qp->data->hostid));
	qp->data->cntlid = le16_of(qp->options.cntlid);
	snprintf(qp->data->subnqn, NVME_NQN_FIELD, "%s", qp->options.subnqn);
	snprintf(qp->data->hostnqn, NVME_NQN_FIELD, "%s", qp->options.hostnqn);
	qp->data_iov = (struct iovec){ qp->data, sizeof(*qp->data) };
	memcpy(&qp->connect.req.sqe, &sqe, sizeof(sqe));
	qp->connect.req.data = HREQ_WRITE;
	qp->connect.req.length = sizeof(*qp->data);
	qp->connect.req.iov = &qp->data_iov;
	qp->connect.req.iov_count = 1;
	qp->connect.owner = qp;
	qp->connect.done = connected;
	qp->state = QPAIR_CONNECTING;
	room = hconn_submit(&qp->hc, &qp->connect.req);
	assert(room);
}

/* ---- bytes ---- */

static void
send_soon(struct qpair *qp)
{
	if (!qp->blocked && !qp->held && qp->stream != NULL)
		reactor_run_in(qp->reactor, PHASE_SEND, &qp->send);
}

static void
set_wants(struct qpair *qp)
{
	qp->stream->ops->wants(qp->stream, STREAM_READABLE | (qp->blocked ? STREAM_WRITABLE : 0));
}

static void
send_now(struct task *task)
{
	struct qpair *qp = container_of(task, struct qpair, send);
	struct gather *g = qp->gather;
	struct fifo_node *node;
	struct fifo done;
	int error = 0;

	fifo_init(&done);
	while (error == 0 && !qp->blocked && !qp->held && hconn_pending(&qp->hc)) {
		ssize_t bytes;

		gather_reset(g);
		hconn_gather(&qp->hc, g);
		bytes = qp->stream->ops->writev(qp->stream, g->iov + g->first, (int)(g->count - g->first));
		if (bytes > 0)
			hconn_sent(&qp->hc, (size_t)bytes, &done);
		if (bytes < 0 && bytes != -EAGAIN) {
			error = (int)bytes;
		} else if (bytes < (ssize_t)g->bytes) {
			qp->blocked = true;
			set_wants(qp);
		}
	}
	/* They are in flight no more, so nobody else tells of them. */
	while ((node = fifo_pop(&done)) != NULL) {
		struct hio *io = container_of(node, struct hio, req.tx_node);

		io->done(io);
	}
	if (error != 0)
		go_down(qp, error, strerror(-error));
}

static void
parse(struct qpair *qp, const uint8_t *at, size_t left)
{
	struct hreq *req;

	while (qp->state < QPAIR_ENDING) {
		switch (hconn_next(&qp->hc, &at, &left, &req)) {
		case HCONN_MORE:
			return;
		case HCONN_UP:
			send_connect(qp);
			break;
		case HCONN_DONE: {
			struct hio *io = container_of(req, struct hio, req);

			io->done(io);
			break;
		}
		case HCONN_CLOSING:
			terminate(qp);
			return;
		}
	}
}

static void
receive(struct qpair *qp)
{
	struct iovec iov[BUFS_IOV_MAX + 1];
	int count = qp->state == QPAIR_ENDING ? 0 : framer_direct(&qp->hc.framer, iov, BUFS_IOV_MAX);
	size_t direct = 0, landed;
	ssize_t bytes;
	bool large;

	for (int i = 0; i < count; i++)
		direct += iov[i].iov_len;
	/* What is read behind the data of a large read is mostly more of such data, and would have to be copied. */
	large = count > 0 && qp->hc.framer.shape.data_len >= LARGE_DATA;
	iov[count++] = reactor_scratch(qp->reactor, 0, large ? AFTER_LARGE : REACTOR_SCRATCH);
	bytes = qp->stream->ops->readv(qp->stream, iov, count);
	if (bytes == -EAGAIN)
		return;
	if (bytes <= 0) {
		go_down(qp, bytes < 0 ? (int)bytes : -ECONNRESET,
		    bytes < 0 ? strerror(-(int)bytes) : "the target closed the connection");
		return;
	}
	if (qp->state == QPAIR_ENDING)
		return;
	landed = (size_t)bytes < direct ? (size_t)bytes : direct;
	if (landed > 0)
		framer_landed(&qp->hc.framer, landed);
	parse(qp, qp->reactor->scratch, (size_t)bytes - landed);
	if (qp->state != QPAIR_DOWN && hconn_pending(&qp->hc))
		send_soon(qp);
}

static void
ready(struct stream *stream, unsigned events)
{
	struct qpair *qp = stream->owner;

	if (qp->state == QPAIR_DIALLING && events & STREAM_WRITABLE)
		qp->state = QPAIR_HELLO;
	if (events & STREAM_WRITABLE && qp->blocked) {
		qp->blocked = false;
		set_wants(qp);
		send_soon(qp);
	}
	if (events & STREAM_READABLE)
		receive(qp);
}

/* ---- beginning ---- */

int
qpair_open(struct qpair *qp, struct reactor *reactor, struct gather *gather,
    const struct qpair_options *options)
{
	struct hconn_options hc = {
		.hdgst = options->hdgst, .ddgst = options->ddgst,
		/* Connect's data always travels in the capsule. */
		.incapsule_max = NVME_ADMIN_INCAPSULE, .data_max = QPAIR_TRANSFER_MAX,
	};
	struct arena *arena = reactor->arena;
	int rc = -ENOMEM;

	qp->reactor = reactor;
	qp->options = *options;
	qp->gather = gather;
	qp->state = QPAIR_DIALLING;
	qp->stream = NULL;
	qp->blocked = true; /* until the stream is connected */
	qp->held = false;
	task_init(&qp->send, send_now);
	qp->reqs = arena_alloc(arena, options->entries * sizeof(*qp->reqs));
	qp->cids = arena_alloc(arena, options->entries * sizeof(*qp->cids));
	qp->data = arena_alloc(arena, sizeof(*qp->data));
	memset(&qp->connect, 0, sizeof(qp->connect));
	qp->connect_status = NVME_OK;
	qp->ending = (struct timer){ .fire = waited_enough };
	hconn_init(&qp->hc, &hc, NULL, NULL, 0);
	if (qp->reqs == NULL || qp->cids == NULL || qp->data == NULL)
		goto fail;
	hconn_init(&qp->hc, &hc, qp->reqs, qp->cids, options->entries);
	rc = reactor->world->connect(reactor, options->host, options->port, &qp->stream);
	if (rc != 0)
		goto fail;
	qp->stream->owner = qp;
	qp->stream->ready = ready;
	set_wants(qp);
	return 0;
fail:
	release(qp, true);
	return rc;
}

bool
qpair_room(const struct qpair *qp, unsigned n)
{
	return qp->state == QPAIR_UP && qp->hc.free_count >= n;
}

bool
qpair_submit(struct qpair *qp, struct hio *io)
{
	io->lost = false;
	if (qp->state != QPAIR_UP || !hconn_submit(&qp->hc, &io->req))
		return false;
	send_soon(qp);
	return true;
}

void
qpair_hold(struct qpair *qp, bool held)
{
	qp->held = held;
	if (!held)
		send_soon(qp);
}
