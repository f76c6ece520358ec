/*
 * history.h - may this be what was read?  The history of each block of one volume, and all that it allows.
 *
 * Each write has a value of its own.  Of each block are kept the states that
 * some legal order of what was answered and what is in flight can have led to:
 * a value, and which of the operations under way have had their effect.  An
 * answer throws away the states that it cannot have come from; where none is
 * left, the cluster has lied.  (Just-in-time linearization, Lowe 2017.)
 *
 * It is told by whom all is known: when a machine has lost its power, and when
 * nothing of a host can come any more.  Pure; memory only from its arena.
 */
#ifndef WEIR_TRIAL_HISTORY_H
#define WEIR_TRIAL_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct history;

/* Values that many operations write; all others are written once, by one operation, to one block each or to several. */
enum { HISTORY_ZEROS = 0, HISTORY_UNREADABLE = 1, HISTORY_FIRST = 2 };
/* What is read and is no value at all: torn, or another block's. */
#define HISTORY_GARBAGE UINT64_MAX

/* Of one block at a time; more wait in the load. */
enum { HISTORY_PENDING_MAX = 6 };
/* Of one block. */
enum { HISTORY_STATES_MAX = 2048 };

enum history_kind {
	HISTORY_READ,
	HISTORY_WRITE,       /* also what makes zeros, and what makes unreadable */
	HISTORY_SWAP,        /* Compare and Write */
	HISTORY_COMPARE,     /* `expected` alone */
};

/* One operation on one block; the caller's, from history_begin() to the call that ends it. */
struct history_op {
	uint32_t block;
	uint32_t slot;       /* history's */
	enum history_kind kind;
	uint32_t who;        /* a host */
	uint64_t value;      /* of a write and a swap: what is written */
	uint64_t expected;   /* of a swap and a compare */
};

/* NULL: no memory.  What it needs later it takes from the arena, too, which has no limit (it is asserted). */
struct history *history_create(struct arena *arena, uint32_t blocks) __attribute__((warn_unused_result));

/* What each block holds at first is zeros.  False: HISTORY_PENDING_MAX are under way there. */
bool history_has_room(const struct history *h, uint32_t block);

/* Begun now; has room.  Fill all but slot. */
void history_begin(struct history *h, struct history_op *op, uint64_t now_ns);

/* It is sent again, or may be, as a path of its host was lost: it may have its effect more than once before it ends. */
void history_shake(struct history *h, struct history_op *op);

/*
 * How it ended; one of these.  False: no legal order explains it, and history_wrong() says why.  After that the block
 * is taken as it was found.
 */
/* It read this, or failed for it, where it compares. */
bool history_found(struct history *h, struct history_op *op, uint64_t value, uint64_t now_ns);
bool history_done(struct history *h, struct history_op *op, bool durable, uint64_t now_ns);     /* else: success */
bool history_differs(struct history *h, struct history_op *op, uint64_t now_ns);                /* it compared */
/* Whether it may end with history_differs(); with history_found(), of this value.  Of several blocks that are asked for
 * together it is not said which of them it was. */
bool history_may_differ(struct history *h, const struct history_op *op);
bool history_may_find(struct history *h, const struct history_op *op, uint64_t value);
/* It failed, and wrote nothing; where it was shaken, the copy that was answered did not. */
bool history_had_no_effect(struct history *h, struct history_op *op, uint64_t now_ns);
/* Nobody will ever say; it may still happen until history_settled(). */
void history_unknown(struct history *h, struct history_op *op, uint64_t now_ns);

/* A Flush: what was answered before it began, by whomever, or where it was sent again (`shaken`) by this host since it
 * came, is durable when it succeeds; false as above. */
struct history_flush {
	uint32_t who;
	uint64_t begun_ns;
	uint64_t came_ns;    /* its host did, as the caller says afterwards; 0: before all */
	uint64_t begun, after; /* history's: moments, of its beginning and of the last loss of power before it */
};
void history_flush_begin(struct history *h, struct history_flush *flush, uint32_t who, uint64_t now_ns);
bool history_flush_done(struct history *h, const struct history_flush *flush, bool shaken, uint64_t now_ns);

/* Nothing of what is unknown of this host comes any more: what has not happened never will. */
void history_settled(struct history *h, uint32_t who);

/* The machine loses power now: each block is what is durable, or anything that came later, what is in flight included;
 * and from there on what is found is durable. */
void history_power_lost(struct history *h, uint64_t now_ns);

/* A sync has failed that was to write the block: whatever is flushed later, what is there may be lost with the power,
 * until it is written again. */
void history_unsynced(struct history *h, uint32_t block);

/* A volume in RAM was lost with its process: all blocks are zeros from here on, and that is durable; what is in flight
 * may have had its effect before, and may have it yet. */
void history_wiped(struct history *h, uint64_t now_ns);

/* The block is changed by itself: anything may be found until it is written, or found, again. */
void history_corrupted(struct history *h, uint32_t block);

/* The first thing that was wrong, in words; NULL: nothing. */
const char *history_wrong(const struct history *h);

/* How often a block had more states than HISTORY_STATES_MAX: track of it was lost for a while, and anything was right.
 * And the most that one ever had: what the search costs. */
uint64_t history_track_lost(const struct history *h);
uint64_t history_states(const struct history *h);

#endif
