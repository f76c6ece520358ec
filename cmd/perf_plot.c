#include "perf_plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { BAR = 50 };

/* 1, 2, 5, 10 ... us in ns, the next after `ns`. */
static uint64_t
next_step(uint64_t ns)
{
	uint64_t decade = 1000;

	while (decade * 10 <= ns)
		decade *= 10;
	if (ns < 1000)
		return 1000;
	return ns < 2 * decade ? 2 * decade : ns < 5 * decade ? 5 * decade : 10 * decade;
}

/* "500 us", "2 ms", "10 s" */
struct time_text {
	char text[24];
};

static struct time_text
time_text(uint64_t ns)
{
	struct time_text t;

	if (ns >= 1000000000)
		snprintf(t.text, sizeof(t.text), "%" PRIu64 " s", ns / 1000000000);
	else if (ns >= 1000000)
		snprintf(t.text, sizeof(t.text), "%" PRIu64 " ms", ns / 1000000);
	else
		snprintf(t.text, sizeof(t.text), "%" PRIu64 " us", ns / 1000);
	return t;
}

/* The values from `bucket` on that are less than `end`, and where the rest begins. */
static uint64_t
count_below(const struct hist *hist, uint32_t *bucket, uint64_t end)
{
	uint64_t count = 0;

	for (; *bucket < HIST_BUCKETS && hist_bucket_top(*bucket) < end; (*bucket)++)
		count += hist->buckets[*bucket];
	return count;
}

void
plot_bars(FILE *out, const char *name, const struct hist *hist)
{
	uint64_t most = 0, seen = 0, begin;
	uint32_t bucket = 0;

	if (hist->count == 0)
		return;
	for (uint64_t end = 1000; bucket < HIST_BUCKETS && end <= UINT64_C(1) << HIST_MAX_BITS; end = next_step(end)) {
		uint64_t count = count_below(hist, &bucket, end);

		most = count > most ? count : most;
	}
	fprintf(out, "\n%s, %" PRIu64 " I/Os\n", name, hist->count);
	bucket = 0;
	begin = 0;
	for (uint64_t end = 1000; seen < hist->count && bucket < HIST_BUCKETS; begin = end, end = next_step(end)) {
		uint64_t count = count_below(hist, &bucket, end);

		if (seen > 0 || count > 0)
			fprintf(out, "%7s - %-7s %10" PRIu64 " %6.2f %% %.*s\n", time_text(begin).text,
			    time_text(end).text, count, 100 * (double)count / (double)hist->count,
			    most > 0 ? (int)((count * BAR + most - 1) / most) : 0,
			    "##################################################");
		seen += count;
	}
}

/* ---- the picture ---- */

enum {
	WIDTH = 800, HEIGHT = 440, LEFT = 70, RIGHT = 780, TOP = 40, BOTTOM = 350,
	FINE = 8, /* buckets of the histogram to one of the picture: an eighth of a power of two */
};

struct scale {
	uint64_t first, last; /* ns at the left and at the right */
	double most;          /* percent at the top */
};

static void
escape(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		switch (*text) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc((uint8_t)*text < ' ' || (uint8_t)*text > '~' ? '?' : *text, out);
		}
}

static double
x_of(const struct scale *scale, uint64_t ns)
{
	double first = log10((double)scale->first), last = log10((double)scale->last);
	uint64_t shown = ns < scale->first ? scale->first : ns > scale->last ? scale->last : ns;

	return LEFT + (log10((double)shown) - first) / (last - first) * (RIGHT - LEFT);
}

static double
y_of(const struct scale *scale, double percent)
{
	return BOTTOM - percent / scale->most * (BOTTOM - TOP);
}

static double
percent_of(const struct hist *hist, uint32_t bucket)
{
	uint64_t count = 0;

	for (uint32_t i = bucket; i < bucket + FINE; i++)
		count += hist->buckets[i];
	return hist->count > 0 ? 100 * (double)count / (double)hist->count : 0;
}

/* From the decade below the least to the one above the greatest, up to a round number of percent. */
static struct scale
scale_of(const struct plot *plot)
{
	const struct hist *hists[] = { plot->read, plot->write };
	struct scale scale = { 1000, 10000, 1 };
	uint64_t least = UINT64_MAX, greatest = 0;

	for (unsigned h = 0; h < 2; h++) {
		if (hists[h]->count == 0)
			continue;
		least = hists[h]->min < least ? hists[h]->min : least;
		greatest = hists[h]->max > greatest ? hists[h]->max : greatest;
		for (uint32_t i = 0; i < HIST_BUCKETS; i += FINE)
			while (percent_of(hists[h], i) > scale.most)
				scale.most = scale.most < 2 ? 2 : scale.most < 5 ? 5 : scale.most < 10 ? 10 :
				    scale.most < 20 ? 20 : scale.most < 50 ? 50 : 100;
	}
	while (least != UINT64_MAX && scale.first * 10 <= least)
		scale.first *= 10;
	scale.last = scale.first * 10;
	while (scale.last < greatest && scale.last < UINT64_C(1) << HIST_MAX_BITS)
		scale.last *= 10;
	return scale;
}

static void
axes(FILE *out, const struct scale *scale)
{
	fprintf(out, "<g stroke=\"#ccc\">\n");
	for (unsigned i = 1; i <= 5; i++)
		fprintf(out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT,
		    y_of(scale, scale->most * i / 5), RIGHT, y_of(scale, scale->most * i / 5));
	for (uint64_t ns = scale->first; ns <= scale->last; ns = next_step(ns))
		fprintf(out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", x_of(scale, ns), TOP,
		    x_of(scale, ns), BOTTOM);
	fprintf(out, "</g>\n<g fill=\"#333\" text-anchor=\"end\">\n");
	for (unsigned i = 0; i <= 5; i++)
		fprintf(out, "<text x=\"%d\" y=\"%.1f\">%g %%</text>\n", LEFT - 6, y_of(scale, scale->most * i / 5) + 4,
		    scale->most * i / 5);
	fprintf(out, "</g>\n<g fill=\"#333\" text-anchor=\"middle\">\n");
	for (uint64_t ns = scale->first; ns <= scale->last; ns = next_step(ns))
		fprintf(out, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", x_of(scale, ns), BOTTOM + 16, time_text(ns).text);
	fprintf(out, "<text x=\"%d\" y=\"%d\">latency</text>\n", (LEFT + RIGHT) / 2, BOTTOM + 36);
	fprintf(out, "<text transform=\"translate(16 %d) rotate(-90)\">share of I/Os</text>\n</g>\n",
	    (TOP + BOTTOM) / 2);
}

static void
curve(FILE *out, const struct scale *scale, const struct hist *hist, const char *name, const char *color, int row)
{
	uint64_t begin = 0;

	if (hist->count == 0)
		return;
	fprintf(out, "<path fill=\"%s\" fill-opacity=\"0.35\" stroke=\"%s\" d=\"M%d %d", color, color, LEFT, BOTTOM);
	for (uint32_t i = 0; i < HIST_BUCKETS; begin = hist_bucket_top(i + FINE - 1) + 1, i += FINE) {
		double percent = percent_of(hist, i);

		if (percent > 0)
			fprintf(out, "L%.1f %dV%.1fH%.1fV%d", x_of(scale, begin), BOTTOM, y_of(scale, percent),
			    x_of(scale, hist_bucket_top(i + FINE - 1) + 1), BOTTOM);
	}
	fprintf(out, "Z\"/>\n<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", RIGHT - 300,
	    TOP + 8 + row * 18, color);
	fprintf(out, "<text x=\"%d\" y=\"%d\" fill=\"#333\">%s: median %.1f us, 99 %% within %.1f us</text>\n",
	    RIGHT - 282, TOP + 18 + row * 18, name, (double)hist_quantile(hist, 500000) / 1e3,
	    (double)hist_quantile(hist, 990000) / 1e3);
}

void
plot_svg(FILE *out, const struct plot *plot)
{
	struct scale scale = scale_of(plot);

	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
	    "font-family=\"sans-serif\" font-size=\"12\">\n<title>Latency of I/O</title>\n"
	    "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
	axes(out, &scale);
	curve(out, &scale, plot->read, "read", "#1f77b4", 0);
	curve(out, &scale, plot->write, "write", "#d9670c", plot->read->count > 0);
	fprintf(out, "<text x=\"%d\" y=\"%d\" font-size=\"11\" fill=\"#333\">", LEFT, BOTTOM + 60);
	escape(out, plot->caption);
	fprintf(out, "</text>\n<text x=\"%d\" y=\"%d\" font-size=\"11\" fill=\"#333\">", LEFT, BOTTOM + 76);
	escape(out, plot->date);
	fprintf(out, "</text>\n</svg>\n");
}
