/*
 * trial.h - one plan, played by the real target and the real host library in the simulation, and judged.
 *
 * First the load and the faults; then all is mended, what is in flight ends,
 * every block is read back, the hosts leave in order, and nothing may be left
 * of them.  Oracles look on from the first event to the last; the first that
 * complains ends the trial.
 */
#ifndef WEIR_TRIAL_TRIAL_H
#define WEIR_TRIAL_TRIAL_H

#include "sim/sim.h"
#include "trial/plan.h"

enum trial_end {
	TRIAL_RIGHT,
	TRIAL_WRONG,
	TRIAL_LIMIT,  /* as many events, or as much time, as there may be: it would not end */
};

/* What has been tried: a search that never did something has not found it right. */
struct trial_counts {
	uint64_t ios, by_op[16], failed, resent, unknown;
	uint64_t checked;     /* blocks that were read and judged */
	uint64_t track_lost;  /* times that too much was possible of a block, and anything was right for a while */
	uint64_t faults[FAULTS];
	uint64_t connects, losses, given_up;
	uint64_t claims;      /* commands of reservations */
	uint64_t conflicts;   /* I/Os that were refused by one */
	uint64_t over_end;    /* I/Os that were refused as they reached over the end of a volume */
	uint64_t grown;       /* I/Os that were done where a volume has grown */
};

struct trial_result {
	enum trial_end end;
	/* Which complained: "history", "once", "stuck", "leak", "memory", "ana", "claims", "events", "calm",
	 * "line", "cause". */
	char oracle[24];
	char why[480];        /* what it said, with the virtual time; "" where all is right */
	uint64_t hash, events, end_ns;
	struct trial_counts counts;
};

struct trial_watch {
	/* As of struct sim_options; NULL: nobody looks. */
	void (*trace)(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b);
	/* What processes log, and what the trial does to them. */
	void (*log)(void *arg, uint64_t now_ns, const char *who, const char *text);
	void *arg;
	uint64_t max_events;  /* 0: far more than the plan's time should take */
};

/* Deterministic: the same plan has the same result with every build.  What is asserted aborts, as everywhere. */
void trial_run(const struct plan *plan, const struct trial_watch *watch, struct trial_result *result);

#endif
