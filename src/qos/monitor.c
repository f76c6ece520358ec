#include "qos/monitor.h"

void
qos_monitor_init(struct qos_monitor *monitor, const struct qos_params *params)
{
	*monitor = (struct qos_monitor){
		.least = (uint64_t)params->thresh_min_ns << QOS_MONITOR_SHIFT,
		.most = (uint64_t)params->thresh_max_ns << QOS_MONITOR_SHIFT,
	};
	monitor->thresh = monitor->most;
}

enum qos_state
qos_monitor_add(struct qos_monitor *m, const struct qos_params *params, uint64_t latency_ns)
{
	m->ewma += (latency_ns << QOS_MONITOR_SHIFT >> params->ewma_shift) - (m->ewma >> params->ewma_shift);
	if (qos_monitor_ns(m) > m->peak_ns)
		m->peak_ns = qos_monitor_ns(m);
	if (m->ewma > m->most) {
		m->thresh = m->most;
		m->state = QOS_OVERLOADED;
	} else if (m->ewma > m->thresh) {
		m->thresh = (m->thresh + m->most) / 2;
		m->state = QOS_CONGESTED;
	} else {
		m->thresh -= (m->thresh - m->ewma) >> params->thresh_shift;
		m->state = m->ewma > m->least ? QOS_AVOIDANCE : QOS_UNDERUSED;
	}
	return m->state;
}
