#include "lab/scale.h"

#include <math.h>
#include <stdio.h>

/* What is meant to be a whole power may be a little less. */
static const double HAIR = 1e-9;

bool
scale_takes(enum result_scale kind, double value)
{
	return kind == RESULT_LINEAR || value > 0;
}

/* 12, 0.05, 20k, 1.5M */
static void
label(char text[SCALE_LABEL], double value)
{
	static const struct { double size; const char *name; } units[] = { { 1e9, "G" }, { 1e6, "M" }, { 1e4, "k" } };

	for (unsigned i = 0; i < 3; i++)
		if (fabs(value) >= units[i].size * (1 - HAIR)) {
			snprintf(text, SCALE_LABEL, "%.4g%s", value / (i == 2 ? 1e3 : units[i].size), units[i].name);
			return;
		}
	snprintf(text, SCALE_LABEL, "%.6g", value);
}

static void
tick(struct scale *scale, double value, bool labelled)
{
	struct scale_tick *one = &scale->ticks[scale->count];

	if (scale->count == SCALE_TICKS_MAX)
		return;
	scale->count++;
	one->value = value;
	one->label[0] = '\0';
	if (labelled)
		label(one->label, value);
}

/* 1, 2 or 5 times a power of ten, at least `least`. */
static double
round_step(double least)
{
	double decade = pow(10, floor(log10(least) + HAIR));

	return least <= decade * (1 + HAIR) ? decade : least <= 2 * decade ? 2 * decade :
	    least <= 5 * decade ? 5 * decade : 10 * decade;
}

static void
init_linear(struct scale *scale, double least, double most)
{
	double step;

	least = fmin(least, 0);
	most = fmax(most, 0);
	if (most - least <= 0)
		most = 1;
	step = round_step((most - least) / 6);
	scale->first = floor(least / step + HAIR) * step;
	scale->last = ceil(most / step - HAIR) * step;
	for (int n = (int)round(scale->first / step); n * step <= scale->last + step / 2; n++)
		tick(scale, n * step, true);
}

static void
init_log(struct scale *scale, double least, double most)
{
	int first = (int)floor(log10(least) + HAIR), last = (int)ceil(log10(most) - HAIR);

	if (last <= first)
		last = first + 1;
	scale->first = pow(10, first);
	scale->last = pow(10, last);
	for (int n = first; n <= last; n++)
		for (unsigned times = 1; times < 10 && (times == 1 || n < last); times++)
			tick(scale, pow(10, n) * times,
			    times == 1 || (last - first <= 3 && (times == 2 || times == 5)));
}

static void
init_log2(struct scale *scale, double least, double most)
{
	int first = (int)floor(log2(least) + HAIR), last = (int)ceil(log2(most) - HAIR);

	if (last <= first)
		last = first + 1;
	scale->first = exp2(first);
	scale->last = exp2(last);
	for (int n = first; n <= last; n++)
		tick(scale, exp2(n), last - first <= 12 || (n - first) % 2 == 0);
}

void
scale_init(struct scale *scale, enum result_scale kind, double least, double most, double from, double to)
{
	*scale = (struct scale){ .kind = kind, .from = from, .to = to };
	switch (kind) {
	case RESULT_LINEAR: init_linear(scale, least, most); return;
	case RESULT_LOG: init_log(scale, least, most); return;
	case RESULT_LOG2: init_log2(scale, least, most); return;
	}
}

double
scale_place(const struct scale *scale, double value)
{
	double share = scale->kind == RESULT_LINEAR ? (value - scale->first) / (scale->last - scale->first) :
	    log(value / scale->first) / log(scale->last / scale->first);

	share = fmin(fmax(share, 0), 1);
	return scale->from + share * (scale->to - scale->from);
}
