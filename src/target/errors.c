/*
 * errors.c - what a queue tells its controller of commands that failed, and what becomes of it there.
 *
 * The controller keeps the Error Information log, and hears of an I/O queue's by
 * mail.  A host that does nothing but fail is told of as fast as it is heard; what
 * comes in between is only counted, and the count is told when all that was told
 * before is heard.  So much mail is under way at most: of a connection what its
 * log has room for, and of all of a core ERRORS_MAX, but one of each at any time.
 */
#include "target/assoc.h"
#include "target/command.h"

enum {
	ERRORS_OF_CONN = CTRL_ERROR_LOG, /* more would only push each other out of the log */
	ERRORS_MAX = 4096,
};

/* ---- what is told ---- */

static void
post(struct conn *conn, const struct target_mail *mail)
{
	conn->errors_unheard++;
	conn->core->errors_unheard++;
	core_post(conn->core, conn->key % conn->core->reactor->count, mail);
}

static bool
may_tell(const struct conn *conn)
{
	return conn->errors_unheard == 0 ||
	    (conn->errors_unheard < ERRORS_OF_CONN && conn->core->errors_unheard < ERRORS_MAX);
}

/* The first block that is at fault, as far as that is known. */
static uint64_t
lba_of(const struct request *req, struct nvme_status status)
{
	if (req->io.flags & BLK_BAD)
		return req->io.at;
	return nvme_slba(&req->sqe) + (nvme_sc(status) == NVME_SC_COMPARE ? req->walked : 0);
}

bool
errors_tell(const struct request *req, struct nvme_status status)
{
	struct conn *conn = req->conn;
	bool told = may_tell(conn);
	struct target_mail mail = {
		.kind = MAIL_ERROR, .key = conn->key, .qid = conn->qid,
		.error = {
			.conn = conn,
			.lba = lba_of(req, status), .nsid = req->sqe.nsid, .cid = req->sqe.cid,
			.status = nvme_status_put(status), .opcode = req->sqe.opcode,
			.bad = req->io.flags & BLK_BAD,
		},
	};

	if (told)
		post(conn, &mail);
	else
		conn->errors_missed++;
	return told;
}

void
errors_tell_missed(struct conn *conn)
{
	struct target_mail mail = {
		.kind = MAIL_ERRORS_MISSED, .key = conn->key, .error = { .conn = conn, .missed = conn->errors_missed },
	};

	if (conn->errors_missed == 0)
		return;
	conn->errors_missed = 0;
	post(conn, &mail);
}

void
errors_heard(struct conn *conn)
{
	conn->core->errors_unheard--;
	if (--conn->errors_unheard == 0 && !conn->detaching)
		errors_tell_missed(conn);
}

/* ---- what is heard of it ---- */

static void
count_errors(struct assoc *assoc, uint32_t count)
{
	if (assoc->subsys != NULL)
		assoc->core->served[assoc->subsys->events].errors += count;
}

/* A command of a queue failed: of the admin queue, or as an I/O queue told by mail; `bad`: a host wanted it so. */
void
assoc_failed(struct assoc *assoc, uint16_t qid, const struct nvme_sqe *sqe, struct nvme_status status, bool bad)
{
	count_errors(assoc, 1);
	if (bad) {
		ctrl_log_bad(&assoc->ctrl, qid, sqe, status);
	} else {
		ctrl_log_error(&assoc->ctrl, qid, sqe, status);
		events_tell_error(assoc, le32_get(sqe->nsid), status);
	}
	admin_events(assoc);
}

void
assoc_error(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);
	struct nvme_sqe sqe = {
		.opcode = mail->error.opcode, .cid = mail->error.cid, .nsid = mail->error.nsid,
		.cdw10 = le32_of((uint32_t)mail->error.lba), .cdw11 = le32_of((uint32_t)(mail->error.lba >> 32)),
	};

	if (assoc == NULL || assoc->admin == NULL)
		return;
	assoc_failed(assoc, mail->qid, &sqe, nvme_status_get(mail->error.status), mail->error.bad);
}

void
assoc_errors_missed(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);

	if (assoc == NULL)
		return;
	ctrl_errors_missed(&assoc->ctrl, mail->error.missed);
	count_errors(assoc, mail->error.missed);
}
