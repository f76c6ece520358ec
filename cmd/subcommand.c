#include "subcommand.h"

#include <argp.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "conf/tree.h"

/* Only where there is no command, or an option before it. */
static error_t
parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		argp_error(state, "options come behind the command: what is '%s'?", arg);
		return 0;
	case ARGP_KEY_END:
		argp_error(state, "which command? --help says which there are");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int
run(const char *command, const struct subcommand *one, int argc, char **argv)
{
	char name[48];

	snprintf(name, sizeof(name), "weir %s %s", command, one->name);
	argv[0] = name;
	return one->run(argc, argv);
}

static int
unknown(const char *command, const char *word, const struct subcommand *list, unsigned count)
{
	const char *names[SUBCOMMANDS_MAX] = { NULL };
	unsigned meant;

	for (unsigned i = 0; i < count; i++)
		names[i] = list[i].name;
	meant = nearest(word, names, count);
	fprintf(stderr, "weir %s: there is no command '%s'; ", command, word);
	if (meant < count)
		fprintf(stderr, "'%s' is meant?\n", names[meant]);
	else
		fprintf(stderr, "there is %s\n", wordlist(names, count).text);
	return EXIT_USAGE;
}

int
subcommand_run(const char *command, const char *doc, const struct subcommand *list, unsigned count, int argc,
    char **argv)
{
	const struct argp argp = { NULL, parse, "COMMAND [OPTION...]", doc, NULL, NULL, NULL };

	assert(count <= SUBCOMMANDS_MAX);
	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2 || argv[1][0] == '-')
		return options_parse(&argp, argc, argv, NULL) ? EXIT_OK : EXIT_USAGE;
	for (unsigned i = 0; i < count; i++)
		if (strcmp(list[i].name, argv[1]) == 0)
			return run(command, &list[i], argc - 1, argv + 1);
	return unknown(command, argv[1], list, count);
}
