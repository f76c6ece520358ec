/*
 * request_fetch.c - the data of a command that is asked for by R2T.
 *
 * When: what a connection is asked for at a time has a limit, and then there must
 * be buffers that it may have (asked.c).  What a command does with its
 * data is not known here.
 */
#include "target/command.h"

/* Asks the host for xfer.length bytes into `iov`, which is not req->iov: there data of capsules lies. */
void
request_ask(struct request *req, struct iovec *iov, uint32_t count)
{
	req->stage = STAGE_FILL;
	req->since_ns = req->conn->core->reactor->now_ns;
	req->xfer.iov = iov;
	req->xfer.iov_count = (uint8_t)count;
	tconn_ask(&req->conn->tc, &req->xfer);
	conn_send_soon(req->conn);
	conn_watch(req->conn);
}

static void
ask(struct request *req)
{
	if (!request_served(req))
		request_free(req);
	else if (req->partner != NULL)
		fused_ask(req);
	else
		request_ask(req, req->bufs.iov, req->bufs.count);
}

static void
granted(struct bufs_waiter *waiter)
{
	ask(request_of(waiter));
}

/* A pair has one buffer for both halves. */
static uint32_t
bytes_of(const struct request *req)
{
	return req->partner != NULL ? BUFS_LARGE : req->xfer.length;
}

static bool
may_ask(const struct request *req)
{
	const struct conn *conn = req->conn;

	return conn->asked_bytes == 0 || conn->asked_bytes + fused_asks(req) <= TARGET_ASKED_MAX;
}

static void
fetch_now(struct request *req)
{
	req->conn->asked_bytes += fused_asks(req);
	if (asked_fetch(req, bytes_of(req), granted))
		ask(req);
}

/*
 * Gets xfer.length bytes of data from the host; request_data() follows.  One
 * connection may have so much asked for at a time that it cannot take all
 * buffers for data that it never sends.
 */
void
request_fetch(struct request *req)
{
	struct conn *conn = req->conn;

	if (!fifo_empty(&conn->turns) || !may_ask(req)) {
		req->stage = STAGE_TURN;
		fifo_push(&conn->turns, &req->xfer.tx_node);
	} else {
		fetch_now(req);
	}
}

/* Those whose turn it is ask for their data, in order. */
void
request_next_turns(struct conn *conn)
{
	while (!fifo_empty(&conn->turns)) {
		struct request *first = container_of(conn->turns.head, struct request, xfer.tx_node);

		if (!may_ask(first))
			return;
		fifo_pop(&conn->turns);
		fetch_now(first);
	}
}

/* What was asked for is there.  A pair's buffer counts until both halves are done. */
void
request_fetched(struct request *req)
{
	req->conn->asked_bytes -= req->xfer.length;
	req->conn->brought += req->xfer.length;
	if (req->partner == NULL)
		asked_give(req);
	request_next_turns(req->conn);
}

/* It ends in line for buffers. */
void
request_unwait(struct request *req)
{
	if (req->stage != STAGE_BUFS)
		asked_leave(req);
	else
		bufs_unwait(&req->conn->core->reactor->bufs, &req->waiter);
}
