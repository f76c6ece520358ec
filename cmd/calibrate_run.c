/*
 * calibrate_run.c - of calibrating.h.
 *
 * The reactor is that of a target with one core: what a latency is made of there, its turns and its sleep among it, is
 * measured here too.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "calibrating.h"
#include "cmd.h"
#include "passing.h"

#define SECOND UINT64_C(1000000000)

enum { STALL_S = 30 }; /* a device that answers nothing for so long is not waited for */

static void
say_step(const struct calibrating *c)
{
	const struct gauge_task *task = &c->task;
	const struct gauge_load *load = &task->loads[0];

	if (task->whole)
		passing("writing all of it %s: %" PRIu64 " %%", task->in_order ? "in order" : "at random", c->percent);
	else if (task->switched)
		passing("%u to go: %u tenants that share", calibrate_left(&c->calibrate),
		    load->tenants + task->loads[1].tenants);
	else if (task->load_count > 1)
		passing("%u to go: reads and writes of %u KiB", calibrate_left(&c->calibrate), load->bytes / 1024);
	else
		passing("%u to go: %s of %u KiB, %u at a time", calibrate_left(&c->calibrate),
		    load->kind == QOS_READ ? "reads" : "writes", load->bytes / 1024, load->depth * load->tenants);
}

static void
say_percent(struct calibrating *c)
{
	uint64_t percent = 100 - c->gauge.left / (c->bytes / 100);

	if (!c->task.whole || percent == c->percent)
		return;
	c->percent = percent;
	say_step(c);
}

/* Nothing more is begun; when nothing is in flight any more that is all. */
static void
end(struct calibrating *c)
{
	c->over = true;
	timer_clear(&c->reactor->timers, &c->timer);
	if (c->gauge.inflight == 0)
		rt_stop(c->rt);
}

static void
step_begin(struct calibrating *c)
{
	if (!calibrate_next(&c->calibrate, &c->task)) {
		end(c);
		return;
	}
	c->percent = 0;
	say_step(c);
	gauge_begin(&c->gauge, &c->task, c->bytes, c->reactor->now_ns);
}

static void
submit(struct calibrating *c, struct gauge_io *io)
{
	const struct gauge_load *load = &c->task.loads[io->load];
	struct calibrating_io *cio = io->owner;

	cio->iov = (struct iovec){ c->buffers[load->kind], load->bytes };
	cio->blk.op = load->kind == QOS_READ ? BLK_READ : BLK_WRITE;
	cio->blk.flags = 0;
	cio->blk.lba = io->offset / c->block_size;
	cio->blk.blocks = load->bytes / c->block_size;
	cio->blk.iov = &cio->iov;
	cio->blk.iov_count = 1;
	c->chan->busy++;
	blk_submit(c->chan, &cio->blk);
}

/* All that may go goes, of this step or the next. */
static void
go(struct calibrating *c)
{
	uint64_t now_ns = c->reactor->now_ns;
	struct gauge_heard heard[GAUGE_LOADS];
	struct gauge_io *io;
	uint64_t wants_ns;

	if (gauge_over(&c->gauge, now_ns)) {
		gauge_hear(&c->gauge, heard);
		calibrate_take(&c->calibrate, heard);
		step_begin(c);
	}
	if (c->over)
		return;
	while ((io = gauge_next(&c->gauge, now_ns)) != NULL)
		submit(c, io);
	say_percent(c);
	wants_ns = gauge_deadline(&c->gauge, now_ns);
	timer_set(&c->reactor->timers, &c->timer, wants_ns > now_ns ? wants_ns : now_ns + 1);
}

/* Where nothing ends nobody waits for the rest: what is in flight dies with the process. */
static void
stalled(struct timer *timer)
{
	(void)timer;
	passing(NULL);
	fprintf(stderr, "weir calibrate: the volume has not answered for %d s\n", STALL_S);
	_exit(EXIT_FAILED);
}

/* Its last I/O is in flight where the time of a step is over: the end of that is waited for. */
static void
timer_fired(struct timer *timer)
{
	struct calibrating *c = container_of(timer, struct calibrating, timer);

	if (c->reactor->now_ns < c->gauge.until_ns || c->gauge.inflight == 0)
		go(c);
}

static void
turn_ended(struct task *task)
{
	struct calibrating *c = container_of(task, struct calibrating, turn_ends);
	uint64_t now_ns = c->reactor->world->time_ns(c->reactor);

	hist_add(&c->turns, now_ns - c->reactor->now_ns);
}

static void
fail(struct calibrating *c, const struct blk_io *blk, struct nvme_status status)
{
	passing(NULL);
	if (!c->failed)
		fprintf(stderr, "weir calibrate: a %s of %zu bytes at block %" PRIu64 " failed: %s\n",
		    blk->op == BLK_READ ? "read" : "write", blk->iov->iov_len, blk->lba,
		    nvme_status_text(status, false));
	c->failed = true;
	c->over = true;
}

static void
done(struct blk_io *blk, struct nvme_status status)
{
	struct gauge_io *io = blk->owner;
	struct calibrating *c = ((struct calibrating_io *)io->owner)->calibrating;

	c->chan->busy--;
	gauge_ended(&c->gauge, io, c->reactor->now_ns);
	reactor_run_in(c->reactor, PHASE_SEND, &c->turn_ends);
	timer_set(&c->reactor->timers, &c->stall, c->reactor->now_ns + STALL_S * SECOND);
	if (!nvme_ok(status))
		fail(c, blk, status);
	if (c->over)
		end(c);
	else
		go(c);
}

/* ---- life ---- */

static void
begin(struct timer *timer)
{
	struct calibrating *c = container_of(timer, struct calibrating, timer);

	c->timer.fire = timer_fired;
	c->stall.fire = stalled;
	timer_set(&c->reactor->timers, &c->stall, c->reactor->now_ns + STALL_S * SECOND);
	calibrate_init(&c->calibrate, c->time_ns, c->prepare);
	step_begin(c);
	go(c);
}

/* Who does not want to wait for what is in flight asks twice. */
static void
on_signal(struct reactor *reactor, int signal)
{
	struct calibrating *c = rt_owner(rt_of(reactor));

	if (signal != SIGTERM && signal != SIGINT)
		return;
	if (c->signals++ > 0)
		_exit(EXIT_FAILED);
	passing(NULL);
	fprintf(stderr, "weir calibrate: stopped before its end\n");
	c->failed = true;
	end(c);
}

static bool
complain(const char *what, int error)
{
	fprintf(stderr, "weir calibrate: %s: %s\n", what, strerrordesc_np(-error));
	return false;
}

/* What is written is no sequence that a drive could make less of. */
static bool
buffers_make(struct calibrating *c)
{
	struct rng rng;

	for (unsigned kind = 0; kind < QOS_KINDS; kind++)
		if (posix_memalign(&c->buffers[kind], 4096, QOS_SIZE_MOST) != 0)
			return complain("cannot start", -ENOMEM);
	rng_seed(&rng, 1);
	for (size_t at = 0; at < QOS_SIZE_MOST; at += sizeof(uint64_t))
		*(uint64_t *)((char *)c->buffers[QOS_WRITE] + at) = rng_next(&rng);
	return true;
}

static void
ios_make(struct calibrating *c)
{
	for (unsigned tenant = 0; tenant < GAUGE_TENANTS; tenant++)
		for (unsigned i = 0; i < GAUGE_DEPTH; i++) {
			struct calibrating_io *cio = &c->ios[tenant][i];

			cio->calibrating = c;
			cio->blk.done = done;
			cio->blk.owner = &c->gauge.ios[tenant][i];
			c->gauge.ios[tenant][i].owner = cio;
		}
}

static bool
open_volume(struct calibrating *c)
{
	struct blk *blk;
	int rc;

	opening_init(&c->opening, c->reactor, DEFAULT_SUBNQN, 1, c->spec, c->block_size, CONF_QOS_OFF);
	opening_run(&c->opening);
	if (c->opening.rc != 0) {
		fprintf(stderr, "weir calibrate: %s\n", c->opening.why);
		return false;
	}
	blk = c->opening.blk;
	c->bytes = blk->blocks * blk->block_size;
	rc = blk->ops->open_chan(blk, c->reactor, &c->chan);
	return rc == 0 ? true : complain(c->spec, rc);
}

static bool
run(struct calibrating *c)
{
	int rc;

	if (!buffers_make(c) || !open_volume(c))
		return false;
	ios_make(c);
	hist_init(&c->turns);
	task_init(&c->turn_ends, turn_ended);
	c->timer.fire = begin;
	timer_set(&c->reactor->timers, &c->timer, 0);
	rc = rt_run(c->rt);
	passing(NULL);
	return rc == 0 ? !c->failed : complain("cannot run", rc);
}

bool
calibrating_run(struct calibrating *c)
{
	const char *missing;
	bool right;
	int rc;

	c->rt_options.on_signal = on_signal;
	c->rt_options.owner = c;
	c->rt_options.missing = &missing;
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow fails its writes, not us */
	rc = rt_create(&c->rt, &c->rt_options);
	if (rc != 0) {
		fprintf(stderr, "weir calibrate: cannot start: there is no %s: %s\n", missing, strerror(-rc));
		return false;
	}
	c->reactor = rt_reactor(c->rt, 0);
	c->reactor->on_mail = blk_mail;
	right = run(c);
	if (c->chan != NULL)
		c->chan->blk->ops->close_chan(c->chan);
	opening_close(&c->opening);
	rt_destroy(c->rt);
	for (unsigned kind = 0; kind < QOS_KINDS; kind++)
		free(c->buffers[kind]);
	return right;
}
