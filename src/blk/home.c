/*
 * home.c - of a device with a home (home.h): what each reactor asks of it, and how it is opened and closed.
 */
#include "blk/home.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>

#include "base/arena.h"
#include "blk/finish.h"

static bool
is_home(const struct blk_chan *chan)
{
	return chan->reactor->index == home_of(chan->blk)->index;
}

static struct home_chan *
home_chan_of(struct blk_chan *chan)
{
	return container_of(chan, struct home_chan, chan);
}

static void
say(struct home_chan *hc, struct home_req *req, enum home_word word)
{
	fifo_push(&hc->going, &req->notes[word].node);
	reactor_run_in(hc->chan.reactor, PHASE_SUBMIT, &hc->go);
}

static void
go_run(struct task *task)
{
	struct home_chan *hc = container_of(task, struct home_chan, go);
	const struct fifo notes = hc->going;

	fifo_init(&hc->going);
	home_post(hc->chan.reactor, hc->home->index, HOME_GO, hc, &notes);
}

static void
finish(struct home_chan *hc, struct blk_io *io, struct nvme_status status)
{
	io->flags &= ~(uint32_t)BLK_DEVICE;
	finish_push(&hc->finished, io, status);
	reactor_run_in(hc->chan.reactor, PHASE_COLLECT, &hc->collect);
}

static void
collect_run(struct task *task)
{
	finish_all(&container_of(task, struct home_chan, collect)->finished);
}

static unsigned
line_of(const struct blk_io *io)
{
	return io->tenant != NULL ? io->tenant->number % HOME_LINES : 0;
}

/* So one whose I/Os do not end, because they wait for their turn there, leaves some for others. */
static bool
may_send(const struct home_chan *hc, unsigned line)
{
	return hc->lines[line].taken < hc->free_count;
}

/* It may be. */
static void
send(struct home_chan *hc, struct blk_io *io)
{
	struct home_req *req = hc->free;

	hc->free = req->next_free;
	hc->free_count--;
	req->line = (uint8_t)line_of(io);
	hc->lines[req->line].taken++;
	req->outer = io;
	req->wanted = false;
	req->io = *io;
	req->io.flags &= ~(uint32_t)BLK_DEVICE;
	io->flags = (io->flags & ~(uint32_t)BLK_DEVICE) | HOME_AWAY;
	io->at = (uint64_t)(req - hc->reqs);
	say(hc, req, HOME_SUBMIT);
}

static void
wait(struct home_chan *hc, struct blk_io *io)
{
	unsigned line = line_of(io);

	io->flags |= HOME_WAITS;
	list_push(&hc->lines[line].waiting, &io->place);
	hc->waiting |= UINT64_C(1) << line;
}

static void
wait_no_more(struct home_chan *hc, struct blk_io *io)
{
	unsigned line = line_of(io);

	list_remove(&io->place);
	if (list_empty(&hc->lines[line].waiting))
		hc->waiting &= ~(UINT64_C(1) << line);
}

/* Of those that wait, one of each line in turn. */
static void
send_waiting(struct home_chan *hc)
{
	for (unsigned i = 0; hc->waiting != 0 && i < HOME_LINES; i++) {
		unsigned line = hc->turn++ % HOME_LINES;
		struct blk_io *io = container_of(hc->lines[line].waiting.next, struct blk_io, place);

		if (list_empty(&hc->lines[line].waiting) || !may_send(hc, line))
			continue;
		wait_no_more(hc, io);
		send(hc, io);
	}
}

static void
req_give(struct home_chan *hc, struct home_req *req)
{
	if (req->outer != NULL || req->cancelling)
		return;
	req->next_free = hc->free;
	hc->free = req;
	hc->free_count++;
	hc->lines[req->line].taken--;
	if (hc->waiting != 0)
		send_waiting(hc);
}

/* What the device has said of it is its owner's; of what is lent `at` stays, so that it is found again. */
static void
over(struct home_chan *hc, struct home_req *req)
{
	struct blk_io *io = req->outer;
	bool lent = (req->io.flags & BLK_LENT) != 0;

	io->flags |= req->io.flags & (BLK_LENT | BLK_BAD);
	io->iov_count = req->io.iov_count;
	io->credits = req->io.credits;
	if (!lent) {
		io->at = req->io.at;
		req->outer = NULL;
	}
	finish(hc, io, req->io.status);
}

static void
returned(struct home_chan *hc, struct home_note *first)
{
	for (struct home_note *note = first, *next; note != NULL; note = next) {
		struct home_req *req = note->req;

		next = home_next(note);
		switch (note->word) {
		case HOME_SUBMIT:
			over(hc, req);
			break;
		case HOME_CANCEL:
			req->cancelling = false;
			hc->chan.busy--;
			break;
		case HOME_RELEASE:
			req->outer = NULL;
			hc->chan.busy--;
			break;
		case HOME_WANTED:
			req->wanted = true;
			break;
		case HOME_WORDS:
			break;
		}
		req_give(hc, req);
	}
}

void
blk_mail(struct reactor *reactor, const struct mail *mail)
{
	struct home_chan *hc = (struct home_chan *)(uintptr_t)mail->words[0];
	struct home_note *first = container_of((struct fifo_node *)(uintptr_t)mail->words[1], struct home_note, node);

	switch ((enum home_mail)mail->kind) {
	case HOME_GO:
		home_notes(first, reactor);
		break;
	case HOME_BACK:
		returned(hc, first);
		break;
	}
}

/* ---- what everybody asks of a device ---- */

static void
home_submit(struct blk_chan *chan, struct blk_io *io)
{
	struct home_chan *hc = home_chan_of(chan);

	if (is_home(chan)) {
		blk_submit(home_of(chan->blk)->chan, io);
		return;
	}
	if (io->op == BLK_WRITE && (io->flags & BLK_TRANSIENT) != 0)
		io->keep(io);
	if (list_empty(&hc->lines[line_of(io)].waiting) && may_send(hc, line_of(io)))
		send(hc, io);
	else
		wait(hc, io);
}

/* Of what has been sent nobody knows here whether it can be ended. */
static bool
home_cancel(struct blk_chan *chan, struct blk_io *io)
{
	struct home *home = home_of(chan->blk);
	struct home_chan *hc = home_chan_of(chan);

	if (is_home(chan))
		return home->inner->ops->cancel(home->chan, io);
	if ((io->flags & HOME_WAITS) != 0) {
		wait_no_more(hc, io);
		finish(hc, io, nvme_status_of(NVME_SC_ABORT_REQUESTED, false));
		return true;
	}
	if ((io->flags & HOME_AWAY) != 0 && !hc->reqs[io->at].cancelling) {
		hc->reqs[io->at].cancelling = true;
		chan->busy++;
		say(hc, &hc->reqs[io->at], HOME_CANCEL);
	}
	return false;
}

static void
home_release(struct blk_chan *chan, struct blk_io *io)
{
	struct home *home = home_of(chan->blk);
	struct home_chan *hc = home_chan_of(chan);

	if (is_home(chan)) {
		home->inner->ops->release(home->chan, io);
		return;
	}
	assert((io->flags & BLK_LENT) != 0 && hc->reqs[io->at].outer == io);
	io->flags &= ~(uint32_t)BLK_LENT;
	chan->busy++;
	say(hc, &hc->reqs[io->at], HOME_RELEASE);
}

static bool
home_wanted(const struct blk_chan *chan, const struct blk_io *io)
{
	const struct home *home = home_of(chan->blk);
	const struct home_chan *hc = container_of(chan, const struct home_chan, chan);

	return is_home(chan) ? home->inner->ops->wanted(home->chan, io) : hc->reqs[io->at].wanted;
}

/* ---- opening and closing ---- */

static int
open_here(struct home *home, struct reactor *reactor, struct blk_chan **chan)
{
	struct blk_chan *local = arena_alloc(reactor->arena, sizeof(*local));
	int error = -ENOMEM;

	if (local != NULL)
		error = home_open_inner(home, reactor);
	if (error != 0) {
		arena_free(reactor->arena, local);
		return error;
	}
	home->locals++;
	*local = (struct blk_chan){ .blk = &home->blk, .reactor = reactor };
	*chan = local;
	return 0;
}

static void
req_init(struct home_chan *hc, struct home_req *req)
{
	req->chan = hc;
	list_init(&req->lent);
	for (int word = 0; word < HOME_WORDS; word++)
		req->notes[word] = (struct home_note){ .word = (enum home_word)word, .req = req };
	req->next_free = hc->free;
	hc->free = req;
	hc->free_count++;
}

static int
home_open_chan(struct blk *blk, struct reactor *reactor, struct blk_chan **chan)
{
	struct home *home = home_of(blk);
	struct home_chan *hc;

	if (reactor->index == home->index)
		return open_here(home, reactor, chan);
	hc = arena_alloc(reactor->arena, sizeof(*hc));
	if (hc == NULL)
		return -ENOMEM;
	hc->chan = (struct blk_chan){ .blk = blk, .reactor = reactor };
	hc->home = home;
	for (int i = 0; i < HOME_LINES; i++)
		list_init(&hc->lines[i].waiting);
	fifo_init(&hc->going);
	fifo_init(&hc->finished);
	fifo_init(&hc->back);
	task_init(&hc->go, go_run);
	task_init(&hc->collect, collect_run);
	task_init(&hc->reply, home_reply);
	for (int i = HOME_REQUESTS; i-- > 0;)
		req_init(hc, &hc->reqs[i]);
	*chan = &hc->chan;
	return 0;
}

/* The reactors have stopped, and what was on its way is not read any more. */
static void
take_back(struct home_chan *hc)
{
	for (int i = 0; i < HOME_REQUESTS; i++) {
		assert(!hc->reqs[i].begun);
		if ((hc->reqs[i].io.flags & BLK_LENT) != 0)
			home_let_go(hc->home, &hc->reqs[i]);
	}
	task_cancel(&hc->go);
	task_cancel(&hc->reply);
}

static void
home_close_chan(struct blk_chan *chan)
{
	struct home *home = home_of(chan->blk);
	struct home_chan *hc = home_chan_of(chan);

	if (is_home(chan)) {
		home->locals--;
		home_rest(home);
		arena_free(chan->reactor->arena, chan);
		return;
	}
	assert(hc->waiting == 0 && fifo_empty(&hc->finished));
	if (chan->busy > 0)
		take_back(hc);
	task_cancel(&hc->collect);
	arena_free(chan->reactor->arena, hc);
}

/* Its channel is open still where the reactors stopped when its home had closed its own, and mail was on its way. */
static void
home_destroy(struct blk *blk)
{
	struct home *home = home_of(blk);

	if (home->chan != NULL)
		home_close_inner(home);
	home->inner->ops->destroy(home->inner);
	arena_free(blk->arena, home);
}

static int
home_grow(struct blk *blk, struct reactor *reactor, uint64_t blocks)
{
	struct blk *inner = home_of(blk)->inner;
	int error = inner->ops->grow != NULL ? inner->ops->grow(inner, reactor, blocks) : -EOPNOTSUPP;

	blk->blocks = inner->blocks;
	return error;
}

static int
home_stretch(struct blk *blk, struct reactor *reactor, uint64_t blocks, int64_t *was)
{
	return blk_stretch(home_of(blk)->inner, reactor, blocks, was);
}

static int
home_undo(struct blk *blk, struct reactor *reactor)
{
	struct blk *inner = home_of(blk)->inner;
	int error = blk_undo(inner, reactor);

	blk->blocks = inner->blocks;
	return error;
}

/* Nobody else may look at the device. */
static bool
home_health(const struct blk_chan *chan, struct blk_health *health)
{
	return is_home(chan) && blk_health(home_of(chan->blk)->chan, health);
}

static const struct blk_ops home_ops = {
	.open_chan = home_open_chan,
	.submit = home_submit,
	.cancel = home_cancel,
	.release = home_release,
	.wanted = home_wanted,
	.close_chan = home_close_chan,
	.grow = home_grow,
	.stretch = home_stretch,
	.undo = home_undo,
	.health = home_health,
	.destroy = home_destroy,
};

struct blk_chan *
home_chan_here(struct blk_chan *chan)
{
	return is_home(chan) ? home_of(chan->blk)->chan : NULL;
}

size_t
home_bytes(unsigned reactors)
{
	return arena_takes(sizeof(struct home), 0) + arena_takes(sizeof(struct blk_chan), 0) +
	    (reactors - 1) * arena_takes(sizeof(struct home_chan), 0);
}

const struct blk *
home_inner(const struct blk *blk)
{
	return blk->ops == &home_ops ? home_of(blk)->inner : NULL;
}

int
home_open(struct reactor *reactor, unsigned index, struct blk *inner, struct blk **blk)
{
	struct home *home = arena_alloc(reactor->arena, sizeof(*home));

	assert(index < reactor->count);
	if (home == NULL) {
		blk_discard(inner, reactor);
		return -ENOMEM;
	}
	home->blk = *inner; /* the path too: the device below owns it and lives as long */
	home->blk.ops = &home_ops;
	home->blk.arena = reactor->arena;
	home->inner = inner;
	home->index = index;
	list_init(&home->lent);
	home->look.fire = home_look;
	*blk = &home->blk;
	return 0;
}
