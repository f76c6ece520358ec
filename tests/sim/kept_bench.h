/*
 * kept_bench.h - a target whose events are kept, a host that does what is to be
 * told, and what is found of it at any moment, in virtual time.
 */
#ifndef WEIR_TESTS_KEPT_BENCH_H
#define WEIR_TESTS_KEPT_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "host/qpair.h"
#include "sim/sim.h"
#include "target/target.h"

#define NQN "nqn.2026-11.local.weir:events"
#define PATH "/state/events/07000000-0000-0000-0000-000000000000"

enum { PORT = 4420, BAD_LBA = 7, NUMBERS = 1 << 16 };

static const uint64_t ms = 1000 * 1000, second = 1000 * 1000 * 1000;

struct served {
	unsigned reactors, started;
	bool in_memory;
	unsigned fail_reactor;
	uint64_t fail_at;     /* the allocation that fails; 0: none */
	bool drained;
	struct target *target;
	struct reactor *reactor; /* 0 */
	struct timer drain;
	uint64_t drain_ns;    /* 0: never */
	/* The subsystem goes and comes again so often, without its namespace. */
	unsigned changes, changed, busy;
	bool present, under_way;
	struct timer change;
	struct target_applied applied;
};

enum does { READS = 1, BAD_READS = 2, TIMESTAMPS = 4, RESETS = 8, CONTEXTS = 16, LOOKS = 32, KINDS = 6 };

struct doer {
	uint32_t does;
	uint64_t every_ns, until_ns;
	struct reactor *reactor;
	struct gather gather;
	struct qpair admin, io;
	bool admin_up, io_up, busy, enabled;
	struct hio command;
	struct iovec iov;
	uint8_t data[4096];
	struct timer tick;
	unsigned turn;
	uint32_t doing;       /* one of what it does; 0: enabling */
	bool reading;         /* it has a context */
	/* what it did: */
	uint64_t reads, bad_reads, contexts, refused;
	uint64_t number;                 /* of the last Timestamp that was answered */
	uint64_t numbers_ns[NUMBERS];    /* when each was */
};

struct history {
	struct sim *sim;
	struct served served;
	struct doer *doer;
	struct sim_process *target;
	struct eventlog *log;
	unsigned complaints;
	int64_t fault;
	unsigned fault_one_in;
	struct rng rng;
};

void history_begin(struct history *h, uint64_t seed, uint32_t does, uint64_t every_ns, uint64_t until_ns);
void history_end(struct history *h);
void history_run(struct history *h, uint64_t at_ns);

/* What a target that starts now would find. */
enum eventlog_found history_look(struct history *h, bool durable);

/* The data of the n-th event of the type and, if it has one, the code; NULL: there are not so many.  How many. */
const uint8_t *kept_event(const struct eventlog *log, uint8_t type, int code, unsigned n);
unsigned kept_events(const struct eventlog *log, uint8_t type, int code);

#endif
