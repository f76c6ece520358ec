/*
 * view.c - what goes on at a namespace that hosts share (weir/view.h).
 */
#include <errno.h>
#include <string.h>

#include <weir/view.h>

#include "lib/decode.h"
#include "lib/error.h"
#include "wire/extension.h"

static struct weir_view_count
count_of(const struct weir_log_view_done *done)
{
	return (struct weir_view_count){
		.ios = le64_get(done->ios), .bytes = le64_get(done->bytes), .failed = le64_get(done->failed),
		.lately_ios = le64_get(done->lately_ios), .lately_bytes = le64_get(done->lately_bytes),
		.p50_ns = le64_get(done->p50_ns), .p99_ns = le64_get(done->p99_ns),
		.p999_ns = le64_get(done->p999_ns),
	};
}

/* What no state is counts as the worst. */
static enum weir_view_state
state_of(uint8_t state)
{
	return state < WEIR_OVERLOADED ? (enum weir_view_state)state : WEIR_OVERLOADED;
}

static void
take_host(const struct weir_log_view *log, struct weir_view *view)
{
	view->host.weight = le32_get(log->host.weight);
	view->host.credits = le32_get(log->host.credits);
	view->host.waiting = le32_get(log->host.waiting);
	view->host.inflight = le32_get(log->host.inflight);
	for (int kind = WEIR_READS; kind <= WEIR_WRITES; kind++)
		view->host.kinds[kind] = count_of(&log->host.kinds[kind]);
}

static void
take_medium(const struct weir_log_view *log, struct weir_view *view)
{
	view->medium.written_bytes = le64_get(log->medium.written_bytes);
	view->medium.media_bytes = le64_get(log->medium.media_bytes);
	view->medium.used_percent = le32_get(log->medium.used_percent);
	view->medium.spare_percent = log->medium.spare_percent;
	view->medium.spare_threshold_percent = log->medium.spare_threshold_percent;
}

bool
weir_view_decode(const void *page, size_t bytes, struct weir_view *view)
{
	static const uint8_t guid[16] = WEIR_VIEW_GUID;
	struct weir_log_view log;
	uint32_t flags;

	*view = (struct weir_view){ 0 };
	if (!lib_take(page, bytes, 0, &log, sizeof(log)) || memcmp(log.guid, guid, sizeof(guid)) != 0 ||
	    le16_get(log.length) < sizeof(log))
		return false;
	flags = le32_get(log.flags);
	*view = (struct weir_view){
		.nsid = le32_get(log.nsid), .shared = flags & WEIR_VIEW_SHARED, .paced = flags & WEIR_VIEW_PACED,
		.stalled = flags & WEIR_VIEW_STALLED, .known = flags & WEIR_VIEW_KNOWN,
		.wears = flags & WEIR_VIEW_WEARS,
		.state = state_of(log.state), .rate = le64_get(log.rate), .occupied = le64_get(log.occupied),
		.most = le64_get(log.most), .write_cost = le32_get(log.write_cost), .tenants = le32_get(log.tenants),
		.waiting = le32_get(log.waiting), .inflight = le32_get(log.inflight),
	};
	for (int kind = WEIR_READS; kind <= WEIR_WRITES; kind++)
		view->kinds[kind] = (struct weir_view_kind){
			.state = state_of(log.kinds[kind].state), .ewma_ns = le64_get(log.kinds[kind].ewma_ns),
			.thresh_ns = le64_get(log.kinds[kind].thresh_ns),
			.headroom = le64_get(log.kinds[kind].headroom), .done = count_of(&log.kinds[kind].done),
		};
	take_host(&log, view);
	take_medium(&log, view);
	return true;
}

int
weir_subsys_view(struct weir_subsys *subsys, uint32_t nsid, struct weir_view *view)
{
	struct weir_log_view page;
	int rc;

	*view = (struct weir_view){ 0 };
	rc = weir_subsys_log(subsys, -1, WEIR_LOG_VIEW, 0, nsid, 0, &page, sizeof(page));
	if (rc == 0 && !weir_view_decode(&page, sizeof(page), view))
		rc = lib_fail(-EOPNOTSUPP, "log page %02xh is not one of Weir's", WEIR_LOG_VIEW);
	return rc;
}

int
weir_volume_view(struct weir_volume *volume, struct weir_view *view)
{
	return weir_subsys_view(weir_volume_subsys(volume), weir_volume_nsid(volume), view);
}

const char *
weir_view_state_name(enum weir_view_state state)
{
	static const char *const names[] = {
		[WEIR_UNDERUSED] = "underused", [WEIR_AVOIDANCE] = "avoidance", [WEIR_CONGESTED] = "congested",
		[WEIR_OVERLOADED] = "overloaded",
	};

	return (unsigned)state <= WEIR_OVERLOADED ? names[state] : NULL;
}
