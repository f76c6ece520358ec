/*
 * lab_run.c - runs the experiments that are meant, one after the other, and says what came of each.
 *
 * Standard output has tables and checks for people, or one JSON object; a folder that is named has EXPERIMENT.json and
 * EXPERIMENT-FIGURE.svg of each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "flash_device.h"
#include "lab.h"
#include "lab_crew.h"
#include "lab/svg.h"
#include "passing.h"
#include "progress.h"
#include "sys/clock.h"
#include "table.h"

enum { VARY_PERCENT = 30, PATH_BYTES = 4096, JSON_FORM = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE };

_Static_assert((int)RESULT_COLUMNS_MAX <= (int)TABLE_COLUMNS, "each table of a result can be printed");

/* ---- for people ---- */

static int
print_table(const struct result_table *table)
{
	char heads[RESULT_COLUMNS_MAX][96], text[RESULT_NUMBER];
	const char *pointers[RESULT_COLUMNS_MAX];
	struct table out;

	for (unsigned i = 0; i < table->column_count; i++) {
		const struct result_column *column = &table->columns[i];

		snprintf(heads[i], sizeof(heads[i]), "%s%s%s%s", column->text ? "" : ">", column->name,
		    column->unit[0] != '\0' ? " " : "", column->unit);
		pointers[i] = heads[i];
	}
	printf("\n%s\n", table->title);
	table_init(&out, pointers, table->column_count);
	result_each(&table->rows, struct result_row, row)
		for (unsigned i = 0; i < table->column_count; i++)
			table_add(&out, "%s", row->cells[i].text != NULL ? row->cells[i].text :
			    result_number(row->cells[i].number, table->columns[i].decimals, text));
	return table_end(&out, stdout);
}

static void
print_check(const struct result_check *check)
{
	static const char *const words[] = {
		[RESULT_WITHIN] = "", [RESULT_AT_LEAST] = "at least ", [RESULT_AT_MOST] = "at most ",
	};
	char measured[RESULT_NUMBER], expected[RESULT_NUMBER], tolerance[RESULT_NUMBER + 16] = "";

	if (check->bound == RESULT_WITHIN)
		snprintf(tolerance, sizeof(tolerance), ", within %g %%", check->tolerance_percent);
	printf("  %-7s %s: %s%s%s (%s%s%s)\n", check->met ? "met" : "NOT MET", check->name,
	    result_number(check->measured, check->decimals, measured), check->unit[0] != '\0' ? " " : "", check->unit,
	    words[check->bound], result_number(check->expected, check->decimals, expected), tolerance);
}

static int
print_result(const struct experiment *experiment, const struct result *result)
{
	char text[RESULT_NUMBER];

	printf("%s: %s\n  known: %s\n", experiment->name, experiment->question, experiment->known);
	result_each(&result->givens, struct result_given, given)
		printf("  %s: %s\n", given->name, given->text);
	printf("  seed: %" PRIu64 "\n  history: %016" PRIx64 ", %" PRIu64 " events\n", result->seed, result->hash,
	    result->events);
	result_each(&result->tables, struct result_table, table)
		if (print_table(table) != 0)
			return -ENOMEM;
	printf("\nMetrics\n");
	result_each(&result->metrics, struct result_metric, metric)
		printf("  %s: %s %s\n", metric->name, result_number(metric->value, metric->decimals, text),
		    metric->unit);
	if (result->checks.head != NULL)
		printf("\nChecks\n");
	result_each(&result->checks, struct result_check, check)
		print_check(check);
	return 0;
}

/* ---- files ---- */

/* Before hours are spent on what nobody can be told. */
static bool
folder_ready(const char *out)
{
	struct stat status;
	int error = 0;

	if (mkdir(out, 0777) != 0 && errno != EEXIST)
		error = errno;
	else if (stat(out, &status) != 0)
		error = errno;
	else if (!S_ISDIR(status.st_mode))
		error = ENOTDIR;
	else if (access(out, W_OK | X_OK) != 0)
		error = errno;
	if (error != 0)
		fprintf(stderr, "weir lab: %s: results cannot be written there: %s\n", out, strerror(error));
	return error == 0;
}

static FILE *
begin_file(const char *path)
{
	FILE *file = fopen(path, "w");

	if (file == NULL)
		fprintf(stderr, "weir lab: %s: %s\n", path, strerror(errno));
	return file;
}

static bool
end_file(FILE *file, const char *path)
{
	bool wrong = ferror(file) != 0;

	errno = 0;
	wrong |= fclose(file) != 0;
	if (wrong)
		fprintf(stderr, "weir lab: %s: cannot be written%s%s\n", path, errno != 0 ? ": " : "",
		    errno != 0 ? strerror(errno) : "");
	return !wrong;
}

static bool
write_files(const char *out, const struct result *result, struct json_object *json)
{
	char path[PATH_BYTES];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.json", out, result->name);
	file = begin_file(path);
	if (file == NULL)
		return false;
	fprintf(file, "%s\n", json_object_to_json_string_ext(json, JSON_FORM));
	if (!end_file(file, path))
		return false;
	result_each(&result->figures, struct result_figure, figure) {
		snprintf(path, sizeof(path), "%s/%s-%s.svg", out, result->name, figure->name);
		file = begin_file(path);
		if (file == NULL)
			return false;
		svg_write(file, result, figure);
		if (!end_file(file, path))
			return false;
	}
	return true;
}

/* ---- how far it is ---- */

enum { EACH_NS = 200000000 };

struct watched {
	const struct experiment *experiment;
	char place[32];        /* among those that are meant; "" where it is alone */
	uint64_t began_ns, shown_ns;
};

static void
show(void *arg, const struct lab_progress *progress)
{
	struct watched *watched = arg;
	uint64_t now_ns = clock_now_ns();
	char time[PROGRESS_WORD], virtual[48] = "";

	if (now_ns - watched->shown_ns < EACH_NS)
		return;
	watched->shown_ns = now_ns;
	progress_time((now_ns - watched->began_ns) / 1000000000, time);
	if (progress->virtual_ns > 0)
		snprintf(virtual, sizeof(virtual), ", %" PRIu64 " s of virtual time",
		    progress->virtual_ns / 1000000000);
	passing("%s%s: %" PRIu64 " of %" PRIu64 " measured%s, %s", watched->place, watched->experiment->name,
	    progress->measured, progress->of, virtual, time);
}

/* ---- one, and all ---- */

static bool
run(const struct lab_order *order, unsigned which, struct arena *arena, struct result *result)
{
	const struct experiment *experiment = order->chosen[which];
	struct watched watched = { .experiment = experiment, .began_ns = clock_now_ns() };
	struct lab lab;
	struct arena scratch;
	struct crew crew;
	bool ran;

	crew_init(&crew, order->jobs);
	if (order->count > 1)
		snprintf(watched.place, sizeof(watched.place), "%u/%u ", which + 1, order->count);
	lab_init(&lab, arena, &lab_maker_flash, order->seed);
	lab.crew = order->jobs > 1 ? &crew.lab : NULL;
	lab.quick = order->quick;
	lab.workloads = order->workloads;
	lab.watch = show;
	lab.watch_arg = &watched;
	result_init(result, arena, experiment->name, order->seed);
	arena_init(&scratch, 0);
	ran = experiment_run(experiment, &lab, result);
	if (ran && order->sensitivity)
		ran = experiment_vary(experiment, &lab, result, VARY_PERCENT, &scratch, lab.crew);
	arena_drop(&scratch);
	passing(NULL);
	if (!ran)
		fprintf(stderr, "weir lab: %s: %s\n", experiment->name, lab.why);
	return ran;
}

/* What came of it goes to `results`, where that is wanted; false: it has been said what went wrong. */
static bool
run_and_tell(const struct lab_order *order, unsigned which, struct json_object *results, bool *met)
{
	const struct experiment *experiment = order->chosen[which];
	struct json_object *json = NULL;
	struct arena arena;
	struct result result;
	bool good;

	arena_init(&arena, 0);
	good = run(order, which, &arena, &result);
	if (good) {
		*met &= result_all_met(&result);
		json = lab_result_json(experiment, &result);
		good = order->out == NULL || write_files(order->out, &result, json);
	}
	if (good && !order->json) {
		if (which > 0)
			putchar('\n');
		good = print_result(experiment, &result) == 0;
		fflush(stdout);
	}
	if (good)
		json_object_array_add(results, json);
	else
		json_object_put(json);
	arena_drop(&arena);
	return good;
}

/* Of several, for people: what is not met may be far above. */
static void
print_all(struct json_object *results)
{
	size_t count = json_object_array_length(results), checks = 0, met = 0;

	printf("\nAll %zu\n", count);
	for (size_t i = 0; i < count; i++) {
		struct json_object *result = json_object_array_get_idx(results, i);
		struct json_object *list = json_object_object_get(result, "checks");
		size_t own = json_object_array_length(list), good = 0;

		for (size_t c = 0; c < own; c++)
			good += (size_t)json_object_get_boolean(json_object_object_get(
			    json_object_array_get_idx(list, c), "met"));
		if (good < own)
			printf("  NOT MET %s: %zu of %zu checks\n", json_object_get_string(
			    json_object_object_get(result, "experiment")), own - good, own);
		checks += own;
		met += good;
	}
	printf("  met     %zu of %zu checks\n", met, checks);
}

int
lab_order_run(const struct lab_order *order)
{
	struct json_object *all = json_object_new_object(), *results = json_object_new_array();
	bool good = order->out == NULL || folder_ready(order->out), met = true;

	json_object_object_add(all, "results", results);
	for (unsigned i = 0; good && i < order->count; i++)
		good = run_and_tell(order, i, results, &met);
	json_object_object_add(all, "met", json_object_new_boolean(met));
	if (good && !order->json && order->count > 1)
		print_all(results);
	if (good && order->json)
		puts(json_object_to_json_string_ext(all, JSON_FORM));
	json_object_put(all);
	return good && met ? EXIT_OK : EXIT_FAILED;
}
