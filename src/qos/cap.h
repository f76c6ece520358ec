/*
 * cap.h - no more than so many I/Os and bytes a second, where an operator wants it so.
 *
 * Of a tenant, a group or a volume; reads and writes each.  An I/O goes at its time, one after the other at even
 * distances; what was not used lately may be made up for, as long as the burst says.  (GCRA, ITU-T I.371, virtual
 * scheduling.)
 */
#ifndef WEIR_QOS_CAP_H
#define WEIR_QOS_CAP_H

#include "qos/gate.h"

struct qos_limit {
	uint64_t ios, bytes;      /* a second; 0: no limit */
};

enum {
	QOS_CAP_IOS_MAX = 1000 * 1000 * 1000,
	QOS_CAP_BURST_MAX_MS = 3600 * 1000,
};
#define QOS_CAP_BYTES_MAX (UINT64_C(1) << 40)

struct qos_cap {
	struct qos_limit limits[QOS_KINDS];
	uint64_t burst;           /* QOS_CAP_NS */
	/* When the next I/O is due, by its number and by its bytes, had there been no pause: QOS_CAP_NS */
	uint64_t due_ios[QOS_KINDS], due_bytes[QOS_KINDS];
	/* of the switch, where those wait that it holds back */
	struct qos *qos;
	unsigned level;           /* of a tenant, of a group, of all */
	struct qos_entry {
		struct qos_stile stile;
		struct timer timer;       /* until somebody may be let in */
		struct list open;         /* while somebody is passing */
		struct qos_cap *cap;
	} entries[QOS_KINDS];
};

/* Times are in sixteenths of a nanosecond, so that a limit of 10 million I/Os a second is right. */
enum { QOS_CAP_NS = 16 };

/* `burst_ms`: what was not used for so long may be made up for; of 5 ms at least. */
void qos_cap_init(struct qos_cap *cap, const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms);

/* Other limits from now on; where anybody waits that is for qos_change_cap(). */
void qos_cap_set(struct qos_cap *cap, const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms);

/* NULL, or what is wrong with them, in plain words. */
const char *qos_cap_wrong(const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms);

/* When an I/O of that kind may go: not before `now_ns`. */
uint64_t qos_cap_ready_ns(const struct qos_cap *cap, enum qos_kind kind, uint64_t now_ns);

/* So many I/Os of such a length can each of those that it holds back have under way, without any waiting for long: 1 at
 * least; UINT32_MAX: it holds back none of that kind. */
uint32_t qos_cap_credits(const struct qos_cap *cap, enum qos_kind kind, uint32_t bytes);

/* It goes. */
void qos_cap_take(struct qos_cap *cap, enum qos_kind kind, uint32_t bytes, uint64_t now_ns);

#endif
