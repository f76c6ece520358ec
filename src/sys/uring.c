#include "sys/uring.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>

#include "base/arena.h"

enum { KEPT_MAX = 64 }; /* descriptors; those beyond are looked up for each request */

struct uring {
	struct arena *arena;
	struct io_uring ring;
	uint64_t kept_free; /* a bit for each place; 0 where none can be had */
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
	/* Older kernels cannot be asked; then some requests that do not end can hold up all others. */
	(void)io_uring_register_iowq_max_workers(&uring->ring, (unsigned[2]){ entries, 0 });
	if (io_uring_register_files_sparse(&uring->ring, KEPT_MAX) == 0)
		uring->kept_free = UINT64_MAX;
	*out = uring;
	return 0;
}

void
uring_close(struct uring *uring)
{
	io_uring_queue_exit(&uring->ring);
	arena_free(uring->arena, uring);
}

int
uring_keep(struct uring *uring, int fd)
{
	int place = __builtin_ffsll((long long)uring->kept_free);

	if (place == 0 || io_uring_register_files_update(&uring->ring, (unsigned)place - 1, &fd, 1) != 1)
		return 0;
	uring->kept_free &= ~(UINT64_C(1) << (place - 1));
	return place;
}

void
uring_forget(struct uring *uring, int kept)
{
	int none = -1;

	/* Where that fails the place is not used again; the ring's end ends it. */
	if (kept > 0 && io_uring_register_files_update(&uring->ring, (unsigned)kept - 1, &none, 1) == 1)
		uring->kept_free |= UINT64_C(1) << (kept - 1);
}

int uring_fd(const struct uring *uring) { return uring->ring.ring_fd; }

/* Of one buffer without a vector, which the kernel would have to fetch. */
static void
prepare_move(struct io_uring_sqe *sqe, const struct disk_req *req)
{
	const struct iovec *iov = req->iov;
	unsigned bytes = (unsigned)iov->iov_len;
	bool reads = req->kind == DISK_READ;

	if (req->count > 1 || iov->iov_len > INT32_MAX)
		io_uring_prep_rw(reads ? IORING_OP_READV : IORING_OP_WRITEV, sqe, req->fd, iov, (unsigned)req->count,
		    req->offset);
	else if (reads)
		io_uring_prep_read(sqe, req->fd, iov->iov_base, bytes, req->offset);
	else
		io_uring_prep_write(sqe, req->fd, iov->iov_base, bytes, req->offset);
	sqe->rw_flags = req->durable ? RWF_DSYNC : 0;
	sqe->flags |= req->waits ? IOSQE_ASYNC : 0;
}

void
uring_push(struct uring *uring, const struct disk_req *req, void *token)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);

	assert(sqe != NULL);
	switch (req->kind) {
	case DISK_READ:
	case DISK_WRITE:
		prepare_move(sqe, req);
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
	if (req->kept > 0) {
		sqe->fd = req->kept - 1;
		sqe->flags |= IOSQE_FIXED_FILE;
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
