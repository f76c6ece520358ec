/*
 * eventlog.h - the persistent events of a subsystem: a bounded log that its
 * owner appends to, keeps in a file, and hands to controllers as a copy.
 *
 * Pure: what happened and when comes in, bytes go out.  The events lie as page
 * 0Dh shows them, oldest first; where there is no room the oldest go.  The
 * file's format is in doc/formats/events.md.
 */
#ifndef WEIR_CTRL_EVENTLOG_H
#define WEIR_CTRL_EVENTLOG_H

#include "ctrl/subsys.h"
#include "wire/persistent.h"

enum {
	EVENTLOG_PAGE_MAX = 64 * 1024, /* PELS 1 */
	EVENTLOG_BYTES = EVENTLOG_PAGE_MAX - sizeof(struct nvme_persistent_log),
	EVENTLOG_EVENT_MIN = sizeof(struct nvme_persistent_event),
	EVENTLOG_EVENT_MAX = sizeof(struct nvme_persistent_event) + sizeof(struct nvme_log_smart),
	EVENTLOG_FILE_HEADER = 64,
	EVENTLOG_FILE_MAX = EVENTLOG_FILE_HEADER + EVENTLOG_BYTES + EVENTLOG_BYTES / EVENTLOG_EVENT_MIN * 8,
};

struct eventlog {
	uint64_t power_cycles;
	uint64_t on_ms_before; /* the subsystem ran before it was started this time */
	uint64_t on_ms;        /* and in all, as of the last event */
	uint16_t generation;   /* of copies made for hosts */
	uint32_t used, count;  /* bytes, events */
	uint8_t bytes[EVENTLOG_BYTES];
};

/* When something happened, and to whom. */
struct eventlog_when {
	uint64_t date_ms;   /* since 1970 */
	uint64_t uptime_ms; /* since the subsystem was started */
	uint16_t cntlid;    /* of the controller; 0: the subsystem as a whole */
};

void eventlog_init(struct eventlog *log);

/* The subsystem was started: the first event of each run.  `clean`: the run before was shut down. */
void eventlog_power_on(struct eventlog *log, const struct eventlog_when *when, const char *firmware, bool clean);
void eventlog_reset(struct eventlog *log, const struct eventlog_when *when, const char *firmware);

/* Feature 0Eh was set; before that, the time was previous_ms. */
void eventlog_timestamp(struct eventlog *log, const struct eventlog_when *when, uint64_t previous_ms);

/* A namespace was created (`sel` 0) or deleted (1): by a host or by whoever keeps the subsystem. */
void eventlog_namespace(struct eventlog *log, const struct eventlog_when *when, uint32_t sel, const struct ns_info *ns);

/* A Set Features was carried out; those that concern the subsystem or outlive a reset are kept. */
void eventlog_feature(struct eventlog *log, const struct eventlog_when *when, const struct nvme_sqe *sqe, uint32_t dw0);

/* A medium failed a command of `nsid`, a controller failed, ... */
void eventlog_hardware(struct eventlog *log, const struct eventlog_when *when,
    enum nvme_persistent_hardware_code code, uint32_t nsid);

/* SMART values as they are, at a shutdown. */
void eventlog_smart(struct eventlog *log, const struct eventlog_when *when, const struct nvme_log_smart *smart);

/* A host was not heard of within its keep-alive time. */
void eventlog_host_lost(struct eventlog *log, const struct eventlog_when *when, const char *hostnqn);

/* A copy for one controller's host, of a generation of its own. */
void eventlog_copy(struct eventlog *log, struct eventlog *copy);

/* The log as a file: EVENTLOG_FILE_MAX bytes at most to `out`; returns how many. */
size_t eventlog_save(const struct eventlog *log, uint8_t *out);

/*
 * The log of a file's bytes.  From the first event that is not whole on, all are dropped.  -EINVAL: it
 * is not such a file; the log is empty then.
 */
int eventlog_load(struct eventlog *log, const uint8_t *bytes, size_t len) __attribute__((warn_unused_result));

#endif
