/*
 * core.h - what the files of target/ share: a reactor's core, its connections,
 * their requests and controllers.
 *
 * A connection and its requests belong to one core.  A controller (an
 * association) belongs to the core where its admin connection lives; I/O
 * queues speak to it by mail, even on the same core.
 */
#ifndef WEIR_TARGET_CORE_H
#define WEIR_TARGET_CORE_H

#include "resv/resv.h"
#include "target/events.h"
#include "target/mail.h"
#include "target/view.h"
#include "tcp/tconn.h"

/* A volume of the target, by a number that every core knows it by.  Core 0's. */
struct target_volume {
	struct blk *blk;      /* NULL: the number is free */
	uint32_t left;        /* cores that still have a channel to it, once it is not used any more */
	struct target_applied *applied; /* told when none has, by the config that gave it up */
	bool wanted;          /* by the view that holds, or the one that is being applied */
	bool named, keeps;    /* `uuid` is known; its reservations can be kept, under that name */
	uint8_t uuid[16];
	struct reserve *reserve; /* NULL: nobody asked for any yet */
};

struct target {
	struct arena *arena;
	char state_dir[512];  /* empty: nothing is kept */
	struct target_volume volumes[TARGET_VOLUMES_MAX];
	uint32_t volume_next; /* where the search for a free number begins: they are used again late */
	uint8_t portals[TARGET_LISTENERS_MAX]; /* by listener of the config that holds; core 0's */
	struct core *cores[64];
	struct view *view;    /* the one every core has, or is about to have; core 0's */
	struct change *change; /* the config that is being applied (apply.c); core 0's */
	struct target_applied *applied; /* of the last one */
	struct target_keeper *keeper;  /* of core 0 */
	struct events events; /* core 0's */
};

/* Memory for commands that look at blocks without sending them (scratch.c). */
enum { SCRATCH_PIECES = 4, SCRATCH_BYTES = 64 * 1024 };

struct scratch {
	uint8_t *memory;
	void *free[SCRATCH_PIECES];
	unsigned free_count;
	struct list waiting; /* requests, by waiter.node */
};

struct core {
	struct target *target;
	struct reactor *reactor;
	const struct view *view;
	struct blk_chan **chans; /* by the number of the volume, TARGET_VOLUMES_MAX of them */
	uint64_t retiring[TARGET_VOLUMES_MAX / 64]; /* volumes given up: their channels are closed when they are idle */
	struct timer retire_timer;
	struct timer anatt_timer; /* core 0's: the next group's change state is over (anatt.c) */
	struct target_applied anatt_applied;
	const struct resv **resv; /* by the same number: who holds it; NULL: nobody, so nobody is held back */
	uint32_t resv_count;    /* how many are not NULL */
	uint64_t ptpl[TARGET_VOLUMES_MAX / 64]; /* reservations that survive a loss of power */
	uint64_t ending[TARGET_VOLUMES_MAX / 64]; /* volumes whose commands are to end, see reserve_core.c */
	struct timer ending_timer;
	struct gather *gather;
	struct list reading, sending; /* connections that have something to read or to send in this turn */
	struct task receive, send;
	struct scratch scratch;
	struct present *present; /* which controllers there are, while an answer is made of it */
	uint8_t *page;          /* CTRL_PAGE_MAX bytes for answers of ctrl/ */
	struct list conns, assocs;
	uint32_t conn_count;
	uint32_t key_next;
	struct target_stats stats; /* of what is of no subsystem, or of one that is gone */
	struct events_served served[EVENTS_LOGS]; /* of each subsystem, by the number of its log */
	uint32_t events_missed;   /* that core 0 was not told of, and nobody yet */
	struct timer missed_timer; /* when that is said; */
	uint64_t missed_said_ns;  /* and when it was the last time; 0: never */
	bool draining;
	struct timer drain_timer;

	/* of reactor 0: */
	struct listener listeners[TARGET_LISTENERS_MAX]; /* by portal */
	uint32_t accepted;      /* connections of all cores */
	struct target_stats counted; /* as it was at the last MAIL_COUNT; read by core 0 after COUNTED */
	uint32_t uncounted;     /* cores that have not answered MAIL_COUNT */
	void (*told)(void *owner, const struct target_stats *sum);
	void *told_owner;
	uint32_t undrained;     /* cores that have not said that they are drained */
	unsigned place_next;    /* where the next connection goes */
	void (*drained)(void *owner);
	void *drained_owner;
	struct registry *registry;
};

/* In place of a request's volume: its host was put out, and it goes to no device any more. */
enum { SLOT_ENDED = UINT16_MAX };

/* Where a request is while its xfer is HELD. */
enum stage {
	STAGE_NEW,
	STAGE_BUFS,   /* in line for buffers */
	STAGE_SCRATCH, /* in line for a scratch buffer */
	STAGE_FUSED,  /* half of a fused pair that waits for the other half */
	STAGE_PARTNER, /* half of a fused pair whose other half is in DEVICE for both */
	STAGE_TURN,   /* may not ask for its data before others of its connection have theirs */
	STAGE_FILL,   /* its data is being received (xfer RECEIVING or ASKING) */
	STAGE_DEVICE, /* the device's */
	STAGE_MAIL,   /* waiting for an answer of another core */
	STAGE_EVENT,  /* an Asynchronous Event Request that is held */
	STAGE_ANSWER, /* in line to be sent */
	STAGE_AGAIN,  /* read, but not taken by the peer in time: to be read again */
};

struct request {
	struct xfer xfer;         /* first: tconn finds it by its slot */
	enum stage stage;
	uint16_t slot;            /* of the volume that it was checked for */
	uint32_t block_size;      /* of a command done piece by piece (walk.c) */
	struct conn *conn;
	struct blk_chan *chan;    /* the device's, while and after it is there */
	struct blk_io io;
	struct iovec iov[2];      /* lent by the device, or lying in the capsule */
	struct iovec piece;       /* of a command done piece by piece (walk.c): the scratch buffer in use; of
	                           * reservations: its data */
	uint64_t walked;          /* and blocks that are done; of reservations: the namespace */
	struct request *partner;  /* the other half of a fused pair, while both are there (fused.c) */
	struct nvme_sqe sqe;
	uint64_t since_ns;        /* when its data was asked for */
	struct bufs_waiter waiter;
	struct bufs_list bufs;
};

enum conn_phase {
	CONN_NEW,        /* no Connect yet */
	CONN_AUTH,       /* a queue whose host has yet to show who it is: it may do nothing else */
	CONN_LIVE,       /* a queue */
	CONN_FINISHING,  /* takes no more commands; closes when all is answered */
	/* From here on nothing is done for the peer: the order counts. */
	CONN_TERMINATED, /* a TermReq is under way or out; waits for the peer to close */
	CONN_DEAD,       /* the stream is closed; lives until nobody refers to it */
};

struct conn {
	struct list node;
	struct core *core;
	struct stream *stream;
	struct tconn tc;
	enum conn_phase phase;
	struct list read_node, send_node;
	uint32_t expected;        /* bytes: as much came the last time */
	struct timer timer;       /* handshake and stalls */
	struct timer lend_timer;  /* when lent memory that was not sent is given back */
	uint64_t lend_since_ns;   /* no buffer for what is half sent since then; 0: not so */
	bool blocked;             /* the socket takes nothing now */
	bool paused;              /* not reading: a capsule waits for a buffer */
	bool connecting;          /* a Connect is being decided */
	uint8_t gate;             /* GATE_RESV where anything of the core is held: see core->resv */
	bool durable;             /* the host turned the write cache off: every write is FUA */
	bool attached, detaching; /* an I/O queue known to its controller; told it that it leaves */
	struct target_stats *stats; /* where what is done for it counts: its core's */
	uint64_t rx_pdus, tx_bytes;           /* progress, and what it was */
	uint64_t rx_pdus_then, tx_bytes_then; /* when the stall timer was set */
	uint64_t command_ns;      /* the last command's arrival */
	uint32_t device_count;    /* requests in STAGE_DEVICE, or lent to core 0 */
	uint32_t request_count;   /* requests not free */
	uint32_t held;            /* by functions that still look at it, whatever becomes of it */
	uint16_t key, qid;        /* the controller's, as cores know it; and which queue */
	uint64_t association;     /* its number; of an I/O queue */
	uint32_t active[CTRL_NS_MAX / 32]; /* the same: namespaces with GATE_LISTED that it has; bit n is NSID n + 1 */
	uint16_t portal;          /* it came through */
	uint8_t hostid[16];       /* of an I/O queue */
	const struct view_subsys *subsys; /* of an I/O queue; NULL: the subsystem is gone, and the connection going */
	uint32_t errors_unheard;  /* MAIL_ERRORs under way */
	uint32_t errors_missed;   /* failed commands that its controller was not told of yet */
	struct assoc *assoc;      /* of an admin queue */
	struct fifo turns;        /* requests in STAGE_TURN */
	struct fifo wishes;       /* of an admin queue, by their node: the keeper has the one before */
	uint32_t wish_count;      /* with that one */
	uint32_t asked_bytes;     /* of buffers for data that was asked for and has not come */
	struct fifo again;        /* requests in STAGE_AGAIN */
	struct request *fused;    /* the first half of a fused pair whose second half must come next */
	struct request *leaving;  /* a Disconnect, answered when it is alone */
	struct request *slots;    /* the queue's; before Connect, &first */
	uint32_t slot_count, slots_used;
	struct fifo free;
	uint8_t *reserve;         /* TARGET_INCAPSULE bytes, for one capsule when buffers are short */
	struct request *reserve_user;
	struct request *stalled;  /* waits for the reserve or a buffer; the connection is paused */
	struct request first;     /* Connect's slot */
	char hostnqn[NVME_NQN_FIELD]; /* of an I/O queue */
};

struct assoc_queue {
	struct conn *conn; /* a token: only mailed, never looked into (but on its own core) */
	uint16_t core;
	bool closing;
};

/* A controller with its queues. */
struct assoc {
	struct list node;
	struct core *core;
	uint16_t key;               /* cores know it by; its core is key % reactors */
	struct ctrl ctrl;           /* hosts know it by ctrl.cntlid: the same, unless it is static; known
	                             * when it has joined */
	struct conn *admin;         /* NULL: gone, and the rest follows */
	bool joined;                /* core 0 knows it and has admitted it */
	struct assoc_queue queues[TARGET_IO_QUEUES + 1];
	uint32_t queue_count;       /* connected I/O queues */
	struct timer kato_timer;
	uint32_t alive_round;       /* of asking "were you alive?" */
	uint32_t alive_asked;       /* answers outstanding in this round */
	uint64_t alive_ns;          /* the latest command heard of */
	enum ctrl_action after;     /* what is done when the last queue is gone */
	void (*flushed)(struct assoc *assoc, struct nvme_status status);
	void (*flush_next)(struct assoc *assoc, struct nvme_status status); /* waits for the flushes in flight */
	struct nvme_status flush_status;
	struct fifo cache_setters;  /* Set Features 06h that wait for all queues, one after the other */
	uint32_t cache_left;
	struct blk_io flush_io;
	struct blk_chan *flush_chan;
	uint32_t flush_nsid;        /* the next one is behind it */
	bool flushing;
	struct request *aborts[CTRL_ABORTS_MAX]; /* Aborts that wait for a queue's answer */
	struct fifo fencers;        /* requests that fence, one after the other */
	struct fifo askers;         /* requests that wait for statistics, one after the other */
	uint32_t stats_left;        /* answers outstanding */
	struct ctrl_stats stats;    /* what was said so far */
	uint64_t stats_busy_s;      /* of the busiest core */
	uint32_t events_unheard;    /* MAIL_EVENTs under way */
	struct eventlog *events;    /* what its host reads; core 0's */
	struct timer events_timer;  /* its host has not read for long */
	const struct view_subsys *subsys; /* NULL: of a discovery controller, or the subsystem is gone */
	struct shown *shown;        /* of a discovery controller */
};

/* turn.c: what a core's connections receive and send in one turn */
void turn_begin(struct core *core);
void turn_end(struct core *core);
void turn_receive(struct conn *conn);
void turn_send(struct conn *conn);

/* traffic.c: what becomes of the bytes of a connection */
void traffic_begin(struct conn *conn);
void traffic_wants(struct conn *conn);
bool traffic_wants_to_read(const struct conn *conn);
void traffic_take(struct conn *conn, ssize_t bytes, size_t direct, const uint8_t *at);
void traffic_sent(struct conn *conn, ssize_t bytes, struct fifo *finished);
void traffic_after_send(struct conn *conn, ssize_t bytes, size_t asked);
void conn_send_soon(struct conn *conn);
void conn_pause(struct conn *conn);
void conn_resume(struct conn *conn);

/* conn.c: a connection's life */
void conn_accept(struct core *core, struct stream *stream, uint16_t portal);
void conn_enter(struct conn *conn, enum conn_phase phase);
bool conn_takes_commands(const struct conn *conn);
void conn_watch(struct conn *conn);
void conn_finish(struct conn *conn);
void conn_terminate(struct conn *conn);
void conn_end(struct conn *conn, bool abort);
void conn_kill(struct conn *conn);
void conn_maybe_free(struct conn *conn);
int conn_queue(struct conn *conn, bool admin, uint16_t entries, bool sq_flow);

/* A command's data, whole: in the bytes just received (transient) or in the request's buffer. */
struct capsule {
	const uint8_t *data;
	uint32_t len;
	bool transient;
};

/* request.c: a command's life between its capsule and its answer */
struct request *request_take(struct conn *conn);
void request_command(struct request *req, const struct tconn_item *item);
void request_data(struct request *req);
void request_answer(struct request *req, struct nvme_status status);
void request_answer_data(struct request *req, struct iovec *iov, uint32_t count);
bool request_served(const struct request *req);
void request_error_heard(struct conn *conn);
void request_tell_missed(struct conn *conn);
void request_free(struct request *req);
void request_free_all(struct fifo *finished);
void request_abandon(struct request *req);
void request_unlend(struct request *req);
void request_release(struct request *req);
void request_unread(struct request *req);
void request_fetch(struct request *req);
void request_next_turns(struct conn *conn);
void request_ask(struct request *req, struct iovec *iov, uint32_t count);
/* true: req->bufs holds `bytes` bytes; false: `granted` will be called. */
bool request_buffers(struct request *req, uint32_t bytes, void (*granted)(struct bufs_waiter *));
static inline struct request *
request_of(struct bufs_waiter *waiter)
{
	return container_of(waiter, struct request, waiter);
}

/* request_capsule.c: data of a capsule that is received into a buffer, or is kept in one */
void request_receive(struct request *req, uint32_t bytes);
void request_unstall(struct request *req);
void request_keep(struct request *req, const struct capsule *capsule);

/* connect.c: Fabrics commands */
void fabrics_command(struct request *req, const struct capsule *capsule);
void connect_attached(struct core *core, const struct target_mail *mail);
void connect_joined(struct core *core, const struct target_mail *mail);

/* registry.c: which associations there are; on core 0, asked by mail */
int registry_begin(struct core *core) __attribute__((warn_unused_result));
void registry_end(struct core *core);
size_t registry_bytes(void);
void registry_mail(struct core *core, const struct target_mail *mail);
void registry_view(struct core *core); /* it has another one now */
/* Those of the controller's subsystem, and those that have the namespace: bits by id, both cleared before. */
void registry_present(struct core *core, uint16_t cntlid, uint32_t nsid, uint64_t *there, uint64_t *attached);
/* The NQN of the controller's subsystem, that of its host, and its id as hosts know it; NULL: it is not there. */
const char *registry_find(const struct core *core, uint16_t key, const char **hostnqn, uint16_t *cntlid);

/* fence.c: what a controller asks of the registry */
void fence_begin(struct assoc *assoc, struct request *req, uint16_t which);
void fence_done(struct core *core, const struct target_mail *mail);
void fence_drop(struct assoc *assoc);

/* present.c: which controllers there are, for those who ask, and which namespaces they have */
void present_ask(struct request *req, const void *in, uint32_t in_len);
void present_mail(struct core *core, const struct target_mail *mail);
int present_begin(struct core *core) __attribute__((warn_unused_result));
void present_end(struct core *core);
void present_conn(struct conn *conn); /* of an I/O queue: which namespaces it has, of those that are listed */
bool present_has(const struct assoc *assoc, const struct view_ns *ns);

/* wish.c: what a host wishes, on its way to the keeper and back */
void wish_begin(struct request *req, const struct ctrl_reply *reply);
void wish_mail(struct core *core, const struct target_mail *mail);
size_t wish_bytes(void); /* at most, of a controller */

/* abort.c: Abort */
void abort_command(struct request *req);
void abort_ask(struct core *core, const struct target_mail *mail);
void abort_answer(struct core *core, const struct target_mail *mail);
void abort_drop(struct assoc *assoc);

/* io.c: I/O commands */
void io_command(struct request *req, const struct capsule *capsule);
void io_data(struct request *req);
void io_read_again(struct request *req);
struct nvme_status io_check(struct request *req);
/* The namespace that the command was checked for is still there; else why it ends. */
struct nvme_status io_ns_again(const struct request *req, const struct view_ns **ns);
struct nvme_status io_ended(void);
uint32_t io_fua(const struct request *req);
/* To the device of the command's namespace; anything but NVME_OK: that is not there any more, or not so.
 * done() begins with io_returned(), and if that was true ends with conn_send_soon(): the connection is about
 * to end and looks whether this was the last. */
struct nvme_status io_submit(struct request *req, void (*done)(struct blk_io *io, struct nvme_status status));
/* The same for a command of one I/O, which it answers where that cannot be. */
void io_submit_late(struct request *req);
static inline bool
io_returned(struct request *req, struct nvme_status status)
{
	struct conn *conn = req->conn;

	conn->device_count--;
	if (!(req->io.flags & BLK_LENT))
		req->chan->busy--;
	req->stage = STAGE_NEW;
	/* What a host made unreadable is no fault of the medium (Base 2.0, 5.16.1.3, leaves it open). */
	if (status.sct == NVME_SCT_MEDIA && !(req->io.flags & BLK_BAD))
		conn->stats->media_errors += nvme_sc(status) != NVME_SC_COMPARE;
	return conn->phase == CONN_FINISHING; /* a dead one may be gone after the answer */
}

/* ranges.c: commands whose data is a list of ranges */
struct nvme_status ranges_check_dsm(struct request *req, const struct view_ns *ns);
void ranges_begin_dsm(struct request *req, const struct capsule *capsule);
void ranges_dsm_data(struct request *req);
struct nvme_status ranges_check_copy(struct request *req, const struct view_ns *ns);
void ranges_begin_copy(struct request *req, const struct capsule *capsule);
void ranges_copy_data(struct request *req);
/* Data that came in the capsule, `len` bytes of it at most: where it can stay. */
void *ranges_keep(struct request *req, const struct capsule *capsule, size_t len);

/* walk.c: commands done piece by piece */
void walk_begin(struct request *req);
void walk_copy(struct request *req, void *data);

/* fused.c: Compare and Write, fused */
bool fused_follows(const struct request *req);
void fused_command(struct request *req, const struct capsule *capsule);
void fused_orphan(struct conn *conn);
uint32_t fused_asks(const struct request *req);
void fused_ask(struct request *req);
void fused_data(struct request *req);

/* reserve_core.c: reservations, as each core has them */
struct nvme_status reserve_check(struct request *req, const struct view_ns *ns);
struct nvme_status reserve_check_report(struct request *req, const struct view_ns *ns);
void reserve_begin(struct request *req, const struct capsule *capsule);
void reserve_begin_report(struct request *req, const struct capsule *capsule);
void reserve_data(struct request *req);
void reserve_set_ptpl(struct request *req, uint32_t nsid);
bool reserve_ptpl(const struct core *core, const struct view_subsys *subsys, uint32_t nsid);
/* From now on this holds; NULL: nothing. */
void reserve_take(struct core *core, uint32_t slot, const struct resv *state);
void reserve_core_mail(struct core *core, const struct target_mail *mail);
int reserve_core_begin(struct core *core) __attribute__((warn_unused_result));
void reserve_core_end(struct core *core);

/* reserve.c: reservations, as core 0 keeps them */
void reserve_mail(struct core *core, const struct target_mail *mail);
bool reserve_busy(const struct core *core, uint32_t slot);
const struct resv *reserve_state(const struct target *target, uint32_t slot);
void reserve_forget(struct target *target, uint32_t slot);
void reserve_end(struct core *core);

/* reserve_kept.c: under which names they are kept, and what was kept of a volume that is new */
int reserve_names(struct target *target, const struct view *view, char why[256]) __attribute__((warn_unused_result));
int reserve_load(struct core *core, uint16_t slot, char why[256]) __attribute__((warn_unused_result));

/* scratch.c: true: req->io.old is one; false: `granted` will be called. */
bool scratch_take(struct request *req, void (*granted)(struct bufs_waiter *));
void scratch_leave(struct request *req);
void scratch_give(struct request *req);
bool scratch_wanted(const struct core *core);
int scratch_begin(struct core *core) __attribute__((warn_unused_result));
void scratch_end(struct core *core);

/* admin.c: admin commands */
void admin_command(struct request *req, const struct capsule *capsule);
void admin_data(struct request *req);
void admin_events(struct assoc *assoc);
bool admin_abort_event(struct assoc *assoc, uint16_t cid);
void admin_drop_events(struct assoc *assoc);
/* What had to be asked for is there: the command runs. */
void admin_run(struct request *req, const void *in, uint32_t in_len, struct ctrl_given *given);

/* smart.c: what the SMART log is made of */
void smart_ask(struct request *req);
void smart_drop(struct assoc *assoc);
void smart_mail(struct core *core, const struct target_mail *mail);

/* events_core.c: what a core tells core 0 of, and the copies that its controllers have */
void events_tell(struct assoc *assoc, enum events_what what, uint32_t nsid);
void events_tell_set(struct request *req, uint64_t previous_ms);
void events_tell_error(struct assoc *assoc, uint32_t nsid, struct nvme_status status);
void events_begin_reading(struct request *req);
void events_heed(struct assoc *assoc, enum ctrl_action action, bool answerable, struct eventlog *copy);
void events_release(struct assoc *assoc);
void events_reads(struct assoc *assoc, const struct nvme_sqe *sqe);
void events_core_end(struct core *core);
void events_core_mail(struct core *core, const struct target_mail *mail);
void events_core_view(struct core *core, const struct view *view);
/* Where what is done for the subsystem counts on this core. */
static inline struct target_stats *
events_stats(struct core *core, const struct view_subsys *subsys)
{
	return subsys != NULL ? &core->served[subsys->events].stats : &core->stats;
}

/* events.c: the logs, as core 0 keeps them */
int events_prepare(struct core *core, struct view *view, char why[256]) __attribute__((warn_unused_result));
void events_forget_new(struct target *target);
void events_switch(struct core *core, const struct view *old, const struct view *view, uint16_t asker);
void events_mail(struct core *core, const struct target_mail *mail);
void events_stats_kept(struct core *core, const struct target_mail *ask);
void events_finish(struct core *core);
void events_end(struct core *core);
size_t events_bytes(void);

/* alive.c: the keep-alive time */
void alive_begin(struct assoc *assoc);
void alive_start(struct assoc *assoc);
void alive_ask(struct core *core, const struct target_mail *mail);
void alive_answer(struct core *core, const struct target_mail *mail);

/* assoc.c: controllers */
struct assoc *assoc_find(struct core *core, uint16_t key);
/* `subsys` NULL: a discovery controller. */
struct assoc *assoc_create(struct core *core, struct conn *admin, const struct view_subsys *subsys,
    const struct nvme_connect_data *data, uint32_t kato_ms);
void assoc_joined(struct assoc *assoc, uint16_t cntlid, uint64_t association);
void assoc_end(struct core *core, const struct target_mail *mail);
void assoc_view(struct core *core, const struct view *view);
void assoc_attach(struct core *core, const struct target_mail *mail);
void assoc_detached(struct core *core, const struct target_mail *mail);
void assoc_error(struct core *core, const struct target_mail *mail);
void assoc_failed(struct assoc *assoc, uint16_t qid, const struct nvme_sqe *sqe, struct nvme_status status, bool bad);
void assoc_errors_missed(struct core *core, const struct target_mail *mail);
void assoc_act(struct assoc *assoc, enum ctrl_action action);
void assoc_cache_set(struct core *core, const struct target_mail *mail);
void assoc_set_cache(struct assoc *assoc, struct request *req);
void assoc_admin_gone(struct assoc *assoc);

/* stats.c: what was counted */
void stats_add(struct target_stats *sum, const struct target_stats *one);
void stats_note(struct core *core);
void stats_noted(struct core *core);

/* core.c */
void core_post(struct core *core, unsigned to, const struct target_mail *mail);
void core_conn_gone(struct core *core);
void core_maybe_drained(struct core *core);
void core_log(struct core *core, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void core_accepts(struct core *core, struct listener *listener);

/* shown.c: what a discovery controller tells its host */
struct shown *shown_make(struct core *core);
size_t shown_bytes(void);
const struct subsys_info *shown_fill(struct assoc *assoc, const struct view *view);

/* apply.c: from one view to the next, on all cores */
int apply_first(struct target *target, const struct target_config *config, char why[256]);
int apply_begin(struct core *core, char why[256]);
void apply_end(struct core *core);
/* All cores are led to a view with the same volumes and portals as the one they have; not while another config is
 * being applied.  0, or -ENOMEM, and the view stays the caller's. */
int apply_view(struct core *core, struct view *view, struct target_applied *applied)
    __attribute__((warn_unused_result));

/* anatt.c: since when groups of the view are in change; and, when it holds, until when */
void anatt_note(struct core *core, const struct view *view, const struct view *old);
void anatt_wait(struct core *core);
void apply_mail(struct core *core, const struct target_mail *mail);

/* Of an I/O queue: whether the namespace is active for it. */
static inline bool
conn_has(const struct conn *conn, const struct view_ns *ns)
{
	uint32_t bit = ns->info != NULL ? ns->info->nsid - 1 : 0;

	return ns->info != NULL && (!(ns->gate & GATE_LISTED) || conn->active[bit / 32] >> bit % 32 & 1);
}

/* Of an I/O queue: the namespace, or NULL. */
static inline const struct view_ns *
conn_ns(const struct conn *conn, uint32_t nsid)
{
	const struct view_subsys *subsys = conn->subsys;

	return subsys != NULL && nsid - 1 < subsys->ns_limit && subsys->ns[nsid - 1].info != NULL ?
	    &subsys->ns[nsid - 1] : NULL;
}

#endif
