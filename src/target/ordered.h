/*
 * ordered.h - ordered writes, as a target serves them (doc/ordered-writes.md, At the server).
 *
 * Each core has parts of the log: its own, where streams go on whose queue is here, and those of reactors that were
 * there once.  What a stream does next is order/'s; here its requests, devices and commits are brought to that.  Which
 * streams there are, and in which parts, core 0 knows (ordered_all.c), to which their commands go.
 */
#ifndef WEIR_TARGET_ORDERED_H
#define WEIR_TARGET_ORDERED_H

#include "order/cut.h"
#include "order/group.h"
#include "order/travel.h"
#include "keep/store.h"
#include "target/conn.h"

enum { ORDERED_PART_WORDS = ORDER_PARTS_MAX / 64 };

/* Beside each request of a queue that may have ordered writes. */
struct ordered_write {
	struct order_write write;
	struct request *req;
	struct list lent_node;     /* of its connection, while its data is in the receive buffer */
	struct nvme_status status; /* what its drive said */
	bool over;                 /* its stream is done with it, and its data is on its way yet */
	bool just_checked;         /* since it came nothing else was done but to take what came with it */
};

/* At a device for a stream, and for no request. */
struct ordered_io {
	struct blk_io io;
	struct blk_chan *chan;
	struct ordered_stream *stream;
};

enum { ORDERED_BACK_TOGETHER = 16 };

/* What core 0 asks of a part; lent to its core until that has answered. */
struct ordered_ask {
	enum ordered_what {
		ORDERED_STOP,  /* answered when it is still */
		ORDERED_FILL,  /* what there is of it */
		ORDERED_CUT,   /* answered when it is cut, and goes on */
		ORDERED_FLOOR,
		ORDERED_END,   /* nobody needs it any more */
	} what;
	struct ordered_entry *of;  /* core 0's */
	uint32_t owner, part;
	uint16_t number;
	/* of CUT, FLOOR and END */
	uint32_t after;            /* a group */
	bool gone, force;
	bool ends;                 /* nobody needs it any more: it has to be still */
	uint16_t key, qid;         /* the queue by which it goes on */
	const struct order_owner *as; /* whose it is */
	const struct order_stream *read;
	uint64_t elsewhere[ORDERED_PART_WORDS];
	/* The answer. */
	struct order_known *known; /* of FILL room for `room`; of CUT all, */
	uint32_t room, count;      /* and how many; or of FILL, if that is more than `room`, how many there would be */
	uint32_t high;             /* of CUT, and of FILL at least what it was */
	bool is_there;             /* of FILL: a part has it, if without entries: one that ended, until it has left; */
	uint32_t floor;            /* then with this one */
	uint16_t term;             /* and in this one; each, too, at least what it was */
	uint32_t guaranteed;
	bool still;
	struct nvme_status status;
	bool began, was_cut;       /* of CUT: the part has something of it now; and a durable mark: others need not */
	uint32_t last;             /* of CUT: the group before the next one */
};

/* A stream at a core of which a part has something of it. */
struct ordered_stream {
	struct list node;          /* of its part */
	struct list conn_node;     /* of its queue */
	struct list mind_node;     /* of those of its part that wait for something else than writes */
	struct order_served served;
	struct ordered_part *part;
	struct conn *conn;         /* by which it goes on; NULL: by none */
	const struct order_owner *as;
	struct ordered_ask *asked; /* STOP or CUT, under way */
	uint64_t elsewhere[ORDERED_PART_WORDS]; /* parts that are to hear of floors, */
	uint64_t telling[ORDERED_PART_WORDS];   /* of which these were told of one and have not said a word yet; */
	uint32_t told;             /* and which that was */
	bool has_priority, was_stuck, closed;
	uint8_t priority;
	/* A flush. */
	uint32_t flush_left;
	bool flush_failed;
	struct ordered_io flushes[ORDER_FLUSHED_MAX];
	/* A cut. */
	struct order_cut cut;
	bool cutting;
	bool backing;              /* what it cut off is being deallocated: */
	uint32_t back_next, back_left; /* of the ask's entries; I/Os under way */
	bool back_failed, back_flushes, back_nsids_more;
	uint32_t back_nsids[ORDER_FLUSHED_MAX], back_nsid_count; /* that it was in */
	struct ordered_io back[ORDERED_BACK_TOGETHER];
};

struct ordered_part {
	struct list node;          /* of its core */
	struct core *core;
	uint32_t number;
	struct order_serve serve;
	struct order_slot *states;
	uint8_t *is;
	uint32_t *words;
	struct keep *keep;
	bool committing;
	struct order_commit empty; /* slots of a torn batch, which are to be empty first; `from` is `to`: none */
	struct list streams, minded;
	struct task task;
	struct timer stuck;
};

/* ---- what connections have of it: ordered.c ---- */

/* A command of a queue that was granted ORDER says that it is ordered. */
void ordered_command(struct request *req, const struct capsule *capsule);
void ordered_data(struct request *req); /* what was asked for is in req->bufs, or was bad */
int ordered_conn(struct conn *conn, uint16_t entries) __attribute__((warn_unused_result));
/* What was received is done with, and some of it is data of ordered writes: conn->lent_writes. */
void ordered_received(struct conn *conn);
/* Its streams stop: nothing of it that has not gone to a device does any more. */
void ordered_conn_ends(struct conn *conn);
void ordered_conn_free(struct conn *conn);
void ordered_conn_stalls(struct conn *conn);

/* Of order_serve, to requests and devices. */
void ordered_write_goes(struct ordered_part *part, struct order_write *write);
void ordered_flush(struct ordered_stream *stream);
/* `left`: what is told with one that is done; order_log_left(). */
void ordered_answer(struct order_write *write, uint32_t left);

/* To the device of a namespace, for a stream; false: it is not there any more. */
bool ordered_submit(struct ordered_stream *stream, struct ordered_io *io, uint32_t nsid,
    void (*done)(struct blk_io *io, struct nvme_status status));
/* First in its done(). */
void ordered_returned(struct ordered_io *io);

/* Whether the blocks of an entry are in its namespace yet. */
bool ordered_is_in(const struct view_ns *ns, const struct order_entry *entry);
/* The namespace of an entry, at that subsystem, if it is still the one; or NULL. */
const struct view_ns *ordered_ns(const struct view *view, const struct order_owner *as, uint32_t tagged);

/* ---- parts: ordered_part.c ---- */

/* The core's own part, or the one of that number; or NULL. */
struct ordered_part *ordered_part(struct core *core, uint32_t number);
struct ordered_stream *ordered_find(const struct ordered_part *part, uint32_t owner, uint16_t number);
struct ordered_stream *ordered_begin_stream(struct ordered_part *part, uint32_t owner, uint16_t number,
    const struct order_owner *as);
/* Something was told to `serve`: what follows from it is done in this turn, with what else has come, or in the next
 * one; or, where a device or the place has told it, with what else they tell. */
void ordered_pump(struct ordered_part *part);
void ordered_follow(struct ordered_part *part);
/* What follows from it is done now, as far as that needs no other turn. */
void ordered_settle(struct ordered_part *part);
/* Something else waits at the stream: it is asked something, closed, or has to tell other parts. */
void ordered_mind(struct ordered_stream *stream);
void ordered_stream_stop(struct ordered_stream *stream);
void ordered_end_stream(struct ordered_stream *stream); /* of which the part has nothing, not even a mark */
int ordered_core_begin(struct core *core, char why[256]) __attribute__((warn_unused_result));
void ordered_core_end(struct core *core);
/* Something of it is at a device or a place. */
bool ordered_core_busy(const struct core *core);

/* ---- what core 0 asks of parts: ordered_asked.c ---- */
void ordered_asked_mail(struct core *core, const struct target_mail *mail);
/* Something has happened to it: is what was asked done?  And after a commit. */
void ordered_asked_go_on(struct ordered_stream *stream);
void ordered_tell_floor(struct ordered_stream *stream);

/* ---- taking back: ordered_back.c ---- */
/* Of the stream that is being cut: ordered_back_done() comes, perhaps from inside. */
void ordered_back(struct ordered_stream *stream);
/* ordered_asked.c: all that is to be is deallocated, durably; or that failed. */
void ordered_back_done(struct ordered_stream *stream, bool done);

/* ---- all streams: ordered_all.c, of core 0, and ordered_load.c ---- */

/* LIST, CUT or FLOOR; its controller's, lent to core 0. */
struct ordered_command {
	struct fifo_node node;
	struct request *req;       /* a token */
	struct nvme_sqe sqe;
	struct order_owner as;     /* who asks */
	uint16_t core, key;        /* the controller's */
	uint16_t queue_core;       /* of CUT */
	struct iovec *iov;         /* for the data of LIST, zeros before */
	uint32_t iov_count;
	struct nvme_status status; /* the answer */
	uint32_t dw0;
};

struct ordered_all;

/* A stream, as core 0 knows it. */
struct ordered_entry {
	struct list node;
	uint32_t owner;
	uint16_t number;
	uint32_t home;             /* the part where it goes on */
	uint32_t holder;           /* whose it is; 0: nobody's that is known */
	uint64_t parts[ORDERED_PART_WORDS]; /* that have something of it */
	struct ordered_command *now; /* at work, */
	struct fifo waiting;       /* and those after it */
	bool doubtful;             /* what is missing in a part may be what it had there last, until it is cut */
	bool was_lost;             /* some of it, or that may be, when it was loaded */
	bool ends, ending;         /* nobody needs it: it goes when no part but its home has anything of it; and does */
	bool ended;                /* it went, but that its log has something of it yet */
	uint32_t ends_at;          /* its floor then */
	struct ordered_ask ask;
	/* What all parts have of it, while a command needs that. */
	struct order_known *known;
	uint32_t count, room;
	bool still;
	struct order_stream read;
	uint32_t part;             /* that is asked next; */
	void (*gathered)(struct ordered_all *all, struct ordered_entry *entry); /* when all have said */
};

struct ordered_all {
	struct store *store;
	struct list streams;
	struct order_owner *owners; /* those that there are, by index; of others the NQN is empty */
	bool *named;               /* by entries */
	struct core *core;         /* core 0 */
	bool putting;              /* an owner, for the first of `putters`, at: */
	uint32_t putting_index;
	struct fifo putters;       /* commands that wait for theirs */
	struct order_scan *scans;  /* by part */
	bool corrupt;              /* some part is: who is not known there may have been */
	unsigned owners_lost;      /* that cannot be read: the same */
	/* Until all cores have begun: */
	struct order_known *known;
	uint32_t count, begun;
};

int ordered_load(struct target *target, struct store *store, char why[256]) __attribute__((warn_unused_result));
void ordered_loaded(struct core *core); /* one more has begun */
void ordered_unload(struct target *target);
/* What there is in a part; false: no memory. */
bool ordered_load_part(struct ordered_part *part, const struct ordered_all *all) __attribute__((warn_unused_result));
/* Or NULL: there is none, or it was lost. */
const struct order_owner *ordered_whose(const struct ordered_all *all, uint32_t owner);
void ordered_all_mail(struct core *core, const struct target_mail *mail);
void ordered_ask_part(struct ordered_all *all, struct ordered_entry *entry, enum ordered_what what, uint32_t part);
void ordered_done(struct ordered_all *all, struct ordered_command *command, struct nvme_status status);
void ordered_finish(struct ordered_all *all, struct ordered_entry *entry, struct nvme_status status);

/* The stream that a command is of. */
static inline uint16_t
number_of(const struct ordered_command *command)
{
	return (uint16_t)le32_get(command->sqe.cdw10);
}

/* ---- what all parts have of a stream: ordered_list.c, of core 0 ---- */

/* `then`: it is in `known`; where there is no memory for it, the command is answered instead. */
void ordered_gather(struct ordered_all *all, struct ordered_entry *entry,
    void (*then)(struct ordered_all *all, struct ordered_entry *entry));
void ordered_filled(struct ordered_all *all, struct ordered_entry *entry); /* a part has said */
/* As one list; false: no memory. */
bool ordered_read(struct ordered_all *all, struct ordered_entry *entry, struct order_stream *read)
    __attribute__((warn_unused_result));
void ordered_read_end(const struct ordered_all *all, const struct order_stream *read);
/* A stream that is not known may have been there. */
bool ordered_is_doubtful(const struct ordered_all *all);
/* Some of it was lost; or a namespace is not there in which something may have to be taken back. */
bool ordered_is_lost(const struct ordered_all *all, const struct ordered_entry *entry, const struct order_stream *read);
void ordered_listed(struct ordered_all *all, struct ordered_entry *entry); /* it was gathered: LIST is answered */
void ordered_list_none(struct ordered_all *all, struct ordered_command *command);
void ordered_list_streams(struct ordered_all *all, struct ordered_command *command, uint32_t owner);

/* ordered_command.c: LIST, CUT or FLOOR came; data_len: of LIST, which is in req->bufs */
void ordered_ask(struct request *req, uint32_t data_len);
void ordered_answered(struct core *core, const struct target_mail *mail);

static inline void
ordered_set(uint64_t *bits, uint32_t part)
{
	bits[part / 64] |= UINT64_C(1) << part % 64;
}

static inline void
ordered_clear(uint64_t *bits, uint32_t part)
{
	bits[part / 64] &= ~(UINT64_C(1) << part % 64);
}

static inline bool
ordered_has(const uint64_t *bits, uint32_t part)
{
	return bits[part / 64] >> part % 64 & 1;
}

/* The core that has a part. */
static inline unsigned
ordered_core_of(const struct core *core, uint32_t part)
{
	return part % core->reactor->count;
}

#endif
