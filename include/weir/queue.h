/*
 * weir/queue.h - asynchronous I/O: submit, poll, be called back.
 *
 * A queue is a queue pair on each path of its subsystem.  It is used by one
 * thread at a time, and who hands it to another one has its own means to do so
 * (a lock); nothing of it is shared, so nothing is locked, and nothing is
 * allocated per I/O.
 *
 * What is submitted is sent by the next weir_queue_poll(), all of it together,
 * and callbacks come from there.  Each I/O ends exactly once, whatever happens
 * to its connections (doc/failover.md).
 *
 * Each queue has its part in a path that is lost.  One that is not polled for
 * long, and whose descriptor nobody waits for, keeps what that takes, holds up
 * the writes of others where the target knows no FENCE, and makes them wait for
 * twice as long (loss_ms) before they are given up: close it.
 */
#ifndef WEIR_QUEUE_H
#define WEIR_QUEUE_H

#include <sys/uio.h>

#include <weir/subsys.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_queue;

enum weir_op {
	WEIR_OP_READ,
	WEIR_OP_WRITE,
	WEIR_OP_FLUSH,             /* what was written and completed before is durable */
	WEIR_OP_WRITE_ZEROES,
	WEIR_OP_DEALLOCATE,        /* ranges[] */
	WEIR_OP_COMPARE,           /* -EILSEQ: the blocks are not what iov says */
	WEIR_OP_COMPARE_AND_WRITE, /* iov: what must be there, then what is written: 2 x blocks.  Atomic */
	WEIR_OP_VERIFY,            /* the medium can read them */
	WEIR_OP_COPY,              /* ranges[], one behind the other, to lba */
	WEIR_OP_WRITE_UNCORRECTABLE, /* reads fail until the blocks are written again */
	WEIR_OP_COUNT,
};

enum weir_io_flags {
	WEIR_FUA = 1,              /* of WRITE, WRITE_ZEROES and COMPARE_AND_WRITE: durable when done; of READ: from
	                            * the medium */
	WEIR_UNMAP = 2,            /* of WRITE_ZEROES: the target may deallocate */
	/* Its priority among this host's I/Os, where hosts share the volume by turns: of those that wait there 16
	 * with none of these flags are served in turn with 4, 2 and 1 of these.  Elsewhere it means nothing. */
	WEIR_PRIORITY_1 = 1 << 4, WEIR_PRIORITY_2 = 2 << 4, WEIR_PRIORITY_3 = 3 << 4,
};

enum { WEIR_RANGES_MAX = 128, WEIR_IOV_MAX = 256 };

struct weir_range {
	uint64_t lba;
	uint32_t blocks;
};

/* One I/O.  The struct is copied; what it points to is the library's until done(). */
struct weir_io {
	uint8_t op;                /* enum weir_op */
	uint8_t flags;             /* enum weir_io_flags */
	uint16_t iov_count;        /* at most WEIR_IOV_MAX; of COMPARE_AND_WRITE one less */
	uint32_t nsid;
	uint64_t lba;
	uint32_t blocks;           /* of DEALLOCATE and COPY not looked at */
	uint32_t range_count;      /* at most WEIR_RANGES_MAX */
	const struct iovec *iov;   /* exactly `blocks` blocks of bytes, in pieces of any size and address */
	const struct weir_range *ranges; /* copied at once */
	/* Called from weir_queue_poll(), once; it may submit more. */
	void (*done)(void *arg, const struct weir_result *result);
	void *arg;
};

struct weir_queue_options {
	uint32_t size;
	uint32_t depth;            /* I/Os in flight, 1 to 1024; 0: 128.  Compare and Write counts as two */
	/* Another queue of this thread, and of the same host, that it is to be polled together with: polling one of
	 * them is polling both, by the same system calls, and of queues_max they are one.  NULL: by itself. */
	struct weir_queue *with;
};

/* Blocks until it is connected by each path that is live, or one of them if not all can be.  -EAGAIN: the host's
 * queues_max are open; -EUSERS: the controllers grant no more. */
int weir_queue_open(struct weir_subsys *subsys, const struct weir_queue_options *options, struct weir_queue **queue);

/* What is in flight ends with -ESHUTDOWN, in callbacks from here.  Not from a callback.  NULL is ignored. */
void weir_queue_close(struct weir_queue *queue);

/*
 * Takes it on, or -EAGAIN: `depth` are in flight, poll first; -EINVAL: it cannot be right (its namespace is not
 * known, see weir_subsys_namespace(); a buffer of another length than the blocks; more than transfer_max; a Compare
 * and Write where `depth` is 1); -EOPNOTSUPP: the target has no Compare and Write.  Then done() is not called.  Never
 * blocks, never calls back.  A queue that was open when a namespace became known learns of it in its next
 * weir_queue_poll().
 */
int weir_queue_submit(struct weir_queue *queue, const struct weir_io *io);

/*
 * Sends what was submitted, takes what has come, calls back.  `timeout_us` 0: looks once; else waits until at least
 * one I/O is done, the time is over (-1: for ever, while anything is in flight), or a signal was handled.  How many
 * are done; -EDEADLK: it was called from a callback of this queue.
 */
int weir_queue_poll(struct weir_queue *queue, int64_t timeout_us);

/*
 * For loops of one's own: a descriptor that is readable when weir_queue_poll(queue, 0) has something to do.  Before
 * it is waited for weir_queue_poll() has been called after the last submit, until it answered 0.
 */
int weir_queue_fd(const struct weir_queue *queue);

/* I/Os taken on and not done. */
uint32_t weir_queue_in_flight(const struct weir_queue *queue);

/* Submits it and polls until it is done; callbacks of others come meanwhile.  `io` has no done of its own.  0, or
 * the negative errno of *result, which may be NULL. */
int weir_queue_run(struct weir_queue *queue, const struct weir_io *io, struct weir_result *result);

/* What this queue has done so far; from `turns` on, what it cost together with those that it is polled with. */
struct weir_queue_stats {
	uint64_t ios;        /* done */
	uint64_t resent;     /* sent once more, after a path was lost or said no */
	uint64_t turns;      /* looks at the sockets */
	uint64_t syscalls;   /* entries into the kernel */
	uint64_t busy_turns; /* looks that were of use */
	uint64_t busy_ns;    /* what those took, callbacks included */
};

void weir_queue_stats(const struct weir_queue *queue, struct weir_queue_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
