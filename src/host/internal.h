/*
 * internal.h - what host/'s files see of each other.
 *
 * First what is a lane's, on its own reactor; then what is a subsystem's, on
 * reactor 0.  Neither looks into the other.
 */
#ifndef WEIR_HOST_INTERNAL_H
#define WEIR_HOST_INTERNAL_H

#include "host/bound.h"
#include "host/mail.h"
#include "host/window.h"
#include "wire/log.h"

#define NS_PER_MS UINT64_C(1000000) /* no product with it is of 32 bits */

/* ---- a lane ---- */

/* Where an I/O is; it is in one place. */
enum flight_state {
	FLIGHT_FREE,    /* in lane->free; in no list */
	FLIGHT_WAITING, /* in lane->waiting: for a path, or for room on one */
	FLIGHT_RESTING, /* in lane->resting: the target has asked for a pause */
	FLIGHT_SENT,    /* in its strand's `sent` */
	FLIGHT_PARKED,  /* in lane->parked: until its association is over */
	FLIGHT_MATE,    /* the Write of a Compare and Write: its mate stands for both */
};

/* One I/O, from lane_submit() to done(). */
struct flight {
	struct hio hio;
	struct list node;
	struct lane *lane;
	struct strand *strand;  /* of SENT */
	struct flight *mate;    /* of a Compare and Write, both ways; of a free one the next */
	void (*done)(void *arg, const struct lane_result *result);
	void *arg;
	uint64_t moment, told;  /* of a Flush: as of cache_flushed() */
	void *page;             /* LANE_PAGE bytes, of those that need one: ranges, or pieces */
	struct iovec page_iov;
	uint32_t serial;        /* of the association it was sent on last */
	uint32_t tick;          /* when it came to where it is */
	uint32_t refused;       /* the tick after the one it was first refused in for its path's state; 0: it was not */
	uint32_t lost;          /* as much of its being lost */
	uint32_t nsid;
	uint8_t state, op, tries, answers; /* answers: of the two of a Compare and Write */
	uint8_t priority;       /* 0 to 3 */
	struct window *window;  /* of SENT: in which it counts */
	bool aborting;          /* an Abort was asked for */
	bool bound;             /* it goes by its strand or not at all */
};

enum { LANE_PAGE = 4096, LANE_TRIES_MAX = 8 };

enum strand_state {
	STRAND_NONE,    /* the lane has nothing of this path */
	STRAND_OPENING,
	STRAND_USABLE,  /* connected */
	STRAND_BROKEN,  /* its connection is gone, and the subsystem was told; it will say STRAND_CLOSE */
};

struct strand {
	struct lane *lane;
	const struct strand_terms *terms;
	struct qpair qp;
	struct list sent;       /* in the order they were sent */
	struct timer limit;     /* of connecting */
	struct timer again;     /* the queue id is not free yet: it is asked for again */
	enum strand_state state;
	uint32_t serial;
	uint32_t in_flight;     /* commands */
	uint32_t transfer_max;  /* bytes of one */
	bool stale;             /* it has refused for its ANA state, and no newer view has come */
	struct window windows[SUBSYS_NAMESPACES_MAX]; /* by slot */
	char why[160];
};

struct lane {
	struct reactor *reactor;
	struct subsys *subsys;  /* whom its mail is for; never looked into */
	struct lane_options options;
	uint16_t qid;
	uint8_t policy;
	const struct view *view;
	const struct view_ns *ns; /* the last one that was looked for; of the view */
	struct strand strands[SUBSYS_PATHS_MAX];
	unsigned paths;         /* strands[] from here on were never opened */
	unsigned turn;          /* round robin: the strand to begin with */
	struct flight *flights; /* `depth` of them: a Compare and Write takes two */
	struct flight *free;    /* by `mate`; the last one given back is the first one taken */
	struct list waiting, resting, parked;
	uint32_t waiting_for;   /* the namespace of those that wait; 0: they are of several */
	uint32_t in_flight;     /* I/Os taken on */
	uint64_t done_count, resent;
	uint8_t *pages;         /* of LANE_PAGE bytes */
	void **free_pages;
	uint32_t page_free;
	struct gather *gather;
	uint64_t cache_told[SUBSYS_NAMESPACES_MAX]; /* by slot: the moment of the last Flush that failed for a lost
	                                             * cache (cache.h) */
	struct task pump;       /* sends what waits and can go, ends what cannot */
	struct task *watch;     /* as of bound_watch(); NULL: nobody asks */
	struct timer ticker, rest;
	uint32_t tick, io_ticks, loss_ticks; /* the age at which an I/O is aborted; at which it is given up */
	uint64_t tick_ns;
	unsigned opening;       /* strands to come before ready() */
	bool joined, told, leaving;
	void (*closed)(void *owner);
};

/* lane_io.c: a command made of what the caller wants; 0, -EINVAL, -EOPNOTSUPP or -EAGAIN. */
int flight_build(struct flight *flight, const struct lane_io *io, const struct view_ns *ns)
    __attribute__((warn_unused_result));
/* How their ends are heard of: of most; of those that change blocks; of a Flush. */
void flight_answered(struct hio *hio);
void flight_written(struct hio *hio);
void flight_flushed(struct hio *hio);
bool lane_op_changes(enum lane_op op); /* what it has done can be told from its not having been done */

/* lane_path.c: choosing, connecting, breaking. */
const struct view_ns *lane_ns(struct lane *lane, uint32_t nsid);
/* The strand to send so many commands on now, none of more bytes than these; NULL: there is none. */
struct strand *lane_choose(struct lane *lane, const struct view_ns *ns, unsigned commands, uint32_t bytes);
/* Whether there is a path for so many bytes, be it full. */
bool lane_reaches(const struct lane *lane, const struct view_ns *ns, uint32_t bytes);
void strand_open(struct lane *lane, unsigned path, const struct strand_terms *terms);
/* Resets it; what was in flight waits or is parked.  The subsystem is not told. */
void strand_reset(struct strand *strand);
/* It cannot go on: resets it, and tells the subsystem. */
void strand_fail(struct strand *strand, int error, const char *why);
/* Whether no more are under way there than it has room for, and its target wants. */
bool strand_has_room(const struct strand *strand, const struct view_ns *ns, unsigned commands);
/* Ends what is left of it, and says that it is closed. */
void lane_close_strand(struct lane *lane, struct strand *strand);

/* lane.c */
struct flight *flight_take(struct lane *lane); /* NULL: as many as the lane has are in flight */
void lane_pump_soon(struct lane *lane);
void lane_strand_settled(struct lane *lane, int error, const char *why); /* up, or not to be had */
uint32_t lane_parked(const struct lane *lane, uint32_t serial);
void lane_joined(struct lane *lane, uint16_t qid, const struct view *view, unsigned strands);
void lane_assoc_over(struct lane *lane, uint32_t serial);
void lane_give_up(struct lane *lane, uint32_t serial); /* ends what is parked */
void lane_left(struct lane *lane);

/* lane_flight.c: where an I/O goes next. */
/* One that is in no list, or is taken out of it. */
void flight_send(struct flight *flight, struct strand *strand);
void flight_give(struct flight *flight); /* it is in no list; its mate is given, too */
void flight_wait(struct flight *flight);
void flight_finish(struct flight *flight, int error, struct nvme_status status);
/* It may be sent once more; else it was lost again and again, and ends so. */
void flight_again(struct flight *flight);
void lane_tick_start(struct lane *lane);
void lane_ticks_init(struct lane *lane, const struct subsys_options *options);

/* ---- a subsystem ---- */

enum { ANA_GROUPS_MAX = 256, ASSOC_ABORTS = 4 };

enum assoc_state {
	ASSOC_OPENING, /* its controller is being brought up */
	ASSOC_ASKING,  /* it is up, and asked about namespaces and ANA states; it can carry FENCE */
	ASSOC_LIVE,    /* lanes go by it */
	ASSOC_GHOST,   /* it was live and is lost: its controller is gone; it stays until it is over */
	ASSOC_CLOSING, /* shut down in order */
	ASSOC_GONE,    /* it has nothing more to do but to be freed */
};

/* What an association says of a namespace that is known. */
struct assoc_ns {
	bool wanted, seen, usable;
	uint32_t ana_group;
	struct cache_life *life; /* of subsys->caches[] */
};

struct assoc_abort {
	struct ctrlr_cmd cmd;
	bool busy;
};

struct assoc {
	struct list node;          /* in subsys->assocs */
	struct subsys *subsys;
	struct path *path;
	struct ctrlr *ctrlr;       /* NULL: it is gone */
	enum assoc_state state;
	struct strand_terms terms; /* the serial is there */
	bool fences;
	uint32_t quiet_ms;
	uint32_t newest;           /* the greatest serial when it was ready: those begun since have a greater one */
	bool opened;               /* lanes were told to, behind the first view that knows of it */
	unsigned strands;          /* lanes that were told to open and have not closed */
	struct assoc_abort aborts[ASSOC_ABORTS];
	/* ask.c: one command at a time */
	struct ctrlr_cmd ask;
	uint64_t ask_until_ns;     /* while it comes up: all has to be answered by then */
	bool asking, want_ana, want_changed;
	uint8_t want_log;          /* to be read so that its event may come again; 0: none */
	unsigned ask_slot;         /* whose turn it is */
	struct assoc_ns ns[SUBSYS_NAMESPACES_MAX]; /* by slot */
	uint8_t *page;             /* what is read: page_bytes */
	uint32_t page_bytes;
	struct iovec page_iov;
	struct nvme_identify_ns identify; /* of the namespace at hand, until its descriptors have come */
	struct assoc_group {
		uint32_t id;
		uint8_t state;         /* one that is in change for too long counts as inaccessible */
		uint64_t change_ns;    /* in change since then; 0: it is not */
	} ana[ANA_GROUPS_MAX];
	unsigned ana_count;
	struct timer ana_again;
	/* ghost.c, of a ghost */
	struct ctrlr_cmd fence;
	struct assoc *carrier;     /* that the FENCE is on; NULL: none is under way */
	unsigned carrying;         /* of a carrier: so many FENCEs are on it */
	struct timer quiet, fence_again, loss;
	uint32_t parked;           /* I/Os that its lanes have parked */
	bool given_up;             /* they were ended as not known, or will be */
	uint64_t heard_ns;         /* of these: lanes that have not heard of it until then are not waited for */
};

struct path {
	struct subsys *subsys;
	unsigned index;
	struct subsys_address address;
	enum path_state state;
	struct assoc *assoc;       /* of CONNECTING and LIVE; NULL: there is none */
	struct timer retry;
	uint32_t backoff_ms;
	bool tried;                /* it was live, or failed, once */
	int error;                 /* why it is not live */
	uint16_t cntlid, queues;
	bool fences;
	uint32_t associations, losses;
	char why[160];
};

struct subsys_lane {
	struct list node;
	struct lane *lane;         /* a token */
	unsigned reactor;
	uint16_t qid;              /* 0: it was refused */
};

struct subsys {
	struct reactor *reactor;
	struct subsys_options options;
	struct path paths[SUBSYS_PATHS_MAX];
	unsigned path_count;
	uint32_t serial;           /* of the last association */
	struct list assocs, lanes;
	bool qids[SUBSYS_LANES_MAX + 1]; /* taken */
	struct view *view;         /* the newest */
	unsigned views;            /* that somebody holds */
	uint32_t transfer_max;     /* bytes of one command, that each path takes which is live, or was the last to be */
	unsigned sending;          /* of these, such by which a lane may still send: not held */
	struct subsys_ns *ns[SUBSYS_NAMESPACES_MAX]; /* by slot; NULL: none */
	struct cache caches[SUBSYS_NAMESPACES_MAX];  /* the same */
	struct list finds;         /* that wait for their namespace to have been asked for */
	struct timer loss, publish_again, others;
	struct task news;          /* starts paths, answers finds */
	struct task look;          /* at ghosts */
	bool told, none_live, hopeless, closing;
	unsigned to_close;         /* paths that are being closed */
	void (*closed)(void *owner);
};

/* path.c */
void path_start(struct path *path);
void path_close(struct path *path);
/* The association is lost, or was never made; its controller has said so, or a lane has. */
void assoc_lose(struct assoc *assoc, int error, const char *why);
/* All that it was to be asked has been answered: it goes live if it is not. */
void assoc_asked(struct assoc *assoc);
/* Frees it, once nothing of it is needed or under way any more. */
void assoc_free(struct assoc *assoc);
struct assoc *subsys_assoc(struct subsys *subsys, uint32_t serial); /* NULL: it is gone */
static inline bool assoc_is_up(const struct assoc *a) { return a->state == ASSOC_ASKING || a->state == ASSOC_LIVE; }

/* ask.c */
int ask_start(struct assoc *assoc) __attribute__((warn_unused_result)); /* ANA states, each namespace; 0 or -ENOMEM */
void ask_on(struct assoc *assoc); /* goes on with what is wanted; assoc_asked() comes, maybe from inside */
void ask_event(struct assoc *assoc, uint32_t dw0);
void ask_stale(struct assoc *assoc);
void ask_end(struct assoc *assoc);
enum nvme_ana_state assoc_ana(const struct assoc *assoc, unsigned slot); /* 0: it cannot be used */

/* lane_bound.c: an admin command that a lane asks for. */
void assoc_asked_by_lane(struct subsys *subsys, struct assoc *assoc, struct bound_ask *ask);

/* ghost.c */
void ghost_begin(struct assoc *ghost);
void ghost_end(struct assoc *ghost);          /* nobody waits for it any more */
void ghosts_look(struct subsys *subsys);       /* something has changed: a carrier came or went, a lane has closed */
void ghosts_look_now(struct task *task);
bool ghosts_hold(const struct subsys *subsys); /* nothing may be sent: a write was given up and is not over */

/* lanes.c */
void lanes_close(struct assoc *assoc);
void lanes_over(struct assoc *assoc);
void lanes_give_up(struct assoc *assoc);
void lanes_publish(struct subsys *subsys); /* a new view; a little later, where there is no memory for it */

/* subsys.c */
void subsys_event(struct subsys *subsys, enum subsys_event_kind kind, unsigned path, uint32_t nsid, uint32_t dw0,
    const char *why);
void subsys_path_changed(struct subsys *subsys); /* one became live, was lost, or failed */
void subsys_found(struct subsys *subsys);        /* looks which finds can be answered */
void subsys_path_closed(struct subsys *subsys);
void subsys_free_soon(struct subsys *subsys);    /* something that the end waits for may be over */
unsigned subsys_live(const struct subsys *subsys);

#endif
