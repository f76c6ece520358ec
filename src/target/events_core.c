/*
 * events_core.c - what a core tells core 0 of its controllers for the persistent
 * events, and the copies of them that its hosts read.
 *
 * Nobody waits for what is told.  A copy is core 0's memory, lent to a
 * controller until its host releases it, or has not read for a while, or a reset
 * or the end of the controller does; nobody writes to it meanwhile.
 */
#include <assert.h>

#include "target/assoc.h"
#include "target/command.h"

enum {
	/* So many events of a controller may be unheard.  Errors of media, of which there may be any number, may not be
	 * what fills that up. */
	UNHEARD_MAX = 8, UNHEARD_MEDIA_MAX = 4,
	MINUTE_S = 60, IDLE_S = EVENTS_IDLE_MS / 1000,
};

static const uint64_t second_ns = 1000 * 1000 * 1000;

/* What was lost is said at most once a minute, whatever hosts do. */
static void
say_missed(struct timer *timer)
{
	struct core *core = container_of(timer, struct core, missed_timer);

	core_log(core, 1, "%u events of controllers came faster than they could be kept", core->events_missed);
	core->events_missed = 0;
	core->missed_said_ns = core->reactor->now_ns;
}

static void
missed(struct core *core)
{
	uint64_t at_ns = core->missed_said_ns > 0 ? core->missed_said_ns + MINUTE_S * second_ns : 0;

	if (core->events_missed++ > 0)
		return;
	core->missed_timer.fire = say_missed;
	timer_set(&core->reactor->timers, &core->missed_timer,
	    at_ns > core->reactor->now_ns ? at_ns : core->reactor->now_ns);
}

void
events_core_end(struct core *core)
{
	timer_clear(&core->reactor->timers, &core->missed_timer);
}

static void
post(struct assoc *assoc, struct target_mail *mail, uint32_t unheard_max)
{
	struct core *core = assoc->core;

	if (assoc->shown != NULL)
		return; /* of a discovery controller nothing is kept */
	if (assoc->events_unheard >= unheard_max) {
		if (unheard_max == UNHEARD_MAX)
			missed(core);
		return;
	}
	assoc->events_unheard++;
	mail->kind = MAIL_EVENT;
	mail->key = assoc->key;
	core_post(core, 0, mail);
}

void
events_tell(struct assoc *assoc, enum events_what what, uint32_t nsid)
{
	struct target_mail mail = { .event = { .what = (uint8_t)what, .nsid = nsid } };

	post(assoc, &mail, what == EVENTS_MEDIA ? UNHEARD_MEDIA_MAX : UNHEARD_MAX);
}

/* A Set Features was carried out; before a Timestamp was set it was previous_ms. */
void
events_tell_set(struct request *req, uint64_t previous_ms)
{
	const struct assoc *assoc = req->conn->assoc;
	const struct nvme_sqe *sqe = &req->sqe;
	struct target_mail mail = {
		.event = {
			.what = EVENTS_FEATURE, .previous_ms = previous_ms,
			.reset_ms = (assoc->core->reactor->now_ns - assoc->reset_ns) / (1000 * 1000),
			.cdw10 = sqe->cdw10, .cdw11 = sqe->cdw11,
			.dw0 = req->xfer.dw0,
		},
	};
	uint8_t fid = (uint8_t)le32_get(sqe->cdw10);

	if (sqe->opcode != NVME_ADMIN_SET_FEATURES || (fid != NVME_FEATURE_TIMESTAMP && !eventlog_keeps_feature(fid)))
		return;
	if (fid == NVME_FEATURE_TIMESTAMP)
		mail.event.what = EVENTS_TIMESTAMP;
	post(req->conn->assoc, &mail, UNHEARD_MAX);
}

/* A command failed: for its medium's sake? */
void
events_tell_error(struct assoc *assoc, uint32_t nsid, struct nvme_status status)
{
	if (status.sct == NVME_SCT_MEDIA && nvme_sc(status) != NVME_SC_COMPARE)
		events_tell(assoc, EVENTS_MEDIA, nsid);
}

/* The controller may have gone meanwhile. */
static void
heard(struct core *core, uint16_t key)
{
	struct assoc *assoc = assoc_find(core, key);

	if (assoc != NULL && assoc->events_unheard > 0)
		assoc->events_unheard--;
}

/* ---- copies ---- */

static void
give(struct core *core, struct eventlog *copy)
{
	struct target_mail mail = { .kind = MAIL_EVENTS_GIVE, .events_copy = { .copy = copy } };

	core_post(core, 0, &mail);
}

void
events_release(struct assoc *assoc)
{
	if (assoc->events == NULL)
		return;
	ctrl_events_drop(&assoc->ctrl);
	give(assoc->core, assoc->events);
	assoc->events = NULL;
	timer_clear(&assoc->core->reactor->timers, &assoc->events_timer);
}

/* Others want to read too. */
static void
idle(struct timer *timer)
{
	events_release(container_of(timer, struct assoc, events_timer));
}

/* A command was carried out: its host reads, if it was one for the page. */
void
events_reads(struct assoc *assoc, const struct nvme_sqe *sqe)
{
	if (assoc->events == NULL || sqe->opcode != NVME_ADMIN_GET_LOG_PAGE ||
	    (uint8_t)le32_get(sqe->cdw10) != NVME_LOG_PERSISTENT)
		return;
	timer_clear(&assoc->core->reactor->timers, &assoc->events_timer);
	assoc->events_timer.fire = idle;
	timer_set(&assoc->core->reactor->timers, &assoc->events_timer,
	    assoc->core->reactor->now_ns + IDLE_S * second_ns);
}

/* The command waits for a copy. */
void
events_begin_reading(struct request *req)
{
	struct conn *conn = req->conn;
	struct target_mail mail = {
		.kind = MAIL_EVENTS_COPY, .key = conn->key, .events_copy = { .req = req },
	};

	req->stage = STAGE_MAIL;
	core_post(conn->core, 0, &mail);
}

/* What ctrl/ did with the copy that it was given, or has. */
void
events_heed(struct assoc *assoc, enum ctrl_action action, struct eventlog *copy)
{
	if (action == CTRL_EVENTS_TAKEN) {
		assert(assoc->events == NULL && copy != NULL);
		assoc->events = copy;
		return;
	}
	if (action == CTRL_EVENTS_RELEASED)
		events_release(assoc);
	if (copy != NULL)
		give(assoc->core, copy);
}

/* Its connection may have ended or its controller been reset meanwhile; or there is no copy. */
static void
copied(struct core *core, struct request *req, struct eventlog *copy)
{
	struct conn *conn = req->conn;
	struct ctrl_given given = { .events = copy };

	conn->held++;
	req->stage = STAGE_NEW;
	if (copy != NULL && request_wanted(req)) {
		admin_run(req, NULL, 0, &given);
	} else {
		if (copy != NULL)
			give(core, copy);
		request_answer_late(req, nvme_status_of(NVME_SC_INTERNAL, false));
	}
	conn->held--;
	conn_maybe_free(conn);
}

/* ---- what was done ---- */

/* Subsystems that are new here begin to count at nothing; what others did, whose numbers they have, stays counted. */
void
events_core_view(struct core *core, const struct view *view)
{
	for (uint32_t i = 0; i < view->subsys_count; i++) {
		const struct view_subsys *subsys = &view->subsys[i];
		struct events_served *served = &core->served[subsys->events];

		if (core->view != NULL && view_subsys(core->view, subsys->info.nqn) != NULL)
			continue;
		stats_add(&core->stats, &served->stats);
		*served = (struct events_served){ .busy_from_ns = core->reactor->busy_ns };
	}
}

void
events_core_mail(struct core *core, const struct target_mail *mail)
{
	switch ((enum target_mail_kind)mail->kind) {
	case MAIL_EVENT_HEARD:
		heard(core, mail->key);
		return;
	case MAIL_EVENTS_COPIED:
		copied(core, mail->events_copy.req, mail->events_copy.copy);
		return;
	default:
		assert(false); /* not for us */
	}
}
