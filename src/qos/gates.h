/*
 * gates.h - may this I/O go, whose turn it is: are there tokens, and does no cap hold it back?
 *
 * Inside of the switch (qos.h).
 */
#ifndef WEIR_QOS_GATES_H
#define WEIR_QOS_GATES_H

#include "qos/qos.h"

void gates_init(struct qos *qos);

/* False: it may not, and its tenant's I/Os of that kind wait at a gate. */
bool gates_pass(struct qos *qos, struct qos_io *io, uint64_t now_ns);

/* It goes. */
void gates_take(struct qos *qos, struct qos_io *io, uint64_t now_ns);

/* Lets those in whose time has come.  False: there is nobody new. */
bool gates_open(struct qos *qos, uint64_t now_ns);

/* The last round that may be begun, because somebody waits for tokens. */
uint64_t gates_round_most(struct qos *qos);

/* A tenant waits at no cap, and what it had there is forgotten. */
void gates_release(struct qos *qos, struct qos_tenant *tenant);

/* A tenant that has nothing is not there any more. */
void gates_forget(struct qos *qos, struct qos_tenant *tenant);

/* When somebody may be let in next; UINT64_MAX: nobody waits for that. */
uint64_t gates_next_ns(struct qos *qos, uint64_t now_ns);

#endif
