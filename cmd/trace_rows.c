#include "trace_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "progress.h"
#include "table.h"

enum { NUMBER = 32, PATH = 4096 };

int
trace_rows_add(struct trace_rows *rows, const char *name, const char *path, const struct trace_stat *stat)
{
	if (rows->count == rows->room) {
		size_t room = rows->room > 0 ? 2 * rows->room : 16;
		struct trace_row *grown = reallocarray(rows->rows, room, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		rows->rows = grown;
		rows->room = room;
	}
	rows->rows[rows->count].stat = *stat;
	rows->rows[rows->count].path = path;
	rows->rows[rows->count].name = strdup(name);
	return rows->rows[rows->count].name == NULL ? -ENOMEM : (rows->count++, 0);
}

void
trace_rows_free(struct trace_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->rows[i].name);
	free(rows->rows);
	free(rows->sources);
}

/* ---- for people ---- */

static const char *
shown(double value, int digits, char text[NUMBER])
{
	if (isnan(value))
		return "-";
	snprintf(text, NUMBER, "%.*f", digits, value);
	return text;
}

/* A time as people read it, and what is under a minute with a digit behind the point. */
static void
lasting(uint64_t ns, char text[PROGRESS_WORD])
{
	if (ns < 60 * UINT64_C(1000000000))
		snprintf(text, PROGRESS_WORD, "%.1f s", (double)ns / 1e9);
	else
		progress_time(ns / 1000000000, text);
}

int
trace_rows_table(const struct trace_rows *rows)
{
	static const char *const heads[] = {
		"WORKLOAD", ">SEQ %", ">WRITE GB/DAY", ">PEAK IOPS", ">WRITE %", ">WORKING SET GB", ">REQUESTS",
		">DURATION",
	};
	struct table table;

	table_init(&table, heads, 8);
	for (size_t i = 0; i < rows->count; i++) {
		const struct trace_stat *stat = &rows->rows[i].stat;
		char text[NUMBER], time[PROGRESS_WORD];

		lasting(stat->duration_ns, time);
		table_add(&table, "%s", rows->rows[i].name);
		table_add(&table, "%s", shown(100 * stat->seq_ratio, 2, text));
		table_add(&table, "%s", shown(stat->write_gb_day, 2, text));
		table_add(&table, "%s", shown(stat->peak_iops, 2, text));
		table_add(&table, "%s", shown(100 * stat->write_ratio, 2, text));
		table_add(&table, "%s%s", stat->working_set_error > 0 ? "~" : "", shown(stat->working_set_gb, 3, text));
		table_add(&table, "%" PRIu64, stat->reads + stat->writes);
		table_add(&table, "%s", time);
	}
	return table_end(&table, stdout);
}

/* ---- for programs: both have the same names ---- */

/* A value of a row: a number that may not be known, or how many of something. */
struct value {
	const char *name;
	bool counted;
	double number;
	uint64_t count;
};

#define AMOUNT(name, number) { name, false, number, 0 }
#define COUNT(name, count) { name, true, 0, count }

enum { VALUES = 21 };

static void
values_of(const struct trace_stat *stat, struct value values[VALUES])
{
	const struct streams_counts *streams = &stat->streams;
	const struct value all[VALUES] = {
		AMOUNT("seq_ratio_pct", 100 * stat->seq_ratio),
		AMOUNT("write_rate_gb_day", stat->write_gb_day),
		AMOUNT("peak_iops", stat->peak_iops),
		AMOUNT("write_ratio_pct", 100 * stat->write_ratio),
		AMOUNT("working_set_gb", stat->working_set_gb),
		AMOUNT("working_set_error_pct", 100 * stat->working_set_error),
		AMOUNT("duration_s", (double)stat->duration_ns / 1e9),
		COUNT("reads", stat->reads),
		COUNT("writes", stat->writes),
		AMOUNT("read_gb", stat->read_gb),
		AMOUNT("written_gb", stat->written_gb),
		COUNT("sequential_streams", streams->streams),
		COUNT("sequential_writes", streams->sequential_writes),
		COUNT("sequential_bytes", streams->sequential_bytes),
		COUNT("written_bytes", streams->bytes),
		COUNT("writes_inside", streams->inside),
		COUNT("writes_at_end", streams->at_end),
		COUNT("writes_in_gap", streams->in_gap),
		COUNT("writes_elsewhere", streams->misses),
		COUNT("backwards", stat->backwards),
		COUNT("misplaced", stat->misplaced),
	};

	memcpy(values, all, sizeof(all));
}

/* RFC 4180: what has a comma or a quote stands in quotes. */
static void
csv_name(const char *name)
{
	if (strpbrk(name, ",\"\r\n") == NULL) {
		fputs(name, stdout);
		return;
	}
	putchar('"');
	for (; *name != '\0'; name++) {
		if (*name == '"')
			putchar('"');
		putchar(*name);
	}
	putchar('"');
}

void
trace_rows_csv(const struct trace_rows *rows)
{
	const struct trace_stat none = { 0 };
	struct value values[VALUES];

	values_of(&none, values);
	fputs("name", stdout);
	for (unsigned i = 0; i < VALUES; i++)
		printf(",%s", values[i].name);
	putchar('\n');
	for (size_t row = 0; row < rows->count; row++) {
		values_of(&rows->rows[row].stat, values);
		csv_name(rows->rows[row].name);
		for (unsigned i = 0; i < VALUES; i++)
			if (values[i].counted)
				printf(",%" PRIu64, values[i].count);
			else if (isnan(values[i].number))
				putchar(',');
			else
				printf(",%.9g", values[i].number);
		putchar('\n');
	}
}

static struct json_object *
json_amount(double number)
{
	char text[NUMBER];

	if (isnan(number))
		return NULL;
	snprintf(text, sizeof(text), "%.9g", number);
	return json_object_new_double_s(number, text);
}

static struct json_object *
json_source(const struct trace_source *source)
{
	struct json_object *object = json_object_new_object(), *bads = json_object_new_array();
	const struct trace_read *read = &source->read;
	char path[PATH];

	utf8_show(source->path, path, sizeof(path));
	json_object_object_add(object, "file", json_object_new_string(path));
	json_object_object_add(object, "format", json_object_new_string(trace_format_names[source->format]));
	json_object_object_add(object, "lines", json_object_new_uint64(read->lines));
	json_object_object_add(object, "headings", json_object_new_uint64(read->headings));
	json_object_object_add(object, "other", json_object_new_uint64(read->other));
	json_object_object_add(object, "volumes", json_object_new_uint64(read->volumes));
	json_object_object_add(object, "bad", json_object_new_uint64(read->bad));
	for (uint64_t i = 0; i < read->bad && i < TRACE_BAD_KEPT; i++) {
		struct json_object *bad = json_object_new_object();

		json_object_object_add(bad, "line", json_object_new_uint64(read->bads[i].line));
		json_object_object_add(bad, "why", json_object_new_string(read->bads[i].why));
		json_object_array_add(bads, bad);
	}
	json_object_object_add(object, "first_bad", bads);
	return object;
}

void
trace_rows_json(const struct trace_rows *rows)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();
	struct json_object *sources = json_object_new_array();

	for (size_t row = 0; row < rows->count; row++) {
		struct json_object *workload = json_object_new_object();
		struct value values[VALUES];

		values_of(&rows->rows[row].stat, values);
		json_object_object_add(workload, "name", json_object_new_string(rows->rows[row].name));
		for (unsigned i = 0; i < VALUES; i++)
			json_object_object_add(workload, values[i].name, values[i].counted ?
			    json_object_new_uint64(values[i].count) : json_amount(values[i].number));
		json_object_array_add(list, workload);
	}
	for (size_t i = 0; i < rows->source_count; i++)
		json_object_array_add(sources, json_source(&rows->sources[i]));
	json_object_object_add(object, "workloads", list);
	json_object_object_add(object, "files", sources);
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}
