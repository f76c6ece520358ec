/*
 * ordered_inside.h - what the files of the rig with ordered writes share.
 */
#ifndef WEIR_LAB_ORDERED_INSIDE_H
#define WEIR_LAB_ORDERED_INSIDE_H

#include "base/hist.h"
#include "base/rng.h"
#include "host/ordered.h"
#include "host/subsys.h"
#include "lab/internal.h"
#include "lab/ordered.h"
#include "keep/store.h"
#include "target/target.h"

enum { ORDERED_LINKS_MAX = 64, ORDERED_PMR_SPARE = 64 * 1024 /* beyond the log, for control messages */ };

struct ordered_rig;

/* A command, or a group, that is under way. */
struct writer_io {
	struct writer *writer;
	struct writer_io *next;       /* while it is free */
	uint64_t since_ns;
	struct order_extent extent;
	struct iovec iov;
};

/* One stream at work: writer.c. */
struct writer {
	struct ordered_rig *rig;
	unsigned index;
	struct reactor *reactor;
	struct lane *lanes[LAB_TARGETS_MAX];
	unsigned lanes_up;
	bool ready, begun;
	struct timer timer;           /* until it begins */
	struct rng rng;
	char *buffer;                 /* of a group: what is written is always the same */
	struct writer_io *ios, *free;
	uint32_t in_flight;
	bool asks;                    /* LAB_HORAE: a control message is under way */
	/* LAB_ORDERED */
	struct ordered *ordered;
	struct order_item *items;
	uint64_t *since_ns;           /* by group; 0: it is none of ours */
	uint32_t seen;                /* the last group that was told complete */
	uint32_t submitted, told;     /* groups of ours */
	/* What has ended. */
	struct hist latency;
	uint64_t writes, commands, failed;
	uint64_t sent;                /* writes that have begun: what went over the network is of these */
};

struct ordered_link {
	uint64_t id;
	unsigned side;
	uint32_t left;                /* bytes of the message under way */
	uint32_t got;                 /* of its header, while that comes */
	uint8_t header[8];
};

struct ordered_wire {
	uint64_t messages[2], bytes[2]; /* by who writes: the host 0, targets 1 */
};

struct ordered_server_side {
	struct ordered_rig *rig;
	unsigned index, drives;
	struct target *target;
	struct keep_region region;
	struct blk *volumes[LAB_DEVICES_MAX];
	struct blk *control;          /* LAB_HORAE: its persistent memory, as a namespace */
	struct store_spec log;
};

struct ordered_rig {
	struct lab *lab;
	const struct lab_ordered *told;
	struct lab_setup setup;       /* the same in the words of other rigs */
	struct ordered_server_side targets[LAB_TARGETS_MAX];
	struct writer writers[LAB_ORDERED_STREAMS_MAX];
	struct subsys *subsys[LAB_TARGETS_MAX];
	struct subsys_find finds[LAB_TARGETS_MAX][LAB_DEVICES_MAX + 1];
	unsigned found, to_find;
	struct order_member members[LAB_DEVICES_MAX];
	uint32_t nsids[LAB_TARGETS_MAX][LAB_DEVICES_MAX];
	struct order_layout layout;
	bool measuring;
	uint64_t begin_ns;
	struct ordered_link links[ORDERED_LINKS_MAX];
	unsigned link_count;
	struct ordered_wire wire;
};

/* writer.c: its lanes are open, and all is known of the volume. */
int writer_open(struct writer *writer) __attribute__((warn_unused_result));
/* One that orders: its stream is recovered, and may begin. */
bool writer_is_ready(const struct writer *writer);

/* control.c: a device of which each write is a line in persistent memory from `at` on, there for good when it ends.  Of
 * one reactor.  NULL: no memory. */
struct blk *control_open(struct reactor *reactor, struct keep_region *region, uint32_t at, uint32_t bytes);

/* wire.c: as sim_options.alike; `arg` is the rig. */
size_t ordered_wire_see(void *arg, const struct sim_process *connected, uint64_t link, unsigned side,
    const uint8_t *bytes, size_t count, bool *may);

#endif
