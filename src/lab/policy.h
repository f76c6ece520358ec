/*
 * policy.h - which I/O of which tenant goes to a device next, and when.
 *
 * What stands in front of a device of the direct rig: the switch itself, and what it is compared with.  Pure: a policy
 * is told the time, which never goes back, and says when it wants to be asked again.  In integers, as all that a
 * history depends on; doc/lab-qos.md says where each comes from, and how it was tuned.
 */
#ifndef WEIR_LAB_POLICY_H
#define WEIR_LAB_POLICY_H

#include "base/arena.h"
#include "qos/qos.h"

enum { POLICY_TENANTS_MAX = 64 };

/* What a policy is told of a tenant; zeros are good where nothing else is said. */
struct policy_tenant {
	uint32_t weight;          /* 0: 1 */
	uint64_t rate;            /* bytes a second, where rates are fixed; 0: as fast as it goes */
	struct qos_limit caps[QOS_KINDS];
	uint32_t burst_ms;        /* of the caps */
};

/* And of the device: what measuring it says. */
struct policy_terms {
	struct qos_params params; /* the switch's; the others take of it what they would have measured too */
	uint64_t rate;            /* bytes a second that it reads, 4 KiB at a time */
	uint32_t depth;           /* I/Os that may be in it, where that is all that is bounded */
	uint64_t latency_ns;      /* that is wanted of it */
	uint64_t ahead_bytes;     /* of 128 KiB reads, that a tenant may be of the slowest; 0: 1 MiB */
	bool keeps_rate;          /* of the switch: what has ended does not lower it */
};

/* One I/O: the policy's from when it arrives until it goes. */
struct policy_io {
	struct qos_io qos;        /* what it is: kind, bytes, priority; and the switch's */
	struct fifo_node node;
	unsigned tenant;
	uint64_t tag;             /* the policy's */
};

/* What can be seen of a policy from outside; 0: it has no such thing. */
struct policy_view {
	uint64_t waiting;         /* I/Os at the target, that have not gone */
	uint64_t inflight;        /* in the device */
	uint64_t rate;            /* bytes a second, at most */
	uint32_t write_cost;      /* of a byte, beside one read: in QOS_COST_ONE */
	uint64_t latency_ns[QOS_KINDS]; /* as it takes it for */
};

struct policy {
	const struct policy_ops *ops;
	struct policy_terms terms;
	struct policy_tenant tenants[POLICY_TENANTS_MAX];
	unsigned count;           /* of tenants */
	uint64_t waiting, inflight;
};

struct policy_ops {
	const char *name;
	size_t bytes;             /* of one, a struct policy first */
	/* What is beyond struct policy is zeroed. */
	void (*init)(struct policy *policy);
	void (*arrive)(struct policy *policy, struct policy_io *io, uint64_t now_ns);
	/* The I/O that goes now, or NULL. */
	struct policy_io *(*next)(struct policy *policy, uint64_t now_ns);
	/* When it wants to be asked, though nothing arrives or ends; UINT64_MAX, or NULL: then not. */
	uint64_t (*deadline)(struct policy *policy, uint64_t now_ns);
	/* It is over, after so long in the device; NULL: it does not care. */
	void (*done)(struct policy *policy, struct policy_io *io, uint64_t latency_ns, uint64_t now_ns);
	/* Beside what is counted for it; NULL: nothing. */
	void (*look)(const struct policy *policy, struct policy_view *view);
};

/* Each I/O goes when it comes; one of each tenant in turn, so many at a time. */
extern const struct policy_ops policy_fifo, policy_round;
/* The switch of src/qos; and with tenants that do as its credits say. */
extern const struct policy_ops policy_switch, policy_credits;
/* Each tenant has its rate. */
extern const struct policy_ops policy_rates;
/* What others have published: tokens at a rate and a cost that are fixed (ReFlex); windows that tenants keep themselves
 * (PARDA); start-time fair queueing (FlashFQ). */
extern const struct policy_ops policy_tokens, policy_window, policy_tags;

/* Of so many tenants; NULL: there is no memory. */
struct policy *policy_create(struct arena *arena, const struct policy_ops *ops, const struct policy_terms *terms,
    const struct policy_tenant *tenants, unsigned count);

void policy_arrive(struct policy *policy, struct policy_io *io, uint64_t now_ns);
struct policy_io *policy_next(struct policy *policy, uint64_t now_ns);
uint64_t policy_deadline(struct policy *policy, uint64_t now_ns);
void policy_done(struct policy *policy, struct policy_io *io, uint64_t latency_ns, uint64_t now_ns);
void policy_look(const struct policy *policy, struct policy_view *view);

#endif
