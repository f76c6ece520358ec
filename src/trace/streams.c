#include "trace/streams.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define NO_VOLUME UINT32_MAX

void
streams_init(struct streams *streams, const struct streams_options *options)
{
	memset(streams, 0, sizeof(*streams));
	streams->options = *options;
	assert(options->slots >= 1 && options->slots <= STREAMS_MAX);
	for (unsigned i = 0; i < options->slots; i++) {
		streams->before[i] = (uint8_t)((i + 1) % options->slots);
		streams->after[(i + 1) % options->slots] = (uint8_t)i;
	}
	memset(streams->volume, 0xff, sizeof(streams->volume));
}

/* ---- which one ---- */

static bool
goes_on(const struct streams *streams, unsigned slot, const struct trace_request *request)
{
	return (request->offset - streams->last[slot] <= streams->span[slot]) &
	    (request->volume == streams->volume[slot]);
}

/* The one that was used last of those that it goes on with, or `slots`. */
static unsigned
find(const struct streams *streams, const struct trace_request *request)
{
	unsigned slots = streams->options.slots, found = streams->newest;
	uint64_t may = 0;

	if (goes_on(streams, found, request))
		return found;
	for (unsigned i = 0; i < slots; i++)
		may |= (uint64_t)goes_on(streams, i, request) << i;
	if (may == 0)
		return slots;
	while ((may >> found & 1) == 0)
		found = streams->before[found];
	return found;
}

/* It is the newest now: the ring is opened at the oldest, which may be itself. */
static void
use(struct streams *streams, unsigned slot)
{
	unsigned newest = streams->newest, oldest = streams->after[newest];

	if (slot != newest && slot != oldest) {
		streams->before[streams->after[slot]] = streams->before[slot];
		streams->after[streams->before[slot]] = streams->after[slot];
		streams->before[oldest] = streams->after[newest] = (uint8_t)slot;
		streams->before[slot] = (uint8_t)newest;
		streams->after[slot] = (uint8_t)oldest;
	}
	streams->newest = (uint8_t)slot;
}

/* ---- what becomes of it ---- */

static void
end(struct streams_counts *counts, const struct stream *stream, uint32_t stream_bytes)
{
	if (stream->covered <= stream_bytes)
		return;
	counts->streams++;
	counts->sequential_writes += stream->writes;
	counts->sequential_bytes += stream->bytes;
}

static void
count_hit(struct streams *streams, unsigned slot, const struct trace_request *request)
{
	uint64_t last_bytes = streams->span[slot] - streams->options.gap_bytes;
	uint64_t behind = request->offset - streams->last[slot];

	if (behind < last_bytes)
		streams->counts.inside++;
	else if (behind == last_bytes)
		streams->counts.at_end++;
	else
		streams->counts.in_gap++;
}

static void
append(struct streams *streams, unsigned slot, const struct trace_request *request)
{
	struct stream *stream = &streams->streams[slot];
	uint64_t high = trace_request_end(request);
	uint64_t low = request->offset > stream->high ? request->offset : stream->high;

	if (high > low) {
		stream->covered += high - low;
		stream->high = high;
	}
	stream->bytes += request->bytes;
	stream->writes++;
	streams->last[slot] = request->offset;
	streams->span[slot] = (uint64_t)request->bytes + streams->options.gap_bytes;
	streams->volume[slot] = request->volume;
	use(streams, slot);
}

void
streams_add(struct streams *streams, const struct trace_request *request)
{
	unsigned slot;

	if (!request->is_write)
		return;
	assert(request->volume != NO_VOLUME);
	streams->counts.writes++;
	streams->counts.bytes += request->bytes;
	slot = find(streams, request);
	if (slot < streams->options.slots) {
		count_hit(streams, slot, request);
	} else {
		slot = streams->after[streams->newest]; /* the oldest */
		end(&streams->counts, &streams->streams[slot], streams->options.stream_bytes);
		streams->streams[slot] = (struct stream) { 0 };
		streams->counts.misses++;
	}
	append(streams, slot, request);
}

struct streams_counts
streams_count(const struct streams *streams)
{
	struct streams_counts counts = streams->counts;

	for (unsigned i = 0; i < streams->options.slots; i++)
		end(&counts, &streams->streams[i], streams->options.stream_bytes);
	return counts;
}

double
streams_ratio(const struct streams_counts *counts)
{
	return counts->bytes > 0 ? (double)counts->sequential_bytes / (double)counts->bytes : NAN;
}
