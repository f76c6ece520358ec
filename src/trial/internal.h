/*
 * internal.h - what the files of a trial share: the cluster, and who does what to it.
 *
 *   run.c       the course of a trial: makes all, plays, mends, waits, reads back, judges what is left
 *   faults.c    which faults are under way; fault_ways.c: what each does, and undoes
 *   served.c    a target: its process, and what it serves; operator.c changes that while it runs
 *   access.c    what it may answer, by what the operator has said
 *   memory.c    whether it takes more memory than it says
 *   settle.c    when nothing of a host can come any more at a target
 *   user.c      a host: its process; comes, leaves, comes again
 *   seat.c      what it has at one target: a subsystem, and lanes
 *   growth.c    whether its memory grows
 *   claimant.c  and perhaps reservations; claims.c: who may read and write a volume, by resv_model.c
 *   beliefs.c   whether a host knows what its target serves
 *   wires.c     which bytes of a connection a digest is of
 *   load.c      what a host does with them: one I/O after another, each told to the history of its volume;
 *               load_choose.c: which; load_ends.c: what is known when it ends
 *   margin.c    how long a host without FENCE has to wait, beyond the keep-alive time, for what it has lost
 *   calm.c      what may not happen where no fault has been
 *   ills.c      what is wrong with whom, and was until when; cause.c: whether an I/O may have failed for it
 *   content.c   what stands in a block: its value
 *
 * All of it outlives crashes: it lies in the trial's arena, not in a process's.
 */
#ifndef WEIR_TRIAL_INTERNAL_H
#define WEIR_TRIAL_INTERNAL_H

#include "base/rng.h"
#include "blk/blk.h"
#include "host/lane.h"
#include "host/subsys.h"
#include "target/target.h"
#include "trial/claims.h"
#include "trial/history.h"
#include "trial/trial.h"

enum { TRIAL_BLOCK = 4096, TRIAL_TARGETS_MAX = 8, TRIAL_VOLUMES_MAX = 8, TRIAL_HOSTS_MAX = 64, TRIAL_LISTENERS_MAX = 8,
	TRIAL_GROUPS = 3,
	TRIAL_LANES_MAX = 16, TRIAL_IO_BLOCKS_MAX = 256, TRIAL_PORT = 4420, TRIAL_REACTORS_MAX = 16,
	TRIAL_BLOCKS_MIN = 256, /* a volume has a MiB at least */
	TRIAL_GROWTH = 64, TRIAL_GROWTHS_MAX = 16 /* blocks that a volume grows by, and how often */,
	TRIAL_SLOW = 100 /* times that something slow takes */ };

struct trial;
struct user;
struct claimant;

/* Something that is so, or was. */
struct spell {
	bool is;
	uint64_t until_ns;           /* it was last; 0: never */
};

/* ---- targets ---- */

struct volume {
	struct served *served;
	uint32_t index, nsid;        /* nsid: index + 1 */
	bool in_ram;
	bool fair;                   /* its I/O waits for turns */
	char path[48], spec[96];     /* "volume-0-1.img"; as blk_open() has it */
	uint8_t id[16];              /* of its namespace */
	char kept[80];               /* where its reservations are: "state-0/reservations/UUID" */
	struct blk *blk;             /* of this life of its target */
	struct history *history;
	struct claims *claims;       /* NULL: no host of the trial uses reservations */
	uint64_t next_value;
	uint32_t blocks;             /* KNOB_BLOCKS: what the load uses, from volume_base() to the end, at first; */
	uint32_t blocks_most;        /* with what it may grow by, and what an I/O may ask for behind its end */
	uint64_t *seen;              /* of each block, the last value that was found or written; load.c's */
	uint32_t read_next, read_back; /* by load_read_back() */
	struct spell gone, fails, failed; /* it is not served; its disk fails, or has since it was opened (ills.c) */
};

/* What the operator may change. */
struct serving {
	bool listener_gone[TRIAL_LISTENERS_MAX];
	enum nvme_ana_state ana[TRIAL_LISTENERS_MAX];
	bool volume_gone[TRIAL_VOLUMES_MAX];
	uint64_t volume_blocks[TRIAL_VOLUMES_MAX];
	bool host_barred[TRIAL_HOSTS_MAX];
};
static_assert(sizeof(struct serving) == 2 * 8 + 4 * 8 + 8 * 8 + TRIAL_HOSTS_MAX, "it is compared byte by byte");

/* I/O is done by the listener. */
static inline bool
serving_gives_access(const struct serving *serving, unsigned listener)
{
	return !serving->listener_gone[listener] &&
	    (serving->ana[listener] == NVME_ANA_OPTIMIZED || serving->ana[listener] == NVME_ANA_NON_OPTIMIZED);
}

struct served {
	struct trial *trial;
	uint32_t index;
	char name[16], address[32], nqn[64]; /* "target-0", "10.1.0.1" */
	char state[16];              /* what it keeps is in this folder: "state-0" */
	struct sim_process *process;
	struct target *target;
	struct volume volumes[TRIAL_VOLUMES_MAX];
	struct serving now, next, wanted; /* what is served, is being applied, and shall be */
	uint64_t now_since_ns;       /* when `now` was first served whole */
	uint64_t died_ns, power_ns;  /* when its process died last, and its machine; 0: never */
	struct spell ill, listener_ill[TRIAL_LISTENERS_MAX]; /* nothing of it may be usable, or nothing by that */
	struct spell listener_silent[TRIAL_LISTENERS_MAX];   /* what is sent by that may be held back */
	struct spell short_of_memory;
	bool applying;
	bool disturbed;              /* a fault of the plan has befallen it: calm.c does not judge it any more */
	unsigned started;            /* reactors, of this life */
	uint64_t told;               /* so often */
	struct reactor *reactor;     /* the operator's */
	struct timer operator;
	struct target_applied applied;
	size_t before;               /* bytes of its reactors' arenas, with no volume, before hosts came */
	struct unsettled {
		bool waits;          /* something of this host is unknown, and may come yet: */
		bool any;            /* by connections of its that were there then, */
		uint16_t port;       /* from no later port than this */
	} unsettled[TRIAL_HOSTS_MAX];
};

/* Makes its process and starts it. */
void served_begin(struct trial *trial, struct served *served);

/* Blocks of a volume at first: as many as an I/O has for each host, to copy from, and from the base on those of the
 * load.  What the target serves of these now. */
uint64_t volume_blocks(const struct volume *volume);
uint64_t volume_base(const struct volume *volume);
uint32_t volume_served(const struct volume *volume);

/* It is there, and all its reactors are. */
bool served_is_up(const struct served *served);

/* Its process dies, and with `power` its machine; and comes again, with what is wanted then.  From outside of turns. */
void served_kill(struct served *served, bool power, bool half_open);
void served_come(struct served *served);

/* What was written to a volume's file there was lost to a failed sync (sim_options.file_lost). */
void served_file_lost(void *arg, const char *path, uint64_t offset);

/* Those volumes that `serving` has are open, and as large as it says.  In a turn of the target. */
int served_open_volumes(struct served *served, const struct serving *serving, struct reactor *reactor, char why[256])
    __attribute__((warn_unused_result));

/* The operator looks every millisecond whether `wanted` is served.  Called in the target's first turn. */
void operator_begin(struct served *served, struct reactor *reactor);

/* A config, and where all of it lies. */
struct whole {
	struct target_listen listen[TRIAL_LISTENERS_MAX];
	struct target_ana ana;
	struct target_ns ns[TRIAL_VOLUMES_MAX];
	const char *hosts[TRIAL_HOSTS_MAX];
	struct target_subsys subsys;
	struct target_config config;
	struct fair_group groups[TRIAL_GROUPS];
	struct fair_host fair_hosts[TRIAL_HOSTS_MAX];
	struct fair_volume fair[TRIAL_VOLUMES_MAX];
};
void served_config(const struct served *served, const struct serving *serving, struct whole *whole);

/* terms.c: and what hosts may have of it, other than the last time. */
void terms_draw(struct served *served, struct whole *whole);

/* Nothing of any host is left: no stream, no connection, no buffer; else false with what, in words.  It is up. */
bool served_is_idle(struct served *served, char why[160]);

/* memory.c: what all its reactors have (which of them has what they share is left to chance); complains where it is
 * more than it says that it takes. */
size_t memory_taken(const struct served *served);
void memory_look(const struct served *served);

/* All volumes are wanted, or none is; and it serves what is wanted. */
void served_show(struct served *served, bool shown);
bool served_is_told(const struct served *served);

/* What its memory is without hosts and volumes; and whether it is so again, else false with what is left. */
void served_weigh(struct served *served);
bool served_is_as_before(const struct served *served, char why[160]);

/* The volume is not used any more, and with it go the reservations that are not to be kept. */
void served_retire(struct volume *volume);

/* access.c: a command that is answered now, and what is wrong with that; NULL: nothing. */
struct access {
	const char *what;            /* "an I/O" */
	const struct user *user;
	const struct volume *volume;
	unsigned listener;           /* that it went by */
	uint64_t end;                /* of its blocks; 0: it has none */
	uint64_t begun_ns;
	struct nvme_status status;
};
const char *access_wrong(const struct served *served, const struct access *access);
/* Complains of it. */
void access_check(const struct served *served, const struct access *access);

/* settle.c: something of the host is unknown from now on.  The histories of the target's volumes hear when nothing of
 * it can come any more: looked at now and then, from outside of turns. */
void settle_wait(struct served *served, const struct user *user);
void settle_look(struct served *served);
void settle_all(struct served *served); /* its process is dead */
/* Something that the host has sent by its connection from this port may come yet. */
bool settle_is_left(const struct served *served, const struct user *user, uint16_t port);

/* lines.c: nobody waits at the target for what he could have.  From outside of turns. */
void lines_look(const struct served *served);

/* ---- hosts ---- */

enum user_state {
	USER_AWAY,      /* not there, or its process is down */
	USER_COMING,    /* subsystems and lanes are being opened; what is open is used */
	USER_AT_WORK,   /* all lanes to all targets are open, and all volumes were asked for */
	USER_LEAVING,   /* in order */
};

enum { TRIAL_TICKETS = 4, TRIAL_RANGES = 3 };

/* What a Copy takes is written before: by the same work, to a source of its own. */
enum copy {
	COPY_NONE,
	COPY_CHOSEN,
	COPY_SOURCE,    /* is being written */
	COPY_READY,     /* was written */
	COPY_UNDER_WAY,
};

/* One I/O after another by one lane. */
struct work {
	struct user *user;
	struct seat *seat;
	struct seat_lane *lane;
	struct volume *volume;
	uint8_t op;                  /* enum lane_op */
	bool busy, fua;
	bool shaken;                 /* a path was lost since it began: it may have been sent more than once */
	bool unread;                 /* a block that is to be read back, and was not yet */
	enum copy copy;
	uint32_t first, count;       /* blocks of the volume */
	uint32_t generation;         /* of the user's life in which it was begun */
	uint64_t serial;             /* of all I/Os of the user */
	uint64_t begun;              /* I/Os of this work */
	uint64_t begun_ns, shaken_ns; /* the latter where it was */
	uint64_t value;              /* of its first block; the next block has the next value */
	struct history_op *ops;      /* KNOB_IO_BLOCKS of them */
	struct history_flush flush;
	struct ticket { struct work *work; } tickets[TRIAL_TICKETS]; /* each I/O of this work ends by the next one */
	uint8_t *data;
	struct iovec iov[3];
	struct lane_range ranges[TRIAL_RANGES];
	struct timer rest;
};

/* A lane of a host to a target. */
struct seat_lane {
	struct seat *seat;
	struct reactor *reactor;     /* of this life */
	struct lane *lane;           /* NULL: it is closed */
	bool up, closing;
	struct timer again;
	struct work *works;          /* KNOB_DEPTH of them */
};

enum seat_state {
	SEAT_CLOSED,
	SEAT_OPENING,   /* the subsystem */
	SEAT_OPEN,      /* its lanes are, or are being opened */
	SEAT_LEAVING,   /* its lanes are being closed */
	SEAT_CLOSING,   /* the subsystem is */
};

/* A host at one target. */
struct seat {
	struct user *user;
	struct served *served;
	enum seat_state state;
	struct subsys *subsys;
	struct subsys_find finds[TRIAL_VOLUMES_MAX];
	uint32_t asking, asked, found; /* volumes, by their bits: are being asked for, have been once, are known */
	struct seat_lane lanes[TRIAL_LANES_MAX];
	unsigned lanes_up;
	uint64_t again_ns;           /* what failed is tried again then */
	uint32_t copying;            /* volumes on whose source somebody is at work */
	/* What the host says of its paths, in this life: each is live since then, 0: it is not; it had none from `away`
	 * to `back` for the last time, 0: it has none. */
	uint64_t live_since_ns[TRIAL_LISTENERS_MAX], away_ns, back_ns;
	uint64_t lost_ns;            /* it has lost one then, for the last time; 0: none */
	bool gave_up;                /* a write that was lost: until that is over nothing is sent */
	bool adrift;                 /* writes that were given up may still happen: of I/Os up to that serial */
	uint64_t adrift_serial;
};

struct user {
	struct trial *trial;
	uint32_t index;
	char address[32], nqn[64];   /* "10.2.0.7" */
	struct sim_process *process;
	struct rng rng;
	enum user_state state;
	uint32_t generation;         /* of its lives */
	bool hdgst, ddgst, sq_flow, queue_depth, plain;
	unsigned claimant;           /* its number among those that use reservations; MODEL_NOBODY: it does not */
	struct claimant *claimants[TRIAL_TARGETS_MAX]; /* NULL, then */
	uint32_t loss_ms, margin_ms; /* as of struct subsys_options */
	uint64_t came_ns;            /* for this life */
	struct spell ill, paused, spoilt; /* no path may be usable; a thread stands still; bits are changed */
	struct spell parted[TRIAL_TARGETS_MAX], barred[TRIAL_TARGETS_MAX]; /* from that target; by its operator */
	struct seat seats[TRIAL_TARGETS_MAX];
	struct work *works;
	uint32_t work_count, in_flight;
	uint64_t serial;
	const uint8_t *dice;         /* which choice of load.c each throw is */
	bool targets_forget;         /* some are killed in this trial: what is in RAM goes */
	struct timer look;
	uint64_t leave_by_ns;
	bool reads_back, begun_reading;
	size_t before[TRIAL_REACTORS_MAX]; /* bytes of each reactor's arena as it began */
	size_t had;                  /* beside those, when it first knew all that is served; 0: it has not yet */
};

/* Makes its process and starts it; it comes. */
void user_begin(struct trial *trial, struct user *user);
/* In order; user->state is USER_AWAY when it is done.  From outside of turns. */
void user_leave(struct user *user);
/* It is down, or was killed: what it had in flight is unknown. */
void user_killed(struct user *user);
/* It comes again, after it left or its process was started again; this starts it where it is down. */
void user_come(struct user *user);

/* margin.c: what hosts of such a trial need as fence_margin_ms, and not more; the longest that a FENCE may take where
 * nothing befalls it. */
uint32_t margin_ms(const struct plan *plan);
uint64_t margin_fence_ns(const struct plan *plan);

/* It has no command of reservations under way, and has seen that nobody is registered anywhere. */
bool user_claims_rest(const struct user *user, char why[160]);

/* growth.c: notes what memory it has when it first has all that it can; and whether it has no more in the end, when it
 * has given back what it is done with. */
void growth_look(struct user *user);
bool growth_is_none(const struct user *user, char why[160]);

/* seat.c: as it is when nothing of it is there. */
void seat_init(struct user *user, unsigned index);
void seat_on_mail(struct reactor *reactor, const struct mail *mail);
/* What failed is tried again, also what was never tried; or a step is taken on its way out.  In turns of reactor 0. */
void seat_look(struct seat *seat);
void seat_leave(struct seat *seat);
/* All its lanes are up, and all volumes were asked for. */
bool seat_is_ready(const struct seat *seat);
/* Works that have come to rest go on. */
void seat_read_back(struct seat *seat);

/* load.c: the works of a lane that has just opened begin; none begins another I/O once trial->resting, nor while the
 * user leaves. */
void load_init(struct user *user);
struct work *load_works_of(const struct seat *seat, unsigned lane);
void load_begin(struct seat_lane *lane);
/* The lane has the work's I/O: from now on it may happen. */
void load_begun(struct work *work, uint64_t now_ns);
/* A path was lost: what is in flight at this seat, or on this lane, may be sent again. */
void load_shaken(struct seat *seat);
void load_shaken_lane(struct seat_lane *lane);
/* Nobody will hear of what is in flight. */
void load_forgotten(struct user *user);
/* The last act, when all rests: each block of each volume of each target is read once, by this user, or any that was
 * asked to.  done: trial->read_back. */
void load_read_back(struct user *user);

/* load_choose.c: what is next; false: nothing can be, now. */
bool load_choose(struct work *work);
void load_choices_init(struct user *user);

/* load_ends.c: whether it may change blocks; what came of it; a Copy is over, or is not begun; one more block is read
 * back, as well as it can. */
bool load_changes(const struct work *work);
void load_ended(struct work *work, const struct lane_result *result);
void load_copied(struct work *work);
void load_has_read_back(struct volume *volume);

/* calm.c: as long as an I/O may take where no fault has been; 0: it is not judged.  An I/O has ended; a path was lost;
 * what is under way for too long is looked for. */
uint64_t calm_longest_ns(const struct trial *trial);
void calm_ended(const struct work *work, const struct lane_result *result);
void calm_lost(const struct seat *seat);
void calm_look(const struct user *user);

/* ills.c: how it is now is noted, whenever something begins or is over; a host has a path, or has lost it; and an I/O
 * has ended: it may have failed only for a reason that was there. */
void ills_look(struct trial *trial);
void ills_path(struct seat *seat, unsigned path, bool live);
void ills_ended(struct work *work, const struct lane_result *result);

/* beliefs.c: it knows all that its target serves, by each path; else false with what it does not. */
bool seat_knows(const struct seat *seat, char why[160]);
/* Blocks of a volume, as the host knows it. */
uint64_t seat_blocks(const struct seat *seat, const struct volume *volume);

/* ---- contents ---- */

/* Values are of one block of one operation on one volume: the volume's number, from bit 48, and a count. */
void content_fill(uint8_t *block, uint64_t value);
/* The value that the block says, or HISTORY_GARBAGE. */
uint64_t content_value(const uint8_t *block);

/* ---- faults ---- */

/* What cannot be, or is already, is left out. */
void fault_begin(struct trial *trial, const struct fault *fault);
/* The next to be mended, in time; UINT64_MAX: none. */
uint64_t fault_next_end(const struct trial *trial);
bool fault_mend_due(struct trial *trial); /* whether one is over */
/* Nobody is left to whom something could happen: the first is mended now.  False: none is over by that. */
bool fault_mend_first(struct trial *trial);
/* From now on all are due; some take their time. */
void fault_mend_all(struct trial *trial);
/* What lasts and has to be done again and again. */
void fault_go_on(struct trial *trial);
/* The target, or the host, is down by a fault that is under way. */
bool fault_holds_down(const struct trial *trial, const struct served *served, const struct user *user);

/* sim_options.alike: headers may be changed where the host uses header digests, data where it uses data digests. */
size_t wires_alike(void *trial, const struct sim_process *host, uint64_t link, unsigned side, const uint8_t *bytes,
    size_t count, bool *may);

/* ---- the trial ---- */

struct trial {
	struct arena arena;
	struct sim *sim;
	const struct plan *plan;
	const struct trial_watch *watch;
	struct trial_result *result;
	struct served *targets;
	struct user *users;
	unsigned claimants;          /* hosts that use reservations: MODEL_HOSTS at most */
	struct list faults;          /* under way */
	struct wire *wires;          /* by the number of their link */
	size_t wire_count;
	bool disturbed;              /* a fault has befallen a host: none is judged by calm.c any more */
	uint64_t calm_ns;            /* calm_longest_ns() */
	bool resting;                /* the load ends */
	bool reading_back, read_back; /* the last act is played; it is over */
	struct rng rng;
};

static inline uint64_t
trial_knob(const struct trial *trial, enum knob knob)
{
	return trial->plan->knobs[knob];
}

/* How long a host waits for a path: for some dozens of answers, one after another, over whatever network there is. */
static inline uint32_t
trial_connect_ms(const struct trial *trial)
{
	uint64_t way_us = trial_knob(trial, KNOB_LATENCY_US) + trial_knob(trial, KNOB_JITTER_US);
	uint64_t ms = 100 * way_us / 1000;

	return ms > 500 ? (uint32_t)ms : 500;
}

/* An oracle complains; the first one is kept, and ends the trial. */
void trial_wrong(struct trial *trial, const char *oracle, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline bool trial_is_wrong(const struct trial *trial) { return trial->result->end == TRIAL_WRONG; }

/* For those who watch. */
void trial_note(struct trial *trial, const char *who, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
