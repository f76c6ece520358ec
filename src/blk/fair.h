/*
 * fair.h - a filter that lets tenants' I/Os go to a device by turns, as fast as it bears (doc/qos.md).
 *
 * In front of one device, at its home (home.h), with one switch (qos/qos.h): I/Os wait here until it is their turn, in
 * the memory of who asks.  It says nothing about who tenants are and what they may have; whoever serves the device
 * does, and at first all are alike and nothing is held back.
 */
#ifndef WEIR_BLK_FAIR_H
#define WEIR_BLK_FAIR_H

#include "blk/blk.h"
#include "qos/cap.h"

enum {
	FAIR_GROUPS_MAX = 64,
	FAIR_NO_GROUP = FAIR_GROUPS_MAX,
};

/* No more than so much of reads and writes each; zeros: no limit. */
struct fair_limits {
	struct qos_limit limits[QOS_KINDS];
	uint32_t burst_ms;
};

/* Of a host, or of one that nothing is said about. */
struct fair_host {
	char nqn[NQN_MAX + 1];
	uint32_t group;              /* index, or FAIR_NO_GROUP */
	uint32_t weight;             /* in its group, if it is in one */
	struct fair_limits limits;
};

struct fair_group {
	uint32_t weight;
	struct fair_limits limits;
};

/* Who may have what, of each device alike. */
struct fair_terms {
	const struct fair_group *groups;
	uint32_t group_count;
	const struct fair_host *hosts; /* ascending, as strcmp() has their names */
	uint32_t host_count;
};

/* And of this one. */
struct fair_volume {
	bool paced;                  /* not: all goes at once that no limit holds back */
	struct qos_params params;    /* where it is paced */
	struct fair_limits limits;   /* of all its I/O together */
};

/*
 * Puts a filter over `inner`, which is taken also where it fails, and lets every reactor use it.  Its home is that of
 * `inner`, or reactor `index` where that has none.  0, or -ENOMEM.
 */
int fair_open(struct reactor *reactor, unsigned index, struct blk *inner, struct blk **blk)
    __attribute__((warn_unused_result));

bool fair_is(const struct blk *blk);

/*
 * What holds from now on, also for what waits; on the reactor where the device is at home, on others it does nothing.
 * Cannot fail.  `terms` stay until others are said or the channel is closed; `volume` need not.  Both NULL: all are
 * alike and nothing is held back, as at first.
 */
void fair_apply(struct blk_chan *chan, const struct fair_volume *volume, const struct fair_terms *terms);

/* What of a volume's memory it takes in a process of so many reactors; and each tenant that asks. */
size_t fair_bytes(unsigned reactors);
size_t fair_tenant_bytes(void);

/* None of the tenant's I/O is under way, on any reactor, and what is known of it is not needed; on the home. */
void fair_forget(struct blk_chan *chan, const struct blk_tenant *tenant);

#endif
