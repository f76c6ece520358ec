/*
 * share.h - whose I/O is next?
 *
 * Deficit round robin over tenants, by what their I/Os cost, with virtual slots: a tenant whose slots are all taken is
 * deferred until one of them completes.  A tenant's part is its weight, or that of its group and its own part of the
 * group.  It knows neither the clock nor what the device can take: somebody else says how many slots each has, and asks
 * for the next.  Source: Gimbal, 3.5 and Algorithm 2; doc/qos.md says how it differs.
 *
 * Whatever the number of tenants, their weights and what their I/Os cost, a step takes the same few instructions:
 * rounds in which a tenant would only save up are counted, not gone through.
 */
#ifndef WEIR_QOS_SHARE_H
#define WEIR_QOS_SHARE_H

#include "base/list.h"
#include "base/timer.h"
#include "qos/cost.h"

enum {
	QOS_PRIORITIES = 4,
	QOS_QUEUES = QOS_PRIORITIES * QOS_KINDS,
	QOS_SLOTS_ROOM = QOS_SLOTS_MAX + QOS_KINDS, /* full ones, and one of each kind that is open */
	QOS_ROUNDS = 64,
	QOS_PART_ONE = 1 << 16, /* of a tenant that has the mean weight */
	QOS_ROUNDS_AHEAD = 4, /* others may be, of a tenant whose I/Os are shut out */
	/* where a tenant is that is not behind others of a round */
	QOS_AT_FRESH = QOS_ROUNDS, QOS_AT_NONE,
};

/* One I/O, in the request of whoever asks: the switch's from when it arrives until it is done or cancelled.  What
 * decides whether it goes stands first: of many that wait for long none is in the cache. */
struct qos_io {
	struct list place;           /* in its lane; later among those in flight */
	uint32_t bytes;              /* above 0 */
	uint32_t order;              /* of arrival */
	uint8_t at;                  /* qos_cost_place() of its bytes */
	uint8_t kind;                /* enum qos_kind */
	uint8_t priority;            /* 0, served most, to QOS_PRIORITIES - 1 */
	bool measures;               /* its latency says something of the device */
	uint8_t slot;
	struct qos_tenant *tenant;
	uint64_t weight;             /* what it costs, or was paid for it */
	uint64_t begun_ns;           /* when it went to the device */
	uint64_t occupies;           /* of what may be in flight */
};

/* Why I/Os of one kind may not go just now. */
enum qos_shut {
	QOS_OPEN,                    /* they may */
	QOS_SHUT_TURN,               /* they wait for tokens: no round is lost to the tenant */
	QOS_SHUT_CAP,                /* a cap holds them back */
};

enum { QOS_CAP_LEVELS = 3 };

/* I/Os of a tenant and a kind, as gates see them. */
struct qos_lane {
	struct qos_tenant *tenant;
	uint8_t queues;              /* bit q: it is one of them */
	uint8_t shut;                /* enum qos_shut */
	uint8_t round;               /* in which list of the gate it is */
	uint32_t bytes;              /* of the I/O that it was shut for */
	/* of the gate that it waits at */
	struct list place;
	void (*leave)(struct qos_lane *lane);
	void *gate;
	struct timer turn;
	uint64_t paid[QOS_CAP_LEVELS]; /* at caps: when its next I/O is due, in their time */
};

struct qos_group {
	uint32_t weight;
	uint32_t active;             /* tenants */
	uint64_t weights;            /* theirs */
	struct qos_cap *cap;         /* of all of them together; NULL: there is none */
};

enum qos_tenant_state {
	QOS_IDLE,     /* nothing waits that could go */
	QOS_ACTIVE,   /* in a round */
	QOS_DEFERRED, /* all its slots are taken: no deficit, and none accrues */
};

/* What each I/O takes stands together, in the middle: of a thousand tenants little is in the cache. */
struct qos_tenant {
	struct list queues[QOS_QUEUES]; /* I/Os that wait: of each priority reads and writes, the first one last */
	struct list place;           /* in a round */
	uint64_t deficit;            /* what it may still spend */
	uint64_t round;              /* of its last quantum; 0: it had none */
	uint64_t room[QOS_KINDS];    /* in the slots that are open */
	uint32_t waiting, inflight;  /* I/Os */
	uint64_t slots_taken;        /* bit n: it is open, or full and not complete */
	uint16_t begun[QOS_KINDS];   /* I/Os in the slots that are open, whether they have ended or not */
	uint16_t slot_ios;           /* in the last slot that was filled */
	uint8_t filled, open;        /* bit q: queues[q] has I/Os; they may go, if there are any */
	uint8_t capped;              /* they may not, and it is a cap that holds them back */
	uint8_t state;               /* enum qos_tenant_state */
	uint8_t at;                  /* in which list it is */
	bool counted;                /* it has I/Os waiting or in flight, or had until lately */
	uint8_t slots_full;          /* slots that are, and not complete */
	uint8_t slot[QOS_KINDS];     /* that are open; QOS_SLOTS_ROOM: none is */
	uint64_t part, part_of;      /* qos_share_part(), and of which share->parts */
	uint8_t quota[QOS_PRIORITIES];
	uint32_t occupies;           /* of what may be in flight, each of its I/Os on average: eighths */
	uint16_t slots[QOS_SLOTS_ROOM]; /* I/Os in flight of each, and one more where it is open: at 0 it is complete */
	struct qos_lane lanes[QOS_KINDS];
	uint32_t weight;
	struct qos_group *group;     /* NULL: its weight is a group's */
	struct qos_cap *cap;         /* NULL: there is none */
	struct list resting;         /* counted, without I/Os */
	uint64_t rests_ns;
	void *owner;                 /* the caller's */
};

struct qos_share {
	uint32_t quantum, slot_bytes;
	uint32_t slots_each;
	uint32_t counted;            /* tenants that are */
	uint32_t backlogged;         /* of those, with I/Os waiting that no cap holds back */
	bool turns_decide;           /* and not slots; that is for whoever knows the time, too */
	uint64_t weights;            /* of groups with such, and of such without a group */
	uint64_t parts;              /* how often anybody's part has changed */
	uint64_t round;              /* from 1 */
	uint64_t full;               /* bit n: rounds[n] is not empty */
	uint32_t arrivals;
	uint32_t shut;               /* lanes that are */
	bool moved;                  /* somebody was shut out, or is not before all others any more */
	struct list *current;        /* tenants of this round: first those that had nothing waiting ... */
	struct list *fresh;          /* ... up to this one; `current`: there are none */
	struct list rounds[QOS_ROUNDS]; /* tenants of all rounds, by the last bits of their numbers */
};

void qos_share_init(struct qos_share *share, const struct qos_params *params);

/* In no group, or in one; `weight` from 1 to QOS_WEIGHT_MAX. */
void qos_tenant_init(struct qos_tenant *tenant, struct qos_group *group, uint32_t weight);
void qos_group_init(struct qos_group *group, uint32_t weight);

/* Its weight is another one from now on. */
void qos_tenant_weigh(struct qos_share *share, struct qos_tenant *tenant, uint32_t weight);
void qos_group_weigh(struct qos_share *share, struct qos_group *group, uint32_t weight);

/* An I/O of a tenant, with bytes, kind and priority, waits. */
void qos_share_arrive(struct qos_share *share, struct qos_tenant *tenant, struct qos_io *io);

/* An I/O that has not gone waits no more. */
void qos_share_cancel(struct qos_share *share, struct qos_io *io);

/* Who is next, of those that no gate is shut for: the first tenant of this round.  NULL: nobody. */
static inline struct qos_tenant *
qos_share_first(struct qos_share *share)
{
	const struct list *tenants = share->current;

	return list_empty(tenants) ? NULL : container_of(tenants->next, struct qos_tenant, place);
}

/* This round has nobody: begins the next one that has anybody.  False: there is none up to `round_most`. */
bool qos_share_go_on(struct qos_share *share, uint64_t round_most);

/* That tenant's I/O that is next, which stays where it is until it is taken, shut out, or cancelled; `weight` is what
 * it costs.  NULL: its deficit does not allow it, and somebody else is first now. */
struct qos_io *qos_share_next(struct qos_share *share, struct qos_tenant *tenant, const struct qos_cost *cost);

/* What qos_share_next() answered goes, and is paid for. */
void qos_share_take(struct qos_share *share, struct qos_io *io);

/* What qos_share_next() answered may not go, and no I/O of that kind of its tenant's, until they are let in again; then
 * they go before all others.  `leave` is called where the lane is empty before that. */
void qos_share_shut(struct qos_share *share, struct qos_io *io, enum qos_shut why,
    void (*leave)(struct qos_lane *lane));
void qos_share_open(struct qos_share *share, struct qos_lane *lane);

/* Whether a lane that was let in has I/Os, and its tenant still is before all others. */
static inline bool
qos_share_goes(const struct qos_lane *lane)
{
	const struct qos_tenant *tenant = lane->tenant;

	return tenant->at == QOS_AT_FRESH && (tenant->filled & tenant->open & lane->queues) != 0;
}

/* An I/O that went is over. */
void qos_share_ended(struct qos_share *share, struct qos_io *io);

/* Each tenant may have so many slots from now on, where it is not turns that decide. */
void qos_share_slots(struct qos_share *share, uint32_t slots_each);

/* A tenant counts, or counts no more; that is for whoever knows the time. */
void qos_share_count(struct qos_share *share, struct qos_tenant *tenant);
void qos_share_forget(struct qos_share *share, struct qos_tenant *tenant);

/* It is in that group, or in none, with that weight from now on; no cap of the one before holds it back. */
void qos_share_move(struct qos_share *share, struct qos_tenant *tenant, struct qos_group *group, uint32_t weight);

/* Its part of all that are counted, in parts of QOS_PART_ONE; it is one of them. */
uint64_t qos_share_find_part(const struct qos_share *share, struct qos_tenant *tenant);

static inline uint64_t
qos_share_part(const struct qos_share *share, struct qos_tenant *tenant)
{
	return tenant->part_of == share->parts ? tenant->part : qos_share_find_part(share, tenant);
}

#endif
