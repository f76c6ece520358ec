/*
 * tcp_pair.h - a host's and a target's side of one connection, joined by two
 * byte queues that split and join at will.  No socket, no clock.
 */
#ifndef WEIR_TEST_TCP_PAIR_H
#define WEIR_TEST_TCP_PAIR_H

#include "base/rng.h"
#include "tcp/hconn.h"
#include "tcp/tconn.h"

enum {
	PAIR_DEPTH = 16, PAIR_DATA = 256 * 1024, PAIR_PIECE = 32 * 1024, PAIR_WIRE = 4 * 1024 * 1024,
	PAIR_VOLUME = 1024 * 1024,
	PAIR_STALE = 64 * 1024,   /* bytes that slots which were never used seem to wait for, for CID 0 */
};

/* What the target side keeps of one command. */
struct pair_slot {
	struct xfer xfer;
	struct nvme_sqe sqe;
	struct iovec iov[3];
	uint8_t data[PAIR_DATA];
};

struct pair_wire {
	uint8_t bytes[PAIR_WIRE];
	size_t head, tail;
};

struct pair {
	struct rng rng;
	struct hconn hc;
	struct tconn tc;
	struct gather gather;
	struct pair_wire to_target, to_host;
	struct hreq *reqs[PAIR_DEPTH];
	uint16_t cids[PAIR_DEPTH];
	struct pair_slot slots[PAIR_DEPTH];
	uint8_t volume[PAIR_VOLUME];
	uint32_t segment_max;     /* bytes that arrive at once; 1: one by one */
	bool up, host_closing, target_closing;
	unsigned commands, completions;
	void (*completed)(struct pair *pair, struct hreq *req);
	/* Asked before the target answers a command; NVME_OK lets it be done. */
	struct nvme_status (*verdict)(struct pair *pair, const struct nvme_sqe *sqe);
};

/* The slot, made ready if it was never used. */
struct pair_slot *pair_slot(struct pair *pair, unsigned index);

/* A pair that has not said hello; on the heap, freed by the caller. */
struct pair *pair_create(uint64_t seed, bool hdgst, bool ddgst, bool sq_flow);

/* One that has. */
struct pair *pair_connected(uint64_t seed, bool hdgst, bool ddgst, bool sq_flow);

/* Moves bytes until nothing is left to move. */
void pair_run(struct pair *pair);

/* Reads or writes `length` bytes at `offset` of the volume: opcode, CDW10 = offset. */
void pair_request(struct hreq *req, uint8_t opcode, uint32_t offset, struct iovec *iov, uint32_t count,
    uint32_t length);

/* What one side has to send, gathered anew; nothing of it goes on the wire. */
void pair_gather_target(struct pair *pair);
void pair_gather_host(struct pair *pair);

/* A read in this slot of the target is answered with what lies at `iov`; answers are withdrawn, where they can be. */
void pair_answer(struct pair *pair, unsigned slot, struct iovec *iov);
void pair_withdraw(struct pair *pair, struct fifo *withdrawn);

#endif
