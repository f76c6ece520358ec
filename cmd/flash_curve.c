/*
 * flash_curve.c - `weir flash curve`: what a drive alone gives, in virtual time, against depth.
 *
 * Each point is measured on a drive of its own, that is in the same state when it begins: no point knows of another.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "cmd.h"
#include "conf/tree.h"
#include "flash.h"
#include "flash/exercise.h"
#include "host_options.h"
#include "report.h"
#include "table.h"

enum { KEY_SIZE = 1000, KEY_STATE, KEY_OP, KEY_FROM, KEY_SEED, KEY_JSON, DEPTH_MAX = 256, KIB = 1024 };

static const struct argp_option options[] = {
	{ "size", KEY_SIZE, "SIZE", 0, "at this capacity (default: 8G, or as near as there is)", 0 },
	{ "state", KEY_STATE, "STATE", 0, "fresh, sequential or fragmented (default)", 0 },
	{ "from", KEY_FROM, "FILE", 0, "in the state that `weir flash condition' kept there", 0 },
	{ "op", KEY_OP, "LIST", 0, "only these: read, write, mixed, separated by commas", 0 },
	{ "seed", KEY_SEED, "N", 0, "for all that is by chance (default 1)", 0 },
	{ "json", KEY_JSON, NULL, 0, "print it as one JSON object", 0 },
	{ 0 },
};

static const char *const op_names[] = { "read", "write", "mixed" };
static const uint32_t op_percent[] = { 100, 0, 70 }; /* that read */
enum { OPS = COUNT_OF(op_names) };

struct wish {
	const char *name, *from;
	enum condition_kind kind; /* CONDITIONS: nothing was said */
	uint64_t bytes;           /* 0: nothing was said */
	uint64_t seed;
	bool ops[OPS];
	bool json;
};

static void
parse_ops(struct argp_state *state, char *list, bool ops[OPS])
{
	const char *word;

	memset(ops, 0, OPS * sizeof(*ops));
	while ((word = strsep(&list, ",")) != NULL) {
		unsigned op = 0;

		while (op < OPS && strcmp(op_names[op], word) != 0)
			op++;
		if (op == OPS)
			argp_error(state, "--op '%s': there is %s", word, wordlist(op_names, OPS).text);
		else
			ops[op] = true;
	}
}

static void
check(struct argp_state *state, const struct wish *wish)
{
	if (wish->from == NULL)
		flash_name_needed(state, wish->name);
	else if (wish->bytes > 0 || wish->kind != CONDITIONS)
		argp_error(state, "what is in a file says its size and state itself: --from goes without --size and "
		    "--state");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct wish *wish = state->input;

	switch (key) {
	case KEY_SIZE: wish->bytes = option_size_of(state, "--size", arg, 1); return 0;
	case KEY_STATE: wish->kind = flash_kind_of(state, arg); return 0;
	case KEY_FROM: wish->from = arg; return 0;
	case KEY_OP: parse_ops(state, arg, wish->ops); return 0;
	case KEY_SEED: wish->seed = option_number_of(state, "--seed", arg, 0, UINT64_MAX); return 0;
	case KEY_JSON: wish->json = true; return 0;
	case ARGP_KEY_ARG: flash_name_take(state, arg, &wish->name); return 0;
	case ARGP_KEY_END: check(state, wish); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "PROFILE\n--from=FILE [PROFILE]", "Says what a modelled drive gives: latency and throughput of "
	"reads, writes and 70 % reads, of 4 and 128 KiB, at random and in order, against how many are under way.", NULL,
	NULL, NULL,
};

/* ---- one point ---- */

struct point {
	unsigned op;
	bool sequential;
	uint32_t bytes, depth;
};

/* Measured: so many commands at least; and, where some write, a block of each die.  A fresh drive has free blocks, that
 * is what it is: of others none is left beside those that collection keeps. */
static uint64_t
commands_of(const struct point *point)
{
	return point->bytes == 4 * KIB ? 40000 : 4000;
}

static void
exercise(struct exercise *x, const struct point *point, enum condition_kind kind)
{
	uint64_t commands = commands_of(point);

	if (kind != CONDITION_FRESH)
		exercise_use_spare(x);
	exercise_fill_buffer(x);
	exercise_run(x, commands / 10);
	exercise_forget(x);
	exercise_run(x, commands);
	exercise_fill_blocks(x);
}

/* What came of it is the arena's.  NULL: no memory. */
static const struct exercise_result *
measure(struct arena *arena, const struct flash_state *state, uint64_t seed, const struct point *point)
{
	struct drive_options drive_options = { .geometry = state->geometry, .profile = state->profile, .seed = seed };
	struct exercise_load load = { .bytes = point->bytes, .depth = point->depth, .sequential = point->sequential,
		.read_percent = op_percent[point->op], .seed = seed };
	struct exercise *x;
	struct drive *drive;

	if (drive_create(arena, &drive_options, &drive) != 0 || exercise_create(arena, drive, &load, &x) != 0)
		return NULL;
	flash_state_enter(state, drive_ftl(drive));
	exercise(x, point, state->condition.kind);
	return exercise_result(x);
}

/* ---- what is told of it ---- */

static uint64_t
rate(uint64_t count, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)count * 1000000000 / ns);
}

static uint64_t
mean_ns(const struct hist *hist)
{
	return hist->sum / hist->count;
}

static uint64_t
amplified(const struct exercise_result *result, uint32_t bytes)
{
	return flash_amplified(result->programmed_bytes, result->latency[EXERCISE_WRITES].count * bytes);
}

static void
add_us(struct table *table, uint64_t ns)
{
	uint64_t tenths = (ns + 50) / 100;

	table_add(table, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
}

static void
add_row(struct table *table, const struct point *point, const struct exercise_result *result, int kind)
{
	static const char *const words[OPS][EXERCISE_KINDS] = {
		{ "read", NULL }, { NULL, "write" }, { "70/30 read", "70/30 write" },
	};
	const struct hist *hist = &result->latency[kind];
	uint64_t tenths = rate(hist->count * point->bytes, result->ns) / 100000, permille = 0;
	char times[FLASH_TIMES_TEXT] = "";

	if (kind == EXERCISE_WRITES)
		permille = amplified(result, point->bytes);
	table_add(table, "%s", words[point->op][kind]);
	table_add(table, "%" PRIu32 " KiB", point->bytes / KIB);
	table_add(table, "%s", point->sequential ? "sequential" : "random");
	table_add(table, "%" PRIu32, point->depth);
	table_add(table, "%" PRIu64, rate(hist->count, result->ns));
	table_add(table, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
	add_us(table, mean_ns(hist));
	add_us(table, hist_quantile(hist, 500000));
	add_us(table, hist_quantile(hist, 990000));
	add_us(table, hist_quantile(hist, 999000));
	table_add(table, "%s", permille > 0 ? flash_times(permille, times) : "-");
}

static void
tell_kind(struct report *report, const char *key, const struct hist *hist, uint32_t bytes, uint64_t ns)
{
	report_open(report, key, NULL);
	report_number(report, "commands", NULL, hist->count, "");
	report_number(report, "iops", NULL, rate(hist->count, ns), "");
	report_number(report, "bytes_per_second", NULL, rate(hist->count * bytes, ns), "");
	report_number(report, "mean_ns", NULL, mean_ns(hist), "");
	report_number(report, "p50_ns", NULL, hist_quantile(hist, 500000), "");
	report_number(report, "p99_ns", NULL, hist_quantile(hist, 990000), "");
	report_number(report, "p999_ns", NULL, hist_quantile(hist, 999000), "");
	report_close(report);
}

static void
tell_point(struct report *report, const struct point *point, const struct exercise_result *result)
{
	static const char *const keys[EXERCISE_KINDS] = { "reads", "writes" };

	report_open(report, NULL, NULL);
	report_text(report, "operation", NULL, op_names[point->op]);
	report_number(report, "bytes", NULL, point->bytes, "");
	report_text(report, "order", NULL, point->sequential ? "sequential" : "random");
	report_number(report, "depth", NULL, point->depth, "");
	report_number(report, "virtual_ns", NULL, result->ns, "");
	for (int kind = 0; kind < EXERCISE_KINDS; kind++)
		if (result->latency[kind].count > 0)
			tell_kind(report, keys[kind], &result->latency[kind], point->bytes, result->ns);
	if (result->programmed_bytes > 0)
		report_number(report, "write_amplification_permille", NULL, amplified(result, point->bytes), "");
	report_close(report);
}

static void
tell_drive(struct report *report, const struct flash_state *state, const struct wish *wish)
{
	char hash[FLASH_HASH_TEXT];

	flash_hash_text(&state->profile, hash);
	report_text(report, "profile", "profile", state->profile.name);
	report_text(report, "hash", "hash", hash);
	report_bytes(report, "bytes", "size", state->geometry.units * state->geometry.unit_bytes);
	report_text(report, "state", "state", condition_names[state->condition.kind]);
	if (state->condition.kind == CONDITION_FRAGMENTED)
		report_number(report, "state_seed", "by the seed", state->condition.seed, "");
	if (wish->from != NULL)
		report_text(report, "from", "from", wish->from);
	report_number(report, "seed", "seed", wish->seed, "");
	report_text(report, NULL, "times", "virtual, in microseconds");
	if (!wish->json)
		putchar('\n');
}

/* ---- all of them ---- */

struct curve {
	const struct flash_state *state;
	const struct wish *wish;
	struct report report;
	struct table table;
};

/* False: no memory. */
static bool
add_point(struct curve *c, const struct point *point)
{
	const struct exercise_result *result;
	struct arena arena;

	arena_init(&arena, 0);
	result = measure(&arena, c->state, c->wish->seed, point);
	if (result != NULL && c->wish->json)
		tell_point(&c->report, point, result);
	for (int kind = 0; result != NULL && !c->wish->json && kind < EXERCISE_KINDS; kind++)
		if (result->latency[kind].count > 0)
			add_row(&c->table, point, result, kind);
	arena_drop(&arena);
	return result != NULL;
}

static bool
add_points(struct curve *c)
{
	static const uint32_t sizes[] = { 4 * KIB, 128 * KIB };
	bool good = true;

	for (unsigned op = 0; op < OPS; op++)
		for (unsigned i = 0; c->wish->ops[op] && i < 2 * COUNT_OF(sizes); i++)
			for (uint32_t depth = 1; good && depth <= DEPTH_MAX; depth *= 2)
				good = add_point(c, &(struct point){ op, i % 2 != 0, sizes[i / 2], depth });
	return good;
}

static int
draw(const struct flash_state *state, const struct wish *wish)
{
	static const char *const heads[] = { "OPERATION", "SIZE", "ORDER", ">DEPTH", ">IOPS", ">MB/S", ">MEAN", ">P50",
		">P99", ">P99.9", ">AMPLIFIED" };
	struct curve c = { .state = state, .wish = wish };
	bool good;

	report_init(&c.report, wish->json);
	table_init(&c.table, heads, COUNT_OF(heads));
	tell_drive(&c.report, state, wish);
	report_list(&c.report, "points");
	good = add_points(&c);
	report_close(&c.report);
	if (!wish->json)
		good = table_end(&c.table, stdout) == 0 && good;
	report_end(&c.report, good);
	if (!good)
		fprintf(stderr, "weir flash: there was not memory enough\n");
	return good ? EXIT_OK : EXIT_FAILED;
}

/* What is measured: from a file, or made. */
static int
prepare_from(const struct wish *wish, struct flash_state *state)
{
	struct flash_profile profile;

	if (wish->name == NULL)
		return flash_state_read(wish->from, NULL, state);
	if (flash_named(wish->name, &profile) != 0)
		return -1;
	return flash_state_read(wish->from, &profile, state);
}

static int
prepare(const struct wish *wish, struct flash_state *state)
{
	const struct flash_profile *profile = &state->profile;
	enum condition_kind kind = wish->kind;
	char why[FLASH_WHY];

	if (wish->from != NULL)
		return prepare_from(wish, state);
	if (flash_named(wish->name, &state->profile) != 0 ||
	    flash_sized(profile, wish->bytes, &state->geometry) != 0)
		return -1;
	if (kind == CONDITIONS)
		kind = profile->media == FLASH_IN_PLACE ? CONDITION_FRESH : CONDITION_FRAGMENTED;
	if (condition_fits(kind, profile, why) != 0) {
		fprintf(stderr, "weir flash: %s: %s\n", profile->name, why);
		return -1;
	}
	state->condition = condition_of(kind, wish->seed);
	return flash_state_make(state);
}

int
flash_curve(int argc, char **argv)
{
	struct wish wish = { .kind = CONDITIONS, .seed = 1, .ops = { true, true, true } };
	struct flash_state state = { .image = NULL };
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	if (!options_parse(&argp, argc, argv, &wish))
		return EXIT_USAGE;
	if (prepare(&wish, &state) == 0)
		code = draw(&state, &wish);
	flash_state_drop(&state);
	return code;
}
