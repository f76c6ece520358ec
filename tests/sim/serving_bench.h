/*
 * serving_bench.h - a target as `weir serve` makes it of a configuration, with hosts that wish, in virtual time.
 *
 * Volumes and the network are simulated; the record of what hosts have made is a real file, in a folder of its own,
 * and fsync() is the bench's.  Wishes can be looked at, and held back, where they come to the keeper.
 */
#ifndef WEIR_TESTS_SERVING_BENCH_H
#define WEIR_TESTS_SERVING_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "host/qpair.h"
#include "serving.h"
#include "sim/sim.h"

#define NQN_A "nqn.2026-11.local.weir:a"
#define NQN_B "nqn.2026-11.local.weir:b"

enum { PORT = 4420, ASKERS = 16, ASKS = 32, PAGE_BYTES = 16 * 1024 };

static const uint64_t us = 1000, ms = 1000 * 1000, second = 1000 * 1000 * 1000;

enum asks {
	ASK_PROTECT, /* the operator's namespace 1 against writes, or not any more */
	ASK_CREATE,
	ASK_DELETE,  /* namespace 2 */
	ASK_ATTACH,  /* namespace 2, to the controllers of all hosts */
	ASK_TIME,    /* no wish: the time is set, which is an event */
	ASK_EXTENSION, /* for FENCE, */
	ASK_FENCE,   /* which ends all older controllers of its host */
	ASK_GROUPS,  /* page 0Ch */
	ASK_EVENTS,  /* page 0Dh */
};

struct bench;

/* A host with one controller, which asks what it was told to ask. */
struct asker {
	struct bench *bench;
	const char *nqn;
	char name[64];
	uint8_t number;
	uint16_t entries;
	struct reactor *reactor;
	struct gather gather;
	struct qpair admin;
	bool enabled, leaves, lost; /* `lost`, instead of failing, where it `may_be_lost` */
	bool may_be_lost;
	struct timer tick;
	enum asks asks;
	unsigned left;      /* to be asked at the next tick */
	uint32_t protection; /* that is asked for: what is so by the host's own snapshot is no wish */
	struct ask {
		struct hio io;
		struct iovec iov;
		bool busy;
	} ask[ASKS];
	uint8_t data[4096], page[PAGE_BYTES];
	unsigned asked, answered, ok, interrupted; /* `interrupted`: without DNR */
	enum nvme_sc last;
	unsigned place;     /* of the last answer among all that hosts had */
};

/* What is synced, and what comes of it: of folders. */
struct bench_disk {
	unsigned folders, fail_folders;
};

struct bench_world {
	struct world_ops ops;
	const struct world_ops *as_is;
};

struct bench {
	struct sim *sim;
	struct sim_process *process;
	char folder[512];
	const char *text;         /* the configuration */
	unsigned started;
	struct serving serving;   /* the process's */
	struct reactor *reactor;
	struct bench_world world; /* its */
	struct asker *askers;
	unsigned asker_count, answers;
	/* the keeper */
	void (*wish)(struct target_keeper *keeper, struct target_wish *wish);
	bool holding;
	struct fifo held;
	unsigned held_count, came;
	/* the operator */
	struct timer tick;
	bool (*moment)(const struct bench *bench); /* NULL, or until it is there we look every microsecond; then: */
	void (*act)(struct bench *bench);
	unsigned met, told;
	int told_rc;
	unsigned told_after;      /* so many answers */
};

extern struct bench_disk bench_disk;

/* The configuration: its listener, state_dir and this text; in it the subsystems. */
void bench_begin(struct bench *bench, uint64_t seed, unsigned reactors, const char *text,
    const struct sim_options *options);
void bench_end(struct bench *bench);
void bench_run(struct bench *bench, uint64_t for_ns);

/* One more host, which is there when this returns. */
struct asker *bench_host(struct bench *bench, const char *nqn, uint16_t entries);

/* Another controller of the same host, which is there when the target lets it; and one that goes. */
struct asker *bench_again(const struct asker *asker);
void bench_leave(struct asker *asker);

/* So many, as soon as it can; bench_asked() runs until they are all answered, for a second at most. */
void bench_ask(struct asker *asker, enum asks asks, unsigned count);
void bench_asked(struct asker *asker, enum asks asks, unsigned count);

/* On the target's reactor 0: at the moment, or at once (NULL), do this.  It is done when this returns, within
 * `for_ns`. */
void bench_meet(struct bench *bench, bool (*moment)(const struct bench *bench),
    void (*act)(struct bench *bench), uint64_t for_ns);

/* For such: the configuration of the text instead; 0: `told` will be counted. */
int bench_apply(struct bench *bench, const char *text);

/* And those that were held back come to the keeper, and later ones. */
void bench_let_go(struct bench *bench);

#endif
