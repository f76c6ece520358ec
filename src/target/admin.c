/*
 * admin.c - admin commands: their data in and out; ctrl/ knows the answers.
 */
#include <assert.h>

#include "target/assoc.h"
#include "target/command.h"
#include "target/ordered.h"

static bool
sends_data(const struct request *req)
{
	return (req->sqe.opcode & 3) == 2;
}

static uint32_t
sgl_length(const struct request *req)
{
	return le32_get(req->sqe.sgl1.length);
}

/* ---- executing ---- */

/* Copies what ctrl/ writes, a page after the other, into the answer's buffers. */
static void
fill_answer(struct request *req, uint32_t len)
{
	uint8_t *page = req->conn->core->page;
	uint32_t at = 0;

	assert(len == req->bufs.bytes);
	req->xfer.length = len;
	for (uint32_t i = 0; i < req->bufs.count; i++) {
		uint8_t *to = req->bufs.iov[i].iov_base;
		size_t left = req->bufs.iov[i].iov_len;

		while (left > 0) {
			size_t have = CTRL_PAGE_MAX - at % CTRL_PAGE_MAX;

			if (at > 0 && at % CTRL_PAGE_MAX == 0)
				ctrl_answer_more(&req->conn->assoc->ctrl, &req->sqe, at, page);
			if (have > left)
				have = left;
			memcpy(to, page + at % CTRL_PAGE_MAX, have);
			to += have;
			left -= have;
			at += (uint32_t)have;
		}
	}
}

static bool
is_wish(enum ctrl_action action)
{
	return action == CTRL_PROTECT || action == CTRL_NS_CREATE || action == CTRL_NS_DELETE ||
	    action == CTRL_NS_ATTACH || action == CTRL_NS_DETACH;
}

static void
finish(struct request *req, const struct ctrl_reply *reply)
{
	struct assoc *assoc = req->conn->assoc;
	const struct ns_info *create = &reply->create;

	if (__builtin_mul_overflow(create->blocks, create->block_size, &req->walked))
		req->walked = UINT64_MAX;
	req->xfer.dw0 = reply->dw0;
	req->xfer.dw1 = reply->dw1;
	if (!nvme_ok(reply->status)) {
		request_answer(req, reply->status);
	} else if (reply->action == CTRL_WRITE_CACHE) {
		assoc_set_cache(assoc, req);
		return;
	} else if (reply->action == CTRL_ABORT) {
		abort_command(req);
		return;
	} else if (is_wish(reply->action)) {
		wish_begin(req, reply);
		return;
	} else if (reply->action == CTRL_FENCE) {
		fence_begin(assoc, req, (uint16_t)reply->value);
		return;
	} else if (reply->action == CTRL_ORDERED) {
		ordered_ask(req, reply->data_len);
		return;
	} else if (reply->action == CTRL_RESV_PTPL) {
		reserve_set_ptpl(req, reply->nsid);
		return;
	} else if (reply->data_len > 0) {
		fill_answer(req, reply->data_len);
		request_answer_data(req, req->bufs.iov, req->bufs.count);
	} else {
		events_tell_set(req, reply->previous_ms);
		request_answer(req, NVME_OK);
	}
	assoc_act(assoc, reply->action);
}

void
admin_run(struct request *req, const void *in, uint32_t in_len, struct ctrl_given *given)
{
	struct conn *conn = req->conn;
	struct reactor *reactor = conn->core->reactor;
	struct assoc *assoc = conn->assoc;
	struct ctrl_reply reply = { 0 };

	given->ptpl = reserve_ptpl(conn->core, assoc->subsys, le32_get(req->sqe.nsid));
	ctrl_admin(&assoc->ctrl, &req->sqe, in, in_len, conn->core->page, given, reactor->now_ns, &reply);
	/* Before anything else may end the command. */
	events_heed(assoc, reply.action, (struct eventlog *)given->events);
	events_reads(assoc, &req->sqe);
	if (reply.held)
		req->stage = STAGE_EVENT;
	else
		finish(req, &reply);
	if (conn->assoc == assoc)
		admin_events(assoc);
}

/* ---- events ---- */

static struct request *
find_event(struct conn *conn, uint16_t cid)
{
	for (uint32_t i = 0; i < conn->tc.slots_used; i++) {
		struct request *req = &conn->slots[i];

		if (req->xfer.state == XFER_HELD && req->stage == STAGE_EVENT && req->xfer.cid == cid)
			return req;
	}
	return NULL;
}

void
admin_events(struct assoc *assoc)
{
	uint32_t dw0;
	uint16_t cid;

	while (assoc->admin != NULL && ctrl_event(&assoc->ctrl, &cid, &dw0)) {
		struct request *req = find_event(assoc->admin, cid);

		assert(req != NULL);
		req->xfer.dw0 = dw0;
		request_answer(req, NVME_OK);
	}
}

/* True: the event request was held, and ends. */
bool
admin_abort_event(struct assoc *assoc, uint16_t cid)
{
	struct request *event = ctrl_aer_abort(&assoc->ctrl, cid) ? find_event(assoc->admin, cid) : NULL;

	if (event != NULL)
		request_answer(event, nvme_status_of(NVME_SC_ABORT_REQUESTED, false));
	return event != NULL;
}

/* ---- a reset ---- */

static void
drop(struct request *req)
{
	if (req->stage == STAGE_EVENT || req->stage == STAGE_ADMIN) {
		request_abandon(req);
	} else if (req->stage == STAGE_MAIL) {
		req->dropped = true;
	} else if (req->stage == STAGE_FILL) {
		req->dropped = true;
		tconn_ignore(&req->conn->tc, &req->xfer);
		request_spent(req);
	}
}

/*
 * Nothing of before a reset is completed after it (Base 2.0, 3.7.2).  What only waits, held events among it, ends at
 * once; what others have when it comes back, and what is being sent in pieces when it is out, and the reset lasts
 * until then.  What the host owes data to it may bring yet, or not: that goes nowhere, and nobody waits for it.
 */
void
admin_drop(struct assoc *assoc)
{
	struct conn *conn = assoc->admin;
	struct fifo_node *asked;

	for (uint32_t i = 0; i < conn->tc.slots_used; i++)
		if (conn->slots[i].xfer.state != XFER_FREE)
			drop(&conn->slots[i]);
	fence_drop(assoc);
	wish_drop(conn);
	asked = fifo_pop(&assoc->askers); /* the first one's statistics are under way */
	request_free_all(&assoc->askers);
	if (asked != NULL)
		fifo_push(&assoc->askers, asked);
}

/* Others still have commands of before a reset; or answers to such go out in pieces, which let pass what comes after
 * them. */
bool
admin_dropping(const struct assoc *assoc)
{
	const struct conn *conn = assoc->admin;

	for (uint32_t i = 0; conn != NULL && i < conn->tc.slots_used; i++) {
		const struct request *req = &conn->slots[i];

		if (req->xfer.state == XFER_PIECES || (req->xfer.state == XFER_HELD && req->dropped))
			return true;
	}
	return false;
}

/* ---- data ---- */

static void
execute(struct request *req, const void *in, uint32_t in_len)
{
	struct assoc *assoc = req->conn->assoc;

	if (assoc == NULL) {
		request_answer(req, nvme_status_of(NVME_SC_SEQUENCE, true));
	} else if (ctrl_needs(&assoc->ctrl, &req->sqe) & CTRL_NEEDS_STATS) {
		smart_ask(req);
	} else if (ctrl_needs(&assoc->ctrl, &req->sqe) & CTRL_NEEDS_EVENTS) {
		events_begin_reading(req);
	} else if (ctrl_needs(&assoc->ctrl, &req->sqe) & CTRL_NEEDS_CONTROLLERS && ctrl_ready(&assoc->ctrl)) {
		present_ask(req, in, in_len);
	} else if (ctrl_needs(&assoc->ctrl, &req->sqe) & CTRL_NEEDS_VIEW) {
		sight_ask(req);
	} else {
		struct ctrl_given given = { 0 };

		admin_run(req, in, in_len, &given);
	}
}

/* With memory for its data: the answer's, or that which is asked for. */
static void
begin(struct request *req)
{
	if (sends_data(req))
		execute(req, NULL, 0);
	else
		request_ask(req, req->bufs.iov, req->bufs.count);
}

void
admin_granted(struct request *req)
{
	if (request_served(req))
		begin(req);
	else
		request_free(req);
}

/* It waits for another core, and its data with it. */
static void
keep(struct request *req, const struct capsule *capsule)
{
	request_keep(req, capsule);
	execute(req, req->iov[0].iov_base, capsule->len);
}

void
admin_command(struct request *req, const struct capsule *capsule)
{
	const struct assoc *assoc = req->conn->assoc;
	uint32_t in = ctrl_admin_data_in(&req->sqe), len = sgl_length(req);
	uint8_t id = req->sqe.sgl1.id;

	req->dropped = false;
	if (sends_data(req) && len > 0 && id != NVME_SGL_TRANSPORT) {
		request_answer(req, nvme_status_of(NVME_SC_SGL_TYPE, true));
	} else if (sends_data(req) && len > 0) {
		if (len > BUFS_TRANSFER_MAX)
			request_answer(req, nvme_status_of(NVME_SC_INVALID_FIELD, true));
		else if (admin_bufs_take(req, len))
			begin(req);
	} else if (in == 0 || capsule->len >= in) {
		if (in > 0 && assoc != NULL && ctrl_needs(&assoc->ctrl, &req->sqe) & CTRL_NEEDS_CONTROLLERS)
			keep(req, capsule);
		else
			execute(req, capsule->data, capsule->len);
	} else if (id != NVME_SGL_TRANSPORT || len < in || len > ADMIN_OWN) {
		request_answer(req, nvme_status_of(NVME_SC_SGL_LENGTH, true));
	} else {
		req->xfer.length = len;
		if (admin_bufs_take(req, len))
			begin(req);
	}
}

/* What was asked for by R2T is in req->bufs. */
void
admin_data(struct request *req)
{
	if (req->dropped) {
		req->dropped = false;
		request_free(req);
	} else if (req->xfer.data_bad) {
		request_answer(req, nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false));
	} else {
		execute(req, req->bufs.iov[0].iov_base, req->xfer.length);
	}
}
