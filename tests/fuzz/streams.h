/*
 * streams.h - plays bytes to one side of a connection and says what came of it.
 */
#ifndef TESTS_FUZZ_STREAMS_H
#define TESTS_FUZZ_STREAMS_H

#include <stddef.h>
#include <stdint.h>

/* What a peer's bytes did: two ways of cutting the same bytes must do the same. */
struct outcome {
	uint64_t hash;     /* of all commands, data and completions, in order */
	uint32_t fes, fei; /* the fault that ended it; 0: none */
	unsigned events;
};

/* In pieces of `step` bytes, to a target with a queue of 8, or to a host with 8 commands in flight.  What the target
 * sends is held against what it has to say (sent_watch.h); a command's CDW15, unless it is 0, is how many bytes of that
 * its wire takes at each event from then on. */
struct outcome play_target(const uint8_t *data, size_t size, size_t step);
struct outcome play_host(const uint8_t *data, size_t size, size_t step);

#endif
