/*
 * result.h - what came of an experiment: tables, figures, checks, and what it was run with.
 *
 * Built by experiments, printed by others; it knows no format.  All of it is in
 * the arena that it was made with, and texts are copied.  Numbers are doubles: a
 * result is looked at, and enters no simulation.  NAN is a number that could not
 * be had.
 */
#ifndef WEIR_LAB_RESULT_H
#define WEIR_LAB_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct arena;

enum { RESULT_COLUMNS_MAX = 16 };

/* ---- tables ---- */

struct result_column {
	const char *name, *unit; /* "": it has none */
	unsigned decimals;
	bool text;
};

struct result_cell {
	const char *text;        /* NULL: a number */
	double number;
};

struct result_row {
	struct fifo_node node;
	unsigned filled;
	struct result_cell cells[RESULT_COLUMNS_MAX];
};

struct result_table {
	struct fifo_node node;
	struct result *result;
	const char *name, *title;
	struct result_column columns[RESULT_COLUMNS_MAX];
	unsigned column_count;
	struct fifo rows;        /* each of them full */
	struct result_row *last;
};

/* ---- figures ---- */

enum result_scale { RESULT_LINEAR, RESULT_LOG, RESULT_LOG2 };

enum result_shape {
	RESULT_LINES,            /* y over x */
	RESULT_BARS,             /* of each point, which has a label, a bar from 0 to x; y is not used */
};

struct result_axis {
	const char *name, *unit;
	enum result_scale scale;
};

struct result_point {
	struct fifo_node node;
	double x, y, low, high;  /* low and high: of an error bar; both y: there is none */
	const char *label;       /* NULL: it has none */
};

struct result_series {
	struct fifo_node node;
	struct result *result;
	const char *name;
	bool published;          /* by others: points to compare with, no line */
	struct fifo points;
};

struct result_figure {
	struct fifo_node node;
	struct result *result;
	const char *name, *title, *caption;
	enum result_shape shape;
	struct result_axis x, y;
	struct fifo series;
};

/* ---- what must hold, and what matters ---- */

enum result_bound { RESULT_WITHIN, RESULT_AT_LEAST, RESULT_AT_MOST };

struct result_check {
	struct fifo_node node;
	const char *name, *unit;
	unsigned decimals;
	enum result_bound bound;
	double measured, expected, tolerance_percent;
	bool met;
};

/* A number that sums up a part of it, and whose change matters when constants vary. */
struct result_metric {
	struct fifo_node node;
	const char *name, *unit;
	unsigned decimals;
	double value;
};

/* What it was run with, as a text. */
struct result_given {
	struct fifo_node node;
	const char *name, *text;
};

struct result {
	struct arena *arena;
	const char *name;        /* the experiment's */
	uint64_t seed, hash, events;
	struct fifo tables, figures, checks, metrics, givens;
};

/* As in the simulation, where there is no memory left, the program is aborted. */
void result_init(struct result *result, struct arena *arena, const char *name, uint64_t seed);

struct result_table *result_table(struct result *result, const char *name, const char *title,
    const struct result_column *columns, unsigned count);
/* The next cell, row by row. */
void result_cell_text(struct result_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void result_cell_number(struct result_table *table, double number);

struct result_figure *result_figure(struct result *result, enum result_shape shape, const char *name,
    const char *title, struct result_axis x, struct result_axis y);
/* What is said under it. */
void result_caption(struct result_figure *figure, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct result_series *result_series(struct result_figure *figure, const char *name, bool published);
/* What is not a number is left out. */
void result_point(struct result_series *series, double x, double y);
void result_point_between(struct result_series *series, double x, double y, double low, double high);
void result_bar(struct result_series *series, const char *label, double x);

/* The tolerance is used of RESULT_WITHIN alone; a measured value that is no number does not meet it. */
void result_check(struct result *result, const char *name, const char *unit, unsigned decimals, double measured,
    enum result_bound bound, double expected, double tolerance_percent);
bool result_all_met(const struct result *result);

void result_metric(struct result *result, const char *name, const char *unit, unsigned decimals, double value);

/* The same name and text again says nothing new. */
void result_given(struct result *result, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A number as it is shown: so many decimals, and no sign on a zero; "-": it is none. */
enum { RESULT_NUMBER = 40 };
const char *result_number(double value, unsigned decimals, char text[RESULT_NUMBER]);

/* The next after `node`, and the first of a list, of this type; NULL: there is none. */
#define result_first(fifo, type) ((fifo)->head != NULL ? container_of((fifo)->head, type, node) : NULL)
#define result_next(item, type) ((item)->node.next != NULL ? container_of((item)->node.next, type, node) : NULL)
#define result_each(fifo, type, item) \
	for (type *item = result_first(fifo, type); (item) != NULL; (item) = result_next(item, type))

#endif
