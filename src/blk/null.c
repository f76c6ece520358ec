/*
 * null.c - a volume that is not there: reads are zeros, writes are forgotten.
 *
 * It costs the least a device can cost, so what a target spends on it is the
 * target's own.  Zeros are lent from one buffer that all reads share.
 */
#include "blk/devices.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "blk/copy.h"
#include "blk/finish.h"
#include "world/reactor.h"

enum { ZEROS = 1024 * 1024 }; /* the largest read that can be lent */

struct null {
	struct blk blk;
	struct reactor *reactor; /* who opened it */
	void *zeros;             /* never written to */
};

struct null_chan {
	struct blk_chan chan;
	struct fifo finished;
	struct task collect;
};

static struct null_chan *
null_chan_of(struct blk_chan *chan)
{
	return container_of(chan, struct null_chan, chan);
}

static bool
all_zeros(const struct iovec *iov, uint32_t iov_count)
{
	for (uint32_t i = 0; i < iov_count; i++) {
		const uint8_t *at = iov[i].iov_base;

		if (iov[i].iov_len > 0 && (at[0] != 0 || memcmp(at, at + 1, iov[i].iov_len - 1) != 0))
			return false;
	}
	return true;
}

static void
null_submit(struct blk_chan *chan, struct blk_io *io)
{
	struct null_chan *nc = null_chan_of(chan);
	struct null *null = container_of(chan->blk, struct null, blk);
	uint64_t bytes = (uint64_t)io->blocks * chan->blk->block_size;
	struct nvme_status status = NVME_OK;

	assert(io->op != BLK_MARK_BAD);
	if (io->op == BLK_READ && (io->flags & BLK_MAY_LEND) != 0) {
		assert(bytes <= ZEROS);
		io->iov[0].iov_base = null->zeros;
		io->iov[0].iov_len = bytes;
		io->iov_count = 1;
		io->flags |= BLK_LENT;
	} else if (io->op == BLK_READ) {
		copy_zeros(io->iov, io->iov_count);
	}
	if (io->op == BLK_COMPARE_WRITE && !all_zeros(io->expected, io->expected_count))
		status = nvme_status_of(NVME_SC_COMPARE, true);
	finish_push(&nc->finished, io, status);
	reactor_run_in(chan->reactor, PHASE_COLLECT, &nc->collect);
}

static void
null_collect(struct task *task)
{
	finish_all(&container_of(task, struct null_chan, collect)->finished);
}

/* Whatever it is, it is done already. */
static bool
null_cancel(struct blk_chan *chan, struct blk_io *io)
{
	(void)chan;
	(void)io;
	return false;
}

static void
null_release(struct blk_chan *chan, struct blk_io *io)
{
	(void)chan;
	assert((io->flags & BLK_LENT) != 0);
	io->flags &= ~(uint32_t)BLK_LENT;
}

/* There is nothing to change. */
static bool
null_wanted(const struct blk_chan *chan, const struct blk_io *io)
{
	(void)chan;
	(void)io;
	return false;
}

static int
null_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct null_chan *nc = arena_alloc(reactor->arena, sizeof(*nc));

	if (nc == NULL)
		return -ENOMEM;
	nc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	fifo_init(&nc->finished);
	task_init(&nc->collect, null_collect);
	*chan = &nc->chan;
	return 0;
}

static void
null_close_chan(struct blk_chan *chan)
{
	struct null_chan *nc = null_chan_of(chan);

	assert(fifo_empty(&nc->finished));
	task_cancel(&nc->collect);
	arena_free(chan->reactor->arena, nc);
}

static void
null_destroy(struct blk *blk)
{
	struct null *null = container_of(blk, struct null, blk);

	if (null->zeros != NULL)
		null->reactor->world->pages_unmap(null->reactor, null->zeros, ZEROS);
	arena_free(blk->arena, null);
}

static int
null_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks)
{
	(void)reactor;
	blk_grown(blk, blocks);
	return 0;
}

static const struct blk_ops null_ops = {
	.open_chan = null_open_chan,
	.submit = null_submit,
	.cancel = null_cancel,
	.release = null_release,
	.wanted = null_wanted,
	.close_chan = null_close_chan,
	.grow = null_grow,
	.undo = blk_undo_blocks,
	.destroy = null_destroy,
};

int
null_open(struct reactor *reactor, uint64_t bytes, uint32_t block_size, struct blk **blk)
{
	struct null *null = arena_alloc(reactor->arena, sizeof(*null));

	if (null == NULL)
		return -ENOMEM;
	null->blk = (struct blk){
		.ops = &null_ops, .arena = reactor->arena, .blocks = bytes / block_size,
		.block_size = block_size, .lends = true, .trim_zeroes = true,
	};
	null->reactor = reactor;
	null->zeros = reactor->world->pages_map(reactor, ZEROS, false);
	if (null->zeros == NULL) {
		null_destroy(&null->blk);
		return -ENOMEM;
	}
	*blk = &null->blk;
	return 0;
}
