/*
 * reserved.h - hosts that quarrel about reservations of a target that is killed again and again.
 *
 * Each host has a controller, a few I/O queues, one reservation command and
 * some I/O under way.  What may be true is said by an oracle per namespace for
 * reservations (resv_model.h), and by the values that each cell of a namespace
 * may have.  All of it outlives the target.
 */
#ifndef WEIR_TESTS_RESERVED_H
#define WEIR_TESTS_RESERVED_H

#include "resv/image.h"
#include "base/rng.h"
#include "host/qpair.h"
#include "probe.h"
#include "sim/sim.h"
#include "target/target.h"
#include "trial/resv_model.h"

enum {
	RSVD_HOSTS = MODEL_HOSTS, RSVD_NS = 2, RSVD_QUEUES = 2, RSVD_WORKS = 6, RSVD_REACTORS = 3,
	RSVD_CELLS = 6, RSVD_CELL = 4096, RSVD_SECTOR = 512, RSVD_SPAN = 3, /* cells of a write, at most */
	RSVD_VALUES = 64, RSVD_PORT = 4420, RSVD_US = 1000, RSVD_MS = 1000 * 1000,
};

#define RSVD_STATE "state"
#define RSVD_NQN "nqn.2026-11.local.weir:reserved"

/* A version that a cell has had or may have: not after `until_ns`. */
struct rsvd_value {
	uint32_t version;
	uint64_t end_ns, until_ns; /* its write was over; another one replaced it */
};

struct rsvd_cell {
	struct rsvd_value values[RSVD_VALUES];
	unsigned count;
	bool any;                  /* too many to tell */
};

struct rsvd_host;

/* One read or write under way. */
struct rsvd_work {
	struct hio io;
	struct rsvd_host *host;
	bool busy, writes;
	bool settled;              /* it may be answered still, and lands no more */
	unsigned ns, cell, count, life;
	uint32_t version;
	uint64_t since_ns;
	unsigned may;              /* what the host might do since then */
	bool aborted;              /* some preempt and abort of another host was under way meanwhile */
	unsigned there;            /* what the namespace was meanwhile, as bits of rsvd_there */
	struct iovec iov;
	uint8_t *data;
};

struct rsvd_host {
	struct reserved *r;
	unsigned index;
	struct reactor *reactor;
	struct rng rng;
	struct gather gather;
	struct qpair admin, io[RSVD_QUEUES];
	unsigned opened, crashes_seen;
	bool up, losing;
	char hostnqn[NVME_NQN_FIELD];
	struct hio enable;
	struct timer retry, poll, think;

	/* its reservation command */
	struct hio command;
	struct model_command what;
	bool commanding, everywhere; /* everywhere: of all namespaces */
	unsigned ns, faults_before, there[RSVD_NS];
	bool aborted;
	uint8_t *page;
	struct iovec iov;

	struct rsvd_work works[RSVD_WORKS];
};

/* Whether the target has a namespace; on the way from one to the other it may be both. */
enum rsvd_there { RSVD_IS = 1, RSVD_IS_NOT = 2 };

struct rsvd_ns {
	struct probe probe;
	bool open;                   /* probe is */
	unsigned there;
	bool leaving;                /* given up, and used still */
};

/* How a change is to be refused. */
enum rsvd_trouble {
	RSVD_NO_TROUBLE, RSVD_NO_OPEN, RSVD_NO_FETCH, RSVD_DAMAGED, RSVD_FOREIGN, RSVD_TAKEN_PORT, RSVD_NO_CHANNEL,
	RSVD_NO_MEMORY, RSVD_SAME_UUID, RSVD_OTHER_UUID, RSVD_TROUBLES,
};

struct rsvd_counts {
	uint64_t crashes, halves, formatting, state_writes, found, lost, faults, commands, refused, aborts;
	uint64_t reads, writes, conflicts, ended, settled, reports;
	uint64_t added, removed, busy, absent, back, troubles[RSVD_TROUBLES];
};

struct reserved {
	struct sim *sim;
	uint64_t seed;
	struct rng rng;
	unsigned reactors, started, crashes;
	uint64_t crash_ns;
	struct sim_process *target_process, *host_process[RSVD_HOSTS];
	struct target *target;
	struct model models[RSVD_NS];
	struct rsvd_cell cells[RSVD_NS][RSVD_CELLS];
	struct rsvd_host hosts[RSVD_HOSTS];
	struct rsvd_ns ns[RSVD_NS];
	/* the operator, who takes namespaces away and brings them back */
	bool applies;
	struct reactor *reactor0;
	struct timer operator;
	struct listener taken;
	struct target_applied applied;
	bool applying, must_fail;
	int expected;                /* what that is to say; 0: anything */
	bool spoilt;                 /* what is kept of the one that changes, which was this: */
	uint8_t kept[RESV_SLOTS * RESV_SLOT_LEN];
	unsigned changing;           /* the namespace */
	int refuse_in;               /* the n-th open or fetch of what is kept of the one that changes fails */
	uint32_t version;
	uint64_t kill_at;     /* so many events; UINT64_MAX: not now */
	bool fails, quiet;    /* writes of state fail now and then; hosts begin nothing more but a last report */
	unsigned faults, last_reports;
	struct rsvd_counts counts;
	unsigned wrong;
	char what[256];
};

void rsvd_wrong(struct reserved *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* reserved_host.c */
int rsvd_host_start(struct reactor *reactor, void *arg);
/* Something of the oracle is another: what is under way may be judged by it. */
void rsvd_model_changed(struct reserved *r);

/* reserved_load.c: reads and writes */
void rsvd_work_init(struct rsvd_host *h);
void rsvd_work_next(struct rsvd_host *h);
void rsvd_work_look(struct rsvd_work *work);
/* Writes of the host in the namespace that are under way land no more. */
void rsvd_work_settle(struct rsvd_host *h, unsigned ns);

/* reserved_apply.c: the target's config, and the operator */
struct rsvd_config {
	struct target_config config;
	struct target_listen listen[2];
	struct target_subsys subsys;
	struct target_ns ns[RSVD_NS];
};

/* Of the namespaces that `mask` has; their volumes are open. */
void rsvd_config(struct reserved *r, unsigned mask, struct rsvd_config *out);
int rsvd_volume_open(struct reserved *r, struct reactor *reactor, unsigned ns, char why[256]);
void rsvd_operate_begin(struct reserved *r, struct reactor *reactor);
int rsvd_file_refusal(void *arg, const char *path);
/* The change that is under way has failed, or will not be: what is kept is as it was. */
void rsvd_unspoil(struct reserved *r);
void rsvd_state_path(unsigned ns, char path[80]);

/* reserved.c: the target, and a whole history; `r` is zeroed but for `applies`, which may be set. */
void rsvd_play(struct reserved *r, uint64_t seed);
void rsvd_end(struct reserved *r);

#endif
