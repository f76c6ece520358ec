/*
 * probe.h - a volume that counts what is done with it, over another one.
 *
 * Knows at any moment how many channels are open and how much is in flight or
 * lent; a channel can be made not to open.  A volume that its target has given
 * up is poisoned: whoever touches it after that ends the test.
 */
#ifndef WEIR_TESTS_PROBE_H
#define WEIR_TESTS_PROBE_H

#include "blk/blk.h"
#include "world/reactor.h"

enum { PROBE_NOWHERE = 64 };

struct probe {
	struct blk blk;        /* first */
	struct blk *inner;
	unsigned channels;     /* open */
	unsigned busy;         /* in flight or lent */
	unsigned refuse;       /* the reactor on which it cannot be opened; PROBE_NOWHERE */
	bool poisoned;
};

/* Over the volume that the spec names; `probe` stays the caller's.  0 or a negative errno. */
int probe_open(struct probe *probe, struct reactor *reactor, const char *spec, char why[256])
    __attribute__((warn_unused_result));

/* And ends the volume below. */
void probe_close(struct probe *probe);

#endif
