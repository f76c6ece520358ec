/*
 * svg.c - lines with marks, or bars, in a frame with ticks; a legend beside it and words under it.
 *
 * Places are rounded to a tenth, so what a compiler does with the last bit of a number is not seen.
 */
#include "lab/svg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lab/scale.h"

enum {
	WIDTH = 860, LEFT = 80, LINES_WIDTH = 560, TOP = 48, BOTTOM = 388,
	LEGEND = 18, LEGEND_NAME = 52, /* from the frame's right side */
	LEGEND_ROW = 20, LEGEND_LETTERS = 60, LETTER = 7,
	BARS_LEFT = 220, BARS_WIDTH = 420, BAR_ROW = 30, BAR_HEIGHT = 10,
	LINE = 16, LINE_LETTERS = 124, /* of what stands under it */
	STYLES = 7,
};

static const struct style {
	const char *color, *dash;
} styles[STYLES] = {
	{ "#0072b2", "none" }, { "#d55e00", "7 3" }, { "#009e73", "2 3" }, { "#cc79a7", "9 3 2 3" },
	{ "#e69f00", "none" }, { "#56b4e9", "5 5" }, { "#000000", "none" },
};

struct picture {
	FILE *out;
	const struct result_figure *figure;
	struct scale x, y;
	int top, bottom, left, right;
};

/* ---- text ---- */

static void
escape(FILE *out, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		switch (text[i]) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc(text[i] < ' ' || text[i] > '~' ? '?' : text[i], out);
		}
}

static void
text_at(FILE *out, double x, double y, const char *attributes, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
	escape(out, text, strlen(text));
	fputs("</text>\n", out);
}

/* Words in lines of so many letters; returns where the next line is. */
static int
paragraph(FILE *out, int x, int y, size_t letters, const char *text)
{
	while (*text != '\0') {
		size_t length = strlen(text), cut = length;

		if (length > letters)
			for (cut = letters; cut > 0 && text[cut] != ' '; cut--)
				;
		if (cut == 0) /* a word that is longer */
			cut = letters;
		fprintf(out, "<text x=\"%d\" y=\"%d\">", x, y);
		escape(out, text, cut);
		fputs("</text>\n", out);
		y += LINE;
		text += cut;
		text += strspn(text, " ");
	}
	return y;
}

static void
axis_name(char *text, size_t bytes, const struct result_axis *axis)
{
	if (axis->unit[0] != '\0')
		snprintf(text, bytes, "%s (%s)", axis->name, axis->unit);
	else
		snprintf(text, bytes, "%s", axis->name);
}

/* ---- the frame ---- */

static void
line(FILE *out, double x1, double y1, double x2, double y2)
{
	fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2);
}

static void
grid(const struct picture *p, const struct scale *scale, bool along_x, bool labelled)
{
	fprintf(p->out, "<g stroke=\"%s\">\n", labelled ? "#c8c8c8" : "#ececec");
	for (unsigned i = 0; i < scale->count; i++) {
		double at = scale_place(scale, scale->ticks[i].value);

		if ((scale->ticks[i].label[0] != '\0') != labelled)
			continue;
		if (along_x)
			line(p->out, at, p->top, at, p->bottom);
		else
			line(p->out, p->left, at, p->right, at);
	}
	fputs("</g>\n", p->out);
}

static void
tick_labels(const struct picture *p, const struct scale *scale, bool along_x)
{
	for (unsigned i = 0; i < scale->count; i++) {
		double at = scale_place(scale, scale->ticks[i].value);

		if (scale->ticks[i].label[0] == '\0')
			continue;
		if (along_x)
			text_at(p->out, at, p->bottom + 17, " text-anchor=\"middle\"", scale->ticks[i].label);
		else
			text_at(p->out, p->left - 7, at + 4, " text-anchor=\"end\"", scale->ticks[i].label);
	}
}

static void
frame(const struct picture *p, bool with_y)
{
	char name[128];

	grid(p, &p->x, true, false);
	if (with_y)
		grid(p, &p->y, false, false);
	grid(p, &p->x, true, true);
	if (with_y)
		grid(p, &p->y, false, true);
	fprintf(p->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#333\"/>\n", p->left,
	    p->top, p->right - p->left, p->bottom - p->top);
	tick_labels(p, &p->x, true);
	axis_name(name, sizeof(name), &p->figure->x);
	text_at(p->out, (p->left + p->right) / 2.0, p->bottom + 38, " text-anchor=\"middle\"", name);
	if (!with_y)
		return;
	tick_labels(p, &p->y, false);
	axis_name(name, sizeof(name), &p->figure->y);
	fprintf(p->out, "<text transform=\"translate(20 %d) rotate(-90)\" text-anchor=\"middle\">",
	    (p->top + p->bottom) / 2);
	escape(p->out, name, strlen(name));
	fputs("</text>\n", p->out);
}

/* ---- lines and marks ---- */

static void
mark(FILE *out, unsigned style, bool hollow, double x, double y)
{
	const char *color = styles[style % STYLES].color, *fill = hollow ? "#fff" : color;

	switch (style % 4) {
	case 0:
		fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.6\" fill=\"%s\" stroke=\"%s\"/>\n", x, y, fill,
		    color);
		return;
	case 1:
		fprintf(out, "<path d=\"M%.1f %.1fh6.4v6.4h-6.4z\" fill=\"%s\" stroke=\"%s\"/>\n", x - 3.2, y - 3.2,
		    fill, color);
		return;
	case 2:
		fprintf(out, "<path d=\"M%.1f %.1fl4 7.2h-8z\" fill=\"%s\" stroke=\"%s\"/>\n", x, y - 4.4, fill, color);
		return;
	default:
		fprintf(out, "<path d=\"M%.1f %.1fl4.4 4.4l-4.4 4.4l-4.4 -4.4z\" fill=\"%s\" stroke=\"%s\"/>\n", x,
		    y - 4.4, fill, color);
	}
}

static bool
can_be_drawn(const struct picture *p, const struct result_point *point)
{
	return scale_takes(p->x.kind, point->x) && scale_takes(p->y.kind, point->y);
}

static void
series_line(const struct picture *p, const struct result_series *series, const struct style *style)
{
	char move = 'M';

	fprintf(p->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" stroke-dasharray=\"%s\" d=\"",
	    style->color, style->dash);
	result_each(&series->points, struct result_point, point) {
		if (!can_be_drawn(p, point))
			continue;
		fprintf(p->out, "%c%.1f %.1f", move, scale_place(&p->x, point->x), scale_place(&p->y, point->y));
		move = 'L';
	}
	fputs("\"/>\n", p->out);
}

static void
error_bar(const struct picture *p, const struct result_point *point, const struct style *style)
{
	double x = scale_place(&p->x, point->x), low, high;

	if (point->low == point->high || !scale_takes(p->y.kind, point->low))
		return;
	low = scale_place(&p->y, point->low);
	high = scale_place(&p->y, point->high);
	fprintf(p->out, "<path fill=\"none\" stroke=\"%s\" stroke-opacity=\"0.6\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f "
	    "%.1fh6\"/>\n", style->color, x, low, high, x - 3, low, x - 3, high);
}

static void
legend_name(const struct picture *p, const struct result_series *series, unsigned row)
{
	char name[LEGEND_LETTERS + 4];

	snprintf(name, sizeof(name), "%.*s%s", LEGEND_LETTERS, series->name,
	    strlen(series->name) > LEGEND_LETTERS ? "..." : "");
	text_at(p->out, p->right + LEGEND_NAME, TOP + 12 + (int)row * LEGEND_ROW, "", name);
}

static void
series_draw(const struct picture *p, const struct result_series *series, unsigned row)
{
	const struct style *style = &styles[row % STYLES];
	double y = TOP + 8 + (double)row * LEGEND_ROW;

	if (!series->published) {
		series_line(p, series, style);
		fprintf(p->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" stroke-dasharray=\"%s\" "
		    "d=\"M%d %.1fh28\"/>\n", style->color, style->dash, p->right + LEGEND, y);
	}
	result_each(&series->points, struct result_point, point) {
		if (!can_be_drawn(p, point))
			continue;
		error_bar(p, point, style);
		mark(p->out, row, series->published, scale_place(&p->x, point->x), scale_place(&p->y, point->y));
	}
	mark(p->out, row, series->published, p->right + LEGEND + 14, y);
	legend_name(p, series, row);
}

/* ---- how large it is ---- */

struct span {
	double least, most;
};

static void
widen(struct span *span, enum result_scale kind, double value)
{
	if (!scale_takes(kind, value))
		return;
	span->least = fmin(span->least, value);
	span->most = fmax(span->most, value);
}

static struct span
usable(struct span span)
{
	return span.least <= span.most ? span : (struct span){ 1, 1 };
}

static void
scales_init(struct picture *p)
{
	struct span x = { INFINITY, -INFINITY }, y = x;

	result_each(&p->figure->series, struct result_series, series)
		result_each(&series->points, struct result_point, point) {
			widen(&x, p->figure->x.scale, point->x);
			widen(&y, p->figure->y.scale, point->y);
			widen(&y, p->figure->y.scale, point->low);
			widen(&y, p->figure->y.scale, point->high);
		}
	x = usable(x);
	y = usable(y);
	scale_init(&p->x, p->figure->x.scale, x.least, x.most, p->left, p->right);
	scale_init(&p->y, p->figure->y.scale, y.least, y.most, p->bottom, p->top);
}

/* ---- bars: the points of each series are in the same order ---- */

static int
widest_label(const struct result_figure *figure)
{
	size_t letters = 0;

	result_each(&figure->series, struct result_series, series)
		result_each(&series->points, struct result_point, point) {
			size_t length = strlen(point->label);

			letters = length > letters ? length : letters;
		}
	return (int)letters * LETTER;
}

static unsigned
longest(const struct result_figure *figure)
{
	unsigned most = 0;

	result_each(&figure->series, struct result_series, series) {
		unsigned count = 0;

		result_each(&series->points, struct result_point, point)
			count++;
		most = count > most ? count : most;
	}
	return most;
}

static void
bars_draw(const struct picture *p, const struct result_series *series, unsigned row)
{
	double zero = scale_place(&p->x, 0), y = p->top + 5 + (double)(row * BAR_HEIGHT);

	result_each(&series->points, struct result_point, point) {
		double at = scale_place(&p->x, point->x);

		if (row == 0)
			text_at(p->out, p->left - 7, y + BAR_HEIGHT + 4, " text-anchor=\"end\"", point->label);
		fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
		    fmin(at, zero), y, fabs(at - zero), BAR_HEIGHT, styles[row % STYLES].color);
		y += BAR_ROW;
	}
	fprintf(p->out, "<rect x=\"%d\" y=\"%d\" width=\"28\" height=\"%d\" fill=\"%s\"/>\n", p->right + LEGEND,
	    TOP + 3 + (int)row * LEGEND_ROW, BAR_HEIGHT, styles[row % STYLES].color);
	legend_name(p, series, row);
}

/* ---- all of it ---- */

/* Names in the legend that differ only at their end must be told from one another. */
static unsigned
width_of(const struct picture *p)
{
	size_t letters = 0;
	unsigned width;

	result_each(&p->figure->series, struct result_series, series) {
		size_t length = strlen(series->name);

		letters = length > letters ? length : letters;
	}
	letters = letters < LEGEND_LETTERS ? letters : LEGEND_LETTERS + 3;
	width = (unsigned)p->right + LEGEND_NAME + (unsigned)letters * LETTER + LETTER;
	return width > WIDTH ? width : WIDTH;
}

static unsigned
words_lines(const struct picture *p, const struct result *result)
{
	unsigned lines = 2 + (unsigned)strlen(p->figure->caption) / (LINE_LETTERS / 2);

	result_each(&result->givens, struct result_given, given)
		lines += 1 + (unsigned)(strlen(given->name) + strlen(given->text)) / (LINE_LETTERS / 2);
	return lines;
}

static void
words(const struct picture *p, const struct result *result)
{
	int y = p->bottom + 66;
	char text[1200];

	fputs("<g font-size=\"11\" fill=\"#333\">\n", p->out);
	y = paragraph(p->out, 20, y, LINE_LETTERS, p->figure->caption);
	result_each(&result->givens, struct result_given, given) {
		snprintf(text, sizeof(text), "%s: %s", given->name, given->text);
		y = paragraph(p->out, 20, y, LINE_LETTERS, text);
	}
	snprintf(text, sizeof(text), "weir lab run %s --seed %" PRIu64 "   (history %016" PRIx64 ")", result->name,
	    result->seed, result->hash);
	paragraph(p->out, 20, y, LINE_LETTERS, text);
	fputs("</g>\n", p->out);
}

static void
place(struct picture *p, bool bars)
{
	if (bars) {
		int labels = widest_label(p->figure);

		p->left = labels > BARS_LEFT ? labels : BARS_LEFT;
		p->right = p->left + BARS_WIDTH;
		p->bottom = TOP + (int)(longest(p->figure) * BAR_ROW);
	} else {
		p->left = LEFT;
		p->right = LEFT + LINES_WIDTH;
		p->bottom = BOTTOM;
	}
}

void
svg_write(FILE *out, const struct result *result, const struct result_figure *figure)
{
	bool bars = figure->shape == RESULT_BARS;
	struct picture p = { .out = out, .figure = figure, .top = TOP };
	unsigned row = 0, height, width;

	place(&p, bars);
	width = width_of(&p);
	scales_init(&p);
	height = (unsigned)p.bottom + 70 + words_lines(&p, result) * LINE;
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" height=\"%u\" "
	    "font-family=\"sans-serif\" font-size=\"12\">\n<title>", width, height, width, height);
	escape(out, figure->title, strlen(figure->title));
	fprintf(out, "</title>\n<rect width=\"%u\" height=\"%u\" fill=\"#fff\"/>\n<g fill=\"#222\">\n", width, height);
	text_at(out, 20, 28, " font-size=\"15\" font-weight=\"bold\"", figure->title);
	frame(&p, !bars);
	result_each(&figure->series, struct result_series, series) {
		if (bars)
			bars_draw(&p, series, row++);
		else
			series_draw(&p, series, row++);
	}
	fputs("</g>\n", out);
	words(&p, result);
	fputs("</svg>\n", out);
}
