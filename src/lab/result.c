#include "lab/result.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static void *
room(const struct result *result, size_t bytes)
{
	void *memory = arena_alloc(result->arena, bytes);

	if (memory == NULL)
		abort();
	return memory;
}

static const char *
copy(const struct result *result, const char *text)
{
	size_t bytes = strlen(text) + 1;

	return memcpy(room(result, bytes), text, bytes);
}

static const char * __attribute__((format(printf, 2, 0)))
print(const struct result *result, const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	return copy(result, text);
}

void
result_init(struct result *result, struct arena *arena, const char *name, uint64_t seed)
{
	*result = (struct result){ .arena = arena, .seed = seed };
	result->name = copy(result, name);
	fifo_init(&result->tables);
	fifo_init(&result->figures);
	fifo_init(&result->checks);
	fifo_init(&result->metrics);
	fifo_init(&result->givens);
}

/* ---- tables ---- */

struct result_table *
result_table(struct result *result, const char *name, const char *title, const struct result_column *columns,
    unsigned count)
{
	struct result_table *table = room(result, sizeof(*table));

	assert(count >= 1 && count <= RESULT_COLUMNS_MAX);
	table->result = result;
	table->name = copy(result, name);
	table->title = copy(result, title);
	table->column_count = count;
	for (unsigned i = 0; i < count; i++) {
		table->columns[i] = columns[i];
		table->columns[i].name = copy(result, columns[i].name);
		table->columns[i].unit = copy(result, columns[i].unit);
	}
	fifo_init(&table->rows);
	fifo_push(&result->tables, &table->node);
	return table;
}

static struct result_cell *
next_cell(struct result_table *table, bool text)
{
	struct result_row *row = table->last;

	if (row == NULL || row->filled == table->column_count) {
		row = table->last = room(table->result, sizeof(*row));
		fifo_push(&table->rows, &row->node);
	}
	assert(table->columns[row->filled].text == text);
	return &row->cells[row->filled++];
}

void
result_cell_text(struct result_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	next_cell(table, true)->text = print(table->result, format, args);
	va_end(args);
}

void
result_cell_number(struct result_table *table, double number)
{
	next_cell(table, false)->number = number;
}

/* ---- figures ---- */

struct result_figure *
result_figure(struct result *result, enum result_shape shape, const char *name, const char *title,
    struct result_axis x, struct result_axis y)
{
	struct result_figure *figure = room(result, sizeof(*figure));

	*figure = (struct result_figure){
		.result = result, .shape = shape, .name = copy(result, name), .title = copy(result, title),
		.caption = "",
		.x = { copy(result, x.name), copy(result, x.unit), x.scale },
		.y = { copy(result, y.name), copy(result, y.unit), y.scale },
	};
	fifo_init(&figure->series);
	fifo_push(&result->figures, &figure->node);
	return figure;
}

void
result_caption(struct result_figure *figure, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	figure->caption = print(figure->result, format, args);
	va_end(args);
}

struct result_series *
result_series(struct result_figure *figure, const char *name, bool published)
{
	struct result_series *series = room(figure->result, sizeof(*series));

	*series = (struct result_series){
		.result = figure->result, .name = copy(figure->result, name), .published = published,
	};
	fifo_init(&series->points);
	fifo_push(&figure->series, &series->node);
	return series;
}

static void
add_point(struct result_series *series, struct result_point given)
{
	struct result_point *point;

	if (!isfinite(given.x) || !isfinite(given.y) || !isfinite(given.low) || !isfinite(given.high))
		return;
	point = room(series->result, sizeof(*point));
	*point = given;
	fifo_push(&series->points, &point->node);
}

void
result_point(struct result_series *series, double x, double y)
{
	add_point(series, (struct result_point){ .x = x, .y = y, .low = y, .high = y });
}

void
result_point_between(struct result_series *series, double x, double y, double low, double high)
{
	add_point(series, (struct result_point){ .x = x, .y = y, .low = low, .high = high });
}

void
result_bar(struct result_series *series, const char *label, double x)
{
	add_point(series, (struct result_point){ .x = x, .label = copy(series->result, label) });
}

/* ---- what must hold, and what matters ---- */

static bool
met(const struct result_check *check)
{
	if (!isfinite(check->measured))
		return false;
	switch (check->bound) {
	case RESULT_WITHIN:
		return fabs(check->measured - check->expected) <=
		    fabs(check->expected) * check->tolerance_percent / 100;
	case RESULT_AT_LEAST:
		return check->measured >= check->expected;
	case RESULT_AT_MOST:
		return check->measured <= check->expected;
	}
	return false;
}

void
result_check(struct result *result, const char *name, const char *unit, unsigned decimals, double measured,
    enum result_bound bound, double expected, double tolerance_percent)
{
	struct result_check *check = room(result, sizeof(*check));

	*check = (struct result_check){
		.name = copy(result, name), .unit = copy(result, unit), .decimals = decimals, .bound = bound,
		.measured = measured, .expected = expected, .tolerance_percent = tolerance_percent,
	};
	check->met = met(check);
	fifo_push(&result->checks, &check->node);
}

bool
result_all_met(const struct result *result)
{
	result_each(&result->checks, struct result_check, check)
		if (!check->met)
			return false;
	return true;
}

void
result_metric(struct result *result, const char *name, const char *unit, unsigned decimals, double value)
{
	struct result_metric *metric = room(result, sizeof(*metric));

	*metric = (struct result_metric){
		.name = copy(result, name), .unit = copy(result, unit), .decimals = decimals, .value = value,
	};
	fifo_push(&result->metrics, &metric->node);
}

void
result_given(struct result *result, const char *name, const char *format, ...)
{
	struct result_given *given;
	const char *text;
	va_list args;

	va_start(args, format);
	text = print(result, format, args);
	va_end(args);
	result_each(&result->givens, struct result_given, old)
		if (strcmp(old->name, name) == 0 && strcmp(old->text, text) == 0)
			return;
	given = room(result, sizeof(*given));
	*given = (struct result_given){ .name = copy(result, name), .text = text };
	fifo_push(&result->givens, &given->node);
}

const char *
result_number(double value, unsigned decimals, char text[RESULT_NUMBER])
{
	if (!isfinite(value))
		return "-";
	snprintf(text, RESULT_NUMBER, "%.*f", (int)decimals, value);
	/* What is rounded to zero has none. */
	return text[0] == '-' && strspn(text, "-0.") == strlen(text) ? text + 1 : text;
}
