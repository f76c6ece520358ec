/*
 * svg.h - a figure of a result as a picture (SVG 1.1) that stands alone.
 *
 * Pure but for the stream it is told to write to.  The same figure gives the same
 * bytes.  Series differ by colour (Okabe and Ito's, which the colour-blind tell
 * apart), by mark and by dash, so that they differ in print too.
 */
#ifndef WEIR_LAB_SVG_H
#define WEIR_LAB_SVG_H

#include <stdio.h>

#include "lab/result.h"

/* Under it stand its caption, and what the result says that it was run with. */
void svg_write(FILE *out, const struct result *result, const struct result_figure *figure);

#endif
