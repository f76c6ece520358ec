#include "qos/monitor.h"

void
qos_monitor_init(struct qos_monitor *monitor, const struct qos_params *params)
{
	*monitor = (struct qos_monitor){
		.least = (uint64_t)params->thresh_min_ns << QOS_MONITOR_SHIFT,
		.most = (uint64_t)params->thresh_max_ns << QOS_MONITOR_SHIFT,
		.ewma_shift = params->ewma_shift, .thresh_shift = params->thresh_shift,
	};
	monitor->thresh = monitor->most;
}

enum qos_state
qos_monitor_add(struct qos_monitor *m, uint64_t latency_ns)
{
	uint64_t latency = latency_ns << QOS_MONITOR_SHIFT;
	uint64_t ewma = m->ewma + (latency >> m->ewma_shift) - (m->ewma >> m->ewma_shift), thresh = m->thresh;

	m->ewma = ewma;
	if (ewma > m->peak)
		m->peak = ewma;
	if (ewma <= thresh) {
		m->thresh = thresh - ((thresh - ewma) >> m->thresh_shift);
		m->state = ewma > m->least ? QOS_AVOIDANCE : QOS_UNDERUSED;
	} else if (ewma <= m->most) {
		m->thresh = (thresh + m->most) / 2;
		m->state = QOS_CONGESTED;
	} else {
		m->thresh = m->most;
		m->state = QOS_OVERLOADED;
	}
	return m->state;
}
