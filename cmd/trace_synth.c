/*
 * trace_synth.c - `weir trace synth`: a trace with given statistics, in any of the formats.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "host_options.h"
#include "trace.h"
#include "trace/rates.h"
#include "trace/synth.h"
#include "trace/writer.h"

enum key { KEY_SEQ = 1000, KEY_RATE, KEY_PEAK, KEY_WRITES, KEY_SET, KEY_DURATION, KEY_WINDOW, KEY_SEED, KEY_FORMAT };

static const struct argp_option options[] = {
	{ "seq-ratio", KEY_SEQ, "PERCENT", 0, "of the bytes written, how many are in sequential streams", 0 },
	{ "write-rate", KEY_RATE, "GB", 0, "written a day, in 10^9 bytes", 0 },
	{ "peak-iops", KEY_PEAK, "N", 0, "I/Os a second in the window with most", 0 },
	{ "write-ratio", KEY_WRITES, "PERCENT", 0, "of I/Os, how many are writes", 0 },
	{ "working-set", KEY_SET, "GB", 0, "that are read or written at all, in 10^9 bytes", 0 },
	{ "duration", KEY_DURATION, "TIME", 0, "of the trace (default 24h)", 0 },
	{ "window", KEY_WINDOW, "TIME", 0, "over which the peak is counted (default 5m)", 0 },
	{ "seed", KEY_SEED, "N", 0, "of all that is by chance (default 1)", 0 },
	{ "format", KEY_FORMAT, "NAME", 0, "msr (default), spc, fiu, ssdsim, vscsi or blkparse", 0 },
	{ "output", 'o', "FILE", 0, "write it there (default: to standard output)", 0 },
	{ 0 },
};

#define TIME_MAX_MS UINT64_C(86400000000) /* a thousand days */

struct synth_order {
	struct synth_demand demand;
	enum trace_format format;
	const char *path;      /* NULL or "-": standard output */
};

static uint64_t
time_of(struct argp_state *state, const char *option, const char *arg)
{
	return option_duration_of(state, option, arg, 1000, TIME_MAX_MS) * UINT64_C(1000000);
}

static double
share_of(struct argp_state *state, const char *option, const char *arg)
{
	double percent = trace_amount_of(state, option, arg, 0);

	if (percent > 100)
		argp_error(state, "%s '%s': 100 percent at most", option, arg);
	return percent / 100;
}

/* What was not said is NAN; where nothing is written its ratio need not be. */
static void
check(struct argp_state *state, struct synth_demand *demand)
{
	const struct { const char *option; double value; } needed[] = {
		{ "--write-rate", demand->write_gb_day }, { "--peak-iops", demand->peak_iops },
		{ "--write-ratio", demand->write_ratio }, { "--working-set", demand->working_set_gb },
		{ "--seq-ratio", demand->write_ratio > 0 ? demand->seq_ratio : 0 },
	};

	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (isnan(needed[i].value))
			argp_error(state, "%s is missing", needed[i].option);
	if (isnan(demand->seq_ratio))
		demand->seq_ratio = 0;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct synth_order *order = state->input;
	struct synth_demand *demand = &order->demand;

	switch (key) {
	case KEY_SEQ: demand->seq_ratio = share_of(state, "--seq-ratio", arg); return 0;
	case KEY_RATE: demand->write_gb_day = trace_amount_of(state, "--write-rate", arg, 0); return 0;
	case KEY_PEAK: demand->peak_iops = trace_amount_of(state, "--peak-iops", arg, 0); return 0;
	case KEY_WRITES: demand->write_ratio = share_of(state, "--write-ratio", arg); return 0;
	case KEY_SET: demand->working_set_gb = trace_amount_of(state, "--working-set", arg, 0); return 0;
	case KEY_DURATION: demand->duration_ns = time_of(state, "--duration", arg); return 0;
	case KEY_WINDOW: demand->window_ns = time_of(state, "--window", arg); return 0;
	case KEY_SEED: demand->seed = option_number_of(state, "--seed", arg, 0, UINT64_MAX); return 0;
	case KEY_FORMAT: order->format = trace_format_of(state, arg); return 0;
	case 'o': order->path = arg; return 0;
	case ARGP_KEY_ARG: argp_error(state, "what is '%s'?", arg); return 0;
	case ARGP_KEY_END: check(state, demand); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "",
	"Makes a trace that nobody recorded, with the statistics that are given, as `weir trace stat' tells them. The "
	"same seed makes the same trace.", NULL, NULL, NULL,
};

static void
write_all(const struct synth_order *order, struct synth *synth, FILE *out)
{
	struct trace_request request;
	char line[TRACE_WRITE_MAX];

	fputs(trace_write_heading(order->format), out);
	for (uint64_t i = 0; !ferror(out) && synth_next(synth, &request); i++)
		fwrite(line, 1, trace_write(order->format, &request, i, line), out);
}

static int
cannot(const char *path)
{
	fprintf(stderr, "weir trace synth: %s: %s\n", path, strerror(errno));
	return EXIT_FAILED;
}

static int
synth(const struct synth_order *order)
{
	bool to_file = order->path != NULL && strcmp(order->path, "-") != 0;
	char why[SYNTH_WHY];
	struct synth synth;
	FILE *out = stdout;

	if (!synth_begin(&synth, &order->demand, why)) {
		fprintf(stderr, "weir trace synth: there is no such trace: %s\n", why);
		return EXIT_FAILED;
	}
	if (to_file)
		out = fopen(order->path, "we");
	if (out == NULL)
		return cannot(order->path);
	errno = 0;
	write_all(order, &synth, out);
	if (to_file && (ferror(out) | fclose(out)) != 0)
		return cannot(order->path);
	return EXIT_OK; /* main.c looks at standard output */
}

int
trace_synth(int argc, char **argv)
{
	struct synth_order order = {
		.demand = {
			.seq_ratio = NAN, .write_gb_day = NAN, .peak_iops = NAN, .write_ratio = NAN,
			.working_set_gb = NAN, .window_ns = RATES_WINDOW_NS,
			.duration_ns = UINT64_C(86400000000000), .seed = 1,
		},
		.format = TRACE_MSR,
	};

	argp_err_exit_status = EXIT_USAGE;
	return options_parse(&argp, argc, argv, &order) ? synth(&order) : EXIT_USAGE;
}
