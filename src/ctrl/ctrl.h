/*
 * ctrl.h - one NVMe controller: properties, admin commands, logs, events.
 *
 * Pure: bytes, numbers and `now` in, an answer out.  It has no thread, knows
 * no connection and no disk; the target asks it what an admin command's answer
 * is, and acts on the events it returns.  (NVMe Base 2.0, 3.1, 3.5, 5)
 */
#ifndef WEIR_CTRL_CTRL_H
#define WEIR_CTRL_CTRL_H

#include "wire/fabrics.h"

enum {
	CTRL_AER_MAX = 4,           /* AERL + 1 */
	CTRL_ERROR_LOG = 64,        /* ELPE + 1 */
	CTRL_PAGE_MAX = 64 * 1024,  /* the longest log page */
	CTRL_KAS_MS = 100,          /* keep alive granularity */
	CTRL_ADMIN_ENTRIES = 128,   /* of an admin queue, at most */
	CTRL_CHANGED_MAX = 64,      /* changed namespaces told apart; more: "any of them" */
	CTRL_DISCOVERY_MAX = CTRL_PAGE_MAX / 1024 - 1, /* lines of the discovery log */
};

/* A namespace, as hosts see it. */
struct ns_info {
	uint32_t nsid;       /* 1.. */
	uint32_t block_size; /* bytes: 512 or 4096 */
	uint64_t blocks;
	uint8_t nguid[16], uuid[16]; /* not zero; as they lie on the wire; stable over restarts */
	bool volatile_cache, trim_zeroes;
};

/* Where hosts reach the target: a line of the discovery log. */
struct portal_info {
	char traddr[64]; /* numeric */
	char trsvcid[8];
	bool ipv6;
};

/* A subsystem, or the discovery one; constant while a controller of it lives. */
struct subsys_info {
	char nqn[NVME_NQN_FIELD];
	char serial[21], model[41], firmware[9]; /* NUL-terminated; padded on the wire */
	bool discovery;
	const struct ns_info *ns; /* ascending nsid */
	uint32_t ns_count;
	uint32_t io_queues_max;   /* a controller may have */
	uint32_t entries_max;     /* of an I/O queue: MQES + 1 */
	uint32_t incapsule_max;   /* bytes of in-capsule data on I/O queues */
	uint32_t fused_max;       /* bytes of a fused Compare and Write */
	uint32_t copy_max;        /* bytes of a Copy */
	uint32_t copy_ranges, copy_range_max; /* its ranges, and blocks of each */
	uint8_t mdts_shift;       /* > 0; largest transfer: 4096 << mdts_shift bytes */
	/* of the discovery subsystem: */
	const struct portal_info *portals;
	uint32_t portal_count;
	const struct subsys_info *const *shown; /* what it lists */
	uint32_t shown_count;
	uint64_t genctr;
};

/* I/O done so far, for the SMART log: of the whole subsystem. */
struct ctrl_stats {
	uint64_t reads, writes;             /* commands */
	uint64_t read_blocks512, write_blocks512; /* 512-byte units */
	uint64_t media_errors, busy_s, uptime_ns;
};

struct ctrl_error {
	uint64_t count, lba;
	uint16_t sqid, cid, status, location;
	uint32_t nsid;
	uint8_t opcode;
};

/* What Set Features holds besides what has a field of its own below. */
struct ctrl_features {
	uint32_t arbitration, power, atomicity; /* 01h, 02h, 0Ah: kept, without effect */
	uint32_t hot, cold;                     /* 04h: kelvin, over and under */
	uint32_t write_cache;                   /* 06h */
	uint8_t behavior[3];                    /* 16h: ACRE, ETDAS, LBAFEE: kept, without effect */
};

struct ctrl {
	const struct subsys_info *subsys;
	uint16_t cntlid;
	uint8_t hostid[16];
	char hostnqn[NVME_NQN_FIELD];
	uint32_t cc, csts;
	bool resetting;              /* CTRL_RESET was returned; ctrl_reset_done() is to come */
	uint32_t kato_ms;            /* 0: no timer; as a reset leaves it: kato_connect_ms */
	uint32_t kato_connect_ms;
	uint32_t io_queues_granted;  /* by feature 07h; 0: not asked yet */
	uint32_t io_queues_live;     /* kept by the target: connected I/O queues */
	uint32_t async_config;       /* feature 0Bh */
	struct ctrl_features features;
	uint64_t timestamp_ms, timestamp_set_ns; /* feature 0Eh: what it was, and when */
	bool timestamp_of_host;
	uint16_t aer[CTRL_AER_MAX];  /* command ids held */
	uint32_t aer_count;
	uint32_t events_pending, events_masked; /* bit per enum ctrl_notice */
	uint32_t changed[CTRL_CHANGED_MAX];     /* namespaces, ascending */
	uint32_t changed_count;                 /* CTRL_CHANGED_MAX + 1: too many to tell */
	struct ctrl_error errors[CTRL_ERROR_LOG];
	uint64_t error_count;    /* commands that failed */
	uint64_t error_lines;    /* of them those that were written into errors[] */
};

/* What the target must do beside answering. */
enum ctrl_action {
	CTRL_NOTHING,
	CTRL_ENABLED,    /* CC.EN 0 -> 1, and CSTS.RDY is set */
	CTRL_RESET,      /* CC.EN 1 -> 0: abort everything, drop I/O queues and held AERs;
			  * then ctrl_reset_done() clears RDY */
	CTRL_SHUTDOWN,   /* CC.SHN: finish and flush; then ctrl_shutdown_done() */
	CTRL_KATO,       /* the keep-alive time changed: start the timer anew */
	CTRL_WRITE_CACHE, /* feature 06h changed: from the completion on, ctrl_durable_writes() holds */
};

struct ctrl_reply {
	struct nvme_status status;
	uint32_t dw0, dw1;
	bool held;            /* an AER that waits: no completion now */
	uint32_t data_len;    /* bytes to transfer to the host: `out` holds the first
			       * min(data_len, CTRL_PAGE_MAX), the rest is zeros */
	enum ctrl_action action;
};

/* A controller fresh after Connect (which the caller has checked): disabled, nothing granted. */
void ctrl_init(struct ctrl *ctrl, const struct subsys_info *subsys, uint16_t cntlid,
    const struct nvme_connect_data *data, uint32_t kato_ms, uint64_t now_ns);

/*
 * Checks an admin Connect's data and SQE; on refusal `fault` says where.
 * subsys NULL: the target has none of the NQN.  Whether the host is allowed is the target's.
 */
struct nvme_status ctrl_check_connect(const struct subsys_info *subsys,
    const struct nvme_connect_sqe *sqe, const struct nvme_connect_data *data,
    struct nvme_connect_fault *fault);

/*
 * The same for an I/O queue (without what only the target knows: a qid in use).
 * ctrl NULL: there is no controller of the CNTLID.  The QID may not exceed what feature
 * 07h granted, or what the subsystem allows where the host did not ask.
 */
struct nvme_status ctrl_check_io_connect(const struct ctrl *ctrl, const struct nvme_connect_sqe *sqe,
    const struct nvme_connect_data *data, struct nvme_connect_fault *fault);

/* Property Get and Set (Fabrics commands of the admin queue). */
void ctrl_property(struct ctrl *ctrl, const struct nvme_property_sqe *sqe, struct ctrl_reply *reply);
void ctrl_reset_done(struct ctrl *ctrl);
void ctrl_shutdown_done(struct ctrl *ctrl);
void ctrl_fatal(struct ctrl *ctrl); /* CSTS.CFS */

/* Whether the keep-alive timer runs: enabled, not shut down, and a time agreed. */
bool ctrl_kato_active(const struct ctrl *ctrl);

/* Whether every write must be durable before its completion: the host turned the write cache off. */
bool ctrl_durable_writes(const struct ctrl *ctrl);

/*
 * How many data bytes the command brings from the host, which must be there before
 * ctrl_admin(); 0 also where its SGL is too short, which ctrl_admin() refuses.
 */
uint32_t ctrl_admin_data_in(const struct nvme_sqe *sqe);

/* Whether the answer needs ctrl_stats gathered from all reactors first (log page 02h). */
bool ctrl_needs_stats(const struct nvme_sqe *sqe);

/*
 * One admin command (not Fabrics).  `in`: its data from the host, in_len bytes.
 * `out`: CTRL_PAGE_MAX bytes for data to the host.  `stats` may be NULL where
 * ctrl_needs_stats() is false.  An Abort that comes here finds nothing to abort:
 * the target looks first in its queues and with ctrl_aer_abort().  Failed
 * commands enter the error log by ctrl_log_error(), which is the target's to call.
 */
void ctrl_admin(struct ctrl *ctrl, const struct nvme_sqe *sqe, const void *in, uint32_t in_len,
    uint8_t *out, const struct ctrl_stats *stats, uint64_t now_ns, struct ctrl_reply *reply);

/* Abort of a held AER: true if it was one; it is forgotten and its completion is the caller's. */
bool ctrl_aer_abort(struct ctrl *ctrl, uint16_t cid);

/* What hosts may want to hear of.  After each of these, and each ctrl_admin(), ask ctrl_event(). */
enum ctrl_notice { CTRL_NS_CHANGED, CTRL_TEMPERATURE, CTRL_DISCOVERY_CHANGED, CTRL_NOTICES };

/* A namespace was added, removed or resized; `subsys` tells of it already. */
void ctrl_ns_changed(struct ctrl *ctrl, uint32_t nsid);

/* Of a discovery controller: the log changed, and its genctr. */
void ctrl_discovery_changed(struct ctrl *ctrl);

/* The next event to report: fills the CID of a held AER and its DW0; false: nothing, or no AER held. */
bool ctrl_event(struct ctrl *ctrl, uint16_t *cid, uint32_t *dw0);

/* So many commands failed of which nothing else is known: they count, and have no line in the log. */
void ctrl_errors_missed(struct ctrl *ctrl, uint32_t count);

/* A command of any queue failed: a line for the Error Information log. */
void ctrl_log_error(struct ctrl *ctrl, uint16_t sqid, const struct nvme_sqe *sqe,
    struct nvme_status status);

#endif
