/*
 * file.c - a volume in a file or block device of the world.
 *
 * Each reactor has a handle of its own; the holds of the blocks are common to
 * all, so that one block is always all old or all new.  A request of the file
 * is taken from a fixed number per channel; I/Os that find none wait in line.
 * It does not know how the world does files, nor how one is found (file_open.c).
 *
 * A long range of zeros is made in pieces, so that it can be ended, and others come
 * in between: large ones, as long as the world does each at a stroke, else small ones.
 *
 * A write is durable after a flush, or at once with FUA.  Buffers and offsets
 * are multiples of the block size: a file whose direct I/O wants larger ones is
 * read and written through the page cache.  Which blocks are bad stands in a
 * file beside it (marks.h).
 */
#include "blk/file.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"
#include "blk/copy.h"
#include "blk/finish.h"

enum {
	STROKE_MAX = 1024 * 1024 * 1024,
	LONGS_BEGUN = 4,          /* at once, per channel: disks can do several things, and have others to do */
};

static struct file_chan *
file_chan_of(struct blk_chan *chan)
{
	return container_of(chan, struct file_chan, chan);
}

static struct file_req *
req_take(struct file_chan *fc, struct blk_io *io)
{
	struct file_req *req = fc->free;

	assert(req != NULL);
	fc->free = req->next_free;
	fc->free_count--;
	req->blk_io = io;
	return req;
}

static void
req_give(struct file_req *req)
{
	req->blk_io = NULL;
	req->next_free = req->chan->free;
	req->chan->free = req;
	req->chan->free_count++;
}

/* What `op` moves, and from where: a compare-and-write first reads what is there. */
static void
req_buffers(struct file_req *req, enum file_op op, uint64_t bytes)
{
	struct blk_io *io = req->blk_io;

	req->moved = 0;
	req->stuck = 0;
	req->iov = io->iov;
	req->iov_count = io->iov_count;
	if (io->op == BLK_COMPARE_WRITE && op == FILE_READ) {
		req->old = (struct iovec){ io->old, bytes };
		req->iov = &req->old;
		req->iov_count = 1;
	}
}

static void
req_send(struct file_req *req, enum file_op op)
{
	struct file_chan *fc = req->chan;
	struct blk_range piece = line_piece(&fc->line, req->blk_io);
	uint64_t block_size = fc->chan.blk->block_size;

	req->io.op = op;
	req->io.durable = op == FILE_WRITE && (req->mends || (req->blk_io->flags & BLK_FUA) != 0);
	req->io.offset = piece.lba * block_size;
	req->io.bytes = piece.blocks * block_size;
	req_buffers(req, op, req->io.bytes);
	req->io.iov = req->iov;
	req->io.iov_count = (int)req->iov_count;
	fc->chan.reactor->world->file_submit(fc->file, &req->io);
}

static void marked(struct marks_change *change, int error);

/* Marks the piece as bad or as good again, or has the list say what it is. */
static void
req_mark(struct file_req *req, enum marks_kind kind)
{
	struct file_chan *fc = req->chan;
	struct blk_range piece = line_piece(&fc->line, req->blk_io);

	req->change = (struct marks_change){
		.lba = piece.lba, .blocks = piece.blocks, .kind = kind, .done = marked,
	};
	marks_change(&fc->marks, &req->change);
}

static bool
touches(struct file_chan *fc, const struct bad *marked, const struct blk_io *io, uint64_t *first)
{
	struct blk_range piece = line_piece(&fc->line, io);

	return fc->chan.blk->bad != NULL && bad_any(marked, piece.lba, piece.blocks, first);
}

/* A block that is to be read is bad: it is over, though not from inside submit(). */
static bool
req_refuses(struct file_req *req)
{
	struct file_chan *fc = req->chan;
	struct blk_io *io = req->blk_io;
	uint64_t first;

	if (!touches(fc, &fc->marks.marks->bad, io, &first))
		return false;
	req_give(req);
	line_drop(&fc->line, io);
	io->flags |= BLK_BAD;
	io->at = first;
	finish_push(&fc->finished, io, nvme_status_of(NVME_SC_READ_ERROR, true));
	reactor_run_in(fc->chan.reactor, PHASE_COLLECT, &fc->collect);
	return true;
}

static void
req_begin(struct file_req *req)
{
	const struct blk_io *io = req->blk_io;

	switch (io->op) {
	case BLK_READ:
	case BLK_COMPARE_WRITE:
		if (!req_refuses(req))
			req_send(req, FILE_READ);
		break;
	case BLK_WRITE:
		req_send(req, FILE_WRITE);
		break;
	case BLK_FLUSH:
		req_send(req, FILE_SYNC);
		break;
	case BLK_WRITE_ZEROES:
		req_send(req, (io->flags & BLK_DEALLOCATE) != 0 ? FILE_PUNCH : FILE_ZERO);
		break;
	case BLK_TRIM:
		req_send(req, FILE_PUNCH);
		break;
	case BLK_MARK_BAD:
		req_mark(req, MARKS_BAD);
		break;
	}
}

/*
 * What is answered of a block that is in doubt must not be taken back by a restart: what is read no less than what is
 * written.  Who makes it good by what he writes has the list written in any case, and so has a mark.
 */
static bool
needs_certainty(struct file_req *req)
{
	enum blk_op op = req->blk_io->op;

	return op != BLK_MARK_BAD && op != BLK_FLUSH && !req->mends &&
	    touches(req->chan, &req->chan->marks.marks->doubt, req->blk_io, &(uint64_t){ 0 });
}

/* The piece is held and a request is free.  Always true: the I/O has left the line. */
static bool
file_start(void *owner, struct blk_io *io)
{
	struct file_chan *fc = owner;
	bool writes = io->op == BLK_WRITE || io->op == BLK_WRITE_ZEROES;
	struct file_req *req = req_take(fc, io);

	req->mends = writes && touches(fc, &fc->marks.marks->bad, io, &(uint64_t){ 0 });
	if (needs_certainty(req))
		req_mark(req, MARKS_AGAIN);
	else
		req_begin(req);
	return true;
}

/* With no request free only a completion can help. */
static void
file_retry(struct file_chan *fc)
{
	if (fc->line.count > 0 && fc->free_count > 0)
		line_retry(&fc->line, fc->free_count, file_start, fc);
	if (fc->free_count > 0)
		retry_later(&fc->retry, &fc->line, fc->chan.reactor);
}

static void
file_retry_fire(struct timer *timer)
{
	file_retry(container_of(timer, struct file_chan, retry.timer));
}

/* Starts the I/O or puts it in line. */
static void
file_go(struct file_chan *fc, struct blk_io *io)
{
	if (fc->free_count == 0)
		line_join(&fc->line, io);
	else if (line_enter(&fc->line, io))
		file_start(fc, io);
	if (fc->line.count > 0)
		file_retry(fc);
}

/* The I/O is over; its hold, if it had one, is dropped. */
static void
file_end(struct file_chan *fc, struct blk_io *io, struct nvme_status status)
{
	line_over(&fc->line, io);
	file_retry(fc);
	io->status = status;
	io->done(io, status);
}

static struct nvme_status
stopped(void)
{
	return nvme_status_of(NVME_SC_ABORT_REQUESTED, false);
}

static struct nvme_status
file_status(const struct file_io *file_io, int64_t error)
{
	return error == 0 ? NVME_OK : nvme_status_of_errno((int)error, file_io->op != FILE_READ);
}

/* A compare-and-write has read its blocks.  True: they are as expected, and are being written. */
static bool
req_compared(struct file_req *req)
{
	struct blk_io *io = req->blk_io;

	if (!copy_equals(io->expected, io->expected_count, io->old))
		return false;
	req_send(req, FILE_WRITE);
	return true;
}

/* Zeros would have to be written: the piece is too large for that. */
static void
req_again_small(struct file_req *req)
{
	struct file_chan *fc = req->chan;
	struct blk_io *io = req->blk_io;

	fc->pieces = LINE_SMALL;
	line_drop(&fc->line, io);
	req_give(req);
	io->flags |= LINE_SMALL;
	if (io->flags & LINE_STOPPED)
		file_end(fc, io, stopped());
	else
		file_go(fc, io);
}

/* The piece is done, or cannot be. */
static void
req_end(struct file_req *req, int64_t error, struct nvme_status status)
{
	struct file_chan *fc = req->chan;
	struct blk_io *io = req->blk_io;
	bool more = line_next(&fc->line, io);

	if (error == 0 && !more && io->op == BLK_WRITE_ZEROES && (io->flags & BLK_FUA) != 0) {
		req_send(req, FILE_SYNC);
		return;
	}
	req_give(req);
	if (error != 0 || !more)
		file_end(fc, io, status);
	else if (io->flags & LINE_STOPPED)
		file_end(fc, io, stopped());
	else
		file_go(fc, io);
}

/*
 * What was written over bad blocks: first it is made durable, then they are good,
 * which is durable too, then it is answered.  Whenever the machine stops, they
 * are bad or have the new data; what was there before they were marked is not
 * seen again.
 */
static void
req_mend(struct file_req *req, enum file_op was)
{
	if (req->blk_io->op == BLK_WRITE_ZEROES && was != FILE_SYNC)
		req_send(req, FILE_SYNC);
	else
		req_mark(req, MARKS_GOOD);
}

static void
marked(struct marks_change *change, int error)
{
	struct file_req *req = container_of(change, struct file_req, change);
	struct file_chan *fc = req->chan;

	if (error == 0 && change->kind == MARKS_AGAIN) {
		req_begin(req);
		file_retry(fc); /* it may have been refused, and what it held is free */
		return;
	}
	req->mends = false;
	req_end(req, error, nvme_status_of_errno(error, req->blk_io->op != BLK_READ));
}

static void
req_done(struct file_io *file_io)
{
	struct file_req *req = container_of(file_io, struct file_req, io);
	struct file_chan *fc = req->chan;
	struct blk_io *io = req->blk_io;
	int64_t error = file_io->result;
	bool synced = file_io->op == FILE_SYNC;
	struct nvme_status status;

	if (file_goes_on(req, &error))
		return;
	/* Its own bytes are safe, but a host takes its answer for more: that its device can still be trusted. */
	if (error == 0 && file_io->durable && fc->file->lost)
		error = -EIO;
	if (error == -E2BIG && !(io->flags & LINE_SMALL)) {
		req_again_small(req);
		return;
	}
	status = file_status(file_io, error);
	if (req->mends && error == 0) {
		req_mend(req, file_io->op);
		return;
	}
	if (io->op == BLK_WRITE_ZEROES && synced && !req->mends) { /* its hold was dropped before */
		req_give(req);
		file_end(fc, io, status);
		return;
	}
	if (io->op == BLK_COMPARE_WRITE && file_io->op == FILE_READ && error == 0) {
		if (req_compared(req))
			return;
		status = nvme_status_of(NVME_SC_COMPARE, true);
	}
	req_end(req, error, status);
}

static void
file_blk_submit(struct blk_chan *chan, struct blk_io *io)
{
	struct file_chan *fc = file_chan_of(chan);

	if (!line_begin(io) && io->op != BLK_FLUSH) {
		finish_push(&fc->finished, io, NVME_OK);
		reactor_run_in(chan->reactor, PHASE_COLLECT, &fc->collect);
		return;
	}
	io->flags |= fc->pieces;
	assert(io->op != BLK_COMPARE_WRITE || (io->flags & BLK_TRANSIENT) == 0);
	if (io->op == BLK_WRITE && (io->flags & BLK_TRANSIENT) != 0)
		io->keep(io);
	file_go(fc, io);
}

static void
file_collect(struct task *task)
{
	finish_all(&container_of(task, struct file_chan, collect)->finished);
}

static bool
file_cancel(struct blk_chan *chan, struct blk_io *io)
{
	struct file_chan *fc = file_chan_of(chan);

	if (!line_leave(&fc->line, io))
		return line_stop(&fc->line, io);
	finish_push(&fc->finished, io, stopped());
	reactor_run_in(chan->reactor, PHASE_COLLECT, &fc->collect);
	return true;
}

/* Files lend nothing. */
static void
file_release(struct blk_chan *chan, struct blk_io *io)
{
	assert(false);
}

static int
file_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct file_blk *fb = container_of(blk, struct file_blk, blk);
	struct file_chan *fc = arena_alloc(reactor->arena, sizeof(*fc));
	int error;

	if (fc == NULL)
		return -ENOMEM;
	error = reactor->world->file_share(fb->file, reactor, &fc->file);
	if (error != 0) {
		arena_free(reactor->arena, fc);
		return error;
	}
	fc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	line_init(&fc->line, &fb->range, STROKE_MAX / blk->block_size, FILE_ZEROS_MAX / blk->block_size,
	    LONGS_BEGUN);
	marks_chan_init(&fc->marks, &fb->marks, reactor);
	fifo_init(&fc->finished);
	task_init(&fc->collect, file_collect);
	fc->retry.timer.fire = file_retry_fire;
	for (int i = 0; i < FILE_REQUESTS; i++) {
		fc->reqs[i].chan = fc;
		fc->reqs[i].io.done = req_done;
		req_give(&fc->reqs[i]);
	}
	*chan = &fc->chan;
	return 0;
}

static void
file_close_chan(struct blk_chan *chan)
{
	struct file_chan *fc = file_chan_of(chan);

	assert(fc->line.count == 0 && fc->free_count == FILE_REQUESTS && fifo_empty(&fc->finished));
	timer_clear(&chan->reactor->timers, &fc->retry.timer);
	task_cancel(&fc->collect);
	marks_chan_fini(&fc->marks);
	chan->reactor->world->file_close(fc->file);
	arena_free(chan->reactor->arena, fc);
}

const struct blk_ops file_ops = {
	.open_chan = file_open_chan,
	.submit = file_blk_submit,
	.cancel = file_cancel,
	.release = file_release,
	.close_chan = file_close_chan,
	.grow = file_grow,
	.stretch = file_stretch,
	.undo = file_undo,
	.destroy = file_destroy,
};
