/*
 * The device of control messages: what each says is a line in persistent memory, and is there for good when it ends.
 * So Horae's targets keep what order there is ("persistent MMIO write", Rio, EuroSys 2023, section 6.1); what stands
 * in the line is nobody's business here.
 */
#include <errno.h>

#include "blk/finish.h"
#include "lab/ordered_inside.h"

enum { CONTROL_BLOCK = 4096, CONTROL_BLOCKS = 1024 };

struct control {
	struct blk blk;
	struct keep_region *region;
	uint32_t at, lines, next;
};

struct control_chan {
	struct blk_chan chan;
	struct fifo under_way; /* in the order in which they end */
	struct timer timer;
};

static struct control_chan *
chan_of(struct blk_chan *chan)
{
	return container_of(chan, struct control_chan, chan);
}

static void
set_timer(struct control_chan *cc)
{
	if (!fifo_empty(&cc->under_way))
		timer_set(&cc->chan.reactor->timers, &cc->timer,
		    container_of(cc->under_way.head, struct blk_io, node)->at);
}

static void
expire(struct timer *timer)
{
	struct control_chan *cc = container_of(timer, struct control_chan, timer);

	while (!fifo_empty(&cc->under_way)) {
		struct blk_io *io = container_of(cc->under_way.head, struct blk_io, node);

		if (io->at > cc->chan.reactor->now_ns)
			break;
		fifo_pop(&cc->under_way);
		io->done(io, NVME_OK);
	}
	set_timer(cc);
}

/* Each has a barrier of its own: whoever sent it waits. */
static void
submit(struct blk_chan *chan, struct blk_io *io)
{
	struct control *control = container_of(chan->blk, struct control, blk);
	struct keep_region *region = control->region;
	static const uint8_t line[PMR_LINE];
	uint64_t now_ns = chan->reactor->now_ns > region->last_ns ? chan->reactor->now_ns : region->last_ns;

	now_ns = pmr_store(region->pmr, control->at + control->next * PMR_LINE, line, PMR_LINE, now_ns);
	control->next = (control->next + 1) % control->lines;
	io->at = region->last_ns = pmr_fence(region->pmr, now_ns);
	fifo_push(&chan_of(chan)->under_way, &io->node);
	set_timer(chan_of(chan));
}

static bool
cancel(struct blk_chan *chan, struct blk_io *io)
{
	(void)chan;
	(void)io;
	return false;
}

static int
open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct control_chan *cc = arena_alloc(reactor->arena, sizeof(*cc));

	if (cc == NULL)
		return -ENOMEM;
	cc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	fifo_init(&cc->under_way);
	cc->timer.fire = expire;
	*chan = &cc->chan;
	return 0;
}

static void
close_chan(struct blk_chan *chan)
{
	timer_clear(&chan->reactor->timers, &chan_of(chan)->timer);
	arena_free(chan->reactor->arena, chan_of(chan));
}

static void
destroy(struct blk *blk)
{
	arena_free(blk->arena, container_of(blk, struct control, blk));
}

static const struct blk_ops ops = {
	.open_chan = open_chan, .submit = submit, .cancel = cancel, .close_chan = close_chan, .destroy = destroy,
};

struct blk *
control_open(struct reactor *reactor, struct keep_region *region, uint32_t at, uint32_t bytes)
{
	struct control *control = arena_alloc(reactor->arena, sizeof(*control));

	if (control == NULL)
		return NULL;
	control->blk = (struct blk){
		.ops = &ops, .arena = reactor->arena, .blocks = CONTROL_BLOCKS, .block_size = CONTROL_BLOCK,
	};
	control->region = region;
	control->at = at;
	control->lines = bytes / PMR_LINE;
	return &control->blk;
}
