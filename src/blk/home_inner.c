/*
 * home_inner.c - of a device with a home (home.h): what its home does for other reactors.
 */
#include "blk/home.h"

int
home_open_inner(struct home *home, struct reactor *reactor)
{
	home->reactor = reactor;
	return home->chan == NULL ? home->inner->ops->open_chan(home->inner, reactor, &home->chan) : 0;
}

void
home_close_inner(struct home *home)
{
	timer_clear(&home->reactor->timers, &home->look);
	home->inner->ops->close_chan(home->chan);
	home->chan = NULL;
}

/* Nobody has a channel here, and nothing is under way from elsewhere: so nothing is left here of a device that goes. */
void
home_rest(struct home *home)
{
	if (home->chan != NULL && home->locals == 0 && home->under_way == 0)
		home_close_inner(home);
}

static void
back(struct home *home, struct home_note *note)
{
	struct home_chan *hc = note->req->chan;

	fifo_push(&hc->back, &note->node);
	reactor_run_in(home->reactor, PHASE_SEND, &hc->reply);
}

/* When it is posted the channel, and the device with it, may be gone before this returns. */
void
home_reply(struct task *task)
{
	struct home_chan *hc = container_of(task, struct home_chan, reply);
	const struct fifo notes = hc->back;

	fifo_init(&hc->back);
	home_rest(hc->home);
	home_post(hc->home->reactor, hc->chan.reactor->index, HOME_BACK, hc, &notes);
}

static void
look_soon(struct home *home)
{
	if (!home->look.armed)
		timer_set(&home->reactor->timers, &home->look, home->reactor->now_ns + HOME_LOOK_NS);
}

/* Tells those who hold what others wait for. */
void
home_look(struct timer *timer)
{
	struct home *home = container_of(timer, struct home, look);

	list_for_each(&home->lent, node) {
		struct home_req *req = container_of(node, struct home_req, lent);

		if (!home->inner->ops->wanted(home->chan, &req->io))
			continue;
		list_remove(&req->lent);
		back(home, &req->notes[HOME_WANTED]);
	}
	if (!list_empty(&home->lent))
		look_soon(home);
}

static void
inner_done(struct blk_io *io, struct nvme_status status)
{
	struct home_req *req = io->owner;
	struct home *home = req->chan->home;

	req->begun = false;
	io->status = status;
	if ((io->flags & BLK_LENT) != 0) {
		list_push(&home->lent, &req->lent);
		look_soon(home);
	} else {
		home->under_way--;
	}
	back(home, &req->notes[HOME_SUBMIT]);
}

/* Where its home has no channel of its own any more there may be no memory to open one. */
static void
begin(struct home *home, struct home_req *req, struct reactor *reactor)
{
	int error = home_open_inner(home, reactor);

	home->under_way++;
	req->begun = true;
	req->io.done = inner_done;
	req->io.owner = req;
	if (error == 0)
		blk_submit(home->chan, &req->io);
	else
		inner_done(&req->io, nvme_status_of_errno(error, req->io.op != BLK_READ));
}

void
home_let_go(struct home *home, struct home_req *req)
{
	list_remove(&req->lent);
	home->inner->ops->release(home->chan, &req->io);
	home->under_way--;
}

void
home_notes(struct home_note *first, struct reactor *reactor)
{
	for (struct home_note *note = first, *next; note != NULL; note = next) {
		struct home_req *req = note->req;
		struct home *home = req->chan->home;

		next = home_next(note);
		switch (note->word) {
		case HOME_SUBMIT:
			begin(home, req, reactor);
			break;
		case HOME_CANCEL:
			if (req->begun)
				(void)home->inner->ops->cancel(home->chan, &req->io);
			back(home, note);
			break;
		case HOME_RELEASE:
			home_let_go(home, req);
			back(home, note);
			break;
		case HOME_WANTED:
		case HOME_WORDS:
			break;
		}
	}
}
