/*
 * trace_stat.c - `weir trace stat`: what workloads are like, of traces of them.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "host_options.h"
#include "trace.h"
#include "trace_tell.h"
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

enum { WINDOW_MIN_MS = 1000, WINDOW_MAX_MS = 7 * 86400000 };

struct stat_order {
	struct trace_tell *tell;
	bool csv, json;
};

static unsigned
stdin_count(const struct trace_tell *tell)
{
	unsigned count = 0;

	for (unsigned i = 0; i < tell->count; i++)
		count += strcmp(tell->paths[i], "-") == 0;
	return count;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct stat_order *order = state->input;

	switch (key) {
	case KEY_FORMAT: order->tell->format = (int)trace_format_of(state, arg); return 0;
	case KEY_PER_VOLUME: order->tell->per_volume = true; return 0;
	case KEY_WINDOW:
		order->tell->options.window_ns = UINT64_C(1000000) *
		    option_duration_of(state, "--window", arg, WINDOW_MIN_MS, WINDOW_MAX_MS);
		return 0;
	case KEY_CSV: order->csv = true; return 0;
	case KEY_JSON: order->json = true; return 0;
	case KEY_QUIET: order->tell->quiet = true; return 0;
	case ARGP_KEY_ARG: order->tell->paths[order->tell->count++] = arg; return 0;
	case ARGP_KEY_END:
		if (order->tell->count == 0)
			argp_error(state, "of which trace? `-' is standard input");
		else if (order->csv && order->json)
			argp_error(state, "either --csv or --json");
		else if (stdin_count(order->tell) > 1)
			argp_error(state, "standard input is one file, and `-' is given %u times",
			    stdin_count(order->tell));
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

static int
print(const struct stat_order *order)
{
	if (order->json)
		trace_rows_json(&order->tell->rows);
	else if (order->csv)
		trace_rows_csv(&order->tell->rows);
	else
		return trace_rows_table(&order->tell->rows);
	return 0;
}

static int
stat_all(const struct stat_order *order)
{
	bool failed = false;

	for (unsigned i = 0; i < order->tell->count; i++)
		failed |= trace_tell_file(order->tell, i) < 0;
	if (order->tell->rows.source_count > 0 && print(order) < 0) {
		fprintf(stderr, "weir trace stat: out of memory\n");
		failed = true;
	}
	return failed ? EXIT_FAILED : order->tell->left ? EXIT_LEFT : EXIT_OK;
}

int
trace_stat(int argc, char **argv)
{
	struct stat_order order = { .tell = trace_tell_create((unsigned)argc) };
	char **paths = calloc((size_t)argc + 1, sizeof(*paths));
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	if (paths == NULL || order.tell == NULL) {
		fprintf(stderr, "weir trace stat: out of memory\n");
	} else {
		order.tell->paths = paths;
		code = options_parse(&argp, argc, argv, &order) ? stat_all(&order) : EXIT_USAGE;
	}
	trace_tell_destroy(order.tell);
	free(paths);
	return code;
}
