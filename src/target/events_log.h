/*
 * events_log.h - what the files of events share: the log of one subsystem, as
 * core 0 keeps it.
 */
#ifndef WEIR_TARGET_EVENTS_LOG_H
#define WEIR_TARGET_EVENTS_LOG_H

#include "target/core.h"
#include "target/state_file.h"

struct events_log {
	struct core *core;      /* 0 */
	uint16_t number;
	char nqn[NVME_NQN_FIELD];
	uint8_t identity[16];
	bool wanted;            /* by the view that holds, or the one that is being applied */
	bool begun;             /* the subsystem is served; else its view is still being applied */
	bool ending;            /* it is not any more: what it did is gathered and kept, then the log goes */
	uint64_t begun_ns;
	struct eventlog log;
	struct eventlog_pace pace;
	bool to_count;          /* waits for its counts */
	struct ctrl_wear wear;  /* when it was counted last; when it ends its volumes may be gone */

	/* events_kept.c: */
	struct state_file *place; /* NULL: it lies in memory alone */
	struct events_log *next_new; /* that is to be read, see events->fresh */
	bool damaged;           /* it was found so, and begins anew */
	uint8_t *image;         /* a slot of it, aligned */
	uint64_t sequence;      /* that is durable; 0: none */
	bool dirty;             /* there is something that was not written */
	bool writing, last;     /* the image is at the disk; it is the last one */
	bool failed;            /* the last one could not be written, which was said */
	uint64_t written_ns;    /* when the last one was begun; 0: none was */
	uint64_t kept_ms;       /* the uptime that it tells of */
	struct eventlog_counts kept; /* and the counts */
	struct timer timer;     /* when the next one may be */
	struct iovec iov;
	struct file_io io;
};

/* events.c: milliseconds since the subsystem is served */
uint64_t events_uptime_ms(const struct events_log *log);
struct eventlog_when events_now(const struct events_log *log, uint16_t cntlid);
/* The log of a controller's subsystem, if it is served; with the NQN of its host, and its id. */
struct events_log *events_log_of(const struct core *core, uint16_t key, const char **hostnqn, uint16_t *cntlid);
/* Its SMART values are an event: the last one where it ends, and the last image is begun. */
void events_smart(struct events_log *log);
static inline bool
events_smart_due(const struct events_log *log)
{
	return eventlog_smart_due(&log->log, events_uptime_ms(log));
}
/* The last image is durable, or cannot be: the log may go. */
void events_ended(struct events_log *log);

/* events_gather.c: asks all cores; then what changed is kept, and events_smart() follows where it is due */
void events_count(struct events_log *log);
void events_counted(struct events *events, const struct target_mail *mail);

/* events_lend.c */
void events_lend(struct core *core, const struct target_mail *mail);
void events_take_back(struct core *core, struct eventlog *given);
void events_lent_end(struct core *core);

/* events_kept.c */
int events_kept_make(struct events_log *log) __attribute__((warn_unused_result));
/* Opens and reads it, by an errand in order; and then it is used: in memory it is what it was. */
int events_kept_load(struct events_log *log, char why[256]) __attribute__((warn_unused_result));
int events_kept_loaded(struct events_log *log) __attribute__((warn_unused_result));
/* The log is not what is in the file: soon it will be. */
void events_kept_changed(struct events_log *log);
/* It was tried in vain: again. */
void events_kept_again(struct events_log *log);
/* Nothing may be at the disk. */
void events_kept_close(struct events_log *log);

#endif
