#include "trace/stat.h"

#include "base/arena.h"
#include "trace/rates.h"
#include "trace/sketch.h"
#include "trace/working_set.h"

const struct trace_stat_options trace_stat_paper = {
	.streams = STREAMS_PAPER, .window_ns = RATES_WINDOW_NS,
};

struct trace_tally {
	struct arena *arena;
	struct rates rates;
	struct streams streams;
	struct working_set *working_set;
};

struct trace_tally *
trace_tally_create(struct arena *arena, const struct trace_stat_options *options, uint64_t *room)
{
	struct trace_tally *tally = arena_alloc(arena, sizeof(*tally));

	if (tally == NULL)
		return NULL;
	tally->arena = arena;
	rates_init(&tally->rates, options->window_ns);
	streams_init(&tally->streams, &options->streams);
	tally->working_set = working_set_create(arena, room);
	if (tally->working_set != NULL)
		return tally;
	trace_tally_destroy(tally);
	return NULL;
}

void
trace_tally_destroy(struct trace_tally *tally)
{
	if (tally == NULL)
		return;
	working_set_destroy(tally->working_set);
	arena_free(tally->arena, tally);
}

int
trace_tally_add(struct trace_tally *tally, const struct trace_request *request)
{
	rates_add(&tally->rates, request);
	streams_add(&tally->streams, request);
	return working_set_add(tally->working_set, request);
}

void
trace_tally_expect(const struct trace_tally *tally, const struct trace_request *request)
{
	working_set_expect(tally->working_set, request);
}

void
trace_tally_stat(const struct trace_tally *tally, struct trace_stat *stat)
{
	const struct rates *rates = &tally->rates;

	*stat = (struct trace_stat) {
		.streams = streams_count(&tally->streams),
		.write_gb_day = rates_write_gb_day(rates),
		.peak_iops = rates_peak_iops(rates),
		.write_ratio = rates_write_ratio(rates),
		.working_set_gb = (double)working_set_bytes(tally->working_set) / 1e9,
		.working_set_error = working_set_is_exact(tally->working_set) ? 0 : SKETCH_ERROR,
		.read_gb = (double)rates->read_bytes / 1e9,
		.written_gb = (double)rates->written_bytes / 1e9,
		.reads = rates->reads,
		.writes = rates->writes,
		.duration_ns = rates_duration_ns(rates),
		.backwards = rates->backwards,
		.misplaced = rates->misplaced,
	};
	stat->seq_ratio = streams_ratio(&stat->streams);
}
