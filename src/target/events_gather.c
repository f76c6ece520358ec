/*
 * events_gather.c - what all cores have done for a subsystem, on core 0: to be
 * kept, and what was kept of the starts before, for who asks.
 */
#include "target/events_log.h"

enum { HOUR_MS = 60 * 60 * 1000 };

static void count_next(struct events *events);

void
events_count(struct events_log *log)
{
	log->to_count = true;
	count_next(&log->core->target->events);
}

/* One log after the other. */
static void
count_next(struct events *events)
{
	for (uint32_t i = 0; i < EVENTS_LOGS && events->counting == NULL; i++) {
		struct events_log *log = events->logs[i];
		struct target_mail mail = { .kind = MAIL_STATS_ASK, .events = (uint16_t)i };

		if (log == NULL || !log->to_count)
			continue;
		log->to_count = false;
		events->counting = log;
		events->sum = (struct eventlog_counts){ 0 };
		events->worst = CTRL_UNWORN;
		events->counting_left = log->core->reactor->count;
		for (unsigned k = 0; k < events->counting_left; k++)
			core_post(log->core, k, &mail);
	}
}

static void
counted(struct events *events)
{
	struct events_log *log = events->counting;
	const struct eventlog_counts *before = &log->log.before, *sum = &events->sum;

	events->counting = NULL;
	if (!log->ending)
		log->wear = CTRL_UNWORN;
	ctrl_wear_add(&log->wear, events->worst);
	log->log.now = (struct eventlog_counts){
		.reads = before->reads + sum->reads, .writes = before->writes + sum->writes,
		.read_blocks512 = before->read_blocks512 + sum->read_blocks512,
		.write_blocks512 = before->write_blocks512 + sum->write_blocks512,
		.media_errors = before->media_errors + sum->media_errors, .errors = before->errors + sum->errors,
		.busy_s = before->busy_s + sum->busy_s,
	};
	if (log->ending ? !log->log.clean : events_smart_due(log))
		events_smart(log);
	else if (!log->ending && (memcmp(&log->log.now, &log->kept, sizeof(log->kept)) != 0 ||
	    events_uptime_ms(log) - log->kept_ms >= HOUR_MS))
		events_kept_changed(log);
	count_next(events);
}

void
events_counted(struct events *events, const struct target_mail *mail)
{
	struct eventlog_counts *sum = &events->sum;

	if (mail->kind == MAIL_STATS) {
		sum->reads += mail->stats.reads;
		sum->writes += mail->stats.writes;
		sum->read_blocks512 += mail->stats.read_blocks512;
		sum->write_blocks512 += mail->stats.write_blocks512;
		sum->media_errors += mail->stats.media_errors;
		return;
	}
	sum->errors += mail->stats_more.errors;
	if (sum->busy_s < mail->stats_more.busy_s)
		sum->busy_s = mail->stats_more.busy_s;
	ctrl_wear_add(&events->worst, mail->stats_more.wear);
	if (--events->counting_left == 0)
		counted(events);
}

/* A controller asks, whose subsystem may have gone meanwhile. */
void
events_stats_kept(struct core *core, const struct target_mail *ask)
{
	const struct events_log *log = ask->events < EVENTS_LOGS ? core->target->events.logs[ask->events] : NULL;
	struct target_mail mail = { .kind = MAIL_STATS_BEFORE, .key = ask->key };

	if (log != NULL) {
		const struct eventlog_counts *before = &log->log.before;

		mail.stats.reads = before->reads;
		mail.stats.writes = before->writes;
		mail.stats.read_blocks512 = before->read_blocks512;
		mail.stats.write_blocks512 = before->write_blocks512;
		mail.stats.media_errors = before->media_errors;
	}
	core_post(core, ask->from, &mail);
	mail = (struct target_mail){ .kind = MAIL_STATS_KEPT, .key = ask->key };
	if (log != NULL) {
		mail.stats_more.errors = log->log.before.errors;
		mail.stats_more.busy_s = log->log.before.busy_s;
		mail.stats_more.power_cycles = log->log.power_cycles;
		mail.stats_more.unsafe_shutdowns = log->log.unsafe_shutdowns;
		mail.stats_more.on_ms = log->log.on_ms_before + events_uptime_ms(log);
	}
	core_post(core, ask->from, &mail);
}
