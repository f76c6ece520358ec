/*
 * cost.h - what does an I/O cost the device?
 *
 * In bytes of 128 KiB reads: by its kind and size, which were measured once, and by what writing costs just now, which
 * the latency of writes tells.  Source: Gimbal, 3.4; doc/qos.md.
 */
#ifndef WEIR_QOS_COST_H
#define WEIR_QOS_COST_H

#include "qos/params.h"

enum { QOS_COST_POINTS = QOS_SIZE_MOST / QOS_SIZE_LEAST + 1 };

struct qos_cost {
	/* What I/Os cost that are so many times 4 KiB long, at least one; and how much longer they take. */
	uint32_t bytes[QOS_KINDS][QOS_COST_POINTS];
	uint32_t ns[QOS_KINDS][QOS_COST_POINTS];
	uint32_t large[QOS_KINDS];     /* a byte of those that are longer, in 1024ths */
	uint32_t write;                /* a byte written in 128 KiB beside one read, in 1024ths */
	uint32_t worst, step;          /* what that is at most, and by how much it falls */
	uint64_t period_ns, until_ns;
};

void qos_cost_init(struct qos_cost *cost, const struct qos_params *params);

/* Of so many bytes, above 0, and at most 16 MiB. */
static inline uint32_t
qos_cost_place(uint32_t bytes)
{
	return bytes <= QOS_SIZE_LEAST ? 1 : (bytes + QOS_SIZE_LEAST - 1) / QOS_SIZE_LEAST;
}

/* What it occupies of the device while it is in flight: a write as if it were read. */
static inline uint64_t
qos_cost_of(const struct qos_cost *cost, enum qos_kind kind, uint32_t bytes)
{
	uint32_t place = qos_cost_place(bytes);

	return place < QOS_COST_POINTS ? cost->bytes[kind][place]
	                               : (uint64_t)bytes * cost->large[kind] / QOS_COST_ONE;
}

/* All that it costs. */
static inline uint64_t
qos_cost_weight(const struct qos_cost *cost, enum qos_kind kind, uint32_t bytes)
{
	uint64_t weight = qos_cost_of(cost, kind, bytes);

	return kind == QOS_WRITE ? weight * cost->write / QOS_COST_ONE : weight;
}

/* How much of a latency is no sign of congestion. */
static inline uint32_t
qos_cost_ns(const struct qos_cost *cost, enum qos_kind kind, uint32_t bytes)
{
	uint32_t place = qos_cost_place(bytes);

	return cost->ns[kind][place < QOS_COST_POINTS ? place : QOS_COST_POINTS - 1];
}

/*
 * A write has ended, and the average latency of writes has been at most `peak_ns` since this answered true last.  Where
 * a period is over, and it answers true: additive decrease while no average came above the least threshold,
 * multiplicative increase else.
 */
bool qos_cost_wrote(struct qos_cost *cost, const struct qos_params *params, uint64_t peak_ns, uint64_t now_ns);

#endif
