/*
 * sim_load.h - the real target and real hosts in the simulation, with a load whose contents are checked.
 *
 * A target process serves one volume, in RAM or in a simulated file.  Each host keeps a number of 4 KiB
 * reads and writes in flight at random blocks of a part of it that is its own;
 * of a block there is one at a time, so that what a read finds is known.
 */
#ifndef WEIR_BENCH_SIM_LOAD_H
#define WEIR_BENCH_SIM_LOAD_H

#include "base/rng.h"
#include "host/lane.h"
#include "host/subsys.h"
#include "sim/sim.h"
#include "target/target.h"

enum { LOAD_BLOCK = 4096, LOAD_BLOCKS = 1024 /* of each host */, LOAD_DEPTH_MAX = 256 };

/* Zeroed by who makes it, who sets the first lines. */
struct load_target {
	uint32_t blocks;
	bool in_file;
	unsigned started;
	struct target *target;
	struct blk *volume;
};

/* sim_process_options.start of the target, whose process is the first one and so at LOAD_TARGET. */
int load_target_start(struct reactor *reactor, void *arg);

struct load_host;

struct load_io {
	struct load_host *host;
	uint32_t block;
	bool write;
	struct iovec iov;
};

/* Zeroed by who makes it, who sets the first lines. */
struct load_host {
	unsigned index;
	uint32_t depth;         /* at most LOAD_DEPTH_MAX */
	uint32_t reads_percent;

	struct reactor *reactor;
	struct subsys *subsys;
	struct subsys_find find;
	struct lane *lane;
	struct rng rng;
	uint32_t versions[LOAD_BLOCKS]; /* what stands in each block: how often it was written */
	bool busy[LOAD_BLOCKS];
	struct load_io ios[LOAD_DEPTH_MAX];
	uint64_t reads, writes, failed, wrong;
};

/* sim_process_options.start of a host. */
int load_host_start(struct reactor *reactor, void *arg);

#endif
