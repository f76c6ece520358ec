/*
 * subcommand.h - commands that have commands: `weir flash show`, `weir trace stat`.
 */
#ifndef WEIR_CMD_SUBCOMMAND_H
#define WEIR_CMD_SUBCOMMAND_H

struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
};

enum { SUBCOMMANDS_MAX = 8 };

/*
 * Runs the one that argv[1] names, which speaks of itself as it was called; `command` is "flash", and `doc` says what
 * it does and which there are, as of struct argp.  Answers the exit code.
 */
int subcommand_run(const char *command, const char *doc, const struct subcommand *list, unsigned count, int argc,
    char **argv);

#endif
