/*
 * settle.c - before a host hears that a namespace is protected, what was written to it is on its medium.
 *
 * Two parts of a wish, on its controller's core.  Before the keeper has it, the
 * volumes are flushed: where that cannot be, nothing is protected.  When it is
 * done, and no core begins a write any more, each is asked until those under way
 * have ended, and what they left in a cache is flushed.  (NVMe Base 2.0, 5.27.1.29)
 */
#include "target/assoc.h"
#include "target/wish.h"

enum { AGAIN_NS = 1000 * 1000 };

/* ---- volumes ---- */

static void flush_next(struct target_wish *wish);

static void
flushed(struct blk_io *io, struct nvme_status status)
{
	struct target_wish *wish = io->owner;

	wish->settle.chan->busy--;
	if (nvme_ok(status)) {
		flush_next(wish);
		return;
	}
	core_log_storage(wish->req->conn->core, "a volume that a host protects could not be flushed: %s",
	    nvme_status_text(status, false));
	wish->settle.then(wish, status);
}

/* The next namespace, of those that are attached to the asker; they may come and go meanwhile, and so may it. */
static void
flush_next(struct target_wish *wish)
{
	const struct conn *conn = wish->req->conn;
	const struct view_subsys *subsys = view_subsys(conn->core->view, wish->nqn);
	struct settle *settle = &wish->settle;

	while (conn->assoc != NULL && subsys != NULL && settle->nsid < subsys->ns_limit) {
		const struct view_ns *ns = &subsys->ns[settle->nsid++];

		if ((wish->nsid != UINT32_MAX && wish->nsid != settle->nsid) || !present_has(conn->assoc, ns))
			continue;
		settle->io = (struct blk_io){ .op = BLK_FLUSH, .done = flushed, .owner = wish };
		settle->chan = conn->core->chans[volume_slot(ns->volume)];
		settle->chan->busy++;
		blk_submit(settle->chan, &settle->io);
		return;
	}
	settle->then(wish, NVME_OK);
}

void
settle_flush(struct target_wish *wish, void (*then)(struct target_wish *wish, struct nvme_status status))
{
	wish->settle.then = then;
	wish->settle.nsid = 0;
	flush_next(wish);
}

/* ---- writes under way ---- */

static bool
changes_blocks(enum blk_op op)
{
	switch (op) {
	case BLK_WRITE:
	case BLK_WRITE_ZEROES:
	case BLK_TRIM:
	case BLK_MARK_BAD:
	case BLK_COMPARE_WRITE:
		return true;
	default:
		return false;
	}
}

/* At its device, of a namespace that is protected by now, and is one of those that were to be. */
static bool
still_writes(const struct request *req, const struct target_wish *wish)
{
	uint32_t nsid = le32_get(req->sqe.nsid);
	const struct view_ns *ns;

	if (req->xfer.state != XFER_HELD || req->stage != STAGE_DEVICE || !changes_blocks(req->io.op) ||
	    (wish->nsid != UINT32_MAX && wish->nsid != nsid))
		return false;
	ns = conn_ns(req->conn, nsid);
	return ns != NULL && ns->gate & GATE_PROTECT && req->chan == req->conn->core->chans[volume_slot(ns->volume)];
}

static bool
settled(const struct core *core, const struct target_wish *wish)
{
	list_for_each(&core->conns, node) {
		const struct conn *conn = container_of(node, struct conn, node);

		if (conn->qid == 0 || conn->subsys == NULL || strcmp(conn->subsys->info.nqn, wish->nqn) != 0)
			continue;
		for (uint32_t i = 0; i < conn->tc.slots_used; i++)
			if (still_writes(&conn->slots[i], wish))
				return false;
	}
	return true;
}

/* One core after the other. */
static void
ask(struct target_wish *wish)
{
	struct target_mail mail = { .kind = MAIL_SETTLE, .settle = { .wish = wish } };

	core_post(wish->req->conn->core, wish->settle.asked, &mail);
}

static void
ask_again(struct timer *timer)
{
	ask(container_of(timer, struct target_wish, settle.timer));
}

static void
answered(struct target_wish *wish, bool done)
{
	const struct reactor *reactor = wish->req->conn->core->reactor;
	struct settle *settle = &wish->settle;

	if (!request_wanted(wish->req)) {
		settle->then(wish, NVME_OK); /* which nobody hears */
	} else if (!done) {
		settle->timer.fire = ask_again;
		timer_set(&wish->req->conn->core->reactor->timers, &settle->timer, reactor->now_ns + AGAIN_NS);
	} else if (++settle->asked < reactor->count) {
		ask(wish);
	} else {
		settle_flush(wish, settle->then);
	}
}

void
settle_writes(struct target_wish *wish, void (*then)(struct target_wish *wish, struct nvme_status status))
{
	wish->settle.then = then;
	wish->settle.asked = 0;
	ask(wish);
}

void
settle_mail(struct core *core, const struct target_mail *mail)
{
	struct target_mail answer = { .kind = MAIL_SETTLED, .settle = mail->settle };

	if (mail->kind == MAIL_SETTLED) {
		answered(mail->settle.wish, mail->settle.done);
		return;
	}
	answer.settle.done = settled(core, mail->settle.wish);
	core_post(core, mail->from, &answer);
}
