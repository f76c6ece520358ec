/*
 * forger.h - a process between a host and a target that changes what the target
 * says, PDU by PDU.
 *
 * So a host meets a target that lies about one thing, and about nothing else.
 * Connections have no digests.
 */
#ifndef WEIR_TESTS_FORGER_H
#define WEIR_TESTS_FORGER_H

#include "sim/sim.h"
#include "wire/pdu.h"

/* Zeroed by the test, which sets the first lines. */
struct forger {
	const char *host;        /* its own, at the target's port */
	const char *target;
	uint16_t port;
	bool any_port;           /* of its own; */
	uint16_t own_port;       /* this one, once it listens */
	/* Sees each PDU that the target sends on a connection, the n-th of its type, and changes it where it is; false:
	 * it is swallowed. */
	bool (*forge)(struct forger *f, uint8_t *pdu, unsigned nth);
	/* As much of what the host sends; NULL: nobody wants to see it. */
	bool (*hear)(struct forger *f, uint8_t *pdu);
	const void *pair;        /* the connection that either is called for */
	void *owner;
	bool deaf;               /* TermReqs of the host do not reach the target */
	struct reactor *reactor;
	unsigned terms;          /* so many came */
	unsigned open;           /* connections that have not ended */
	unsigned resets, leaves; /* those that the host ended so */
};

int forger_start(struct reactor *reactor, void *arg);

#endif
