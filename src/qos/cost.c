#include "qos/cost.h"

#define SECOND_NS UINT64_C(1000000000)

/* Between two sizes in a straight line. */
static uint64_t
between(const uint32_t at[QOS_SIZES], uint64_t bytes, bool whole)
{
	uint64_t lower = QOS_SIZE_LEAST, from, to;
	int size = 0;

	while (size < QOS_SIZES - 2 && bytes > 2 * lower) {
		lower *= 2;
		size++;
	}
	from = whole ? at[size] * lower : at[size];
	to = whole ? at[size + 1] * 2 * lower : at[size + 1];
	return from + (to > from ? (to - from) * (bytes - lower) / lower : 0);
}

/* How much of the device's time an I/O of so many bytes takes from others. */
static uint32_t
busy_ns_of(const uint64_t rates[QOS_SIZES], uint64_t bytes)
{
	uint32_t ns[QOS_SIZES];

	for (int size = 0; size < QOS_SIZES; size++) {
		if (rates[size] == 0)
			return 0;
		ns[size] = (uint32_t)(((uint64_t)QOS_SIZE_LEAST << size) * SECOND_NS / rates[size]);
	}
	return (uint32_t)between(ns, bytes, false);
}

void
qos_cost_init(struct qos_cost *cost, const struct qos_params *params)
{
	*cost = (struct qos_cost){
		.worst = params->write_cost_worst, .period_ns = params->write_cost_ns,
		.least_ns = params->thresh_min_ns,
	};
	cost->step = (cost->worst - QOS_COST_ONE + params->write_cost_steps - 1) / params->write_cost_steps;
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		for (uint32_t place = 1; place < QOS_COST_LARGE; place++) {
			uint64_t bytes = (uint64_t)place * QOS_SIZE_LEAST;

			cost->prices[place][kind] = (struct qos_price){
				.cost = (uint32_t)(between(params->size_cost[kind], bytes, true) / QOS_COST_ONE),
				.ns = (uint32_t)between(params->size_ns[kind], bytes, false),
				.busy_ns = busy_ns_of(params->size_rate[kind], bytes),
			};
		}
		cost->prices[QOS_COST_LARGE][kind].ns = params->size_ns[kind][QOS_SIZES - 1];
		cost->prices[QOS_COST_LARGE][kind].busy_ns = busy_ns_of(params->size_rate[kind], QOS_SIZE_MOST);
		cost->large[kind] = params->size_cost[kind][QOS_SIZES - 1];
	}
	cost->known = cost->prices[1][QOS_READ].busy_ns > 0 && cost->prices[1][QOS_WRITE].busy_ns > 0;
	qos_cost_set_write(cost, cost->worst);
}

void
qos_cost_set_write(struct qos_cost *cost, uint32_t write)
{
	cost->write = write;
	for (int kind = 0; kind < QOS_KINDS; kind++)
		for (uint32_t place = 1; place < QOS_COST_LARGE; place++) {
			struct qos_price *price = &cost->prices[place][kind];

			price->weight = qos_cost_times(cost, (enum qos_kind)kind, price->cost);
		}
}

/* What writing costs by what has ended: the device was never idle, and what reads did not take of it writes did. */
static uint64_t
seen(const struct qos_cost *cost, uint64_t busy_ns)
{
	uint64_t gone_ns = busy_ns - cost->since_ns, reads_ns = cost->busy_ns[QOS_READ], write;

	if (!cost->known || cost->busy_ns[QOS_WRITE] == 0)
		return cost->worst;
	if (gone_ns <= reads_ns)
		return QOS_COST_ONE;
	write = (gone_ns - reads_ns) * QOS_COST_ONE / cost->busy_ns[QOS_WRITE];
	return write < QOS_COST_ONE ? QOS_COST_ONE : write > cost->worst ? cost->worst : write;
}

static void
next_period(struct qos_cost *cost, uint64_t busy_ns, uint64_t now_ns)
{
	cost->until_ns = now_ns + cost->period_ns;
	cost->since_ns = busy_ns;
	cost->busy_ns[QOS_READ] = cost->busy_ns[QOS_WRITE] = 0;
}

bool
qos_cost_wrote(struct qos_cost *cost, uint64_t peak_ns, uint64_t busy_ns, uint64_t now_ns)
{
	uint32_t write = cost->write;

	if (!qos_cost_over(cost, now_ns))
		return false;
	if (cost->until_ns == 0) {
		next_period(cost, busy_ns, now_ns);
		return false;
	}
	if (peak_ns <= cost->least_ns)
		write = write > QOS_COST_ONE + cost->step ? write - cost->step : QOS_COST_ONE;
	else if (now_ns < cost->until_ns + cost->period_ns)
		write = (uint32_t)((write + seen(cost, busy_ns) + 1) / 2);
	qos_cost_set_write(cost, write);
	next_period(cost, busy_ns, now_ns);
	return true;
}
