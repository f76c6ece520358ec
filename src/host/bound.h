/*
 * bound.h - I/O of a lane that goes by one association or not at all, and admin commands beside it.
 *
 * For those who look after what is lost themselves, as streams of ordered writes do (ordered.h): such an I/O is sent at
 * once and by that queue, in the order of the calls, and never by another one.  What may be sent again, and when, the
 * lane knows nothing of.  An association is named by its serial, which is never 0 and never comes again.
 *
 * All functions are called on the lane's reactor.
 */
#ifndef WEIR_HOST_BOUND_H
#define WEIR_HOST_BOUND_H

#include "host/ctrlr.h"
#include "host/lane.h"

/* Namespaces that are all to be reached, by commands of so many bytes at most. */
struct bound_terms {
	const uint32_t *nsids;
	unsigned count;
	uint32_t bytes;
};

/* The association by which ordered writes reach them best, or 0: there is none now. */
uint32_t bound_choose(struct lane *lane, const struct bound_terms *terms);

/* Whether that one still reaches them. */
bool bound_holds(struct lane *lane, uint32_t serial, const struct bound_terms *terms);

/* Whether there are paths, and none that takes ordered writes. */
bool bound_is_in_vain(const struct lane *lane);

/* The lane's queue of any controller. */
uint16_t bound_qid(const struct lane *lane);

/* `task` is run, in a turn, after anything that may change what these answer; NULL: no more. */
void bound_watch(struct lane *lane, struct task *task);

/* The command is copied; iov and the buffers are the lane's until done(). */
struct bound_io {
	struct nvme_sqe sqe;    /* a Write, or a command without data */
	const struct iovec *iov;
	uint32_t iov_count, bytes;
	uint8_t priority;       /* 0 to 3 */
	/* From a turn; -ECONNRESET: its connection was lost. */
	void (*done)(void *arg, const struct lane_result *result);
	void *arg;
};

/* Whether one more can go to that namespace now. */
bool bound_room(struct lane *lane, uint32_t serial, uint32_t nsid);

/* There is room. */
void bound_submit(struct lane *lane, uint32_t serial, const struct bound_io *io);

/* An admin command for the controller of that association.  The owner fills sqe, data, iov, iov_count and length of
 * `cmd.io.req`, and done. */
struct bound_ask {
	struct ctrlr_cmd cmd;   /* once it is done: its status, dw0 */
	bool lost;              /* nobody knows whether it was executed */
	void (*done)(struct bound_ask *ask); /* from a turn of the lane's reactor */
	void *owner;
	struct lane *lane;      /* the library's, from here on */
	struct subsys *subsys;
	unsigned reactor;
};

/* It and its buffers are the subsystem's until done(), which the lane is not to be closed before. */
void bound_ask(struct lane *lane, uint32_t serial, struct bound_ask *ask);

#endif
