/*
 * gate.h - ordered writes of one stream at a server: which may come, and which goes to its drive next.
 *
 * They come in the order in which the host sent them, by one connection, and go in that order, each when all of its
 * data is there.  (doc/ordered-writes.md, At the server)
 */
#ifndef WEIR_ORDER_GATE_H
#define WEIR_ORDER_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

/* What comes with each, as in struct order_entry. */
struct order_attribute {
	uint32_t first, last, prev, floor;
	uint16_t num, count, flags;
};

/* One that has come; in the request of whoever asks. */
struct order_piece {
	struct list node;
	uint16_t index;     /* so many of its first group came before it */
	bool ready;         /* its data is there */
};

struct order_gate {
	uint32_t last;      /* group of which something has come */
	uint32_t prev;      /* the one before it on this server */
	uint32_t floor;
	uint32_t pieces;    /* of `last` that have come */
	bool ended;         /* no more of `last` will come: not after its last piece, nor after a flush here */
	struct list pieces_held; /* in the order in which they came */
};

/* After recovery, or of a new stream: `last` is the last group on this server that is there, or ORDER_NO_GROUP. */
void order_gate_init(struct order_gate *gate, uint32_t last, uint32_t floor);

/* One comes.  NULL, or why it cannot be, in plain words: then nothing has changed. */
const char *order_gate_admit(struct order_gate *gate, const struct order_attribute *attribute,
    struct order_piece *piece);

/* Is there one that goes next? */
bool order_gate_open(const struct order_gate *gate);

/* It; NULL: its data is not there yet, or there is none. */
struct order_piece *order_gate_next(struct order_gate *gate);

/* All that are held leave, none of them has gone: the stream is not gone on with.  NULL: there are no more. */
struct order_piece *order_gate_clear(struct order_gate *gate);

#endif
