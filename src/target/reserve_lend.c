/*
 * reserve_lend.c - commands of reservations, from their checks to their answers.
 *
 * What they mean is core 0's, to which they are lent: of a namespace one at a
 * time, so that what is under way between two cores is bounded by the number of
 * namespaces, whatever hosts send.  The others stand in line here, host by host.
 */
#include <assert.h>
#include <errno.h>

#include "target/assoc.h"
#include "target/command.h"
#include "target/hostline.h"
#include "target/reserve.h"

enum { ENDED_AT_ONCE = 64 };

static void answered(struct request *req, struct nvme_status status);

/* ---- checks ---- */

/* So many bytes of its data are looked at. */
static uint32_t
need_of(const struct request *req)
{
	static_assert(sizeof(struct nvme_resv_register_data) == sizeof(struct nvme_resv_acquire_data), "one need");
	return req->sqe.opcode == NVME_RESV_RELEASE ? sizeof(struct nvme_resv_release_data) :
	    sizeof(struct nvme_resv_register_data);
}

struct nvme_status
reserve_check(struct request *req, const struct view_ns *ns)
{
	uint32_t length = le32_get(req->sqe.sgl1.length);
	uint8_t id = req->sqe.sgl1.id;

	(void)ns;
	if (id != NVME_SGL_TRANSPORT && id != NVME_SGL_OFFSET)
		return nvme_status_of(NVME_SC_SGL_TYPE, true);
	if (length < need_of(req) || length > 4096)
		return nvme_status_of(NVME_SC_SGL_LENGTH, true);
	req->xfer.length = length;
	return NVME_OK;
}

struct nvme_status
reserve_check_report(struct request *req, const struct view_ns *ns)
{
	(void)ns;
	return io_check_sgl(req, nvme_resv_report_bytes(&req->sqe), false);
}

/* ---- the line ---- */

/* Its connection or the namespace may have gone while it waited. */
static struct nvme_status
check_again(const struct request *req)
{
	const struct assoc *assoc = req->conn->assoc;
	uint32_t nsid = reserve_nsid(req);
	const struct view_ns *ns;

	if (!request_wanted(req))
		return nvme_status_of(NVME_SC_INTERRUPTED, false); /* which nobody hears */
	if (req->conn->qid != 0)
		return io_ns_again(req, &ns);
	ns = assoc->subsys != NULL && nsid <= assoc->subsys->ns_limit ? &assoc->subsys->ns[nsid - 1] : NULL;
	return ns != NULL && ns->volume == req->volume && present_has(assoc, ns) ? NVME_OK :
	    nvme_status_of(NVME_SC_INVALID_NS, true);
}

static void
done(struct request *req, struct nvme_status status)
{
	struct conn *conn = req->conn;

	conn->held++;
	answered(req, status);
	if (conn->phase == CONN_FINISHING)
		conn_send_soon(conn);
	conn->held--;
	conn_maybe_free(conn);
}

/* The next one that still may goes to core 0.  Of a host that left, or of a namespace, there may be very many that may
 * not: after some of them the others of this core have their turn. */
static void
line_goes_on(struct core *core, uint16_t slot)
{
	struct target_mail mail = { .kind = MAIL_RESERVE, .reserve = { .slot = slot } };
	struct list *line = &core->lines[slot];
	struct nvme_status status;

	core->lent[slot / 64] |= UINT64_C(1) << slot % 64;
	for (unsigned ended = 0; !list_empty(line) && ended < ENDED_AT_ONCE; ended++) {
		mail.reserve.req = hostline_pop(line);
		status = check_again(mail.reserve.req);
		if (nvme_ok(status)) {
			core_post(core, 0, &mail);
			return;
		}
		done(mail.reserve.req, status);
	}
	if (list_empty(line)) {
		core->lent[slot / 64] &= ~(UINT64_C(1) << slot % 64);
		return;
	}
	mail.kind = MAIL_RESERVED;
	mail.reserve.req = NULL;
	core_post(core, core->reactor->index, &mail);
}

/* It stands still from now on until reserve_returned(). */
static void
lend(struct request *req, uint64_t volume, uint32_t nsid)
{
	struct core *core = req->conn->core;
	uint16_t slot = volume_slot(volume);

	req->stage = STAGE_MAIL;
	req->volume = volume;
	req->walked = nsid;
	req->conn->device_count++; /* a connection that finishes waits for it */
	hostline_push(&core->lines[slot], req);
	if (!(core->lent[slot / 64] >> slot % 64 & 1))
		line_goes_on(core, slot);
}

/* ---- commands ---- */

static void
lend_again(struct request *req)
{
	const struct view_ns *ns;
	struct nvme_status status = io_ns_again(req, &ns);

	if (nvme_ok(status))
		lend(req, req->volume, le32_get(req->sqe.nsid));
	else
		request_answer(req, status);
}

void
reserve_begin(struct request *req, const struct capsule *capsule)
{
	if (capsule->len == 0) {
		request_fetch(req);
		return;
	}
	req->piece.iov_base = ranges_keep(req, capsule, need_of(req));
	lend_again(req);
}

void
reserve_data(struct request *req)
{
	req->piece.iov_base = req->bufs.iov[0].iov_base;
	lend_again(req);
}

static void
report_granted(struct bufs_waiter *waiter)
{
	struct request *req = request_of(waiter);

	if (request_served(req))
		lend_again(req);
	else
		request_free(req);
}

void
reserve_begin_report(struct request *req, const struct capsule *capsule)
{
	(void)capsule;
	if (asked_send(req, share_of(req), report_granted))
		lend_again(req);
}

/* ---- feature 83h: of one namespace or, one after the other, of all that can ---- */

static bool
lend_next(struct request *req)
{
	const struct view_subsys *subsys = req->conn->assoc->subsys;

	for (uint32_t nsid = reserve_nsid(req) + 1; subsys != NULL && nsid <= subsys->ns_limit; nsid++) {
		const struct view_ns *ns = &subsys->ns[nsid - 1];

		if (!present_has(req->conn->assoc, ns) || !(ns->info->rescap & NVME_RESCAP_PTPL))
			continue;
		lend(req, ns->volume, nsid);
		return true;
	}
	return false;
}

void
reserve_set_ptpl(struct request *req, uint32_t nsid)
{
	const struct view_subsys *subsys = req->conn->assoc->subsys;

	req->walked = 0;
	if (nsid != UINT32_MAX)
		lend(req, subsys->ns[nsid - 1].volume, nsid);
	else if (!lend_next(req))
		request_answer(req, NVME_OK);
}

/* ---- answers ---- */

static void
answered(struct request *req, struct nvme_status status)
{
	struct conn *conn = req->conn;
	bool admin = conn->qid == 0 && conn->assoc != NULL && !req->dropped;
	bool all = admin && le32_get(req->sqe.nsid) == UINT32_MAX;

	conn->device_count--;
	req->stage = STAGE_NEW;
	if (all && nvme_sc(status) == NVME_SC_INVALID_NS)
		status = NVME_OK; /* one that went meanwhile is none of them */
	if (all && nvme_ok(status) && lend_next(req))
		return;
	if (admin && nvme_ok(status))
		events_tell_set(req, 0);
	if (conn->qid != 0 && req->sqe.opcode == NVME_RESV_REPORT && nvme_ok(status))
		request_answer_data(req, req->bufs.iov, req->bufs.count);
	else
		request_answer_late(req, status);
}

void
reserve_returned(struct core *core, const struct target_mail *mail)
{
	if (mail->reserve.req != NULL)
		done(mail->reserve.req, mail->reserve.status);
	line_goes_on(core, mail->reserve.slot);
}

int
reserve_lend_begin(struct core *core)
{
	core->lines = arena_alloc(core->reactor->arena, TARGET_VOLUMES_MAX * sizeof(*core->lines));
	if (core->lines == NULL)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX; slot++)
		list_init(&core->lines[slot]);
	return 0;
}
