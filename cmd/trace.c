/*
 * trace.c - `weir trace`: what is asked about traces is in a word behind it.
 */
#include "trace.h"

#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "conf/tree.h"
#include "subcommand.h"

enum trace_format
trace_format_of(struct argp_state *state, const char *arg)
{
	for (unsigned i = 0; i < TRACE_FORMATS; i++)
		if (strcmp(arg, trace_format_names[i]) == 0)
			return (enum trace_format)i;
	argp_error(state, "--format '%s': " TRACE_FORMAT_WORDS, arg);
	return TRACE_FORMATS;
}

double
trace_amount_of(struct argp_state *state, const char *option, const char *arg, double least)
{
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end != '\0' || !isfinite(value) || value < least)
		argp_error(state, "%s '%s': not a number of %g or more", option, arg, least);
	return value;
}

static const struct subcommand commands[] = {
	{ "stat", trace_stat },
	{ "synth", trace_synth },
	{ "replay", trace_replay },
};

static const char doc[] = "Tells what traces of I/O are like, makes such traces, and plays them.\v"
    "  stat    say how sequential, fast and large a workload is\n"
    "  synth   make a trace with given statistics\n"
    "  replay  play a trace against a volume\n"
    "\n`weir trace COMMAND --help' says more.";

int
cmd_trace(int argc, char **argv)
{
	return subcommand_run("trace", doc, commands, COUNT_OF(commands), argc, argv);
}
