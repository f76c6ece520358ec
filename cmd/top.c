/*
 * top.c - `weir top`: what goes on at namespaces that hosts share, once a second.
 *
 * On a terminal each look is written over the one before; nothing of the terminal is set, so nothing has to be put
 * back.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "host_options.h"
#include "stop.h"
#include "top.h"

enum { URIS_MAX = 16, ROWS_MAX = 64 };

struct top_options {
	struct host_options host;
	struct weir_uri uris[URIS_MAX];
	unsigned uri_count;
	uint64_t interval_ms, count;
	bool json;
};

enum key { KEY_ONCE = 1000, KEY_JSON };

static const struct argp_option argp_options[] = {
	{ "interval", 'i', "TIME", 0, "from one look to the next (default 1s)", 0 },
	{ "count", 'c', "N", 0, "end after so many looks (default: when it is stopped)", 0 },
	{ "once", KEY_ONCE, NULL, 0, "look once: -c 1", 0 },
	{ "json", KEY_JSON, NULL, 0, "print one JSON object per look, in a line", 0 },
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
	case ARGP_KEY_ARG:
		if (options->uri_count == URIS_MAX)
			argp_error(state, "%d URIs at most", URIS_MAX);
		option_subsys_of(state, arg, &options->uris[options->uri_count++]);
		return 0;
	case ARGP_KEY_END:
		if (options->uri_count == 0)
			argp_error(state, "of whom? nvme+tcp://HOST:PORT/SUBNQN");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options, parse, "URI...",
	"Shows what goes on at namespaces that hosts share: all of a subsystem, nvme+tcp://HOST:PORT/SUBNQN, or one of "
	"it, nvme+tcp://HOST:PORT/SUBNQN?ns=N.", host_options_child, NULL, NULL,
};

/* ---- looking ---- */

struct top {
	const struct top_options *options;
	struct weir_host *host;
	struct weir_subsys *subsys[URIS_MAX];
	struct top_row rows[ROWS_MAX];
	unsigned count;
	bool failed;          /* something could not be seen */
};

static void
look_at(struct top *top, unsigned subsys, uint32_t nsid)
{
	struct top_row *row = &top->rows[top->count++];
	const struct weir_uri *uri = &top->options->uris[subsys];

	snprintf(row->name, sizeof(row->name), "%s:%u/%s?ns=%" PRIu32, uri->address[0].host, uri->address[0].port,
	    uri->subnqn, nsid);
	row->why[0] = '\0';
	if (weir_subsys_view(top->subsys[subsys], nsid, &row->view) == 0)
		return;
	snprintf(row->why, sizeof(row->why), "%s", weir_error());
	top->failed = true;
}

/* One that is gone by now is looked at no more. */
static void
look_at_subsys(struct top *top, unsigned subsys)
{
	uint32_t nsids[ROWS_MAX] = { top->options->uris[subsys].nsid };
	int count = 1;

	if (nsids[0] == 0)
		count = weir_subsys_namespaces(top->subsys[subsys], 1, nsids, ROWS_MAX);
	top->failed = top->failed || count < 0;
	for (int i = 0; i < count && top->count < ROWS_MAX; i++)
		look_at(top, subsys, nsids[i]);
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
show(const struct top *top, bool screen, bool first)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out;
	int rc;

	if (top->options->json) {
		top_print_json(top->rows, top->count);
		return 0;
	}
	out = open_memstream(&text, &bytes);
	if (out == NULL)
		return -ENOMEM;
	rc = top_print(out, top->rows, top->count);
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
	for (unsigned i = 0; i < top->count; i++)
		if (top->rows[i].why[0] != '\0')
			fprintf(stderr, "weir top: %s: %s\n", top->rows[i].name, top->rows[i].why);
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
		top->count = 0;
		top->failed = false;
		for (unsigned i = 0; i < options->uri_count; i++)
			look_at_subsys(top, i);
		if (show(top, screen, looks == 0) != 0) {
			fprintf(stderr, "weir top: there is no memory to show it\n");
			return EXIT_FAILED;
		}
	}
	complain(top);
	return top->failed ? EXIT_LEFT : EXIT_OK;
}

int
cmd_top(int argc, char **argv)
{
	static struct top top;
	struct top_options options = { .interval_ms = 1000, .count = UINT64_MAX };
	int code = EXIT_FAILED;
	bool reached = true;

	argp_err_exit_status = EXIT_USAGE;
	host_options_init(&options.host, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	top.options = &options;
	top.host = host_start(&options.host);
	if (top.host == NULL)
		return EXIT_FAILED;
	for (unsigned i = 0; i < options.uri_count && reached; i++) {
		top.subsys[i] = host_reach(top.host, &options.host, &options.uris[i]);
		reached = top.subsys[i] != NULL;
	}
	if (reached)
		code = run(&top);
	for (unsigned i = 0; i < options.uri_count; i++)
		weir_subsys_disconnect(top.subsys[i]);
	weir_host_destroy(top.host);
	return code;
}
