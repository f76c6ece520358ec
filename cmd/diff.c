/*
 * diff.c - `weir diff`: what another configuration would change.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "conf/diff.h"

/* As those of diff(1), not those of our other commands: a difference is no failure. */
enum { EXIT_SAME = 0, EXIT_DIFFERS = 1, EXIT_TROUBLE = 2 };

struct diff {
	const char *paths[2];
	unsigned count;
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct diff *diff = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (diff->count == 2)
			argp_error(state, "two files, please; what is '%s'?", arg);
		diff->paths[diff->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (diff->count < 2)
			argp_error(state, "which files? - is standard input");
		if (strcmp(diff->paths[0], "-") == 0 && strcmp(diff->paths[1], "-") == 0)
			argp_error(state, "standard input can be one of them, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	NULL, parse, "OLD NEW", "Says what changes when a target of one configuration, weir.yaml(5), gets another.",
	NULL, NULL, NULL,
};

static void
tell(void *arg, const struct conf_change *change)
{
	(void)arg;
	puts(change->text);
}

int
cmd_diff(int argc, char **argv)
{
	struct arena arenas[2];
	struct conf *confs[2];
	struct diff diff = { .count = 0 };
	int status = EXIT_SAME;

	argp_err_exit_status = EXIT_TROUBLE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &diff) != 0)
		return EXIT_TROUBLE;
	for (unsigned i = 0; i < 2; i++) {
		arena_init(&arenas[i], 0);
		if (config_read(&arenas[i], diff.paths[i], &confs[i]) != 0)
			status = EXIT_TROUBLE;
	}
	if (status == EXIT_SAME && conf_diff(confs[0], confs[1], tell, NULL) > 0)
		status = EXIT_DIFFERS;
	for (unsigned i = 0; i < 2; i++)
		arena_drop(&arenas[i]);
	return status;
}
