#include "qos/recent.h"

#include <string.h>

enum { SUBS = 1 << RECENT_SUB_BITS };

void
qos_recent_init(struct qos_recent *recent)
{
	memset(recent, 0, sizeof(*recent));
}

/* Of less than 2^RECENT_LEAST_BITS there is one bucket, and SUBS of each power of two from there on. */
static uint32_t
bucket_of(uint64_t ns)
{
	uint32_t bits;

	if (ns >> RECENT_LEAST_BITS == 0)
		return 0;
	if (ns >> RECENT_MOST_BITS != 0)
		return RECENT_BUCKETS - 1;
	bits = 63 - (uint32_t)__builtin_clzll(ns);
	return ((bits - RECENT_LEAST_BITS) << RECENT_SUB_BITS) +
	    (uint32_t)(ns >> (bits - RECENT_SUB_BITS) & (SUBS - 1)) + 1;
}

/* The most that falls into a bucket. */
static uint64_t
bucket_top(uint32_t bucket)
{
	uint32_t bits;

	if (bucket == 0)
		return (1 << RECENT_LEAST_BITS) - 1;
	bits = ((bucket - 1) >> RECENT_SUB_BITS) + RECENT_LEAST_BITS;
	return ((uint64_t)(SUBS + ((bucket - 1) & (SUBS - 1)) + 1) << (bits - RECENT_SUB_BITS)) - 1;
}

/* The window that was is the last whole second, if the one that begins follows it. */
static __attribute__((noinline)) void
begin(struct qos_recent *recent, uint64_t now_ns)
{
	if (!qos_recent_any(recent, now_ns))
		memset(&recent->windows[recent->now], 0, sizeof(recent->windows[0]));
	recent->now ^= 1;
	memset(&recent->windows[recent->now], 0, sizeof(recent->windows[0]));
	recent->ends_ns = (now_ns / RECENT_NS + 1) * RECENT_NS;
}

void
qos_recent_add(struct qos_recent *recent, uint64_t bytes, uint64_t latency_ns, uint64_t now_ns)
{
	struct recent_window *window;

	if (now_ns >= recent->ends_ns)
		begin(recent, now_ns);
	window = &recent->windows[recent->now];
	window->ios++;
	window->bytes += bytes;
	window->buckets[bucket_of(latency_ns)]++;
}

/* The bound that at least `permille` of them do not exceed. */
static uint64_t
quantile(const struct recent_window *window, uint32_t permille)
{
	uint64_t want = ((uint64_t)window->ios * permille + 999) / 1000, seen = 0;
	uint32_t bucket = 0;

	if (window->ios == 0)
		return 0;
	for (seen = window->buckets[0]; seen < want; seen += window->buckets[bucket])
		bucket++;
	return bucket_top(bucket);
}

void
qos_recent_look(const struct qos_recent *recent, uint64_t now_ns, struct qos_lately *lately)
{
	const struct recent_window *window = &recent->windows[recent->now];

	*lately = (struct qos_lately){ 0 };
	if (!qos_recent_any(recent, now_ns))
		return;
	if (now_ns < recent->ends_ns) /* the one that goes on is no whole second yet */
		window = &recent->windows[recent->now ^ 1];
	*lately = (struct qos_lately){
		.ios = window->ios, .bytes = window->bytes, .p50_ns = quantile(window, 500),
		.p99_ns = quantile(window, 990), .p999_ns = quantile(window, 999),
	};
}
