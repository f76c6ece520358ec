/*
 * flash.c - a volume on a modelled SSD (src/flash): what is asked of it takes as long as there.
 *
 * The drive is asked on one reactor, its home, and called when it wants to go on: by a timer, and in each turn in
 * which it is asked something.  Who compares holds his blocks, so that they are not changed before he writes.  Others
 * wait for nobody, as on a real drive: a block is all old or all new by itself, unless units are smaller than blocks.
 * What is in them the drive keeps in memory, or nobody does, or another device: that one is asked when the drive is
 * done.
 */
#include "blk/flash.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"
#include "blk/copy.h"
#include "blk/finish.h"
#include "flash/wear.h"

enum {
	STROKE_MAX = 64 * 1024 * 1024, /* bytes trimmed with one command */
	LONGS_BEGUN = 4,
};

static struct flash_chan *
flash_chan_of(struct blk_chan *chan)
{
	return container_of(chan, struct flash_chan, chan);
}

static struct nvme_status
stopped(void)
{
	return nvme_status_of(NVME_SC_ABORT_REQUESTED, false);
}

/* ---- commands ---- */

static void
req_send(struct flash_chan *fc, struct flash_req *req, enum drive_op op)
{
	struct blk_io *io = req->io;
	struct blk_range piece = line_piece(&fc->line, io);
	uint64_t block_size = fc->chan.blk->block_size;

	req->cmd = (struct drive_cmd){
		.op = (uint8_t)op, .fua = (io->flags & BLK_FUA) != 0, .owner = req,
	};
	if (op != DRIVE_FLUSH) {
		req->cmd.offset = piece.lba * block_size;
		req->cmd.bytes = piece.blocks * block_size;
	}
	if (fc->inner != NULL) {
		/* its contents are not the drive's */
	} else if (req->compares) {
		req->old = (struct iovec){ io->old, req->cmd.bytes };
		req->cmd.iov = &req->old;
		req->cmd.iov_count = 1;
	} else if (op == DRIVE_READ || op == DRIVE_WRITE) {
		req->cmd.iov = io->iov;
		req->cmd.iov_count = io->iov_count;
	}
	drive_submit(fc->drive, &req->cmd, fc->chan.reactor->now_ns);
}

static enum drive_op
op_of(const struct blk_io *io)
{
	switch (io->op) {
	case BLK_READ:
	case BLK_COMPARE_WRITE:
		return DRIVE_READ;
	case BLK_WRITE:
		return DRIVE_WRITE;
	case BLK_FLUSH:
	case BLK_MARK_BAD: /* of the device below; for the drive it is a command that moves nothing */
		return DRIVE_FLUSH;
	case BLK_WRITE_ZEROES: /* what is trimmed reads as zeros, and is as durable as what is written */
	case BLK_TRIM:
		return DRIVE_TRIM;
	}
	assert(false);
	return DRIVE_FLUSH;
}

/* The piece is held and a request is free. */
static bool
flash_start(void *owner, struct blk_io *io)
{
	struct flash_chan *fc = owner;
	struct flash_req *req = fc->free;

	fc->free = req->next_free;
	fc->free_count--;
	req->io = io;
	req->compares = io->op == BLK_COMPARE_WRITE;
	req_send(fc, req, op_of(io));
	return true;
}

static void
req_give(struct flash_chan *fc, struct flash_req *req)
{
	req->io = NULL;
	req->next_free = fc->free;
	fc->free = req;
	fc->free_count++;
}

static void
retry(struct flash_chan *fc)
{
	if (fc->line.count > 0 && fc->free_count > 0)
		line_retry(&fc->line, fc->free_count, flash_start, fc);
}

static void
go(struct flash_chan *fc, struct blk_io *io)
{
	if (fc->free_count == 0)
		line_join(&fc->line, io);
	else if (line_enter(&fc->line, io))
		flash_start(fc, io);
}

/* ---- answers ---- */

static void inner_done(struct blk_io *inner, struct nvme_status status);

/* Nothing more is done for its I/O, which holds nothing. */
static void
end(struct flash_chan *fc, struct flash_req *req, struct nvme_status status)
{
	struct blk_io *io = req->io;

	req_give(fc, req);
	line_over(&fc->line, io);
	finish_push(&fc->finished, io, status);
}

/* The drive is done with all of it; where its contents are another device's, that one is asked now. */
static void
req_over(struct flash_chan *fc, struct flash_req *req, struct nvme_status status)
{
	if (fc->inner == NULL || !nvme_ok(status)) {
		end(fc, req, status);
		return;
	}
	req->below = true;
	req->inner = *req->io;
	req->inner.flags &= ~(uint32_t)BLK_DEVICE;
	req->inner.done = inner_done;
	req->inner.owner = req;
	blk_submit(fc->inner, &req->inner);
}

static void
inner_done(struct blk_io *inner, struct nvme_status status)
{
	struct flash_req *req = inner->owner;
	struct flash_chan *fc = req->chan;
	struct blk_io *io = req->io;

	io->flags |= inner->flags & BLK_BAD;
	io->at = inner->at;
	req->below = false;
	end(fc, req, status);
	reactor_run_in(fc->chan.reactor, PHASE_COLLECT, &fc->collect);
}

/* What a COMPARE_WRITE looks at was read.  True: it is written now. */
static bool
goes_on(struct flash_chan *fc, struct flash_req *req, struct nvme_status *status)
{
	struct blk_io *io = req->io;

	if (!req->compares)
		return false;
	req->compares = false;
	if (fc->inner == NULL && !copy_equals(io->expected, io->expected_count, io->old)) {
		*status = nvme_status_of(NVME_SC_COMPARE, true);
		return false;
	}
	req_send(fc, req, DRIVE_WRITE);
	return true;
}

/* A command of the drive's is over: its I/O is, or goes on with what comes next. */
static void
req_done(struct flash_chan *fc, struct flash_req *req)
{
	struct blk_io *io = req->io;
	struct nvme_status status = NVME_OK;

	if (goes_on(fc, req, &status))
		return;
	if (!line_next(&fc->line, io)) {
		req_over(fc, req, status);
		return;
	}
	if (io->flags & LINE_STOPPED) {
		end(fc, req, stopped());
		return;
	}
	req_give(fc, req);
	go(fc, io);
}

void
flash_catch_up(struct flash_chan *fc)
{
	struct drive_cmd *cmd;

	while ((cmd = drive_run(fc->drive, fc->chan.reactor->now_ns)) != NULL)
		req_done(fc, cmd->owner);
}

void
flash_end_all(struct flash_chan *fc, struct nvme_status status)
{
	for (int i = 0; i < FLASH_REQUESTS; i++) {
		if (fc->reqs[i].io == NULL || fc->reqs[i].below)
			continue;
		line_drop(&fc->line, fc->reqs[i].io);
		end(fc, &fc->reqs[i], status);
	}
	reactor_run_in(fc->chan.reactor, PHASE_COLLECT, &fc->collect);
}

/* The drive has come to this turn's time; then whoever waits is begun, and the timer says when to look again. */
static void
flash_collect(struct task *task)
{
	struct flash_chan *fc = container_of(task, struct flash_chan, collect);
	struct reactor *reactor = fc->chan.reactor;
	uint64_t next;

	flash_catch_up(fc);
	retry(fc);
	finish_all(&fc->finished);
	next = drive_next(fc->drive);
	if (next <= reactor->now_ns || !fifo_empty(&fc->finished))
		reactor_run_in(reactor, PHASE_COLLECT, &fc->collect);
	else if (next != UINT64_MAX)
		timer_set(&reactor->timers, &fc->timer, next);
}

static void
flash_fire(struct timer *timer)
{
	struct flash_chan *fc = container_of(timer, struct flash_chan, timer);

	reactor_run_in(fc->chan.reactor, PHASE_COLLECT, &fc->collect);
}

/* ---- what a device does ---- */

static void
flash_submit(struct blk_chan *chan, struct blk_io *io)
{
	struct flash_chan *fc = flash_chan_of(chan);

	reactor_run_in(chan->reactor, PHASE_COLLECT, &fc->collect);
	if (!line_begin(io) && io->op != BLK_FLUSH) {
		finish_push(&fc->finished, io, NVME_OK);
		return;
	}
	if (io->op == BLK_WRITE && (io->flags & BLK_TRANSIENT) != 0)
		io->keep(io);
	go(fc, io);
}

/* The request that has it, if one has; nobody is in a hurry who cancels. */
static struct flash_req *
find(struct flash_chan *fc, const struct blk_io *io)
{
	for (int i = 0; i < FLASH_REQUESTS; i++)
		if (fc->reqs[i].io == io)
			return &fc->reqs[i];
	return NULL;
}

static bool
flash_cancel(struct blk_chan *chan, struct blk_io *io)
{
	struct flash_chan *fc = flash_chan_of(chan);
	struct flash_req *req = find(fc, io);

	if (req != NULL && req->below)
		return fc->inner->blk->ops->cancel(fc->inner, &req->inner);
	if (!line_leave(&fc->line, io))
		return line_stop(&fc->line, io);
	finish_push(&fc->finished, io, stopped());
	reactor_run_in(chan->reactor, PHASE_COLLECT, &fc->collect);
	return true;
}

/* Drives lend nothing. */
static void
flash_release(struct blk_chan *chan, struct blk_io *io)
{
	assert(false);
}

/* A unit is read, and written, at one instant; in media that are written in place all that is asked for is. */
static bool
keeps_whole(const struct drive *drive, uint32_t block_size)
{
	const struct flash_profile *profile = drive_profile(drive);

	return profile->media != FLASH_NAND || profile->unit_bytes >= block_size;
}

static int
flash_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct flash_blk *fb = container_of(blk, struct flash_blk, blk);
	struct flash_chan *fc = arena_alloc(reactor->arena, sizeof(*fc));
	int error;

	if (fc == NULL)
		return -ENOMEM;
	fc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	fc->drive = fb->drive;
	if (fb->inner != NULL && (error = fb->inner->ops->open_chan(fb->inner, reactor, &fc->inner)) != 0) {
		arena_free(reactor->arena, fc);
		return error;
	}
	line_init(&fc->line, &fb->range, STROKE_MAX / blk->block_size, STROKE_MAX / blk->block_size, LONGS_BEGUN);
	fc->line.whole = keeps_whole(fb->drive, blk->block_size);
	fifo_init(&fc->finished);
	task_init(&fc->collect, flash_collect);
	fc->timer.fire = flash_fire;
	for (int i = 0; i < FLASH_REQUESTS; i++) {
		fc->reqs[i].chan = fc;
		req_give(fc, &fc->reqs[i]);
	}
	*chan = &fc->chan;
	return 0;
}

static void
flash_close_chan(struct blk_chan *chan)
{
	struct flash_chan *fc = flash_chan_of(chan);

	assert(fc->line.count == 0 && fc->free_count == FLASH_REQUESTS && fifo_empty(&fc->finished));
	timer_clear(&chan->reactor->timers, &fc->timer);
	task_cancel(&fc->collect);
	if (fc->inner != NULL)
		fc->inner->blk->ops->close_chan(fc->inner);
	arena_free(chan->reactor->arena, fc);
}

static void
flash_destroy(struct blk *blk)
{
	struct flash_blk *fb = container_of(blk, struct flash_blk, blk);
	struct reactor *opener = fb->opener;

	if (fb->drive != NULL)
		drive_destroy(fb->drive);
	if (fb->inner != NULL)
		fb->inner->ops->destroy(fb->inner);
	if (fb->store != NULL)
		opener->world->pages_unmap(opener, fb->store, fb->store_bytes);
	if (fb->pmr != NULL)
		opener->world->pages_unmap(opener, fb->pmr, fb->pmr_bytes);
	range_fini(&fb->range, blk->arena);
	arena_free(blk->arena, fb);
}

/* It stays as large as it is; what opening made is the device's below. */
static int
flash_undo(struct blk *blk, struct reactor *reactor)
{
	struct blk *inner = container_of(blk, struct flash_blk, blk)->inner;

	return inner != NULL ? blk_undo(inner, reactor) : 0;
}

/* Blocks that wear out are not modelled: none of the spare ones is taken. */
static bool
flash_health(const struct blk_chan *chan, struct blk_health *health)
{
	struct drive *drive = container_of(chan, const struct flash_chan, chan)->drive;
	const struct drive_counts *counts = drive_counts(drive);
	struct flash_wear wear;

	wear_of_drive(drive, &wear);
	*health = (struct blk_health){
		.reads = counts->read_commands, .writes = counts->write_commands, .read_bytes = counts->read_bytes,
		.written_bytes = container_of(chan->blk, struct flash_blk, blk)->prepared_bytes + counts->write_bytes,
		.media_bytes = wear.media_bytes, .erases_least = wear.erases_least, .erases_most = wear.erases_most,
		.erases_mean_permille = wear.erases_mean_permille, .used_percent = wear.used_percent,
		.spare_percent = 100, .spare_threshold_percent = 10,
	};
	return true;
}

const struct blk_ops flash_ops = {
	.open_chan = flash_open_chan,
	.submit = flash_submit,
	.cancel = flash_cancel,
	.release = flash_release,
	.close_chan = flash_close_chan,
	.undo = flash_undo,
	.health = flash_health,
	.destroy = flash_destroy,
};
