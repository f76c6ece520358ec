/*
 * sim.c - `weir sim`: a whole cluster in virtual time, from a seed, and whether it does what it should.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "host_options.h"
#include "sim.h"
#include "sim_child.h"
#include "table.h"

enum { DAY_MS = 86400000, PATIENCE_MS = 60000 };

enum key {
	KEY_LIST = 1000, KEY_EXPLAIN, KEY_SCENARIO, KEY_SEED, KEY_SEEDS, KEY_UNTIL, KEY_EVENTS, KEY_JSON, KEY_TRACE,
	KEY_LOG, KEY_SHOW, KEY_JOBS, KEY_FINDINGS, KEY_KEEP_GOING, KEY_TIME, KEY_PATIENCE, KEY_NO_SHORTEN, KEY_OUT,
};

static const struct argp_option options[] = {
	{ "list", KEY_LIST, NULL, 0, "say which scenarios are built in", 0 },
	{ "explain", KEY_EXPLAIN, NULL, 0, "say which knobs and faults a scenario can have", 0 },
	{ "scenario", KEY_SCENARIO, "SCENARIO", 0, "one that is built in, a file (- is standard input), or `all'", 0 },
	{ "until", KEY_UNTIL, "TIME", 0, "virtual time of load and faults (default: the scenario's)", 0 },
	{ "max-events", KEY_EVENTS, "N", 0, "end a trial that has not ended by then", 0 },
	{ "json", KEY_JSON, NULL, 0, "print what came of it as one JSON object", 0 },
	{ NULL, 0, NULL, 0, "One trial:", 1 },
	{ "seed", KEY_SEED, "N", 0, "play this seed, in this process", 1 },
	{ "show", KEY_SHOW, NULL, 0, "only print what the seed makes of the scenario", 1 },
	{ "trace", KEY_TRACE, "FILE", 0, "write each event as a line (- is standard output)", 1 },
	{ "log", KEY_LOG, NULL, 0, "say on standard error what processes log, and what is done to them", 1 },
	{ NULL, 0, NULL, 0, "A search:", 2 },
	{ "seeds", KEY_SEEDS, "FIRST-LAST", 0, "play these seeds, each in a process of its own; FIRST- has no end", 2 },
	{ "jobs", KEY_JOBS, "N", 0, "so many at a time (default: one for each processor)", 2 },
	{ "time", KEY_TIME, "TIME", 0, "end after so much of this machine's time", 2 },
	{ "findings", KEY_FINDINGS, "N", 0, "end when so many seeds went wrong (default 1)", 2 },
	{ "keep-going", KEY_KEEP_GOING, NULL, 0, "never end for that", 2 },
	{ "patience", KEY_PATIENCE, "TIME", 0, "of this machine's time, how much one seed may take (default 60s)", 2 },
	{ "no-shorten", KEY_NO_SHORTEN, NULL, 0, "leave what goes wrong as long as it is", 2 },
	{ "out", KEY_OUT, "DIR", 0, "where what was made shorter is written (default: here)", 2 },
	{ 0 },
};

struct sim_options_given {
	struct order order;
	const char *one_only, *search_only; /* the last option that is for one trial alone, or for a search */
	bool list, explain, seed, seeds, show;
};

/* 17, 1-10000 or 1- */
static void
parse_seeds(struct order *order, const char *arg, struct argp_state *state)
{
	char text[64];
	char *dash;
	bool right;

	snprintf(text, sizeof(text), "%s", arg);
	dash = strchr(text, '-');
	if (dash != NULL)
		*dash = '\0';
	right = strlen(arg) < sizeof(text) && option_number(text, 0, UINT64_MAX - 1, &order->first);
	order->last = order->first;
	if (dash != NULL && dash[1] == '\0')
		order->last = UINT64_MAX;
	else if (dash != NULL)
		right = right && option_number(dash + 1, order->first, UINT64_MAX - 1, &order->last);
	if (!right)
		argp_error(state, "--seeds '%s': not seeds like 1-10000, 17 or 1-", arg);
}

static void
check_all(const struct sim_options_given *given, struct argp_state *state)
{
	const struct order *order = &given->order;

	if (given->list || given->explain)
		return;
	if (order->named == NULL)
		argp_error(state, "which --scenario? --list says which there are");
	else if (given->seed == given->seeds)
		argp_error(state, "either --seed for one trial, or --seeds for a search");
	else if (given->seed && given->search_only != NULL)
		argp_error(state, "%s is of a search: --seeds", given->search_only);
	else if (given->seeds && given->one_only != NULL)
		argp_error(state, "%s is of one trial: --seed", given->one_only);
	else if (given->seed && strcmp(order->named, "all") == 0)
		argp_error(state, "--scenario all is of a search: --seeds");
	else if (given->show && (order->json || order->trace != NULL || order->log))
		argp_error(state, "--show plays nothing: what of --json, --trace or --log?");
	else if (order->json && order->trace != NULL && strcmp(order->trace, "-") == 0)
		argp_error(state, "standard output can have --json or --trace, not both");
}

static error_t
parse_search(int key, char *arg, struct argp_state *state)
{
	struct sim_options_given *given = state->input;
	struct order *order = &given->order;

	switch (key) {
	case KEY_JOBS:
		given->search_only = "--jobs";
		order->jobs = (unsigned)option_number_of(state, "--jobs", arg, 1, CHILDREN_MAX);
		return 0;
	case KEY_TIME:
		given->search_only = "--time";
		order->time_ms = option_duration_of(state, "--time", arg, 1, UINT64_C(365) * DAY_MS);
		return 0;
	case KEY_FINDINGS:
		given->search_only = "--findings";
		order->findings_max = option_number_of(state, "--findings", arg, 1, UINT32_MAX);
		return 0;
	case KEY_KEEP_GOING:
		given->search_only = "--keep-going";
		order->findings_max = UINT64_MAX;
		return 0;
	case KEY_PATIENCE:
		given->search_only = "--patience";
		order->patience_ms = option_duration_of(state, "--patience", arg, 1, DAY_MS);
		return 0;
	case KEY_NO_SHORTEN: given->search_only = "--no-shorten"; order->shorten = false; return 0;
	case KEY_OUT: given->search_only = "--out"; order->out = arg; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct sim_options_given *given = state->input;
	struct order *order = &given->order;

	switch (key) {
	case KEY_LIST: given->list = true; return 0;
	case KEY_EXPLAIN: given->explain = true; return 0;
	case KEY_SCENARIO: order->named = arg; return 0;
	case KEY_UNTIL: order->until_ms = option_duration_of(state, "--until", arg, knob_rows[KNOB_UNTIL_MS].least,
	    knob_rows[KNOB_UNTIL_MS].most); return 0;
	case KEY_EVENTS: order->max_events = option_number_of(state, "--max-events", arg, 1, UINT64_MAX); return 0;
	case KEY_JSON: order->json = true; return 0;
	case KEY_SEED:
		given->seed = true;
		order->first = order->last = option_number_of(state, "--seed", arg, 0, UINT64_MAX - 1);
		return 0;
	case KEY_SEEDS: given->seeds = true; parse_seeds(order, arg, state); return 0;
	case KEY_SHOW: given->show = true; given->one_only = "--show"; return 0;
	case KEY_TRACE: order->trace = arg; given->one_only = "--trace"; return 0;
	case KEY_LOG: order->log = true; given->one_only = "--log"; return 0;
	case ARGP_KEY_ARG: argp_error(state, "what is '%s'?", arg); return 0;
	case ARGP_KEY_END: check_all(given, state); return 0;
	default: return parse_search(key, arg, state);
	}
}

static const struct argp argp = {
	options, parse, "--scenario SCENARIO --seed N\n--scenario SCENARIO --seeds FIRST-LAST\n--list\n--explain",
	"Plays targets, hosts, network and disks in virtual time: a seed is a history, with faults, and what comes of "
	"it is judged.", NULL, NULL, NULL,
};

/* ---- what there is ---- */

static int
tell_scenarios(const struct order *order)
{
	static const char *const heads[] = { "SCENARIO", "WHAT IT IS" };
	struct table table;

	table_init(&table, heads, 2);
	for (unsigned i = 0; i < order->scenario_count; i++) {
		table_add(&table, "%s", order->scenarios[i]->name);
		table_add(&table, "%s", order->scenarios[i]->says);
	}
	return table_end(&table, stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

static int
tell_scenarios_json(const struct order *order)
{
	struct report report;

	report_init(&report, true);
	report_list(&report, "scenarios");
	for (unsigned i = 0; i < order->scenario_count; i++) {
		report_open(&report, NULL, NULL);
		report_text(&report, "scenario", NULL, order->scenarios[i]->name);
		report_text(&report, "says", NULL, order->scenarios[i]->says);
		report_close(&report);
	}
	report_close(&report);
	report_end(&report, true);
	return EXIT_OK;
}

static void
tell_knobs(void)
{
	for (unsigned i = 0; i < KNOBS; i++) {
		const struct knob_row *row = &knob_rows[i];
		char span[96];

		snprintf(span, sizeof(span), "%s%" PRIu64 "-%" PRIu64 "%s%s", row->or_zero ? "0, " : "", row->least,
		    row->most, row->unit[0] != '\0' ? " " : "", row->unit);
		printf("  %-20s %-20s  %s\n", row->name, span, row->says);
	}
}

static int
tell_rows(void)
{
	printf("knobs:\n");
	tell_knobs();
	printf("\nfaults:\n");
	for (unsigned i = 0; i < FAULTS; i++)
		printf("  %-20s %-20s  %s\n", fault_rows[i].name, fault_rows[i].lasts ? "lasts" : "",
		    fault_rows[i].says);
	return EXIT_OK;
}

/* ---- all of it ---- */

static int
act(struct sim_options_given *given)
{
	struct order *order = &given->order;

	if (given->explain)
		return tell_rows();
	if (given->list)
		order->named = "all";
	if (order_find(order) != 0)
		return EXIT_FAILED;
	if (given->list)
		return order->json ? tell_scenarios_json(order) : tell_scenarios(order);
	if (given->show)
		return sim_show(order);
	return given->seed ? sim_trial(order) : sim_search(order);
}

int
cmd_sim(int argc, char **argv)
{
	struct sim_options_given given = {
		.order = {
			.jobs = option_processors(CHILDREN_MAX), .findings_max = 1, .time_ms = UINT64_MAX,
			.patience_ms = PATIENCE_MS,
			.shorten = true, .out = ".",
		},
	};
	int code;

	argp_err_exit_status = EXIT_USAGE;
	if (!options_parse(&argp, argc, argv, &given))
		return EXIT_USAGE;
	arena_init(&given.order.arena, 0);
	code = act(&given);
	arena_drop(&given.order.arena);
	return code;
}
