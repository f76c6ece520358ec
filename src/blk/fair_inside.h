/*
 * fair_inside.h - what the files of the filter that lets I/Os wait for their turn share; see fair.c.
 */
#ifndef WEIR_BLK_FAIR_INSIDE_H
#define WEIR_BLK_FAIR_INSIDE_H

#include "blk/fair.h"
#include "qos/qos.h"
#include "qos/recent.h"
#include "world/reactor.h"

/* A limit, in use where there is one. */
struct fair_cap {
	struct qos_cap cap;
	bool used;
	struct fair_limits had;      /* what was said of it last: where it is the same, what is due stays so */
};

/* Which of a tenant's queues have had I/Os lately. */
enum { FAIR_QUEUE_WORDS = 4 };
struct fair_queues {
	uint64_t now[FAIR_QUEUE_WORDS], before[FAIR_QUEUE_WORDS]; /* bits, of this period and the last one */
	uint64_t since_ns;           /* this one */
	uint32_t active;             /* how many they are */
};

/* A tenant that has asked for something. */
struct fair_tenant {
	struct qos_tenant qos;
	struct fair_queues queues;
	bool told;                   /* it has been given credits */
	const struct blk_tenant *who; /* NULL: nobody in particular, and whoever there was no memory for */
	struct fair_cap cap;
	struct list node;
	struct qos_count counts[QOS_KINDS];  /* that have ended, */
	struct qos_recent recent[QOS_KINDS]; /* and lately: they took so long with what they waited here */
};

struct fair {
	struct blk blk;
	struct blk *inner;
};

/* The only channel, of its home: all that the filter knows. */
struct fair_chan {
	struct blk_chan chan;
	struct blk_chan *inner;
	struct qos qos;
	const struct fair_terms *terms; /* NULL: nothing was said yet */
	struct fair_volume volume;
	struct fair_cap cap;
	struct fair_group_here {
		char name[FAIR_GROUP_NAME_MAX + 1]; /* of the group that was here last */
		bool used;
		struct qos_group qos;
		struct fair_cap cap;
	} groups[FAIR_GROUPS_MAX];
	struct fair_group_here *group_at[FAIR_GROUPS_MAX]; /* those of which `terms` tells, in that order */
	struct list tenants;         /* all but `nobody` */
	struct fair_tenant nobody;
	struct fair_tenant *by_number[BLK_TENANTS]; /* NULL: it has not asked */
	struct task go;
	struct timer timer;
	uint64_t went_ns;            /* when somebody could go last */
	uint32_t waiting, inflight;  /* I/Os */
	struct qos_recent recent[QOS_KINDS]; /* they took so long at the device */
	struct fifo finished;        /* that were cancelled while they waited */
	struct task collect;
};

/* fair_terms.c: before anybody asks; who asks; and it is over. */
void fair_terms_begin(struct fair_chan *fc);
struct fair_tenant *fair_tenant_of(struct fair_chan *fc, const struct blk_tenant *who);
void fair_terms_end(struct fair_chan *fc);

/*
 * fair_credits.c: how many I/Os like that one, which has ended, the queue by which it came may have under way; 0: there
 * is nothing to be said.
 */
uint16_t fair_credits(struct fair_chan *fc, struct fair_tenant *tenant, const struct blk_io *io, uint64_t now_ns);

/* How many a tenant may have, by what it did lately; 0: as many as it likes. */
uint32_t fair_credits_look(struct fair_chan *fc, struct fair_tenant *tenant,
    const struct qos_lately lately[QOS_KINDS]);

/* fair_view.c: an I/O that went to the device has come back. */
void fair_note(struct fair_chan *fc, struct fair_tenant *tenant, const struct blk_io *io, bool right, uint64_t now_ns);

/* fair.c: somebody may go; and the time, which does not go back behind that. */
void fair_go_soon(struct fair_chan *fc);
uint64_t fair_now(const struct fair_chan *fc);

/* The filter's channel; NULL: there is none here. */
struct fair_chan *fair_chan_here(struct blk_chan *chan);

#endif
