/*
 * perf_plot.h - how latencies are distributed, as bars of text and as a picture (SVG 1.1).
 *
 * Pure but for the stream it is told to write to.
 */
#ifndef WEIR_CMD_PERF_PLOT_H
#define WEIR_CMD_PERF_PLOT_H

#include <stdio.h>

#include "base/hist.h"

/* One line for each of 1, 2, 5, 10, 20 ... us; nothing of an empty one. */
void plot_bars(FILE *out, const char *name, const struct hist *hist);

struct plot {
	const char *caption;             /* the command */
	const char *date;
	const struct hist *read, *write; /* ns; either may be empty */
};

void plot_svg(FILE *out, const struct plot *plot);

#endif
