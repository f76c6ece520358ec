/*
 * monitor.h - do the latencies of a device say that it is congested?
 *
 * One of reads and one of writes.  An average that follows quickly, and a threshold that comes down to it while all is
 * well and goes up when it was crossed: so it is crossed now and then whatever is usual.  Source: Gimbal, 3.3 and
 * Algorithm 1.
 */
#ifndef WEIR_QOS_MONITOR_H
#define WEIR_QOS_MONITOR_H

#include "qos/params.h"

enum qos_state {
	QOS_UNDERUSED,  /* below the least threshold: nothing waits in the device */
	QOS_AVOIDANCE,  /* below the moving one */
	QOS_CONGESTED,  /* above it */
	QOS_OVERLOADED, /* above the greatest */
	QOS_STATES,
};

struct qos_monitor {
	uint64_t ewma;    /* ns << QOS_MONITOR_SHIFT, so that no fraction is lost */
	uint64_t thresh;  /* so, too */
	uint64_t least, most; /* thresholds, too */
	uint64_t peak;    /* of the average, since somebody set it to 0 */
	uint32_t ewma_shift, thresh_shift;
	enum qos_state state;
};

enum { QOS_MONITOR_SHIFT = 10 };

void qos_monitor_init(struct qos_monitor *monitor, const struct qos_params *params);

/* Another I/O took so long, beside what its size takes anyway: how the device is. */
enum qos_state qos_monitor_add(struct qos_monitor *monitor, uint64_t latency_ns);

static inline uint64_t qos_monitor_ns(const struct qos_monitor *m) { return m->ewma >> QOS_MONITOR_SHIFT; }
static inline uint64_t qos_monitor_peak_ns(const struct qos_monitor *m) { return m->peak >> QOS_MONITOR_SHIFT; }

#endif
