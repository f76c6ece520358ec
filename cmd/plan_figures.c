/*
 * plan_figures.c - pictures in the page: bars, and how worn disks are over the years.
 *
 * SVG in the page itself, so that its colours are those of the page, by day and by night and in print.  What is wider
 * than a phone is moved sideways there.
 */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "lab/scale.h"
#include "plan.h"

enum {
	WIDTH = 760, LABELS = 240, VALUES = 90, TOP = 8, ROW = 26, BAR = 14, AXIS = 36, LETTERS = 30,
	HEIGHT = 340, LEGEND = 190, CURVES = 12, POINTS = 60, COLORS = 6
};

void
plan_escape(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		switch (*text) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		default: fputc(*text, out);
		}
}

/* The beginning of what is long. */
static void
label_at(FILE *out, double x, double y, const char *class, const char *text)
{
	char cut[4 * LETTERS + 8];
	size_t left = strlen(text), bytes = 0;
	uint32_t code;

	for (unsigned letters = 0; letters < LETTERS && bytes < left; letters++)
		bytes += utf8_next((const uint8_t *)text + bytes, left - bytes, &code);
	snprintf(cut, sizeof(cut), "%.*s%s", (int)bytes, text, bytes < left ? "\xe2\x80\xa6" : "");
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	plan_escape(out, cut);
	fputs("</text>\n", out);
}

static void
begin(FILE *out, const char *title, int width, int height)
{
	fprintf(out, "<div class=\"figure\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", width, height);
	plan_escape(out, title);
	fputs("\">\n<title>", out);
	plan_escape(out, title);
	fputs("</title>\n", out);
}

static void
end(FILE *out)
{
	fputs("</svg></div>\n", out);
}

/* ---- bars ---- */

static void
legend(FILE *out, const struct plan_bars *bars, double y)
{
	double x = LABELS;

	for (unsigned i = 0; bars->names != NULL && i < 4; i++) {
		fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" class=\"c%u\"/>\n", x, y - 10, i);
		label_at(out, x + 17, y, "l", bars->names[i]);
		x += 17 + 8 * (double)strlen(bars->names[i]) + 22;
	}
}

static void
bar(FILE *out, const struct plan_bar *b, const struct scale *scale, double y)
{
	double from = 0;

	label_at(out, LABELS - 10, y + 11, "l e", b->label);
	for (unsigned i = 0; i < 4; i++) {
		double x = scale_place(scale, from), to = scale_place(scale, from + b->parts[i]);

		if (b->parts[i] > 0)
			fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" class=\"c%u\"/>\n", x, y,
			    to - x, BAR, i);
		from += b->parts[i] > 0 ? b->parts[i] : 0;
	}
}

/* Beside a bar, and over the limit. */
static void
value(FILE *out, const struct plan_bar *b, const struct scale *scale, double y)
{
	double sum = b->parts[0] + b->parts[1] + b->parts[2] + b->parts[3];

	label_at(out, scale_place(scale, sum) + 7, y + 11, "l v", b->value);
}

void
plan_bars(FILE *out, const char *title, const struct plan_bars *bars)
{
	int bottom = TOP + (int)bars->count * ROW, height = bottom + AXIS + (bars->names != NULL ? ROW : 0);
	double most = isnan(bars->limit) ? 0 : bars->limit;
	struct scale scale;

	for (unsigned i = 0; i < bars->count; i++) {
		const double *parts = bars->bars[i].parts;

		most = fmax(most, parts[0] + parts[1] + parts[2] + parts[3]);
	}
	scale_init(&scale, RESULT_LINEAR, 0, most > 0 ? most : 1, LABELS, WIDTH - VALUES);
	begin(out, title, WIDTH, height);
	for (unsigned i = 0; i < scale.count; i++) {
		double x = scale_place(&scale, scale.ticks[i].value);

		if (scale.ticks[i].label[0] == '\0')
			continue;
		fprintf(out, "<path d=\"M%.1f %dV%d\" class=\"g\"/>\n", x, TOP - 4, bottom);
		label_at(out, x, bottom + 16, "l m", scale.ticks[i].label);
	}
	label_at(out, WIDTH - VALUES / 2, bottom + 16, "l m", bars->unit);
	for (unsigned i = 0; i < bars->count; i++)
		bar(out, &bars->bars[i], &scale, TOP + 4 + (double)i * ROW);
	if (!isnan(bars->limit))
		fprintf(out, "<path d=\"M%.1f %dV%d\" class=\"x\"/>\n", scale_place(&scale, bars->limit),
		    TOP - 4, bottom);
	for (unsigned i = 0; i < bars->count; i++)
		value(out, &bars->bars[i], &scale, TOP + 4 + (double)i * ROW);
	legend(out, bars, bottom + AXIS + 8);
	end(out);
}

/* ---- wear ---- */

/* Up to CURVES disks, the most worn ones first; how many. */
static unsigned
most_worn(const struct planned *p, uint32_t *disks)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < p->layout.count; i++) {
		unsigned at = count < CURVES ? count++ : CURVES;

		for (; at > 0 && p->layout.disks[i].wear > p->layout.disks[disks[at - 1]].wear; at--)
			if (at < CURVES)
				disks[at] = disks[at - 1];
		if (at < CURVES)
			disks[at] = i;
	}
	return count;
}

static void
curve(FILE *out, const struct planned *p, uint32_t disk, unsigned which, const struct scale *x, const struct scale *y)
{
	double right = WIDTH - LEGEND, at = TOP + 12 + (double)which * 22;
	char name[160];

	fprintf(out, "<path class=\"k%u%s\" d=\"", which % COLORS, which >= COLORS ? " d" : "");
	for (unsigned i = 0; i <= POINTS; i++) {
		double years = p->order.years * i / POINTS;

		fprintf(out, "%c%.1f %.1f", i == 0 ? 'M' : 'L', scale_place(x, years),
		    scale_place(y, 100 * advice_wear(&p->advice, &p->layout, disk, years * 365)));
	}
	fprintf(out, "\"/>\n<path class=\"k%u%s\" d=\"M%.1f %.1fh22\"/>\n", which % COLORS, which >= COLORS ? " d" : "",
	    right + 14, at - 4);
	snprintf(name, sizeof(name), "disk %u", disk + 1);
	label_at(out, right + 42, at, "l", name);
}

static void
wear_frame(FILE *out, const struct scale *x, const struct scale *y)
{
	for (unsigned i = 0; i < y->count; i++)
		if (y->ticks[i].label[0] != '\0') {
			double at = scale_place(y, y->ticks[i].value);

			fprintf(out, "<path d=\"M60 %.1fH%d\" class=\"g\"/>\n", at, WIDTH - LEGEND);
			label_at(out, 52, at + 4, "l e", y->ticks[i].label);
		}
	for (unsigned i = 0; i < x->count; i++)
		if (x->ticks[i].label[0] != '\0')
			label_at(out, scale_place(x, x->ticks[i].value), HEIGHT - AXIS + 18, "l m", x->ticks[i].label);
	label_at(out, (60 + WIDTH - LEGEND) / 2.0, HEIGHT - 2, "l m", "years");
	label_at(out, 8, TOP + 4, "l", "%");
	fprintf(out, "<path d=\"M60 %.1fH%d\" class=\"x\"/>\n", scale_place(y, 100), WIDTH - LEGEND);
}

void
plan_wear(FILE *out, const struct planned *p)
{
	uint32_t disks[CURVES];
	unsigned count = most_worn(p, disks);
	double most = 100;
	struct scale x, y;

	for (uint32_t i = 0; i < p->layout.count; i++)
		most = fmax(most, 100 * p->layout.disks[i].wear);
	scale_init(&x, RESULT_LINEAR, 0, p->order.years, 60, WIDTH - LEGEND);
	scale_init(&y, RESULT_LINEAR, 0, most, HEIGHT - AXIS, TOP + 8);
	begin(out, "How worn disks are, over the years", WIDTH, HEIGHT);
	wear_frame(out, &x, &y);
	for (unsigned i = 0; i < count; i++)
		curve(out, p, disks[i], i, &x, &y);
	end(out);
}
