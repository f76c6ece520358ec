/*
 * top.h - what `weir top` shows: namespaces, and hosts that share them, as JSON (weir-top(1)).
 *
 * Each is an object; what a target is asked at its control socket has the same form.
 */
#ifndef WEIR_CMD_TOP_H
#define WEIR_CMD_TOP_H

#include <stdio.h>
#include <weir/weir.h>

struct json_object;

/* ---- top_json.c ---- */

/* A namespace, of which there is a view, or none and why. */
struct json_object *top_device_json(const char *name, const struct weir_view *view);
struct json_object *top_unseen_json(const char *name, const char *why);

/* A host at it; NULL: the one that asks.  `view` is what that is told. */
struct json_object *top_host_json(const char *nqn, const struct weir_view *view);

/* ---- top_show.c ---- */

/* A list of namespaces, for people.  0, or -ENOMEM. */
int top_print(FILE *out, const struct json_object *namespaces) __attribute__((warn_unused_result));

#endif
