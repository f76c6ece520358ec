/*
 * failover_bench.h - a target with two listeners, and a host with several lanes, whose paths are cut.
 *
 * Each slot of the volume has one I/O at a time, from whichever lane: so there
 * is one right answer to every read, whatever was lost, parked and sent again
 * in between.
 */
#ifndef WEIR_TESTS_FAILOVER_BENCH_H
#define WEIR_TESTS_FAILOVER_BENCH_H

#include "cluster.h"
#include "host/lane.h"
#include "host/subsys.h"

enum { FAIL_PATHS = 3, FAIL_LANES = 2, FAIL_SLOTS = 16, FAIL_WORKS = 8, FAIL_BLOCKS = 2, FAIL_BLOCK = 4096,
	FAIL_TARGET_REACTORS = 2, FAIL_KEPT = 64 };
enum { FAIL_MS = 1000 * 1000 };

struct fail;

/* What of the namespace is served, and how by which path. */
struct fail_served {
	uint8_t state[FAIL_PATHS]; /* enum nvme_ana_state */
	bool gone;
	bool other;         /* it is another one, under the same number */
	bool moved;         /* it is the same one, and in the file of the other */
	uint64_t blocks;    /* 0: all there are */
};

/* The test sets the first lines, and changes `wanted` while it runs, where the target is operated. */
struct fail_target {
	const char *spec;
	bool elsewhere;     /* it has another subsystem */
	uint32_t entries;   /* of a queue; 0: as many as it likes */
	bool operated;
	struct fail_served wanted;

	struct fail_served now, next;
	struct target *target;
	struct blk *volume, *other;
	struct reactor *reactor;
	struct timer operator;
	struct target_applied applied;
	bool applying;
	unsigned started;
};

#define FAIL_OTHER "other.img" /* the file of the other namespace */

struct fail_slot {
	uint32_t version;   /* what a read finds */
	uint32_t maybe;     /* or this, which nobody knows; 0: no */
	bool torn;          /* its blocks are of two versions: it is written next */
	bool busy;
};

struct fail_work {
	struct fail *fail;
	unsigned slot, at;  /* at: the reactor whose lane it was given to */
	unsigned from;      /* the slot that a Copy reads; FAIL_SLOTS: none */
	uint8_t op;
	uint32_t version;   /* what the slot holds when it is done */
	uint64_t since_ns;  /* it was submitted; 0: it will be */
	bool busy;
	struct timer rest;
	struct iovec iov[3];
	uint8_t *data;      /* 2 x the slot: Compare and Write has two halves */
};

/* A lane that comes, reads, and goes wherever it is, again and again. */
struct fail_visit {
	struct fail *fail;
	unsigned at;
	struct lane *lane;
	struct timer leave;
	uint64_t visits, submitted, done;
	bool ready, gone;
	uint8_t data[FAIL_BLOCK];
	struct iovec iov;
};

/* A lane whose thread does not poll: what it is told waits until it does, or is given something to do. */
struct fail_away {
	uint64_t until_ns;
	bool in_a_turn;     /* it is given it in the middle of one: it hears of nothing else yet */
	struct fail *fail;
	struct timer wake;
	unsigned count;
	struct mail kept[FAIL_KEPT];
};

/* A cluster of one target and one host; the test sets the first lines. */
struct fail {
	struct subsys_options options;
	struct fail_target target;
	uint64_t ios;       /* how many to do; then it closes everything */
	unsigned paths;     /* 1 to 3 */
	const char *host;   /* the target is reached by */
	bool fused;         /* Compare and Write, too */
	bool may_go, may_shrink; /* the namespace: I/O may end with -ENODEV, -ERANGE */
	bool visited;       /* other lanes come and go */
	uint64_t add_ns;    /* so long after all paths were refused they are added again */
	unsigned shunned;   /* the reactor whose lane is given nothing; 0: none */

	struct sim *sim;
	struct sim_process *target_process, *host_process;
	struct reactor *reactors[1 + FAIL_LANES];
	struct subsys *subsys;
	struct subsys_find find;
	struct lane *lanes[FAIL_LANES];
	struct fail_seat { struct fail *fail; unsigned at; } seats[FAIL_LANES];
	unsigned lanes_told, lanes_up, lanes_closed;
	struct rng rng;
	struct fail_slot slots[FAIL_SLOTS];
	struct fail_work works[FAIL_WORKS];
	struct fail_visit visits[FAIL_LANES];
	struct fail_away aways[FAIL_LANES];
	uint32_t issued;    /* versions so far */
	uint64_t begun, done, reads, wrong, twice, stale, timeouts, failures;
	uint64_t nodevs, beyonds, by_op[LANE_OPS];
	uint64_t longest_ns; /* that one has taken */
	uint64_t resent;
	unsigned in_flight;
	unsigned lost, given_up, refused, all_lost;
	bool may_end;    /* set by the test: all is read back, and the host goes */
	bool opening, loading, loaded, reading_back, leaving, finished;
	unsigned read_back;
	struct timer look, add;
	char why[200];   /* of the last I/O that failed */
	size_t before[1 + FAIL_LANES]; /* bytes of the arenas */
};

/* Defaults: two paths, 200 ms of keep alive, a minute without a path. */
void fail_init(struct fail *f);

/* Ten minutes at most. */
struct sim_options fail_sim_options(void);

/* Starts both processes. */
void fail_start(struct fail *f, uint64_t seed, const struct sim_options *options);

/* And goes on until the load is five milliseconds old. */
void fail_start_loaded(struct fail *f, uint64_t seed, const struct sim_options *options);

void fail_run(struct fail *f, uint64_t ms);

void fail_cut(struct fail *f, unsigned path, enum sim_cut how);
void fail_mend(struct fail *f, unsigned path);

void fail_send_away(struct fail *f, unsigned lane, uint64_t ms, bool in_a_turn);

/* The host loses its memory, and begins anew; its peers are told. */
void fail_host_crash(struct fail *f);

/* Nothing was written to the namespace that has the number of the right one at times. */
void fail_other_is_untouched(struct fail *f);

bool fail_finished(void *arg);
bool fail_opening(void *arg); /* lanes are being opened */
bool fail_loading(void *arg); /* has begun */
bool fail_loaded(void *arg);  /* all but the reading back is done */

/* The load to its end; then whatever may come late; then all is read back. */
void fail_end(struct fail *f);

/* The same, and all is done and right; whether some of it was given up. */
bool fail_ends_given_up(struct fail *f);

/* All was done once and right, and the host has left nothing behind, also at the target. */
void fail_check(struct fail *f);

/* ---- between its files ---- */

/* What the host's reactors say to each other beside host/mail.h: what is done with a lane is done on its reactor. */
enum { MAIL_OPEN_LANE = 100, MAIL_CLOSE_LANE, MAIL_CLOSE_SUBSYS, MAIL_SUBMIT, MAIL_LOADED, MAIL_VISIT };

void fail_tell(struct reactor *from, unsigned to, uint16_t kind, void *what);

/* failover_load.c: the next I/O of one who has none, and that I/O by the lane of its reactor. */
void fail_load_init(struct fail *f);
void fail_next(struct fail_work *work, struct reactor *reactor);
void fail_submit(struct fail_work *work, unsigned at);
void fail_forget(struct fail *f); /* of what is in flight nobody will hear any more */

/* failover_visit.c */
void fail_visit(struct fail_visit *v);

/* failover_target.c: how its process starts; whether it serves what is wanted of it; nothing of its hosts is left. */
int fail_target_start(struct reactor *reactor, void *target);
bool fail_target_serves(void *target);
void fail_target_is_idle(struct fail *f);

/* failover_bench.c: the load is over; and somebody has gone, maybe as the last one. */
void fail_leave(struct fail *f, struct reactor *reactor);
void fail_maybe_close(struct fail *f, struct reactor *reactor);

#endif
