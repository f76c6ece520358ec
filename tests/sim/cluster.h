/*
 * cluster.h - the real target and the real host as actors of the simulation.
 *
 * A target process serves one file volume; host processes write versions of
 * slots, flush, and check every read.  What they know lies in structs of the
 * test, which outlive crashes; so after a crash of the target a host can say
 * which versions may be found.
 */
#ifndef WEIR_TESTS_CLUSTER_H
#define WEIR_TESTS_CLUSTER_H

#include "base/rng.h"
#include "host/lane.h"
#include "host/subsys.h"
#include "keep/store.h"
#include "sim/sim.h"
#include "target/target.h"
#include "wisher.h"

#define CLUSTER_NQN "nqn.2026-11.local.weir:sim"

enum { CLUSTER_LANES = 3, CLUSTER_PORT = 4420, CLUSTER_SLOTS = 48, CLUSTER_WORKS = 8, CLUSTER_VOLUME_MIB = 16 };

/* Of one target process; zeroed by the test, which sets host, spec and reactors. */
struct cluster_target {
	const char *host, *spec;
	const char *other;     /* a second volume, of namespace 2; NULL: there is none */
	uint32_t stall_timeout_ms;
	bool authenticate;
	uint32_t statics;      /* static controllers; 0: they are dynamic */
	struct wisher *wisher; /* NULL: hosts wish for nothing */
	const struct store_spec *order; /* the log of ordered writes; NULL: there is none */
	struct target *target;
	struct blk *volume;
	unsigned reactors, started;
};

int cluster_target_start(struct reactor *reactor, void *arg);

/* Nothing is left of any connection: no stream, no memory of one, no buffer. */
bool cluster_target_idle(const struct cluster_target *t, struct sim_process *process);

/* What is known of a slot: versions are numbered from 1 as they are written; some are that it is unreadable. */
struct cluster_slot {
	uint32_t issued;   /* the last version handed to the target */
	uint32_t acked;    /* the last one whose write was answered */
	uint32_t durable;  /* the last one that a flush, answered, covers */
	bool busy;
};

struct cluster_host;

struct cluster_work {
	struct cluster_host *owner;
	unsigned slot;
	bool busy;
	bool shaken;       /* a path was lost meanwhile: whether it was done before that, by a target that has
	                    * forgotten it since, is not known */
	uint8_t op;
	uint32_t version;  /* of a write: what is written */
	uint32_t oldest;   /* of a read: the oldest version it may find */
	struct iovec iov;
	uint8_t *data;
	uint32_t flush_acked[CLUSTER_SLOTS]; /* of a flush: what was answered before it */
};

/* Of one host process; zeroed by the test, which sets the first lines. */
struct cluster_host {
	const char *addr;
	unsigned first_slot;       /* its slots lie behind each other: no two hosts share one */
	unsigned slot_count;       /* 0: CLUSTER_SLOTS */
	uint16_t queues;           /* at most CLUSTER_LANES */
	bool hdgst, ddgst, sq_flow;
	uint16_t cntlid;           /* 0: a dynamic controller */
	uint32_t slot_bytes;       /* a multiple of the block size */
	bool no_reads;             /* it writes where it would read */
	bool marks;                /* makes slots unreadable now and then (Write Uncorrectable) */
	uint64_t ios;              /* how many to do; then it disconnects */

	struct reactor *reactor;
	struct subsys *subsys;
	struct subsys_find find;
	struct lane *lanes[CLUSTER_LANES];
	unsigned lanes_up, lanes_closed;
	struct rng rng;
	struct cluster_slot slots[CLUSTER_SLOTS];
	struct cluster_work works[CLUSTER_WORKS];
	struct timer retry;
	uint64_t done_ios, reads, unreadable, wrong, losses, failures;
	uint64_t told;       /* Flushes that have failed since the target had lost its cache */
	unsigned in_flight;
	bool loading, leaving, finished;
};

int cluster_host_start(struct reactor *reactor, void *arg);

#endif
