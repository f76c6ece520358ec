/*
 * lab_json.c - a result as JSON: all that is in the figures, and more.
 *
 * Numbers have as many decimals as they are worth, so that the same result is the same bytes.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lab.h"

/* A number that could not be had is null. */
static struct json_object *
number(double value, unsigned decimals)
{
	char text[RESULT_NUMBER];

	return isfinite(value) ? json_object_new_double_s(value, result_number(value, decimals, text)) : NULL;
}

/* Where nobody said how many decimals: six digits. */
static struct json_object *
coordinate(double value)
{
	char text[RESULT_NUMBER];

	snprintf(text, sizeof(text), "%.6g", value);
	return json_object_new_double_s(value, text);
}

static void
add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

static struct json_object *
table_json(const struct result_table *table)
{
	struct json_object *object = json_object_new_object(), *columns = json_object_new_array();
	struct json_object *rows = json_object_new_array();

	add_text(object, "name", table->name);
	add_text(object, "title", table->title);
	for (unsigned i = 0; i < table->column_count; i++) {
		struct json_object *column = json_object_new_object();

		add_text(column, "name", table->columns[i].name);
		add_text(column, "unit", table->columns[i].unit);
		json_object_array_add(columns, column);
	}
	json_object_object_add(object, "columns", columns);
	result_each(&table->rows, struct result_row, row) {
		struct json_object *cells = json_object_new_array();

		for (unsigned i = 0; i < row->filled; i++)
			json_object_array_add(cells, row->cells[i].text != NULL ?
			    json_object_new_string(row->cells[i].text) :
			    number(row->cells[i].number, table->columns[i].decimals));
		json_object_array_add(rows, cells);
	}
	json_object_object_add(object, "rows", rows);
	return object;
}

static struct json_object *
axis_json(const struct result_axis *axis)
{
	static const char *const scales[] = {
		[RESULT_LINEAR] = "linear", [RESULT_LOG] = "log", [RESULT_LOG2] = "log2",
	};
	struct json_object *object = json_object_new_object();

	add_text(object, "name", axis->name);
	add_text(object, "unit", axis->unit);
	add_text(object, "scale", scales[axis->scale]);
	return object;
}

static struct json_object *
series_json(const struct result_figure *figure, const struct result_series *series)
{
	struct json_object *object = json_object_new_object(), *points = json_object_new_array();

	add_text(object, "name", series->name);
	json_object_object_add(object, "published", json_object_new_boolean(series->published));
	result_each(&series->points, struct result_point, point) {
		struct json_object *one = json_object_new_object();

		json_object_object_add(one, "x", coordinate(point->x));
		if (figure->shape == RESULT_BARS)
			add_text(one, "label", point->label);
		else
			json_object_object_add(one, "y", coordinate(point->y));
		if (point->low != point->high) {
			json_object_object_add(one, "low", coordinate(point->low));
			json_object_object_add(one, "high", coordinate(point->high));
		}
		json_object_array_add(points, one);
	}
	json_object_object_add(object, "points", points);
	return object;
}

static struct json_object *
figure_json(const struct result_figure *figure)
{
	struct json_object *object = json_object_new_object(), *series = json_object_new_array();

	add_text(object, "name", figure->name);
	add_text(object, "title", figure->title);
	add_text(object, "caption", figure->caption);
	json_object_object_add(object, "x", axis_json(&figure->x));
	if (figure->shape == RESULT_LINES)
		json_object_object_add(object, "y", axis_json(&figure->y));
	result_each(&figure->series, struct result_series, one)
		json_object_array_add(series, series_json(figure, one));
	json_object_object_add(object, "series", series);
	return object;
}

static struct json_object *
check_json(const struct result_check *check)
{
	static const char *const bounds[] = {
		[RESULT_WITHIN] = "within", [RESULT_AT_LEAST] = "at-least", [RESULT_AT_MOST] = "at-most",
	};
	struct json_object *object = json_object_new_object();

	add_text(object, "name", check->name);
	add_text(object, "unit", check->unit);
	json_object_object_add(object, "measured", number(check->measured, check->decimals));
	add_text(object, "bound", bounds[check->bound]);
	json_object_object_add(object, "expected", number(check->expected, check->decimals));
	if (check->bound == RESULT_WITHIN)
		json_object_object_add(object, "tolerance_percent", coordinate(check->tolerance_percent));
	json_object_object_add(object, "met", json_object_new_boolean(check->met));
	return object;
}

static struct json_object *
metric_json(const struct result_metric *metric)
{
	struct json_object *object = json_object_new_object();

	add_text(object, "name", metric->name);
	add_text(object, "unit", metric->unit);
	json_object_object_add(object, "value", number(metric->value, metric->decimals));
	return object;
}

static struct json_object *
given_json(const struct result_given *given)
{
	struct json_object *object = json_object_new_object();

	add_text(object, "name", given->name);
	add_text(object, "text", given->text);
	return object;
}

struct json_object *
lab_result_json(const struct experiment *experiment, const struct result *result)
{
	struct json_object *object = json_object_new_object(), *list;
	char hash[17];

	snprintf(hash, sizeof(hash), "%016" PRIx64, result->hash);
	add_text(object, "experiment", experiment->name);
	add_text(object, "group", experiment->group);
	add_text(object, "question", experiment->question);
	add_text(object, "known", experiment->known);
	json_object_object_add(object, "seed", json_object_new_uint64(result->seed));
	add_text(object, "hash", hash);
	json_object_object_add(object, "events", json_object_new_uint64(result->events));
	json_object_object_add(object, "met", json_object_new_boolean(result_all_met(result)));
	json_object_object_add(object, "given", list = json_object_new_array());
	result_each(&result->givens, struct result_given, given)
		json_object_array_add(list, given_json(given));
	json_object_object_add(object, "checks", list = json_object_new_array());
	result_each(&result->checks, struct result_check, check)
		json_object_array_add(list, check_json(check));
	json_object_object_add(object, "metrics", list = json_object_new_array());
	result_each(&result->metrics, struct result_metric, metric)
		json_object_array_add(list, metric_json(metric));
	json_object_object_add(object, "tables", list = json_object_new_array());
	result_each(&result->tables, struct result_table, table)
		json_object_array_add(list, table_json(table));
	json_object_object_add(object, "figures", list = json_object_new_array());
	result_each(&result->figures, struct result_figure, figure)
		json_object_array_add(list, figure_json(figure));
	return object;
}
