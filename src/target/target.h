/*
 * target.h - the NVMe/TCP target: subsystems served over the world it is given.
 *
 * One `struct target` per process, and one core per reactor, which owns the
 * connections that live there.  What is served is told by a target_config, and
 * may be told anew while it runs (target_apply()).
 */
#ifndef WEIR_TARGET_TARGET_H
#define WEIR_TARGET_TARGET_H

#include "base/arena.h"
#include "blk/fair.h"
#include "ctrl/ctrl.h"
#include "wire/feature.h"
#include "world/reactor.h"

enum {
	TARGET_VOLUMES_MAX = 4096,      /* namespaces of all subsystems */
	TARGET_SUBSYS_MAX = CTRL_SHOWN_MAX,
	TARGET_LISTENERS_MAX = CTRL_PORTALS_MAX,
	TARGET_HOSTS_MAX = 1024,        /* that a subsystem names */
	TARGET_INCAPSULE = 8192,        /* bytes, on every queue */
	TARGET_MAXH2CDATA = 1024 * 1024,
	TARGET_PIECE = 128 * 1024,      /* what is longer goes in pieces of so many bytes */
	TARGET_ASKED_MAX = 1024 * 1024, /* bytes one connection may be asked for at a time */
	TARGET_IO_QUEUES = 128,         /* per controller, at most */
	TARGET_QUEUE_ENTRIES = 1024,    /* per queue, at most */
	TARGET_MDTS_SHIFT = 8,          /* 4 KiB << 8 = 1 MiB */
	TARGET_FUSED_MAX = 32 * 1024,   /* bytes of a fused Compare and Write */
	TARGET_COPY_MAX = 128 * 1024 * 1024, /* bytes of a Copy */
	TARGET_COPY_RANGES = 128,       /* and its ranges */
	TARGET_COPY_RANGE_MAX = 32768,  /* blocks of one of them: MSSRL is a 16-bit number */
};

/* ---- what is served ---- */

struct target_listen {
	char host[64];
	uint16_t port;
	enum portal_use use;
};

struct store;

struct target_ns {
	uint32_t nsid;              /* 1..CTRL_NS_MAX; each once, ascending */
	struct blk *volume;         /* the caller's; in no other namespace */
	const struct fair_volume *fair; /* what its I/O may have, of a volume that fair_open() made; NULL: all */
	uint64_t blocks;            /* hosts may use; 0: all there are */
	uint8_t id[16];             /* what nguid and uuid are derived from where they are zeros */
	uint8_t nguid[16], uuid[16];
	uint32_t ana_group;         /* one of the subsystem's; 0: the only one */
	enum nvme_protection protection;
	bool private;               /* of one controller at a time; `hosts` is empty then */
	bool listed;                /* active where `hosts` and `others` say (doc/namespaces.md), else everywhere */
	const char *const *hosts;   /* ascending, as strcmp() has it */
	uint32_t host_count, other_count;
	const uint64_t *others;     /* ascending */
};

struct target_ana {
	uint32_t id;                /* 1..CTRL_ANA_MAX; each once, ascending */
	enum nvme_ana_state state[TARGET_LISTENERS_MAX]; /* by listener, in the order of target_config.listen */
};

struct target_subsys {
	const char *nqn;
	const char *serial, *model; /* NULL: derived from `identity`; "Weir" */
	uint8_t identity[16];
	uint32_t listeners;         /* bit n: it is reached through listener n */
	bool hosts_listed;          /* only `hosts` may connect; else every host */
	const char *const *hosts;
	uint32_t host_count;
	const struct target_ana *ana; /* none: one group, 1, optimized everywhere */
	uint32_t ana_count;
	const struct target_ns *ns;
	uint32_t ns_count;
	uint32_t controllers_max;   /* 0: 1000; 65519 at most where they are static */
	bool static_controllers;    /* their ids are 1 to controllers_max, and hosts choose */
	uint32_t io_queues_max, entries_max; /* 0: TARGET_IO_QUEUES, TARGET_QUEUE_ENTRIES */
	bool ns_management;         /* hosts may create namespaces; then there is a keeper */
	uint64_t capacity_free;     /* still of so many bytes */
	uint8_t nwpc;               /* enum nvme_nwpc: protections that hosts may ask the keeper for */
};

struct target_config {
	const struct target_listen *listen;
	uint32_t listen_count;
	const struct target_subsys *subsys;
	uint32_t subsys_count;
	const struct target_listen *referrals;
	uint32_t referral_count;
	struct fair_terms fair;        /* which hosts may have how much of volumes that fair_open() made */
	uint32_t connections_max;      /* 0: 4096 */
	uint32_t handshake_timeout_ms; /* accept to a usable queue; 0: 10 s */
	uint32_t stall_timeout_ms;     /* a PDU, an R2T or an answer without progress; 0: 30 s */
	/* Where is kept what survives a loss of power; the folders are there.  Of each subsystem its events and
	 * SMART counters, in a file `events/IDENTITY`: no two have one identity.  Reservations, in a file
	 * `reservations/UUID` each, of namespaces whose volume lies in a file, or whose UUID is given; of two volumes
	 * that is never the same, and of one it does not change while it is served.  NULL: none survive.  Of the
	 * config that the target was made with: later ones do not change it. */
	const char *state_dir;
	struct target_keeper *keeper;  /* who does what hosts wish (wish.h), like `state_dir`; NULL: nobody */
	bool again;                    /* the operator says nothing anew, hosts wish something: an ANA group that was
	                                * left in change for too long stays inaccessible; */
	uint16_t asker;                /* the host of this controller, of the subsystem that changes; 0: none */
	/* Where the log of ordered writes is, which the caller has opened on reactor 0, and closes when the target is
	 * gone; NULL: there is none.  Like `state_dir`. */
	struct store *order;
	bool authenticate;             /* hosts must show who they are; until a way to is built, none can */
};

struct target_stats {
	uint64_t reads, writes, read_blocks512, write_blocks512, media_errors;
	uint64_t connections; /* now */
	uint64_t turns, busy_turns, busy_ns, syscalls; /* of the reactors */
};

struct target;

/*
 * 0, or -ENOMEM or -EINVAL (`why` says it).  Nothing of the config is kept but
 * the volumes, which stay the caller's.
 */
int target_create(struct arena *arena, const struct target_config *config, struct target **target,
    char why[256]) __attribute__((warn_unused_result));

/*
 * Begins to serve on one reactor; called once on each, in any order, and before
 * mail is delivered there: reactor 0 listens, and posts streams to the others as
 * soon as it runs.  0, or a negative errno with `why`.
 */
int target_start(struct target *target, struct reactor *reactor, char why[256])
    __attribute__((warn_unused_result));

/* After target_start() on reactor 0, and called there: the address really bound, of listener `index` of the
 * config that holds. */
const struct target_listen *target_bound(const struct target *target, uint32_t index);

/* Whether the target changes something by itself, and target_apply() would be too early; then `idle` of the
 * config's keeper is called when that is over.  On reactor 0. */
bool target_busy(const struct target *target);

/* What becomes of target_apply(); called on reactor 0. */
struct target_applied {
	/* All reactors serve the new config, rc 0; or nothing has changed, and rc and `why` say why. */
	void (*applied)(struct target_applied *applied, int rc, const char *why);
	/* The volume was of the old config and is not of the new one: nobody uses it any more.  Comes
	 * after applied(), once for each; also of those of a new config that was not applied.  The file of its
	 * reservations is closed by an errand in order, which was given before. */
	void (*unused)(struct target_applied *applied, struct blk *volume);
};

/*
 * Called on reactor 0 while it runs: from now on this is served, whole or not at
 * all.  Namespaces are what they were if their volume is the same; hosts are
 * told of what changed; who may not be connected any more is disconnected.
 * `applied` is kept until every volume that it is told of is.  0: it is under
 * way.  Else nothing has changed, `applied` is not told, and `why` says: -EBUSY:
 * another one is under way, or a volume was given up and is not unused yet, or
 * the events of a subsystem that was are still being written;
 * -EINVAL, -ENOMEM, or what listening on a new address said.  What was kept of what is new is read in an errand: with
 * it, what has failed of that, or of a new address, `applied` is told.
 */
int target_apply(struct target *target, const struct target_config *config, struct target_applied *applied,
    char why[256]) __attribute__((warn_unused_result));

/*
 * Called on reactor 0: takes no more connections, lets what is in flight end
 * (half a second at most), closes all, keeps what is to be kept, and calls
 * `drained` there.
 */
void target_drain(struct target *target, void (*drained)(void *owner), void *owner);

/* The UUID that hosts are told of a namespace whose target_ns says these. */
void target_uuid(const uint8_t given[16], const uint8_t id[16], uint8_t uuid[16]);

/* Whether reservations of a volume are kept, and then under which UUID: as long as anything of it is in flight, and no
 * other's can be kept under that.  On reactor 0. */
bool target_keeps(const struct target *target, const struct blk *volume, uint8_t uuid[16]);

/* Whether events of a subsystem that is not served any more are still being written, and it cannot come back yet.  On
 * reactor 0. */
bool target_writes_events(const struct target *target, const char *nqn);

/* In which file events of the subsystem of this identity are kept, and how long that is.  It stays once it is made: who
 * shall take it away where nothing came of the subsystem makes it before. */
enum { TARGET_EVENTS_PATH = 576, TARGET_EVENTS_BYTES = 128 * 1024 };
void target_events_path(const char *state_dir, const uint8_t identity[16], char path[TARGET_EVENTS_PATH]);

/* The sum of what all reactors counted; only when none runs. */
void target_stats(const struct target *target, struct target_stats *sum);

/* The same while they run: asks each, and calls `told` with the sum.  Called on reactor 0; a question
 * asked before the last one was answered is dropped. */
void target_ask_stats(struct target *target, void (*told)(void *owner, const struct target_stats *sum),
    void *owner);

struct weir_log_view;

#define TARGET_NO_VOLUME UINT64_MAX /* there is none: nothing is known of it */

/* What goes on at a volume, and what is known there of a tenant.  Who asks keeps it until it is told; at the volume's
 * home it is written to meanwhile. */
struct target_look {
	uint64_t volume;                 /* the number of its blk */
	const struct blk_tenant *of;     /* the tenant that is looked at; NULL: none, or with `each` */
	bool each;                       /* whoever is the next one from `next` on, which is 0 at first: until !known */
	uint32_t next;
	void (*done)(struct target_look *look); /* on the asker's reactor */
	void *owner;                     /* the asker's */

	bool there;                      /* there is such a volume; else nothing is known of it */
	bool shared;                     /* it has a switch: `device` is known; */
	bool known;                      /* and it knows the tenant: `tenant`; */
	bool worn;                       /* it wears: `health` */
	struct fair_view device;
	struct fair_tenant_view tenant;
	struct blk_health health;
};

/* Called on reactor 0, while it runs; done() comes later, also where the volume is gone by then.  Who calls has
 * TARGET_LOOKS_MAX under way at most. */
void target_look(struct target *target, struct target_look *look);

/* The same as a host is told it (doc/extension.md, VIEW), not signed yet. */
void target_look_page(const struct target_look *look, struct weir_log_view *page);

/*
 * How much mail from one core to another may be under way, whatever hosts send.  Everything that is posted is either
 * answered, and asked for one at a time or a stated number, or said once.
 *
 * Of an I/O queue: 64 failed commands of which its controller did not hear yet, or the answers to them (request.c), 2
 * that tell how many more; 1 each of Connect, CACHE, CLOSE, DETACH and CONN_GONE, and of their answers, and of ALIVE,
 * which is asked again where a core did not answer for a whole keep-alive time after a reset.  Of an admin queue: 1
 * of each of its 128 commands, be it ABORT, FENCE, PRESENT_ASK, WISH, SETTLE after it or EVENTS_COPY, and of each the
 * copy that is given back, or of ordered writes; 8 events, 8 FENCEs of before resets; 4 that make statistics up; JOIN,
 * DYING, LEFT, END and CONN_GONE.  Of a volume: 1 command of reservations, 1 of TAKE, TELL and WHO, RETIRED.  Of a
 * core: what is asked of all for a new view, the end, and what is counted and kept of each subsystem; 1 of each host
 * that is gone, or the answer to it; 1 LOOK for its hosts, which are looked for one after the other, or the answer to
 * it, and of reactor 0 TARGET_LOOKS_MAX more, for who runs the target.  Of a stream of ordered writes in a part of
 * their log: what is asked of it or the answer, CLOSE, HOLD or HELD, LEFT.
 */
enum {
	TARGET_LOOKS_MAX = 8, /* CTL_ASKERS_MAX, of whom each waits for one */
	TARGET_MAIL_QUEUE = 80,
	TARGET_MAIL_ADMIN = 320, /* the more of the two, of each connection */
	TARGET_MAIL_VOLUME = 4,
	TARGET_MAIL_ORDER = 64 * 128 * 4, /* of a part for each reactor, of streams that find room in it */
	TARGET_MAIL_CORE = 16384 + BLK_TENANTS + TARGET_LOOKS_MAX + TARGET_MAIL_ORDER,
};
#define TARGET_MAIL_MAX(connections) ((uint64_t)(connections) * TARGET_MAIL_ADMIN + \
	TARGET_VOLUMES_MAX * TARGET_MAIL_VOLUME + TARGET_MAIL_CORE)
static_assert(TARGET_MAIL_QUEUE <= TARGET_MAIL_ADMIN, "an admin queue may have more");

/* Bytes of memory that a queue of `entries` entries takes at most, and a connection without it. */
size_t target_queue_bytes(uint32_t entries);
size_t target_connection_bytes(void);
size_t target_controller_bytes(void);
size_t target_subsys_bytes(void);
size_t target_volume_bytes(void); /* beside blk_bytes() */
/* And hosts that read events, all of them together. */
size_t target_readers_bytes(void);
/* And what a reactor takes for its part of the log of ordered writes, of so many slots, beside store_part_bytes(); and
 * for each stream that goes on there. */
size_t target_order_bytes(uint32_t slots);
size_t target_stream_bytes(void);
/* And what a reactor takes for answers being built and sent, and for commands done piece by piece. */
size_t target_reactor_bytes(void);

/* After draining, on each reactor: gives its core back. */
void target_fini(struct target *target, struct reactor *reactor);

#endif
