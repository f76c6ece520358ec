/*
 * main.c - `weir`: one program, whose first word says what it is.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "serve", cmd_serve, "serve volumes over NVMe/TCP" },
	{ "discover", cmd_discover, "say which subsystems a target serves" },
	{ "list", cmd_list, "list volumes, with their sizes and names" },
	{ "id", cmd_id, "say all about a controller and its namespaces" },
	{ "read", cmd_read, "read a volume to a file or a pipe" },
	{ "write", cmd_write, "write a file or a pipe to a volume" },
	{ "copy", cmd_copy, "copy between files and volumes" },
	{ "ping", cmd_ping, "measure round trips, and see paths come and go" },
	{ "top", cmd_top, "show what goes on at shared namespaces, and what hosts get" },
	{ "perf", cmd_perf, "load a namespace, verify it, and measure" },
	{ "recover", cmd_recover, "recover ordered writes of a host that is gone" },
	{ "sim", cmd_sim, "play a whole cluster in virtual time, and judge it" },
	{ "flash", cmd_flash, "show modelled drives" },
	{ "lab", cmd_lab, "run experiments in virtual time, and check what is claimed" },
	{ "trace", cmd_trace, "tell what traces of I/O are like, make them, and play them" },
	{ "plan", cmd_plan, "which drives to buy for workloads, and what goes where" },
	{ "calibrate", cmd_calibrate, "measure what a volume can do, for sharing it" },
	{ "check", cmd_check, "say what is wrong with a configuration" },
	{ "diff", cmd_diff, "say what another configuration would change" },
	{ "apply", cmd_apply, "change what a running target serves" },
};

static void
usage(FILE *out)
{
	fprintf(out, "Usage: weir COMMAND [OPTION...]\n\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
	fprintf(out, "\n`weir COMMAND --help` says more.\n");
}

/* Who reads half of it must not take it for all there was to say. */
static int
said(int code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "weir: cannot write to standard output%s%s\n", errno != 0 ? ": " : "",
	    errno != 0 ? strerror(errno) : "");
	return code == EXIT_OK ? EXIT_FAILED : code;
}

/* It speaks of itself as it was called: `weir check`. */
static int
run(const struct command *command, int argc, char **argv)
{
	char name[32];

	snprintf(name, sizeof(name), "weir %s", command->name);
	argv[0] = name;
	return said(command->run(argc, argv));
}

int
main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return run(&commands[i], argc - 1, argv + 1);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		usage(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("weir " WEIR_VERSION);
		return EXIT_OK;
	}
	fprintf(stderr, "weir: there is no command '%s'\n\n", argv[1]);
	usage(stderr);
	return EXIT_USAGE;
}
