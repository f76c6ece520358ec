/*
 * engine_uring.c - the same turn by io_uring.
 *
 * Each link has one receive and one send in the kernel at most.  A turn enters
 * the kernel once for all links: it submits what the turn before prepared and
 * collects what has ended.  While nothing has ended it watches the ring's
 * flags from user space, without a system call.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ceiling.h"

enum { ENTRIES = 4096, OP_RECV = 0, OP_SEND = 1, OP_MASK = 3 };

struct uring {
	struct io_uring ring;
};

static struct io_uring_sqe *
next_sqe(struct engine *engine)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&engine->uring->ring);

	if (sqe == NULL) {
		engine->counters.syscalls++;
		io_uring_submit(&engine->uring->ring);
		sqe = io_uring_get_sqe(&engine->uring->ring);
	}
	if (sqe == NULL)
		die("the submission ring is full");
	return sqe;
}

static void
prepare_accept(struct engine *engine)
{
	struct io_uring_sqe *sqe = next_sqe(engine);

	io_uring_prep_accept(sqe, engine->listening, NULL, NULL, 0);
	io_uring_sqe_set_data(sqe, NULL);
}

void
uring_init(struct engine *engine)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	};
	int rc;

	engine->uring = calloc(1, sizeof(*engine->uring));
	if (engine->uring == NULL)
		die("no memory");
	rc = io_uring_queue_init_params(ENTRIES, &engine->uring->ring, &params);
	if (rc != 0)
		die("io_uring: %s", strerror(-rc));
	io_uring_register_ring_fd(&engine->uring->ring);
	if (engine->listening >= 0)
		prepare_accept(engine);
}

/* `probably`: there was more in the socket, so that a first attempt is worth it. */
static void
prepare_recv(struct link *link, bool probably)
{
	struct io_uring_sqe *sqe = next_sqe(link->engine);
	size_t room = sizeof(link->rbuf) - link->rlen;

	io_uring_prep_recv(sqe, link->fd, link->rbuf + link->rlen,
	    room < TURN_BYTES ? room : TURN_BYTES, 0);
	if (!probably)
		sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
	io_uring_sqe_set_data64(sqe, (uintptr_t)link | OP_RECV);
	link->ops_out++;
}

void
uring_add(struct link *link)
{
	prepare_recv(link, false);
}

/* Negative: the owner gave up. */
static int
prepare_send(struct link *link)
{
	struct io_uring_sqe *sqe;
	int rc;

	link_clear(link);
	rc = link->ops->fill(link);
	if (rc < 0 || link->iov_count == 0)
		return rc;
	sqe = next_sqe(link->engine);
	link->msg.msg_iov = link->iov;
	link->msg.msg_iovlen = link->iov_count;
	/* WAITALL: the kernel goes on until all of it is in the socket. */
	io_uring_prep_sendmsg(sqe, link->fd, &link->msg, MSG_NOSIGNAL | MSG_WAITALL);
	io_uring_sqe_set_data64(sqe, (uintptr_t)link | OP_SEND);
	link->sending = true;
	link->engine->counters.sends++;
	link->ops_out++;
	return 0;
}

void
uring_start(struct link *link)
{
	if (prepare_send(link) < 0)
		die("the connection broke at once");
}

static int
recv_ended(struct link *link, int n, bool nonempty)
{
	int rc;

	if (n <= 0)
		return -ECONNRESET;
	link->rlen += (uint32_t)n;
	rc = link->ops->take(link);
	if (rc == 0 && !link->sending)
		rc = prepare_send(link);
	if (rc == 0 && !(link->sending && link->holds))
		prepare_recv(link, nonempty);
	return rc;
}

static int
send_ended(struct link *link, int n)
{
	int rc;

	link->sending = false;
	if (n <= 0)
		return -ECONNRESET;
	rc = prepare_send(link);
	/* A link that holds has no receive in the kernel while it sends. */
	if (rc == 0 && link->holds && !link->sending)
		prepare_recv(link, true);
	return rc;
}

static bool
one_ended(struct engine *engine, const struct io_uring_cqe *cqe)
{
	uint64_t data = io_uring_cqe_get_data64(cqe);
	struct link *link = (struct link *)(uintptr_t)(data & ~(uint64_t)OP_MASK);
	int rc;

	if (link == NULL) {
		if (cqe->res >= 0)
			engine->accepted(engine, cqe->res);
		prepare_accept(engine);
		return false;
	}
	link->ops_out--;
	if (link->dead)
		rc = -ECONNRESET;
	else if ((data & OP_MASK) == OP_RECV)
		rc = recv_ended(link, cqe->res, cqe->flags & IORING_CQE_F_SOCK_NONEMPTY);
	else
		rc = send_ended(link, cqe->res);
	if (rc < 0)
		link_close(link);
	return true;
}

bool
uring_turn(struct engine *engine, bool sleep)
{
	struct io_uring *ring = &engine->uring->ring;
	struct __kernel_timespec limit = { .tv_nsec = SLEEP_MS * 1000000 };
	struct io_uring_cqe *cqe;
	unsigned head, seen = 0, flags = IO_URING_READ_ONCE(*ring->sq.kflags);
	bool moved = false;

	if (io_uring_sq_ready(ring) > 0) {
		engine->counters.syscalls++;
		io_uring_submit_and_get_events(ring);
	} else if (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) {
		engine->counters.syscalls++;
		io_uring_get_events(ring);
	} else if (sleep && io_uring_cq_ready(ring) == 0) {
		engine->counters.syscalls++;
		io_uring_submit_and_wait_timeout(ring, &cqe, 1, &limit, NULL);
		engine->turn_tsc = tsc();
		if (io_uring_cq_ready(ring) > 0)
			engine->busy_at = engine->turn_tsc;
	}
	io_uring_for_each_cqe(ring, head, cqe) {
		seen++;
		moved |= one_ended(engine, cqe);
	}
	io_uring_cq_advance(ring, seen);
	return moved;
}
