/*
 * perf.c - `weir perf`: a load on one namespace, verified and measured.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "cmd.h"
#include "perf.h"

enum key {
	KEY_RW = 1000, KEY_MIX, KEY_BS, KEY_QD, KEY_QUEUES, KEY_TIME, KEY_VERIFY, KEY_JSON, KEY_HDGST,
	KEY_DDGST, KEY_FLOW, KEY_SIZE, KEY_SEED, KEY_CPUS, KEY_HOSTNQN, KEY_IOS, KEY_CONGESTION,
};

static const struct argp_option options[] = {
	{ "rw", KEY_RW, "KIND", 0, "read, write, randread, randwrite or randrw (default randread)", 0 },
	{ "mix", KEY_MIX, "PERCENT", 0, "of randrw, how much is read (default 70)", 0 },
	{ "bs", KEY_BS, "SIZE", 0, "bytes of one I/O, e.g. 4k (default) or 1m", 0 },
	{ "qd", KEY_QD, "N", 0, "I/Os in flight on each queue (default 32)", 0 },
	{ "queues", KEY_QUEUES, "N", 0, "I/O queues (default 1)", 0 },
	{ "time", KEY_TIME, "SECONDS", 0, "how long (default 10)", 0 },
	{ "ios", KEY_IOS, "N", 0, "so many I/Os, however long they take", 0 },
	{ "size", KEY_SIZE, "SIZE", 0, "use only this much of the namespace, from its start", 0 },
	{ "verify", KEY_VERIFY, NULL, 0, "check what is read against what was written, and all of it at the end", 0 },
	{ "seed", KEY_SEED, "N", 0, "of the random numbers (default 1)", 0 },
	{ "hdgst", KEY_HDGST, NULL, 0, "header digests", 0 },
	{ "ddgst", KEY_DDGST, NULL, 0, "data digests", 0 },
	{ "flow-control", KEY_FLOW, NULL, 0, "SQ flow control: every read has a completion", 0 },
	{ "cpus", KEY_CPUS, "N", 0, "pin to this processor", 0 },
	{ "tcp-congestion", KEY_CONGESTION, "NAME", 0,
	    "congestion control of the connections (default: the system's)", 0 },
	{ "hostnqn", KEY_HOSTNQN, "NQN", 0, "who we say we are", 0 },
	{ "json", KEY_JSON, NULL, 0, "print the result as one JSON object", 0 },
	{ 0 },
};

static uint64_t
size(struct argp_state *state, const char *option, const char *arg)
{
	uint64_t value = 0;

	if (!size_parse(arg, &value) || value == 0)
		argp_error(state, "%s '%s': not a size like 4k or 1G", option, arg);
	return value;
}

static void
parse_rw(struct perf_options *perf, const char *arg, struct argp_state *state)
{
	static const struct { const char *name; bool random; int read_percent; } kinds[] = {
		{ "read", false, 100 }, { "write", false, 0 }, { "randread", true, 100 },
		{ "randwrite", true, 0 }, { "randrw", true, -1 },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(arg, kinds[i].name) != 0)
			continue;
		perf->random = kinds[i].random;
		perf->fixed_mix = kinds[i].read_percent;
		return;
	}
	argp_error(state, "--rw '%s': read, write, randread, randwrite or randrw", arg);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct perf_options *perf = state->input;
	char why[160];

	switch (key) {
	case KEY_RW: parse_rw(perf, arg, state); return 0;
	case KEY_MIX: perf->mix = (unsigned)option_number_of(state, "--mix", arg, 0, 100); return 0;
	case KEY_BS: perf->bs = size(state, "--bs", arg); return 0;
	case KEY_QD: perf->qd = (unsigned)option_number_of(state, "--qd", arg, 1, 1023); return 0;
	case KEY_QUEUES:
		perf->queues = (unsigned)option_number_of(state, "--queues", arg, 1, HOST_QUEUES_MAX);
		return 0;
	case KEY_TIME: perf->seconds = option_number_of(state, "--time", arg, 1, 86400); return 0;
	case KEY_IOS: perf->ios = option_number_of(state, "--ios", arg, 1, UINT64_MAX); return 0;
	case KEY_SIZE: perf->size = size(state, "--size", arg); return 0;
	case KEY_SEED: perf->seed = option_number_of(state, "--seed", arg, 0, UINT64_MAX); return 0;
	case KEY_VERIFY: perf->verify = true; return 0;
	case KEY_JSON: perf->json = true; return 0;
	case KEY_HDGST: perf->hdgst = true; return 0;
	case KEY_DDGST: perf->ddgst = true; return 0;
	case KEY_FLOW: perf->sq_flow = true; return 0;
	case KEY_CPUS:
		perf->cpu = (int)option_number_of(state, "--cpus", arg, 0, 4095);
		if (option_cpu_missing(&perf->cpu, 1) >= 0)
			argp_error(state, "--cpus '%s': there is no such processor for this process", arg);
		return 0;
	case KEY_CONGESTION: perf->congestion = arg; return 0;
	case KEY_HOSTNQN: perf->hostnqn = arg; return 0;
	case ARGP_KEY_ARG:
		if (perf->uri_text != NULL)
			argp_error(state, "one URI, please; what is '%s'?", arg);
		perf->uri_text = arg;
		if (!host_parse_uri(arg, &perf->uri, why))
			argp_error(state, "'%s': %s", arg, why);
		return 0;
	case ARGP_KEY_END:
		if (perf->uri_text == NULL)
			argp_error(state, "which namespace? nvme+tcp://HOST:PORT/SUBNQN?ns=1");
		if (perf->verify && (perf->fixed_mix < 0 ? (int)perf->mix : perf->fixed_mix) == 100)
			argp_error(state, "--verify checks what this run writes, and it would only read");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "URI",
	"Loads a namespace (nvme+tcp://HOST:PORT/SUBNQN?ns=1) and prints what it measured.\n"
	"Anything but read and randread OVERWRITES the namespace.", NULL, NULL, NULL,
};

/* ---- the result ---- */

static const struct { const char *name; uint32_t ppm; } quantiles[] = {
	{ "p50", 500000 }, { "p90", 900000 }, { "p99", 990000 }, { "p99.9", 999000 }, { "p99.99", 999900 },
};

enum { QUANTILES = sizeof(quantiles) / sizeof(quantiles[0]) };

/* Microseconds with two digits behind the point: what the histogram can tell. */
static struct json_object *
microseconds(uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", (double)ns / 1e3);
	return json_object_new_double_s((double)ns / 1e3, text);
}

static struct json_object *
json_side(const struct perf_side *side, double seconds)
{
	struct json_object *object = json_object_new_object(), *latency = json_object_new_object();

	json_object_object_add(object, "ios", json_object_new_uint64(side->hist.count));
	json_object_object_add(object, "iops", json_object_new_double((double)side->hist.count / seconds));
	json_object_object_add(object, "mb_s", json_object_new_double((double)side->bytes / seconds / 1e6));
	json_object_object_add(latency, "mean",
	    microseconds(side->hist.count > 0 ? side->hist.sum / side->hist.count : 0));
	for (size_t i = 0; i < QUANTILES; i++)
		json_object_object_add(latency, quantiles[i].name,
		    microseconds(hist_quantile(&side->hist, quantiles[i].ppm)));
	json_object_object_add(latency, "max", microseconds(side->hist.max));
	json_object_object_add(object, "latency_us", latency);
	return object;
}

static void
print_json(const struct perf_result *result)
{
	double seconds = (double)result->elapsed_ns / 1e9;
	struct json_object *object = json_object_new_object(), *verify = json_object_new_object();

	json_object_object_add(object, "seconds", json_object_new_double(seconds));
	json_object_object_add(object, "read", json_side(&result->read, seconds));
	json_object_object_add(object, "write", json_side(&result->write, seconds));
	json_object_object_add(object, "syscalls", json_object_new_uint64(result->turns.syscalls));
	json_object_object_add(object, "busy_turns", json_object_new_uint64(result->turns.busy));
	json_object_object_add(object, "busy_ns", json_object_new_uint64(result->turns.busy_ns));
	json_object_object_add(object, "errors", json_object_new_uint64(result->errors));
	json_object_object_add(verify, "enabled", json_object_new_boolean(result->verify));
	json_object_object_add(verify, "checked", json_object_new_uint64(result->checked));
	json_object_object_add(verify, "wrong", json_object_new_uint64(result->wrong));
	json_object_object_add(object, "verify", verify);
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

static void
table_row(const char *name, const struct perf_side *side, double seconds)
{
	if (side->hist.count == 0)
		return;
	printf("%-6s %10.0f %9.1f", name, (double)side->hist.count / seconds, (double)side->bytes / seconds / 1e6);
	for (size_t i = 0; i < QUANTILES; i++)
		printf(" %9.1f", (double)hist_quantile(&side->hist, quantiles[i].ppm) / 1e3);
	printf(" %9.1f\n", (double)side->hist.max / 1e3);
}

static void
print_table(const struct perf_result *result)
{
	double seconds = (double)result->elapsed_ns / 1e9;

	printf("\n%-6s %10s %9s", "", "IOPS", "MB/s");
	for (size_t i = 0; i < QUANTILES; i++)
		printf(" %9s", quantiles[i].name);
	printf(" %9s  (latency in us)\n", "max");
	table_row("read", &result->read, seconds);
	table_row("write", &result->write, seconds);
	printf("\n%.1f s", seconds);
	if (result->errors > 0)
		printf(", %" PRIu64 " I/Os failed (the first: %s)", result->errors, result->first_error);
	if (!result->verify)
		printf(", not verified\n");
	else if (result->wrong == 0)
		printf(", verified: %" PRIu64 " blocks read back, all as written\n", result->checked);
	else
		printf(", VERIFICATION FAILED: %" PRIu64 " of %" PRIu64 " blocks read back were not as written "
		    "(the first: offset %" PRIu64 ")\n", result->wrong, result->checked, result->first_wrong);
}

int
cmd_perf(int argc, char **argv)
{
	struct perf_options perf = {
		.random = true, .fixed_mix = 100, .mix = 70, .bs = 4096, .qd = 32, .queues = 1,
		.seconds = 10, .seed = 1, .cpu = -1, .progress = isatty(STDERR_FILENO),
		.hostnqn = "nqn.2026-11.local.weir:perf",
	};
	struct perf_result *result;
	int code;

	argp_err_exit_status = EXIT_USAGE;
	if (!options_parse(&argp, argc, argv, &perf))
		return EXIT_USAGE;
	if (perf.fixed_mix >= 0)
		perf.mix = (unsigned)perf.fixed_mix;
	result = calloc(1, sizeof(*result));
	if (result == NULL || perf_run(&perf, result) != 0) {
		free(result);
		return EXIT_FAILED;
	}
	if (perf.json)
		print_json(result);
	else
		print_table(result);
	code = result->errors == 0 && result->wrong == 0 ? EXIT_OK : EXIT_FAILED;
	free(result);
	return code;
}
