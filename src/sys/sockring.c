#include "sys/sockring.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/arena.h"

struct sockring {
	struct arena *arena;
	struct io_uring ring;
	unsigned count;
	struct msghdr msgs[SOCKRING_MAX];
};

/* An old kernel has rings that cannot do this, and a filter may forbid to use one that it lets us make. */
static int
try_out(struct io_uring *ring)
{
	static const int needed[] = { IORING_OP_SEND, IORING_OP_RECV, IORING_OP_SENDMSG, IORING_OP_RECVMSG };
	struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
	bool knows = probe != NULL;
	int rc;

	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		knows = knows && io_uring_opcode_supported(probe, needed[i]);
	io_uring_free_probe(probe);
	if (!knows)
		return -ENOSYS;
	io_uring_prep_nop(io_uring_get_sqe(ring));
	rc = io_uring_submit_and_wait(ring, 1);
	if (rc < 0)
		return rc;
	io_uring_cq_advance(ring, 1);
	return 0;
}

int
sockring_open(struct arena *arena, struct sockring **out)
{
	struct sockring *ring = arena_alloc(arena, sizeof(*ring));
	int rc;

	if (ring == NULL)
		return -ENOMEM;
	ring->arena = arena;
	rc = io_uring_queue_init(SOCKRING_MAX, &ring->ring, 0);
	if (rc == 0) {
		rc = try_out(&ring->ring);
		if (rc != 0)
			io_uring_queue_exit(&ring->ring);
	}
	if (rc != 0) {
		arena_free(arena, ring);
		return rc;
	}
	*out = ring;
	return 0;
}

void
sockring_close(struct sockring *ring)
{
	io_uring_queue_exit(&ring->ring);
	arena_free(ring->arena, ring);
}

void
sockring_push(struct sockring *ring, int fd, bool out, const struct iovec *iov, int count, ssize_t *result)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->ring);
	struct msghdr *msg;

	assert(sqe != NULL && ring->count < SOCKRING_MAX);
	msg = &ring->msgs[ring->count++];
	/* With MSG_DONTWAIT the kernel says -EAGAIN at once instead of waiting for the socket. */
	if (count == 1 && out) {
		io_uring_prep_send(sqe, fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else if (count == 1) {
		io_uring_prep_recv(sqe, fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT);
	} else {
		*msg = (struct msghdr){ .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)count };
		if (out)
			io_uring_prep_sendmsg(sqe, fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			io_uring_prep_recvmsg(sqe, fd, msg, MSG_DONTWAIT);
	}
	io_uring_sqe_set_data(sqe, result);
}

unsigned
sockring_run(struct sockring *ring)
{
	unsigned calls = 0, taken = 0;

	while (taken < ring->count) {
		struct io_uring_cqe *cqe;
		unsigned head, seen = 0;
		int rc = io_uring_submit_and_wait(&ring->ring, ring->count - taken);

		calls++;
		assert(rc >= 0 || rc == -EAGAIN || rc == -EBUSY || rc == -EINTR || rc == -ENOMEM);
		io_uring_for_each_cqe(&ring->ring, head, cqe) {
			ssize_t *result = io_uring_cqe_get_data(cqe);

			*result = cqe->res;
			seen++;
		}
		io_uring_cq_advance(&ring->ring, seen);
		taken += seen;
	}
	ring->count = 0;
	return calls;
}
