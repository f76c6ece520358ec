/*
 * printer.h - what the files share that print a configuration: where it goes to, and texts as YAML has them.
 */
#ifndef WEIR_CONF_PRINTER_H
#define WEIR_CONF_PRINTER_H

#include "conf/internal.h"

struct printer {
	void (*put)(void *arg, const char *text, size_t bytes);
	void *arg;
};

void say(const struct printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* With quotes where it needs them. */
void say_text(const struct printer *p, const char *text);

/* A line with a key and a text, or a time; `before` is what the line begins with. */
void line_text(const struct printer *p, const char *before, const char *key, const char *text);
void line_time(const struct printer *p, const char *before, const char *key, uint32_t ms);

/* ---- qos_print.c ---- */

void say_qos(const struct printer *p, const struct conf_qos *qos);

/* Of a namespace. */
void say_ns_qos(const struct printer *p, const struct conf_qos *qos, const struct conf_ns *ns);

#endif
