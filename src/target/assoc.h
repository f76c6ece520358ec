/*
 * assoc.h - a controller with its queues (an association), and what is done for it.
 *
 * It belongs to the core where its admin connection lives; I/O queues speak to it
 * by mail, even on the same core.
 */
#ifndef WEIR_TARGET_ASSOC_H
#define WEIR_TARGET_ASSOC_H

#include "target/conn.h"

struct assoc_queue {
	struct conn *conn; /* a token: only mailed, never looked into (but on its own core) */
	uint16_t core;
	bool closing;
};

/* A controller with its queues. */
struct assoc {
	struct list node, key_node;
	struct core *core;
	uint16_t key;               /* cores know it by; its core is key % reactors */
	struct ctrl ctrl;           /* hosts know it by ctrl.cntlid: the same, unless it is static; known
	                             * when it has joined */
	struct conn *admin;         /* NULL: gone, and the rest follows */
	bool admin_over;            /* and of its commands none is with another core any more */
	bool joined;                /* core 0 knows it and has admitted it, */
	const struct blk_tenant *tenant; /* and its host; or NULL */
	struct assoc_queue queues[TARGET_IO_QUEUES + 1];
	uint32_t queue_count;       /* connected I/O queues */
	struct timer kato_timer;
	uint32_t alive_round;       /* of asking "were you alive?" */
	uint32_t alive_asked;       /* answers outstanding in this round */
	uint64_t alive_ns;          /* the latest command heard of */
	enum ctrl_action after;     /* what is done when the last queue is gone */
	uint8_t flush_for;          /* for whom the flush in flight is, and: */
	uint8_t flush_wanted;       /* who asked since it began, and has the next one */
	struct nvme_status flush_status;
	struct fifo cache_setters;  /* Set Features 06h that wait for all queues, one after the other */
	uint32_t cache_left;
	bool cache_dropped;         /* what they wait for first is another flush, for one that a reset dropped */
	struct blk_io flush_io;
	struct blk_chan *flush_chan;
	uint32_t flush_nsid;        /* the next one is behind it */
	bool flushing;
	struct request *aborts[CTRL_ABORTS_MAX]; /* Aborts that wait for a queue's answer */
	struct fifo fencers;        /* requests that fence, one after the other */
	uint32_t fences_dropped;    /* asked of core 0, which has yet to answer: before what fencers are answered */
	struct fifo askers;         /* requests that wait for statistics, one after the other */
	uint32_t stats_left;        /* answers outstanding */
	struct ctrl_stats stats;    /* what was said so far */
	uint64_t stats_busy_s;      /* of the busiest core */
	uint64_t reset_ns;          /* when the last reset was over, or it came */
	uint32_t events_unheard;    /* MAIL_EVENTs under way */
	struct eventlog *events;    /* what its host reads; core 0's */
	struct timer events_timer;  /* its host has not read for long */
	const struct view_subsys *subsys; /* NULL: of a discovery controller, or the subsystem is gone */
	struct shown *shown;        /* of a discovery controller */
};

/* assoc.c: controllers */
/* The list that it is in, by key_node: with at most 64 others, as many as keys of one core come out alike. */
static inline struct list *
assoc_keys(struct core *core, uint16_t key)
{
	return &core->assocs_by_key[key / core->reactor->count % ASSOC_LISTS];
}
struct assoc *assoc_find(struct core *core, uint16_t key);
/* `subsys` NULL: a discovery controller. */
struct assoc *assoc_create(struct core *core, struct conn *admin, const struct view_subsys *subsys,
    const struct nvme_connect_data *data, uint32_t kato_ms);
void assoc_joined(struct assoc *assoc, const struct target_mail *mail);
void assoc_end(struct core *core, const struct target_mail *mail);
void assoc_view(struct core *core, const struct view *view);
void assoc_attach(struct core *core, const struct target_mail *mail);
void assoc_detached(struct core *core, const struct target_mail *mail);
void assoc_act(struct assoc *assoc, enum ctrl_action action);
void assoc_settle(struct assoc *assoc);
void assoc_cache_set(struct core *core, const struct target_mail *mail);
void assoc_set_cache(struct assoc *assoc, struct request *req);
void assoc_admin_gone(struct assoc *assoc);
void assoc_admin_over(struct assoc *assoc); /* the last word of it: afterwards it may be no more */

/* alive.c: the keep-alive time */
void alive_begin(struct assoc *assoc);
void alive_start(struct assoc *assoc);
void alive_ask(struct core *core, const struct target_mail *mail);
void alive_heard(struct assoc *assoc, uint64_t heard_ns); /* a queue had a sign of life then */
void alive_answer(struct core *core, const struct target_mail *mail);

/* admin.c: admin commands */
void admin_command(struct request *req, const struct capsule *capsule);
void admin_data(struct request *req);
void admin_events(struct assoc *assoc);
bool admin_abort_event(struct assoc *assoc, uint16_t cid);
void admin_drop(struct assoc *assoc);
bool admin_dropping(const struct assoc *assoc);
/* What had to be asked for is there: the command runs. */
void admin_run(struct request *req, const void *in, uint32_t in_len, struct ctrl_given *given);

void admin_granted(struct request *req); /* it waited for memory, and has it */

/* admin_bufs.c: memory for the data of admin commands */
/* True: req->bufs holds `bytes` bytes, BUFS_TRANSFER_MAX at most; false: admin_granted() will be called. */
bool admin_bufs_take(struct request *req, uint32_t bytes);
void admin_bufs_give(struct request *req);
void admin_bufs_leave(struct request *req);
void admin_bufs_blocked(struct conn *conn);
int admin_bufs_conn(struct conn *conn) __attribute__((warn_unused_result)); /* becomes an admin queue */
int admin_bufs_begin(struct core *core) __attribute__((warn_unused_result));
void admin_bufs_end(struct core *core);

/* abort.c: Abort */
void abort_command(struct request *req);
void abort_ask(struct core *core, const struct target_mail *mail);
void abort_answer(struct core *core, const struct target_mail *mail);
void abort_drop(struct assoc *assoc);

/* errors.c: what a controller hears of commands that failed, its own and its queues' */
void assoc_failed(struct assoc *assoc, uint16_t qid, const struct nvme_sqe *sqe, struct nvme_status status, bool bad);
void assoc_error(struct core *core, const struct target_mail *mail);
void assoc_errors_missed(struct core *core, const struct target_mail *mail);

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
void present_update(struct conn *conn, const struct subsys_diff *diff); /* the same, after another view */
bool present_has(const struct assoc *assoc, const struct view_ns *ns);

/* sight.c: what goes on at a namespace, for the host that asks */
void sight_ask(struct request *req);
int sight_begin(struct core *core) __attribute__((warn_unused_result));
void sight_end(struct core *core);
size_t sight_bytes(void);

/* wish.c: what a host wishes, on its way to the keeper and back */
void wish_begin(struct request *req, const struct ctrl_reply *reply);
void wish_drop(struct conn *conn);
bool wish_abort(struct request *abort, uint16_t cid); /* true: it is, or will be, answered */
void wish_mail(struct core *core, const struct target_mail *mail);
size_t wish_bytes(void); /* at most, of a controller */

/* settle.c: what was written is durable; `then` may be called from inside, and ends what `wish` is used for */
void settle_flush(struct target_wish *wish, void (*then)(struct target_wish *wish, struct nvme_status status));
/* When nobody writes any more to what the wish has protected, the same. */
void settle_writes(struct target_wish *wish, void (*then)(struct target_wish *wish, struct nvme_status status));
void settle_mail(struct core *core, const struct target_mail *mail);

/* smart.c: what the SMART log is made of */
void smart_ask(struct request *req);
void smart_mail(struct core *core, const struct target_mail *mail);

/* events_core.c: what a core tells core 0 of, and the copies that its controllers have */
void events_tell(struct assoc *assoc, enum events_what what, uint32_t nsid);
void events_tell_set(struct request *req, uint64_t previous_ms);
void events_tell_error(struct assoc *assoc, uint32_t nsid, struct nvme_status status);
void events_begin_reading(struct request *req);
void events_heed(struct assoc *assoc, enum ctrl_action action, struct eventlog *copy);
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

/* shown.c: what a discovery controller tells its host */
struct shown *shown_make(struct core *core);
size_t shown_bytes(void);
void shown_update(struct assoc *assoc, const struct view *view);

#endif
