#include "target/assoc.h"
#include "target/wish.h"

#include <assert.h>


/* ---- on the controller's core ---- */

static enum target_wish_kind
kind_of(enum ctrl_action action)
{
	switch (action) {
	case CTRL_NS_CREATE:
		return WISH_CREATE;
	case CTRL_NS_DELETE:
		return WISH_DELETE;
	case CTRL_NS_ATTACH:
		return WISH_ATTACH;
	case CTRL_NS_DETACH:
		return WISH_DETACH;
	default:
		assert(action == CTRL_PROTECT);
		return WISH_PROTECT;
	}
}

static uint32_t
id_count(const struct ctrl_reply *reply)
{
	return reply->cntlids != NULL ? le16_get(reply->cntlids->count) : 0;
}

/* The host's NQN is copied: its controller may go before the wish is heard. */
static void
fill(struct target_wish *wish, const struct ctrl *ctrl, const struct ctrl_reply *reply)
{
	wish->kind = kind_of(reply->action);
	wish->nsid = reply->nsid;
	wish->protection = (enum nvme_protection)reply->value;
	wish->create = reply->create;
	memcpy(wish->nqn, ctrl->subsys->nqn, sizeof(wish->nqn));
	memcpy(wish->asker_nqn, ctrl->hostnqn, sizeof(wish->asker_nqn));
	wish->asker = (struct target_controller){ ctrl->cntlid, ctrl->association, wish->asker_nqn, false };
	memcpy(wish->hostid, ctrl->hostid, sizeof(wish->hostid));
	wish->newest = reply->newest;
	wish->cntlid_count = id_count(reply);
	for (uint32_t i = 0; i < wish->cntlid_count; i++)
		wish->cntlids[i] = le16_get(reply->cntlids->cntlid[i]);
}

/* Or NULL. */
static const struct view_ns *
find_ns(const struct view_subsys *subsys, uint32_t nsid)
{
	return subsys != NULL && nsid - 1 < subsys->ns_limit && subsys->ns[nsid - 1].info != NULL ?
	    &subsys->ns[nsid - 1] : NULL;
}

static struct nvme_status
aborted_status(void)
{
	return nvme_status_of(NVME_SC_ABORT_REQUESTED, false);
}

static void
answer(struct request *req, struct nvme_status status)
{
	struct assoc *assoc = req->conn->assoc;

	if (nvme_ok(status) && assoc != NULL && req->sqe.opcode == NVME_ADMIN_SET_FEATURES)
		events_tell_set(req, 0);
	request_answer_late(req, status);
}

static void
post(struct core *core, struct target_wish *wish)
{
	struct target_mail mail = { .kind = MAIL_WISH, .key = wish->key, .wish = { .wish = wish } };

	wish->req->conn->wishing = wish;
	core_post(core, 0, &mail);
}

static bool
protects(const struct target_wish *wish)
{
	return wish->kind == WISH_PROTECT && wish->protection != NVME_PROTECT_NONE;
}

static void end(struct target_wish *wish, struct nvme_status status);

/* What it is to protect is flushed. */
static void
flushed(struct target_wish *wish, struct nvme_status status)
{
	if (nvme_ok(status) && request_wanted(wish->req))
		post(wish->req->conn->core, wish);
	else
		end(wish, nvme_ok(status) ? nvme_status_of(NVME_SC_INTERRUPTED, false) : status);
}

/* Its turn has come. */
static void
go(struct target_wish *wish)
{
	if (protects(wish))
		settle_flush(wish, flushed);
	else
		post(wish->req->conn->core, wish);
}

/*
 * To core 0; the request stands still until the answer, and its connection with it.  One of a controller after
 * the other, or one that asks for much would stand before all who ask for little; and no more than a few, which
 * is what their memory is bounded by.
 */
void
wish_begin(struct request *req, const struct ctrl_reply *reply)
{
	struct conn *conn = req->conn;
	struct arena *arena = conn->core->reactor->arena;
	const struct view_ns *ns = find_ns(conn->assoc->subsys, reply->nsid);
	struct target_wish *wish;

	if (conn->wish_count == TARGET_WISHES_MAX) {
		answer(req, nvme_status_of(NVME_SC_INTERRUPTED, false));
		return;
	}
	wish = arena_alloc(arena, sizeof(*wish) + id_count(reply) * sizeof(wish->cntlids[0]));
	if (wish == NULL) {
		core_log_peer(conn->core, "what a host wishes of namespaces is not done: out of memory");
		answer(req, nvme_status_of(NVME_SC_INTERNAL, false));
		return;
	}
	fill(wish, &conn->assoc->ctrl, reply);
	wish->volume = ns != NULL ? ns->volume : 0;
	wish->over = false;
	wish->req = req;
	wish->abort = NULL;
	wish->key = conn->key;
	req->stage = STAGE_MAIL;
	conn->device_count++;
	if (conn->wish_count++ == 0)
		go(wish);
	else
		fifo_push(&conn->wishes, &wish->node);
	request_spent(req); /* a list of controllers is copied */
}

/* It was done, or is not to be any more. */
static void
leave(struct core *core, struct target_wish *wish, struct nvme_status status)
{
	struct request *req = wish->req;

	arena_free(core->reactor->arena, wish);
	req->conn->wish_count--;
	req->conn->device_count--;
	req->stage = STAGE_NEW;
	answer(req, status);
}

/* And so is who wanted it aborted. */
static void
answer_abort(struct request *abort, bool aborted)
{
	abort->xfer.dw0 = !aborted;
	abort->conn->device_count--;
	request_answer_late(abort, NVME_OK);
}

/* And the next one's turn comes. */
static void
end(struct target_wish *wish, struct nvme_status status)
{
	struct conn *conn = wish->req->conn;
	struct request *abort = wish->abort;
	bool aborted = abort != NULL && nvme_sc(status) == NVME_SC_INTERRUPTED;

	conn->held++;
	leave(conn->core, wish, aborted ? aborted_status() : status);
	if (abort != NULL)
		answer_abort(abort, aborted);
	while (!fifo_empty(&conn->wishes)) {
		wish = container_of(fifo_pop(&conn->wishes), struct target_wish, node);
		if (request_wanted(wish->req)) {
			go(wish);
			break;
		}
		leave(conn->core, wish, nvme_status_of(NVME_SC_INTERRUPTED, false)); /* which nobody hears */
	}
	if (conn->phase == CONN_FINISHING)
		conn_send_soon(conn);
	conn->held--;
	conn_maybe_free(conn);
}

static void
done(const struct target_mail *mail)
{
	struct target_wish *wish = mail->wish.wish;

	wish->req->conn->wishing = NULL;
	wish->req->xfer.dw0 = mail->wish.nsid;
	if (nvme_ok(mail->wish.status) && protects(wish))
		settle_writes(wish, end);
	else
		end(wish, mail->wish.status);
}

/* What the keeper has is not to be begun any more.  Mail keeps its order: it will not be taken for a later one. */
static void
take_back(struct conn *conn)
{
	struct target_mail mail = { .kind = MAIL_WISH_OVER, .key = conn->key };

	if (conn->wishing != NULL)
		core_post(conn->core, 0, &mail);
}

/* Out of the line behind the keeper's. */
static struct target_wish *
take_waiting(struct conn *conn, uint16_t cid)
{
	struct target_wish *found = NULL;
	struct fifo_node *node;
	struct fifo rest;

	fifo_init(&rest);
	while ((node = fifo_pop(&conn->wishes)) != NULL) {
		struct target_wish *wish = container_of(node, struct target_wish, node);

		if (found == NULL && wish->req->xfer.cid == cid)
			found = wish;
		else
			fifo_push(&rest, node);
	}
	fifo_splice(&conn->wishes, &rest);
	return found;
}

/* Where the keeper has the command, the Abort is answered after it, for nobody knows before what becomes of it. */
bool
wish_abort(struct request *abort, uint16_t cid)
{
	struct conn *conn = abort->conn;
	struct target_wish *wish = take_waiting(conn, cid);

	if (wish != NULL) {
		leave(conn->core, wish, aborted_status());
		abort->xfer.dw0 = 0;
		request_answer(abort, NVME_OK);
		return true;
	}
	wish = conn->wishing;
	if (wish == NULL || wish->req->xfer.cid != cid || wish->abort != NULL || !request_wanted(wish->req))
		return false;
	wish->abort = abort;
	abort->stage = STAGE_MAIL;
	conn->device_count++;
	take_back(conn);
	return true;
}

/* The controller is reset, and the requests are dropped: what the keeper has not begun is not to be any more. */
void
wish_drop(struct conn *conn)
{
	struct fifo_node *node;

	take_back(conn);
	while ((node = fifo_pop(&conn->wishes)) != NULL)
		leave(conn->core, container_of(node, struct target_wish, node),
		    nvme_status_of(NVME_SC_INTERRUPTED, false)); /* which nobody hears */
}

size_t
wish_bytes(void)
{
	const struct ctrl_reply *reply;

	return TARGET_WISHES_MAX * (sizeof(struct target_wish) + sizeof(reply->cntlids->cntlid));
}

/* ---- on core 0 ---- */

void
target_wish_done(struct target *target, struct target_wish *wish, struct nvme_status status, uint32_t nsid)
{
	struct target_mail mail = { .kind = MAIL_WISHED, .wish = { wish, status, nvme_ok(status) ? nsid : 0 } };

	registry_wish(target->cores[0], wish->key, NULL);
	core_post(target->cores[0], wish->req->conn->core->reactor->index, &mail);
}

void
wish_over(struct core *core, struct target_wish *wish)
{
	struct target_keeper *keeper = core->target->keeper;

	wish->over = true;
	if (keeper->over != NULL)
		keeper->over(keeper);
}

bool
target_still_named(const struct target *target, const struct target_wish *wish)
{
	const struct view_ns *ns = find_ns(view_subsys(target->view, wish->nqn), wish->nsid);

	return ns != NULL && ns->volume == wish->volume;
}

bool
target_may_write(const struct target *target, const struct target_wish *wish, uint32_t nsid)
{
	const struct view_ns *ns = find_ns(view_subsys(target->view, wish->nqn), nsid);
	const struct resv *state = ns != NULL ? reserve_state(target, volume_slot(ns->volume)) : NULL;

	return state == NULL || resv_access(state, wish->hostid) & RESV_WRITE;
}

void
wish_mail(struct core *core, const struct target_mail *mail)
{
	struct target_keeper *keeper = core->target->keeper;

	if (mail->kind == MAIL_WISHED) {
		done(mail);
		return;
	}
	if (mail->kind == MAIL_WISH_OVER) {
		registry_wish_over(core, mail->key);
		return;
	}
	assert(keeper != NULL); /* else no subsystem offers any of it */
	registry_wish(core, mail->key, mail->wish.wish);
	keeper->wish(keeper, mail->wish.wish);
}
