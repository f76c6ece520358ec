/*
 * qos.h - the switch in front of one device: which I/O goes next, and when?
 *
 * Tenants' I/Os arrive, and go to the device as the parts here say: in whose turn (share), at what price (cost), as
 * fast as the device bears (monitor, rate), and no more at a time than it can use.  Pure: it is told the time, which
 * never goes back, and says when it wants to be asked again.  One thread; memory is the caller's.  Source: Gimbal,
 * section 3; doc/qos.md.
 */
#ifndef WEIR_QOS_QOS_H
#define WEIR_QOS_QOS_H

#include "qos/cap.h"
#include "qos/cost.h"
#include "qos/rate.h"
#include "qos/share.h"

struct qos_count {
	uint64_t ios, bytes, failed;
};

struct qos {
	struct qos_params params;
	struct qos_cost cost;
	struct qos_rate rate;
	struct qos_monitor monitors[QOS_KINDS];
	struct qos_share share;
	struct qos_gate tokens[QOS_KINDS]; /* where tenants wait for them */
	struct qos_cap *cap;         /* of all tenants together; NULL: there is none */
	uint32_t caps;               /* that there are */
	struct timers timers;        /* of them */
	struct list passing;         /* entries of such, where a tenant was let in */
	uint64_t occupied, most;     /* by what is in flight, and may be */
	uint64_t sated_ns;           /* until then somebody who counts had nothing waiting, or had just come or gone */
	uint64_t idle_ns, rests_ns;  /* so long nothing was in flight; and since when, if nothing is */
	bool held;                   /* whose turn it is waits until less is */
	bool changed;                /* there are more tenants, or fewer, since somebody could not go */
	struct list flying;          /* I/Os in flight, the oldest first */
	struct list resting;         /* tenants that had nothing any more, the longest first */
	struct qos_count counts[QOS_KINDS]; /* that have ended */
};

/* The parameters are right. */
void qos_init(struct qos *qos, const struct qos_params *params);

/* Others from now on, which are right too.  What is under way goes on; what it has learnt of what writes cost is
 * forgotten. */
void qos_tune(struct qos *qos, const struct qos_params *params);

enum qos_op {
	QOS_OP_READ, QOS_OP_WRITE, QOS_OP_FLUSH, QOS_OP_ZEROES, QOS_OP_TRIM, QOS_OP_COMPARE, QOS_OP_COMPARE_WRITE,
};

/* What an I/O of so many bytes is to the switch, 0 of a Flush; and its priority. */
void qos_io_init(struct qos_io *io, enum qos_op op, uint64_t bytes, unsigned priority);

/* Such an I/O of a tenant arrives; it is the switch's until qos_done() or qos_cancel(). */
void qos_arrive(struct qos *qos, struct qos_tenant *tenant, struct qos_io *io);

/* The next I/O that goes to the device now, or NULL; to be asked whenever something has arrived or ended, or it wanted
 * to be. */
struct qos_io *qos_next(struct qos *qos, uint64_t now_ns);

/* When it wants to be asked, though nothing arrives or ends; UINT64_MAX: then not. */
uint64_t qos_deadline(struct qos *qos, uint64_t now_ns);

/* An I/O that went is over, after so long in the device, and came to something or not. */
void qos_done(struct qos *qos, struct qos_io *io, uint64_t latency_ns, bool right, uint64_t now_ns);

/* One that has not gone is not to go any more. */
void qos_cancel(struct qos *qos, struct qos_io *io, uint64_t now_ns);

/* A tenant without I/Os is not known any more; its caps, and its group's, are what they were. */
void qos_leave(struct qos *qos, struct qos_tenant *tenant);

/* It is in that group from now on, or in none, with that weight.  What a cap holds back is looked at anew, so that no
 * tenant waits at any when all were moved. */
void qos_move(struct qos *qos, struct qos_tenant *tenant, struct qos_group *group, uint32_t weight);

/* A cap of this switch, and of whom: from then on a tenant, a group or the switch may have it.  And it is of use no
 * more: nobody has it, and nobody waits for it. */
enum qos_cap_of { QOS_CAP_TENANT, QOS_CAP_GROUP, QOS_CAP_ALL };
void qos_use_cap(struct qos *qos, struct qos_cap *cap, enum qos_cap_of of);
void qos_drop_cap(struct qos *qos, struct qos_cap *cap);

/* Other limits from now on, for those who wait too. */
void qos_change_cap(struct qos_cap *cap, const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms);

/* How many tenants count: with I/Os, or had some until just now. */
uint32_t qos_tenants(struct qos *qos, uint64_t now_ns);

/* How many I/Os a tenant may have, here and on its way, without any waiting for long: 1 to UINT16_MAX, by turns. */
uint32_t qos_credits(const struct qos *qos, struct qos_tenant *tenant);

/* And of that kind and length by caps; UINT32_MAX: none holds them back. */
uint32_t qos_credits_capped(const struct qos *qos, const struct qos_tenant *tenant, enum qos_kind kind, uint32_t bytes);

/* Whether an I/O has been in the device for longer than it may. */
bool qos_stalled(const struct qos *qos, uint64_t now_ns);

#endif
