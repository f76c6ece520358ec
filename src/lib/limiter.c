/*
 * limiter.c - a host that holds itself back (weir/limiter.h).
 *
 * What was let go is paid for at the rate, one after the other (virtual scheduling); what was not used is not saved up,
 * but for 10 ms, so that a thread that was late loses nothing by it.
 */
#include <assert.h>

#include <weir/limiter.h>

enum { SECOND_NS = 1000 * 1000 * 1000, SAVED_NS = 10 * 1000 * 1000, RATE_LEAST = 1024 * 1024 };

#define RATE_MOST (UINT64_C(1) << 50)

void
weir_limiter_init(struct weir_limiter *limiter)
{
	*limiter = (struct weir_limiter){ .limits = { { WEIR_ENDLESS, 0 }, { WEIR_ENDLESS, 0 } } };
}

/* Whoever has nothing yet must be able to begin. */
static uint64_t
within(uint64_t rate)
{
	return rate < RATE_LEAST ? RATE_LEAST : rate < RATE_MOST ? rate : RATE_MOST;
}

/* What this host may have of a kind, after it had so much in a second. */
static uint64_t
rate_of(const struct weir_view *view, int kind)
{
	const struct weir_view_kind *device = &view->kinds[kind];
	uint64_t had = within(view->host.kinds[kind].lately_bytes);
	uint32_t others = view->tenants > 1 ? view->tenants : 1;

	if (device->headroom > 0)
		return within(had + (device->headroom < RATE_MOST ? device->headroom : RATE_MOST) / others);
	if (device->state == WEIR_OVERLOADED || view->host.waiting > 0)
		return within(had - had / 8);
	return within(had + had / 8);
}

/* What was let go by the rate before is paid for by the new one from now on. */
static void
limit_set(struct weir_limit *limit, uint64_t rate, uint64_t now_ns)
{
	if (limit->due_ns > now_ns && limit->rate != WEIR_ENDLESS && rate != WEIR_ENDLESS) {
		unsigned __int128 owed = (unsigned __int128)(limit->due_ns - now_ns) * limit->rate / rate;

		limit->due_ns = now_ns + (owed < SECOND_NS ? (uint64_t)owed : SECOND_NS);
	}
	limit->rate = rate;
}

void
weir_limiter_heed(struct weir_limiter *limiter, const struct weir_view *view, uint64_t now_ns)
{
	for (int kind = WEIR_READS; kind <= WEIR_WRITES; kind++) {
		bool bound = view->shared && view->paced && view->kinds[kind].headroom != WEIR_ENDLESS;

		limit_set(&limiter->limits[kind], bound ? rate_of(view, kind) : WEIR_ENDLESS, now_ns);
	}
}

uint64_t
weir_limiter_take(struct weir_limiter *limiter, int kind, uint64_t bytes, uint64_t now_ns)
{
	struct weir_limit *limit = &limiter->limits[kind];
	unsigned __int128 takes;

	assert(kind == WEIR_READS || kind == WEIR_WRITES);
	if (limit->rate == WEIR_ENDLESS)
		return 0;
	if (limit->due_ns > now_ns)
		return limit->due_ns - now_ns;
	if (limit->due_ns + SAVED_NS < now_ns)
		limit->due_ns = now_ns - SAVED_NS;
	takes = (unsigned __int128)bytes * SECOND_NS / limit->rate;
	limit->due_ns += takes < UINT64_MAX / 4 ? (uint64_t)takes : UINT64_MAX / 4;
	return 0;
}

uint64_t
weir_limiter_rate(const struct weir_limiter *limiter, int kind)
{
	assert(kind == WEIR_READS || kind == WEIR_WRITES);
	return limiter->limits[kind].rate;
}
