/*
 * core.h - what does a reactor have of a target?  Its core: volumes, the view, the
 * lines in which connections and requests stand; and what core 0 has of the whole.
 *
 * What a connection or a controller is, is not known here (conn.h, assoc.h).
 */
#ifndef WEIR_TARGET_CORE_H
#define WEIR_TARGET_CORE_H

#include "resv/resv.h"
#include "target/events.h"
#include "target/mail.h"
#include "target/view.h"

struct conn;
struct ordered_all;

/* A volume of the target, by the slot that every core knows it by.  Core 0's. */
struct target_volume {
	struct blk *blk;      /* NULL: the slot is free */
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
	uint64_t volume_next; /* the next one's number */
	uint8_t portals[TARGET_LISTENERS_MAX]; /* by listener of the config that holds; core 0's */
	struct core *cores[64];
	struct view *view;    /* the one every core has, or is about to have; core 0's */
	struct change *change; /* the config that is being applied (apply.c); core 0's */
	struct target_applied *applied; /* of the last one */
	struct target_keeper *keeper;  /* of core 0 */
	struct events events; /* core 0's */
	struct list state_files; /* core 0's: see state_file.h */
	struct reactor *state_annex; /* and the errands' that open them; NULL: not needed yet */
	struct ordered_all *ordered; /* NULL: there is no log of ordered writes */
	bool over;            /* core 0 ends: nothing is done beside it any more */
};

/* What a volume has of the memory that all of a core share, and who waits for more (share.c). */
struct share {
	struct bufs_share bufs;
	/* Of small pieces and large ones, for data that peers are asked for and, [true], ask for: those of all and of
	 * strangers; and the last turn in which one of either class was passed over because of them (asked.c). */
	struct share_asked {
		uint32_t pieces, strangers;
		uint64_t passed[2];
	} asked[2][2];
	uint32_t scratch;    /* pieces */
	struct list looking; /* requests that wait for such, by connection, see turn_join() */
	struct list node;    /* in scratch.waiting: there are such */
};

enum {
	SHARE_NOBODY = TARGET_VOLUMES_MAX, /* that of what is of no volume; */
	SHARE_SLOW,                        /* of copies of what was lent, for those who take it in part; */
	SHARE_REFUSED,                     /* and of what is copied instead of lent (borrow.c), of whatever volume */
	SHARES,
};

enum { SHARE_LISTS = 256 };

/* Hosts that held what was lent to them (borrow.c). */
enum { BORROW_HOSTS = 16 };

struct borrow {
	struct borrow_host {
		uint8_t hostid[16];
		uint64_t until_ns; /* it is lent nothing; 0: nobody */
	} hosts[BORROW_HOSTS];
	unsigned next; /* of them to be forgotten */
};

enum { CONN_HOSTS = 256 }; /* that conn_host() tells apart */

/* Memory for commands that look at blocks without sending them (scratch.c). */
enum { SCRATCH_PIECES = 8, SCRATCH_BYTES = 64 * 1024 };

struct scratch {
	uint8_t *memory;
	struct share *held_by[SCRATCH_PIECES]; /* NULL: it is free */
	uint32_t free;
	struct list waiting; /* shares for which somebody waits, in turn */
	bool granting;       /* those in line are being served: what is given meanwhile is for them too */
};

/* Memory for the data of admin commands (admin_bufs.c): of each admin connection, and pieces that all share. */
/* A host that has two of the longest leaves room for another one's. */
enum { ADMIN_OWN = BUFS_SMALL, ADMIN_SMALL = BUFS_IOV_MAX, ADMIN_LARGE = 3 * BUFS_IOV_MAX };

/* Mail finds its association by a key, however many there are: each I/O command that fails is mailed. */
enum { ASSOC_LISTS = 1024 };

/* Lines of one kind, so many a minute at most; log.c. */
struct log_limit {
	struct core *core;
	uint64_t lines;       /* that were to be said, in the minute that began with the first; */
	struct timer minute;  /* when it is over */
};

/* Buffers that wait for peers (asked.c).  A class is that of connections that have shown what they do with such and,
 * [true], of those that have not, strangers. */
struct asked_host {
	uint32_t pieces;         /* so many are taken for it */
	struct list waiting;     /* requests, by volume, see turn_join() */
	struct list node;        /* in its class's line: there are such */
};

struct asked_class {
	struct asked_host all[CONN_HOSTS]; /* by a hash of the host's id */
	uint32_t pieces;         /* so many are taken for it */
	struct list node;        /* in the order's line: somebody of it waits */
	struct list hosts;       /* that wait, in turn */
};

struct asked_order {
	struct bufs_order order; /* in its line, classes of which somebody waits, in turn */
	struct core *core;
	struct asked_class classes[2];
	bool by_peer, large;     /* of data that peers ask for, not that they are asked for; of large pieces */
	bool short_of_share;     /* some wait for it, not for their volume's; */
	bool stuck;              /* and what is left of all of it is kept for one of them */
	uint64_t turn;           /* so often was looked whose it is */
};

struct asked {
	struct asked_order orders[2][2]; /* of data that peers are asked for and, [true], ask for; of either pool */
	uint64_t guarded_ns;     /* until then strangers have only a part: another one had to wait; 0: none had */
};

/* Who keeps memory that others wait for (patience.c). */
struct patience {
	struct timer timer;      /* runs while somebody waits; */
	uint64_t since_ns;       /* and since then somebody has */
};

struct core {
	struct target *target;
	struct reactor *reactor;
	const struct view *view;
	struct blk_chan **chans; /* by the slot of the volume, TARGET_VOLUMES_MAX of them */
	uint64_t retiring[TARGET_VOLUMES_MAX / 64]; /* volumes given up: their channels are closed when they are idle */
	struct timer retire_timer;
	struct timer anatt_timer; /* core 0's: the next group's change state is over (anatt.c) */
	struct target_applied anatt_applied;
	const struct resv **resv; /* by the same slot: who holds it; NULL: nobody, so nobody is held back */
	uint32_t resv_count;    /* how many are not NULL */
	struct list *lines;     /* by the same slot: commands of reservations that wait for their turn, hostline.h */
	uint64_t lent[TARGET_VOLUMES_MAX / 64]; /* core 0 has one of them, see reserve_lend.c */
	uint64_t ptpl[TARGET_VOLUMES_MAX / 64]; /* reservations that survive a loss of power */
	uint64_t ending[TARGET_VOLUMES_MAX / 64]; /* volumes whose commands are to end, see reserve_core.c */
	struct timer ending_timer;
	struct gather *gather;
	struct list reading, sending; /* connections that have something to read or to send in this turn */
	struct list keeping;    /* those that cannot send now, and have buffers for it */
	struct task receive, send;
	uint64_t heard_ns;      /* when that was there which was read last, at the latest: later than the turn's time,
	                         * where the thread stood still in between */
	struct share *shares;   /* by the slot of the volume, and then those of none */
	struct borrow borrow;
	struct list firsts[SHARE_LISTS]; /* those who stand in some line before others, see turn_join() */
	struct scratch scratch;
	struct asked asked;
	struct patience patience;
	struct bufs admin_bufs; /* for admin commands that their connection's own memory is too small for; */
	struct bufs_share admin_hosts[CONN_HOSTS]; /* and what hosts have of it */
	struct list admin_next; /* admin connections whose line may go on */
	struct task admin_task;
	struct present *present; /* which controllers there are, while an answer is made of it */
	struct sight *sight;    /* what goes on at a volume, for the same */
	uint8_t *page;          /* CTRL_PAGE_MAX bytes for answers of ctrl/ */
	struct list conns, assocs;
	struct list assocs_by_key[ASSOC_LISTS]; /* the same associations, for assoc_find() */
	uint32_t conn_count;
	struct list ordered_parts; /* of the log of ordered writes; */
	uint32_t ordered_ios;      /* commits, and I/Os that are for no request, under way */
	uint32_t errors_unheard; /* the sum of those of its connections (errors.c) */
	uint32_t key_next;
	struct target_stats stats; /* of what is of no subsystem, or of one that is gone */
	struct events_served served[EVENTS_LOGS]; /* of each subsystem, by the number of its log */
	uint32_t events_missed;   /* that core 0 was not told of, and nobody yet */
	struct timer missed_timer; /* when that is said; */
	uint64_t missed_said_ns;  /* and when it was the last time; 0: never */
	struct log_limit peer_lines, storage_lines;
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

/* core.c */
void core_post(struct core *core, unsigned to, const struct target_mail *mail);
void core_conn_gone(struct core *core);
void core_maybe_drained(struct core *core);
void core_accepts(struct core *core, struct listener *listener);

/* log.c: what the operator is told */
void core_log(struct core *core, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A warning that a peer can cause: not more than some of them a minute, whatever peers do. */
void core_log_peer(struct core *core, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An error of what lies below, which may come with every command of a peer: the same, counted apart. */
void core_log_storage(struct core *core, const char *format, ...) __attribute__((format(printf, 2, 3)));
void core_log_end(struct core *core);

/* stats.c: what was counted */
void stats_add(struct target_stats *sum, const struct target_stats *one);
void stats_note(struct core *core);
void stats_noted(struct core *core);

/* registry.c: which associations there are; on core 0, asked by mail */
int registry_begin(struct core *core) __attribute__((warn_unused_result));
void registry_end(struct core *core);
size_t registry_bytes(void);
void registry_mail(struct core *core, const struct target_mail *mail);
void registry_view(struct core *core); /* it has another one now */
/* Those of the controller's subsystem, and those that have the namespace: bits by id, both cleared before.  The
 * number of the last association that began. */
uint64_t registry_present(struct core *core, uint16_t key, uint32_t nsid, uint64_t *there, uint64_t *attached);
/* What the keeper has of the controller, which is not gone before that is done; NULL: it is done. */
void registry_wish(struct core *core, uint16_t key, struct target_wish *wish);
/* The one that the keeper has, if it has one, is over: see wish_over(). */
void registry_wish_over(struct core *core, uint16_t key);
/* The NQN of the controller's subsystem, that of its host, and its id as hosts know it; NULL: it is not there. */
const char *registry_find(const struct core *core, uint16_t key, const char **hostnqn, uint16_t *cntlid);

/* terms.c: what hosts may have of devices; of those of the view; of one that is of no view any more, all; and a host
 * is gone. */
void terms_take(struct core *core, const struct view *view);
void terms_end(struct core *core, uint32_t slot);
void terms_forget(struct core *core, const struct blk_tenant *tenant);

/* registry_tenants.c: hosts come and go */
void tenant_mail(struct core *core, const struct target_mail *mail);

/* wish.c: the controller that wished it is going, or wishes it no more; on core 0 */
void wish_over(struct core *core, struct target_wish *wish);

/* reserve.c: reservations, as core 0 keeps them */
void reserve_mail(struct core *core, const struct target_mail *mail);
bool reserve_busy(const struct core *core, uint32_t slot);
const struct resv *reserve_state(const struct target *target, uint32_t slot);
void reserve_forget(struct target *target, uint32_t slot);
void reserve_end(struct core *core);

/* reserve_kept.c: under which names they are kept, */
int reserve_names(struct target *target, const struct view *view, char why[256]) __attribute__((warn_unused_result));
/* and what was kept of a volume that is new: `reads` is set if there may be any; it is read by an errand in order; and
 * then, if all went well, used. */
int reserve_load_begin(struct core *core, uint16_t slot, bool *reads) __attribute__((warn_unused_result));
int reserve_load(struct target *target, uint16_t slot, char why[256]) __attribute__((warn_unused_result));
int reserve_loaded(struct target *target, uint16_t slot) __attribute__((warn_unused_result));

/* events.c: the logs, as core 0 keeps them; those that are new are made, read by an errand in order, and used */
int events_prepare(struct core *core, struct view *view, bool *reads, char why[256])
    __attribute__((warn_unused_result));
int events_load(struct target *target, char why[256]) __attribute__((warn_unused_result));
int events_loaded(struct target *target) __attribute__((warn_unused_result));
void events_forget_new(struct target *target);
void events_switch(struct core *core, const struct view *old, const struct view *view, uint16_t asker);
void events_mail(struct core *core, const struct target_mail *mail);
void events_stats_kept(struct core *core, const struct target_mail *ask);
void events_finish(struct core *core);
void events_end(struct core *core);
size_t events_bytes(void);

/* apply.c: from one view to the next, on all cores */
int apply_first(struct target *target, const struct target_config *config, char why[256]);
int apply_begin(struct core *core, char why[256]);
void apply_end(struct core *core);
void apply_mail(struct core *core, const struct target_mail *mail);
/* All cores are led to a view with the same volumes and portals as the one they have; not while another config is
 * being applied.  0, or -ENOMEM, and the view stays the caller's. */
int apply_view(struct core *core, struct view *view, struct target_applied *applied)
    __attribute__((warn_unused_result));

/* anatt.c: since when groups of the view are in change; and, when it holds, until when */
void anatt_note(struct core *core, const struct view *view, const struct view *old);
void anatt_wait(struct core *core);

#endif
