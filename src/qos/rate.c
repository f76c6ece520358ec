#include "qos/rate.h"

#include <assert.h>

enum {
	SECOND_NS = 1000 * 1000 * 1000,
	FILL_MOST_NS = 10 * 1000 * 1000,  /* what is counted of a time without calls: buckets are full long before */
	WINDOW_BYTES = 16 * 1024 * 1024,
	WINDOW_LEAST_NS = 1000 * 1000,    /* as soon as so much time has gone by, too, what has ended says something */
	WINDOW_MOST_NS = 100 * 1000 * 1000,
	PRICE_SHIFT = 6,
	PRICE_FRACTION = 4,               /* more bits of price[] than 1024ths */
};

void
qos_rate_init(struct qos_rate *rate, const struct qos_params *params)
{
	*rate = (struct qos_rate){ .target = params->rate_first };
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		rate->tokens[kind] = params->bucket_bytes;
		rate->price[kind] = QOS_COST_ONE << PRICE_FRACTION;
	}
	rate->price[QOS_WRITE] = params->write_cost_worst << PRICE_FRACTION;
}

/* In 65536ths: each kind gets as large a part as the other one costs. */
static uint64_t
part_of(const struct qos_rate *rate, enum qos_kind kind)
{
	uint64_t other = rate->price[kind == QOS_READ ? QOS_WRITE : QOS_READ];

	return (other << 16) / (other + rate->price[kind]);
}

/* What there is no room for. */
static uint64_t
add(struct qos_rate *rate, enum qos_kind kind, uint64_t bytes, uint64_t most)
{
	uint64_t over;

	rate->tokens[kind] += bytes;
	if (rate->tokens[kind] <= most)
		return 0;
	over = rate->tokens[kind] - most;
	rate->tokens[kind] = most;
	return over;
}

void
qos_rate_fill(struct qos_rate *rate, const struct qos_params *params, uint64_t now_ns)
{
	uint64_t gone_ns, over[QOS_KINDS];

	assert(now_ns >= rate->filled_ns);
	gone_ns = now_ns - rate->filled_ns;
	if (gone_ns == 0)
		return;
	rate->filled_ns = now_ns;
	if (gone_ns > FILL_MOST_NS)
		gone_ns = FILL_MOST_NS;
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		uint64_t part = (rate->target >> 6) * part_of(rate, (enum qos_kind)kind) >> 10;
		uint64_t sum = part * gone_ns + rate->rest[kind];

		rate->rest[kind] = (uint32_t)(sum % SECOND_NS);
		over[kind] = add(rate, (enum qos_kind)kind, sum / SECOND_NS, params->bucket_bytes);
	}
	(void)add(rate, QOS_WRITE, over[QOS_READ], params->bucket_bytes);
	(void)add(rate, QOS_READ, over[QOS_WRITE], params->bucket_bytes);
}

static uint64_t
needed(const struct qos_params *params, uint32_t bytes)
{
	return bytes < params->bucket_bytes ? bytes : params->bucket_bytes;
}

void
qos_rate_take(struct qos_rate *rate, enum qos_kind kind, uint32_t bytes, uint64_t weight)
{
	uint64_t price = (weight * QOS_COST_ONE << PRICE_FRACTION) / bytes;

	rate->tokens[kind] -= rate->tokens[kind] < bytes ? rate->tokens[kind] : bytes;
	rate->price[kind] += (uint32_t)(price >> PRICE_SHIFT) - (rate->price[kind] >> PRICE_SHIFT);
}

uint64_t
qos_rate_ready_ns(const struct qos_rate *rate, const struct qos_params *params, enum qos_kind kind, uint32_t bytes,
    uint64_t now_ns)
{
	uint64_t need = needed(params, bytes), part;

	if (rate->tokens[kind] >= need)
		return now_ns;
	part = (rate->target >> 6) * part_of(rate, kind) >> 10;
	return now_ns + (need - rate->tokens[kind]) * SECOND_NS / (part + 1) + 1;
}

void
qos_rate_begins(struct qos_rate *rate, uint64_t now_ns)
{
	rate->since_ns += now_ns - rate->rests_ns;
}

void
qos_rate_rests(struct qos_rate *rate, uint64_t now_ns)
{
	rate->rests_ns = now_ns;
}

/* As soon as what has ended says how fast the device is. */
static void
measure(struct qos_rate *rate, uint32_t bytes, uint64_t now_ns)
{
	uint64_t gone_ns = now_ns - rate->since_ns;

	rate->ended_bytes += bytes;
	if (gone_ns < WINDOW_LEAST_NS || (rate->ended_bytes < WINDOW_BYTES && gone_ns < WINDOW_MOST_NS))
		return;
	assert(rate->ended_bytes < UINT64_C(1) << 34);
	rate->ended_rate = rate->ended_bytes * SECOND_NS / gone_ns;
	rate->ended_bytes = 0;
	rate->since_ns = now_ns;
}

static void
lower(struct qos_rate *rate, const struct qos_params *params, uint64_t bytes)
{
	rate->target = rate->target > params->rate_least + bytes ? rate->target - bytes : params->rate_least;
}

static void
raise_by(struct qos_rate *rate, const struct qos_params *params, uint64_t bytes)
{
	rate->target = rate->target + bytes < params->rate_most ? rate->target + bytes : params->rate_most;
}

void
qos_rate_ended(struct qos_rate *rate, const struct qos_params *params, enum qos_state state, enum qos_kind kind,
    uint32_t bytes, uint64_t now_ns)
{
	measure(rate, bytes, now_ns);
	switch (state) {
	case QOS_UNDERUSED:
		raise_by(rate, params, (uint64_t)params->beta * bytes);
		break;
	case QOS_AVOIDANCE:
		raise_by(rate, params, bytes);
		break;
	case QOS_OVERLOADED:
		if (rate->ended_rate > 0 && rate->ended_rate < rate->target)
			rate->target = rate->ended_rate;
		rate->tokens[kind] = 0;
		lower(rate, params, bytes);
		break;
	case QOS_CONGESTED:
		lower(rate, params, bytes);
		break;
	case QOS_STATES:
		assert(false);
	}
}
