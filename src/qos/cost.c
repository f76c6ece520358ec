#include "qos/cost.h"

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

void
qos_cost_init(struct qos_cost *cost, const struct qos_params *params)
{
	*cost = (struct qos_cost){
		.worst = params->write_cost_worst, .period_ns = params->write_cost_ns,
	};
	cost->step = (cost->worst - QOS_COST_ONE + params->write_cost_steps - 1) / params->write_cost_steps;
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		for (uint32_t place = 1; place < QOS_COST_LARGE; place++) {
			uint64_t bytes = (uint64_t)place * QOS_SIZE_LEAST;

			cost->prices[place][kind] = (struct qos_price){
				.cost = (uint32_t)(between(params->size_cost[kind], bytes, true) / QOS_COST_ONE),
				.ns = (uint32_t)between(params->size_ns[kind], bytes, false),
			};
		}
		cost->prices[QOS_COST_LARGE][kind].ns = params->size_ns[kind][QOS_SIZES - 1];
		cost->large[kind] = params->size_cost[kind][QOS_SIZES - 1];
	}
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

bool
qos_cost_wrote(struct qos_cost *cost, const struct qos_params *params, uint64_t peak_ns, uint64_t now_ns)
{
	uint32_t write = cost->write;

	if (now_ns < cost->until_ns)
		return false;
	if (cost->until_ns == 0) {
		cost->until_ns = now_ns + cost->period_ns;
		return false;
	}
	if (peak_ns > params->thresh_min_ns)
		write = (write + cost->worst + 1) / 2;
	else
		write = write > QOS_COST_ONE + cost->step ? write - cost->step : QOS_COST_ONE;
	qos_cost_set_write(cost, write);
	cost->until_ns = now_ns + cost->period_ns;
	return true;
}
