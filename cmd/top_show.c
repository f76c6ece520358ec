/*
 * top_show.c - what `weir top` shows of namespaces: devices, and what is done there.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <time.h>

#include "table.h"
#include "top.h"

enum { CELL = 32, MB = 1000 * 1000 };

/* ---- for people ---- */

struct cell {
	char text[CELL];
};

static struct cell __attribute__((format(printf, 1, 2)))
cell(const char *format, ...)
{
	struct cell cell;
	va_list args;

	va_start(args, format);
	vsnprintf(cell.text, sizeof(cell.text), format, args);
	va_end(args);
	return cell;
}

static struct cell
megabytes(uint64_t bytes)
{
	return bytes == WEIR_ENDLESS ? cell("any") : cell("%.1f", (double)bytes / MB);
}

static struct cell
duration(uint64_t ns)
{
	if (ns == 0)
		return cell("-");
	return ns < 10 * 1000 * 1000 ? cell("%.0f us", (double)ns / 1e3) : cell("%.1f ms", (double)ns / 1e6);
}

/* How often each byte was written to the medium, that was written at all. */
static struct cell
amplification(const struct weir_view *view)
{
	if (!view->wears || view->medium.written_bytes == 0)
		return cell("-");
	return cell("%.2f", (double)view->medium.media_bytes / (double)view->medium.written_bytes);
}

static const char *
state_of(const struct top_row *row)
{
	if (row->why[0] != '\0')
		return "unknown";
	if (!row->view.shared)
		return "not shared";
	if (row->view.stalled)
		return "stalled";
	return row->view.paced ? weir_view_state_name(row->view.state) : "not paced";
}

static void
add_device(struct table *table, const struct top_row *row)
{
	const struct weir_view *view = &row->view;

	table_add(table, "%s", state_of(row));
	if (!view->shared) {
		for (int i = 0; i < 7; i++)
			table_add(table, "-");
	} else {
		table_add(table, "%s", megabytes(view->rate).text);
		table_add(table, "%.2f", view->write_cost / 1024.0);
		table_add(table, "%s", megabytes(view->kinds[WEIR_READS].headroom).text);
		table_add(table, "%s", megabytes(view->kinds[WEIR_WRITES].headroom).text);
		table_add(table, "%" PRIu32, view->tenants);
		table_add(table, "%" PRIu32, view->waiting);
		table_add(table, "%" PRIu32, view->inflight);
	}
	table_add(table, "%s", amplification(view).text);
	table_add(table, "%s", view->wears ? cell("%" PRIu32 "%%", view->medium.used_percent).text : "-");
	table_add(table, "%s", row->name);
}

static void
add_count(struct table *table, const char *who, int kind, const struct weir_view_count *count)
{
	table_add(table, "%s", who);
	table_add(table, "%s", kind == WEIR_READS ? "reads" : "writes");
	table_add(table, "%" PRIu64, count->lately_ios);
	table_add(table, "%s", megabytes(count->lately_bytes).text);
	table_add(table, "%s", duration(count->p50_ns).text);
	table_add(table, "%s", duration(count->p99_ns).text);
	table_add(table, "%s", duration(count->p999_ns).text);
	table_add(table, "%" PRIu64, count->failed);
}

static void
add_done(struct table *table, const struct top_row *row)
{
	const struct weir_view *view = &row->view;

	for (int kind = WEIR_READS; view->shared && kind <= WEIR_WRITES; kind++) {
		add_count(table, "all hosts", kind, &view->kinds[kind].done);
		table_add(table, "%" PRIu32, view->waiting);
		table_add(table, "-");
		table_add(table, "%s", row->name);
	}
	for (int kind = WEIR_READS; view->known && kind <= WEIR_WRITES; kind++) {
		add_count(table, "this host", kind, &view->host.kinds[kind]);
		table_add(table, "%" PRIu32, view->host.waiting);
		table_add(table, "%s", view->host.credits == 0 ? "any" : cell("%" PRIu32, view->host.credits).text);
		table_add(table, "%s", row->name);
	}
}

int
top_print(FILE *out, const struct top_row *rows, unsigned count)
{
	static const char *const devices[] = {
		"STATE", ">RATE MB/s", ">WRITE COST", ">READ ROOM", ">WRITE ROOM", ">HOSTS", ">WAITING", ">IN FLIGHT",
		">WAF", ">USED", "NAMESPACE",
	};
	static const char *const done[] = {
		"WHOSE", "I/O", ">IOPS", ">MB/s", ">P50", ">P99", ">P99.9", ">FAILED", ">WAITING", ">CREDITS",
		"NAMESPACE",
	};
	struct table table;
	int rc;

	table_init(&table, devices, 11);
	for (unsigned i = 0; i < count; i++)
		add_device(&table, &rows[i]);
	rc = table_end(&table, out);
	fputc('\n', out);
	table_init(&table, done, 11);
	for (unsigned i = 0; i < count; i++)
		add_done(&table, &rows[i]);
	return rc != 0 ? rc : table_end(&table, out);
}

/* ---- for programs ---- */

static void
put_number(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, value == WEIR_ENDLESS ? NULL : json_object_new_uint64(value));
}

static struct json_object *
count_json(const struct weir_view_count *count)
{
	struct json_object *object = json_object_new_object();

	put_number(object, "ios", count->ios);
	put_number(object, "bytes", count->bytes);
	put_number(object, "failed", count->failed);
	put_number(object, "iops", count->lately_ios);
	put_number(object, "bytes_per_second", count->lately_bytes);
	put_number(object, "p50_ns", count->p50_ns);
	put_number(object, "p99_ns", count->p99_ns);
	put_number(object, "p999_ns", count->p999_ns);
	return object;
}

static struct json_object *
kind_json(const struct weir_view_kind *kind)
{
	struct json_object *object = count_json(&kind->done);

	json_object_object_add(object, "state", json_object_new_string(weir_view_state_name(kind->state)));
	put_number(object, "latency_ns", kind->ewma_ns);
	put_number(object, "threshold_ns", kind->thresh_ns);
	put_number(object, "headroom", kind->headroom);
	return object;
}

static void
put_device(struct json_object *object, const struct weir_view *view)
{
	json_object_object_add(object, "paced", json_object_new_boolean(view->paced));
	json_object_object_add(object, "stalled", json_object_new_boolean(view->stalled));
	json_object_object_add(object, "state", json_object_new_string(weir_view_state_name(view->state)));
	put_number(object, "rate", view->rate);
	json_object_object_add(object, "write_cost", json_object_new_double(view->write_cost / 1024.0));
	put_number(object, "occupied", view->occupied);
	put_number(object, "most", view->most);
	put_number(object, "hosts", view->tenants);
	put_number(object, "waiting", view->waiting);
	put_number(object, "in_flight", view->inflight);
	json_object_object_add(object, "reads", kind_json(&view->kinds[WEIR_READS]));
	json_object_object_add(object, "writes", kind_json(&view->kinds[WEIR_WRITES]));
}

static struct json_object *
host_json(const struct weir_view *view)
{
	struct json_object *object = json_object_new_object();

	put_number(object, "weight", view->host.weight);
	put_number(object, "credits", view->host.credits == 0 ? WEIR_ENDLESS : view->host.credits);
	put_number(object, "waiting", view->host.waiting);
	put_number(object, "in_flight", view->host.inflight);
	json_object_object_add(object, "reads", count_json(&view->host.kinds[WEIR_READS]));
	json_object_object_add(object, "writes", count_json(&view->host.kinds[WEIR_WRITES]));
	return object;
}

static struct json_object *
medium_json(const struct weir_view *view)
{
	struct json_object *object = json_object_new_object();

	put_number(object, "written_bytes", view->medium.written_bytes);
	put_number(object, "media_bytes", view->medium.media_bytes);
	put_number(object, "used_percent", view->medium.used_percent);
	put_number(object, "spare_percent", view->medium.spare_percent);
	return object;
}

static struct json_object *
row_json(const struct top_row *row)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "namespace", json_object_new_string(row->name));
	if (row->why[0] != '\0') {
		json_object_object_add(object, "error", json_object_new_string(row->why));
		return object;
	}
	json_object_object_add(object, "shared", json_object_new_boolean(row->view.shared));
	if (row->view.shared)
		put_device(object, &row->view);
	if (row->view.known)
		json_object_object_add(object, "host", host_json(&row->view));
	if (row->view.wears)
		json_object_object_add(object, "medium", medium_json(&row->view));
	return object;
}

void
top_print_json(const struct top_row *rows, unsigned count)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();

	put_number(object, "time", (uint64_t)time(NULL));
	for (unsigned i = 0; i < count; i++)
		json_object_array_add(list, row_json(&rows[i]));
	json_object_object_add(object, "namespaces", list);
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(object);
}
