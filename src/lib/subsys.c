/*
 * subsys.c - a subsystem's beginning and end, its paths, and what happens to it (weir/subsys.h).
 *
 * It translates, and waits for the service thread; what paths do is known in
 * host/subsys.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

enum {
	QUEUES = 16, KATO_MS = 5000, CONNECT_MS = 10000, IO_TIMEOUT_MS = 30000, RECONNECT_MS = 50,
	RECONNECT_MAX_MS = 5000, LOSS_MS = 60000, FENCE_MARGIN_MS = 1000,
};

static_assert((int)WEIR_ROUND_ROBIN == SUBSYS_ROUND_ROBIN && (int)WEIR_QUEUE_DEPTH == SUBSYS_QUEUE_DEPTH, "policies");
static_assert((int)WEIR_EVENT_PATH_UP == SUBSYS_PATH_UP && (int)WEIR_EVENT_PATH_LOST == SUBSYS_PATH_LOST &&
    (int)WEIR_EVENT_ALL_LOST == SUBSYS_ALL_LOST && (int)WEIR_EVENT_GIVEN_UP == SUBSYS_GIVEN_UP &&
    (int)WEIR_EVENT_ANA == SUBSYS_ANA && (int)WEIR_EVENT_NAMESPACE == SUBSYS_NAMESPACE &&
    (int)WEIR_EVENT_HEALTH == SUBSYS_HEALTH && (int)WEIR_EVENT_CACHE_LOST == SUBSYS_CACHE_LOST, "events");
static_assert((int)WEIR_PATH_CONNECTING == PATH_CONNECTING && (int)WEIR_PATH_LIVE == PATH_LIVE &&
    (int)WEIR_PATH_WAITING == PATH_WAITING && (int)WEIR_PATH_REFUSED == PATH_REFUSED, "path states");
static_assert((int)WEIR_PATHS_MAX == SUBSYS_PATHS_MAX, "paths");

/* ---- events ---- */

static void
log_event(struct weir_subsys *ws, const struct subsys_event *event, const struct subsys_path *path)
{
	const char *why = event->why != NULL ? event->why : "";
	struct address_text text = address_text(path->address.host, path->address.port);
	const char *at = text.text;

	switch (event->kind) {
	case SUBSYS_PATH_UP: /* who was told that it is lost is told that it is back */
		host_log(ws->host, path->losses > 0 ? WEIR_LOG_WARNING : WEIR_LOG_INFO, "%s: the path by %s is %s",
		    ws->nqn, at, path->losses > 0 ? "back" : "up");
		return;
	case SUBSYS_PATH_LOST:
		host_log(ws->host, WEIR_LOG_WARNING, "%s: the path by %s is lost: %s", ws->nqn, at, why);
		return;
	case SUBSYS_PATH_REFUSED:
		host_log(ws->host, WEIR_LOG_ERROR, "%s: the path by %s is not tried again: %s", ws->nqn, at, why);
		return;
	case SUBSYS_ALL_LOST:
		host_log(ws->host, WEIR_LOG_WARNING, "%s: no path is left, I/O waits", ws->nqn);
		return;
	case SUBSYS_GIVEN_UP:
		host_log(ws->host, WEIR_LOG_ERROR, "%s: no path has come back, I/O fails", ws->nqn);
		return;
	case SUBSYS_ANA:
		host_log(ws->host, WEIR_LOG_INFO, "%s: ANA states of the path by %s have changed", ws->nqn, at);
		return;
	case SUBSYS_NAMESPACE:
		if (why[0] != '\0')
			host_log(ws->host, WEIR_LOG_WARNING, "%s: namespace %u by %s: %s", ws->nqn, event->nsid, at,
			    why);
		else
			host_log(ws->host, WEIR_LOG_INFO, "%s: namespace %u has changed", ws->nqn, event->nsid);
		return;
	case SUBSYS_HEALTH:
		host_log(ws->host, WEIR_LOG_WARNING, "%s: the target reports on its health: %08" PRIx32, ws->nqn,
		    event->dw0);
		return;
	case SUBSYS_CACHE_LOST:
		host_log(ws->host, WEIR_LOG_ERROR, "%s: namespace %u: %s", ws->nqn, event->nsid, why);
		return;
	}
}

static void
on_event(struct subsys *subsys, const struct subsys_event *event)
{
	struct weir_subsys *ws = subsys_owner(subsys);
	const struct weir_event told = {
		(enum weir_event_kind)event->kind, event->path, event->nsid, event->dw0,
		event->why != NULL ? event->why : "",
	};
	struct subsys_path path;

	subsys_path_get(subsys, event->path, &path);
	if (event->kind == SUBSYS_NAMESPACE) {
		pthread_mutex_lock(&ws->host->lock);
		ws->changes++;
		pthread_mutex_unlock(&ws->host->lock);
	}
	log_event(ws, event, &path);
	if (ws->event != NULL)
		ws->event(ws->event_arg, &told);
}

/* ---- connecting ---- */

struct connecting {
	struct call call;
	struct weir_subsys *ws;
	struct subsys_options options;
	struct subsys_address address[WEIR_PATHS_MAX];
	int addresses;
};

static void
closed(void *owner)
{
	struct weir_subsys *ws = owner;

	call_over(ws->connecting);
}

/* What each path says of itself: "10.0.0.7:4420: Connection refused; ...". */
static void
say_why(struct subsys *subsys, char *text, size_t bytes)
{
	size_t at = 0;

	for (unsigned i = 0; i < subsys_path_count(subsys) && at < bytes; i++) {
		struct subsys_path path;

		subsys_path_get(subsys, i, &path);
		at += (size_t)snprintf(text + at, bytes - at, "%s%s: %s", i > 0 ? "; " : "",
		    address_text(path.address.host, path.address.port).text, path.why);
	}
}

static void
on_ready(struct subsys *subsys, int error, const char *why)
{
	struct weir_subsys *ws = subsys_owner(subsys);
	char whys[sizeof(ws->connecting->why)];

	if (error == 0) {
		call_over(ws->connecting);
		return;
	}
	say_why(subsys, whys, sizeof(whys));
	call_says(ws->connecting, error, "%s", whys);
	subsys_close(subsys, closed);
}

static void
run_connect(struct call *call)
{
	struct connecting *c = container_of(call, struct connecting, call);
	int rc;

	c->ws->connecting = call;
	rc = subsys_open(host_reactor(call->host), &c->options, c->address, (unsigned)c->addresses, &c->ws->subsys);
	if (rc == 0)
		return;
	call_says(call, rc, "there is no memory for a subsystem");
	call_over(call);
}

static uint16_t
queues_of(const struct weir_subsys_options *options)
{
	return (uint16_t)options_or(options->queues, QUEUES);
}

static void
fill_options(const struct weir_host *host, const struct weir_uri *uri, const struct weir_subsys_options *given,
    struct weir_subsys *ws, struct subsys_options *options)
{
	*options = (struct subsys_options){
		.policy = (enum subsys_policy)given->policy,
		.hdgst = given->hdgst,
		.ddgst = given->ddgst,
		.sq_flow = given->sq_flow,
		.plain = given->plain,
		.queues = queues_of(given),
		.cntlid = given->cntlid,
		.kato_ms = options_or(given->kato_ms, KATO_MS),
		.connect_ms = ws->connect_ms,
		.io_timeout_ms = options_or(given->io_timeout_ms, IO_TIMEOUT_MS),
		.reconnect_ms = options_or(given->reconnect_ms, RECONNECT_MS),
		.reconnect_max_ms = options_or(given->reconnect_max_ms, RECONNECT_MAX_MS),
		.loss_ms = options_or(given->loss_ms, LOSS_MS),
		.fence_margin_ms = options_or(given->fence_margin_ms, FENCE_MARGIN_MS),
		.ready = on_ready,
		.event = on_event,
		.owner = ws,
	};
	memcpy(options->subnqn, ws->nqn, sizeof(ws->nqn));
	identity_of_uri(host, uri, options->hostnqn, options->hostid);
}

static int
check_options(const struct weir_subsys_options *options)
{
	if (options->policy != WEIR_ROUND_ROBIN && options->policy != WEIR_QUEUE_DEPTH)
		return lib_fail(-EINVAL, "policy %d is none", (int)options->policy);
	if (options->queues > SUBSYS_LANES_MAX)
		return lib_fail(-EINVAL, "queues is %u; it is %d at most", options->queues, SUBSYS_LANES_MAX);
	if (options->cntlid > NVME_CNTLID_MAX && options->cntlid != NVME_CNTLID_STATIC)
		return lib_fail(-EINVAL, "no controller can have the number %u", options->cntlid);
	if (options_or(options->reconnect_max_ms, RECONNECT_MAX_MS) < options_or(options->reconnect_ms, RECONNECT_MS))
		return lib_fail(-EINVAL, "reconnect_max_ms is less than reconnect_ms");
	return 0;
}

static void
unlist(struct weir_subsys *ws)
{
	pthread_mutex_lock(&ws->host->lock);
	list_remove(&ws->node);
	pthread_mutex_unlock(&ws->host->lock);
}

/* The subsystem as the library knows it, in the host's list. */
static struct weir_subsys *
subsys_make(struct weir_host *host, const struct weir_uri *uri, const struct weir_subsys_options *options)
{
	struct weir_subsys *ws = calloc(1, sizeof(*ws));

	if (ws == NULL)
		return NULL;
	ws->host = host;
	ws->connect_ms = options_or(options->connect_ms, CONNECT_MS);
	ws->event = options->event;
	ws->event_arg = options->event_arg;
	snprintf(ws->nqn, sizeof(ws->nqn), "%s", uri->subnqn);
	list_init(&ws->queues);
	return ws;
}

static int
subsys_join(struct weir_subsys *ws, const struct weir_uri *uri, const struct weir_subsys_options *options)
{
	struct connecting c = { .ws = ws };
	int rc;

	c.addresses = resolve_all(ws->host, uri, ws->connect_ms, c.address);
	if (c.addresses < 0)
		return c.addresses;
	fill_options(ws->host, uri, options, ws, &c.options);
	rc = call_make(ws->host, &c.call, run_connect);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&ws->host->lock);
	list_push(&ws->host->subsystems, &ws->node);
	pthread_mutex_unlock(&ws->host->lock);
	return 0;
}

int
weir_subsys_connect(struct weir_host *host, const char *text, const struct weir_subsys_options *given,
    struct weir_subsys **out)
{
	struct weir_subsys_options options;
	struct weir_uri uri;
	struct weir_subsys *ws;
	struct weir_namespace ns;
	int rc = OPTIONS_TAKE(&options, given);

	if (rc == 0)
		rc = weir_uri_parse(text, &uri);
	if (rc == 0)
		rc = check_options(&options);
	if (rc != 0)
		return rc;
	if (uri.subnqn[0] == '\0')
		return lib_fail(-EINVAL, "%s: it names no subsystem", text);
	ws = subsys_make(host, &uri, &options);
	if (ws == NULL)
		return lib_fail(-ENOMEM, "there is no memory for a subsystem");
	rc = subsys_join(ws, &uri, &options);
	if (rc != 0) {
		free(ws);
		return rc;
	}
	rc = uri.nsid != 0 ? weir_subsys_namespace(ws, uri.nsid, &ns) : 0;
	if (rc != 0) {
		char why[256];

		snprintf(why, sizeof(why), "%s", weir_error());
		weir_subsys_disconnect(ws);
		return lib_fail(rc, "%s: %s", text, why);
	}
	*out = ws;
	return 0;
}

/* ---- the end ---- */

struct ending {
	struct call call;
	struct weir_subsys *ws;
};

static void
run_close(struct call *call)
{
	struct weir_subsys *ws = container_of(call, struct ending, call)->ws;

	ws->connecting = call;
	subsys_close(ws->subsys, closed);
}

void
weir_subsys_disconnect(struct weir_subsys *ws)
{
	struct ending ending = { .ws = ws };

	if (ws == NULL)
		return;
	assert(!host_is_service(ws->host));
	assert(list_empty(&ws->queues));
	unlist(ws);
	(void)call_make(ws->host, &ending.call, run_close);
	free(ws);
}

const char *
weir_subsys_nqn(const struct weir_subsys *ws)
{
	return ws->nqn;
}

/* ---- paths ---- */

struct adding {
	struct call call;
	struct weir_subsys *ws;
	struct subsys_address address;
};

static void
run_add(struct call *call)
{
	struct adding *a = container_of(call, struct adding, call);
	int rc = subsys_add_path(a->ws->subsys, &a->address);

	if (rc == -ENOSPC)
		call_says(call, rc, "%s has %d paths, as many as can be", a->ws->nqn, WEIR_PATHS_MAX);
	else if (rc == -EEXIST)
		call_says(call, rc, "%s has a path by %s", a->ws->nqn,
		    address_text(a->address.host, a->address.port).text);
	else if (rc != 0)
		call_says(call, rc, "%s: %s", a->address.host, strerror(-rc));
	call_over(call);
}

int
weir_subsys_add_path(struct weir_subsys *ws, const char *host, uint16_t port)
{
	struct adding adding = { .ws = ws };
	struct weir_address address = { .port = port };
	int rc;

	if (port == 0 || strlen(host) >= sizeof(address.host))
		return lib_fail(-EINVAL, port == 0 ? "port 0 is none" : "the name is too long");
	snprintf(address.host, sizeof(address.host), "%s", host);
	rc = resolve(&address, ws->connect_ms, &adding.address);
	return rc != 0 ? rc : call_make(ws->host, &adding.call, run_add);
}

struct listing {
	struct call call;
	const struct weir_subsys *ws;
	struct weir_path_info *paths;
	unsigned max, count;
};

static void
list_paths(struct listing *l)
{
	l->count = subsys_path_count(l->ws->subsys);
	for (unsigned i = 0; i < l->count && i < l->max; i++) {
		struct weir_path_info *to = &l->paths[i];
		struct subsys_path path;

		subsys_path_get(l->ws->subsys, i, &path);
		*to = (struct weir_path_info){
			.state = path.state == PATH_CLOSED ? WEIR_PATH_WAITING : (enum weir_path_state)path.state,
			.address = { .port = path.address.port },
			.cntlid = path.cntlid,
			.queues = path.queues,
			.fences = path.fences,
			.associations = path.associations,
			.losses = path.losses,
		};
		snprintf(to->address.host, sizeof(to->address.host), "%s", path.address.host);
		snprintf(to->why, sizeof(to->why), "%s", path.why);
	}
}

static void
run_list(struct call *call)
{
	list_paths(container_of(call, struct listing, call));
	call_over(call);
}

unsigned
weir_subsys_paths(const struct weir_subsys *ws, struct weir_path_info *paths, unsigned max)
{
	struct listing listing = { .ws = ws, .paths = paths, .max = max };

	if (host_is_service(ws->host))
		list_paths(&listing);
	else
		(void)call_make(ws->host, &listing.call, run_list);
	return listing.count;
}
