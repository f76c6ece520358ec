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
#include "qos/qos.h"
#include "qos/recent.h"

enum {
	FAIR_GROUPS_MAX = 64,
	FAIR_GROUP_NAME_MAX = 63,
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
	char name[FAIR_GROUP_NAME_MAX + 1]; /* of no other; where it stands may change, what it has had goes by this */
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

/* ---- what is going on (fair_view.c) ---- */

/* What there is no end of, since the device is not paced. */
#define FAIR_ENDLESS UINT64_MAX

/* Of reads, or of writes. */
struct fair_view_kind {
	enum qos_state state;
	uint64_t ewma_ns;            /* of latencies, less what their sizes take anyway */
	uint64_t thresh_ns;          /* the moving one; 0: not paced */
	uint64_t ios, bytes, failed; /* that have ended */
	struct qos_lately lately;    /* how long they took at the device */
	uint64_t headroom;           /* bytes a second: what is left of this kind's part of the rate; or FAIR_ENDLESS */
};

struct fair_view {
	bool paced;
	bool stalled;                /* an I/O has been at the device for too long */
	enum qos_state state;        /* the worse of the kinds of which anything has ended lately */
	uint64_t rate;               /* bytes a second; or FAIR_ENDLESS */
	uint32_t write_cost;         /* 1024ths; of a volume that is not paced one */
	uint64_t occupied, most;     /* by what is in flight, as bytes of reads; and may be: or FAIR_ENDLESS */
	uint32_t tenants;            /* that are counted: with I/Os, or had some until just now */
	uint32_t waiting, inflight;  /* I/Os */
	struct fair_view_kind kinds[QOS_KINDS];
};

struct fair_tenant_view {
	char nqn[NQN_MAX + 1];       /* "": nobody in particular */
	char group[FAIR_GROUP_NAME_MAX + 1]; /* "": none */
	uint32_t weight;             /* in its group, if it is in one */
	uint32_t waiting, inflight;  /* I/Os */
	uint32_t credits;            /* so many it may have, here and on their way; 0: as many as it likes */
	struct qos_count counts[QOS_KINDS];    /* of I/Os that have ended, */
	struct qos_lately lately[QOS_KINDS];   /* and lately: they took so long with what they waited here */
};

/* How the device is, where it is at home.  False: it is not, or is no such device. */
bool fair_look(struct blk_chan *chan, struct fair_view *view);

/* The same of one tenant.  False also where that has asked for nothing yet. */
bool fair_look_tenant(struct blk_chan *chan, const struct blk_tenant *who, struct fair_tenant_view *view);

/* And of all that have, one after the other: from *next on, at first 0; false: there are no more. */
bool fair_look_next(struct blk_chan *chan, uint32_t *next, struct fair_tenant_view *view);

/* What of a volume's memory it takes in a process of so many reactors; and each tenant that asks. */
size_t fair_bytes(unsigned reactors);
size_t fair_tenant_bytes(void);

/* None of the tenant's I/O is under way, on any reactor, and what is known of it is not needed; on the home. */
void fair_forget(struct blk_chan *chan, const struct blk_tenant *tenant);

#endif
