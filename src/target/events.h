/*
 * events.h - what the cores of a target know of the persistent events of its
 * subsystems, and of what the SMART log counts.
 *
 * Core 0 keeps a log for each subsystem (events.c); the others tell it by mail
 * what happened, and borrow copies for hosts that read (events_core.c).
 */
#ifndef WEIR_TARGET_EVENTS_H
#define WEIR_TARGET_EVENTS_H

#include "target/target.h"

enum {
	EVENTS_LOGS = 2 * TARGET_SUBSYS_MAX, /* of subsystems, and of those whose log is being closed */
	EVENTS_COPIES = 32,     /* that hosts may read at the same time, of all subsystems; */
	EVENTS_COPIES_SUBSYS = 8, /* of one; */
	EVENTS_COPIES_HOST = 2, /* and one host of it, however many controllers it has */
	EVENTS_IDLE_MS = 120 * 1000, /* a host that has not read for so long has ended reading */
};

/* Lent to a host that reads. */
struct events_copy {
	struct eventlog *log; /* NULL: to nobody */
	uint16_t number;      /* of the log that it is a copy of */
	char hostnqn[NVME_NQN_FIELD];
};

/* What happened to a controller. */
enum events_what {
	EVENTS_RESET,
	EVENTS_TIMESTAMP,
	EVENTS_FEATURE,
	EVENTS_FATAL,
	EVENTS_MEDIA,
	EVENTS_HOST_LOST,
};

/* What a core has done for a subsystem since the core knows it. */
struct events_served {
	struct target_stats stats;
	uint64_t errors;       /* commands that failed */
	uint64_t busy_from_ns; /* the core had been busy so long before */
};

/* Core 0's. */
struct events {
	struct events_log *logs[EVENTS_LOGS];
	struct events_log *fresh; /* logs of the view that is being applied that are to be read first */
	uint32_t next;          /* where the search for a free number begins: they are used again late */
	struct events_copy copies[EVENTS_COPIES];
	uint64_t refused_ns;    /* when it was said last that there is no copy for a host; 0: never */
	struct events_log *counting; /* whose counts are being gathered; NULL: nobody's */
	uint32_t counting_left; /* cores that have not answered */
	struct eventlog_counts sum;
	struct ctrl_wear worst; /* of its volumes */
	struct timer minute;
	bool finishing;         /* all logs are being closed; then the target is drained */
};

#endif
