/*
 * plan.c - `weir plan`: which drives to buy for which workloads, which workload on which of them, what that costs over
 * the years, and why.
 */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "plan.h"

enum key {
	KEY_WORKLOADS = 1000, KEY_DISKS, KEY_POOL, KEY_MODEL, KEY_YEARS, KEY_ROOM, KEY_IOPS, KEY_RAID, KEY_SET, KEY_KWH,
	KEY_PUE, KEY_LABOUR, KEY_SETUP, KEY_SEED, KEY_WHY, KEY_JSON, KEY_HTML, KEY_EXAMPLE
};

static const struct argp_option options[] = {
	{ "workloads", KEY_WORKLOADS, "FILE", 0, "what is to be placed, as CSV; \"-\": standard input", 0 },
	{ "disks", KEY_DISKS, "FILE", 0, "drives that can be bought, as CSV (default: what is built in)", 0 },
	{ "pool", KEY_POOL, "FILE", 0, "drives that are there, as CSV: nothing is bought but what --model names", 0 },
	{ "model", KEY_MODEL, "NAME[=MAX]", 0, "buy only this model, and such as are named so too, MAX at most; 0: any "
	    "but this", 0 },
	{ "years", KEY_YEARS, "N", 0, "that are planned (default 5)", 0 },
	{ "room", KEY_ROOM, "PCT", 0, "of a drive's room that may be taken (default 80)", 0 },
	{ "iops", KEY_IOPS, "PCT", 0, "of what a drive does that peaks may take (default 70)", 0 },
	{ "raid", KEY_RAID, "MODE", 0, "drives come in sets of RAID 0, 1 or 5", 0 },
	{ "set", KEY_SET, "N", 0, "drives of a set (default: as few as the mode can be)", 0 },
	{ "kwh", KEY_KWH, "USD", 0, "price of electricity (default 0.10)", 0 },
	{ "pue", KEY_PUE, "X", 0, "power for the room for each watt of a drive (default 1.58)", 0 },
	{ "labour", KEY_LABOUR, "USD", 0, "for each drive and day (default 0.14)", 0 },
	{ "setup", KEY_SETUP, "USD", 0, "to put a drive in, where its row does not say it (default 25)", 0 },
	{ "seed", KEY_SEED, "N", 0, "of the search (default 1)", 0 },
	{ "why", KEY_WHY, NULL, 0, "say of each workload why it is where it is", 0 },
	{ "json", KEY_JSON, NULL, 0, "print one JSON object", 0 },
	{ "html", KEY_HTML, "FILE", 0, "write a report to it: one page, with figures, that needs no network", 0 },
	{ "example", KEY_EXAMPLE, NULL, 0, "print workloads that could be, for --workloads", 0 },
	{ 0 },
};

/* A decimal number, within; what is not one ends the program with a message. */
static double
number_of(struct argp_state *state, const char *option, const char *arg, double least, double most)
{
	char *end;
	double value = strtod(arg, &end);

	if (strspn(arg, "0123456789.") != strlen(arg) || *arg == '\0' || *end != '\0' ||
	    !(value >= least && value <= most))
		argp_error(state, "%s '%s': not a number from %g to %g", option, arg, least, most);
	return value;
}

static void
add_model(struct argp_state *state, struct plan_given *given, char *arg)
{
	struct plan_limit *limit = &given->limits[given->limit_count];
	char *equals = strrchr(arg, '=');

	if (given->limit_count == PLAN_MODELS)
		argp_error(state, "--model: more than %d times", PLAN_MODELS);
	limit->name = arg;
	limit->disks_max = UINT32_MAX;
	if (equals != NULL) {
		limit->disks_max = (uint32_t)option_number_of(state, "--model", equals + 1, 0, UINT32_MAX - 1);
		*equals = '\0';
	}
	given->limit_count++;
}

static enum raid
raid_of(struct argp_state *state, const char *arg)
{
	static const char *const modes[RAID_MODES] = { [RAID_0] = "0", [RAID_1] = "1", [RAID_5] = "5" };

	for (enum raid mode = 0; mode < RAID_MODES; mode++)
		if (strcmp(arg, modes[mode]) == 0)
			return mode;
	argp_error(state, "--raid '%s': not 0, 1 or 5", arg);
	return RAID_MODES;
}

/* One of two files would not be looked at. */
static const char *
once(struct argp_state *state, const char *option, const char *before, const char *arg)
{
	if (before != NULL)
		argp_error(state, "%s is given twice: '%s' and '%s'", option, before, arg);
	return arg;
}

static error_t
parse_money(int key, char *arg, struct argp_state *state)
{
	struct plan_given *given = state->input;

	switch (key) {
	case KEY_KWH: given->terms.usd_per_kwh = number_of(state, "--kwh", arg, 0, 10); return 0;
	case KEY_PUE: given->terms.pue = number_of(state, "--pue", arg, 1, 10); return 0;
	case KEY_LABOUR: given->terms.labour_usd_per_day = number_of(state, "--labour", arg, 0, 1000); return 0;
	case KEY_SETUP: given->terms.setup_usd = number_of(state, "--setup", arg, 0, 1e6); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* The drives of a set: as many as are said, or as few as the mode can be. */
static void
check_set(struct argp_state *state, struct plan_given *given)
{
	static const unsigned least[RAID_MODES] = { [RAID_0] = 1, [RAID_1] = 2, [RAID_5] = 3 };
	struct disk_model set, any = { 0 };
	const char *why;

	if (given->raid == RAID_MODES && given->set > 0)
		argp_error(state, "--set is of --raid");
	if (given->raid == RAID_MODES)
		return;
	given->set = given->set > 0 ? given->set : least[given->raid];
	why = disk_model_raid(&set, &any, given->raid, given->set);
	if (why != NULL)
		argp_error(state, "--set %u: %s", given->set, why);
}

/* It has one text, which is of one of them. */
static void
check_stdin(struct argp_state *state, const struct plan_given *given)
{
	const char *const files[] = { given->workloads, given->catalogue, given->pool };
	unsigned count = 0;

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		count += files[i] != NULL && strcmp(files[i], "-") == 0;
	for (unsigned i = 0; i < given->trace_count; i++)
		count += strcmp(given->traces[i], "-") == 0;
	if (count > 1)
		argp_error(state, "standard input is one file, and `-' is given %u times", count);
}

static void
check(struct argp_state *state, struct plan_given *given)
{
	if (given->example && given->plans)
		argp_error(state, "--example prints workloads and plans nothing: it goes with --seed alone");
	if (!given->example && given->workloads == NULL && given->trace_count == 0)
		argp_error(state, "which workloads? --workloads FILE, or traces; `weir plan --example' prints some");
	if (given->html != NULL && strcmp(given->html, "-") == 0)
		argp_error(state, "--html '-': a page is written to a file");
	check_stdin(state, given);
	check_set(state, given);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct plan_given *given = state->input;

	given->plans |= key == ARGP_KEY_ARG || (key >= KEY_WORKLOADS && key < KEY_EXAMPLE && key != KEY_SEED);
	switch (key) {
	case KEY_WORKLOADS: given->workloads = once(state, "--workloads", given->workloads, arg); return 0;
	case KEY_DISKS: given->catalogue = once(state, "--disks", given->catalogue, arg); return 0;
	case KEY_POOL: given->pool = once(state, "--pool", given->pool, arg); return 0;
	case KEY_MODEL: add_model(state, given, arg); return 0;
	case KEY_YEARS: given->years = number_of(state, "--years", arg, 0.01, 100); return 0;
	case KEY_ROOM: given->room_max = number_of(state, "--room", arg, 1, 100) / 100; return 0;
	case KEY_IOPS: given->iops_max = number_of(state, "--iops", arg, 1, 100) / 100; return 0;
	case KEY_RAID: given->raid = raid_of(state, arg); return 0;
	case KEY_SET: given->set = (unsigned)option_number_of(state, "--set", arg, 1, 64); return 0;
	case KEY_SEED: given->seed = option_number_of(state, "--seed", arg, 0, UINT64_MAX); return 0;
	case KEY_WHY: given->why = true; return 0;
	case KEY_JSON: given->json = true; return 0;
	case KEY_HTML: given->html = once(state, "--html", given->html, arg); return 0;
	case KEY_EXAMPLE: given->example = true; return 0;
	case ARGP_KEY_ARG: given->traces[given->trace_count++] = arg; return 0;
	case ARGP_KEY_END: check(state, given); return 0;
	default: return parse_money(key, arg, state);
	}
}

static const struct argp argp = {
	options, parse, "--workloads FILE\nTRACE_FILE...\n--example",
	"Says which drives to buy for workloads, or where to put these on drives that are there; what that costs over "
	"the years, against every other way; and why.", NULL, NULL, NULL,
};

static int
write_page(const struct planned *p)
{
	FILE *file = fopen(p->given->html, "w");
	int error = file == NULL ? errno : 0;

	if (file != NULL) {
		plan_html(file, p);
		errno = 0;
		if (ferror(file) | fclose(file))
			error = errno != 0 ? errno : EIO;
	}
	if (error != 0)
		fprintf(stderr, "weir plan: %s: %s\n", p->given->html, strerror(error));
	return -error;
}

/* Why each of them is where it is. */
static int
reason(struct planned *p)
{
	const struct advice *a = &p->advice;
	int error = advice_lay_out(&p->layout, &p->arena, a, &a->plans[0].plan);

	if (error != 0 || a->problem.workload_count > PLAN_REASONS)
		return error;
	p->reasons = arena_alloc(&p->arena, a->problem.workload_count * sizeof(*p->reasons));
	if (p->reasons == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; error == 0 && i < a->problem.workload_count; i++)
		if (a->plans[0].plan.disk_of[i] != SEARCH_NOWHERE)
			error = advice_why(&p->reasons[i], &p->arena, a, &p->layout, &a->plans[0].plan, i,
			    a->problem.workload_count <= PLAN_EXCHANGES);
	return error;
}

static int
make(struct planned *p)
{
	const char *why = advice_wrong(&p->order);
	int error;

	if (why != NULL) {
		fprintf(stderr, "weir plan: %s\n", why);
		return -EINVAL;
	}
	error = advice_make(&p->advice, &p->arena, &p->order);
	if (error == 0 && p->advice.plan_count > 0)
		error = reason(p);
	if (error != 0)
		fprintf(stderr, "weir plan: out of memory\n");
	return error;
}

static int
plan(const struct plan_given *given)
{
	struct planned p = { .given = given };
	int error;

	arena_init(&p.arena, 0);
	error = plan_read(&p);
	if (error == 0)
		error = make(&p);
	if (error == 0)
		error = given->json ? plan_json(&p) : plan_show(&p);
	if (error == 0 && given->html != NULL)
		error = write_page(&p);
	arena_drop(&p.arena);
	return error != 0 ? EXIT_FAILED : p.advice.refused_count > 0 || p.lines_left ? EXIT_LEFT : EXIT_OK;
}

int
cmd_plan(int argc, char **argv)
{
	struct plan_given given = {
		.terms = catalogue_terms_usual, .years = 5, .room_max = 0.8, .iops_max = 0.7, .raid = RAID_MODES,
		.seed = 1,
	};

	int code = EXIT_OK;

	argp_err_exit_status = EXIT_USAGE;
	given.traces = calloc((size_t)argc + 1, sizeof(*given.traces));
	if (given.traces == NULL)
		fprintf(stderr, "weir plan: out of memory\n");
	if (given.traces == NULL)
		return EXIT_FAILED;
	if (!options_parse(&argp, argc, argv, &given))
		code = EXIT_USAGE;
	else if (given.example)
		plan_example(stdout, given.seed);
	else
		code = plan(&given);
	free(given.traces);
	return code;
}
