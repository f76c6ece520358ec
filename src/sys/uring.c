#include "sys/uring.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>

#include "base/arena.h"

struct uring {
	struct arena *arena;
	struct io_uring ring;
};

int
uring_open(struct arena *arena, unsigned entries, struct uring **out)
{
	struct uring *uring = arena_alloc(arena, sizeof(*uring));
	int rc;

	if (uring == NULL)
		return -ENOMEM;
	uring->arena = arena;
	rc = io_uring_queue_init(entries, &uring->ring, 0);
	if (rc != 0) {
		arena_free(arena, uring);
		return rc;
	}
	*out = uring;
	return 0;
}

void
uring_close(struct uring *uring)
{
	io_uring_queue_exit(&uring->ring);
	arena_free(uring->arena, uring);
}

int uring_fd(const struct uring *uring) { return uring->ring.ring_fd; }

void
uring_push(struct uring *uring, const struct disk_req *req, void *token)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);

	assert(sqe != NULL);
	switch (req->kind) {
	case DISK_READ:
		io_uring_prep_readv(sqe, req->fd, req->iov, (unsigned)req->count, req->offset);
		break;
	case DISK_WRITE:
		io_uring_prep_writev2(sqe, req->fd, req->iov, (unsigned)req->count, req->offset,
		    req->durable ? RWF_DSYNC : 0);
		break;
	case DISK_SYNC:
		io_uring_prep_fsync(sqe, req->fd, IORING_FSYNC_DATASYNC);
		break;
	case DISK_PUNCH:
	case DISK_ZERO:
		io_uring_prep_fallocate(sqe, req->fd, disk_fallocate_mode(req->kind), (off_t)req->offset,
		    (off_t)req->bytes);
		break;
	}
	io_uring_sqe_set_data(sqe, token);
}

bool
uring_submit(struct uring *uring)
{
	int rc = io_uring_submit(&uring->ring);

	assert(rc >= 0 || rc == -EAGAIN || rc == -EBUSY || rc == -EINTR || rc == -ENOMEM);
	return io_uring_sq_ready(&uring->ring) > 0;
}

bool
uring_ready(const struct uring *uring)
{
	return io_uring_cq_ready(&uring->ring) > 0;
}

bool
uring_take(struct uring *uring, void **token, int64_t *result)
{
	struct io_uring_cqe *cqe;

	if (!uring_ready(uring) || io_uring_peek_cqe(&uring->ring, &cqe) != 0)
		return false;
	*token = io_uring_cqe_get_data(cqe);
	*result = cqe->res;
	io_uring_cqe_seen(&uring->ring, cqe);
	return true;
}

void
uring_wait(struct uring *uring)
{
	int rc = io_uring_submit_and_wait(&uring->ring, 1);

	assert(rc >= 0 || rc == -EAGAIN || rc == -EBUSY || rc == -EINTR || rc == -ENOMEM);
}
