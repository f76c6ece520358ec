/*
 * report.h - what is to be told, either to people, as lines with a label, or to programs, as JSON.
 *
 * A report is a tree of groups and values.  Each has a key, for JSON, and a
 * label and a form for people; a value without a label is for JSON alone, one
 * without a key for people alone.
 */
#ifndef WEIR_CMD_REPORT_H
#define WEIR_CMD_REPORT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPORT_DEPTH = 8 };

struct report {
	bool json;
	unsigned depth;
	struct json_object *open[REPORT_DEPTH]; /* objects and arrays that are open, the outermost first */
	bool first;                             /* nothing has been printed */
};

void report_init(struct report *report, bool json);

/* Ends it; where all went well, JSON is printed. */
void report_end(struct report *report, bool print);

/* A group: an object in JSON, a heading for people (NULL: none).  In a list, of which `key` is NULL. */
void report_open(struct report *report, const char *key, const char *heading, ...)
    __attribute__((format(printf, 3, 4)));
/* A heading alone, for people. */
void report_heading(struct report *report, const char *heading);
void report_list(struct report *report, const char *key);
void report_close(struct report *report);

/* Values. */
void report_text(struct report *report, const char *key, const char *label, const char *text);
void report_number(struct report *report, const char *key, const char *label, uint64_t value, const char *unit);
void report_bool(struct report *report, const char *key, const char *label, bool value);
void report_bytes(struct report *report, const char *key, const char *label, uint64_t bytes); /* 1 GiB (... bytes) */
void report_hex(struct report *report, const char *key, const char *label, uint64_t value, unsigned digits);
void report_id(struct report *report, const char *key, const char *label, const uint8_t *id, unsigned bytes);
void report_uuid(struct report *report, const char *key, const char *label, const uint8_t uuid[16]);

/* In a list, for JSON alone. */
void report_value(struct report *report, uint64_t value);
/* The bytes, "00ff...", for JSON alone. */
void report_hexdump(struct report *report, const char *key, const uint8_t *data, uint32_t bytes);

/* The bits of `value` that are set, by name: names[i] is bit i, NULL has none.  In JSON a list. */
void report_bits(struct report *report, const char *key, const char *label, uint64_t value, const char *const *names,
    unsigned count);

/* Forms of identifiers, "" of zeros. */
enum { REPORT_UUID = 37, REPORT_ID = 33 };
void uuid_text(const uint8_t uuid[16], char text[REPORT_UUID]);
void id_text(const uint8_t *id, unsigned bytes, char text[REPORT_ID]);

#endif
