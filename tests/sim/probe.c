#include "probe.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

enum { CALLS = 4096 };

/* An I/O on its way to the volume below: whose it is. */
struct call {
	struct fifo_node node;
	struct blk_io *io;
	struct probe_chan *chan;
	void (*done)(struct blk_io *io, struct nvme_status status);
	void (*keep)(struct blk_io *io);
	void *owner;
};

struct probe_chan {
	struct blk_chan chan;
	struct blk_chan *inner;
	struct call calls[CALLS];
	struct fifo free;
};

static struct probe *
probe_of(const struct blk *blk)
{
	return container_of(blk, struct probe, blk);
}

static struct probe *
alive(struct blk_chan *chan)
{
	struct probe *probe = probe_of(chan->blk);

	assert(!probe->poisoned);
	return probe;
}

static void
done(struct blk_io *io, struct nvme_status status)
{
	struct call *call = io->owner;
	struct probe *probe = alive(&call->chan->chan);

	assert(call->io == io);
	if (!(io->flags & BLK_LENT))
		probe->busy--;
	io->done = call->done;
	io->owner = call->owner;
	io->keep = call->keep;
	fifo_push(&call->chan->free, &call->node);
	io->done(io, status);
}

/* The owner's keep() finds itself by io->owner. */
static void
keep(struct blk_io *io)
{
	struct call *call = io->owner;

	io->owner = call->owner;
	call->keep(io);
	io->owner = call;
}

static void
probe_submit(struct blk_chan *chan, struct blk_io *io)
{
	struct probe_chan *pc = container_of(chan, struct probe_chan, chan);
	struct fifo_node *node = fifo_pop(&pc->free);
	struct call *call = container_of(node, struct call, node);

	assert(node != NULL);
	alive(chan)->busy++;
	*call = (struct call){ .io = io, .chan = pc, .done = io->done, .keep = io->keep, .owner = io->owner };
	io->done = done;
	io->keep = keep;
	io->owner = call;
	blk_submit(pc->inner, io);
}

static bool
probe_cancel(struct blk_chan *chan, struct blk_io *io)
{
	struct probe_chan *pc = container_of(chan, struct probe_chan, chan);

	alive(chan);
	return pc->inner->blk->ops->cancel(pc->inner, io);
}

static void
probe_release(struct blk_chan *chan, struct blk_io *io)
{
	struct probe_chan *pc = container_of(chan, struct probe_chan, chan);

	alive(chan)->busy--;
	pc->inner->blk->ops->release(pc->inner, io);
}

static int
probe_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct probe *probe = probe_of(blk);
	struct probe_chan *pc;
	int rc;

	assert(!probe->poisoned);
	if (probe->refuse == reactor->index)
		return -EIO;
	pc = arena_alloc(reactor->arena, sizeof(*pc));
	if (pc == NULL)
		return -ENOMEM;
	rc = probe->inner->ops->open_chan(probe->inner, reactor, &pc->inner);
	if (rc != 0) {
		arena_free(reactor->arena, pc);
		return rc;
	}
	pc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	fifo_init(&pc->free);
	for (unsigned i = 0; i < CALLS; i++)
		fifo_push(&pc->free, &pc->calls[i].node);
	probe->channels++;
	*chan = &pc->chan;
	return 0;
}

static void
probe_close_chan(struct blk_chan *chan)
{
	struct probe_chan *pc = container_of(chan, struct probe_chan, chan);

	alive(chan)->channels--;
	pc->inner->blk->ops->close_chan(pc->inner);
	arena_free(chan->reactor->arena, pc);
}

static const struct blk_ops probe_ops = {
	.open_chan = probe_open_chan,
	.submit = probe_submit,
	.cancel = probe_cancel,
	.release = probe_release,
	.close_chan = probe_close_chan,
};

int
probe_open(struct probe *probe, struct reactor *reactor, const char *spec, char why[256])
{
	int rc;

	*probe = (struct probe){ .refuse = PROBE_NOWHERE };
	rc = blk_open(reactor, spec, 4096, &probe->inner, why);
	if (rc != 0)
		return rc;
	probe->blk = *probe->inner;
	probe->blk.ops = &probe_ops;
	snprintf(probe->blk.spec, sizeof(probe->blk.spec), "%s", spec);
	return 0;
}

void
probe_close(struct probe *probe)
{
	assert(probe->channels == 0 && probe->busy == 0);
	probe->inner->ops->destroy(probe->inner);
	probe->inner = NULL;
}
