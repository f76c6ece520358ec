/*
 * mail.h - what lanes and their subsystem say to each other (doc/failover.md).
 *
 * Pointers are tokens of their owner's memory, which stays until the answer has
 * come; what a view or the terms of a strand hold is immutable, and read by the
 * lane that was given it.
 */
#ifndef WEIR_HOST_MAIL_H
#define WEIR_HOST_MAIL_H

#include "host/cache.h"
#include "host/subsys.h"

struct lane;

/* words[0] is the receiver: the subsystem, or the lane. */
enum host_mail_kind {
	/* lane -> subsystem; words[1]: the lane */
	HOST_LANE_JOIN = 1,
	HOST_LANE_LEAVE,      /* all its strands are closed; words[2]: its view, or 0 */
	HOST_VIEW_BACK,       /* words[2]: a view that it had */
	HOST_STRAND_DOWN,     /* arg: serial; words[2]: negative errno; words[3]: why, until STRAND_CLOSED */
	HOST_STRAND_CLOSED,   /* arg: serial; words[2]: I/Os that are parked */
	HOST_STRAND_ABORT,    /* arg: serial; words[2]: queue id | CID << 16 */
	HOST_PATH_STALE,      /* arg: serial: an ANA status was seen */
	HOST_CACHE_LOST,      /* arg: nsid: a Flush has failed for it */
	HOST_LANE_ASKS,       /* arg: serial; words[2]: struct bound_ask, until LANE_ANSWERED */
	/* subsystem -> lane */
	HOST_LANE_JOINED,     /* arg: queue id, 0: none is left; words[1]: the first view; words[2]: so many
	                       * STRAND_OPENs follow */
	HOST_LANE_LEFT,
	HOST_VIEW,            /* words[1]: the view from now on */
	HOST_STRAND_OPEN,     /* arg: path; words[1]: struct strand_terms, until STRAND_CLOSED */
	HOST_STRAND_CLOSE,    /* arg: serial */
	HOST_ASSOC_OVER,      /* arg: serial */
	HOST_GIVE_UP,         /* arg: serial: what is parked of it ends; until it is over nobody sends anything */
	HOST_LANE_ANSWERED,   /* words[1]: the struct bound_ask */
};

/* How to connect to an association. */
struct strand_terms {
	uint32_t serial;
	struct subsys_address address;
	uint16_t cntlid, entries_max;
	uint32_t incapsule_max, transfer_max, connect_ms;
	bool credits; /* granted: its commands have priorities, and its completions say how many there may be */
	bool orders;  /* granted: a stream of ordered writes may go by it */
	const struct subsys_options *options;
};

/* Of a namespace, what a lane must know before it sends. */
struct view_ns {
	uint32_t nsid;
	uint32_t block_size, transfer_max; /* bytes */
	uint32_t compare_write_blocks;
	bool gone;                         /* all live paths say that there is none, or another one */
	uint8_t state[SUBSYS_PATHS_MAX];   /* NVME_ANA_OPTIMIZED, NVME_ANA_NON_OPTIMIZED, or 0: not by this path now */
	unsigned slot;                     /* another one for each namespace of the subsystem */
	struct cache *cache;               /* the subsystem's; all lanes have it, while it is there */
	struct cache_life *life[SUBSYS_PATHS_MAX]; /* of `cache`; NULL: not told */
};

struct view {
	unsigned holders;     /* the subsystem's: lanes that have not given it back, itself while it is the newest */
	bool hopeless;        /* there has been no path for loss_ms */
	bool held;            /* nothing is sent, all states are 0: a write was given up that may still happen */
	unsigned count;
	struct view_ns ns[SUBSYS_NAMESPACES_MAX]; /* by nsid, rising */
};

static inline void
host_post(struct reactor *reactor, unsigned to, struct mail mail)
{
	reactor->world->post(reactor, to, &mail);
}

/* The two halves of host_on_mail(): lane_path.c and lanes.c. */
void lane_on_mail(struct lane *lane, const struct mail *mail);
void subsys_on_mail(struct subsys *subsys, const struct mail *mail);

#endif
