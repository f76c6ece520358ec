/*
 * served.h - a target for tests of the library: `weir serve` in a process of its own, on a port that is free.
 *
 * Waits for what it says, never for a time to pass.  Where it does not come up the test fails.
 */
#ifndef WEIR_TESTS_LIB_SERVED_H
#define WEIR_TESTS_LIB_SERVED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SERVED_NQN "nqn.2026-11.local.weir:default"
#define SERVED_HOST "nqn.2026-11.local.weir:test-host"

enum { SERVED_ARGS = 24 };

struct served {
	pid_t pid;
	int out;                   /* what it prints */
	uint16_t port;             /* of the first listener */
	uint16_t second;           /* of the second, or 0 */
	char args[SERVED_ARGS][256]; /* as it was started */
	unsigned count;
};

/* `weir serve --listen 127.0.0.1:0` with more arguments, the last NULL. */
void served_start(struct served *served, const char *arg, ...) __attribute__((sentinel));

/* As at the start, at the same ports. */
void served_again(struct served *served);

/* At once, as by a loss of power; its connections are reset. */
void served_kill(struct served *served);

/* In order. */
void served_stop(struct served *served);

void served_signal(const struct served *served, int signal);

/* nvme+tcp://127.0.0.1:PORT/NQN and what follows, in one of eight buffers that are used in turn. */
const char *served_uri(const struct served *served, const char *more);

/* A file of this test's own, removed at the end. */
const char *served_file(const char *name);
void served_clean(void);

#endif
