/*
 * resv_model.h - what may be true of a namespace's reservations, as its hosts see it.
 *
 * An oracle of its own: it shares no code with src/resv, and keeps every state
 * that the target may be in.  A command that is under way may have been done
 * or not, at any place in the order; an answer leaves only the worlds in which
 * it is the right one; a loss of power leaves of each what was to be kept.
 * Pure.
 */
#ifndef WEIR_TRIAL_RESV_MODEL_H
#define WEIR_TRIAL_RESV_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_HOSTS = 4, MODEL_NOBODY = 0xff, MODEL_WORLDS = 4096 };

struct model_state {
	uint8_t keys[MODEL_HOSTS];  /* 0: not registered */
	uint8_t order[MODEL_HOSTS]; /* the registrants as they came; then MODEL_NOBODY */
	uint8_t type, holder, ptpl, zero;
	uint32_t generation;
};

enum model_op {
	MODEL_REGISTER, MODEL_UNREGISTER, MODEL_REPLACE, MODEL_ACQUIRE, MODEL_PREEMPT, MODEL_PREEMPT_ABORT,
	MODEL_RELEASE, MODEL_CLEAR, MODEL_SET_PTPL, MODEL_REPORT,
};

struct model_command {
	enum model_op op;
	bool ignore;        /* IEKEY */
	uint8_t cptpl;      /* of a Register; of SET_PTPL 0 or 1 */
	uint8_t key, other; /* CRKEY; NRKEY or PRKEY */
	uint8_t type;
};

/* What a host may do, in some of the worlds; and whether a preempt and abort of another one may end what it does. */
enum { MODEL_READS = 1, MODEL_READS_NOT = 2, MODEL_WRITES = 4, MODEL_WRITES_NOT = 8, MODEL_ENDS = 16 };

struct model_world {
	struct model_state state;
	/* By host: what came of its command, 0: it was not done. */
	struct { uint64_t is, victims; } result[MODEL_HOSTS];
	uint64_t doubt;           /* a write failed, and has landed: what is kept is another state, this one */
	struct model_state kept;
};

enum model_stage { MODEL_IDLE, MODEL_UNDER_WAY, MODEL_LOST }; /* lost: of a former life */

struct model {
	struct model_command commands[MODEL_HOSTS];
	enum model_stage stages[MODEL_HOSTS];
	bool spanning[MODEL_HOSTS]; /* it was under way when the namespace went, or the target */
	bool persists;      /* there is somewhere to keep it */
	bool vague;         /* there were more worlds than it can hold: whatever is said may be */
	unsigned count;
	struct model_world worlds[MODEL_WORLDS], before[MODEL_WORLDS];
	uint16_t found[2 * MODEL_WORLDS]; /* by their hash: 1 + the index of a world */
};

/* Nobody is registered. */
void model_init(struct model *model, bool persists);

/* The host, none of whose commands is under way, sends one. */
void model_begin(struct model *model, unsigned host, const struct model_command *command);

/* It was answered with this result; false: in none of the worlds.  `victims`: hosts that a preempt and
 * abort has put out, whichever of the worlds it is. */
bool model_end(struct model *model, unsigned host, uint64_t result, uint32_t *victims);

/* It was answered that it could not be done, and so was not; false: in none of the worlds.  `lands`: since a write
 * failed, which may be there all the same. */
bool model_failed(struct model *model, unsigned host, bool lands);

/* It will not be answered, and is not done any more. */
void model_forget(struct model *model, unsigned host, bool lands);

/* The target goes, and with it what was not to be kept. */
void model_crash(struct model *model);

/* The namespace goes, and what was not to be kept; what is under way may be done before, or when it comes back. */
void model_retire(struct model *model);

/* While it is vague, and nothing is under way, a report says that this is so. */
void model_found(struct model *model, const struct model_state *state);

/* What the host may do now; MODEL_NOBODY: one that never sends a command of reservations. */
unsigned model_may(const struct model *model, unsigned host);

/* What it is called in the specification. */
const char *model_op_name(enum model_op op);

/* Results: of a command that was answered with this status, and of a report that says this. */
uint64_t model_status_result(uint16_t status);
uint64_t model_report_result(const struct model_state *state);

#endif
