/*
 * perf.h - the load of `weir perf`: options in, measurements out.
 */
#ifndef WEIR_CMD_PERF_H
#define WEIR_CMD_PERF_H

#include "base/hist.h"
#include "blk/blk.h"
#include "host/host.h"

struct perf_options {
	const char *uri_text, *hostnqn;
	const char *congestion; /* NULL: the system's */
	struct host_uri uri;
	bool random, verify, json, hdgst, ddgst, sq_flow, progress;
	int fixed_mix;    /* percent of reads that --rw means; -1: `mix` says */
	unsigned mix, qd, queues;
	uint64_t bs, seconds, size, seed;
	uint64_t ios;     /* so many instead of `seconds`; 0: as many as go */
	int cpu;          /* -1: not pinned */
};

struct perf_side {
	struct hist hist; /* ns */
	uint64_t bytes;
};

/* What the I/O thread did: entries into the kernel, turns that were of use, and what those took. */
struct perf_turns {
	uint64_t syscalls, busy, busy_ns;
};

struct perf_result {
	struct perf_side read, write;
	uint64_t elapsed_ns;
	struct perf_turns turns; /* of the load, as elapsed_ns */
	uint64_t errors;
	char first_error[96];
	bool verify;
	uint64_t checked, wrong, first_wrong; /* pieces of one I/O's size; byte offset */
};

/* 0, or -1 after having said on stderr why there is no result. */
int perf_run(const struct perf_options *options, struct perf_result *result);

#endif
