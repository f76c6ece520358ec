/*
 * reserve_core.c - reservations: what each core does.
 *
 * Takes what core 0 says who holds a namespace, ends commands of hosts that were
 * put out, tells controllers, and names them for reports.  Does not know what a
 * command means (resv/), nor in which order things are done (reserve.c); what
 * the commands of reservations do here is in reserve_lend.c.
 */
#include <assert.h>
#include <errno.h>

#include "target/assoc.h"
#include "target/command.h"
#include "target/reserve.h"

enum { ENDING_NS = 1000 * 1000 };

/* ---- who holds a namespace ---- */

bool
reserve_ptpl(const struct core *core, const struct view_subsys *subsys, uint32_t nsid)
{
	const struct view_ns *ns;
	uint16_t slot;

	if (subsys == NULL || nsid - 1 >= subsys->ns_limit)
		return false;
	ns = &subsys->ns[nsid - 1];
	slot = volume_slot(ns->volume);
	return ns->info != NULL && core->ptpl[slot / 64] >> slot % 64 & 1;
}

/* Commands look at their connection, which they have at hand. */
static void
set_gates(struct core *core)
{
	list_for_each(&core->conns, node)
		container_of(node, struct conn, node)->gate = core->resv_count > 0 ? GATE_RESV : 0;
}

void
reserve_take(struct core *core, uint32_t slot, const struct resv *state)
{
	const struct resv *holds = state != NULL && state->type != NVME_RESV_NONE ? state : NULL;
	uint64_t bit = UINT64_C(1) << slot % 64;

	if ((holds != NULL) != (core->resv[slot] != NULL)) {
		if (holds != NULL)
			core->resv_count++;
		else
			core->resv_count--;
		set_gates(core);
	}
	core->resv[slot] = holds;
	core->ptpl[slot / 64] &= ~bit;
	if (state != NULL && state->ptpl)
		core->ptpl[slot / 64] |= bit;
}

/* ---- commands that are to end ---- */

static bool
put_out(const struct resv_effect *effect, const uint8_t *hostid)
{
	for (uint32_t i = 0; i < effect->abort_count; i++)
		if (memcmp(effect->aborts[i], hostid, RESV_HOSTID_LEN) == 0)
			return true;
	return false;
}

static bool
at_device(const struct request *req, const struct blk_chan *chan)
{
	return req->xfer.state == XFER_HELD && req->stage == STAGE_DEVICE && req->chan == chan;
}

/* Of the namespace, and waiting for something before it may go on. */
static bool
waits(const struct request *req, uint16_t slot)
{
	const struct view_ns *ns = conn_ns(req->conn, le32_get(req->sqe.nsid));

	if (req->xfer.state == XFER_FREE || req->xfer.state == XFER_ANSWERING || ns == NULL ||
	    volume_slot(ns->volume) != slot)
		return false;
	switch (req->stage) {
	case STAGE_SHARE:
	case STAGE_READ:
	case STAGE_BUFS:
	case STAGE_SCRATCH:
	case STAGE_FUSED:
	case STAGE_PARTNER:
	case STAGE_TURN:
	case STAGE_FILL:
	case STAGE_AGAIN:
	case STAGE_ORDER:
		return true;
	case STAGE_NEW:
	case STAGE_ADMIN:
	case STAGE_DEVICE:
	case STAGE_MAIL:
	case STAGE_EVENT:
	case STAGE_ANSWER:
	case STAGE_SLOW:
		return false;
	}
	return false;
}

/*
 * A command that is marked goes to no device any more.  Those that wait for
 * memory alone end at once; those whose host still sends their data, and pairs,
 * end when it is there.  One that was not checked yet is checked as usual.
 */
static void
end_command(struct request *req, uint16_t slot)
{
	struct conn *conn = req->conn;
	struct blk_chan *chan = conn->core->chans[slot];

	if (at_device(req, chan) && le32_get(req->sqe.nsid) != UINT32_MAX) {
		req->volume = VOLUME_ENDED;
		chan->blk->ops->cancel(chan, &req->io);
	} else if (waits(req, slot)) {
		req->volume = VOLUME_ENDED;
		if (req->stage == STAGE_READ && req->sqe.opcode == NVME_READ)
			asked_leave(req);
		else if (req->stage == STAGE_SCRATCH && req->partner == NULL)
			scratch_leave(req);
		else
			return;
		request_answer(req, io_ended());
	}
}

static void
end_commands(struct core *core, uint16_t slot, const struct resv_effect *effect)
{
	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);

		if (conn->qid == 0 || !put_out(effect, conn->hostid))
			continue;
		conn->held++;
		for (uint32_t i = 0; i < conn->tc.slots_used; i++)
			end_command(&conn->slots[i], slot);
		conn->held--;
		conn_maybe_free(conn);
	}
}

static bool
still_at_device(const struct core *core, uint32_t slot)
{
	list_for_each(&core->conns, node) {
		const struct conn *conn = container_of(node, struct conn, node);

		for (uint32_t i = 0; i < conn->tc.slots_used; i++)
			if (conn->slots[i].volume == VOLUME_ENDED && at_device(&conn->slots[i], core->chans[slot]))
				return true;
	}
	return false;
}

static void
answer_core0(struct core *core, enum target_mail_kind kind, uint32_t slot)
{
	struct target_mail mail = { .kind = (uint16_t)kind, .resv = { .slot = (uint16_t)slot } };

	core_post(core, 0, &mail);
}

/* Looks again soon where commands that are to end are still at their device. */
static void
ending(struct timer *timer)
{
	struct core *core = container_of(timer, struct core, ending_timer);
	bool more = false;

	for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX; slot++) {
		if (!(core->ending[slot / 64] >> slot % 64 & 1))
			continue;
		if (still_at_device(core, slot)) {
			more = true;
			continue;
		}
		core->ending[slot / 64] &= ~(UINT64_C(1) << slot % 64);
		answer_core0(core, MAIL_RESV_TAKEN, slot);
	}
	if (more)
		timer_set(&core->reactor->timers, timer, core->reactor->now_ns + ENDING_NS);
}

static void
take(struct core *core, const struct target_mail *mail)
{
	uint16_t slot = mail->resv.slot;

	if (core->chans[slot] == NULL) { /* given up here */
		answer_core0(core, MAIL_RESV_TAKEN, slot);
		return;
	}
	reserve_take(core, slot, mail->resv.state);
	if (mail->resv.effect->abort_count == 0) {
		answer_core0(core, MAIL_RESV_TAKEN, slot);
		return;
	}
	end_commands(core, slot, mail->resv.effect);
	core->ending[slot / 64] |= UINT64_C(1) << slot % 64;
	ending(&core->ending_timer);
}

/* ---- controllers of the namespace ---- */

static bool
has_ns(const struct assoc *assoc, const struct target_mail *mail)
{
	const struct view_subsys *subsys = assoc->subsys;
	uint32_t nsid = mail->resv.nsid;

	return assoc->admin != NULL && subsys != NULL && nsid - 1 < subsys->ns_limit &&
	    present_has(assoc, &subsys->ns[nsid - 1]) && volume_slot(subsys->ns[nsid - 1].volume) == mail->resv.slot;
}

static void
tell(struct core *core, const struct target_mail *mail)
{
	const struct resv_effect *effect = mail->resv.effect;

	list_for_each(&core->assocs, node) {
		struct assoc *assoc = container_of(node, struct assoc, node);

		for (uint32_t i = 0; i < effect->notice_count && has_ns(assoc, mail); i++)
			if (memcmp(effect->notices[i].hostid, assoc->ctrl.hostid, RESV_HOSTID_LEN) == 0)
				ctrl_reservation_notice(&assoc->ctrl, mail->resv.nsid, effect->notices[i].kind);
		admin_events(assoc);
	}
	answer_core0(core, MAIL_RESV_TOLD, mail->resv.slot);
}

/* The lowest id of each registrant's controllers. */
static void
find_controller(struct reserve_found *found, const struct resv *state, const struct ctrl *ctrl)
{
	for (uint32_t i = 0; i < found->count; i++) {
		struct resv_controller *known = &found->controllers[i];

		if (memcmp(known->hostid, ctrl->hostid, RESV_HOSTID_LEN) != 0)
			continue;
		if (ctrl->cntlid < known->cntlid)
			known->cntlid = ctrl->cntlid;
		return;
	}
	for (uint32_t i = 0; i < state->host_count; i++) {
		if (memcmp(state->hosts[i].hostid, ctrl->hostid, RESV_HOSTID_LEN) != 0)
			continue;
		found->controllers[found->count] = (struct resv_controller){ .cntlid = ctrl->cntlid };
		memcpy(found->controllers[found->count++].hostid, ctrl->hostid, RESV_HOSTID_LEN);
		return;
	}
}

static void
find_controllers(struct core *core, const struct target_mail *mail)
{
	unsigned after = core->reactor->index + 1;
	struct target_mail on = *mail;

	list_for_each(&core->assocs, node) {
		struct assoc *assoc = container_of(node, struct assoc, node);

		if (assoc->joined && has_ns(assoc, mail))
			find_controller(mail->resv.found, mail->resv.state, &assoc->ctrl);
	}
	if (after < core->reactor->count) {
		core_post(core, after, &on);
	} else {
		on.kind = MAIL_RESV_FOUND;
		core_post(core, 0, &on);
	}
}

void
reserve_core_mail(struct core *core, const struct target_mail *mail)
{
	switch ((enum target_mail_kind)mail->kind) {
	case MAIL_RESERVED:
		reserve_returned(core, mail);
		return;
	case MAIL_RESV_TAKE:
		take(core, mail);
		return;
	case MAIL_RESV_TELL:
		tell(core, mail);
		return;
	case MAIL_RESV_WHO:
		find_controllers(core, mail);
		return;
	default:
		assert(false); /* not for us */
	}
}

int
reserve_core_begin(struct core *core)
{
	core->ending_timer.fire = ending;
	core->resv = arena_alloc(core->reactor->arena, TARGET_VOLUMES_MAX * sizeof(*core->resv));
	return core->resv != NULL ? reserve_lend_begin(core) : -ENOMEM;
}

void
reserve_core_end(struct core *core)
{
	timer_clear(&core->reactor->timers, &core->ending_timer);
	arena_free(core->reactor->arena, core->resv);
	arena_free(core->reactor->arena, core->lines);
}
