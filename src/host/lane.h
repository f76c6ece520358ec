/*
 * lane.h - one queue of a user: a queue pair on each path of a subsystem, and the I/O on them.
 *
 * A lane belongs to one reactor, which need not be the one that the subsystem
 * is on; the two speak by mail (host/mail.h).  Each I/O ends exactly once.  It
 * goes by a path that its namespace can be reached by; when that is lost, what
 * is known not to have changed anything goes at once by another one, and what
 * may have waits until the subsystem says that the lost association is over
 * (doc/failover.md).
 *
 * Nothing is allocated after lane_open(), and nothing is shared but what cache.h
 * tells all lanes of each other's writes.
 */
#ifndef WEIR_HOST_LANE_H
#define WEIR_HOST_LANE_H

#include <sys/uio.h>

#include "host/qpair.h"

struct lane;
struct subsys;

enum lane_op {
	LANE_READ,
	LANE_WRITE,
	LANE_FLUSH,
	LANE_WRITE_ZEROES,
	LANE_DEALLOCATE,        /* ranges */
	LANE_COMPARE,
	LANE_COMPARE_AND_WRITE, /* iov: 2 x blocks: first what is compared */
	LANE_VERIFY,
	LANE_COPY,              /* ranges, to lba */
	LANE_WRITE_UNCORRECTABLE,
	LANE_OPS,
};

/* From the shift on, two bits: its priority among this host's, 0, served most, to 3. */
enum lane_flags { LANE_FUA = 1, LANE_UNMAP = 2, LANE_PRIORITY_SHIFT = 4 };

enum { LANE_RANGES_MAX = 128, LANE_DEPTH_MAX = 1024 };

struct lane_range {
	uint64_t lba;
	uint32_t blocks;
};

/* How an I/O ended; error as weir/status.h says. */
struct lane_result {
	int error;
	struct nvme_status status; /* the target's; success where it has said nothing */
	uint16_t path;             /* where error is 0, or the status is not success: by which it was said */
	uint32_t dw0, dw1;
};

/* What to do.  The struct and the ranges are copied; iov and the buffers are the lane's until done(). */
struct lane_io {
	uint8_t op, flags;      /* enum lane_op, enum lane_flags */
	uint32_t iov_count, range_count;
	uint32_t nsid;
	uint32_t blocks;
	uint64_t lba;
	const struct iovec *iov;
	const struct lane_range *ranges;
	void (*done)(void *arg, const struct lane_result *result); /* from a turn, never from inside a call */
	void *arg;
};

struct lane_options {
	uint32_t depth;         /* I/Os at a time, 1 to LANE_DEPTH_MAX */
	/* Once: 0, it can be used; else it cannot, `why` says it, and only lane_close() may follow.  From a turn. */
	void (*ready)(struct lane *lane, int error, const char *why);
	void *owner;
};

/* Begins to join the subsystem, which lives on reactor 0 of the same process.  0, or -ENOMEM. */
int lane_open(struct reactor *reactor, struct subsys *subsys, const struct lane_options *options, struct lane **lane)
    __attribute__((warn_unused_result));

/* All I/O that is left ends with -ESHUTDOWN, from a turn; then closed() is called, and the lane is gone.  Its
 * connections are closed in order where nothing was in flight on them. */
void lane_close(struct lane *lane, void (*closed)(void *owner));

/* 0: it will be done once; -EAGAIN: `depth` are; -EINVAL: it cannot be right; -EOPNOTSUPP: a Compare and Write, which
 * the target has not.  Sent at the end of the turn. */
int lane_submit(struct lane *lane, const struct lane_io *io) __attribute__((warn_unused_result));

/* Bytes that one command may have now: what each live path takes.  Only a turn changes it.  0: the namespace is not
 * known. */
uint32_t lane_transfer_max(struct lane *lane, uint32_t nsid);

void *lane_owner(const struct lane *lane);
uint32_t lane_in_flight(const struct lane *lane); /* taken on and not done */
uint64_t lane_done(const struct lane *lane);
uint64_t lane_resent(const struct lane *lane);

#endif
