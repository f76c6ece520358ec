/*
 * script.h - hosts without manners: a whole target, in the simulation, to which
 * the bytes of a script are done.
 *
 * The first byte says in what scene it plays: few buffers or some more, a volume
 * in memory or in a file, an honest host that writes little or much, static
 * controllers.  After it,
 * each step of the script is a byte, which names one of a few connections and
 * what is done on it, and the bytes it needs: connect, send a command with
 * these fields, send data that was asked for or was not, stop reading, stop
 * half-way, go.  The PDUs are well formed and have right digests, so that a
 * fuzzer gets past the framer; what they say need not make sense.  The target
 * has short time-outs.  Beside it an honest host does its work.
 */
#ifndef TESTS_SCRIPT_H
#define TESTS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct script_end {
	bool served;        /* the honest host did all its I/O, on one association, without an error */
	uint64_t wishes;    /* of namespaces that were done, */
	uint64_t refused;   /* and that were not */
	bool nothing_left;  /* when all had gone: no stream, no connection, no buffer */
};

/* The same; a while after its start this allocation of a reactor of the target fails, 1: the next.  Nothing is
 * said of the honest host then. */
struct script_end script_play_failing(const uint8_t *bytes, size_t count, unsigned reactor, uint64_t fail_at);

struct script_end script_play(const uint8_t *bytes, size_t count);

#endif
