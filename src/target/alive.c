/*
 * alive.c - is the host still there?  (Keep alive: NVMe Base 2.0, 3.9)
 *
 * On the controller's core.  No command costs anything: when the time is over,
 * the queues are asked when they last heard of the host.
 */
#include <inttypes.h>

#include "target/assoc.h"

enum { NS_PER_MS = 1000000, PAUSED_MS = 120 * 1000 };

/*
 * When the queue last heard of the host, or would have: of a paused connection
 * nothing is read, and what its host sends lies in the socket.  A pause begins with a
 * command, and ends when we get on, not the host; should we never, so much of
 * it is taken for life.
 */
static uint64_t
last_heard_ns(const struct conn *conn)
{
	uint64_t heard = conn->paused ? conn->core->reactor->now_ns : conn->resumed_ns;
	uint64_t latest = conn->command_ns + (uint64_t)PAUSED_MS * NS_PER_MS;

	if (heard > latest)
		heard = latest;
	return heard > conn->command_ns ? heard : conn->command_ns;
}

static uint64_t
kato_ns(const struct assoc *assoc)
{
	return (uint64_t)ctrl_silence_ms(&assoc->ctrl) * NS_PER_MS;
}

static void
kato_start(struct assoc *assoc, uint64_t from_ns)
{
	if (kato_ns(assoc) == 0 || assoc->admin == NULL || !assoc->joined)
		timer_clear(&assoc->core->reactor->timers, &assoc->kato_timer);
	else
		timer_set(&assoc->core->reactor->timers, &assoc->kato_timer, from_ns + kato_ns(assoc));
}

/* All queues have said when they last heard of the host. */
static void
kato_judge(struct assoc *assoc)
{
	if (assoc->admin == NULL)
		return;
	if (kato_ns(assoc) == 0 || assoc->core->reactor->now_ns - assoc->alive_ns < kato_ns(assoc)) {
		kato_start(assoc, assoc->alive_ns);
		return;
	}
	core_log_peer(assoc->core, "controller %u of %s: no sign of life within %" PRIu64 " ms; closed",
	    assoc->ctrl.cntlid, assoc->ctrl.hostnqn, kato_ns(assoc) / NS_PER_MS);
	ctrl_fatal(&assoc->ctrl);
	events_tell(assoc, EVENTS_HOST_LOST, 0);
	conn_kill(assoc->admin);
}

static void
kato_fired(struct timer *timer)
{
	struct assoc *assoc = container_of(timer, struct assoc, kato_timer);
	struct target_mail mail = { .kind = MAIL_ALIVE_ASK, .key = assoc->key };

	/* Answers that are still to come belong to a round that was judged without them. */
	mail.alive.round = ++assoc->alive_round;
	alive_heard(assoc, last_heard_ns(assoc->admin));
	if (assoc->queue_count == 0 || assoc->core->reactor->now_ns - assoc->alive_ns < kato_ns(assoc)) {
		kato_judge(assoc);
		return;
	}
	assoc->alive_asked = 0;
	for (unsigned qid = 1; qid <= TARGET_IO_QUEUES; qid++) {
		struct assoc_queue *queue = &assoc->queues[qid];

		if (queue->conn == NULL)
			continue;
		assoc->alive_asked++;
		mail.qid = (uint16_t)qid;
		mail.alive.conn = queue->conn;
		core_post(assoc->core, queue->core, &mail);
	}
}

void
alive_ask(struct core *core, const struct target_mail *mail)
{
	struct target_mail answer = {
		.kind = MAIL_ALIVE, .key = mail->key,
		.alive = { .heard_ns = last_heard_ns(mail->alive.conn), .round = mail->alive.round },
	};

	core_post(core, mail->from, &answer);
}

/* The queue's turn may have begun later than ours, on another core: nothing we know of is later than now. */
void
alive_heard(struct assoc *assoc, uint64_t heard_ns)
{
	uint64_t now_ns = assoc->core->reactor->now_ns;

	if (heard_ns > now_ns)
		heard_ns = now_ns;
	if (heard_ns > assoc->alive_ns)
		assoc->alive_ns = heard_ns;
}

void
alive_answer(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);

	if (assoc == NULL)
		return;
	alive_heard(assoc, mail->alive.heard_ns);
	if (mail->alive.round != assoc->alive_round || assoc->alive_asked == 0)
		return;
	if (--assoc->alive_asked == 0)
		kato_judge(assoc);
}

/* ---- beginning ---- */

/* From now on the time runs, or does not, as the controller says. */
void
alive_start(struct assoc *assoc)
{
	kato_start(assoc, assoc->core->reactor->now_ns);
}

void
alive_begin(struct assoc *assoc)
{
	assoc->kato_timer.fire = kato_fired;
}
