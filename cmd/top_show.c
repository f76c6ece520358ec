/*
 * top_show.c - what `weir top` shows people of namespaces: devices, and what is done there by whom.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>

#include "table.h"
#include "top.h"

enum { CELL = 32, MB = 1000 * 1000 };

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

/* ---- what an object has ---- */

static struct json_object *
part_of(const struct json_object *object, const char *key)
{
	return json_object_object_get(object, key);
}

/* WEIR_ENDLESS where it is null. */
static uint64_t
number_of(const struct json_object *object, const char *key)
{
	struct json_object *value = part_of(object, key);

	return value != NULL ? json_object_get_uint64(value) : WEIR_ENDLESS;
}

static bool
is(const struct json_object *object, const char *key)
{
	return json_object_get_boolean(part_of(object, key));
}

static const char *
text_of(const struct json_object *object, const char *key)
{
	const char *text = json_object_get_string(part_of(object, key));

	return text != NULL ? text : "-";
}

/* ---- how it is written ---- */

static struct cell
number(const struct json_object *object, const char *key)
{
	uint64_t value = number_of(object, key);

	return value == WEIR_ENDLESS ? cell("any") : cell("%" PRIu64, value);
}

static struct cell
megabytes(const struct json_object *object, const char *key)
{
	uint64_t bytes = number_of(object, key);

	return bytes == WEIR_ENDLESS ? cell("any") : cell("%.1f", (double)bytes / MB);
}

static struct cell
duration(const struct json_object *object, const char *key)
{
	uint64_t ns = number_of(object, key);

	if (ns == 0)
		return cell("-");
	return ns < 10 * 1000 * 1000 ? cell("%.0f us", (double)ns / 1e3) : cell("%.1f ms", (double)ns / 1e6);
}

/* How often each byte was written to the medium, that was written at all. */
static struct cell
amplification(const struct json_object *medium)
{
	uint64_t written = medium != NULL ? number_of(medium, "written_bytes") : 0;

	return written == 0 ? cell("-") : cell("%.2f", (double)number_of(medium, "media_bytes") / (double)written);
}

static const char *
state_of(const struct json_object *object)
{
	if (part_of(object, "error") != NULL)
		return "unknown";
	if (!is(object, "shared"))
		return "not shared";
	if (is(object, "stalled"))
		return "stalled";
	return is(object, "paced") ? text_of(object, "state") : "not paced";
}

static void
add_device(struct table *table, const struct json_object *object)
{
	const struct json_object *medium = part_of(object, "medium");

	table_add(table, "%s", state_of(object));
	if (!is(object, "shared")) {
		for (int i = 0; i < 7; i++)
			table_add(table, "-");
	} else {
		table_add(table, "%s", megabytes(object, "rate").text);
		if (part_of(object, "write_cost") != NULL)
			table_add(table, "%.2f", json_object_get_double(part_of(object, "write_cost")));
		else
			table_add(table, "-");
		table_add(table, "%s", megabytes(part_of(object, "reads"), "headroom").text);
		table_add(table, "%s", megabytes(part_of(object, "writes"), "headroom").text);
		table_add(table, "%s", number(object, "hosts").text);
		table_add(table, "%s", number(object, "waiting").text);
		table_add(table, "%s", number(object, "in_flight").text);
	}
	table_add(table, "%s", amplification(medium).text);
	table_add(table, "%s", medium != NULL ? cell("%" PRIu64 "%%", number_of(medium, "used_percent")).text : "-");
	table_add(table, "%s", text_of(object, "namespace"));
}

/* Reads and writes of one host, or of all; what waits is of both together, and so are credits and what is a host's. */
static void
add_done(struct table *table, const char *whose, const struct json_object *of, bool host, const char *name)
{
	static const char *const kinds[] = { "reads", "writes" };

	for (unsigned i = 0; i < 2; i++) {
		const struct json_object *count = part_of(of, kinds[i]);

		table_add(table, "%s", whose);
		table_add(table, "%s", kinds[i]);
		table_add(table, "%s", number(count, "iops").text);
		table_add(table, "%s", megabytes(count, "bytes_per_second").text);
		table_add(table, "%s", duration(count, "p50_ns").text);
		table_add(table, "%s", duration(count, "p99_ns").text);
		table_add(table, "%s", duration(count, "p999_ns").text);
		table_add(table, "%s", number(count, "failed").text);
		table_add(table, "%s", i == 0 ? number(of, "waiting").text : "");
		table_add(table, "%s", i != 0 ? "" : host ? number(of, "credits").text : "-");
		table_add(table, "%s", i != 0 ? "" : host ? number(of, "weight").text : "-");
		table_add(table, "%s", i != 0 ? "" : text_of(of, "group"));
		table_add(table, "%s", name);
	}
}

static void
add_all_done(struct table *table, const struct json_object *object)
{
	const struct json_object *hosts = part_of(object, "tenants"), *own = part_of(object, "host");
	const char *name = text_of(object, "namespace");

	if (is(object, "shared"))
		add_done(table, "all hosts", object, false, name);
	if (own != NULL)
		add_done(table, "this host", own, true, name);
	for (size_t i = 0; hosts != NULL && i < json_object_array_length(hosts); i++) {
		const struct json_object *host = json_object_array_get_idx(hosts, i);
		const char *nqn = text_of(host, "host");

		add_done(table, nqn[0] != '\0' ? nqn : "the target", host, true, name);
	}
}

int
top_print(FILE *out, const struct json_object *namespaces, bool more)
{
	static const char *const devices[] = {
		"STATE", ">RATE MB/s", ">WRITE COST", ">READ ROOM", ">WRITE ROOM", ">HOSTS", ">WAITING", ">IN FLIGHT",
		">WAF", ">USED", "NAMESPACE",
	};
	static const char *const done[] = {
		"WHOSE", "I/O", ">IOPS", ">MB/s", ">P50", ">P99", ">P99.9", ">FAILED", ">WAITING", ">CREDITS",
		">WEIGHT", "GROUP", "NAMESPACE",
	};
	size_t count = json_object_array_length(namespaces);
	struct table table;
	int rc;

	if (more)
		fprintf(out, "There is more than is shown here.\n\n");
	table_init(&table, devices, 11);
	for (size_t i = 0; i < count; i++)
		add_device(&table, json_object_array_get_idx(namespaces, i));
	rc = table_end(&table, out);
	fputc('\n', out);
	table_init(&table, done, 13);
	for (size_t i = 0; i < count; i++)
		add_all_done(&table, json_object_array_get_idx(namespaces, i));
	return rc != 0 ? rc : table_end(&table, out);
}
