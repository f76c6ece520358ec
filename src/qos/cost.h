/*
 * cost.h - what does an I/O cost the device?
 *
 * In bytes of 128 KiB reads: by its kind and size, which were measured once, and by what writing costs just now.  That
 * falls while the latency of writes is low.  Where it is not, what has ended says what they cost: reads took a part of
 * the device's time that is known, and all the rest of it went into writes.  Source: Gimbal, 3.4; doc/qos.md.
 */
#ifndef WEIR_QOS_COST_H
#define WEIR_QOS_COST_H

#include "qos/params.h"

/* Sizes are counted in 4 KiB; those above 128 KiB are all one. */
enum { QOS_COST_LARGE = QOS_SIZE_MOST / QOS_SIZE_LEAST + 1 };

/* An I/O of some kind and size: what it costs, and would if writing were as cheap as it gets; how much longer than the
 * least it takes; and how much of a device's time it leaves to no other, where writing is so cheap. */
struct qos_price {
	uint64_t weight;
	uint32_t cost, ns, busy_ns;
};

struct qos_cost {
	struct qos_price prices[QOS_COST_LARGE + 1][QOS_KINDS];
	uint32_t large[QOS_KINDS];     /* a byte of those above 128 KiB, in 1024ths */
	uint32_t write;                /* a byte written in 128 KiB beside one read, in 1024ths */
	uint32_t worst, step;          /* what that is at most, and by how much it falls */
	uint64_t least_ns;             /* a latency of writes that is not low */
	uint64_t period_ns, until_ns;
	bool known;                    /* how much of the device's time I/Os take */
	uint64_t busy_ns[QOS_KINDS];   /* those that have ended in this period */
	uint64_t since_ns;             /* when it began, in time in which something is in flight */
};

void qos_cost_init(struct qos_cost *cost, const struct qos_params *params);

/* Writing costs so much from now on. */
void qos_cost_set_write(struct qos_cost *cost, uint32_t write);

/* Of so many bytes, above 0, and at most 16 MiB. */
static inline uint8_t
qos_cost_place(uint32_t bytes)
{
	return (uint8_t)(bytes > QOS_SIZE_MOST ? QOS_COST_LARGE : (bytes + QOS_SIZE_LEAST - 1) / QOS_SIZE_LEAST);
}

/* What an I/O of that size, at its place, occupies of the device while it is in flight: a write as if it were read. */
static inline uint64_t
qos_cost_of(const struct qos_cost *cost, enum qos_kind kind, uint8_t place, uint32_t bytes)
{
	return place < QOS_COST_LARGE ? cost->prices[place][kind].cost
	                              : (uint64_t)bytes * cost->large[kind] / QOS_COST_ONE;
}

static inline uint64_t
qos_cost_times(const struct qos_cost *cost, enum qos_kind kind, uint64_t weight)
{
	return kind == QOS_WRITE ? weight * cost->write / QOS_COST_ONE : weight;
}

/* All that it costs. */
static inline uint64_t
qos_cost_weight(const struct qos_cost *cost, enum qos_kind kind, uint8_t place, uint32_t bytes)
{
	return place < QOS_COST_LARGE ? cost->prices[place][kind].weight
	                              : qos_cost_times(cost, kind, qos_cost_of(cost, kind, place, bytes));
}

/* How much of a latency is no sign of congestion. */
static inline uint64_t
qos_cost_ns(const struct qos_cost *cost, enum qos_kind kind, uint8_t place, uint32_t bytes)
{
	uint64_t ns = cost->prices[place][kind].ns;

	return place < QOS_COST_LARGE ? ns : ns * bytes / QOS_SIZE_MOST;
}

/* An I/O has ended: also of what moves no data, as what it is counted for. */
static inline void
qos_cost_ended(struct qos_cost *cost, enum qos_kind kind, uint8_t place, uint32_t bytes)
{
	uint64_t ns = cost->prices[place][kind].busy_ns;

	cost->busy_ns[kind] += place < QOS_COST_LARGE ? ns : ns * bytes / QOS_SIZE_MOST;
}

/* Whether a period is over, so that the end of a write says something. */
static inline bool
qos_cost_over(const struct qos_cost *cost, uint64_t now_ns)
{
	return now_ns >= cost->until_ns;
}

/*
 * It was a write, and the average latency of writes has been at most `peak_ns` since this answered true last;
 * `busy_ns`: so long something has been in flight by now.  Where a period is over, and it answers true: additive
 * decrease while no average came above the least threshold.  Else it goes half of the way to what has ended says; or to
 * the worst, where nobody knows how much of the device's time I/Os take.  Where nothing was written for another period
 * since, most of what has ended was beside no writes, and says nothing of them.
 */
bool qos_cost_wrote(struct qos_cost *cost, uint64_t peak_ns, uint64_t busy_ns, uint64_t now_ns);

#endif
