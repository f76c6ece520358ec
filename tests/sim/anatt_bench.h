/*
 * anatt_bench.h - a target whose ANA groups change as a list of steps says, and
 * hosts that look at them all the while, in virtual time.
 */
#ifndef WEIR_TESTS_ANATT_BENCH_H
#define WEIR_TESTS_ANATT_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "host/qpair.h"
#include "sim/sim.h"
#include "target/target.h"
#include "target/wish.h"
#include "wire/log.h"

enum { GROUPS = 2, LISTENERS = 2, PORT = 4420, POLL_MS = 50 };

static const uint64_t ms = 1000 * 1000;

/* A config at a time: the states of the groups through the first listener. */
struct step {
	uint64_t at_ms;
	uint8_t states[GROUPS];
	bool again; /* it is a host's wish: the operator has said nothing */
};

struct operated {
	unsigned reactors, started, next;
	const struct step *steps; /* the first is at the start; UINT64_MAX: there are no more */
	uint64_t fail_ms;         /* when the next allocation of the target fails; 0: never */
	struct target *target;
	struct blk *volumes[GROUPS];
	struct reactor *reactor0;
	struct timer timer, failing, hunting;
	struct target_keeper keeper;
	unsigned met, idled;      /* the target was busy by itself; said that it is not any more */
	bool hunts;
	struct target_applied applied;
	unsigned applied_count;
};

/* A host that looks at the log and reads a block of each namespace, again and again. */
struct looking {
	uint16_t port;
	struct reactor *reactor;
	struct gather gather;
	struct qpair admin, io;
	struct hio command, reading[GROUPS], aer;
	struct timer poll;
	struct iovec page_iov, block_iov;
	uint8_t page[4096], block[4096];
	unsigned events;
	uint64_t changes, group_changes[GROUPS];
	uint8_t states[GROUPS];
	enum nvme_sc status[GROUPS];
	uint64_t since_ms[GROUPS]; /* the state is what it is */
};

struct history {
	struct sim *sim;
	struct sim_process *process;
	struct operated o;
	struct looking *hosts; /* through each listener */
};

/* `fail_ms`, `hunts`: see struct operated. */
void history_begin(struct history *t, uint64_t seed, const struct step *steps, uint64_t fail_ms, bool hunts);
void history_end(struct history *t);
void history_run(struct history *t, uint64_t at_ms);

/* What hosts have seen of the group last: this through the first listener, that it is optimized through the other. */
void history_expect(const struct history *t, unsigned group, enum nvme_ana_state state, enum nvme_sc sc);

#endif
