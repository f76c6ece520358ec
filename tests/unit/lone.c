#include "lone.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"
#include "base/rng.h"
#include "blk/finish.h"

enum { DELAY_NS = 8000 };

struct lone {
	struct blk blk;
	struct blk *inner;
	unsigned home;
	struct lone_chan *chan; /* the one */
};

struct lone_chan {
	struct blk_chan chan;
	struct blk_chan *inner;
	struct rng rng;
	struct list late;       /* I/Os; `at` says when they begin */
	struct timer timer;
	struct fifo finished;
	struct task collect;
};

static struct lone_chan *
chan_of(const struct blk_chan *chan)
{
	struct lone *lone = container_of(chan->blk, struct lone, blk);

	assert(&lone->chan->chan == chan && chan->reactor->index == lone->home);
	return lone->chan;
}

static void
begin_late(struct timer *timer)
{
	struct lone_chan *lc = container_of(timer, struct lone_chan, timer);
	uint64_t now_ns = lc->chan.reactor->now_ns;

	list_for_each(&lc->late, node) {
		struct blk_io *io = container_of(node, struct blk_io, place);

		if (io->at > now_ns)
			continue;
		list_remove(&io->place);
		io->flags &= ~(uint32_t)BLK_DEVICE;
		blk_submit(lc->inner, io);
	}
	if (!list_empty(&lc->late))
		timer_set(&lc->chan.reactor->timers, timer, now_ns + 1);
}

static void
lone_submit(struct blk_chan *chan, struct blk_io *io)
{
	struct lone_chan *lc = chan_of(chan);

	if ((io->flags & BLK_TRANSIENT) != 0)
		io->keep(io);
	io->at = chan->reactor->now_ns + rng_below(&lc->rng, DELAY_NS);
	io->flags |= BLK_DEVICE; /* it has not begun */
	list_push(&lc->late, &io->place);
	if (!lc->timer.armed)
		timer_set(&chan->reactor->timers, &lc->timer, chan->reactor->now_ns + 1);
}

static void
collect(struct task *task)
{
	finish_all(&container_of(task, struct lone_chan, collect)->finished);
}

static bool
lone_cancel(struct blk_chan *chan, struct blk_io *io)
{
	struct lone_chan *lc = chan_of(chan);

	if ((io->flags & BLK_DEVICE) != BLK_DEVICE)
		return lc->inner->blk->ops->cancel(lc->inner, io);
	list_remove(&io->place);
	io->flags &= ~(uint32_t)BLK_DEVICE;
	finish_push(&lc->finished, io, nvme_status_of(NVME_SC_ABORT_REQUESTED, false));
	reactor_run_in(chan->reactor, PHASE_COLLECT, &lc->collect);
	return true;
}

static void
lone_release(struct blk_chan *chan, struct blk_io *io)
{
	struct lone_chan *lc = chan_of(chan);

	lc->inner->blk->ops->release(lc->inner, io);
}

static bool
lone_wanted(const struct blk_chan *chan, const struct blk_io *io)
{
	const struct lone_chan *lc = chan_of(chan);

	return lc->inner->blk->ops->wanted(lc->inner, io);
}

static int
lone_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct lone *lone = container_of(blk, struct lone, blk);
	struct lone_chan *lc = arena_alloc(reactor->arena, sizeof(*lc));
	int error;

	assert(lone->chan == NULL && reactor->index == lone->home);
	if (lc == NULL)
		return -ENOMEM;
	error = lone->inner->ops->open_chan(lone->inner, reactor, &lc->inner);
	if (error != 0) {
		arena_free(reactor->arena, lc);
		return error;
	}
	lc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	rng_seed(&lc->rng, 7);
	list_init(&lc->late);
	lc->timer.fire = begin_late;
	fifo_init(&lc->finished);
	task_init(&lc->collect, collect);
	lone->chan = lc;
	*chan = &lc->chan;
	return 0;
}

static void
lone_close_chan(struct blk_chan *chan)
{
	struct lone_chan *lc = chan_of(chan);

	assert(list_empty(&lc->late) && fifo_empty(&lc->finished));
	timer_clear(&chan->reactor->timers, &lc->timer);
	task_cancel(&lc->collect);
	lc->inner->blk->ops->close_chan(lc->inner);
	container_of(chan->blk, struct lone, blk)->chan = NULL;
	arena_free(chan->reactor->arena, lc);
}

static void
lone_destroy(struct blk *blk)
{
	struct lone *lone = container_of(blk, struct lone, blk);

	assert(lone->chan == NULL);
	lone->inner->ops->destroy(lone->inner);
	arena_free(blk->arena, lone);
}

static const struct blk_ops lone_ops = {
	.open_chan = lone_open_chan,
	.submit = lone_submit,
	.cancel = lone_cancel,
	.release = lone_release,
	.wanted = lone_wanted,
	.close_chan = lone_close_chan,
	.destroy = lone_destroy,
};

int
lone_open(struct reactor *reactor, unsigned home, uint32_t block_size, struct blk **blk)
{
	struct lone *lone = arena_alloc(reactor->arena, sizeof(*lone));
	char why[256];
	int error;

	if (lone == NULL)
		return -ENOMEM;
	error = blk_open(reactor, "mem:4M", block_size, &lone->inner, why);
	if (error != 0) {
		arena_free(reactor->arena, lone);
		return error;
	}
	lone->blk = *lone->inner;
	lone->blk.ops = &lone_ops;
	lone->home = home;
	*blk = &lone->blk;
	return 0;
}

bool
lone_is_open(const struct blk *blk)
{
	return container_of(blk, const struct lone, blk)->chan != NULL;
}
