/*
 * eventlog.h - the persistent events of a subsystem: a bounded log that its
 * owner appends to, keeps in a file, and hands to controllers as a copy.
 *
 * Pure: what happened and when comes in, bytes go out.  Each event lies as page
 * 0Dh shows it, the oldest first, and in a copy the newest; where there is no room the oldest go, those of
 * hosts before the subsystem's own.  The file's format is in doc/formats/events.md.
 */
#ifndef WEIR_CTRL_EVENTLOG_H
#define WEIR_CTRL_EVENTLOG_H

#include "ctrl/subsys.h"
#include "wire/persistent.h"

enum {
	EVENTLOG_PAGE_MAX = 64 * 1024, /* PELS 1 */
	EVENTLOG_BYTES = EVENTLOG_PAGE_MAX - sizeof(struct nvme_persistent_log),
	EVENTLOG_OWN = EVENTLOG_BYTES / 2, /* that what hosts do cannot take from the subsystem's own events */
	EVENTLOG_EVENT_MIN = sizeof(struct nvme_persistent_event),
	EVENTLOG_EVENT_MAX = sizeof(struct nvme_persistent_event) + sizeof(struct nvme_log_smart),
	EVENTLOG_SLOTS = 2, EVENTLOG_SLOT_LEN = EVENTLOG_PAGE_MAX, /* of a file */
	EVENTLOG_IMAGE_ALIGN = 4096,
	EVENTLOG_SMART_HOURS = 23, /* see eventlog_smart() */
	EVENTLOG_MEDIA_MS = 10 * 60 * 1000, EVENTLOG_MEDIA_MAX = 64, /* see eventlog_media_due() */
};

/* What the SMART log counts, over all starts of the subsystem. */
struct eventlog_counts {
	uint64_t reads, writes;                   /* commands */
	uint64_t read_blocks512, write_blocks512; /* 512-byte units */
	uint64_t media_errors, errors;            /* commands that failed: for the medium's sake, and at all */
	uint64_t busy_s;
};

struct eventlog {
	uint64_t power_cycles, unsafe_shutdowns;
	uint64_t on_ms_before; /* the subsystem ran before it was started this time */
	uint64_t on_ms;        /* and in all, as of the last event */
	struct eventlog_counts before, now; /* the same of what it did, as far as its owner has looked */
	bool clean;            /* it was not started, or was shut down */
	uint16_t generation;   /* of copies made for hosts */
	uint64_t copied_ms;    /* of a copy: when it was made, since 1970 */
	uint32_t used, count;  /* bytes, events */
	uint8_t bytes[EVENTLOG_BYTES];
};

/* Which media errors were told lately. */
struct eventlog_pace {
	uint64_t again_ms[CTRL_NS_MAX]; /* by NSID - 1: the uptime at which the next may be; 0: none was yet */
	uint64_t since_ms;              /* uptime */
	uint32_t told;                  /* since then, of all namespaces */
};

/* When something happened, and to whom. */
struct eventlog_when {
	uint64_t date_ms;   /* since 1970 */
	uint64_t uptime_ms; /* since the subsystem was started */
	uint16_t cntlid;    /* of the controller; 0: the subsystem as a whole */
};

void eventlog_init(struct eventlog *log);

/* The subsystem was started: the first event of each run, but for the one that says how the last one ended. */
void eventlog_power_on(struct eventlog *log, const struct eventlog_when *when, const char *firmware);

/* SMART values as they are.  To be told once in 24 power-on hours at least (Base 2.0, 5.16.1.14): whether that is due,
 * to be asked now and then.  It goes by the newest ones that the log has, whichever run they are of. */
bool eventlog_smart_due(const struct eventlog *log, uint64_t uptime_ms);
void eventlog_smart(struct eventlog *log, const struct eventlog_when *when, const struct nvme_log_smart *smart);

/* It is shut down, with SMART values as they are: the last event of a run. */
void eventlog_power_off(struct eventlog *log, const struct eventlog_when *when, const struct nvme_log_smart *smart);

/* A controller was reset. */
void eventlog_reset(struct eventlog *log, const struct eventlog_when *when, const char *firmware);

/* Feature 0Eh was set, so long after the controller's last reset; before that, the time was previous_ms. */
void eventlog_timestamp(struct eventlog *log, const struct eventlog_when *when, uint64_t previous_ms,
    uint64_t reset_ms);

/* A namespace of the subsystem was created (`sel` 0) or deleted (1): by a host or by whoever keeps the subsystem. */
void eventlog_namespace(struct eventlog *log, const struct eventlog_when *when, uint32_t sel,
    const struct subsys_info *subsys, const struct ns_info *ns);

/* A Set Features was carried out; those that concern the subsystem or outlive a reset are kept. */
bool eventlog_keeps_feature(uint8_t fid);
void eventlog_feature(struct eventlog *log, const struct eventlog_when *when, const struct nvme_sqe *sqe, uint32_t dw0);

/* A medium failed a command of `nsid`, a controller failed, ... */
void eventlog_hardware(struct eventlog *log, const struct eventlog_when *when,
    enum nvme_persistent_hardware_code code, uint32_t nsid);

/*
 * Whether a media error of the namespace is to be told, so that a dying medium does not push everything else
 * out: the first one of a namespace, and again after EVENTLOG_MEDIA_MS; of all namespaces EVENTLOG_MEDIA_MAX
 * in that time.
 */
bool eventlog_media_due(struct eventlog_pace *pace, uint32_t nsid, uint64_t uptime_ms);

/* A host was not heard of within its keep-alive time. */
void eventlog_host_lost(struct eventlog *log, const struct eventlog_when *when, const char *hostnqn);

/* A copy for one controller's host, of a generation of its own, newest event first (Base 2.0, 5.16.1.14). */
void eventlog_copy(struct eventlog *log, const struct eventlog_when *when, struct eventlog *copy);

/* ---- the file: two slots, each for a whole image ---- */

/* Where the image of the number lies. */
static inline uint64_t
eventlog_slot(uint64_t sequence)
{
	return sequence % EVENTLOG_SLOTS * EVENTLOG_SLOT_LEN;
}

/* The image of the log of the subsystem of that identity: so many bytes, a multiple of EVENTLOG_IMAGE_ALIGN, to
 * `out`, which has room for a slot. */
size_t eventlog_encode(const struct eventlog *log, const uint8_t identity[16], uint64_t sequence, uint8_t *out);

enum eventlog_found {
	EVENTLOG_FRESH,   /* nothing was ever kept */
	EVENTLOG_FOUND,
	EVENTLOG_DAMAGED, /* neither slot is whole */
	EVENTLOG_FOREIGN, /* another subsystem's, or of another version */
};

/* What both slots hold; the log is empty, and *sequence 0, where nothing was found. */
enum eventlog_found eventlog_decode(const uint8_t *slots, const uint8_t identity[16], struct eventlog *log,
    uint64_t *sequence);

/* Whether these bytes are events without a gap; *count of them. */
bool eventlog_events(const uint8_t *bytes, uint32_t used, uint32_t *count);

#endif
