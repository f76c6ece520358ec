#include "qos/rate.h"

#include <assert.h>

enum {
	SECOND_NS = 1000 * 1000 * 1000,
	FILL_MOST_NS = 1000 * 1000 * 1000, /* what is counted of a time without calls, so that nothing overflows */
	WINDOW_BYTES = 16 * 1024 * 1024,
	WINDOW_LEAST_NS = 1000 * 1000,    /* as soon as so much time has gone by, too, what has ended says something */
	WINDOW_MOST_NS = 100 * 1000 * 1000,
	CHANGES_MOST = 16,                /* I/Os, until `fill` is worked out again */
	LATELY_BYTES = 4 * 1024 * 1024,
};

/* What a byte of a kind costs, in 1024ths; at least 1. */
static uint64_t
price_of(const struct qos_rate *rate, enum qos_kind kind)
{
	uint64_t price = rate->weights[kind] * QOS_COST_ONE / rate->bytes[kind];

	return price > 0 ? price : 1;
}

/* Each kind gets as large a part as the other one costs. */
static void
work_out(struct qos_rate *rate)
{
	uint64_t reads = price_of(rate, QOS_READ), writes = price_of(rate, QOS_WRITE);
	uint64_t part = (writes << 16) / (reads + writes);
	uint64_t all = (rate->target << QOS_TOKEN_SHIFT) / SECOND_NS;

	rate->changes = 0;
	rate->fill[QOS_READ] = (all * part >> 16) + 1;
	rate->fill[QOS_WRITE] = (all * ((1 << 16) - part) >> 16) + 1;
	for (int kind = 0; kind < QOS_KINDS; kind++)
		if (rate->bytes[kind] > LATELY_BYTES) {
			rate->bytes[kind] /= 2;
			rate->weights[kind] /= 2;
		}
}

/* What is asked for with each I/O.  And nothing is known of what either kind costs: what is written costs the most. */
static void
keep(struct qos_rate *rate, const struct qos_params *params)
{
	for (int kind = 0; kind < QOS_KINDS; kind++)
		rate->bytes[kind] = rate->weights[kind] = QOS_SLOT_BYTES;
	rate->weights[QOS_WRITE] = (uint64_t)QOS_SLOT_BYTES * params->write_cost_worst / QOS_COST_ONE;
	rate->most = (int64_t)params->bucket_bytes << QOS_TOKEN_SHIFT;
	rate->steps[QOS_UNDERUSED] = (int32_t)params->beta;
	rate->steps[QOS_AVOIDANCE] = 1;
	rate->steps[QOS_CONGESTED] = rate->steps[QOS_OVERLOADED] = -1;
}

void
qos_rate_init(struct qos_rate *rate, const struct qos_params *params)
{
	*rate = (struct qos_rate){ .target = params->rate_first };
	keep(rate, params);
	for (int kind = 0; kind < QOS_KINDS; kind++)
		rate->tokens[kind] = rate->most;
	work_out(rate);
}

void
qos_rate_tune(struct qos_rate *rate, const struct qos_params *params)
{
	keep(rate, params);
	if (rate->target < params->rate_least || rate->target > params->rate_most)
		rate->target = params->rate_first;
	for (int kind = 0; kind < QOS_KINDS; kind++)
		if (rate->tokens[kind] > rate->most)
			rate->tokens[kind] = rate->most;
	work_out(rate);
}

/* What there is no room for. */
static uint64_t
add(struct qos_rate *rate, enum qos_kind kind, uint64_t tokens)
{
	uint64_t over;

	rate->tokens[kind] += (int64_t)tokens;
	if (rate->tokens[kind] <= rate->most)
		return 0;
	over = (uint64_t)(rate->tokens[kind] - rate->most);
	rate->tokens[kind] = rate->most;
	return over;
}

void
qos_rate_fill(struct qos_rate *rate, uint64_t now_ns)
{
	uint64_t gone_ns = now_ns - rate->filled_ns, over;

	assert(now_ns >= rate->filled_ns);
	rate->filled_ns = now_ns;
	if (gone_ns > FILL_MOST_NS)
		gone_ns = FILL_MOST_NS;
	over = add(rate, QOS_READ, rate->fill[QOS_READ] * gone_ns);
	over = add(rate, QOS_WRITE, rate->fill[QOS_WRITE] * gone_ns + over);
	if (over > 0)
		(void)add(rate, QOS_READ, over);
}

void
qos_rate_take(struct qos_rate *rate, enum qos_kind kind, uint32_t bytes, uint64_t weight, bool owed)
{
	rate->tokens[kind] -= owed ? (int64_t)bytes << QOS_TOKEN_SHIFT : qos_rate_need(rate, bytes);
	rate->bytes[kind] += bytes;
	rate->weights[kind] += weight;
}

uint64_t
qos_rate_ready_ns(const struct qos_rate *rate, enum qos_kind kind, uint32_t bytes, uint64_t now_ns)
{
	enum qos_kind other = kind == QOS_READ ? QOS_WRITE : QOS_READ;
	int64_t lacks = qos_rate_need(rate, bytes) - rate->tokens[kind];
	uint64_t fill = rate->fill[kind], full_ns, ready_ns;

	if (lacks <= 0)
		return now_ns;
	/* what the other one has no room for comes here, once it is full */
	full_ns = (uint64_t)(rate->most - rate->tokens[other]) / rate->fill[other];
	ready_ns = (uint64_t)lacks / fill;
	if (ready_ns > full_ns)
		ready_ns = full_ns + ((uint64_t)lacks - full_ns * fill) / (fill + rate->fill[other]);
	return now_ns + ready_ns + 1;
}

/* As soon as what has ended says how fast the device is. */
static void
measure(struct qos_rate *rate, uint64_t busy_ns)
{
	uint64_t gone_ns = busy_ns - rate->since_ns;

	if (gone_ns < WINDOW_LEAST_NS || (rate->ended_bytes < WINDOW_BYTES && gone_ns < WINDOW_MOST_NS))
		return;
	/* more in a millisecond than there is memory says nothing */
	if (rate->ended_bytes <= UINT64_MAX / SECOND_NS)
		rate->ended_rate = rate->ended_bytes * SECOND_NS / gone_ns;
	rate->ended_bytes = 0;
	rate->since_ns = busy_ns;
}

void
qos_rate_ended(struct qos_rate *rate, const struct qos_params *params, enum qos_state state, enum qos_kind kind,
    uint32_t bytes, uint64_t busy_ns)
{
	int64_t target;

	rate->ended_bytes += bytes;
	rate->changes++;
	if (state == QOS_OVERLOADED)
		rate->changes = CHANGES_MOST;
	if (rate->changes >= CHANGES_MOST)
		measure(rate, busy_ns);
	if (state == QOS_OVERLOADED) {
		if (rate->tokens[kind] > 0)
			rate->tokens[kind] = 0;
		if (rate->ended_rate > 0 && rate->ended_rate < rate->target)
			rate->target = rate->ended_rate;
	}
	target = (int64_t)rate->target + (int64_t)rate->steps[state] * bytes;
	if (target > (int64_t)params->rate_most)
		target = (int64_t)params->rate_most;
	if (target < (int64_t)params->rate_least)
		target = (int64_t)params->rate_least;
	rate->target = (uint64_t)target;
	if (rate->changes >= CHANGES_MOST)
		work_out(rate);
}
