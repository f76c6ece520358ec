/*
 * history_block.h - one block of a history: its versions, the operations under way, and the states that may be true.
 *
 * A version is one write's (or nobody's: what was there at first, or what we
 * lost track of).  A state says which version the block holds, which of the
 * operations under way have had their effect, which versions a loss of power
 * may leave, and what each operation that looks may have seen.  What all this
 * means, and why it is right, stands in doc/oracles.md.  Pure.
 */
#ifndef WEIR_TRIAL_HISTORY_BLOCK_H
#define WEIR_TRIAL_HISTORY_BLOCK_H

#include "trial/history.h"

enum { VERSIONS_FIRST = 8, VERSIONS_MAX = 64, STATES_FIRST = 4, STATES_MAX = HISTORY_STATES_MAX, NOBODY = UINT32_MAX };
#define NEVER UINT64_MAX

enum version_kind {
	VERSION_KNOWN,
	VERSION_ANY,         /* one of which nothing is known: the block was changed by itself */
	VERSION_OLD,         /* one or another of those that were forgotten: any value but garbage */
	VERSION_LOST,        /* the same, when track was lost: anything */
};

/* `begun` and `ended` are moments of the history, by which things are ordered; times are for words. */
struct version {
	uint64_t value, begun, ended, begun_ns; /* ended: NEVER while it is under way, or may come yet */
	uint32_t who;
	enum version_kind kind;
	bool done;           /* it was answered with success */
};

/* Versions by number, operations under way by slot: sets of both are masks. */
struct state {
	uint8_t holds;       /* the version */
	uint8_t happened;    /* operations under way that have had their effect */
	uint64_t survivors;  /* versions, of which a loss of power leaves one */
	uint64_t seen[HISTORY_PENDING_MAX]; /* versions that were there since each one that looks began; 0 for others */
};

struct pending {
	enum history_kind kind;
	bool repeats;
	uint8_t version;     /* of a write or swap */
	uint32_t who;
	uint64_t value, expected, begun, begun_ns;
};

struct block {
	struct version *versions; /* NULL: nothing was ever done here */
	struct state *states;
	uint64_t taken;      /* versions; those that nothing speaks of are given back when there is no other */
	uint64_t unsynced;   /* what began before that no Flush speaks of */
	uint64_t kept;       /* these not: what might have been lost, of which a Flush may speak yet */
	uint16_t state_count, state_room;
	uint8_t version_room;
	uint8_t pending, writing, looking, unknown; /* slots: all; with effects; that see; of which nobody hears */
	struct list node;    /* among the blocks with unknown ones */
	struct pending slots[HISTORY_PENDING_MAX];
};

/* States while they are being found. */
struct states {
	struct state at[STATES_MAX];
	uint8_t flags[STATES_MAX];
	uint32_t count;
	bool too_many;
};

/* What the operation in a slot says with its answer. */
struct answer {
	uint8_t slot;
	uint8_t movers;      /* operations that may have had their effect before it was given */
	bool happened, did_not; /* it has had its effect; it has not */
	bool looked;         /* it has seen one of `sights` */
	bool goes_on;        /* it may have had its effect once more since then: all that may be is wanted */
	uint64_t sights;
};

struct history {
	struct arena *arena;
	struct block *blocks;
	uint32_t block_count;
	uint64_t moment;     /* the number of things that have happened */
	uint64_t lost, lost_ns; /* the last loss of power: its moment, and when it was; 0: none */
	uint64_t flushed;    /* the latest beginning of a Flush that succeeded without one in between */
	uint64_t most_states;
	uint64_t track_lost;  /* so often, of some block */
	struct list unknown; /* blocks */
	struct states reached, left;
	bool is_wrong;
	char wrong[400];
};

static inline uint64_t
bit(unsigned number)
{
	return (uint64_t)1 << number;
}

static inline unsigned
first_of(uint64_t set)
{
	return (unsigned)__builtin_ctzll(set);
}

/* First use of a block: it holds zeros. */
void block_begin(struct history *h, struct block *b);

/* A version that nothing speaks of becomes this one. */
uint8_t block_take_version(struct history *h, struct block *b, const struct version *version);

/* Whether a version has this value, or may have. */
bool version_is(const struct version *v, uint64_t value);
/* Versions that have, or may have, this value; another one. */
uint64_t block_with(const struct block *b, uint64_t value);
uint64_t block_others(const struct block *b, uint64_t value);
/*
 * The operation in the slot has seen this value: the versions that say so.  What it found in place of a version that is
 * not known has a name from now on, in the states that explain it so; the others remain beside them.
 */
uint64_t block_name(struct history *h, struct block *b, unsigned slot, uint64_t value);
/* Versions that states and operations speak of. */
uint64_t block_spoken_of(const struct block *b);

/* Adds a state, unless another says as much. */
void states_add(const struct block *b, struct states *set, const struct state *state);

/* All that may be true now, into h->reached. */
void block_reach(struct history *h, const struct block *b);

/* The states from which the answer can have come, into h->left.  False: too many to tell. */
bool block_explain(struct history *h, const struct block *b, const struct answer *answer);

/* All states are looked at once more: some may say no more than others do. */
void block_keep_all(struct history *h, struct block *b);

/* The block's states are those of h->left, of which there is at least one. */
void block_keep(struct history *h, struct block *b);

/* The slot is free again, of which no state speaks any more; a write of it ended now. */
void block_free_slot(struct history *h, struct block *b, unsigned slot);

/* When the latest of the writes began that began after `after` and were answered before `before`: of all, or of what
 * this Flush's host has written since it came. */
uint64_t block_covered(const struct block *b, uint64_t after, uint64_t before, const struct history_flush *own);

/* What ended before a durable write began is gone for good.  False: nothing else is left; then nothing is done. */
bool block_durable(struct history *h, struct block *b, uint64_t begun);

/* The block may hold anything now, and what is under way may have happened, and may yet. */
void block_lose_track(struct history *h, struct block *b);

/* What the operation in the slot said cannot be: `what` it did, with which value. */
struct claim {
	const char *what;    /* "read", "wrote", ... */
	uint64_t value;
};
/* Complain, if nothing did so far.  h->reached has all that might have been. */
void history_complain(struct history *h, const struct block *b, unsigned slot, struct claim claim, uint64_t now_ns);
/* What was lost, or never was, `who` said to be durable. */
void history_complain_lost(struct history *h, const struct block *b, const char *what, uint32_t who, uint64_t begun_ns,
    uint64_t now_ns);

#endif
