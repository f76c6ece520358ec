/*
 * target.h - the NVMe/TCP target: subsystems served over the world it is given.
 *
 * One `struct target` per process, constant after target_create(); one core
 * per reactor, which owns the connections that live there.
 */
#ifndef WEIR_TARGET_TARGET_H
#define WEIR_TARGET_TARGET_H

#include "base/arena.h"
#include "blk/blk.h"
#include "ctrl/ctrl.h"
#include "world/reactor.h"

enum {
	TARGET_NS_MAX = 64,
	TARGET_LISTENERS_MAX = 16,
	TARGET_INCAPSULE = 8192,        /* bytes, on every queue */
	TARGET_MAXH2CDATA = 1024 * 1024,
	TARGET_ASKED_MAX = 1024 * 1024, /* bytes one connection may be asked for at a time */
	TARGET_IO_QUEUES = 128,         /* per controller */
	TARGET_QUEUE_ENTRIES = 1024,
	TARGET_MDTS_SHIFT = 8,          /* 4 KiB << 8 = 1 MiB */
	TARGET_FUSED_MAX = 32 * 1024,   /* bytes of a fused Compare and Write */
	TARGET_COPY_MAX = 128 * 1024 * 1024, /* bytes of a Copy */
	TARGET_COPY_RANGES = 128,       /* and its ranges */
	TARGET_COPY_RANGE_MAX = 32768,  /* blocks of one of them: MSSRL is a 16-bit number */
};

struct target_listen {
	char host[64];
	uint16_t port;
};

struct target_options {
	const char *subnqn;
	uint8_t identity[16];      /* of the subsystem: its serial number is derived from it */
	struct blk *const *volumes; /* become namespaces 1.. */
	const uint8_t (*volume_ids)[16]; /* one for each: its UUID and NGUID are derived from it */
	uint32_t volume_count;
	const struct target_listen *listen;
	uint32_t listen_count;
	bool authenticate;         /* hosts must show who they are; until a way to is built, none can */
	uint32_t handshake_timeout_ms; /* accept to a usable queue; 0: 10 s */
	uint32_t stall_timeout_ms;     /* a PDU, an R2T or an answer without progress; 0: 30 s */
	uint32_t connections_max;      /* 0: 4096 */
};

struct target_stats {
	uint64_t reads, writes, read_blocks512, write_blocks512, media_errors;
	uint64_t connections; /* now */
	uint64_t turns, busy_turns, busy_ns, syscalls; /* of the reactors */
};

struct target;

/* 0, or -ENOMEM or -EINVAL (`why` says it).  The volumes stay the caller's. */
int target_create(struct arena *arena, const struct target_options *options, struct target **target,
    char why[256]) __attribute__((warn_unused_result));

/*
 * Begins to serve on one reactor; called once on each, in any order, and before
 * mail is delivered there: reactor 0 listens, and posts streams to the others as
 * soon as it runs.  0, or a negative errno with `why`.
 */
int target_start(struct target *target, struct reactor *reactor, char why[256])
    __attribute__((warn_unused_result));

/* After target_start() on reactor 0: the address really bound. */
const struct target_listen *target_bound(const struct target *target, uint32_t index);

/*
 * Called on reactor 0: takes no more connections, lets what is in flight end
 * (half a second at most), closes all, and calls `drained` there.
 */
void target_drain(struct target *target, void (*drained)(void *owner), void *owner);

/* The sum of what all reactors counted; only when none runs. */
void target_stats(const struct target *target, struct target_stats *sum);

/* The same while they run: asks each, and calls `told` with the sum.  Called on reactor 0; a question
 * asked before the last one was answered is dropped. */
void target_ask_stats(struct target *target, void (*told)(void *owner, const struct target_stats *sum),
    void *owner);

/* Bytes of memory that a queue of `entries` entries takes at most, and a connection without it. */
size_t target_queue_bytes(uint32_t entries);
size_t target_connection_bytes(void);
size_t target_controller_bytes(uint32_t volumes);
/* And what a reactor takes for answers being built and sent, and for commands done piece by piece. */
size_t target_reactor_bytes(void);

/* After draining, on each reactor: gives its core back. */
void target_fini(struct target *target, struct reactor *reactor);

#endif
