/*
 * events_lend.c - copies of the persistent events for hosts that read, on core 0.
 *
 * There are so many at a time, and so many of a subsystem and of a host, that
 * nobody keeps the others from reading.  How long a controller keeps its copy is
 * its core's (events_core.c).
 */
#include "target/events_log.h"

static const uint64_t minute_ns = UINT64_C(60) * 1000 * 1000 * 1000;

/* A host that asks again and again does not fill the operator's log. */
static void
say_refused(struct core *core, const struct events_log *log, const char *hostnqn, const char *why)
{
	struct events *events = &core->target->events;

	if (events->refused_ns != 0 && core->reactor->now_ns - events->refused_ns < minute_ns)
		return;
	events->refused_ns = core->reactor->now_ns;
	core_log(core, 1, "host %s may not read the events of %s: %s", hostnqn, log->nqn, why);
}

/* A free place, if the host may have one; else why not. */
static struct events_copy *
place_for(const struct events_log *log, const char *hostnqn, const char **why)
{
	struct events_copy *copies = log->core->target->events.copies, *place = NULL;
	uint32_t of_subsys = 0, of_host = 0;

	for (uint32_t i = 0; i < EVENTS_COPIES; i++) {
		if (copies[i].log == NULL) {
			place = &copies[i];
			continue;
		}
		of_subsys += copies[i].number == log->number;
		of_host += copies[i].number == log->number && strncmp(copies[i].hostnqn, hostnqn, NVME_NQN_FIELD) == 0;
	}
	*why = of_host >= EVENTS_COPIES_HOST ? "it reads them already" : "others do, and no more can";
	return of_host < EVENTS_COPIES_HOST && of_subsys < EVENTS_COPIES_SUBSYS ? place : NULL;
}

static struct eventlog *
lend(struct events_log *log, const char *hostnqn)
{
	struct core *core = log->core;
	struct eventlog_when when = events_now(log, 0);
	const char *why;
	struct events_copy *place = place_for(log, hostnqn, &why);

	if (place != NULL) {
		place->log = arena_alloc_raw(core->reactor->arena, sizeof(*place->log));
		why = "out of memory";
	}
	if (place == NULL || place->log == NULL) {
		say_refused(core, log, hostnqn, why);
		return NULL;
	}
	place->number = log->number;
	memcpy(place->hostnqn, hostnqn, sizeof(place->hostnqn));
	eventlog_copy(&log->log, &when, place->log);
	events_kept_changed(log);
	return place->log;
}

void
events_lend(struct core *core, const struct target_mail *mail)
{
	struct target_mail answer = { .kind = MAIL_EVENTS_COPIED, .key = mail->key };
	const char *hostnqn;
	uint16_t cntlid;
	struct events_log *log = events_log_of(core, mail->key, &hostnqn, &cntlid);

	answer.events_copy.req = mail->events_copy.req;
	answer.events_copy.copy = log != NULL ? lend(log, hostnqn) : NULL;
	core_post(core, mail->from, &answer);
}

void
events_take_back(struct core *core, struct eventlog *given)
{
	struct events *events = &core->target->events;

	for (uint32_t i = 0; i < EVENTS_COPIES; i++)
		if (events->copies[i].log == given)
			events->copies[i].log = NULL;
	arena_free(core->reactor->arena, given);
}

void
events_lent_end(struct core *core)
{
	struct events *events = &core->target->events;

	for (uint32_t i = 0; i < EVENTS_COPIES; i++) {
		arena_free(core->reactor->arena, events->copies[i].log);
		events->copies[i].log = NULL;
	}
}
