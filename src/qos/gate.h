/*
 * gate.h - where tenants wait whose I/Os may not go just now, and who of them is next.
 *
 * Two kinds.  At a gate they wait for tokens, in the order of their turns, and who is let in has the rest of his turn.
 * At a stile they wait because a cap that they share holds them back: one I/O at a time is let in, of the tenant that
 * has had least there for its part.  (Start-time fair queueing: Goyal, Vin and Cheng 1996.)
 */
#ifndef WEIR_QOS_GATE_H
#define WEIR_QOS_GATE_H

#include "qos/share.h"

/* More rounds than others may be ahead; a power of two. */
enum { QOS_ROUNDS_SHUT = 8 };

struct qos_gate {
	struct list rounds[QOS_ROUNDS_SHUT]; /* lanes, by the last bits of the tenant's round */
	uint64_t round;              /* no lane is of an earlier one */
	uint32_t waiting;
	uint8_t full;                /* bit n: rounds[n] is not empty */
	struct qos_lane *passing;    /* that was let in last, and has not gone on yet */
};

void qos_gate_init(struct qos_gate *gate);

/* An I/O that qos_share_next() answered waits, as the first or the last of its round. */
void qos_gate_shut(struct qos_gate *gate, struct qos_share *share, struct qos_io *io, bool first);

/* Who is next; NULL: nobody waits. */
struct qos_lane *qos_gate_first(struct qos_gate *gate);

/* Lets him in. */
void qos_gate_open(struct qos_gate *gate, struct qos_share *share, struct qos_lane *lane);

struct qos_stile {
	struct timers lanes;         /* by when they are due, in the stile's own time */
	uint64_t time;               /* that is when the last one that was let in was due */
	uint32_t waiting;
	struct qos_lane *passing;    /* that was let in, and has not gone yet */
};

void qos_stile_init(struct qos_stile *stile);

/* An I/O that qos_share_next() answered waits; `level`: at which of a lane's caps. */
void qos_stile_shut(struct qos_stile *stile, struct qos_share *share, struct qos_io *io, unsigned level);

/* Lets in who is next; NULL: nobody waits. */
struct qos_lane *qos_stile_open(struct qos_stile *stile, struct qos_share *share);

/* An I/O goes, whether it had to wait or not. */
void qos_stile_take(struct qos_stile *stile, const struct qos_share *share, struct qos_io *io, unsigned level);

#endif
