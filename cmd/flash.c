/*
 * flash.c - `weir flash`: what is asked about modelled drives is in a word behind it.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "conf/tree.h"
#include "flash.h"

static const struct flash_command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "list", flash_list },
	{ "show", flash_show },
	{ "curve", flash_curve },
	{ "condition", flash_condition },
};

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

static const struct argp argp = {
	NULL, parse, "COMMAND [OPTION...]", "Shows, measures and prepares modelled drives.\v"
	"  list       say which drives are built in\n"
	"  show       say what a drive is made of\n"
	"  curve      say what a drive gives: latency and throughput against depth\n"
	"  condition  fill a drive, write it all over, and keep its state in a file\n"
	"\n`weir flash COMMAND --help' says more.", NULL, NULL, NULL,
};

/* It speaks of itself as it was called: `weir flash show`. */
static int
run(const struct flash_command *command, int argc, char **argv)
{
	char name[48];

	snprintf(name, sizeof(name), "weir flash %s", command->name);
	argv[0] = name;
	return command->run(argc, argv);
}

static int
unknown(const char *word)
{
	const char *names[COUNT_OF(commands)];
	unsigned meant;

	for (unsigned i = 0; i < COUNT_OF(commands); i++)
		names[i] = commands[i].name;
	meant = nearest(word, names, COUNT_OF(commands));
	fprintf(stderr, "weir flash: there is no command '%s'; ", word);
	if (meant < COUNT_OF(commands))
		fprintf(stderr, "'%s' is meant?\n", names[meant]);
	else
		fprintf(stderr, "there is %s\n", wordlist(names, COUNT_OF(commands)).text);
	return EXIT_USAGE;
}

int
cmd_flash(int argc, char **argv)
{
	const char *input = NULL;

	argp_err_exit_status = EXIT_USAGE;
	if (argc < 2 || argv[1][0] == '-')
		return options_parse(&argp, argc, argv, &input) ? EXIT_OK : EXIT_USAGE;
	for (unsigned i = 0; i < COUNT_OF(commands); i++)
		if (strcmp(commands[i].name, argv[1]) == 0)
			return run(&commands[i], argc - 1, argv + 1);
	return unknown(argv[1]);
}
