/*
 * top_json.c - what is known of namespaces that hosts share, and of those hosts, for programs.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "top.h"

/* ---- without memory there is nothing to be shown ---- */

static void
end(void)
{
	fprintf(stderr, "weir top: out of memory\n");
	exit(EXIT_FAILED);
}

struct json_object *
top_made(struct json_object *object)
{
	if (object == NULL)
		end();
	return object;
}

void
top_put(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value) != 0)
		end();
}

void
top_push(struct json_object *list, struct json_object *value)
{
	if (json_object_array_add(list, value) != 0)
		end();
}

/* ---- what is known ---- */

static void
put_number(struct json_object *object, const char *key, uint64_t value)
{
	top_put(object, key, value == WEIR_ENDLESS ? NULL : top_made(json_object_new_uint64(value)));
}

static struct json_object *
count_json(const struct weir_view_count *count)
{
	struct json_object *object = top_made(json_object_new_object());

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

/* Of what is not paced none is kept. */
static struct json_object *
state_json(const struct weir_view *view, enum weir_view_state state)
{
	return view->paced ? top_made(json_object_new_string(weir_view_state_name(state))) : NULL;
}

static struct json_object *
kind_json(const struct weir_view *view, int which)
{
	const struct weir_view_kind *kind = &view->kinds[which];
	struct json_object *object = count_json(&kind->done);

	top_put(object, "state", state_json(view, kind->state));
	put_number(object, "latency_ns", kind->ewma_ns);
	put_number(object, "threshold_ns", kind->thresh_ns);
	put_number(object, "headroom", kind->headroom);
	return object;
}

static void
put_device(struct json_object *object, const struct weir_view *view)
{
	top_put(object, "paced", top_made(json_object_new_boolean(view->paced)));
	top_put(object, "stalled", top_made(json_object_new_boolean(view->stalled)));
	top_put(object, "state", state_json(view, view->state));
	put_number(object, "rate", view->rate);
	top_put(object, "write_cost",
	    view->paced ? top_made(json_object_new_double(view->write_cost / 1024.0)) : NULL);
	put_number(object, "occupied", view->occupied);
	put_number(object, "most", view->most);
	put_number(object, "hosts", view->tenants);
	put_number(object, "waiting", view->waiting);
	put_number(object, "in_flight", view->inflight);
	top_put(object, "reads", kind_json(view, WEIR_READS));
	top_put(object, "writes", kind_json(view, WEIR_WRITES));
}

static void
put_host(struct json_object *object, const struct weir_view *view)
{
	put_number(object, "weight", view->host.weight);
	put_number(object, "credits", view->host.credits == 0 ? WEIR_ENDLESS : view->host.credits);
	put_number(object, "waiting", view->host.waiting);
	put_number(object, "in_flight", view->host.inflight);
	top_put(object, "reads", count_json(&view->host.kinds[WEIR_READS]));
	top_put(object, "writes", count_json(&view->host.kinds[WEIR_WRITES]));
}

static struct json_object *
medium_json(const struct weir_view *view)
{
	struct json_object *object = top_made(json_object_new_object());

	put_number(object, "written_bytes", view->medium.written_bytes);
	put_number(object, "media_bytes", view->medium.media_bytes);
	put_number(object, "used_percent", view->medium.used_percent);
	put_number(object, "spare_percent", view->medium.spare_percent);
	return object;
}

static struct json_object *
named(const char *name)
{
	struct json_object *object = top_made(json_object_new_object());

	top_put(object, "namespace", top_made(json_object_new_string(name)));
	return object;
}

struct json_object *
top_unseen_json(const char *name, const char *why)
{
	struct json_object *object = named(name);

	top_put(object, "error", top_made(json_object_new_string(why)));
	return object;
}

struct json_object *
top_device_json(const char *name, const struct weir_view *view)
{
	struct json_object *object = named(name);

	top_put(object, "shared", top_made(json_object_new_boolean(view->shared)));
	if (view->shared)
		put_device(object, view);
	if (view->wears)
		top_put(object, "medium", medium_json(view));
	return object;
}

struct json_object *
top_own_json(const struct weir_view *view)
{
	struct json_object *object = top_made(json_object_new_object());

	put_host(object, view);
	return object;
}

struct json_object *
top_host_json(const char *nqn, const char *group, const struct weir_view *view)
{
	struct json_object *object = top_made(json_object_new_object());

	top_put(object, "host", top_made(json_object_new_string(nqn)));
	top_put(object, "group", group[0] != '\0' ? top_made(json_object_new_string(group)) : NULL);
	put_host(object, view);
	return object;
}
