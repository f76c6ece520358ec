/*
 * events.c - the persistent events of subsystems, as core 0 keeps them.
 *
 * A log for each subsystem, from the view in which it comes to the one in which
 * it is gone, or to the end of the target; then what it did is gathered from all
 * cores (events_gather.c) and kept.  What happened comes by mail.  Does not know how an event lies
 * in the log (ctrl/eventlog.h) nor where the log lies (events_kept.c).
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "target/events_log.h"

enum { MINUTE_MS = 60 * 1000, NS_PER_MS = 1000 * 1000 };

uint64_t
events_uptime_ms(const struct events_log *log)
{
	return (log->core->reactor->now_ns - log->begun_ns) / NS_PER_MS;
}

struct eventlog_when
events_now(const struct events_log *log, uint16_t cntlid)
{
	return (struct eventlog_when){
		.date_ms = log->core->reactor->world->wall_ms(log->core->reactor),
		.uptime_ms = events_uptime_ms(log), .cntlid = cntlid,
	};
}

static struct events_log *
find(const struct target *target, const char *nqn)
{
	for (uint32_t i = 0; i < EVENTS_LOGS; i++) {
		struct events_log *log = target->events.logs[i];

		if (log != NULL && strncmp(log->nqn, nqn, NVME_NQN_FIELD) == 0)
			return log;
	}
	return NULL;
}

bool
target_writes_events(const struct target *target, const char *nqn)
{
	const struct events_log *log = find(target, nqn);

	return log != NULL && log->ending;
}

/* The log of a controller's subsystem, if it is served. */
struct events_log *
events_log_of(const struct core *core, uint16_t key, const char **hostnqn, uint16_t *cntlid)
{
	const char *nqn = registry_find(core, key, hostnqn, cntlid);
	struct events_log *log = nqn != NULL ? find(core->target, nqn) : NULL;

	return log != NULL && log->begun && !log->ending ? log : NULL;
}

/* ---- what happens ---- */

static const char *
firmware(const struct events_log *log)
{
	return view_subsys(log->core->target->view, log->nqn)->info.firmware;
}

static void
media(struct events_log *log, const struct eventlog_when *when, uint32_t nsid)
{
	if (nsid > 0 && nsid <= CTRL_NS_MAX && eventlog_media_due(&log->pace, nsid, when->uptime_ms))
		eventlog_hardware(&log->log, when, NVME_HARDWARE_MEDIA, nsid);
}

static void
happened(struct events_log *log, const struct target_mail *mail, const char *hostnqn, uint16_t cntlid)
{
	struct nvme_sqe sqe = { .cdw10 = mail->event.cdw10, .cdw11 = mail->event.cdw11 };
	struct eventlog_when when = events_now(log, cntlid);
	uint32_t count = log->log.count, used = log->log.used;

	switch ((enum events_what)mail->event.what) {
	case EVENTS_RESET:
		eventlog_reset(&log->log, &when, firmware(log));
		break;
	case EVENTS_TIMESTAMP:
		eventlog_timestamp(&log->log, &when, mail->event.previous_ms, mail->event.reset_ms);
		break;
	case EVENTS_FEATURE:
		eventlog_feature(&log->log, &when, &sqe, mail->event.dw0);
		break;
	case EVENTS_FATAL:
		eventlog_hardware(&log->log, &when, NVME_HARDWARE_FATAL_STATUS, 0);
		break;
	case EVENTS_MEDIA:
		media(log, &when, mail->event.nsid);
		if (log->log.count == count && log->log.used == used)
			return;
		break;
	case EVENTS_HOST_LOST:
		eventlog_host_lost(&log->log, &when, hostnqn);
		break;
	}
	events_kept_changed(log);
}

static void
hear(struct core *core, const struct target_mail *mail)
{
	struct target_mail heard = { .kind = MAIL_EVENT_HEARD, .key = mail->key };
	const char *hostnqn = NULL;
	uint16_t cntlid = 0;
	struct events_log *log = events_log_of(core, mail->key, &hostnqn, &cntlid);

	core_post(core, mail->from, &heard);
	if (log != NULL)
		happened(log, mail, hostnqn, cntlid);
}

/* Namespaces are made and taken away by whoever keeps the subsystem, `asker` 0, or for a controller that asked. */
static void
compare(struct events_log *log, const struct subsys_info *old, const struct subsys_info *new, uint16_t asker)
{
	struct eventlog_when when = events_now(log, asker);
	bool changed = false;

	for (uint32_t nsid = 1; nsid <= CTRL_NS_MAX; nsid++) {
		const struct ns_info *was = subsys_ns(old, nsid), *is = subsys_ns(new, nsid);

		if (was != NULL && is != NULL && subsys_same_ns(was, is))
			continue;
		if (was != NULL)
			eventlog_namespace(&log->log, &when, 1, old, was);
		if (is != NULL)
			eventlog_namespace(&log->log, &when, 0, new, is);
		changed = changed || was != is;
	}
	if (changed)
		events_kept_changed(log);
}

void
events_mail(struct core *core, const struct target_mail *mail)
{
	switch ((enum target_mail_kind)mail->kind) {
	case MAIL_EVENT:
		hear(core, mail);
		return;
	case MAIL_EVENTS_COPY:
		events_lend(core, mail);
		return;
	case MAIL_EVENTS_GIVE:
		events_take_back(core, mail->events_copy.copy);
		return;
	case MAIL_STATS:
	case MAIL_STATS_MORE:
		events_counted(&core->target->events, mail);
		return;
	default:
		assert(false); /* not for us */
	}
}

/* ---- a log's life ---- */

/* What it did was gathered: as SMART shows it, in the log; when it ends, as the last event, and the last image. */
void
events_smart(struct events_log *log)
{
	struct eventlog_when when = events_now(log, 0);
	struct ctrl_stats stats = {
		.counts = log->log.now, .wear = log->wear, .power_cycles = log->log.power_cycles,
		.unsafe_shutdowns = log->log.unsafe_shutdowns, .on_ms = log->log.on_ms_before + when.uptime_ms,
		.degraded = log->log.now.media_errors > log->log.before.media_errors,
	};
	struct nvme_log_smart smart;

	ctrl_smart(&stats, &smart);
	if (log->ending)
		eventlog_power_off(&log->log, &when, &smart);
	else
		eventlog_smart(&log->log, &when, &smart);
	events_kept_changed(log);
}

static void
forget(struct events_log *log)
{
	log->core->target->events.logs[log->number] = NULL;
	events_kept_close(log);
	arena_free(log->core->reactor->arena, log);
}

static int
make(struct core *core, const struct view_subsys *subsys, char why[256])
{
	struct events *events = &core->target->events;
	struct events_log *log = NULL;
	uint32_t number = events->next, tries = 0;

	while (tries < EVENTS_LOGS && events->logs[number] != NULL) {
		number = (number + 1) % EVENTS_LOGS;
		tries++;
	}
	if (tries == EVENTS_LOGS) {
		snprintf(why, 256, "too many subsystems, with those whose events are still being kept");
		return -EBUSY;
	}
	snprintf(why, 256, "out of memory");
	log = arena_alloc(core->reactor->arena, sizeof(*log));
	if (log == NULL)
		return -ENOMEM;
	events->logs[number] = log;
	events->next = (number + 1) % EVENTS_LOGS;
	log->core = core;
	log->number = (uint16_t)number;
	log->wanted = true;
	log->wear = CTRL_UNWORN;
	memcpy(log->nqn, subsys->info.nqn, sizeof(log->nqn));
	memcpy(log->identity, subsys->identity, sizeof(log->identity));
	eventlog_init(&log->log);
	return events_kept_make(log);
}

/* The other subsystem whose log would lie in the same file, or NULL. */
static const struct events_log *
same_file(const struct target *target, const struct view_subsys *subsys)
{
	for (uint32_t i = 0; i < EVENTS_LOGS && target->state_dir[0] != '\0'; i++) {
		const struct events_log *log = target->events.logs[i];

		if (log != NULL && memcmp(log->identity, subsys->identity, sizeof(log->identity)) == 0 &&
		    strncmp(log->nqn, subsys->info.nqn, sizeof(log->nqn)) != 0)
			return log;
	}
	return NULL;
}

/* A log for each subsystem of a view that may come to hold; events_switch() or events_forget_new() follows. */
int
events_prepare(struct core *core, struct view *view, bool *reads, char why[256])
{
	struct target *target = core->target;

	target->events.fresh = NULL;
	for (uint32_t i = 0; i < EVENTS_LOGS; i++)
		if (target->events.logs[i] != NULL)
			target->events.logs[i]->wanted = false;
	for (uint32_t i = 0; i < view->subsys_count; i++) {
		struct view_subsys *subsys = &view->subsys[i];
		struct events_log *log = find(target, subsys->info.nqn);
		int rc = 0;

		if (log != NULL && log->ending) {
			snprintf(why, 256, "%.180s: its events are still being kept", log->nqn);
			rc = -EBUSY;
		} else if (log != NULL) {
			log->wanted = true;
		} else if (same_file(target, subsys) != NULL) {
			snprintf(why, 256, "%.180s has the identity of another subsystem", subsys->info.nqn);
			rc = -EINVAL;
		} else {
			rc = make(core, subsys, why);
		}
		if (rc != 0) {
			events_forget_new(target);
			return rc;
		}
		subsys->events = find(target, subsys->info.nqn)->number;
	}
	*reads |= target->events.fresh != NULL;
	return 0;
}

int
events_load(struct target *target, char why[256])
{
	int rc = 0;

	for (struct events_log *log = target->events.fresh; log != NULL && rc == 0; log = log->next_new)
		rc = events_kept_load(log, why);
	return rc;
}

int
events_loaded(struct target *target)
{
	int rc = 0;

	for (struct events_log *log = target->events.fresh; log != NULL && rc == 0; log = log->next_new)
		rc = events_kept_loaded(log);
	return rc;
}

/* The view does not come to hold. */
void
events_forget_new(struct target *target)
{
	for (uint32_t i = 0; i < EVENTS_LOGS; i++) {
		struct events_log *log = target->events.logs[i];

		if (log != NULL && !log->begun)
			forget(log);
		else if (log != NULL)
			log->wanted = !log->ending;
	}
}

static void
begin(struct events_log *log, const struct view *view)
{
	struct eventlog_when when;

	log->begun = true;
	log->begun_ns = log->core->reactor->now_ns;
	log->kept = log->log.now;
	when = events_now(log, 0);
	eventlog_power_on(&log->log, &when, view_subsys(view, log->nqn)->info.firmware);
	events_kept_changed(log);
}

/* Its subsystem is not served any more. */
static void
end(struct events_log *log)
{
	log->ending = true;
	if (log->place == NULL)
		forget(log);
	else
		events_count(log);
}

static void
minute(struct timer *timer)
{
	struct events *events = container_of(timer, struct events, minute);
	struct core *core = container_of(events, struct target, events)->cores[0];

	timer_set(&core->reactor->timers, timer, core->reactor->now_ns + (uint64_t)MINUTE_MS * NS_PER_MS);
	for (uint32_t i = 0; i < EVENTS_LOGS; i++) {
		struct events_log *log = events->logs[i];

		if (log == NULL || !log->begun || log->ending)
			continue;
		if (log->place != NULL || events_smart_due(log))
			events_count(log);
		if (log->place != NULL)
			events_kept_again(log);
	}
}

/* From now on `view` holds, which was prepared; `old`: the one before, or NULL; `asker`: the controller whose host
 * wished it, or 0. */
void
events_switch(struct core *core, const struct view *old, const struct view *view, uint16_t asker)
{
	struct events *events = &core->target->events;

	if (old == NULL) {
		events->minute.fire = minute;
		timer_set(&core->reactor->timers, &events->minute,
		    core->reactor->now_ns + (uint64_t)MINUTE_MS * NS_PER_MS);
	}
	for (uint32_t i = 0; i < EVENTS_LOGS; i++) {
		struct events_log *log = events->logs[i];

		if (log != NULL && log->wanted && log->begun)
			compare(log, &view_subsys(old, log->nqn)->info, &view_subsys(view, log->nqn)->info, asker);
		else if (log != NULL && log->wanted)
			begin(log, view);
		else if (log != NULL && !log->ending)
			end(log);
	}
}

/* ---- the end ---- */

static void
maybe_finished(struct core *core)
{
	struct events *events = &core->target->events;

	for (uint32_t i = 0; i < EVENTS_LOGS; i++)
		if (events->logs[i] != NULL && events->logs[i]->begun)
			return;
	if (!events->finishing)
		return;
	events->finishing = false;
	core->drained(core->drained_owner);
}

void
events_ended(struct events_log *log)
{
	struct core *core = log->core;

	forget(log);
	maybe_finished(core);
}

/* All cores are drained: what they did is kept, and the target is. */
void
events_finish(struct core *core)
{
	struct events *events = &core->target->events;

	events->finishing = true;
	timer_clear(&core->reactor->timers, &events->minute);
	for (uint32_t i = 0; i < EVENTS_LOGS; i++)
		if (events->logs[i] != NULL && events->logs[i]->begun && !events->logs[i]->ending)
			end(events->logs[i]);
	maybe_finished(core);
}

void
events_end(struct core *core)
{
	struct events *events = &core->target->events;

	if (core->reactor->index > 0)
		return;
	timer_clear(&core->reactor->timers, &events->minute);
	for (uint32_t i = 0; i < EVENTS_LOGS; i++)
		if (events->logs[i] != NULL)
			forget(events->logs[i]);
	events_lent_end(core);
}

size_t
events_bytes(void)
{
	return sizeof(struct events_log) + EVENTLOG_SLOT_LEN;
}
