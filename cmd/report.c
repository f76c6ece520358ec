#include "report.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "progress.h"

enum { LABEL_WIDTH = 28 };

void
report_init(struct report *report, bool json)
{
	*report = (struct report) { .json = json, .first = true };
	if (json)
		report->open[0] = json_object_new_object();
}

void
report_end(struct report *report, bool print)
{
	assert(report->depth == 0);
	if (!report->json)
		return;
	if (print)
		puts(json_object_to_json_string_ext(report->open[0],
		    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(report->open[0]);
}

/* ---- the tree ---- */

static void
attach(struct report *report, const char *key, struct json_object *value)
{
	struct json_object *in = report->open[report->depth];

	assert((key == NULL) == json_object_is_type(in, json_type_array));
	if (key == NULL)
		json_object_array_add(in, value);
	else
		json_object_object_add(in, key, value);
}

static void
go_into(struct report *report, const char *key, struct json_object *value)
{
	assert(report->depth + 1 < REPORT_DEPTH);
	attach(report, key, value);
	report->open[++report->depth] = value;
}

void
report_open(struct report *report, const char *key, const char *heading, ...)
{
	va_list args;

	if (report->json) {
		go_into(report, key, json_object_new_object());
		return;
	}
	report->depth++;
	if (heading == NULL)
		return;
	if (!report->first)
		putchar('\n');
	report->first = false;
	va_start(args, heading);
	vprintf(heading, args);
	va_end(args);
	putchar('\n');
}

void
report_heading(struct report *report, const char *heading)
{
	if (report->json)
		return;
	if (!report->first)
		putchar('\n');
	report->first = false;
	puts(heading);
}

void
report_list(struct report *report, const char *key)
{
	if (report->json)
		go_into(report, key, json_object_new_array());
	else
		report->depth++;
}

void
report_close(struct report *report)
{
	assert(report->depth > 0);
	report->depth--;
}

/* ---- values ---- */

static void __attribute__((format(printf, 3, 4)))
line(struct report *report, const char *label, const char *format, ...)
{
	va_list args;

	report->first = false;
	printf("  %-*s ", LABEL_WIDTH, label);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* Somebody else's text. */
void
report_text(struct report *report, const char *key, const char *label, const char *text)
{
	char shown[1024];

	utf8_show(text, shown, sizeof(shown));
	if (report->json && key != NULL)
		attach(report, key, json_object_new_string(shown));
	else if (!report->json && label != NULL)
		line(report, label, "%s", shown);
}

void
report_number(struct report *report, const char *key, const char *label, uint64_t value, const char *unit)
{
	if (report->json && key != NULL)
		attach(report, key, json_object_new_uint64(value));
	else if (!report->json && label != NULL)
		line(report, label, "%" PRIu64 "%s%s", value, unit[0] != '\0' ? " " : "", unit);
}

void
report_bool(struct report *report, const char *key, const char *label, bool value)
{
	if (report->json && key != NULL)
		attach(report, key, json_object_new_boolean(value));
	else if (!report->json && label != NULL)
		line(report, label, "%s", value ? "yes" : "no");
}

void
report_bytes(struct report *report, const char *key, const char *label, uint64_t bytes)
{
	char size[PROGRESS_WORD];

	progress_size(bytes, size);
	if (report->json && key != NULL)
		attach(report, key, json_object_new_uint64(bytes));
	else if (!report->json && label != NULL && bytes < 1024)
		line(report, label, "%s", size);
	else if (!report->json && label != NULL)
		line(report, label, "%s (%" PRIu64 " bytes)", size, bytes);
}

void
report_hex(struct report *report, const char *key, const char *label, uint64_t value, unsigned digits)
{
	if (report->json && key != NULL)
		attach(report, key, json_object_new_uint64(value));
	else if (!report->json && label != NULL)
		line(report, label, "0x%0*" PRIx64, (int)digits, value);
}

void
report_value(struct report *report, uint64_t value)
{
	if (report->json)
		attach(report, NULL, json_object_new_uint64(value));
}

void
report_hexdump(struct report *report, const char *key, const uint8_t *data, uint32_t bytes)
{
	char *text = report->json ? malloc((size_t)2 * bytes + 1) : NULL;

	if (text == NULL)
		return;
	for (uint32_t i = 0; i < bytes; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", data[i]);
	attach(report, key, json_object_new_string_len(text, (int)(2 * bytes)));
	free(text);
}

void
id_text(const uint8_t *id, unsigned bytes, char text[REPORT_ID])
{
	uint8_t any = 0;

	assert(bytes * 2 < REPORT_ID);
	for (unsigned i = 0; i < bytes; i++) {
		any |= id[i];
		snprintf(text + (size_t)2 * i, 3, "%02x", id[i]);
	}
	if (any == 0)
		text[0] = '\0';
}

void
uuid_text(const uint8_t uuid[16], char text[REPORT_UUID])
{
	char hex[REPORT_ID];

	id_text(uuid, 16, hex);
	text[0] = '\0';
	if (hex[0] != '\0')
		snprintf(text, REPORT_UUID, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

void
report_id(struct report *report, const char *key, const char *label, const uint8_t *id, unsigned bytes)
{
	char text[REPORT_ID];

	id_text(id, bytes, text);
	report_text(report, key, label, text[0] != '\0' || report->json ? text : "none");
}

void
report_uuid(struct report *report, const char *key, const char *label, const uint8_t uuid[16])
{
	char text[REPORT_UUID];

	uuid_text(uuid, text);
	report_text(report, key, label, text[0] != '\0' || report->json ? text : "none");
}

void
report_bits(struct report *report, const char *key, const char *label, uint64_t value, const char *const *names,
    unsigned count)
{
	const char *before = "";

	if (report->json) {
		report_list(report, key);
		for (unsigned i = 0; i < count; i++)
			if (((value >> i) & 1) != 0 && names[i] != NULL)
				attach(report, NULL, json_object_new_string(names[i]));
		report_close(report);
		return;
	}
	report->first = false;
	printf("  %-*s ", LABEL_WIDTH, label);
	for (unsigned i = 0; i < count; i++) {
		if (((value >> i) & 1) == 0 || names[i] == NULL)
			continue;
		printf("%s%s", before, names[i]);
		before = ", ";
	}
	puts(before[0] == '\0' ? "none" : "");
}
