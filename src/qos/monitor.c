#include "qos/monitor.h"

void
qos_monitor_init(struct qos_monitor *monitor, const struct qos_params *params)
{
	*monitor = (struct qos_monitor){ .thresh = (uint64_t)params->thresh_max_ns << QOS_MONITOR_SHIFT };
}

enum qos_state
qos_monitor_add(struct qos_monitor *m, const struct qos_params *params, uint64_t latency_ns)
{
	uint64_t min = (uint64_t)params->thresh_min_ns << QOS_MONITOR_SHIFT;
	uint64_t max = (uint64_t)params->thresh_max_ns << QOS_MONITOR_SHIFT;

	m->ewma += (latency_ns << QOS_MONITOR_SHIFT >> params->ewma_shift) - (m->ewma >> params->ewma_shift);
	if (qos_monitor_ns(m) > m->peak_ns)
		m->peak_ns = qos_monitor_ns(m);
	if (m->ewma > max) {
		m->thresh = max;
		m->state = QOS_OVERLOADED;
	} else if (m->ewma > m->thresh) {
		m->thresh = (m->thresh + max) / 2;
		m->state = QOS_CONGESTED;
	} else {
		m->thresh -= (m->thresh - m->ewma) >> params->thresh_shift;
		m->state = m->ewma > min ? QOS_AVOIDANCE : QOS_UNDERUSED;
	}
	return m->state;
}
