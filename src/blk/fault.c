/*
 * fault.c - a filter that makes a device go wrong on purpose.
 *
 * So that a test can show that it would notice: a write that is acknowledged
 * and not done, an error at a block, a device that takes its time.  Writes and
 * flushes are counted by each reactor for itself: with one reactor the N-th is
 * the N-th of all.  What is delayed is at the device for whoever sent it, and
 * begins in the end.
 */
#include "blk/devices.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"
#include "blk/finish.h"
#include "world/reactor.h"

enum { NS_PER_MS = 1000 * 1000 };

struct fault {
	struct blk blk;
	struct blk *inner;
	struct fault_plan plan;
};

struct fault_chan {
	struct blk_chan chan;
	struct blk_chan *inner;
	uint64_t writes, flushes;
	struct fifo finished; /* those that the inner device never sees */
	struct task collect;
	struct fifo held;     /* until they are cancelled */
	struct fifo late;     /* in the order in which they came; `at` says when they begin */
	struct timer timer;
};

static struct fault_chan *
fault_chan_of(struct blk_chan *chan)
{
	return container_of(chan, struct fault_chan, chan);
}

static bool
touches(const struct blk_io *io, uint64_t lba)
{
	return lba >= io->lba && lba - io->lba < io->blocks;
}

/* Whether the I/O ends here, and how. */
static bool
strikes(struct fault_chan *fc, const struct fault_plan *plan, const struct blk_io *io,
    struct nvme_status *status)
{
	*status = NVME_OK;
	if (plan->dead != 0) {
		*status = nvme_status_of(io->op == BLK_READ ? NVME_SC_READ_ERROR : NVME_SC_WRITE_FAULT, false);
		return true;
	}
	switch (io->op) {
	case BLK_READ:
		*status = nvme_status_of(NVME_SC_READ_ERROR, false);
		return touches(io, plan->read_lba);
	case BLK_WRITE:
		if (++fc->writes == plan->drop_write)
			return true;
		*status = nvme_status_of(NVME_SC_WRITE_FAULT, false);
		return touches(io, plan->write_lba);
	case BLK_COMPARE_WRITE:
		if (touches(io, plan->read_lba)) {
			*status = nvme_status_of(NVME_SC_READ_ERROR, false);
			return true;
		}
		*status = nvme_status_of(NVME_SC_WRITE_FAULT, false);
		return touches(io, plan->write_lba);
	case BLK_WRITE_ZEROES:
	case BLK_MARK_BAD:
		*status = nvme_status_of(NVME_SC_WRITE_FAULT, false);
		return touches(io, plan->write_lba);
	case BLK_FLUSH:
		*status = nvme_status_of(NVME_SC_WRITE_FAULT, false);
		return ++fc->flushes == plan->flush_error;
	case BLK_TRIM:
		break;
	}
	return false;
}

static void
finish(struct fault_chan *fc, struct blk_io *io, struct nvme_status status)
{
	finish_push(&fc->finished, io, status);
	reactor_run_in(fc->chan.reactor, PHASE_COLLECT, &fc->collect);
}

static void
begin(struct fault_chan *fc, struct blk_io *io)
{
	const struct fault *fault = container_of(fc->chan.blk, struct fault, blk);
	struct nvme_status status;

	if (strikes(fc, &fault->plan, io, &status))
		finish(fc, io, status);
	else
		blk_submit(fc->inner, io);
}

static void
begin_late(struct timer *timer)
{
	struct fault_chan *fc = container_of(timer, struct fault_chan, timer);
	struct reactor *reactor = fc->chan.reactor;

	while (!fifo_empty(&fc->late)) {
		struct blk_io *io = container_of(fc->late.head, struct blk_io, node);

		if (io->at > reactor->now_ns) {
			timer_set(&reactor->timers, timer, io->at);
			return;
		}
		fifo_pop(&fc->late);
		begin(fc, io);
	}
}

static bool
writes(const struct blk_io *io)
{
	return io->op == BLK_WRITE || io->op == BLK_WRITE_ZEROES || io->op == BLK_COMPARE_WRITE;
}

static void
fault_submit(struct blk_chan *chan, struct blk_io *io)
{
	const struct fault_plan *plan = &container_of(chan->blk, struct fault, blk)->plan;
	struct fault_chan *fc = fault_chan_of(chan);
	bool holds = io->op != BLK_TRIM && touches(io, plan->hold_lba);
	uint64_t delay_ms = writes(io) && plan->delay_write_ms > 0 ? plan->delay_write_ms : plan->delay_ms;

	if (!holds && delay_ms == 0) {
		begin(fc, io);
		return;
	}
	if (io->flags & BLK_TRANSIENT)
		io->keep(io);
	io->at = chan->reactor->now_ns + delay_ms * NS_PER_MS;
	fifo_push(holds ? &fc->held : &fc->late, &io->node);
	if (!holds && !fc->timer.armed)
		timer_set(&chan->reactor->timers, &fc->timer, io->at);
}

static void
fault_collect(struct task *task)
{
	finish_all(&container_of(task, struct fault_chan, collect)->finished);
}

static bool
is_in(const struct fifo *fifo, const struct blk_io *io)
{
	for (struct fifo_node *node = fifo->head; node != NULL; node = node->next)
		if (node == &io->node)
			return true;
	return false;
}

static bool
take_held(struct fault_chan *fc, const struct blk_io *io)
{
	struct fifo others;
	struct fifo_node *node;
	bool found = false;

	fifo_init(&others);
	while ((node = fifo_pop(&fc->held)) != NULL) {
		if (node == &io->node)
			found = true;
		else
			fifo_push(&others, node);
	}
	fifo_splice(&fc->held, &others);
	return found;
}

static bool
fault_cancel(struct blk_chan *chan, struct blk_io *io)
{
	struct fault_chan *fc = fault_chan_of(chan);

	if (is_in(&fc->finished, io) || is_in(&fc->late, io))
		return false;
	if (!take_held(fc, io))
		return fc->inner->blk->ops->cancel(fc->inner, io);
	finish(fc, io, nvme_status_of(NVME_SC_ABORT_REQUESTED, false));
	return true;
}

/* What is lent was lent by the inner device. */
static void
fault_release(struct blk_chan *chan, struct blk_io *io)
{
	struct fault_chan *fc = fault_chan_of(chan);

	fc->inner->blk->ops->release(fc->inner, io);
}

static bool
fault_wanted(const struct blk_chan *chan, const struct blk_io *io)
{
	const struct fault_chan *fc = container_of(chan, const struct fault_chan, chan);

	return fc->inner->blk->ops->wanted(fc->inner, io);
}

static void
fault_close_chan(struct blk_chan *chan)
{
	struct fault_chan *fc = fault_chan_of(chan);

	assert(fifo_empty(&fc->finished) && fifo_empty(&fc->held) && fifo_empty(&fc->late));
	task_cancel(&fc->collect);
	timer_clear(&chan->reactor->timers, &fc->timer);
	fc->inner->blk->ops->close_chan(fc->inner);
	arena_free(chan->reactor->arena, fc);
}

static int
fault_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct fault *fault = container_of(blk, struct fault, blk);
	struct fault_chan *fc = arena_alloc(reactor->arena, sizeof(*fc));
	int error;

	if (fc == NULL)
		return -ENOMEM;
	fc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	fifo_init(&fc->finished);
	fifo_init(&fc->held);
	fifo_init(&fc->late);
	fc->timer.fire = begin_late;
	task_init(&fc->collect, fault_collect);
	error = fault->inner->ops->open_chan(fault->inner, reactor, &fc->inner);
	if (error != 0) {
		arena_free(reactor->arena, fc);
		return error;
	}
	*chan = &fc->chan;
	return 0;
}

static void
fault_destroy(struct blk *blk)
{
	struct fault *fault = container_of(blk, struct fault, blk);

	fault->inner->ops->destroy(fault->inner);
	arena_free(blk->arena, fault);
}

static int
fault_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks)
{
	struct fault *fault = container_of(blk, struct fault, blk);
	struct blk *inner = fault->inner;
	int error = inner->ops->grow != NULL ? inner->ops->grow(inner, reactor, blocks) : -EOPNOTSUPP;

	blk->blocks = fault->inner->blocks;
	return error;
}

static int
fault_stretch(struct blk *blk, struct reactor *reactor, uint64_t blocks, int64_t *was)
{
	return blk_stretch(container_of(blk, struct fault, blk)->inner, reactor, blocks, was);
}

static int
fault_undo(struct blk *blk, struct reactor *reactor)
{
	struct fault *fault = container_of(blk, struct fault, blk);
	int error = blk_undo(fault->inner, reactor);

	blk->blocks = fault->inner->blocks;
	return error;
}

static bool
fault_health(const struct blk_chan *chan, struct blk_health *health)
{
	return blk_health(container_of(chan, const struct fault_chan, chan)->inner, health);
}

static const struct blk_ops fault_ops = {
	.open_chan = fault_open_chan,
	.submit = fault_submit,
	.cancel = fault_cancel,
	.release = fault_release,
	.wanted = fault_wanted,
	.close_chan = fault_close_chan,
	.grow = fault_grow,
	.stretch = fault_stretch,
	.undo = fault_undo,
	.health = fault_health,
	.destroy = fault_destroy,
};

int
fault_open(struct reactor *reactor, const struct fault_plan *plan, struct blk *inner, struct blk **blk)
{
	struct fault *fault = arena_alloc(reactor->arena, sizeof(*fault));

	if (fault == NULL) {
		blk_discard(inner, reactor);
		return -ENOMEM;
	}
	fault->blk = *inner; /* the path too: the device below owns it and lives as long */
	fault->blk.ops = &fault_ops;
	fault->blk.arena = reactor->arena;
	fault->inner = inner;
	fault->plan = *plan;
	*blk = &fault->blk;
	return 0;
}
