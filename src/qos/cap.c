#include "qos/cap.h"

#include <stddef.h>

/* An I/O that comes a little late, because a turn took long, does not make the next ones late. */
enum { BURST_LEAST_MS = 5 };

/* Of who keeps to credits nothing waits longer than a tenth of a second, which is as long as any device takes. */
enum { CREDITS_PER_SECOND = 10 };

#define SECOND (UINT64_C(1000000000) * QOS_CAP_NS)

void
qos_cap_init(struct qos_cap *cap, const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms)
{
	*cap = (struct qos_cap){ 0 };
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		qos_stile_init(&cap->entries[kind].stile);
		list_init(&cap->entries[kind].open);
		cap->entries[kind].cap = cap;
	}
	qos_cap_set(cap, limits, burst_ms);
}

/* What was due at another rate is forgotten. */
void
qos_cap_set(struct qos_cap *cap, const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms)
{
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		if (limits[kind].ios != cap->limits[kind].ios)
			cap->due_ios[kind] = 0;
		if (limits[kind].bytes != cap->limits[kind].bytes)
			cap->due_bytes[kind] = 0;
		cap->limits[kind] = limits[kind];
	}
	cap->burst = (uint64_t)(burst_ms > BURST_LEAST_MS ? burst_ms : BURST_LEAST_MS) * (SECOND / 1000);
}

const char *
qos_cap_wrong(const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms)
{
	for (int kind = 0; kind < QOS_KINDS; kind++)
		if (limits[kind].ios > QOS_CAP_IOS_MAX || limits[kind].bytes > QOS_CAP_BYTES_MAX)
			return "a limit is at most 1000 million I/Os, or 1 TiB, a second";
	return burst_ms > QOS_CAP_BURST_MAX_MS ? "what was not used is made up for within an hour" : NULL;
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t
qos_cap_ready_ns(const struct qos_cap *cap, enum qos_kind kind, uint64_t now_ns)
{
	uint64_t due = later(cap->due_ios[kind], cap->due_bytes[kind]);

	if (due <= cap->burst)
		return now_ns;
	return later(now_ns, (due - cap->burst + QOS_CAP_NS - 1) / QOS_CAP_NS);
}

uint32_t
qos_cap_credits(const struct qos_cap *cap, enum qos_kind kind, uint32_t bytes)
{
	const struct qos_limit *limit = &cap->limits[kind];
	uint32_t waiting = cap->entries[kind].stile.waiting;
	uint64_t ios = limit->ios > 0 ? limit->ios : UINT64_MAX;

	if (limit->ios == 0 && limit->bytes == 0)
		return UINT32_MAX;
	if (limit->bytes > 0 && limit->bytes / bytes < ios)
		ios = limit->bytes / bytes;
	ios /= CREDITS_PER_SECOND * (waiting > 0 ? waiting : 1);
	return ios > 0 ? (uint32_t)ios : 1;
}

static void
charge(uint64_t *due, uint64_t rate, uint64_t count, uint64_t now_ns)
{
	if (rate > 0)
		*due = later(*due, now_ns * QOS_CAP_NS) + count * SECOND / rate;
}

void
qos_cap_take(struct qos_cap *cap, enum qos_kind kind, uint32_t bytes, uint64_t now_ns)
{
	charge(&cap->due_ios[kind], cap->limits[kind].ios, 1, now_ns);
	charge(&cap->due_bytes[kind], cap->limits[kind].bytes, bytes, now_ns);
}
