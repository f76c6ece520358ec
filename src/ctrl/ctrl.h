/*
 * ctrl.h - one NVMe controller: properties, admin commands, logs, events.
 *
 * Pure: bytes, numbers and `now` in, an answer out.  It has no thread, knows
 * no connection and no disk; the target asks it what an admin command's answer
 * is, and acts on the events it returns.  (NVMe Base 2.0, 3.1, 3.5, 5)
 */
#ifndef WEIR_CTRL_CTRL_H
#define WEIR_CTRL_CTRL_H

#include "ctrl/eventlog.h"
#include "ctrl/subsys.h"
#include "wire/log.h"

enum {
	CTRL_AER_MAX = 4,           /* AERL + 1 */
	CTRL_ERROR_LOG = 64,        /* ELPE + 1 */
	CTRL_PAGE_MAX = 64 * 1024,  /* of an answer, at a time */
	CTRL_IDLE_MS = 120000,      /* how long a host may be silent where no keep-alive time says it */
	CTRL_KAS_MS = 100,          /* keep alive granularity */
	CTRL_RESV_LOG = 32,         /* reservation notifications kept */
	CTRL_ADMIN_ENTRIES = 128,   /* of an admin queue, at most */
	CTRL_ABORTS_MAX = 4,        /* at a time: ACL + 1 */
	CTRL_ID_WORDS = (NVME_CNTLID_MAX + 1) / 64 + 1, /* of a set of controllers */
};

/* How much of a medium's life is over, in percent, 255 at most, and what is left of its spare blocks.  CTRL_UNWORN:
 * nothing is known of it. */
struct ctrl_wear {
	uint8_t used, spare, spare_threshold;
};
#define CTRL_UNWORN ((struct ctrl_wear){ 0, 100, 10 })

/* The worse of both, in either respect. */
static inline void
ctrl_wear_add(struct ctrl_wear *worst, struct ctrl_wear one)
{
	if (one.used > worst->used)
		worst->used = one.used;
	if (one.spare - one.spare_threshold < worst->spare - worst->spare_threshold) {
		worst->spare = one.spare;
		worst->spare_threshold = one.spare_threshold;
	}
}

/* For the SMART log: of the whole subsystem, since there is one. */
struct ctrl_stats {
	struct eventlog_counts counts;
	struct ctrl_wear wear;              /* of the worst of its volumes */
	uint64_t power_cycles, unsafe_shutdowns, on_ms;
	bool degraded;                      /* a medium has failed since the subsystem was started */
};

struct ctrl_error {
	uint64_t count, lba, specific;
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
	uint32_t extension;                     /* of Weir: enum weir_capability granted */
};

struct ctrl_resv_notice {
	uint64_t number;
	uint32_t nsid;
	uint8_t kind;
};

/* What the host was not told of reservations yet, and what it does not want to hear. */
struct ctrl_resv {
	struct ctrl_resv_notice queue[CTRL_RESV_LOG]; /* `count` from `first` on */
	uint32_t first, count;
	uint64_t last;                                /* number of the newest there was */
	uint32_t masked[NVME_RESV_NOTICES][CTRL_NS_MAX / 32]; /* bit n is NSID n + 1 */
};

struct ctrl {
	const struct subsys_info *subsys;
	uint16_t cntlid;
	uint64_t association;        /* no two ever have the same; set by the target before the host may ask */
	uint16_t portal;             /* the host came through it: index to ANA states */
	uint8_t hostid[16];
	char hostnqn[NVME_NQN_FIELD];
	uint32_t cc, csts;
	bool resetting;              /* CTRL_RESET was returned; ctrl_reset_done() is to come */
	uint32_t kato_ms;            /* 0: no timer; as a reset leaves it: kato_connect_ms */
	uint32_t kato_connect_ms;
	uint32_t io_queues_granted;  /* by feature 07h; 0: not asked yet */
	bool io_queues_made;         /* set by the target with the first I/O queue; a reset makes it false */
	uint32_t async_config;       /* feature 0Bh */
	struct ctrl_features features;
	uint64_t timestamp_ms, timestamp_set_ns; /* feature 0Eh: what it was, and when */
	bool timestamp_of_host;
	uint16_t aer[CTRL_AER_MAX];  /* command ids held */
	uint32_t aer_count;
	uint32_t events_pending, events_masked; /* bit per enum ctrl_notice */
	uint32_t changed[CTRL_NS_MAX / 32];     /* page 04h: bit n is NSID n + 1 */
	struct ctrl_resv resv;
	const struct eventlog *events; /* what the host reads in page 0Dh; NULL: no context */
	struct ctrl_error errors[CTRL_ERROR_LOG];
	uint64_t error_count;    /* commands that failed */
	uint64_t error_lines;    /* of them those that were written into errors[] */
};

/* What the target must do beside answering. */
enum ctrl_action {
	CTRL_NOTHING,
	CTRL_ENABLED,    /* CC.EN 0 -> 1, and CSTS.RDY is set */
	CTRL_RESET,      /* CC.EN 1 -> 0: abort everything, drop I/O queues and held AERs, which are
			  * forgotten here; then ctrl_reset_done() clears RDY */
	CTRL_SHUTDOWN,   /* CC.SHN: finish and flush; then ctrl_shutdown_done() */
	CTRL_KATO,       /* the keep-alive time changed: start the timer anew */
	CTRL_WRITE_CACHE, /* feature 06h changed: from the completion on, ctrl_durable_writes() holds */
	CTRL_EVENTS_TAKEN, CTRL_EVENTS_RELEASED, /* see struct ctrl_given */
	CTRL_FAILED,     /* it was to be enabled in a way that it cannot be: CSTS.CFS */
	CTRL_TIMESTAMP,  /* feature 0Eh was set; before, it was `previous_ms` */
	/* Of these the answer is the target's, when it is done or has failed. */
	CTRL_ABORT,      /* a command of one of the controller's queues */
	CTRL_RESV_PTPL,  /* feature 83h of `nsid`, or of all that can (UINT32_MAX), shall be `value` */
	/* The same, and success only after ctrl_update() with a snapshot that says so. */
	CTRL_PROTECT,    /* feature 84h: the same, enum nvme_protection */
	CTRL_NS_CREATE,  /* a namespace like `create`: its NSID is DW0 of the answer; ANA group 0: any */
	CTRL_NS_DELETE,  /* `nsid`, or all */
	CTRL_ORDERED,    /* of Weir's extension: LIST, with `data_len` bytes that are the target's, CUT or FLOOR */
	CTRL_FENCE,      /* of Weir's extension: end others of the host; `value` is the command's CDW10 */
	CTRL_NS_ATTACH, CTRL_NS_DETACH, /* `nsid` to, from the controllers of `cntlids`, which has been checked */
};

struct nvme_ctrl_ids;
struct weir_log_view;

struct ctrl_reply {
	struct nvme_status status;
	uint32_t dw0, dw1;
	bool held;            /* an AER that waits: no completion now */
	uint32_t data_len;    /* bytes to transfer to the host, as many as its SGL says, or 0: `out` holds the
			       * first CTRL_PAGE_MAX of them; what follows is had by ctrl_answer_more() */
	enum ctrl_action action;
	uint32_t nsid, value; /* what it is about */
	uint64_t previous_ms;
	struct ns_info create; /* of a Create, also of one that is refused */
	const struct nvme_ctrl_ids *cntlids; /* in the command's data, of controllers up to this one: */
	uint64_t newest;
};

/* A controller fresh after Connect (which the caller has checked): disabled, nothing granted. */
void ctrl_init(struct ctrl *ctrl, const struct subsys_info *subsys, uint16_t cntlid, uint16_t portal,
    const struct nvme_connect_data *data, uint32_t kato_ms, uint64_t now_ns);

/*
 * From now on the subsystem is another, of the same name.  Raises what follows: a namespace that
 * came, went or is not the same is in page 04h and told of; so is an ANA state that is another at this
 * portal, with page 0Ch, and a discovery log of another genctr.
 * The old snapshot is not looked at any more when it returns.  `diff` keeps what was found out for the next
 * controller with the same two; one whose `old` is NULL is of none.
 */
void ctrl_update(struct ctrl *ctrl, const struct subsys_info *subsys, struct subsys_diff *diff);

/* What the target knows of a host that wants a controller of the subsystem it names. */
enum ctrl_admission {
	CTRL_HOST_ADMITTED,
	CTRL_HOST_UNKNOWN,  /* it is not among those that may connect: 1:84 */
	CTRL_HOST_OTHER_ID, /* its NQN is connected with another host identifier, or that with another NQN: 1:82 */
	CTRL_HOST_NO_ROOM,  /* there are as many controllers as there may be: 1:81, to be tried again */
};

/*
 * Checks an admin Connect's data and SQE; on refusal `fault` says where.
 * subsys NULL: the target has none of the NQN, and `admission` is not looked at.
 */
struct nvme_status ctrl_check_connect(const struct subsys_info *subsys, enum ctrl_admission admission,
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
/* CTRL_SHUTDOWN: that was asked for with the reset, and begins now; else CTRL_NOTHING. */
enum ctrl_action ctrl_reset_done(struct ctrl *ctrl);
void ctrl_shutdown_done(struct ctrl *ctrl);
void ctrl_fatal(struct ctrl *ctrl); /* CSTS.CFS */
bool ctrl_ready(const struct ctrl *ctrl); /* it may take commands that are not Fabrics' */

/*
 * How long the host may be silent; 0: for ever.  The keep-alive time while the controller is enabled
 * and not shut down; without one a discovery controller, and any other before and after, has CTRL_IDLE_MS.
 */
uint32_t ctrl_silence_ms(const struct ctrl *ctrl);

/* The SMART log (page 02h) of a subsystem; which temperature is worth a warning each controller's host says. */
void ctrl_smart(const struct ctrl_stats *stats, struct nvme_log_smart *smart);

/* How this controller reaches an active namespace, and what its I/O commands are answered then: NVME_OK
 * where they run.  Admin commands see to it themselves. */
enum nvme_ana_state ctrl_ana_state(const struct ctrl *ctrl, uint32_t nsid);
struct nvme_status ctrl_ana_status(enum nvme_ana_state state);

/* Whether every write must be durable before its completion: the host turned the write cache off. */
bool ctrl_durable_writes(const struct ctrl *ctrl);

/*
 * How many data bytes the command brings from the host, which must be there before
 * ctrl_admin(); 0 also where its SGL is too short, which ctrl_admin() refuses.
 */
uint32_t ctrl_admin_data_in(const struct nvme_sqe *sqe);

/* What an answer needs that only the target has: bits of enum ctrl_needs. */
enum ctrl_needs {
	CTRL_NEEDS_STATS = 1,  /* gathered from all reactors: page 02h */
	CTRL_NEEDS_EVENTS = 2, /* a copy of the persistent events: page 0Dh */
	CTRL_NEEDS_CONTROLLERS = 4, /* of the subsystem: Namespace Attachment, Identify 12h, 13h, 1Ch */
	CTRL_NEEDS_PTPL = 8,   /* of the namespace that the command names: Get Features 83h */
	CTRL_NEEDS_VIEW = 16,  /* the same: page D7h */
};
uint32_t ctrl_needs(const struct ctrl *ctrl, const struct nvme_sqe *sqe);

struct ctrl_given {
	const struct ctrl_stats *stats;
	/* The controller's from CTRL_EVENTS_TAKEN on until CTRL_EVENTS_RELEASED, ctrl_events_drop() or
	 * ctrl_reset_done(). */
	const struct eventlog *events;
	/* Bits by id, CTRL_ID_WORDS of them: I/O controllers, and those that have the namespace of the command. */
	const uint64_t *there, *attached;
	uint64_t newest; /* the number of the last association that began before that was so */
	bool ptpl; /* its reservations survive a loss of power */
	const struct weir_log_view *view; /* but what ctrl/ knows itself; NULL: there is nothing to be said of it */
};

/*
 * One admin command (not Fabrics).  `in`: its data from the host, in_len bytes.
 * `out`: CTRL_PAGE_MAX bytes for data to the host.  `given`: what ctrl_needs() asks for,
 * NULL where that is nothing.  An Abort that comes here finds nothing to abort:
 * the target looks first in its queues and with ctrl_aer_abort().  Failed
 * commands enter the error log by ctrl_log_error() or ctrl_log_bad(), which are the target's to call.
 */
void ctrl_admin(struct ctrl *ctrl, const struct nvme_sqe *sqe, const void *in, uint32_t in_len,
    uint8_t *out, const struct ctrl_given *given, uint64_t now_ns, struct ctrl_reply *reply);

/*
 * The answer that ctrl_admin() has just begun, from byte `at` on: CTRL_PAGE_MAX bytes to `out`.
 * To be called with the same controller and command, and nothing between.
 */
void ctrl_answer_more(struct ctrl *ctrl, const struct nvme_sqe *sqe, uint32_t at, uint8_t *out);

/* The host does not read the events any more. */
void ctrl_events_drop(struct ctrl *ctrl);

/* Abort of a held AER: true if it was one; it is forgotten and its completion is the caller's. */
bool ctrl_aer_abort(struct ctrl *ctrl, uint16_t cid);

/* What hosts may want to hear of.  After anything but a question, ask ctrl_event(). */
enum ctrl_notice {
	CTRL_INTERNAL_ERROR, CTRL_RELIABILITY, CTRL_TEMPERATURE, CTRL_NS_CHANGED, CTRL_ANA_CHANGED,
	CTRL_RESERVATION, CTRL_DISCOVERY_CHANGED, CTRL_NOTICES
};

/*
 * A registration or reservation of the namespace was ended by another host.  Told with page 80h, if
 * the namespace is active here and feature 82h does not mask it.
 */
void ctrl_reservation_notice(struct ctrl *ctrl, uint32_t nsid, enum nvme_resv_notice kind);


/* The next event to report: fills the CID of a held AER and its DW0; false: nothing, or no AER held. */
bool ctrl_event(struct ctrl *ctrl, uint16_t *cid, uint32_t *dw0);

/* So many commands failed of which nothing else is known: they count, and have no line in the log. */
void ctrl_errors_missed(struct ctrl *ctrl, uint32_t count);

/* A command of any queue failed: a line for the Error Information log. */
void ctrl_log_error(struct ctrl *ctrl, uint16_t sqid, const struct nvme_sqe *sqe,
    struct nvme_status status);

/* The same of a block that a host made unreadable: a line, and no news of a medium that fails. */
void ctrl_log_bad(struct ctrl *ctrl, uint16_t sqid, const struct nvme_sqe *sqe, struct nvme_status status);

/* What the command that was told of last says beside its status (its command specific information). */
void ctrl_log_specific(struct ctrl *ctrl, uint64_t specific);

#endif
