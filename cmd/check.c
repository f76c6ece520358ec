/*
 * check.c - `weir check`: whether a configuration is right.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "conf/conf.h"

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	const char **path = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*path != NULL)
			argp_error(state, "one file, please; what is '%s'?", arg);
		*path = arg;
		return 0;
	case ARGP_KEY_END:
		if (*path == NULL)
			argp_error(state, "which file? - is standard input");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	NULL, parse, "FILE", "Says what is wrong with a configuration, weir.yaml(5), or that nothing is.",
	NULL, NULL, NULL,
};

static void
say_count(const char *before, uint32_t count, const char *what)
{
	printf("%s%u %s%s", before, count, what, count == 1 ? "" : "s");
}

int
cmd_check(int argc, char **argv)
{
	const char *path = NULL;
	uint32_t namespaces = 0;
	struct arena arena;
	struct conf *conf;

	argp_err_exit_status = EXIT_USAGE;
	if (!options_parse(&argp, argc, argv, &path))
		return EXIT_USAGE;
	arena_init(&arena, 0);
	if (config_read(&arena, path, &conf) != 0) {
		arena_drop(&arena);
		return EXIT_FAILED;
	}
	for (uint32_t i = 0; i < conf->subsys_count; i++)
		namespaces += conf->subsys[i].ns_count;
	printf("%s: ", config_shown(path));
	say_count("", conf->subsys_count, "subsystem");
	say_count(", ", namespaces, "namespace");
	say_count(", ", conf->listener_count, "listener");
	printf("\n");
	config_warn(conf);
	arena_drop(&arena);
	return EXIT_OK;
}
