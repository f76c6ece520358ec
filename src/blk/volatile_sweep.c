/*
 * volatile_sweep.c - how a volatile: volume writes down what it keeps.
 *
 * All of it for a flush, which then flushes the device below, or the oldest
 * where too much is kept.  A sweep always has an I/O that waits for it, so
 * nothing is under way in a channel that its user believes idle.
 */
#include "blk/volatile.h"

#include <assert.h>

static void sweep_go(struct vol_chan *vc);

static void
sweep_end(struct vol_chan *vc)
{
	struct sweep *sweep = &vc->sweep;
	struct fifo_node *node;

	sweep->busy = false;
	while ((node = fifo_pop(&sweep->riders)) != NULL) {
		struct blk_io *io = container_of(node, struct blk_io, node);

		/* A write is kept still where it could not be written down. */
		vol_finish(vc, io, io->op == BLK_FLUSH ? sweep->status : NVME_OK);
	}
}

static void
flush_done(struct blk_io *io, struct nvme_status status)
{
	struct vol_req *req = io->owner;

	req->next_free = req->chan->sweep.free;
	req->chan->sweep.free = req;
	req->chan->sweep.status = status;
	sweep_end(req->chan);
}

/* All that the sweep found was written, or could not be. */
static void
sweep_written(struct vol_chan *vc)
{
	struct sweep *sweep = &vc->sweep;
	struct vol_req *req = sweep->free;
	bool ok = is_ok(sweep->status);

	if (ok && sweep->all)
		kept_swept_all(&vc->vol->kept);
	else if (ok)
		kept_swept(&vc->vol->kept, &sweep->places);
	line_drop(&vc->line, &sweep->hold);
	if (!ok || !sweep->all) {
		sweep_end(vc);
		return;
	}
	assert(req != NULL); /* a sweep of all keeps the last one for this */
	sweep->free = req->next_free;
	req->io = (struct blk_io){ .op = BLK_FLUSH, .done = flush_done, .owner = req };
	blk_submit(vc->inner, &req->io);
}

static void
sweep_done(struct blk_io *io, struct nvme_status status)
{
	struct vol_req *req = io->owner;
	struct vol_chan *vc = req->chan;

	req->next_free = vc->sweep.free;
	vc->sweep.free = req;
	vc->sweep.in_flight--;
	if (is_ok(status))
		kept_forget(&vc->vol->kept, io->lba, io->blocks);
	else
		vc->sweep.status = status;
	sweep_go(vc);
}

/* The blocks are held: writes the next ones. */
static void
sweep_go(struct vol_chan *vc)
{
	struct sweep *sweep = &vc->sweep;
	struct blk_range held = { sweep->hold.lba, sweep->hold.blocks };
	struct kept_run run;

	while (sweep->free != NULL && kept_next(&vc->vol->kept, &sweep->places, held, &run)) {
		struct vol_req *req = sweep->free;

		sweep->free = req->next_free;
		sweep->in_flight++;
		req->iov = run.iov;
		req->io = (struct blk_io){
			.op = BLK_WRITE, .lba = run.lba, .blocks = run.blocks, .iov = &req->iov, .iov_count = 1,
			.done = sweep_done, .owner = req,
		};
		blk_submit(vc->inner, &req->io);
	}
	if (sweep->in_flight == 0)
		sweep_written(vc);
}

void
sweep_held(struct vol_chan *vc)
{
	if (vc->sweep.all)
		vc->sweep.places = kept_sweep_all(&vc->vol->kept);
	sweep_go(vc);
}

/* Of all that wait for one, if none is under way; a flush among them wants everything. */
void
sweep_begin(struct vol_chan *vc)
{
	struct sweep *sweep = &vc->sweep;
	struct blk_range piece = vc->wished_run;

	if (sweep->busy || fifo_empty(&vc->riders))
		return;
	sweep->busy = true;
	sweep->all = false;
	sweep->status = NVME_OK;
	sweep->places = vc->wished;
	fifo_splice(&sweep->riders, &vc->riders);
	for (struct fifo_node *node = sweep->riders.head; node != NULL; node = node->next)
		sweep->all = sweep->all || container_of(node, struct blk_io, node)->op == BLK_FLUSH;
	if (sweep->all) /* not to the end, which may be another one before this is over: nobody else holds anything */
		piece = (struct blk_range){ 0, UINT32_MAX };
	sweep->hold = (struct blk_io){ .op = BLK_WRITE, .lba = piece.lba, .blocks = piece.blocks };
	(void)line_begin(&sweep->hold);
	if (line_enter(&vc->line, &sweep->hold))
		sweep_held(vc);
}
