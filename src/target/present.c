/*
 * present.c - which controllers there are, and which namespaces they have.
 *
 * Core 0 alone knows all controllers: a command that needs them waits until it
 * has said them.  One command of a core asks at a time.  And for I/O queues,
 * which must not search with every command, what is active for them is noted
 * with each view.
 */
#include <assert.h>
#include <errno.h>

#include "target/assoc.h"

struct present {
	struct fifo waiting;  /* requests, by xfer.tx_node */
	struct request *now;  /* core 0 is asked for it */
	uint64_t there[CTRL_ID_WORDS], attached[CTRL_ID_WORDS];
};

/* ---- admin commands ---- */

static void
next(struct core *core)
{
	struct present *present = core->present;
	struct target_mail mail = {
		.kind = MAIL_PRESENT_ASK, .present = { .there = present->there, .attached = present->attached },
	};

	if (present->now != NULL || fifo_empty(&present->waiting))
		return;
	present->now = container_of(fifo_pop(&present->waiting), struct request, xfer.tx_node);
	memset(present->there, 0, sizeof(present->there));
	memset(present->attached, 0, sizeof(present->attached));
	mail.key = present->now->conn->key;
	mail.present.nsid = le32_get(present->now->sqe.nsid);
	core_post(core, 0, &mail);
}

/* The command is run as soon as the controllers are known; its data stands until it is answered. */
void
present_ask(struct request *req, const void *in, uint32_t in_len)
{
	struct core *core = req->conn->core;

	req->stage = STAGE_MAIL;
	req->piece = (struct iovec){ (void *)(uintptr_t)in, in_len };
	req->conn->device_count++; /* a connection that finishes waits for it */
	fifo_push(&core->present->waiting, &req->xfer.tx_node);
	next(core);
}

static void
told(struct core *core, uint64_t newest)
{
	struct present *present = core->present;
	struct request *req = present->now;
	struct conn *conn = req->conn;
	struct ctrl_given given = { .there = present->there, .attached = present->attached, .newest = newest };

	conn->held++;
	conn->device_count--;
	req->stage = STAGE_NEW;
	if (conn->assoc != NULL && request_wanted(req))
		admin_run(req, req->piece.iov_base, (uint32_t)req->piece.iov_len, &given);
	else
		request_answer_late(req, nvme_status_of(NVME_SC_SEQUENCE, true));
	if (conn->phase == CONN_FINISHING)
		conn_send_soon(conn);
	conn->held--;
	conn_maybe_free(conn);
	present->now = NULL;
	next(core);
}

void
present_mail(struct core *core, const struct target_mail *mail)
{
	struct target_mail back = *mail;

	if (mail->kind == MAIL_PRESENT) {
		told(core, mail->present.newest);
		return;
	}
	back.kind = MAIL_PRESENT;
	back.present.newest = registry_present(core, mail->key, mail->present.nsid, mail->present.there,
	    mail->present.attached);
	core_post(core, mail->from, &back);
}

/* ---- which namespaces ---- */

bool
present_has(const struct assoc *assoc, const struct view_ns *ns)
{
	return ns->info != NULL && subsys_attached(ns->info, assoc->ctrl.hostnqn, assoc->ctrl.association);
}

/* Commands look at their connection, which they have at hand. */
void
present_conn(struct conn *conn)
{
	const struct view_subsys *subsys = conn->subsys;

	memset(conn->active, 0, sizeof(conn->active));
	for (uint32_t i = 0; subsys != NULL && i < subsys->ns_limit; i++)
		if (subsys->ns[i].gate & GATE_LISTED &&
		    subsys_attached(subsys->ns[i].info, conn->hostnqn, conn->association))
			conn->active[i / 32] |= UINT32_C(1) << i % 32;
}

/* The same where only what is in `diff` is another. */
void
present_update(struct conn *conn, const struct subsys_diff *diff)
{
	for (uint32_t i = 0; i < diff->count; i++) {
		const struct ns_info *ns = diff->ns[i].is;
		uint32_t at = diff->ns[i].nsid - 1, bit = UINT32_C(1) << at % 32;

		conn->active[at / 32] &= ~bit;
		if (ns != NULL && ns->listed && subsys_attached(ns, conn->hostnqn, conn->association))
			conn->active[at / 32] |= bit;
	}
}

/* ---- beginning and end ---- */

int
present_begin(struct core *core)
{
	core->present = arena_alloc(core->reactor->arena, sizeof(*core->present));
	if (core->present == NULL)
		return -ENOMEM;
	fifo_init(&core->present->waiting);
	return 0;
}

void
present_end(struct core *core)
{
	arena_free(core->reactor->arena, core->present);
}
