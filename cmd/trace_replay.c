/*
 * trace_replay.c - `weir trace replay`: a trace is played against a volume.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cmd.h"
#include "perf_report.h"
#include "stop.h"
#include "trace.h"
#include "trace_play.h"

enum key { KEY_SPEED = 1000, KEY_FAST, KEY_OVERWRITE, KEY_VOLUME, KEY_FORMAT, KEY_DEPTH, KEY_JSON, KEY_QUIET };

static const struct argp_option list[] = {
	{ "speed", KEY_SPEED, "X", 0, "so many times as fast as it was recorded (default 1)", 0 },
	{ "as-fast-as-possible", KEY_FAST, NULL, 0, "each request as soon as there is room for it, whenever it came",
	    0 },
	{ "overwrite", KEY_OVERWRITE, NULL, 0, "play writes too, which OVERWRITES the volume", 0 },
	{ "volume", KEY_VOLUME, "NAME", 0, "only this one of the trace's, as `weir trace stat --per-volume' names it",
	    0 },
	{ "format", KEY_FORMAT, "NAME", 0, TRACE_FORMAT_WORDS " (default: as the file begins)", 0 },
	{ "depth", KEY_DEPTH, "N", 0, "commands under way at a time (default 128)", 0 },
	{ "json", KEY_JSON, NULL, 0, "print what came of it as one JSON object", 0 },
	{ "quiet", KEY_QUIET, NULL, 0, "no bar, on a terminal", 0 },
	{ 0 },
};

enum { DEPTH_DEFAULT = 128, DEPTH_MAX = 1024 };

struct replay_options {
	struct host_options host;
	struct play_order order;
	const char *path, *uri_text;
	struct weir_uri uri;
	int format;
	bool speed_said, json;
};

static void
parse_arg(struct replay_options *options, char *arg, struct argp_state *state)
{
	if (options->path == NULL) {
		options->path = arg;
	} else if (options->uri_text == NULL) {
		options->uri_text = arg;
		option_subsys_of(state, arg, &options->uri);
	} else {
		argp_error(state, "one file and one URI; what is '%s'?", arg);
	}
}

static void
check(const struct replay_options *options, struct argp_state *state)
{
	if (options->path == NULL)
		argp_error(state, "which trace? `-' is standard input");
	else if (options->uri_text == NULL)
		argp_error(state, "against which volume? nvme+tcp://HOST:PORT/SUBNQN?ns=1");
	else if (options->speed_said && options->order.speed <= 0)
		argp_error(state, "either --speed or --as-fast-as-possible");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct replay_options *options = state->input;
	struct play_order *order = &options->order;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
	case KEY_SPEED:
		order->speed *= trace_amount_of(state, "--speed", arg, 1e-6);
		options->speed_said = true;
		return 0;
	case KEY_FAST: order->speed = 0; return 0;
	case KEY_OVERWRITE: order->overwrite = true; return 0;
	case KEY_VOLUME: order->only = arg; return 0;
	case KEY_FORMAT: options->format = (int)trace_format_of(state, arg); return 0;
	case KEY_DEPTH: order->depth = (unsigned)option_number_of(state, "--depth", arg, 1, DEPTH_MAX); return 0;
	case KEY_JSON: options->json = true; return 0;
	case KEY_QUIET: order->quiet = true; return 0;
	case ARGP_KEY_ARG: parse_arg(options, arg, state); return 0;
	case ARGP_KEY_END: check(options, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	list, parse, "FILE URI",
	"Plays a trace against a volume, nvme+tcp://HOST:PORT/SUBNQN?ns=1, at the pace that it was recorded at or "
	"another, and says how long its I/Os took. Writes are left out, unless --overwrite is given.",
	host_options_child, NULL, NULL,
};

/* ---- what came of it ---- */

static double
ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void
print_words(const struct play_order *order, const struct play_outcome *outcome)
{
	const struct perf_result *result = &outcome->result;

	perf_report_heads();
	perf_report_rows(result);
	printf("\n%.1f s%s, %" PRIu64 " requests of %.1f s", perf_result_seconds(result),
	    result->stopped ? ", stopped" : "", outcome->played, (double)outcome->trace_ns / 1e9);
	if (outcome->late.count > 0)
		printf(", late by %.1f ms at the median, %.1f ms at the 99th percentile, %.1f ms at most",
		    ms(hist_quantile(&outcome->late, 500000)), ms(hist_quantile(&outcome->late, 990000)),
		    ms(outcome->late.max));
	if (outcome->left_out > 0)
		printf(", %" PRIu64 " writes left out (--overwrite plays them)", outcome->left_out);
	if (outcome->elsewhere > 0)
		printf(", %" PRIu64 " of other volumes than %s", outcome->elsewhere, order->only);
	if (result->unanswered > 0)
		printf(", %" PRIu64 " I/Os had no answer", result->unanswered);
	if (result->errors > 0)
		printf(", %" PRIu64 " I/Os failed (the first: %s)", result->errors, result->first_error);
	putchar('\n');
}

static struct json_object *
microseconds(uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", (double)ns / 1e3);
	return json_object_new_double_s((double)ns / 1e3, text);
}

static struct json_object *
json_late(const struct hist *late)
{
	struct json_object *object;

	if (late->count == 0)
		return NULL;
	object = json_object_new_object();
	json_object_object_add(object, "p50", microseconds(hist_quantile(late, 500000)));
	json_object_object_add(object, "p99", microseconds(hist_quantile(late, 990000)));
	json_object_object_add(object, "max", microseconds(late->max));
	return object;
}

static void
print_json(const struct play_outcome *outcome, const struct trace_read *read)
{
	const struct perf_result *result = &outcome->result;
	double seconds = perf_result_seconds(result);
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "seconds", json_object_new_double(seconds));
	json_object_object_add(object, "trace_seconds", json_object_new_double((double)outcome->trace_ns / 1e9));
	json_object_object_add(object, "requests", json_object_new_uint64(outcome->played));
	json_object_object_add(object, "writes_left_out", json_object_new_uint64(outcome->left_out));
	json_object_object_add(object, "other_volumes", json_object_new_uint64(outcome->elsewhere));
	json_object_object_add(object, "bad_lines", json_object_new_uint64(read->bad));
	json_object_object_add(object, "late_us", json_late(&outcome->late));
	json_object_object_add(object, "read", perf_report_side(&result->read, seconds));
	json_object_object_add(object, "write", perf_report_side(&result->write, seconds));
	json_object_object_add(object, "errors", json_object_new_uint64(result->errors));
	json_object_object_add(object, "first_error",
	    result->errors > 0 ? json_object_new_string(result->first_error) : NULL);
	json_object_object_add(object, "unanswered", json_object_new_uint64(result->unanswered));
	json_object_object_add(object, "stopped", json_object_new_boolean(result->stopped));
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

/* ---- all of it ---- */

/* Nothing can be played of a volume that the trace does not have. */
static bool
no_such_volume(const struct play_order *order, const struct play_outcome *outcome)
{
	if (order->only == NULL || outcome->elsewhere == 0 || outcome->played + outcome->left_out > 0)
		return false;
	fprintf(stderr, "weir: %s: it has no volume '%s'; its first is '%s'\n", trace_text_name(order->text),
	    order->only, trace_reader_volume(trace_text_reader(order->text), 0));
	return true;
}

static int
play_and_say(const struct replay_options *options, const struct play_order *order)
{
	struct play_outcome *outcome = malloc(sizeof(*outcome));
	const struct trace_read *read = trace_reader_seen(trace_text_reader(order->text));
	bool failed = true;
	int rc = outcome != NULL ? play(order, outcome) : -ENOMEM;

	if (rc == -ENOMEM) {
		fprintf(stderr, "weir: out of memory\n");
	} else if (outcome->result.stopped || (rc != -ENODATA && !no_such_volume(order, outcome))) {
		if (options->json)
			print_json(outcome, read);
		else
			print_words(order, outcome);
		failed = rc < 0 || outcome->result.stopped || outcome->result.errors > 0;
	}
	trace_text_complain(order->text, stderr);
	free(outcome);
	return failed ? EXIT_FAILED : read->bad > 0 ? EXIT_LEFT : EXIT_OK;
}

static int
replay(struct replay_options *options, struct arena *arena, struct weir_host *host)
{
	struct play_order order = options->order;
	struct volume volume;
	int code;

	if (trace_text_open(arena, options->path, options->format, &order.text) < 0)
		return EXIT_FAILED;
	if (volume_open(&volume, host, &options->host, &options->uri, order.depth) < 0) {
		trace_text_close(order.text);
		return EXIT_FAILED;
	}
	order.volume = &volume;
	stop_catch_signals();
	code = play_and_say(options, &order);
	volume_close(&volume);
	trace_text_close(order.text);
	return code;
}

int
trace_replay(int argc, char **argv)
{
	struct replay_options options = {
		.order = { .depth = DEPTH_DEFAULT, .speed = 1 }, .format = TRACE_TEXT_GUESS,
	};
	struct weir_host *host;
	struct arena arena;
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	host_options_init(&options.host, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	host = host_start(&options.host);
	if (host == NULL)
		return EXIT_FAILED;
	arena_init(&arena, 0);
	code = replay(&options, &arena, host);
	arena_drop(&arena);
	weir_host_destroy(host);
	return code;
}
