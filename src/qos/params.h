/*
 * params.h - the numbers that one device's switch works with.
 *
 * Costs and times come from measuring the device (weir calibrate); the others are as the paper has them (Gimbal, 4.2)
 * unless somebody says otherwise.  Costs are in 1024ths.
 */
#ifndef WEIR_QOS_PARAMS_H
#define WEIR_QOS_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	QOS_COST_ONE = 1024,
	QOS_COST_MAX = 256 * QOS_COST_ONE,
	QOS_SIZES = 6,                     /* 4, 8, 16, 32, 64, 128 KiB */
	QOS_SIZE_LEAST = 4096,
	QOS_SIZE_MOST = 128 * 1024,
	QOS_SLOTS_MAX = 32,
	QOS_BYTES_MOST = 16 * 1024 * 1024, /* that one I/O is counted for */
	QOS_WEIGHT_MAX = 10000,
	QOS_SLOT_BYTES = 128 * 1024,
};

/* Which bucket an I/O is paid from. */
enum qos_kind { QOS_READ, QOS_WRITE, QOS_KINDS };

/* Without anything between its members: two of them can be compared as they lie in memory. */
struct qos_params {
	/* Bytes a second of I/Os of a kind and size that leave no time for others.  Of writes what the device gives
	 * while they cost no more than `size_cost` says; of reads what it gives with as many in flight as it can use,
	 * and more where it reads and writes at the same time.  0: that is not known. */
	uint64_t size_rate[QOS_KINDS][QOS_SIZES];

	uint64_t rate_first, rate_least, rate_most; /* bytes a second */
	uint64_t stall_ns;                 /* an I/O that takes longer is of a device that has stalled */

	/* What a byte costs, beside one of a 128 KiB read (QOS_COST_ONE): by kind and size; of writes when they are as
	 * cheap as they get. */
	uint32_t size_cost[QOS_KINDS][QOS_SIZES];
	uint32_t write_cost_worst;         /* a byte written in 128 KiB, at worst, so many times one read */

	/* What a size takes longer than 4 KiB does, when nothing else is under way: a large I/O is not congestion. */
	uint32_t size_ns[QOS_KINDS][QOS_SIZES];
	uint32_t thresh_min_ns, thresh_max_ns;

	uint32_t slots;                    /* of all tenants together, where there are several */
	uint32_t slots_least;              /* but of each at least */
	uint32_t inflight_bytes;           /* of the device: read cost of what may be in flight */

	uint32_t ewma_shift;               /* of latencies: alpha_D is 2^-shift */
	uint32_t thresh_shift;             /* alpha_T */
	uint32_t beta;                     /* how much faster the rate grows while the device is underused */
	uint32_t bucket_bytes;             /* of each kind */
	uint32_t quantum_bytes;            /* that a tenant of the mean weight may have in each round */
	uint32_t write_cost_steps;         /* from worst to one, at so many times ... */
	uint32_t write_cost_ns;            /* ... this long */
	uint32_t linger_ns;                /* a tenant that has ended its last I/O is still counted for so long */
};

/* Of the drive of the paper, a TLC drive that was written all over (Gimbal, 4.2). */
void qos_params_default(struct qos_params *params);

/* NULL, or which of them cannot be, in plain words. */
const char *qos_params_wrong(const struct qos_params *params);

#endif
