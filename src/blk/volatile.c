/*
 * volatile.c - a filter that forgets, when the process dies, what was written and not flushed.
 *
 * As a drive with a volatile write cache does when its power fails: so that a
 * test which kills a target sees what its host may count on, although the
 * kernel would have kept every write.  What is written stays in memory
 * (kept.h) and goes to the device below at a flush, and where a reactor keeps
 * too much, the oldest first.  FUA goes there at once.
 *
 * TRIM, long zeroes and writes that find no room pass through: a drive, too,
 * may do what it likes before it is told to flush.  How what is kept is written
 * down is volatile_sweep.c's.
 */
#include "blk/volatile.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"
#include "blk/bad.h"
#include "blk/copy.h"

enum {
	ZEROES_KEPT = 1024 * 1024,  /* bytes; more zeroes at once pass through */
	LONGS_BEGUN = 4,            /* at once, per channel */
	EARLY_ONE_IN = 4,           /* with a seed: so many writes send one block down */
};

static void vol_go(struct vol_chan *vc, struct blk_io *io);

static struct vol_chan *
vol_chan_of(struct blk_chan *chan)
{
	return container_of(chan, struct vol_chan, chan);
}

void
vol_finish(struct vol_chan *vc, struct blk_io *io, struct nvme_status status)
{
	finish_push(&vc->finished, io, status);
	reactor_run_in(vc->chan.reactor, PHASE_COLLECT, &vc->collect);
}

/* The current piece is done. */
static void
vol_end(struct vol_chan *vc, struct blk_io *io, struct nvme_status status)
{
	if (line_next(&vc->line, io) && is_ok(status)) {
		vol_go(vc, io);
	} else {
		line_over(&vc->line, io);
		vol_finish(vc, io, status);
	}
}

/* ---- to and from the device below ---- */

static struct vol_req *
req_take(struct vol_chan *vc, struct blk_io *outer, void (*done)(struct blk_io *io, struct nvme_status status))
{
	struct vol_req *req = vc->free;

	assert(req != NULL);
	vc->free = req->next_free;
	vc->free_count--;
	req->outer = outer;
	req->io = (struct blk_io){ .lba = outer->lba, .blocks = outer->blocks, .done = done, .owner = req };
	return req;
}

static struct blk_io *
req_give(struct vol_req *req)
{
	struct blk_io *outer = req->outer;

	req->outer = NULL;
	req->next_free = req->chan->free;
	req->chan->free = req;
	req->chan->free_count++;
	return outer;
}

static void
pass_done(struct blk_io *io, struct nvme_status status)
{
	struct vol_req *req = io->owner;
	struct vol_chan *vc = req->chan;
	struct blk_io *outer = req_give(req);
	struct blk_range piece = line_piece(&vc->line, outer);

	if (is_ok(status))
		kept_forget(&vc->vol->kept, piece.lba, piece.blocks);
	vol_end(vc, outer, status);
}

/* The device below does it. */
static void
pass(struct vol_chan *vc, struct blk_io *outer, enum blk_op op)
{
	struct vol_req *req = req_take(vc, outer, pass_done);

	if (op == BLK_WRITE && (outer->flags & BLK_TRANSIENT) != 0)
		outer->keep(outer);
	req->io.op = op;
	req->io.flags = outer->flags & (BLK_FUA | BLK_DEALLOCATE);
	if (op == BLK_TRIM) {
		req->range = line_piece(&vc->line, outer);
		req->io.ranges = &req->range;
		req->io.range_count = 1;
	} else if (op == BLK_WRITE) {
		req->io.iov = outer->iov;
		req->io.iov_count = outer->iov_count;
	}
	blk_submit(vc->inner, &req->io);
}

/* What it wrote is kept. */
static void
kept_end(struct vol_chan *vc, struct blk_io *io)
{
	struct kept *kept = &vc->vol->kept;
	unsigned ring = vc->chan.reactor->index;
	bool early = vc->vol->seed != 0 && !kept_ring_empty(kept, ring) && rng_below(&vc->rng, EARLY_ONE_IN) == 0;

	if (kept_ring_full(kept, ring))
		vc->wished = kept_sweep_oldest(kept, ring, &vc->wished_run);
	else if (early)
		vc->wished = kept_sweep_any(kept, ring, rng_next(&vc->rng), &vc->wished_run);
	else {
		vol_end(vc, io, NVME_OK);
		return;
	}
	line_drop(&vc->line, io);
	fifo_push(&vc->riders, &io->node);
	reactor_run_in(vc->chan.reactor, PHASE_COLLECT, &vc->collect);
}

/* Below: the blocks would be bad still when what is kept of them is read together with others. */
static bool
mends(const struct vol *vol, const struct blk_io *io)
{
	return vol->inner->bad != NULL && bad_any(vol->inner->bad, io->lba, io->blocks, &(uint64_t){ 0 });
}

static void
write_held(struct vol_chan *vc, struct blk_io *io, const struct iovec *iov)
{
	struct kept *kept = &vc->vol->kept;
	unsigned ring = vc->chan.reactor->index;
	enum blk_op op = io->op == BLK_WRITE_ZEROES ? BLK_WRITE_ZEROES : BLK_WRITE;

	if ((io->flags & BLK_FUA) != 0 || mends(vc->vol, io) || !kept_room(kept, ring, io->blocks) ||
	    (iov == NULL && (uint64_t)io->blocks * kept->block_size > ZEROES_KEPT)) {
		pass(vc, io, op);
		return;
	}
	kept_put(kept, ring, io->lba, io->blocks, iov);
	kept_end(vc, io);
}

/* The device below has said what it has of the blocks, or nobody needed to ask. */
static void
fetched(struct vol_chan *vc, struct blk_io *io, const struct iovec *iov)
{
	kept_over(&vc->vol->kept, io->lba, io->blocks, iov);
	if (io->op == BLK_READ)
		vol_end(vc, io, NVME_OK);
	else if (copy_equals(io->expected, io->expected_count, io->old))
		write_held(vc, io, io->iov);
	else
		vol_end(vc, io, nvme_status_of(NVME_SC_COMPARE, true));
}

static void
fetch_done(struct blk_io *io, struct nvme_status status)
{
	struct vol_req *req = io->owner;
	struct vol_chan *vc = req->chan;
	const struct iovec iov = req->iov, *into = io->iov;
	struct blk_io *outer = req_give(req);

	if (!is_ok(status)) {
		vol_end(vc, outer, status);
		outer->flags |= io->flags & BLK_BAD;
		outer->at = io->at;
	} else {
		fetched(vc, outer, into == &req->iov ? &iov : into);
	}
}

/* The blocks as they are, into the buffers of a read or where a compare-and-write has room for them. */
static void
fetch(struct vol_chan *vc, struct blk_io *io)
{
	struct iovec old = { io->old, (size_t)io->blocks * vc->chan.blk->block_size };
	bool reads = io->op == BLK_READ;
	struct vol_req *req;

	if (kept_all(&vc->vol->kept, io->lba, io->blocks)) {
		fetched(vc, io, reads ? io->iov : &old);
		return;
	}
	req = req_take(vc, io, fetch_done);
	req->iov = old;
	req->io.op = BLK_READ;
	req->io.iov = reads ? io->iov : &req->iov;
	req->io.iov_count = reads ? io->iov_count : 1;
	blk_submit(vc->inner, &req->io);
}

/* ---- the life of an I/O ---- */

/* The piece is held, and a request is free.  Always true: the I/O has left the line. */
static bool
vol_start(void *owner, struct blk_io *io)
{
	struct vol_chan *vc = owner;

	if (io == &vc->sweep.hold) {
		sweep_held(vc);
		return true;
	}
	switch (io->op) {
	case BLK_READ:
	case BLK_COMPARE_WRITE:
		fetch(vc, io);
		break;
	case BLK_WRITE:
		write_held(vc, io, io->iov);
		break;
	case BLK_WRITE_ZEROES:
		write_held(vc, io, NULL);
		break;
	case BLK_TRIM:
	case BLK_MARK_BAD:
		pass(vc, io, io->op);
		break;
	case BLK_FLUSH:
		break;
	}
	return true;
}

/* With no request free only a completion can help. */
static void
vol_retry(struct vol_chan *vc)
{
	if (vc->line.count > 0 && vc->free_count > 0)
		line_retry(&vc->line, vc->free_count, vol_start, vc);
	if (vc->free_count > 0)
		retry_later(&vc->retry, &vc->line, vc->chan.reactor);
}

static void
vol_retry_fire(struct timer *timer)
{
	vol_retry(container_of(timer, struct vol_chan, retry.timer));
}

/* Starts the I/O or puts it in line. */
static void
vol_go(struct vol_chan *vc, struct blk_io *io)
{
	if (vc->free_count == 0)
		line_join(&vc->line, io);
	else if (line_enter(&vc->line, io))
		vol_start(vc, io);
	reactor_run_in(vc->chan.reactor, PHASE_COLLECT, &vc->collect);
}

static void
vol_submit(struct blk_chan *chan, struct blk_io *io)
{
	struct vol_chan *vc = vol_chan_of(chan);
	bool touches = line_begin(io);

	assert(io->op != BLK_COMPARE_WRITE || (io->flags & BLK_TRANSIENT) == 0);
	if (io->op == BLK_FLUSH) {
		fifo_push(&vc->riders, &io->node);
		reactor_run_in(chan->reactor, PHASE_COLLECT, &vc->collect);
	} else if (!touches) {
		vol_finish(vc, io, NVME_OK);
	} else {
		vol_go(vc, io);
		if ((io->flags & LINE_WAITING) != 0 && (io->flags & BLK_TRANSIENT) != 0)
			io->keep(io);
	}
}

static void
vol_collect(struct task *task)
{
	struct vol_chan *vc = container_of(task, struct vol_chan, collect);

	sweep_begin(vc);
	vol_retry(vc);
	finish_all(&vc->finished);
}

static bool
vol_cancel(struct blk_chan *chan, struct blk_io *io)
{
	struct vol_chan *vc = vol_chan_of(chan);

	if (!line_leave(&vc->line, io))
		return false;
	vol_finish(vc, io, nvme_status_of(NVME_SC_ABORT_REQUESTED, false));
	return true;
}

/* Nothing is lent. */
static void
vol_release(struct blk_chan *chan, struct blk_io *io)
{
	assert(false);
}

/* ---- opening and closing ---- */

static int
vol_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct vol *vol = container_of(blk, struct vol, blk);
	struct vol_chan *vc = arena_alloc(reactor->arena, sizeof(*vc));
	int error;

	if (vc == NULL)
		return -ENOMEM;
	error = vol->inner->ops->open_chan(vol->inner, reactor, &vc->inner);
	if (error != 0) {
		arena_free(reactor->arena, vc);
		return error;
	}
	vc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	vc->vol = vol;
	line_init(&vc->line, &vol->range, UINT32_MAX, UINT32_MAX, LONGS_BEGUN);
	fifo_init(&vc->finished);
	fifo_init(&vc->riders);
	fifo_init(&vc->sweep.riders);
	task_init(&vc->collect, vol_collect);
	vc->retry.timer.fire = vol_retry_fire;
	rng_seed(&vc->rng, vol->seed + reactor->index);
	for (int i = 0; i < VOL_REQUESTS; i++) {
		vc->reqs[i].chan = vc;
		req_give(&vc->reqs[i]);
	}
	for (int i = 0; i < SWEEP_REQUESTS; i++) {
		vc->sweep.reqs[i].chan = vc;
		vc->sweep.reqs[i].next_free = vc->sweep.free;
		vc->sweep.free = &vc->sweep.reqs[i];
	}
	*chan = &vc->chan;
	return 0;
}

static void
vol_close_chan(struct blk_chan *chan)
{
	struct vol_chan *vc = vol_chan_of(chan);

	assert(vc->line.count == 0 && vc->free_count == VOL_REQUESTS && fifo_empty(&vc->finished));
	assert(!vc->sweep.busy && fifo_empty(&vc->riders));
	timer_clear(&chan->reactor->timers, &vc->retry.timer);
	task_cancel(&vc->collect);
	vc->inner->blk->ops->close_chan(vc->inner);
	arena_free(chan->reactor->arena, vc);
}

/* What is kept is lost. */
static void
vol_destroy(struct blk *blk)
{
	struct vol *vol = container_of(blk, struct vol, blk);

	vol->inner->ops->destroy(vol->inner);
	kept_fini(&vol->kept);
	range_fini(&vol->range, blk->arena);
	arena_free(blk->arena, vol);
}

/* First where it is kept: that may be too much without harm, when the device below cannot. */
static int
vol_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks)
{
	struct vol *vol = container_of(blk, struct vol, blk);
	struct blk *inner = vol->inner;
	bool below = inner->blocks < blocks;
	int error = inner->ops->grow == NULL ? -EOPNOTSUPP : blocks > UINT32_MAX ? -EFBIG : 0;

	if (error == 0)
		error = kept_grow(&vol->kept, blocks);
	if (error == 0 && below)
		error = inner->ops->grow(inner, reactor, blocks);
	if (error == 0) {
		vol->below = below;
		blk_grown(blk, blocks);
	}
	return error;
}

/* As vol_grow() will, of the device below. */
static int
vol_stretch(struct blk *blk, struct reactor *reactor, uint64_t blocks, int64_t *was)
{
	struct blk *inner = container_of(blk, struct vol, blk)->inner;

	return inner->blocks < blocks && blocks <= UINT32_MAX ? blk_stretch(inner, reactor, blocks, was) : 0;
}

static int
vol_undo(struct blk *blk, struct reactor *reactor)
{
	struct vol *vol = container_of(blk, struct vol, blk);

	blk->blocks = blk->before;
	return vol->below ? blk_undo(vol->inner, reactor) : 0;
}

static bool
vol_health(const struct blk_chan *chan, struct blk_health *health)
{
	return blk_health(container_of(chan, const struct vol_chan, chan)->inner, health);
}

static const struct blk_ops vol_ops = {
	.open_chan = vol_open_chan,
	.submit = vol_submit,
	.cancel = vol_cancel,
	.release = vol_release,
	.close_chan = vol_close_chan,
	.grow = vol_grow,
	.stretch = vol_stretch,
	.undo = vol_undo,
	.health = vol_health,
	.destroy = vol_destroy,
};

int
volatile_open(struct reactor *reactor, const struct volatile_plan *plan, struct blk *inner, struct blk **blk)
{
	struct vol *vol = arena_alloc(reactor->arena, sizeof(*vol));
	int error = -ENOMEM;

	if (vol == NULL)
		goto fail;
	vol->blk = *inner; /* the path too: the device below owns it and lives as long */
	vol->blk.ops = &vol_ops;
	vol->blk.arena = reactor->arena;
	vol->blk.lends = false;
	vol->blk.volatile_cache = true;
	vol->blk.cache_life = blk_new_life(reactor);
	vol->seed = plan->seed;
	error = range_init(&vol->range, reactor->arena, inner->blocks, inner->block_size, reactor->count);
	if (error != 0)
		goto fail;
	error = kept_init(&vol->kept, reactor, inner->blocks, inner->block_size,
	    (uint32_t)(plan->keep / inner->block_size));
	if (error != 0) {
		range_fini(&vol->range, reactor->arena);
		goto fail;
	}
	vol->inner = inner;
	vol->below = true;
	*blk = &vol->blk;
	return 0;
fail:
	arena_free(reactor->arena, vol);
	blk_discard(inner, reactor);
	return error;
}
