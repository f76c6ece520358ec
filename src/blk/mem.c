/*
 * mem.c - a volume in RAM, shared by all reactors.
 *
 * A read lends the volume's own memory under a shared hold until release().
 * Everything else is done under its hold inside submit(), or from the line
 * when the blocks are free, or where blocks of their stripes are marked as bad.
 * A flush has nothing to do: what was written is as durable as it will be.
 */
#include "blk/devices.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"
#include "blk/bad.h"
#include "blk/copy.h"
#include "blk/finish.h"
#include "blk/line.h"
#include "blk/room.h"
#include "world/reactor.h"

enum {
	PIECE_MAX = 2 * 1024 * 1024,   /* zeroed in one go: bounds the length of a turn */
	COLD_MIN = 64 * 1024 * 1024,   /* a volume of this size does not stay in the caches */
	COLD_PIECE = 4096,             /* shorter writes are not worth the fence */
};

struct mem {
	struct blk blk;
	struct range range;
	struct bad bad;
	struct room room;
	uint8_t *pages;      /* where that is; it stays there when it grows */
	uint64_t cold_from;  /* bytes; those before were few when it was opened, and no other reactor learns more */
	uint32_t block_shift;
};

struct mem_chan {
	struct blk_chan chan;
	struct mem *mem;
	struct fifo finished;
	struct task collect;
	struct line line;
};

static struct mem_chan *
mem_chan_of(struct blk_chan *chan)
{
	return container_of(chan, struct mem_chan, chan);
}

static void
mem_finish(struct mem_chan *mc, struct blk_io *io, struct nvme_status status)
{
	finish_push(&mc->finished, io, status);
	reactor_run_in(mc->chan.reactor, PHASE_COLLECT, &mc->collect);
}

/*
 * What is lent is sent at the end of the turn, when the whole batch is known.
 * The memory is asked for its first lines now, and with the first its
 * translation: later they are there, and the processor's own prefetcher is under way.
 */
static inline void
prefetch(const uint8_t *at)
{
	__builtin_prefetch(at);
	__builtin_prefetch(at + 64);
	__builtin_prefetch(at + 128);
	__builtin_prefetch(at + 192);
}

static inline void
mem_lend(struct mem_chan *mc, struct blk_io *io)
{
	struct mem *mem = mc->mem;
	uint8_t *at = mem->pages + (io->lba << mem->block_shift);

	prefetch(at);
	io->iov[0].iov_base = at;
	io->iov[0].iov_len = (size_t)io->blocks << mem->block_shift;
	io->iov_count = 1;
	io->flags |= BLK_LENT;
	mem_finish(mc, io, NVME_OK);
}

static void
mem_zero(struct mem_chan *mc, struct blk_range piece)
{
	struct mem *mem = mc->mem;

	room_zero(mc->chan.reactor, mem->pages + (piece.lba << mem->block_shift),
	    (uint64_t)piece.blocks << mem->block_shift);
}

static inline void
mem_write(struct mem *mem, const struct blk_io *io)
{
	uint64_t offset = io->lba << mem->block_shift;
	uint8_t *at = mem->pages + offset;

	if (offset >= mem->cold_from && (uint64_t)io->blocks << mem->block_shift >= COLD_PIECE)
		copy_in_cold(at, io->iov, io->iov_count, mem->range.shared);
	else
		copy_in(at, io->iov, io->iov_count);
}

static struct nvme_status
mem_compare_write(struct mem *mem, const struct blk_io *io)
{
	if (!copy_equals(io->expected, io->expected_count, mem->pages + (io->lba << mem->block_shift)))
		return nvme_status_of(NVME_SC_COMPARE, true);
	mem_write(mem, io);
	return NVME_OK;
}

/* A write of blocks that were bad makes them good; nobody looks at them while we own them. */
static void
mem_mend(struct mem *mem, struct blk_range piece)
{
	if (bad_any(&mem->bad, piece.lba, piece.blocks, &(uint64_t){ 0 }))
		bad_set(&mem->bad, piece.lba, piece.blocks, false);
}

/* The piece is held, and a block that is to be read is bad. */
static bool
mem_refuses(const struct mem *mem, struct blk_io *io)
{
	if ((io->op != BLK_READ && io->op != BLK_COMPARE_WRITE) || !bad_any(&mem->bad, io->lba, io->blocks, &io->at))
		return false;
	io->flags |= BLK_BAD;
	return true;
}

/* The current piece is held: does it.  False: there is another one to do. */
static bool
mem_start(void *owner, struct blk_io *io)
{
	struct mem_chan *mc = owner;
	struct mem *mem = mc->mem;
	struct nvme_status status = NVME_OK;

	if (mem_refuses(mem, io)) {
		line_drop(&mc->line, io);
		mem_finish(mc, io, nvme_status_of(NVME_SC_READ_ERROR, true));
		return true;
	}
	switch (io->op) {
	case BLK_READ:
		if ((io->flags & BLK_MAY_LEND) != 0) {
			mem_lend(mc, io);
			return true;
		}
		copy_out(io->iov, io->iov_count, mem->pages + (io->lba << mem->block_shift));
		break;
	case BLK_WRITE:
		mem_write(mem, io);
		mem_mend(mem, line_piece(&mc->line, io));
		break;
	case BLK_WRITE_ZEROES:
		mem_mend(mem, line_piece(&mc->line, io));
		mem_zero(mc, line_piece(&mc->line, io));
		break;
	case BLK_TRIM:
		mem_zero(mc, line_piece(&mc->line, io));
		break;
	case BLK_MARK_BAD:
		bad_set(&mem->bad, io->lba, io->blocks, true);
		break;
	case BLK_COMPARE_WRITE:
		status = mem_compare_write(mem, io);
		break;
	case BLK_FLUSH:
		break;
	}
	if (line_next(&mc->line, io))
		return false;
	line_over(&mc->line, io);
	mem_finish(mc, io, status);
	return true;
}

static void
mem_wait(struct mem_chan *mc, struct blk_io *io)
{
	if (io->op == BLK_WRITE && (io->flags & BLK_TRANSIENT) != 0)
		io->keep(io);
	reactor_run_in(mc->chan.reactor, PHASE_COLLECT, &mc->collect);
}

/* Kept out of mem_submit(), which then needs no frame. */
static void __attribute__((noinline))
mem_submit_other(struct mem_chan *mc, struct blk_io *io)
{
	if (!line_begin(io)) {
		mem_finish(mc, io, NVME_OK);
	} else if (!line_enter(&mc->line, io)) {
		mem_wait(mc, io);
	} else if (!mem_start(mc, io)) {
		line_join(&mc->line, io);
		mem_wait(mc, io);
	}
}

static void
mem_submit(struct blk_chan *chan, struct blk_io *io)
{
	struct mem_chan *mc = mem_chan_of(chan);
	struct range *range = &mc->mem->range;
	bool first = mc->line.count == 0; /* nobody stands in line before us */

	if (first && io->op == BLK_READ && (io->flags & BLK_MAY_LEND) != 0 &&
	    range_share(range, io->lba, io->blocks)) {
		mem_lend(mc, io);
	} else if (first && io->op == BLK_WRITE && io->blocks > 0 && range_own_one(range, io->lba, io->blocks)) {
		mem_write(mc->mem, io);
		range_disown_one(range, io->lba);
		mem_finish(mc, io, NVME_OK);
	} else {
		mem_submit_other(mc, io);
	}
}

/* While anybody stands in line this is run every turn: the holds of other reactors end unseen. */
static void
mem_collect(struct task *task)
{
	struct mem_chan *mc = container_of(task, struct mem_chan, collect);

	finish_all(&mc->finished);
	if (mc->line.count > 0)
		line_retry(&mc->line, LINE_STARTS, mem_start, mc);
	if (mc->line.count > 0)
		reactor_run_in(mc->chan.reactor, PHASE_COLLECT, &mc->collect);
}

static bool
mem_cancel(struct blk_chan *chan, struct blk_io *io)
{
	struct mem_chan *mc = mem_chan_of(chan);

	if (!line_leave(&mc->line, io))
		return false;
	mem_finish(mc, io, nvme_status_of(NVME_SC_ABORT_REQUESTED, false));
	return true;
}

static void
mem_release(struct blk_chan *chan, struct blk_io *io)
{
	struct mem_chan *mc = mem_chan_of(chan);

	assert((io->flags & BLK_LENT) != 0);
	io->flags &= ~(uint32_t)BLK_LENT;
	range_unshare(&mc->mem->range, io->lba, io->blocks);
}

static bool
mem_wanted(const struct blk_chan *chan, const struct blk_io *io)
{
	return range_is_waited(&container_of(chan, const struct mem_chan, chan)->mem->range, io->lba, io->blocks);
}

static int
mem_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct mem_chan *mc = arena_alloc(reactor->arena, sizeof(*mc));

	if (mc == NULL)
		return -ENOMEM;
	mc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	mc->mem = container_of(blk, struct mem, blk);
	line_init(&mc->line, &mc->mem->range, PIECE_MAX >> mc->mem->block_shift,
	    PIECE_MAX >> mc->mem->block_shift, 1);
	fifo_init(&mc->finished);
	task_init(&mc->collect, mem_collect);
	*chan = &mc->chan;
	return 0;
}

static void
mem_close_chan(struct blk_chan *chan)
{
	struct mem_chan *mc = mem_chan_of(chan);

	assert(mc->line.count == 0 && fifo_empty(&mc->finished));
	task_cancel(&mc->collect);
	arena_free(chan->reactor->arena, mc);
}

static void
mem_destroy(struct blk *blk)
{
	struct mem *mem = container_of(blk, struct mem, blk);

	room_fini(&mem->room);
	bad_fini(&mem->bad);
	range_fini(&mem->range, blk->arena);
	arena_free(blk->arena, mem);
}

/* Others touch the new blocks when they are told of them; the stripes of these share the slots of the old ones. */
static int
mem_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks)
{
	struct mem *mem = container_of(blk, struct mem, blk);
	int error;

	(void)reactor;
	if (blocks > UINT64_MAX >> mem->block_shift)
		return -EFBIG;
	error = room_grow(&mem->room, blocks << mem->block_shift);
	if (error == 0)
		error = bad_grow(&mem->bad, blocks);
	if (error == 0)
		blk_grown(blk, blocks);
	return error;
}

static const struct blk_ops mem_ops = {
	.open_chan = mem_open_chan,
	.submit = mem_submit,
	.cancel = mem_cancel,
	.release = mem_release,
	.wanted = mem_wanted,
	.close_chan = mem_close_chan,
	.grow = mem_grow,
	.undo = blk_undo_blocks,
	.destroy = mem_destroy,
};

int
mem_open(struct reactor *reactor, uint64_t bytes, uint32_t block_size, struct blk **blk)
{
	struct mem *mem = arena_alloc(reactor->arena, sizeof(*mem));

	if (mem == NULL)
		return -ENOMEM;
	mem->blk = (struct blk){
		.ops = &mem_ops, .arena = reactor->arena, .blocks = bytes / block_size,
		.block_size = block_size, .lends = true, .trim_zeroes = true,
		.cache_life = blk_new_life(reactor),
	};
	mem->block_shift = block_size == 512 ? 9 : 12;
	mem->cold_from = bytes >= COLD_MIN ? 0 : COLD_MIN;
	if (range_init(&mem->range, reactor->arena, mem->blk.blocks, block_size, reactor->count) != 0)
		goto fail;
	if (bad_init(&mem->bad, reactor, &mem->range, mem->blk.blocks) != 0)
		goto fail;
	mem->blk.bad = &mem->bad;
	if (room_init(&mem->room, reactor, bytes) != 0)
		goto fail;
	mem->pages = mem->room.at;
	*blk = &mem->blk;
	return 0;
fail:
	mem_destroy(&mem->blk);
	return -ENOMEM;
}
