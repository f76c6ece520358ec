/*
 * scale.h - from numbers to places on an axis: where it begins and ends, and where its ticks are.
 */
#ifndef WEIR_LAB_SCALE_H
#define WEIR_LAB_SCALE_H

#include "lab/result.h"

enum { SCALE_TICKS_MAX = 64, SCALE_LABEL = 24 };

struct scale_tick {
	double value;
	char label[SCALE_LABEL]; /* "": it has none */
};

struct scale {
	enum result_scale kind;
	double first, last;      /* values at its ends */
	double from, to;         /* where these are drawn */
	struct scale_tick ticks[SCALE_TICKS_MAX];
	unsigned count;
};

/* Round numbers around least and most, drawn between `from` and `to`.  On a linear scale that is not of signed values
 * zero is there too; on a logarithmic one least is above 0. */
void scale_init(struct scale *scale, enum result_scale kind, double least, double most, double from, double to);

double scale_place(const struct scale *scale, double value);

/* Whether it can be drawn there: on a logarithmic scale what is not above 0 cannot. */
bool scale_takes(enum result_scale kind, double value);

#endif
