/*
 * ping.c - `weir ping`: whether a target answers, how fast, and by which paths.
 *
 * Each round asks every path on its admin queue, and the namespace on an I/O
 * queue by whichever path that takes.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hist.h"
#include "cmd.h"
#include "ends.h"
#include "stop.h"

enum { IDENTIFY_CONTROLLER = 1, IDENTIFY_BYTES = 4096, LOOK_US = 20000 };

struct ping_options {
	struct host_options host;
	const char *uri_text;
	struct weir_uri uri;
	uint64_t count, interval_ms; /* count UINT64_MAX: until it is stopped */
	bool flush, no_admin, no_io, json;
};

enum key { KEY_FLUSH = 1000, KEY_NO_ADMIN, KEY_NO_IO, KEY_JSON };

static const struct argp_option argp_options[] = {
	{ "count", 'c', "N", 0, "end after so many rounds (default: when it is stopped)", 0 },
	{ "interval", 'i', "TIME", 0, "from one round to the next (default 1s)", 0 },
	{ "flush", KEY_FLUSH, NULL, 0, "on the I/O queue a flush, not a read of the first block", 0 },
	{ "no-admin", KEY_NO_ADMIN, NULL, 0, "only the I/O queue", 0 },
	{ "no-io", KEY_NO_IO, NULL, 0, "only the admin queue", 0 },
	{ "json", KEY_JSON, NULL, 0, "print one JSON object per line, the last with the summary", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct ping_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
	case 'c': options->count = option_number_of(state, "-c", arg, 1, UINT32_MAX); return 0;
	case 'i': options->interval_ms = option_duration_of(state, "-i", arg, 1, 3600000); return 0;
	case KEY_FLUSH: options->flush = true; return 0;
	case KEY_NO_ADMIN: options->no_admin = true; return 0;
	case KEY_NO_IO: options->no_io = true; return 0;
	case KEY_JSON: options->json = true; return 0;
	case ARGP_KEY_ARG:
		if (options->uri_text != NULL)
			argp_error(state, "one URI, please; what is '%s'?", arg);
		options->uri_text = arg;
		option_subsys_of(state, arg, &options->uri);
		return 0;
	case ARGP_KEY_END:
		if (options->uri_text == NULL)
			argp_error(state, "whom? nvme+tcp://HOST:PORT/SUBNQN");
		if (options->no_admin && options->no_io)
			argp_error(state, "--no-admin and --no-io leave nothing to ask");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options, parse, "URI",
	"Asks a subsystem, nvme+tcp://HOST:PORT/SUBNQN, something small again and again, and says how long the answers "
	"take.", host_options_child, NULL, NULL,
};

/* ---- what is measured ---- */

struct side {
	const char *name;
	uint64_t sent, answered;
	struct hist hist; /* ns */
};

struct ping {
	const struct ping_options *options;
	struct volume volume;
	struct flag begun;    /* set once; the library's thread looks at it */
	struct iovec block;   /* where reads go */
	struct side admin, io;
	uint64_t asked_ns;    /* since when the I/O in flight waits */
	bool in_flight, io_done;
	struct weir_result result;
	char line[1024];      /* of this round */
	size_t length;
	struct json_object *object;
};

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Rounded up. */
static int
milliseconds(uint64_t ns)
{
	return (int)((ns + 999999) / 1000000);
}

static double
ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void __attribute__((format(printf, 2, 3)))
add(struct ping *ping, const char *format, ...)
{
	va_list args;

	if (ping->length >= sizeof(ping->line))
		return;
	va_start(args, format);
	ping->length += (size_t)vsnprintf(ping->line + ping->length, sizeof(ping->line) - ping->length, format, args);
	va_end(args);
}

static void
put(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(object);
}

static struct json_object *
microseconds(uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", (double)ns / 1e3);
	return json_object_new_double_s((double)ns / 1e3, text);
}

/* ---- paths that come and go; from the library's thread ---- */

static const char *
event_name(enum weir_event_kind kind)
{
	switch (kind) {
	case WEIR_EVENT_PATH_UP: return "path_up";
	case WEIR_EVENT_PATH_LOST: return "path_lost";
	case WEIR_EVENT_ALL_LOST: return "all_lost";
	case WEIR_EVENT_GIVEN_UP: return "given_up";
	case WEIR_EVENT_ANA: return "ana";
	case WEIR_EVENT_NAMESPACE: return "namespace";
	case WEIR_EVENT_HEALTH: return "health";
	case WEIR_EVENT_PATH_REFUSED: return "path_refused";
	case WEIR_EVENT_CACHE_LOST: return "cache_lost";
	}
	return "unknown";
}

static void
say_event(const struct weir_subsys *subsys, const struct weir_event *event)
{
	struct weir_path_info paths[WEIR_PATHS_MAX] = { 0 };
	const struct weir_address *address = &paths[event->path].address;
	const char *why = event->why != NULL ? event->why : "", *colon = why[0] != '\0' ? ": " : "";

	(void)weir_subsys_paths(subsys, paths, WEIR_PATHS_MAX);
	switch (event->kind) {
	case WEIR_EVENT_PATH_UP: printf("%s:%u is back\n", address->host, address->port); return;
	case WEIR_EVENT_PATH_LOST: printf("%s:%u is lost%s%s\n", address->host, address->port, colon, why); return;
	case WEIR_EVENT_ALL_LOST: printf("no path is left%s%s\n", colon, why); return;
	case WEIR_EVENT_GIVEN_UP: printf("no path for too long: I/O fails until one is back\n"); return;
	case WEIR_EVENT_ANA: printf("%s:%u: ANA states have changed\n", address->host, address->port); return;
	case WEIR_EVENT_NAMESPACE: printf("namespace %" PRIu32 " has changed\n", event->nsid); return;
	case WEIR_EVENT_HEALTH: printf("%s:%u has logged something: weir id --log smart, --log error\n", address->host,
	    address->port); return;
	case WEIR_EVENT_PATH_REFUSED: printf("%s:%u is not tried again%s%s\n", address->host, address->port, colon,
	    why); return;
	case WEIR_EVENT_CACHE_LOST: printf("namespace %" PRIu32 "%s%s\n", event->nsid, colon, why); return;
	}
}

/* What happens while we connect is nothing to be told. */
static void
heard(void *arg, const struct weir_event *event)
{
	const struct ping *ping = arg;
	struct json_object *object;

	if (!flag_is_set(&ping->begun))
		return;
	if (!ping->options->json) {
		say_event(ping->volume.subsys, event);
		fflush(stdout);
		return;
	}
	object = json_object_new_object();
	json_object_object_add(object, "event", json_object_new_string(event_name(event->kind)));
	json_object_object_add(object, "path", json_object_new_int((int)event->path));
	json_object_object_add(object, "why", json_object_new_string(event->why != NULL ? event->why : ""));
	put(object);
}

/* ---- a round ---- */

/* NULL, and how long it took; or why there was no answer. */
static const char *
ask_path(struct ping *ping, int index, const struct weir_path_info *path, uint64_t *ns)
{
	uint8_t page[IDENTIFY_BYTES];
	uint64_t began_ns = now_ns();

	if (path->state != WEIR_PATH_LIVE)
		return path->why[0] != '\0' ? path->why : "not connected";
	if (weir_subsys_identify(ping->volume.subsys, index, IDENTIFY_CONTROLLER, 0, 0, page) < 0)
		return weir_error();
	*ns = now_ns() - began_ns;
	return NULL;
}

static void
admin_round(struct ping *ping, struct json_object *list)
{
	struct weir_path_info paths[WEIR_PATHS_MAX];
	unsigned count = weir_subsys_paths(ping->volume.subsys, paths, WEIR_PATHS_MAX);

	add(ping, "%s ", ping->admin.name);
	for (unsigned i = 0; i < count && i < WEIR_PATHS_MAX; i++) {
		struct json_object *object = json_object_new_object();
		uint64_t ns = 0;
		const char *why = ask_path(ping, (int)i, &paths[i], &ns);

		ping->admin.sent++;
		json_object_object_add(object, "path", json_object_new_int((int)i));
		if (why == NULL) {
			ping->admin.answered++;
			hist_add(&ping->admin.hist, ns);
			add(ping, "%s%.3f ms", i > 0 ? ", " : "", ms(ns));
			json_object_object_add(object, "us", microseconds(ns));
		} else {
			add(ping, "%s%s", i > 0 ? ", " : "", paths[i].state == WEIR_PATH_LIVE ? "no answer" :
			    "not connected");
			json_object_object_add(object, "error", json_object_new_string(why));
		}
		if (count > 1)
			add(ping, " (%s:%u)", paths[i].address.host, paths[i].address.port);
		json_object_array_add(list, object);
	}
}

static void
io_done(void *arg, const struct weir_result *result)
{
	struct ping *ping = arg;

	ping->result = *result;
	ping->io_done = true;
}

static int
submit(struct ping *ping)
{
	const struct weir_namespace *ns = &ping->volume.ns;
	struct weir_io io = {
		.op = WEIR_OP_READ, .nsid = ns->nsid, .blocks = 1, .iov = &ping->block, .iov_count = 1, .done = io_done,
		.arg = ping,
	};

	if (ping->options->flush)
		io = (struct weir_io) { .op = WEIR_OP_FLUSH, .nsid = ns->nsid, .done = io_done, .arg = ping };
	ping->asked_ns = now_ns();
	ping->io_done = false;
	ping->in_flight = true;
	ping->io.sent++;
	return weir_queue_submit(ping->volume.queue, &io);
}

static void
wait_for_io(struct ping *ping, uint64_t until_ns)
{
	while (!ping->io_done && !stop_asked()) {
		uint64_t now = now_ns();

		if (weir_queue_poll(ping->volume.queue, LOOK_US) > 0)
			continue;
		if (now >= until_ns)
			return;
		while (weir_queue_poll(ping->volume.queue, 0) > 0)
			;
		stop_wait(weir_queue_fd(ping->volume.queue), milliseconds(until_ns - now));
	}
}

/* One that is still waited for is not asked once more. */
static void
io_round(struct ping *ping, uint64_t until_ns)
{
	const char *name = ping->io.name;
	const char *why = NULL;
	uint64_t ns;

	if (!ping->in_flight && submit(ping) < 0)
		why = weir_error();
	else
		wait_for_io(ping, until_ns);
	ns = now_ns() - ping->asked_ns;
	if (why == NULL && !ping->io_done) {
		add(ping, "%s no answer for %.1f s", name, ms(ns) / 1000);
		json_object_object_add(ping->object, "waiting_us", microseconds(ns));
		return;
	}
	ping->in_flight = false;
	if (why == NULL && ping->result.error < 0)
		why = weir_result_text(&ping->result);
	if (why != NULL) {
		add(ping, "%s failed: %s", name, why);
		json_object_object_add(ping->object, "error", json_object_new_string(why));
		return;
	}
	ping->io.answered++;
	hist_add(&ping->io.hist, ns);
	add(ping, "%s %.3f ms", name, ms(ns));
	json_object_object_add(ping->object, "us", microseconds(ns));
}

static void
round_of(struct ping *ping, uint64_t number, uint64_t until_ns)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();

	ping->length = 0;
	ping->object = json_object_new_object();
	add(ping, "%" PRIu64 ": ", number);
	if (!ping->options->no_admin)
		admin_round(ping, list);
	if (!ping->options->no_admin && !ping->options->no_io)
		add(ping, "; ");
	if (!ping->options->no_io)
		io_round(ping, until_ns);
	json_object_object_add(object, "seq", json_object_new_uint64(number));
	json_object_object_add(object, "admin", list);
	json_object_object_add(object, "io", ping->object);
	if (ping->options->json) {
		put(object);
		return;
	}
	puts(ping->line);
	fflush(stdout);
	json_object_put(object);
}

/* ---- the summary ---- */

static struct json_object *
json_side(const struct side *side)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "sent", json_object_new_uint64(side->sent));
	json_object_object_add(object, "answered", json_object_new_uint64(side->answered));
	if (side->answered == 0)
		return object;
	json_object_object_add(object, "min_us", microseconds(side->hist.min));
	json_object_object_add(object, "avg_us", microseconds(side->hist.sum / side->hist.count));
	json_object_object_add(object, "p99_us", microseconds(hist_quantile(&side->hist, 990000)));
	json_object_object_add(object, "max_us", microseconds(side->hist.max));
	return object;
}

static void
print_side(const struct side *side)
{
	if (side->sent == 0)
		return;
	printf("%s: %" PRIu64 " of %" PRIu64 " answered", side->name, side->answered, side->sent);
	if (side->answered > 0)
		printf("; min %.3f, avg %.3f, p99 %.3f, max %.3f ms", ms(side->hist.min),
		    ms(side->hist.sum / side->hist.count), ms(hist_quantile(&side->hist, 990000)), ms(side->hist.max));
	printf("\n");
}

static void
summary(const struct ping *ping)
{
	struct json_object *object;

	if (!ping->options->json) {
		printf("\n");
		print_side(&ping->admin);
		print_side(&ping->io);
		return;
	}
	object = json_object_new_object();
	json_object_object_add(object, "admin", json_side(&ping->admin));
	json_object_object_add(object, "io", json_side(&ping->io));
	put(object);
}

/* ---- all of it ---- */

static int
open_target(struct ping *ping, struct weir_host *host)
{
	const struct ping_options *options = ping->options;

	if (options->no_io) {
		ping->volume.subsys = host_reach(host, &options->host, &options->uri);
		return ping->volume.subsys != NULL ? 0 : -1;
	}
	if (volume_open(&ping->volume, host, &options->host, &options->uri, 1) < 0)
		return -1;
	ping->block = (struct iovec) { malloc(ping->volume.ns.block_size), ping->volume.ns.block_size };
	if (ping->block.iov_base != NULL)
		return 0;
	fprintf(stderr, "weir: no memory for a block\n");
	return -1;
}

static void
rounds(struct ping *ping)
{
	uint64_t interval_ns = ping->options->interval_ms * 1000000, next_ns = now_ns();

	for (uint64_t i = 1; i <= ping->options->count && !stop_asked(); i++) {
		uint64_t now;

		next_ns += interval_ns;
		round_of(ping, i, next_ns);
		now = now_ns();
		if (i < ping->options->count && now < next_ns)
			stop_wait(-1, milliseconds(next_ns - now));
		next_ns = now > next_ns ? now : next_ns;
	}
}

int
cmd_ping(int argc, char **argv)
{
	struct ping_options options = { .count = UINT64_MAX, .interval_ms = 1000 };
	struct ping ping = { .options = &options, .admin.name = "identify", .io.name = "read" };
	struct weir_host *host;
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	host_options_init(&options.host, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	ping.io.name = options.flush ? "flush" : "read";
	hist_init(&ping.admin.hist);
	hist_init(&ping.io.hist);
	options.host.subsys.event = heard;
	options.host.subsys.event_arg = &ping;
	host = host_start(&options.host);
	if (host == NULL)
		return EXIT_FAILED;
	if (open_target(&ping, host) == 0) {
		stop_catch_signals();
		flag_set(&options.host.own_words, true);
		flag_set(&ping.begun, true);
		rounds(&ping);
		summary(&ping);
		code = ping.admin.answered + ping.io.answered > 0 ? EXIT_OK : EXIT_FAILED;
	}
	volume_close(&ping.volume);
	weir_host_destroy(host);
	free(ping.block.iov_base);
	return code;
}
