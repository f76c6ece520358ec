/*
 * lab.c - `weir lab`: experiments in virtual time, and whether what papers and data sheets say holds.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "conf/tree.h"
#include "lab.h"
#include "lab_crew.h"
#include "report.h"
#include "table.h"

enum key { KEY_SEED = 1000, KEY_OUT, KEY_JSON, KEY_SENSITIVITY, KEY_QUICK, KEY_JOBS, KEY_WORKLOADS };

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "print one JSON object", 0 },
	{ "seed", KEY_SEED, "N", 0, "of all histories (default 1)", 0 },
	{ "out", KEY_OUT, "DIR", 0, "write results there, as JSON, and figures, as SVG", 0 },
	{ "sensitivity", KEY_SENSITIVITY, NULL, 0,
	    "run it again with each constant 30 % less and 30 % more", 0 },
	{ "quick", KEY_QUICK, NULL, 0, "a small part of what takes long: to see that it works", 0 },
	{ "workloads", KEY_WORKLOADS, "FILE", 0, "take these, a CSV as of `weir plan', instead of its own, where an "
	    "experiment takes workloads", 0 },
	{ "jobs", KEY_JOBS, "N", 0, "so many measurements at a time, where that can be (default: one for each "
	    "processor)", 0 },
	{ 0 },
};

struct lab_given {
	struct lab_order order;
	const char *run_only;  /* the last option that is for `run` alone */
	const char *action;
	const char *workloads; /* a file */
	char **names;
	unsigned name_count;
};

/* Whether an experiment or a group is called so. */
static bool
is_known(const char *name)
{
	for (unsigned i = 0; i < experiment_count; i++)
		if (strcmp(experiments[i]->name, name) == 0 || strcmp(experiments[i]->group, name) == 0)
			return true;
	return false;
}

/* Whether all of it makes sense together. */
static void
check(struct argp_state *state, const struct lab_given *given)
{
	bool lists = given->action != NULL && strcmp(given->action, "list") == 0;
	bool runs = given->action != NULL && strcmp(given->action, "run") == 0;

	if (given->action == NULL)
		argp_error(state, "what is to be done? `list', or `run' with an experiment or a group");
	else if (is_known(given->action))
		argp_error(state, "what of '%s'? `run %s' runs it", given->action, given->action);
	else if (!lists && !runs)
		argp_error(state, "'%s' is not `list' or `run'", given->action);
	else if (lists && given->run_only != NULL)
		argp_error(state, "%s is of `run'", given->run_only);
	else if (lists && given->name_count > 0)
		argp_error(state, "what of '%s'? `list' says all there are", given->names[0]);
	else if (runs && given->name_count == 0)
		argp_error(state, "which experiment, or group? `list' says which there are");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct lab_given *given = state->input;

	switch (key) {
	case KEY_JSON: given->order.json = true; return 0;
	case KEY_SEED:
		given->run_only = "--seed";
		given->order.seed = option_number_of(state, "--seed", arg, 0, UINT64_MAX);
		return 0;
	case KEY_OUT:
		if (arg[0] == '\0')
			argp_error(state, "--out '': not a folder");
		given->run_only = "--out";
		given->order.out = arg;
		return 0;
	case KEY_SENSITIVITY: given->run_only = "--sensitivity"; given->order.sensitivity = true; return 0;
	case KEY_QUICK: given->run_only = "--quick"; given->order.quick = true; return 0;
	case KEY_WORKLOADS: given->run_only = "--workloads"; given->workloads = arg; return 0;
	case KEY_JOBS:
		given->run_only = "--jobs";
		given->order.jobs = (unsigned)option_number_of(state, "--jobs", arg, 1, LAB_CREW_MAX);
		return 0;
	case ARGP_KEY_ARG:
		if (given->action == NULL)
			given->action = arg;
		else
			given->names[given->name_count++] = arg;
		return 0;
	case ARGP_KEY_END: check(state, given); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "list\nrun EXPERIMENT...",
	"Runs experiments in virtual time, on modelled devices and the real target and hosts: what is measured, "
	"whether it is what papers and data sheets say, and what it depends on. A seed is a history.", NULL, NULL, NULL,
};

/* ---- what there is ---- */

static int
tell(bool json)
{
	static const char *const heads[] = { "EXPERIMENT", "GROUP", "WHAT IT ASKS" };
	struct report report;
	struct table table;

	if (!json) {
		table_init(&table, heads, 3);
		for (unsigned i = 0; i < experiment_count; i++) {
			table_add(&table, "%s", experiments[i]->name);
			table_add(&table, "%s", experiments[i]->group);
			table_add(&table, "%s", experiments[i]->question);
		}
		return table_end(&table, stdout) == 0 ? EXIT_OK : EXIT_FAILED;
	}
	report_init(&report, true);
	report_list(&report, "experiments");
	for (unsigned i = 0; i < experiment_count; i++) {
		report_open(&report, NULL, NULL);
		report_text(&report, "experiment", NULL, experiments[i]->name);
		report_text(&report, "group", NULL, experiments[i]->group);
		report_text(&report, "question", NULL, experiments[i]->question);
		report_text(&report, "known", NULL, experiments[i]->known);
		report_close(&report);
	}
	report_close(&report);
	report_end(&report, true);
	return EXIT_OK;
}

/* ---- which are meant ---- */

static void
choose(struct lab_order *order, const struct experiment *experiment)
{
	for (unsigned i = 0; i < order->count; i++)
		if (order->chosen[i] == experiment)
			return;
	order->chosen[order->count++] = experiment;
}

static void
refuse_name(const char *name)
{
	const char **words = calloc(2 * (size_t)experiment_count + 1, sizeof(*words));
	unsigned count = 0, meant;

	for (unsigned i = 0; words != NULL && i < experiment_count; i++) {
		words[count++] = experiments[i]->name;
		words[count++] = experiments[i]->group;
	}
	meant = nearest(name, words, count);
	if (meant < count)
		fprintf(stderr, "weir lab: there is no experiment or group '%s'; is `%s' meant?\n", name, words[meant]);
	else
		fprintf(stderr, "weir lab: there is no experiment or group '%s'; `weir lab list' says which there "
		    "are\n", name);
	free(words);
}

static bool
find(struct lab_order *order, const char *name)
{
	bool known = false;

	for (unsigned i = 0; i < experiment_count; i++)
		if (strcmp(experiments[i]->name, name) == 0 || strcmp(experiments[i]->group, name) == 0) {
			choose(order, experiments[i]);
			known = true;
		}
	if (!known)
		refuse_name(name);
	return known;
}

/* All that are meant take workloads. */
static bool
all_take(const struct lab_order *order)
{
	for (unsigned i = 0; i < order->count; i++)
		if (!order->chosen[i]->takes_workloads) {
			fprintf(stderr, "weir lab: --workloads: %s takes none\n", order->chosen[i]->name);
			return false;
		}
	return true;
}

static int
run(struct lab_given *given)
{
	struct arena arena;
	int code = EXIT_FAILED;

	arena_init(&arena, 0);
	if (given->workloads != NULL && !all_take(&given->order))
		code = EXIT_USAGE;
	else if (given->workloads == NULL ||
	    lab_workloads_read(&given->order.workloads, &arena, given->workloads) == 0)
		code = lab_order_run(&given->order);
	arena_drop(&arena);
	return code;
}

static int
act(struct lab_given *given)
{
	if (strcmp(given->action, "list") == 0)
		return tell(given->order.json);
	for (unsigned i = 0; i < given->name_count; i++)
		if (!find(&given->order, given->names[i]))
			return EXIT_USAGE;
	return run(given);
}

int
cmd_lab(int argc, char **argv)
{
	struct lab_given given = { .order = { .seed = 1, .jobs = option_processors(LAB_CREW_MAX) } };
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	given.names = calloc((size_t)argc + 1, sizeof(*given.names));
	given.order.chosen = calloc((size_t)experiment_count + 1, sizeof(*given.order.chosen));
	if (given.names == NULL || given.order.chosen == NULL)
		fprintf(stderr, "weir lab: out of memory\n");
	else
		code = options_parse(&argp, argc, argv, &given) ? act(&given) : EXIT_USAGE;
	free(given.order.chosen);
	free(given.names);
	return code;
}
