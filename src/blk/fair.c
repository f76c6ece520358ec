/*
 * fair.c - I/Os that wait for their turn (fair.h): when they come, go, end, or are cancelled.
 *
 * All that came or ended in a turn of the reactor is known before anybody goes.  The time that an I/O took is counted
 * from when it went, for which the clock is read once in a turn, to the beginning of the turn that saw its end: however
 * long a turn takes to read what hosts sent, that is no slow device.  Nobody polls: where all that waits waits for time
 * to go by, a timer is set, and where nothing waits there is none.
 */
#include "blk/fair_inside.h"

#include <errno.h>

#include "blk/finish.h"
#include "blk/home.h"

static struct fair_chan *
fair_chan_of(struct blk_chan *chan)
{
	return container_of(chan, struct fair_chan, chan);
}

void
fair_go_soon(struct fair_chan *fc)
{
	reactor_run_in(fc->chan.reactor, PHASE_SUBMIT, &fc->go);
}

/* ---- the time ---- */

uint64_t
fair_now(const struct fair_chan *fc)
{
	uint64_t turn_ns = fc->chan.reactor->now_ns;

	return fc->went_ns > turn_ns ? fc->went_ns : turn_ns;
}

/* ---- what an I/O is to the switch ---- */

static uint64_t
bytes_of(const struct blk_io *io, uint32_t block_size)
{
	uint64_t blocks = io->blocks;

	if (io->op == BLK_TRIM) {
		blocks = 0;
		for (uint32_t i = 0; i < io->range_count; i++)
			blocks += io->ranges[i].blocks;
	}
	return blocks * block_size;
}

static enum qos_op
op_of(const struct blk_io *io)
{
	static const enum qos_op ops[] = {
		[BLK_READ] = QOS_OP_READ, [BLK_WRITE] = QOS_OP_WRITE, [BLK_FLUSH] = QOS_OP_FLUSH,
		[BLK_WRITE_ZEROES] = QOS_OP_ZEROES, [BLK_TRIM] = QOS_OP_TRIM,
		[BLK_COMPARE_WRITE] = QOS_OP_COMPARE_WRITE,
		[BLK_MARK_BAD] = QOS_OP_FLUSH, /* a note, whatever the number of blocks */
	};

	return ops[io->op];
}

/* ---- from one to the next ---- */

static void
fair_submit(struct blk_chan *chan, struct blk_io *io)
{
	struct fair_chan *fc = fair_chan_of(chan);

	if (io->op == BLK_WRITE && (io->flags & BLK_TRANSIENT) != 0)
		io->keep(io);
	io->turn.at = BLK_TURN_WAITS;
	io->credits = 0;
	io->turn.came_ns = chan->reactor->now_ns;
	fc->waiting++;
	qos_io_init(&io->turn.qos, op_of(io), bytes_of(io, chan->blk->block_size), io->priority);
	qos_arrive(&fc->qos, &fair_tenant_of(fc, io->tenant)->qos, &io->turn.qos);
	fair_go_soon(fc);
}

/* What the device says of itself is learnt from what it did; a comparison that found a difference was done. */
static bool
was_done(struct nvme_status status)
{
	return nvme_ok(status) || nvme_sc(status) == NVME_SC_COMPARE;
}

static void
below_done(struct blk_io *io, struct nvme_status status)
{
	struct fair_chan *fc = io->owner;
	struct fair_tenant *tenant = container_of(io->turn.qos.tenant, struct fair_tenant, qos);
	uint64_t now_ns = fair_now(fc);

	io->turn.at = BLK_TURN_OVER;
	io->done = io->turn.done;
	io->owner = io->turn.owner;
	fair_note(fc, tenant, io, was_done(status), now_ns);
	qos_done(&fc->qos, &io->turn.qos, now_ns - io->turn.qos.begun_ns, was_done(status), now_ns);
	if (nvme_ok(status))
		io->credits = fair_credits(fc, tenant, io, now_ns);
	fair_go_soon(fc);
	io->done(io, status);
}

static void
begin(struct fair_chan *fc, struct blk_io *io)
{
	io->turn.at = BLK_TURN_BELOW;
	fc->waiting--;
	fc->inflight++;
	io->turn.done = io->done;
	io->turn.owner = io->owner;
	io->done = below_done;
	io->owner = fc;
	blk_submit(fc->inner, io);
}

static void
wait_until(struct fair_chan *fc, uint64_t deadline_ns)
{
	struct timers *timers = &fc->chan.reactor->timers;

	if (deadline_ns == UINT64_MAX)
		timer_clear(timers, &fc->timer);
	else
		timer_set(timers, &fc->timer, deadline_ns);
}

static void
go(struct task *task)
{
	struct fair_chan *fc = container_of(task, struct fair_chan, go);
	struct reactor *reactor = fc->chan.reactor;
	uint64_t now_ns = reactor->world->time_ns(reactor);
	struct qos_io *next;

	fc->went_ns = now_ns;
	while ((next = qos_next(&fc->qos, now_ns)) != NULL)
		begin(fc, container_of(next, struct blk_io, turn.qos));
	wait_until(fc, qos_deadline(&fc->qos, now_ns));
}

static void
time_has_come(struct timer *timer)
{
	fair_go_soon(container_of(timer, struct fair_chan, timer));
}

static void
collect(struct task *task)
{
	finish_all(&container_of(task, struct fair_chan, collect)->finished);
}

static bool
fair_cancel(struct blk_chan *chan, struct blk_io *io)
{
	struct fair_chan *fc = fair_chan_of(chan);

	if (io->turn.at == BLK_TURN_OVER)
		return false;
	if (io->turn.at == BLK_TURN_BELOW)
		return fc->inner->blk->ops->cancel(fc->inner, io);
	io->turn.at = BLK_TURN_OVER;
	fc->waiting--;
	qos_cancel(&fc->qos, &io->turn.qos, fair_now(fc));
	finish_push(&fc->finished, io, nvme_status_of(NVME_SC_ABORT_REQUESTED, false));
	reactor_run_in(chan->reactor, PHASE_COLLECT, &fc->collect);
	fair_go_soon(fc);
	return true;
}

/* ---- what it leaves to the device ---- */

/* What is lent was lent by the device below. */
static void
fair_release(struct blk_chan *chan, struct blk_io *io)
{
	struct fair_chan *fc = fair_chan_of(chan);

	fc->inner->blk->ops->release(fc->inner, io);
}

static bool
fair_wanted(const struct blk_chan *chan, const struct blk_io *io)
{
	const struct fair_chan *fc = container_of(chan, const struct fair_chan, chan);

	return fc->inner->blk->ops->wanted(fc->inner, io);
}

static bool
fair_health(const struct blk_chan *chan, struct blk_health *health)
{
	return blk_health(container_of(chan, const struct fair_chan, chan)->inner, health);
}

static struct fair *
fair_of(struct blk *blk)
{
	return container_of(blk, struct fair, blk);
}

static int
fair_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks)
{
	struct blk *inner = fair_of(blk)->inner;
	int error = inner->ops->grow != NULL ? inner->ops->grow(inner, reactor, blocks) : -EOPNOTSUPP;

	blk->blocks = inner->blocks;
	return error;
}

static int
fair_stretch(struct blk *blk, struct reactor *reactor, uint64_t blocks, int64_t *was)
{
	return blk_stretch(fair_of(blk)->inner, reactor, blocks, was);
}

static int
fair_undo(struct blk *blk, struct reactor *reactor)
{
	struct blk *inner = fair_of(blk)->inner;
	int error = blk_undo(inner, reactor);

	blk->blocks = inner->blocks;
	return error;
}

/* ---- opening and closing ---- */

static int
fair_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct fair *fair = fair_of(blk);
	struct fair_chan *fc = arena_alloc(reactor->arena, sizeof(*fc));
	int error;

	if (fc == NULL)
		return -ENOMEM;
	fc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	fifo_init(&fc->finished);
	task_init(&fc->go, go);
	task_init(&fc->collect, collect);
	fc->timer.fire = time_has_come;
	fair_terms_begin(fc);
	error = fair->inner->ops->open_chan(fair->inner, reactor, &fc->inner);
	if (error != 0) {
		arena_free(reactor->arena, fc);
		return error;
	}
	*chan = &fc->chan;
	return 0;
}

static void
fair_close_chan(struct blk_chan *chan)
{
	struct fair_chan *fc = fair_chan_of(chan);

	fair_terms_end(fc);
	task_cancel(&fc->go);
	task_cancel(&fc->collect);
	timer_clear(&chan->reactor->timers, &fc->timer);
	fc->inner->blk->ops->close_chan(fc->inner);
	arena_free(chan->reactor->arena, fc);
}

static void
fair_destroy(struct blk *blk)
{
	struct fair *fair = fair_of(blk);

	fair->inner->ops->destroy(fair->inner);
	arena_free(blk->arena, fair);
}

static const struct blk_ops fair_ops = {
	.open_chan = fair_open_chan,
	.submit = fair_submit,
	.cancel = fair_cancel,
	.release = fair_release,
	.wanted = fair_wanted,
	.close_chan = fair_close_chan,
	.grow = fair_grow,
	.stretch = fair_stretch,
	.undo = fair_undo,
	.health = fair_health,
	.destroy = fair_destroy,
};

bool
fair_is(const struct blk *blk)
{
	const struct blk *inner = home_inner(blk);

	return inner != NULL && inner->ops == &fair_ops;
}

struct fair_chan *
fair_chan_here(struct blk_chan *chan)
{
	struct blk_chan *inner = fair_is(chan->blk) ? home_chan_here(chan) : NULL;

	return inner != NULL ? fair_chan_of(inner) : NULL;
}

int
fair_open(struct reactor *reactor, unsigned index, struct blk *inner, struct blk **blk)
{
	struct fair *fair = arena_alloc(reactor->arena, sizeof(*fair));

	if (fair == NULL) {
		blk_discard(inner, reactor);
		return -ENOMEM;
	}
	fair->blk = *inner; /* the path too: the device below owns it and lives as long */
	fair->blk.ops = &fair_ops;
	fair->blk.arena = reactor->arena;
	fair->inner = inner;
	return home_open(reactor, home_inner(inner) != NULL ? home_of(inner)->index : index, &fair->blk, blk);
}
