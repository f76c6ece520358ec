/*
 * hosted_lane.h - wishes of hosts as they wait: those of one subsystem in one lane, where its hosts take turns.
 *
 * Lanes take turns, too.  A namespace that is to be created waits in its lane until it has a file, which takes a disk's
 * time: meanwhile those of other lanes are done.  A disk that does not answer is waited for LANE_PATIENCE_MS.
 */
#ifndef WEIR_CMD_HOSTED_LANE_H
#define WEIR_CMD_HOSTED_LANE_H

#include "conf/conf.h"
#include "host_turns.h"
#include "opening.h"
#include "pool_jobs.h"
#include "target/wish.h"

enum { LANE_PATIENCE_MS = 15000 };

struct hosted;
struct made;
struct made_ns;

/* The file of a namespace that is to be created: it is made, its volume opened, and removed where nothing comes of
 * the rest. */
struct lane_file {
	struct list node;         /* in hosted->files */
	struct hosted *hosted;
	struct lane *lane;        /* NULL: it is waited for no more, and its wish was answered */
	struct target_wish *wish;
	struct timer patience;
	struct pool_job job;
	struct opening opening;   /* of its volume; where that cannot be, who needs it says why */
	char nqn[NVME_NQN_FIELD], pool[CONF_POOL_MAX + 1], path[CONF_SPEC];
	uint8_t uuid[16];
	uint64_t bytes;
	uint32_t block_size;
	bool ready, removing;     /* it is there; it is to go */
	int rc;
	struct nvme_status undone; /* what the wish ends with once it is gone */
};

/* There as long as there is anything in it. */
struct lane {
	struct list node;         /* in hosted->lanes */
	struct hosted *hosted;
	char nqn[NVME_NQN_FIELD]; /* the subsystem */
	struct host_turns waiting; /* wishes, by their node */
	struct lane_file *file;   /* of the one that went before them; NULL: none waits for one */
};

/* One more wish, behind those of its host in its subsystem.  0, or -ENOMEM. */
int lane_push(struct hosted *hosted, struct target_wish *wish) __attribute__((warn_unused_result));

/* The lane whose turn it is, as it has one that can be done; or NULL.  And that wish, out of it. */
struct lane *lane_next(struct hosted *hosted);
struct target_wish *lane_take(struct lane *lane);

/* The file of a namespace of this lane: there is a record, and none of it needs any other.  The wish is the lane's,
 * until it has its file and its turn, or is answered.  0, or -ENOMEM. */
int lane_make_file(struct lane *lane, struct target_wish *wish, const struct made *made, const struct made_ns *ns,
    const char *pool) __attribute__((warn_unused_result));

/* It is to go, and then its wish is answered so. */
void lane_remove_file(struct lane *lane, struct nvme_status undone);

/* The wish that was taken last is answered; with a file or without. */
void lane_answered(struct lane *lane);

/* Wishes that are over, or all where the target stops, end but for the one at work; a file that was, or is, made for
 * one goes. */
void lanes_end_over(struct hosted *hosted);

/* No errand runs any more. */
void lanes_end(struct hosted *hosted);

#endif
