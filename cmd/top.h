/*
 * top.h - what `weir top` shows: namespaces, and hosts that share them, as JSON (weir-top(1)).
 *
 * Each is an object, whoever was asked.  Where there is no memory for one the program ends, having said so.
 */
#ifndef WEIR_CMD_TOP_H
#define WEIR_CMD_TOP_H

#include <stdio.h>
#include <weir/weir.h>

struct json_object;

/* ---- top_json.c ---- */

/* What was made just now, or NULL; and what it is put into. */
struct json_object *top_made(struct json_object *object);
void top_put(struct json_object *object, const char *key, struct json_object *value);
void top_push(struct json_object *list, struct json_object *value);

/* A namespace, of which there is a view, or none and why. */
struct json_object *top_device_json(const char *name, const struct weir_view *view);
struct json_object *top_unseen_json(const char *name, const char *why);

/* The host that asks; and one at a target, in a group or none ("").  `view` is what each is told. */
struct json_object *top_own_json(const struct weir_view *view);
struct json_object *top_host_json(const char *nqn, const char *group, const struct weir_view *view);

/* ---- top_show.c ---- */

/* A list of namespaces, and whether there are more than it has, for people.  0, or -ENOMEM. */
int top_print(FILE *out, const struct json_object *namespaces, bool more) __attribute__((warn_unused_result));

#endif
