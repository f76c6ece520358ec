#include "qos/params.h"

#include <assert.h>
#include <stddef.h>

#define RATE_LEAST (UINT64_C(64) << 10)
#define RATE_MOST (UINT64_C(1) << 40)

static_assert(sizeof(struct qos_params) == 16 * sizeof(uint64_t) + 38 * sizeof(uint32_t), "nothing lies between");

void
qos_params_default(struct qos_params *params)
{
	*params = (struct qos_params){
		.write_cost_worst = 9 * QOS_COST_ONE,
		.thresh_min_ns = 250 * 1000, .thresh_max_ns = 1500 * 1000,
		.slots = 8, .slots_least = 4, .inflight_bytes = 20 * QOS_SLOT_BYTES,
		.rate_first = UINT64_C(1000) << 20, .rate_least = UINT64_C(50) << 20, .rate_most = UINT64_C(4) << 30,
		.ewma_shift = 1, .thresh_shift = 1, .beta = 8,
		.bucket_bytes = 256 * 1024, .quantum_bytes = 128 * 1024,
		.write_cost_steps = 16, .write_cost_ns = 100 * 1000 * 1000,
		.linger_ns = 1000 * 1000, .stall_ns = 1000 * 1000 * 1000,
	};
	for (int size = 0; size < QOS_SIZES; size++)
		params->size_cost[QOS_READ][size] = params->size_cost[QOS_WRITE][size] = QOS_COST_ONE;
}

static bool
within(uint64_t value, uint64_t least, uint64_t most)
{
	return value >= least && value <= most;
}

static bool
costs_right(const struct qos_params *p)
{
	for (int kind = 0; kind < QOS_KINDS; kind++)
		for (int size = 0; size < QOS_SIZES; size++)
			if (!within(p->size_cost[kind][size], 1, QOS_COST_MAX))
				return false;
	return true;
}

static bool
rates_right(const struct qos_params *p)
{
	for (int kind = 0; kind < QOS_KINDS; kind++)
		for (int size = 0; size < QOS_SIZES; size++)
			if (p->size_rate[kind][size] != 0 && !within(p->size_rate[kind][size], RATE_LEAST, RATE_MOST))
				return false;
	return true;
}

const char *
qos_params_wrong(const struct qos_params *p)
{
	if (!costs_right(p))
		return "read_cost and write_cost: a byte costs from 1/1024 to 256 times one of a 128 KiB read";
	if (!within(p->write_cost_worst, QOS_COST_ONE, QOS_COST_MAX))
		return "write_cost_worst: a written byte costs from 1 to 256 times a read one";
	if (!rates_right(p))
		return "read_rate and write_rate are 64 KiB/s to 1 TiB/s, or 0 where that is not known";
	if (p->thresh_min_ns == 0 || p->thresh_min_ns >= p->thresh_max_ns)
		return "latency_min_us is above 0, and below latency_max_us";
	if (!within(p->slots, 1, QOS_SLOTS_MAX) || !within(p->slots_least, 1, p->slots))
		return "slots are 1 to 32, and slots_least 1 to as many";
	if (p->inflight_bytes < QOS_SLOT_BYTES)
		return "inflight is a slot, 128 KiB, at least";
	if (p->rate_least == 0 || !within(p->rate_first, p->rate_least, p->rate_most) ||
	    p->rate_most > RATE_MOST)
		return "rate_least is above 0, rate_first not below it, nor rate_most below that or above 1 TiB/s";
	if (!within(p->ewma_shift, 0, 10) || !within(p->thresh_shift, 0, 10) || !within(p->beta, 1, 1024))
		return "ewma_shift and thresh_shift are 0 to 10, and beta 1 to 1024";
	if (!within(p->bucket_bytes, QOS_SLOT_BYTES, 1 << 30) || !within(p->quantum_bytes, QOS_SIZE_LEAST, 1 << 30))
		return "bucket is 128 KiB to 1 GiB, and quantum 4 KiB to 1 GiB";
	if (!within(p->write_cost_steps, 1, 1024) || !within(p->write_cost_ns, 1000 * 1000, 1000 * 1000 * 1000))
		return "write_cost_steps are 1 to 1024, and write_cost_us 1 ms to 1 s";
	if (!within(p->linger_ns, 0, 1000 * 1000 * 1000) || p->stall_ns < 1000 * 1000)
		return "linger_us is a second at most, and stall_us a millisecond at least";
	return NULL;
}
