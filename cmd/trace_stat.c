/*
 * trace_stat.c - `weir trace stat`: what workloads are like, of traces of them.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "base/arena.h"
#include "cmd.h"
#include "host_options.h"
#include "trace.h"
#include "trace/rates.h"
#include "trace/working_set.h"
#include "trace_rows.h"
#include "trace_text.h"

enum key { KEY_FORMAT = 1000, KEY_PER_VOLUME, KEY_WINDOW, KEY_CSV, KEY_JSON, KEY_QUIET };

static const struct argp_option options[] = {
	{ "format", KEY_FORMAT, "NAME", 0, TRACE_FORMAT_WORDS " (default: as the file begins)", 0 },
	{ "per-volume", KEY_PER_VOLUME, NULL, 0, "a row for each volume of a trace, not for all of it", 0 },
	{ "window", KEY_WINDOW, "TIME", 0, "over which the peak is counted (default 5m)", 0 },
	{ "csv", KEY_CSV, NULL, 0, "print them as CSV", 0 },
	{ "json", KEY_JSON, NULL, 0, "print them as one JSON object", 0 },
	{ "quiet", KEY_QUIET, NULL, 0, "no bar, on a terminal", 0 },
	{ 0 },
};

enum { BATCH = 1024, AHEAD = 16, WINDOW_MIN_MS = 1000, WINDOW_MAX_MS = 7 * 86400000, NAME = 256 };

struct stat_order {
	struct trace_stat_options options;
	int format;
	bool per_volume, csv, json, quiet;
	char **paths;
	unsigned path_count;
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct stat_order *order = state->input;

	switch (key) {
	case KEY_FORMAT: order->format = (int)trace_format_of(state, arg); return 0;
	case KEY_PER_VOLUME: order->per_volume = true; return 0;
	case KEY_WINDOW:
		order->options.window_ns = option_duration_of(state, "--window", arg, WINDOW_MIN_MS, WINDOW_MAX_MS) *
		    UINT64_C(1000000);
		return 0;
	case KEY_CSV: order->csv = true; return 0;
	case KEY_JSON: order->json = true; return 0;
	case KEY_QUIET: order->quiet = true; return 0;
	case ARGP_KEY_ARG: order->paths[order->path_count++] = arg; return 0;
	case ARGP_KEY_END:
		if (order->path_count == 0)
			argp_error(state, "of which trace? `-' is standard input");
		else if (order->csv && order->json)
			argp_error(state, "either --csv or --json");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "FILE...",
	"Says what workloads are like, of traces of them: how sequential writes are, how much is written a day, how "
	"many I/Os there are at most, how many of them write, and how much is touched. Files may be packed with gzip, "
	"xz or zstd.", NULL, NULL, NULL,
};

/* ---- one trace ---- */

struct stat_run {
	const struct stat_order *order;
	struct arena arena;
	uint64_t room;                             /* of working sets (trace/working_set.h) */
	struct trace_tally *tallies[TRACE_VOLUMES]; /* of each volume; or of all, the first */
	struct trace_rows rows;
	bool left;                                 /* lines that cannot be read */
};

static struct trace_tally **
tally_of(struct stat_run *run, const struct trace_request *request)
{
	return &run->tallies[run->order->per_volume ? request->volume : 0];
}

static int
tally(struct stat_run *run, const struct trace_request *request)
{
	struct trace_tally **tally = tally_of(run, request);

	if (*tally == NULL)
		*tally = trace_tally_create(&run->arena, &run->order->options, &run->room);
	return *tally == NULL ? -ENOMEM : trace_tally_add(*tally, request);
}

static void
expect(struct stat_run *run, const struct trace_request *request)
{
	const struct trace_tally *tally = *tally_of(run, request);

	if (tally != NULL)
		trace_tally_expect(tally, request);
}

static int
tally_all(struct stat_run *run, struct trace_text *text)
{
	struct trace_request requests[BATCH];
	struct bar bar;
	size_t count;
	int rc;

	static_assert(TRACE_TEXT_UNKNOWN == PROGRESS_UNKNOWN, "a pipe has a bar without an end");
	bar_begin(&bar, trace_text_name(text), trace_text_total(text), !run->order->quiet);
	while ((rc = trace_text_next(text, requests, BATCH, &count)) == 0 && count > 0) {
		for (size_t i = 0; i < count && rc == 0; i++) {
			if (i + AHEAD < count)
				expect(run, &requests[i + AHEAD]);
			rc = tally(run, &requests[i]);
		}
		if (rc < 0) {
			fprintf(stderr, "weir: %s: out of memory\n", trace_text_name(text));
			break;
		}
		bar_at(&bar, trace_text_done(text));
	}
	bar_end(&bar);
	return rc;
}

/* The row of what was counted; of a volume, which has a name of its own, or NULL. */
static int
add_row(struct stat_run *run, const char *path, const struct trace_tally *tally, const char *volume)
{
	char name[NAME], whole[2 * NAME];
	struct trace_stat stat;

	name_of_path(path, "stdin", name, sizeof(name));
	snprintf(whole, sizeof(whole), "%s%s%s", name, volume != NULL ? ":" : "", volume != NULL ? volume : "");
	trace_tally_stat(tally, &stat);
	return trace_rows_add(&run->rows, whole, &stat);
}

static int
add_rows(struct stat_run *run, const char *path, const struct trace_text *text)
{
	const struct trace_reader *reader = trace_text_reader(text);
	const struct trace_read *read = trace_reader_seen(reader);
	int rc = 0;

	for (uint32_t i = 0; i < TRACE_VOLUMES && rc == 0; i++)
		if (run->tallies[i] != NULL)
			rc = add_row(run, path, run->tallies[i],
			    run->order->per_volume ? trace_reader_volume(reader, i) : NULL);
	if (rc < 0)
		fprintf(stderr, "weir: out of memory\n");
	run->rows.sources[run->rows.source_count++] = (struct trace_source) {
		.path = path, .format = trace_text_format(text), .read = *read,
	};
	run->left |= read->bad > 0;
	return rc;
}

static int
stat_one(struct stat_run *run, const char *path)
{
	struct trace_text *text;
	int rc = trace_text_open(&run->arena, path, run->order->format, &text);

	if (rc < 0)
		return rc;
	rc = tally_all(run, text);
	if (rc == 0)
		rc = add_rows(run, path, text);
	trace_text_complain(text, stderr);
	trace_text_close(text);
	for (unsigned i = 0; i < TRACE_VOLUMES; i++) {
		trace_tally_destroy(run->tallies[i]);
		run->tallies[i] = NULL;
	}
	return rc;
}

/* ---- all of them ---- */

static int
print(const struct stat_run *run)
{
	if (run->order->json)
		trace_rows_json(&run->rows);
	else if (run->order->csv)
		trace_rows_csv(&run->rows);
	else
		return trace_rows_table(&run->rows);
	return 0;
}

static int
stat_all(struct stat_run *run)
{
	const struct stat_order *order = run->order;
	bool failed = false;

	for (unsigned i = 0; i < order->path_count; i++)
		failed |= stat_one(run, order->paths[i]) < 0;
	if (run->rows.source_count > 0 && print(run) < 0) {
		fprintf(stderr, "weir trace stat: out of memory\n");
		failed = true;
	}
	return failed ? EXIT_FAILED : run->left ? EXIT_LEFT : EXIT_OK;
}

int
trace_stat(int argc, char **argv)
{
	struct stat_order order = { .options = trace_stat_paper, .format = TRACE_TEXT_GUESS };
	struct stat_run *run = calloc(1, sizeof(*run));
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	order.paths = calloc((size_t)argc + 1, sizeof(*order.paths));
	if (run != NULL) {
		*run = (struct stat_run) { .order = &order, .room = WORKING_SET_ROOM };
		arena_init(&run->arena, 0);
		run->rows.sources = calloc((size_t)argc + 1, sizeof(*run->rows.sources));
	}
	if (order.paths == NULL || run == NULL || run->rows.sources == NULL)
		fprintf(stderr, "weir trace stat: out of memory\n");
	else
		code = options_parse(&argp, argc, argv, &order) ? stat_all(run) : EXIT_USAGE;
	if (run != NULL) {
		trace_rows_free(&run->rows);
		arena_drop(&run->arena);
	}
	free(run);
	free(order.paths);
	return code;
}
