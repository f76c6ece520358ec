/*
 * diff.c - `weir diff`: what another configuration would change.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "control.h"
#include "text.h"

/* As those of diff(1), not those of our other commands: a difference is no failure. */
enum { EXIT_SAME = 0, EXIT_DIFFERS = 1, EXIT_TROUBLE = 2 };

struct diff {
	const char *paths[2]; /* of the running target and one file: that one */
	const char *control;
	unsigned count;
};

enum { KEY_CONTROL = 1000 };

static const struct argp_option options[] = {
	{ "control", KEY_CONTROL, "PATH", 0, "the control socket of the target that FILE is held against", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct diff *diff = state->input;

	switch (key) {
	case KEY_CONTROL:
		diff->control = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (diff->count == 2)
			argp_error(state, "two files, please; what is '%s'?", arg);
		diff->paths[diff->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (diff->count == 0)
			argp_error(state, "which file? - is standard input");
		if (diff->count == 2 && diff->control != NULL)
			argp_error(state, "two files, or one and --control");
		if (diff->count == 2 && strcmp(diff->paths[0], "-") == 0 && strcmp(diff->paths[1], "-") == 0)
			argp_error(state, "standard input can be one of them, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "FILE\nOLD NEW",
	"Says what changes when a target of one configuration, weir.yaml(5), gets another: a running target FILE, "
	"or one of OLD that of NEW.", NULL, NULL, NULL,
};

static void
tell(void *arg, const struct conf_change *change)
{
	(void)arg;
	puts(change->text);
}

/* What the running target serves. */
static int
read_running(struct arena *arena, const char *control, struct conf **conf)
{
	char *text = NULL;
	size_t bytes = 0;
	int rc = control_ask(control, "config", "", 0, &text, &bytes);

	if (rc == 0)
		rc = config_parse(arena, "the running target", text, bytes, conf);
	else if (rc == 1)
		fprintf(stderr, "weir: the target does not say what it serves: %.*s", (int)bytes, text);
	free(text);
	return rc;
}

static void
print_obstacle(const char *why, int length)
{
	printf("! this cannot be applied: %.*s\n", length, why);
}

/* What it serves, or its hosts have made, may be in the way.  0: it is not, or that is said; or a negative errno. */
static int
tell_obstacle(const char *control, const struct conf *conf)
{
	char *text = NULL, *why = NULL;
	size_t bytes = 0, why_bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);
	int rc;

	if (memory != NULL)
		conf_print(conf, text_put, memory);
	rc = text_end(memory, &text);
	if (rc == 0)
		rc = control_ask(control, "fits", text, bytes, &why, &why_bytes);
	else
		fprintf(stderr, "weir: out of memory\n");
	if (rc == 1) {
		print_obstacle(why, (int)why_bytes);
		rc = 0;
	}
	free(why);
	free(text);
	return rc;
}

/* A status of ours. */
static int
compare(const struct diff *diff, const struct conf *old, const struct conf *new)
{
	int status = conf_diff(old, new, tell, NULL) > 0 ? EXIT_DIFFERS : EXIT_SAME;
	char why[256];

	if (diff->count == 2 && !conf_fits(old, new, why))
		print_obstacle(why, (int)strlen(why));
	if (diff->count == 1 && status == EXIT_DIFFERS && tell_obstacle(diff->control, new) != 0)
		return EXIT_TROUBLE;
	return status;
}

int
cmd_diff(int argc, char **argv)
{
	struct arena arenas[2];
	struct conf *confs[2];
	struct diff diff = { .count = 0 };
	int rc, status = EXIT_TROUBLE;

	argp_err_exit_status = EXIT_TROUBLE;
	if (!options_parse(&argp, argc, argv, &diff))
		return EXIT_TROUBLE;
	arena_init(&arenas[0], 0);
	arena_init(&arenas[1], 0);
	if (diff.count == 2)
		rc = config_read(&arenas[0], diff.paths[0], &confs[0]);
	else
		rc = read_running(&arenas[0], diff.control, &confs[0]);
	if (config_read(&arenas[1], diff.paths[diff.count - 1], &confs[1]) == 0 && rc == 0)
		status = compare(&diff, confs[0], confs[1]);
	arena_drop(&arenas[0]);
	arena_drop(&arenas[1]);
	return status;
}
