/*
 * apply.c - `weir apply`: a running target becomes what a configuration says.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "control.h"

struct apply {
	const char *path, *control;
};

enum { KEY_CONTROL = 1000 };

static const struct argp_option options[] = {
	{ "control", KEY_CONTROL, "PATH", 0, "the target's control socket", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct apply *apply = state->input;

	switch (key) {
	case KEY_CONTROL:
		apply->control = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (apply->path != NULL)
			argp_error(state, "one file, please; what is '%s'?", arg);
		apply->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (apply->path == NULL)
			argp_error(state, "which file? - is standard input");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "FILE",
	"Brings a running target to what a configuration, weir.yaml(5), says: whole, or not at all.", NULL, NULL, NULL,
};

int
cmd_apply(int argc, char **argv)
{
	struct apply apply = { NULL, NULL };
	char *text = NULL, *answer = NULL;
	size_t bytes = 0, answer_bytes = 0;
	struct arena arena;
	struct conf *conf;
	int rc;

	argp_err_exit_status = EXIT_USAGE;
	if (!options_parse(&argp, argc, argv, &apply))
		return EXIT_USAGE;
	/* What is wrong with it is said here, with the name of the file. */
	arena_init(&arena, 0);
	rc = config_text(apply.path, &text, &bytes);
	if (rc == 0)
		rc = config_parse(&arena, apply.path, text, bytes, &conf);
	arena_drop(&arena);
	if (rc == 0)
		rc = control_ask(apply.control, "apply", text, bytes, &answer, &answer_bytes);
	if (rc == 0 && answer_bytes == 0)
		puts("nothing has changed");
	else if (rc == 0)
		fwrite(answer, 1, answer_bytes, stdout);
	else if (rc == 1)
		fprintf(stderr, "weir: not applied, and nothing has changed: %.*s", (int)answer_bytes, answer);
	else if (rc == -EBUSY)
		fprintf(stderr, "weir: not applied, and nothing has changed\n");
	else if (rc == -ENODATA)
		fprintf(stderr, "weir: whether the configuration was applied before that is not known\n");
	free(text);
	free(answer);
	return rc == 0 ? EXIT_OK : rc == -ENODATA ? EXIT_LEFT : EXIT_FAILED;
}
