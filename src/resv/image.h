/*
 * image.h - the state of a namespace's reservations as it is kept.
 *
 * Answers: which bytes hold this state, and which state do these bytes hold?
 * Two slots are written in turn, so that a write that is interrupted leaves
 * the older state or the newer one.  doc/formats/reservations.md has the
 * layout and the order of writes.  Does not know where the slots lie, nor how
 * they are made durable.
 */
#ifndef WEIR_RESV_IMAGE_H
#define WEIR_RESV_IMAGE_H

#include "resv/resv.h"

enum { RESV_SLOTS = 2, RESV_SLOT_LEN = 4096, RESV_UUID_LEN = 16 };

/* Sequence numbers 1 and 2 are those of formatting: the empty state. */
enum { RESV_SEQUENCE_FORMATTED = 2 };

/* Which slot the state with this sequence number is written to. */
static inline unsigned resv_slot(uint64_t sequence) { return sequence % RESV_SLOTS; }

/*
 * The slot that holds the state.  Of a state with PTPL clear it says what a
 * loss of power leaves: nothing.  `sequence` is the one after the last that
 * was durable; 1 and 2 are of a state fresh from resv_init().
 */
void resv_encode(const struct resv *resv, const uint8_t uuid[RESV_UUID_LEN], uint64_t sequence,
    uint8_t out[RESV_SLOT_LEN]);

enum resv_found {
	RESV_FRESH,   /* nothing was kept: sequences 1 and 2 are written before the first state */
	RESV_FOUND,
	RESV_DAMAGED, /* something was kept, and nobody knows what: to be refused */
	RESV_FOREIGN, /* of another namespace, or of a later version: to be refused */
};

/*
 * What both slots say.  FRESH and FOUND fill `resv`, which can persist, and
 * `sequence`, the last that was durable (FRESH: 0); else they are untouched.
 */
enum resv_found resv_decode(const uint8_t slots[RESV_SLOTS][RESV_SLOT_LEN], const uint8_t uuid[RESV_UUID_LEN],
    struct resv *resv, uint64_t *sequence);

#endif
