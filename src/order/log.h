/*
 * log.h - a part of the log of ordered writes and who appends to it: where does an entry go, when is it there for good,
 * and what may be overwritten?  (doc/formats/ordered-log.md, Writing; doc/ordered-writes.md, What the log knows)
 *
 * Slots are kept in memory here.  Whatever place keeps them for good is handed what changed, a commit at a time, and
 * says when that is durable.  What is not needed any more counts so from when what replaces it is appended: it is
 * overwritten only after all that was appended by then is durable.
 *
 * One thread.  Memory is the caller's, and nothing fails.
 */
#ifndef WEIR_ORDER_LOG_H
#define WEIR_ORDER_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "order/known.h"
#include "order/scan.h"

/* Slots of a stream in the order of what is in them. */
struct order_chain {
	uint32_t oldest, latest, count;
};

/* What the appender of a part knows of a stream: one for each stream that has entries in the part. */
struct order_track {
	uint32_t owner;
	uint16_t stream, term;
	uint32_t cut;         /* with which the term began */
	bool taking;          /* and so that what is after that is being taken back */
	uint32_t high;        /* the greatest group of earlier terms: until that is not needed marks are */
	uint32_t floor;       /* that was told */
	uint32_t stands;      /* that is in the newest entry: of what is not after it nothing is needed */
	uint64_t newest;      /* its place; ORDER_NO_PLACE: there never was one here */
	struct order_chain writes, marks; /* that are needed */
	uint8_t leaving;      /* 0: its newest entry stays; 1: it need not; 2: once more.  See order_track_close() */
};

#define ORDER_NO_PLACE UINT64_MAX

enum { ORDER_GUARANTEED_LEAST = 16 };

/* What is to be durable next.  It is copied before anything else happens to the log. */
struct order_commit {
	uint64_t from, to;     /* the entries at these places, */
	const uint32_t *words; /* and the persist words of these slots */
	uint32_t word_count;
};

struct order_log {
	struct order_image *slots;
	uint32_t count, seed;
	struct order_slot *states;
	uint8_t *is;                           /* each slot; see log_inside.h */
	uint32_t *words, word_count;           /* slots of which the word is new */
	uint64_t tail, durable, next;          /* places: what is before the tail may be overwritten */
	uint64_t begun;                        /* where the batch begins that is appended to */
	uint64_t swept, swept_taken;           /* it was seen to what is before that that it is not needed */
	uint64_t words_made, words_taken, words_durable; /* of all that there ever were */
	uint32_t needed, marks, tracks;        /* of all streams */
	uint32_t guaranteed;                   /* writes of a stream that there is always room for */
	uint32_t unspent;                      /* of all streams */
	bool taken;                            /* a commit is on its way */
};

/* What is known of a slot that is not free.  Whether it is lies beside this: many free ones are looked at in a row. */
struct order_slot {
	struct order_track *track;
	uint32_t before, after; /* in its chain */
};

/* Writes of a stream that there is always room for, in a part of so many slots. */
static inline uint32_t
order_guaranteed(uint32_t slots)
{
	return slots / 128 > ORDER_GUARANTEED_LEAST ? slots / 128 : ORDER_GUARANTEED_LEAST;
}

/* An empty part of the log of that seed: slots are zeros; a power of two, ORDER_SLOTS_LEAST at least; and as many of
 * the others. */
void order_log_init(struct order_log *log, struct order_image *slots, uint32_t count, uint32_t seed,
    struct order_slot *states, uint8_t *is, uint32_t *words);

/*
 * A part of which the slots were read and are durable, and which order_scan() has looked at.  What is then adopted of
 * it is needed, and nothing else.  What came of a torn batch is emptied: its slots are to be so durably before
 * anything is committed.
 */
void order_log_load(struct order_log *log, const struct order_scan *scan);

/* Is there room for one more stream, and all that is guaranteed to it? */
bool order_log_opens(const struct order_log *log);

/* A stream that has nothing in this part. */
void order_track_init(struct order_log *log, struct order_track *track, uint32_t owner, uint16_t stream);

/*
 * A stream, of which these are all entries of all parts, as order_stream_read() left them, and which has some in this
 * part, of number `part`.  Before anything is appended.
 */
void order_track_adopt(struct order_log *log, struct order_track *track, const struct order_known *known,
    uint32_t count, uint32_t part);

/*
 * What this part, of number `part`, has of it that is needed, in no order, for order_stream_read(); there is room for
 * order_track_count() of them.  Answers how many.
 */
uint32_t order_track_count(const struct order_track *track);
uint32_t order_track_list(const struct order_log *log, const struct order_track *track, uint32_t part,
    struct order_known *known);

/* The host has told a floor; only later ones count. */
void order_track_tell(struct order_track *track, uint32_t floor);

/* Another part has a durable entry with that floor, and keeps it. */
void order_track_hold(struct order_log *log, struct order_track *track, uint32_t floor);

/*
 * Nothing more of it is appended here.  `elsewhere`: it goes on in another part, in which there is a durable mark; else
 * for nobody, its floor is at its end, and no other part has anything of it.
 */
void order_track_close(struct order_log *log, struct order_track *track, bool elsewhere);

/* Of a stream that was closed: whether this part has nothing more of it; then its track has gone. */
bool order_track_leave(struct order_log *log, struct order_track *track);

/* May a write of that stream be appended?  False: not now; but after a commit, or when a later floor was told. */
bool order_log_ask(struct order_log *log, struct order_track *track);

/* How many of that stream may before it has to tell a later floor; it comes to half of what is left, and at least to
 * what is guaranteed. */
uint32_t order_log_left(const struct order_log *log, const struct order_track *track);

/* The floor that was told last stands in an entry that was appended, if only in a mark for it.  False: not now. */
bool order_log_stand(struct order_log *log, struct order_track *track);

/*
 * A write for which there is room: owner, stream, term, floor, lap and batch are filled in.  Answers its place: it is
 * durable when `durable` is after that.
 */
uint64_t order_log_append(struct order_log *log, struct order_track *track, struct order_entry *entry);

/* It has ended.  If it persists it answers how many words there were with its own: it is durable when `words_durable`
 * is not less. */
uint64_t order_log_end(struct order_log *log, uint64_t place, bool persists);

/*
 * A term of a stream of which nothing is in flight begins, though it was closed, with a mark and the floor that was
 * told last.  `taking`: what it wrote after `cut` does not count any more, and is to be taken back; else it was, and is
 * not needed, but in place.  `high`: the greatest group that it has had anywhere. False: not now.
 */
bool order_log_cut(struct order_log *log, struct order_track *track, uint16_t term, uint32_t cut, uint32_t high,
    bool taking);

/* To be called after each commit, and when something cannot be appended: appends anew what is needed at the end of the
 * log, if room is short. */
void order_log_sweep(struct order_log *log);

/* False: there is nothing to commit, or one is on its way. */
bool order_log_take(struct order_log *log, struct order_commit *commit);

/* It is durable. */
void order_log_done(struct order_log *log);

#endif
