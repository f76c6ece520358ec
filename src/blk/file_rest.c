/*
 * file_rest.c - operations on the file of a volume that moved less than was asked, and what is sent until all is moved.
 */
#include "blk/file.h"

#include <assert.h>
#include <errno.h>

#include "base/iov.h"

enum { STUCK_MAX = 3 }; /* so often a transfer may move less than a block */

/* After a short read or write: goes on with the next part; the world's answer to that says why. */
static void
send_rest(struct file_req *req)
{
	struct blk_io *io = req->blk_io;
	uint64_t skip = req->moved;
	const struct iovec *iov = iov_seek(req->iov, &skip);

	req->rest.iov_base = (uint8_t *)iov->iov_base + skip;
	req->rest.iov_len = iov->iov_len - skip;
	req->io.offset = io->lba * req->chan->chan.blk->block_size + req->moved;
	req->io.iov = &req->rest;
	req->io.iov_count = 1;
	req->chan->chan.reactor->world->file_submit(req->chan->file, &req->io);
}

/*
 * `*result` bytes more were moved.  True: that was all, or *result is an error.
 * Only whole blocks count: direct I/O moves nothing less.
 */
static bool
moved_all(struct file_req *req, int64_t *result)
{
	uint32_t block_size = req->chan->chan.blk->block_size;
	uint64_t wanted = (uint64_t)req->blk_io->blocks * block_size;
	uint64_t moved = req->moved + (uint64_t)*result;
	bool ends = *result == 0; /* the file is shorter than it was */

	assert(moved <= wanted);
	moved &= ~(uint64_t)(block_size - 1);
	req->stuck = moved == req->moved ? req->stuck + 1 : 0;
	req->moved = moved;
	*result = ends || req->stuck > STUCK_MAX ? -EIO : 0;
	return *result != 0 || moved == wanted;
}

/* Whether the piece needs another operation, which is then sent. */
bool
file_goes_on(struct file_req *req, int64_t *error)
{
	if (*error < 0)
		return false;
	switch (req->io.op) {
	case FILE_READ:
	case FILE_WRITE:
		if (moved_all(req, error))
			return false;
		send_rest(req);
		return true;
	case FILE_PUNCH:
	case FILE_ZERO:
	case FILE_SYNC:
		break;
	}
	*error = 0;
	return false;
}
