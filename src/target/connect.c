/*
 * connect.c - Fabrics commands: Connect, properties, Disconnect.
 *
 * An admin Connect makes a controller on this core, if core 0 admits it, which
 * knows all there are (registry.c).  An I/O Connect asks the controller's core by
 * mail, because only there is known which queues it has; which core that is,
 * core 0 knows where hosts chose the id.
 * (NVMe Base 2.0, 6)
 */
#include <assert.h>

#include "target/assoc.h"
#include "target/command.h"
#include "target/ordered.h"

static struct nvme_connect_sqe *
connect_sqe(struct request *req)
{
	return (void *)&req->sqe;
}

static bool
sq_flow(const struct nvme_connect_sqe *sqe)
{
	return (sqe->cattr & NVME_CATTR_NO_SQ_FLOW) == 0;
}

static uint16_t
entries(const struct nvme_connect_sqe *sqe)
{
	return (uint16_t)(le16_get(sqe->sqsize) + 1);
}

/* The answer has the SQHD that it would have had of the queue, which is the head pointer after this one entry or,
 * where the host wants no flow control, FFFFh.  There is no queue all the same; the next Connect says anew. */
static void
refuse(struct request *req, struct nvme_status status, struct nvme_connect_fault fault)
{
	const struct nvme_connect_sqe *sqe = connect_sqe(req);

	tconn_connected(&req->conn->tc, true, entries(sqe), sq_flow(sqe));
	req->xfer.dw0 = fault.ipo | (uint32_t)fault.in_data << 16;
	request_answer(req, status);
}

/* What the host asked for, if it is there, here: through this portal.  `subsys` stays NULL for discovery. */
static const struct subsys_info *
find_subsys(const struct conn *conn, const char *nqn, const struct view_subsys **subsys)
{
	const struct view *view = conn->core->view;

	*subsys = NULL;
	if (strncmp(nqn, NVME_DISCOVERY_NQN, NVME_NQN_FIELD) == 0)
		return view->listen[conn->portal].use != PORTAL_IO ? &view->discovery : NULL;
	*subsys = view_subsys(view, nqn);
	return *subsys != NULL && (*subsys)->portals >> conn->portal & 1 ? &(*subsys)->info : NULL;
}

static enum ctrl_admission
admission(const struct view_subsys *subsys, const struct nvme_connect_data *data)
{
	return subsys == NULL || view_allows(subsys, data->hostnqn) ? CTRL_HOST_ADMITTED : CTRL_HOST_UNKNOWN;
}

/* DW0 of a successful Connect (Base 2.0, 6.3). */
static uint32_t
connected(const struct conn *conn, uint16_t cntlid)
{
	return cntlid | (conn->phase == CONN_AUTH ? NVME_CONNECT_ATR : 0u);
}

/* For want of memory, which may be there when it asks again. */
static void
busy(struct request *req)
{
	core_log_peer(req->conn->core, "a controller was refused: out of memory");
	refuse(req, nvme_status_of(NVME_SC_CONNECT_BUSY, false), (struct nvme_connect_fault){ 0 });
}

/* The Connect waits for an answer of another core; what is read of it there stands still meanwhile. */
static void
ask(struct request *req, const struct nvme_connect_data *data, unsigned to, const struct target_mail *mail)
{
	struct conn *conn = req->conn;

	memmove(conn->reserve, data, sizeof(*data));
	conn->connecting = true;
	req->stage = STAGE_MAIL;
	core_post(conn->core, to, mail);
}

static void
connect_admin(struct request *req, const struct nvme_connect_data *data)
{
	const struct nvme_connect_sqe *sqe = connect_sqe(req);
	struct conn *conn = req->conn;
	const struct view_subsys *subsys;
	const struct subsys_info *info = find_subsys(conn, data->subnqn, &subsys);
	struct nvme_connect_fault fault = { 0 };
	struct nvme_status status = ctrl_check_connect(info, admission(subsys, data), sqe, data, &fault);
	struct target_mail mail = { .kind = MAIL_JOIN, .join = { conn, (const void *)conn->reserve } };
	struct assoc *assoc;

	if (!nvme_ok(status)) {
		refuse(req, status, fault);
		return;
	}
	assoc = assoc_create(conn->core, conn, subsys, data, le32_get(sqe->kato));
	if (assoc == NULL) {
		busy(req);
		return;
	}
	conn->assoc = assoc;
	mail.key = conn->key = assoc->key;
	ask(req, data, 0, &mail);
}

/* The controller that was made for a Connect goes again. */
static void
unmake(struct conn *conn)
{
	struct assoc *assoc = conn->assoc;

	conn->assoc = NULL;
	assoc_admin_gone(assoc);
	assoc_admin_over(assoc);
}

/* Core 0 has decided; the connection may have ended meanwhile, and its controller with it. */
void
connect_joined(struct core *core, const struct target_mail *mail)
{
	struct conn *conn = mail->joined.conn;
	struct request *req = &conn->first;
	const struct nvme_connect_sqe *sqe = connect_sqe(req);
	struct nvme_connect_fault fault;
	struct nvme_status status;

	(void)core;
	conn->connecting = false;
	req->stage = STAGE_NEW;
	if (conn->phase != CONN_NEW) {
		request_free(req);
		return;
	}
	status = ctrl_check_connect(conn->assoc->ctrl.subsys, (enum ctrl_admission)mail->joined.admission, sqe,
	    (const void *)conn->reserve, &fault);
	if (!nvme_ok(status)) {
		unmake(conn);
		refuse(req, status, fault);
	} else if (conn_queue(conn, true, entries(sqe), sq_flow(sqe)) != 0) {
		unmake(conn);
		busy(req);
	} else {
		assoc_joined(conn->assoc, mail);
		memcpy(conn->hostid, conn->assoc->ctrl.hostid, sizeof(conn->hostid));
		req->xfer.dw0 = connected(conn, conn->assoc->ctrl.cntlid);
		request_answer(req, NVME_OK);
	}
}

/* The controller's core decides; what it reads of the Connect stands still meanwhile.  Only which portal
 * the queue came through is known here: it has to lead to the subsystem, as for the admin queue. */
static void
connect_io(struct request *req, const struct nvme_connect_data *data)
{
	const struct nvme_connect_sqe *sqe = connect_sqe(req);
	struct conn *conn = req->conn;
	const struct view_subsys *subsys = view_subsys(conn->core->view, data->subnqn);
	struct nvme_connect_fault fault = { .in_data = true, .ipo = offsetof(struct nvme_connect_data, subnqn) };
	bool seek = subsys != NULL && subsys->info.static_ids > 0;
	unsigned count = conn->core->reactor->count;
	struct target_mail mail = {
		.kind = seek ? MAIL_SEEK : MAIL_ATTACH,
		.key = seek ? 0 : le16_get(data->cntlid),
		.qid = le16_get(sqe->qid),
		.attach = { conn, sqe, (const void *)conn->reserve, (uint16_t)conn->core->reactor->index },
	};

	if (subsys != NULL && !(subsys->portals >> conn->portal & 1)) {
		refuse(req, nvme_status_of(NVME_SC_CONNECT_PARAMS, true), fault);
		return;
	}
	memcpy(conn->hostnqn, data->hostnqn, sizeof(conn->hostnqn));
	ask(req, data, mail.key % count, &mail);
}

static void
judge(struct request *req, const struct nvme_connect_data *data)
{
	if (le16_get(connect_sqe(req)->qid) == 0)
		connect_admin(req, data);
	else
		connect_io(req, data);
}

/* Its data is asked for, into what the connection has anyway; the time for the handshake runs meanwhile. */
static void
fetch(struct request *req)
{
	struct conn *conn = req->conn;

	assert(conn->reserve_user == NULL);
	conn->reserve_user = req;
	req->xfer.length = sizeof(struct nvme_connect_data);
	req->iov[1] = (struct iovec){ conn->reserve, req->xfer.length };
	request_ask(req, &req->iov[1], 1);
}

void
fabrics_data(struct request *req)
{
	req->stage = STAGE_NEW;
	if (req->xfer.data_bad)
		refuse(req, nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false), (struct nvme_connect_fault){ 0 });
	else
		judge(req, (const void *)req->conn->reserve);
}

static void
connect(struct request *req, const struct capsule *capsule)
{
	const struct nvme_sgl *sgl = &req->sqe.sgl1;

	if (req->conn->phase != CONN_NEW || req->conn->connecting)
		request_answer(req, nvme_status_of(NVME_SC_SEQUENCE, true));
	else if (capsule->len >= sizeof(struct nvme_connect_data))
		judge(req, (const void *)capsule->data);
	else if (sgl->id == NVME_SGL_TRANSPORT && le32_get(sgl->length) == sizeof(struct nvme_connect_data))
		fetch(req);
	else
		refuse(req, nvme_status_of(NVME_SC_SGL_LENGTH, true), (struct nvme_connect_fault){ 0 });
}

static void
attached(struct conn *conn, const struct target_mail *mail)
{
	struct request *req = &conn->first;
	const struct nvme_connect_sqe *sqe = connect_sqe(req);
	const struct nvme_connect_data *data = (const void *)conn->reserve;
	uint16_t cntlid = le16_get(data->cntlid);

	conn->key = mail->key;
	conn->qid = mail->qid;
	conn->attached = true;
	conn->durable = mail->attached.durable;
	conn->association = mail->attached.association;
	conn->tenant = mail->attached.tenant;
	conn->credits = mail->attached.credits;
	memcpy(conn->hostid, data->hostid, sizeof(conn->hostid));
	borrow_begin(conn);
	conn->subsys = view_subsys(conn->core->view, data->subnqn);
	conn->stats = events_stats(conn->core, conn->subsys);
	if (conn->phase != CONN_NEW) {
		request_free(req); /* it was closed meanwhile, and leaves */
	} else if (conn->subsys == NULL || !view_admits(conn->subsys, conn->portal, conn->hostnqn)) {
		conn_kill(conn); /* it has gone meanwhile, or may not be used from there any more */
	} else if (conn_queue(conn, false, entries(sqe), sq_flow(sqe)) != 0 ||
	    (mail->attached.ordered && ordered_conn(conn, entries(sqe)) != 0)) {
		core_log_peer(conn->core, "queue %u of controller %u was refused: out of memory", conn->qid, cntlid);
		conn_kill(conn); /* the controller took it already, and hears that it has gone */
	} else {
		present_conn(conn);
		req->xfer.dw0 = connected(conn, cntlid);
		request_answer(req, NVME_OK);
	}
}

void
connect_attached(struct core *core, const struct target_mail *mail)
{
	struct conn *conn = mail->attached.conn;
	struct request *req = &conn->first;

	conn->connecting = false;
	req->stage = STAGE_NEW; /* the answer is here: where the connection is ended now, its Connect goes with it */
	if (nvme_ok(mail->attached.status))
		attached(conn, mail);
	else if (conn->phase == CONN_NEW)
		refuse(req, mail->attached.status, mail->attached.fault);
	else
		request_free(req);
}

/* ---- the others ---- */

static void
property(struct request *req)
{
	struct assoc *assoc = req->conn->assoc;
	struct ctrl_reply reply = { 0 };

	ctrl_property(&assoc->ctrl, (const void *)&req->sqe, &reply);
	req->xfer.dw0 = reply.dw0;
	req->xfer.dw1 = reply.dw1;
	request_answer(req, reply.status);
	assoc_act(assoc, reply.action);
}

/* Answered when everything before it was: see conn_leave().  What comes after it is refused, another
 * Disconnect too. */
static void
disconnect(struct request *req)
{
	struct conn *conn = req->conn;

	if (conn->qid == 0) {
		request_answer(req, nvme_status_of(NVME_SC_CONNECT_QUEUE_TYPE, true));
	} else if (le16_get(connect_sqe(req)->recfmt) != 0) {
		request_answer(req, nvme_status_of(NVME_SC_CONNECT_FORMAT, true));
	} else {
		conn->leaving = req;
		conn_enter(conn, CONN_LEAVING);
		conn_send_soon(conn);
	}
}

void
fabrics_command(struct request *req, const struct capsule *capsule)
{
	struct conn *conn = req->conn;
	uint8_t fctype = req->sqe.fctype;

	if (fctype == NVME_CONNECT) {
		connect(req, capsule);
	} else if (conn->phase != CONN_LIVE) {
		request_untimely(req);
	} else if (fctype == NVME_DISCONNECT) {
		disconnect(req);
	} else if (fctype == NVME_PROPERTY_GET || fctype == NVME_PROPERTY_SET) {
		if (conn->assoc != NULL)
			property(req);
		else
			request_answer(req, nvme_status_of(NVME_SC_INVALID_OPCODE, true));
	} else {
		request_answer(req, nvme_status_of(NVME_SC_INVALID_OPCODE, true));
	}
}
