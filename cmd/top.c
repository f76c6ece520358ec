/*
 * top.c - `weir top`: what goes on at namespaces that hosts share, once a second: as a host sees it, or as a target on
 * this machine tells who runs it.
 *
 * On a terminal each look is written over the one before; nothing of the terminal is set, so nothing has to be put
 * back.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cmd.h"
#include "control.h"
#include "host_options.h"
#include "look_answer.h"
#include "stop.h"
#include "top.h"

enum { URIS_MAX = 16, ROWS_MAX = 64, NAME = 320 };

struct top_options {
	struct host_options host;
	struct weir_uri uris[URIS_MAX];
	unsigned uri_count;
	const char *control; /* the target's socket, where there are no URIs; NULL: where it is by default */
	uint64_t interval_ms, count;
	bool json;
};

enum key { KEY_ONCE = 1000, KEY_JSON, KEY_CONTROL };

static const struct argp_option argp_options[] = {
	{ "interval", 'i', "TIME", 0, "from one look to the next (default 1s)", 0 },
	{ "count", 'c', "N", 0, "end after so many looks (default: when it is stopped)", 0 },
	{ "once", KEY_ONCE, NULL, 0, "look once: -c 1", 0 },
	{ "json", KEY_JSON, NULL, 0, "print one JSON object per look, in a line", 0 },
	{ "control", KEY_CONTROL, "PATH", 0, "the control socket of the target on this machine", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct top_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
	case 'i': options->interval_ms = option_duration_of(state, "-i", arg, 1, 3600000); return 0;
	case 'c': options->count = option_number_of(state, "-c", arg, 1, UINT32_MAX); return 0;
	case KEY_ONCE: options->count = 1; return 0;
	case KEY_JSON: options->json = true; return 0;
	case KEY_CONTROL: options->control = arg; return 0;
	case ARGP_KEY_ARG:
		if (options->uri_count == URIS_MAX)
			argp_error(state, "%d URIs at most", URIS_MAX);
		option_subsys_of(state, arg, &options->uris[options->uri_count++]);
		return 0;
	case ARGP_KEY_END:
		if (options->uri_count > 0 && options->control != NULL)
			argp_error(state, "as a host, by URIs, or of the target, by --control, please");
		if (options->uri_count == 0 && options->host.given)
			argp_error(state, "how to connect is said by options for URIs, of which there is none");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options, parse, "[URI...]",
	"Shows what goes on at namespaces that hosts share: all of a subsystem, nvme+tcp://HOST:PORT/SUBNQN, or one of "
	"it, nvme+tcp://HOST:PORT/SUBNQN?ns=N, as a host sees it. Without a URI: all, and all hosts, of the target on "
	"this machine.", host_options_child, NULL, NULL,
};

/* ---- looking, as a host ---- */

struct top {
	const struct top_options *options;
	struct weir_host *host;
	struct weir_subsys *subsys[URIS_MAX];
	struct json_object *namespaces; /* of the last look */
	bool more;                      /* there are others, and hosts, that it has not; */
	bool failed;                    /* or something could not be seen */
};

static void
look_at(struct top *top, unsigned subsys, uint32_t nsid)
{
	const struct weir_uri *uri = &top->options->uris[subsys];
	struct json_object *object;
	struct weir_view view;
	char name[NAME];

	snprintf(name, sizeof(name), "%s:%u/%s?ns=%" PRIu32, uri->address[0].host, uri->address[0].port, uri->subnqn,
	    nsid);
	if (weir_subsys_view(top->subsys[subsys], nsid, &view) == 0) {
		object = top_device_json(name, &view);
		if (view.known)
			top_put(object, "host", top_own_json(&view));
	} else {
		object = top_unseen_json(name, weir_error());
		top->failed = true;
	}
	top_push(top->namespaces, object);
}

/* One that is gone by now is looked at no more. */
static void
look_at_subsys(struct top *top, unsigned subsys)
{
	uint32_t nsids[ROWS_MAX + 1] = { top->options->uris[subsys].nsid };
	int count = 1;

	if (nsids[0] == 0)
		count = weir_subsys_namespaces(top->subsys[subsys], 1, nsids, ROWS_MAX + 1);
	top->failed = top->failed || count < 0;
	top->more = top->more || count > ROWS_MAX;
	for (int i = 0; i < count && i < ROWS_MAX; i++)
		look_at(top, subsys, nsids[i]);
}

static bool
reach(struct top *top)
{
	const struct top_options *options = top->options;

	top->host = host_start(&options->host);
	if (top->host == NULL)
		return false;
	for (unsigned i = 0; i < options->uri_count; i++) {
		top->subsys[i] = host_reach(top->host, &options->host, &options->uris[i]);
		if (top->subsys[i] == NULL)
			return false;
	}
	return true;
}

/* ---- looking, as who runs the target ---- */

/* False: it is not an answer. */
static bool
take_answer(struct top *top, const char *answer, size_t bytes)
{
	struct look_reader reader = { .at = answer, .left = bytes };
	struct json_object *tenants = NULL, *object;
	struct look_record record;

	for (;;) {
		if (!look_answer_next(&reader, &record))
			return false;
		if (record.kind == LOOK_HOST) {
			top_push(tenants, top_host_json(record.name, record.group, &record.view));
		} else if (record.kind == LOOK_VOLUME) {
			object = top_device_json(record.name, &record.view);
			tenants = top_made(json_object_new_array());
			top_put(object, "tenants", tenants);
			top_push(top->namespaces, object);
		} else {
			top->more = record.kind == LOOK_MORE;
			return true;
		}
	}
}

/* It may be in words: that there was no memory for it, or of another version. */
static void
say_not_understood(const char *answer, size_t bytes)
{
	char line[80], shown[4 * sizeof(line)];
	size_t length = 0;

	while (length < bytes && length < sizeof(line) - 1 && answer[length] != '\0' && answer[length] != '\n')
		length++;
	memcpy(line, answer, length);
	line[length] = '\0';
	utf8_show(line, shown, sizeof(shown));
	fprintf(stderr, "weir top: the target's answer is not understood: \"%s\"\n", shown);
}

/* False: it has been said why. */
static bool
ask_target(struct top *top)
{
	char *answer = NULL;
	size_t bytes = 0;
	int rc = control_ask(top->options->control, "look", "", 0, &answer, &bytes);
	bool taken = rc == 0 && take_answer(top, answer, bytes);

	if (rc == 1)
		fprintf(stderr, "weir top: %.*s", (int)bytes, answer);
	if (rc == 0 && !taken)
		say_not_understood(answer, bytes);
	free(answer);
	return taken;
}

static bool
look(struct top *top)
{
	bool seen = true;

	json_object_put(top->namespaces);
	top->namespaces = top_made(json_object_new_array());
	top->more = top->failed = false;
	if (top->options->uri_count == 0)
		seen = ask_target(top);
	for (unsigned i = 0; i < top->options->uri_count; i++)
		look_at_subsys(top, i);
	return seen;
}

/* ---- showing ---- */

/* Rows of the screen; as much as it has room for is shown, and each cut where it ends. */
static void
paint(const char *text, bool first)
{
	struct winsize size = { 0 };
	unsigned row = 1;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	printf("%s", first ? "\033[H\033[2J" : "\033[H");
	for (const char *line = text, *end; *line != '\0' && row < size.ws_row; line = end + 1, row++) {
		int bytes;

		end = strchrnul(line, '\n');
		bytes = (int)(end - line < size.ws_col ? end - line : size.ws_col);
		printf("%.*s\033[K\n", bytes, line);
		if (*end == '\0')
			break;
	}
	printf("\033[J");
	fflush(stdout);
}

static int
print_json(const struct top *top)
{
	struct json_object *object = top_made(json_object_new_object());
	const char *text;

	top_put(object, "time", top_made(json_object_new_int64(time(NULL))));
	top_put(object, "namespaces", json_object_get(top->namespaces));
	top_put(object, "more", top_made(json_object_new_boolean(top->more)));
	text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text != NULL)
		puts(text);
	fflush(stdout);
	json_object_put(object);
	return text != NULL ? 0 : -ENOMEM;
}

static int
show(const struct top *top, bool screen, bool first)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out;
	int rc;

	if (top->options->json)
		return print_json(top);
	out = open_memstream(&text, &bytes);
	if (out == NULL)
		return -ENOMEM;
	rc = top_print(out, top->namespaces, top->more);
	if (fclose(out) != 0)
		rc = -ENOMEM;
	if (rc == 0 && screen)
		paint(text, first);
	else if (rc == 0)
		printf("%s%s", first ? "" : "\n", text);
	fflush(stdout);
	free(text);
	return rc;
}

/* ---- the command ---- */

static void
complain(const struct top *top)
{
	for (size_t i = 0; i < json_object_array_length(top->namespaces); i++) {
		const struct json_object *one = json_object_array_get_idx(top->namespaces, i);
		struct json_object *why = json_object_object_get(one, "error");

		if (why != NULL)
			fprintf(stderr, "weir top: %s: %s\n",
			    json_object_get_string(json_object_object_get(one, "namespace")),
			    json_object_get_string(why));
	}
	if (top->more)
		fprintf(stderr, "weir top: there is more than was shown\n");
}

static int
run(struct top *top)
{
	const struct top_options *options = top->options;
	bool screen = isatty(STDOUT_FILENO) && !options->json && options->count != 1;

	stop_catch_signals();
	for (uint64_t looks = 0; looks < options->count && !stop_asked(); looks++) {
		if (looks > 0)
			(void)stop_wait(-1, (int)options->interval_ms);
		if (stop_asked())
			break;
		if (!look(top))
			return EXIT_FAILED;
		if (show(top, screen, looks == 0) != 0) {
			fprintf(stderr, "weir top: there is no memory to show it\n");
			return EXIT_FAILED;
		}
	}
	complain(top);
	return top->failed || top->more ? EXIT_LEFT : EXIT_OK;
}

int
cmd_top(int argc, char **argv)
{
	static struct top top;
	struct top_options options = { .interval_ms = 1000, .count = UINT64_MAX };
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	host_options_init(&options.host, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	top.options = &options;
	top.namespaces = top_made(json_object_new_array()); /* before the first look there are none */
	if (options.uri_count == 0 || reach(&top))
		code = run(&top);
	for (unsigned i = 0; i < options.uri_count && top.host != NULL; i++)
		weir_subsys_disconnect(top.subsys[i]);
	if (top.host != NULL)
		weir_host_destroy(top.host);
	json_object_put(top.namespaces);
	return code;
}
