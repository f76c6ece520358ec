/*
 * conn.h - a connection and its requests: where each of them is, and who moves it on.
 *
 * They belong to one core for their life.  What a command does is not known here
 * (command.h).
 */
#ifndef WEIR_TARGET_CONN_H
#define WEIR_TARGET_CONN_H

#include "target/core.h"
#include "tcp/tconn.h"

/* In place of a request's volume: its host was put out, and it goes to no device any more. */
#define VOLUME_ENDED UINT64_MAX

/* Where a request is while its xfer is HELD. */
enum stage {
	STAGE_NEW,
	STAGE_SHARE,  /* in line for buffers for data that it asks for, and its host's share of these (asked.c) */
	STAGE_READ,   /* the same, for data that it is sent */
	STAGE_BUFS,   /* in line for a buffer for the data of its capsule */
	STAGE_ADMIN,  /* an admin command in line for memory for its data (admin_bufs.c) */
	STAGE_SCRATCH, /* in line for a scratch buffer */
	STAGE_FUSED,  /* half of a fused pair that waits for the other half */
	STAGE_PARTNER, /* half of a fused pair whose other half is in DEVICE for both */
	STAGE_TURN,   /* may not ask for its data before others of its connection have theirs */
	STAGE_FILL,   /* its data is being received (xfer RECEIVING or ASKING) */
	STAGE_ORDER,  /* its stream's (ordered.c) */
	STAGE_DEVICE, /* the device's */
	STAGE_MAIL,   /* waiting for an answer of another core */
	STAGE_EVENT,  /* an Asynchronous Event Request that is held */
	STAGE_ANSWER, /* in line to be sent */
	STAGE_SLOW,   /* the same, and its peer was found to have taken a part and not the rest */
	STAGE_AGAIN,  /* read, but not taken by the peer in time: to be read again */
};

/* Of a request in a line in which each has his turn (share.c). */
struct turn {
	struct list *line;
	const void *whose;
	struct list node;   /* the first of those: in core->firsts */
	struct list behind; /* and the others, by waiter.node */
};

struct request {
	struct xfer xfer;         /* first: tconn finds it by its slot */
	enum stage stage;
	uint64_t volume;          /* that it was checked for: its number */
	bool dropped;             /* an admin command whose controller was reset meanwhile: it has no answer */
	bool given_back;          /* it was read once, and not taken in time */
	bool begun;               /* of a command done piece by piece (walk.c): something of it was at a device */
	uint32_t block_size;      /* the same */
	bool asks;                /* its buffers wait for its peer (asked.c): */
	bool by_peer;             /* to take what is in them, or to bring what they are for; */
	bool stranger;            /* and its connection had not shown that it does so */
	struct conn *conn;
	struct ordered_write *ordered; /* of a stream (ordered.c); NULL: of none */
	struct blk_chan *chan;    /* the device's, while and after it is there */
	struct blk_io io;
	struct iovec iov[2];      /* lent by the device, or lying in the capsule */
	struct iovec piece;       /* of a command done piece by piece (walk.c): the scratch buffer in use; of
	                           * reservations: its data */
	uint64_t walked;          /* and blocks that are done; of reservations: the namespace; of an admin command:
	                           * the bytes that a namespace to be created takes */
	struct request *partner;  /* the other half of a fused pair, while both are there (fused.c) */
	struct nvme_sqe sqe;
	uint64_t since_ns;        /* when its data was asked for; of a slow answer: when that was found */
	struct bufs_waiter waiter;
	struct bufs_list bufs;
	struct turn turn;
	struct fifo behind;       /* of reservations: its host's that stand behind it (hostline.c) */
};

enum conn_phase {
	CONN_NEW,        /* no Connect yet */
	CONN_AUTH,       /* a queue whose host has yet to show who it is: it may do nothing else */
	CONN_LIVE,       /* a queue */
	CONN_LEAVING,    /* a Disconnect came: no more commands are done, and when the others are it leaves */
	CONN_FINISHING,  /* hears no more commands; closes when all is answered */
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
	struct timer lend_timer;  /* when memory of answers that were not sent is taken back */
	struct list keep_node;    /* blocked, and some of them have buffers */
	uint32_t passed_by;       /* answers that went out while reads stood in `again`, of the last send */
	uint64_t lend_since_ns;   /* no buffer for what is half sent, and it is waited for, since then; 0: not so; */
	bool lent_nothing;        /* what it reads is copied first, */
	uint64_t lend_from;       /* before it has taken so many bytes (tx_bytes) */
	uint64_t lend_moved_ns, lend_moved; /* and when its peer took the last of it, and what of tx_bytes then */
	bool blocked;             /* the socket takes nothing now */
	bool to_look;             /* and there may be memory to be taken back */
	struct share *beyond;     /* of this one it has, or had, more in capsules than there should be; or NULL */
	bool paused;              /* not reading: a capsule waits for a buffer */
	bool connecting;          /* a Connect is being decided */
	uint8_t gate;             /* GATE_RESV where anything of the core is held: see core->resv */
	bool durable;             /* the host turned the write cache off: every write is FUA */
	bool credits;             /* it was granted CREDITS when it connected */
	bool attached, detaching; /* an I/O queue known to its controller; told it that it leaves */
	struct target_stats *stats; /* where what is done for it counts: its core's */
	uint64_t rx_pdus, tx_bytes;           /* progress, and what it was */
	uint64_t rx_pdus_then, tx_bytes_then; /* when the stall timer was set */
	uint64_t command_ns;      /* the last command's arrival */
	uint64_t terminated_ns;   /* from TERMINATED on: since then */
	uint32_t device_count;    /* requests in STAGE_DEVICE or STAGE_ORDER, or lent to core 0 */
	uint32_t request_count;   /* requests not free */
	uint32_t held;            /* by functions that still look at it, whatever becomes of it */
	uint16_t key, qid;        /* the controller's, as cores know it; and which queue */
	uint64_t association;     /* its number; of an I/O queue */
	const struct blk_tenant *tenant; /* the same: its host, or NULL */
	struct {
		uint32_t nsid;
		uint16_t credits;
		uint64_t ns;          /* when */
	} told;                   /* the last grant; of one that has CREDITS */
	struct ordered_write *ordered_writes; /* by slot; NULL: it was not granted ORDER when it connected */
	struct list lent_writes;  /* whose data is in the receive buffer */
	struct list streams;      /* that go on by it, */
	struct ordered_stream *stream_last; /* and of which the last command was; or NULL */
	uint32_t active[CTRL_NS_MAX / 32]; /* the same: namespaces with GATE_LISTED that it has; bit n is NSID n + 1 */
	uint16_t portal;          /* it came through */
	uint8_t hostid[16];       /* of a queue */
	const struct view_subsys *subsys; /* of an I/O queue; NULL: the subsystem is gone, and the connection going */
	uint32_t errors_unheard;  /* MAIL_ERRORs, and one of those missed, that are under way */
	uint32_t errors_missed;   /* failed commands that its controller was not told of yet */
	struct assoc *assoc;      /* of an admin queue */
	struct assoc *left;       /* the same, when it is served no more: some of its commands are not over yet */
	struct fifo turns;        /* requests in STAGE_TURN */
	uint8_t *own;             /* of an admin queue: ADMIN_OWN bytes, for the data of one command at a time */
	struct request *admin_user; /* the command that has it, or has or waits for some of the core's */
	struct list admin_line;   /* those after it, by waiter.node */
	struct list admin_node;   /* its line may go on */
	struct target_wish *wishing; /* of an admin queue: the keeper's, or NULL; and by their node: */
	struct fifo wishes;       /* those after it */
	uint32_t wish_count;      /* with that one */
	uint64_t resumed_ns;      /* when it was not paused any more */
	uint32_t asked_bytes;     /* of buffers for data that was asked for and has not come; */
	uint64_t brought;         /* and bytes of it that have come, in all */
	struct fifo again;        /* requests in STAGE_AGAIN */
	struct request *fused;    /* the first half of a fused pair whose second half must come next */
	struct request *leaving;  /* from LEAVING on: the Disconnect */
	struct request *slots;    /* the queue's; before Connect, &first */
	struct fifo free;
	uint8_t *reserve;         /* TARGET_INCAPSULE bytes, for one capsule when buffers are short */
	struct request *reserve_user;
	struct request *stalled;  /* waits for the reserve or a buffer; the connection is paused */
	struct request first;     /* Connect's slot */
	char hostnqn[NVME_NQN_FIELD]; /* of an I/O queue */
};

/* Who keeps memory that others wait for loses its connection after so long, be it for data that he owes or for an
 * answer of which he took a part, in whatever steps: for 1 MiB, the most that a command and what a connection is asked
 * for may be, a line of 2 Mbit/s is enough.  Where one had to wait that has brought data before, who owes data has so
 * long only when he has taken or brought 64 MiB: he begins with a second, for the same a line of 8 Mbit/s, and each
 * CONN_EARNED_BYTES that went either way are a millisecond more.  Who wants to keep others waiting has to pay for it
 * like who works. */
enum { CONN_WAITED_FOR_S = 5, CONN_STRANGER_S = 1, CONN_EARNED_BYTES = 16 * 1024 };

/* Who was sent so much takes what he asks for: more than kernels keep for who reads nothing (4 MiB: tcp_wmem). */
enum { CONN_SHOWN_BYTES = 5 * 1024 * 1024 };

/* Nanoseconds that its peer has beyond what anybody has, where others wait. */
static inline uint64_t
conn_earned_ns(const struct conn *conn)
{
	return (conn->tx_bytes + conn->brought) / CONN_EARNED_BYTES * 1000000;
}

/* borrow.c: who is lent memory of a volume, and how long he may keep what others wait for */
void borrow_begin(struct conn *conn); /* of an I/O queue: its host is known */
bool borrow_is_over(struct conn *conn, const struct request *req); /* it keeps what it was lent for too long */
void borrow_refuse(struct conn *conn); /* so from now on its host is lent nothing */
bool borrow_may_again(struct conn *conn); /* one that was lent nothing */

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
void traffic_buffers_short(struct core *core);
struct request *traffic_half_sent(const struct conn *conn);
void conn_send_soon(struct conn *conn);
void conn_send_data_soon(struct conn *conn);
void conn_pause(struct conn *conn);
void conn_resume(struct conn *conn);

/* conn.c: a connection's life */
void conn_accept(struct core *core, struct stream *stream, uint16_t portal);
void conn_enter(struct conn *conn, enum conn_phase phase);
bool conn_hears(const struct conn *conn);
void conn_watch(struct conn *conn);
void conn_finish(struct conn *conn);
void conn_leave(struct conn *conn);
void conn_detached(struct conn *conn);
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
void request_spent(struct request *req); /* its data, if it came with any, is not needed any more */
void request_answer(struct request *req, struct nvme_status status);
void request_answer_data(struct request *req, struct iovec *iov, uint32_t count);
void request_untimely(struct request *req); /* its connection is no queue yet, or no more */
bool request_served(const struct request *req);
/* Of a command that waited for another core: it was not dropped either; its answer, if it was not; its end. */
bool request_wanted(const struct request *req);
void request_let_go(struct request *req);
void request_answer_late(struct request *req, struct nvme_status status);
void request_free(struct request *req);
void request_free_all(struct fifo *finished);
void request_abandon(struct request *req);
void request_unlend(struct request *req);
void request_release(struct request *req);
void request_unread(struct request *req);
static inline struct request *
request_of(struct bufs_waiter *waiter)
{
	return container_of(waiter, struct request, waiter);
}

/* request_fetch.c: data that is asked for by R2T */
void request_fetch(struct request *req);
void request_fetched(struct request *req);
void request_unwait(struct request *req); /* in STAGE_SHARE, STAGE_READ or STAGE_BUFS, it ends */
void request_next_turns(struct conn *conn);
void request_ask(struct request *req, struct iovec *iov, uint32_t count);
/* Its data is on its way; also while a further R2T is in line: others may be outstanding. */
static inline bool
request_owed(const struct request *req)
{
	return req->xfer.state == XFER_RECEIVING || req->xfer.state == XFER_ASKING;
}

/* asked.c: buffers for data that peers are asked for, or ask for: who may have how much, and whose turn it is */
/* True: req->bufs holds `bytes` bytes, to be asked for; false: `granted` is called, now or later. */
bool asked_fetch(struct request *req, uint32_t bytes, void (*granted)(struct bufs_waiter *));
/* The same: xfer.length bytes of the share, for what is read or reported. */
bool asked_send(struct request *req, struct share *share, void (*granted)(struct bufs_waiter *));
void asked_give(struct request *req); /* its data is there, or will not come; or was taken, or will not be */
void asked_leave(struct request *req); /* in STAGE_SHARE or STAGE_READ, it ends */
bool asked_guarded(const struct core *core); /* one waited who is no stranger */
bool asked_short(const struct core *core, bool large); /* somebody waits for the share of what peers are asked for */
void asked_begin(struct core *core);

/* patience.c: who keeps others waiting for too long */
void patience_watch(struct core *core); /* somebody waits for memory */
void patience_begin(struct core *core);
void patience_end(struct core *core);

/* share.c: what volumes have of the memory that all share; turns */
int share_begin(struct core *core) __attribute__((warn_unused_result));
void share_end(struct core *core);
void share_ready(struct core *core, uint32_t slot); /* before the first command of a volume of that slot */
/* That of the volume that the request was checked for. */
static inline struct share *
share_of(const struct request *req)
{
	return &req->conn->core->shares[req->volume != VOLUME_ENDED ? volume_slot(req->volume) : SHARE_NOBODY];
}
/* It stands in the line: a list of requests by waiter.node, of which each is the first one of those who are `whose`. */
void turn_join(struct list *line, const void *whose, struct request *req);
void turn_leave(struct request *req); /* wherever it stands there; the next of the same has its place */
void turn_take(struct request *first); /* it has its turn; the others of the same stand behind all that are there */

/* request_capsule.c: data of a capsule that is received into a buffer, or is kept in one */
void request_receive(struct request *req, uint32_t bytes);
void request_unstall(struct request *req);
void request_keep(struct request *req, const struct capsule *capsule);
/* It is the I/O's as it lies there; who needs it for longer than the receive buffer keeps it calls io.keep(). */
void request_lend(struct request *req, const struct capsule *capsule);
/* It is what is in req->bufs, or comes there. */
static inline void
request_use_bufs(struct request *req)
{
	req->io.iov = req->bufs.iov;
	req->io.iov_count = req->bufs.count;
}
/* req->bufs holds `bytes` bytes, which were promised. */
void request_take_promised(struct request *req, struct share *share, uint32_t bytes);

/* Its host, by a hash of the id: those that come out alike are one, which costs them a little and nobody else. */
static inline unsigned
conn_host(const struct conn *conn)
{
	uint64_t first = get_le64(conn->hostid), second = get_le64(conn->hostid + 8); /* which may be alike */

	return (unsigned)((first * UINT64_C(0xff51afd7ed558ccd) ^ second) * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

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
