/*
 * gauge.h - what does a device give, when so many I/Os of these sizes are kept under way?
 *
 * One measurement: it says which I/O to begin, is told of each that ends, and counts after it has settled.  Of one
 * load alone, or of two that tenants of equal weight have, who share the device by the switch.  Pure, as the switch is:
 * who begins the I/Os, and knows the time, calls.
 */
#ifndef WEIR_QOS_GAUGE_H
#define WEIR_QOS_GAUGE_H

#include "base/hist.h"
#include "base/rng.h"
#include "qos/qos.h"

enum {
	GAUGE_LOADS = 2,
	GAUGE_TENANTS = 8,      /* in all, at most */
	GAUGE_DEPTH = 32,       /* I/Os of a tenant, at most */
};

struct gauge_load {
	enum qos_kind kind;
	uint32_t bytes, depth;  /* of an I/O, a multiple of 4 KiB; and how many are under way, or wait for their turn */
	unsigned tenants;       /* who each have that */
};

struct gauge_task {
	struct gauge_load loads[GAUGE_LOADS];
	unsigned load_count;
	bool whole, in_order;             /* until as much was moved as the device has, and not by the time; from its
	                                   * first byte on, and not at random */
	bool switched;
	struct qos_params params;         /* of the switch, where there is one */
	uint64_t settle_ns, measure_ns;   /* longer, where hardly an I/O ends in that time */
};

/* What came of a load; zeros: no I/O of it ended. */
struct gauge_heard {
	uint64_t rate;          /* bytes a second, of all its tenants */
	uint64_t median_ns, mean_ns, p99_ns; /* from when an I/O was begun to when it was seen to have ended */
};

struct gauge_io {
	struct qos_io io;
	struct list idle;
	uint64_t offset;        /* anywhere in the device, a multiple of 4 KiB */
	uint64_t begun_ns;
	unsigned load, tenant;
	void *owner;            /* the caller's, as long as the gauge is there */
};

struct gauge {
	struct gauge_task task;
	uint64_t span;          /* bytes of the device */
	uint64_t from_ns, until_ns;
	uint64_t left, next;    /* bytes that are to be moved, where that counts; and where the next are, in order */
	struct qos qos;
	struct qos_tenant tenants[GAUGE_TENANTS];
	struct list idle;       /* I/Os that may be begun, where there is no switch */
	uint32_t inflight;
	struct hist latency[GAUGE_LOADS];
	struct rng rng;
	struct gauge_io ios[GAUGE_TENANTS][GAUGE_DEPTH];
};

/* Another one begins, on a device of `span` bytes; nothing of the one before is in flight.  An owner stays. */
void gauge_begin(struct gauge *gauge, const struct gauge_task *task, uint64_t span, uint64_t now_ns);

/* The next I/O to be begun now, or NULL; to be asked whenever one has ended, and when it wants to be. */
struct gauge_io *gauge_next(struct gauge *gauge, uint64_t now_ns);

/* When it wants to be asked though none ends. */
uint64_t gauge_deadline(struct gauge *gauge, uint64_t now_ns);

/* One that was begun has ended. */
void gauge_ended(struct gauge *gauge, struct gauge_io *io, uint64_t now_ns);

/* Whether its time is over, and nothing in flight; and what came of it. */
bool gauge_over(const struct gauge *gauge, uint64_t now_ns);
void gauge_hear(const struct gauge *gauge, struct gauge_heard heard[GAUGE_LOADS]);

#endif
