/*
 * plan_read.c - workloads, a catalogue and a pool from files, and what is wrong with them on stderr by file and line.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "conf/tree.h"
#include "plan.h"

enum { TEXT_MAX = 256 << 20, PLACE = 320 };

/* ---- files ---- */

static int
grow(char **text, size_t *room)
{
	char *larger = realloc(*text, *room > 0 ? *room * 2 : 65536);

	if (larger == NULL)
		return -ENOMEM;
	*text = larger;
	*room = *room > 0 ? *room * 2 : 65536;
	return 0;
}

static int
read_file(const char *path, char **text, size_t *bytes)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	size_t room = 0, got = 1;
	int error = file == NULL ? -errno : 0;

	*text = NULL;
	*bytes = 0;
	while (error == 0 && got > 0) {
		if (*bytes == room)
			error = room < TEXT_MAX ? grow(text, &room) : -EFBIG;
		errno = 0;
		got = error == 0 ? fread(*text + *bytes, 1, room - *bytes, file) : 0;
		*bytes += got;
		if (error == 0 && ferror(file))
			error = errno != 0 ? -errno : -EIO;
	}
	if (file != NULL && file != stdin)
		fclose(file);
	if (error != 0) {
		fprintf(stderr, "weir plan: %s: %s\n", config_shown(path), strerror(-error));
		free(*text);
		*text = NULL;
	}
	return error;
}

/* ---- what is said of them ---- */

/* "FILE:7: ", or "FILE: " of all of it. */
static void
place_of(const char *path, uint32_t line, char place[PLACE])
{
	if (line == 0)
		snprintf(place, PLACE, "%.300s: ", config_shown(path));
	else
		snprintf(place, PLACE, "%.300s:%u: ", config_shown(path), line);
}

static void
say(const char *path, const struct csv_remarks *remarks, const char *kind)
{
	char place[PLACE];

	for (uint32_t i = 0; i < remarks->count && i < CSV_SAID; i++) {
		place_of(path, remarks->first[i].line, place);
		fprintf(stderr, "%s%s%s\n", place, kind, remarks->first[i].why);
	}
	if (remarks->count > CSV_SAID)
		fprintf(stderr, "%s: %sand %u more\n", config_shown(path), kind, remarks->count - CSV_SAID);
}

/* Kept for reports, which are read where nobody sees stderr any more. */
static void
keep_warnings(struct planned *p, const char *path, const struct csv_remarks *odd)
{
	for (uint32_t i = 0; i < odd->count && i < CSV_SAID; i++) {
		char place[PLACE], text[PLACE + CSV_WHY];
		const char *kept;

		place_of(path, odd->first[i].line, place);
		snprintf(text, sizeof(text), "%s%s", place, odd->first[i].why);
		kept = arena_strdup(&p->arena, text);
		if (kept != NULL)
			p->warnings[p->warning_count++] = kept;
	}
}

static int
tell(struct planned *p, const char *path, const struct csv_said *said, int error)
{
	say(path, &said->wrong, "");
	say(path, &said->odd, "warning: ");
	if (error == -ENOMEM)
		fprintf(stderr, "weir plan: out of memory\n");
	keep_warnings(p, path, &said->odd);
	return error;
}

/* ---- the catalogue, and what of it may be bought ---- */

static int
read_catalogue(struct planned *p)
{
	const char *path = p->given->catalogue != NULL ? p->given->catalogue : "the catalogue that is built in";
	struct csv_said said = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	int error = 0;

	if (p->given->catalogue != NULL)
		error = read_file(path, &text, &bytes);
	else
		bytes = strlen(catalogue_texts[0].text);
	if (error != 0)
		return error;
	error = catalogue_read(&p->catalogue, &p->arena, text != NULL ? text : catalogue_texts[0].text, bytes,
	    &p->given->terms, &said);
	free(text);
	return tell(p, path, &said, error);
}

/* The names that this one is a part of; how many. */
static unsigned
models_fit(const struct planned *p, const char *name, const char *words[CATALOGUE_MODELS])
{
	unsigned count = 0;

	for (uint32_t i = 0; i < p->catalogue.count; i++)
		if (strcasestr(p->catalogue.list[i].disk.name, name) != NULL)
			words[count++] = p->catalogue.list[i].disk.name;
	return count;
}

/* By its name, or by a part of it that no other has. */
static const struct catalogue_model *
find_model(const struct planned *p, const char *name)
{
	const struct catalogue_model *found = catalogue_find(&p->catalogue, name);
	const char *words[CATALOGUE_MODELS];

	return found == NULL && models_fit(p, name, words) == 1 ? catalogue_find(&p->catalogue, words[0]) : found;
}

static int
no_such_model(const struct planned *p, const char *name)
{
	const char *words[CATALOGUE_MODELS];
	unsigned fit = models_fit(p, name, words), meant;

	if (fit > 1) {
		fprintf(stderr, "weir plan: --model '%s' fits %u models:", name, fit);
		for (unsigned i = 0; i < fit; i++)
			fprintf(stderr, "%s %s", i > 0 ? "," : "", words[i]);
		fprintf(stderr, "\n");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < p->catalogue.count; i++)
		words[i] = p->catalogue.list[i].disk.name;
	meant = nearest(name, words, p->catalogue.count);
	fprintf(stderr, "weir plan: --model '%s': the catalogue has none that is called so", name);
	if (meant < p->catalogue.count)
		fprintf(stderr, "; is '%s' meant?\n", words[meant]);
	else
		fprintf(stderr, "; it has %s\n", wordlist(words, p->catalogue.count).text);
	return -EINVAL;
}

/* "PM9A3=2", as it was given. */
static void
limit_say(const struct plan_limit *limit, char *text, size_t bytes)
{
	if (limit->disks_max == UINT32_MAX)
		snprintf(text, bytes, "%s", limit->name);
	else
		snprintf(text, bytes, "%s=%u", limit->name, limit->disks_max);
}

/* Each is a model's, and the only one that says another number of it. */
static int
limits_check(const struct planned *p)
{
	const struct plan_limit *limits = p->given->limits;
	char one[PLACE], other[PLACE];

	for (unsigned i = 0; i < p->given->limit_count; i++) {
		const struct catalogue_model *model = find_model(p, limits[i].name);

		if (model == NULL)
			return no_such_model(p, limits[i].name);
		for (unsigned j = 0; j < i; j++) {
			if (find_model(p, limits[j].name) != model || limits[i].disks_max == limits[j].disks_max)
				continue;
			limit_say(&limits[j], one, sizeof(one));
			limit_say(&limits[i], other, sizeof(other));
			fprintf(stderr, "weir plan: --model '%s' and --model '%s' contradict each other: both are %s\n",
			    one, other, model->disk.name);
			return -EINVAL;
		}
	}
	return 0;
}

/* How many of a model may be bought.  Models that are named are the only ones, unless all that is said of them is 0. */
static uint32_t
may_buy(const struct planned *p, const struct catalogue_model *model)
{
	bool only = false;

	for (unsigned i = 0; i < p->given->limit_count; i++) {
		if (find_model(p, p->given->limits[i].name) == model)
			return p->given->limits[i].disks_max;
		only |= p->given->limits[i].disks_max > 0;
	}
	return only || p->given->pool != NULL ? 0 : UINT32_MAX;
}

static int
read_pool(struct planned *p, struct catalogue_pool *pool)
{
	struct csv_said said = { 0 };
	char *text;
	size_t bytes;
	int error = read_file(p->given->pool, &text, &bytes);

	if (error != 0)
		return error;
	error = catalogue_pool_read(pool, &p->arena, text, bytes, &p->catalogue, &said);
	free(text);
	return tell(p, p->given->pool, &said, error);
}

/* Of drives that are there as many sets as they make. */
static void
own(struct planned *p, const struct catalogue_pool *pool, struct advice_kind *kinds)
{
	unsigned set = p->given->set > 0 ? p->given->set : 1;

	for (uint32_t i = 0; i < pool->count; i++) {
		const struct catalogue_owned *o = &pool->list[i];

		if (o->count % set != 0)
			fprintf(stderr, "%s:%u: warning: of %u drives %u make no set of %u\n",
			    config_shown(p->given->pool),
			    o->line, o->count, o->count % set, set);
		if (o->count >= set)
			kinds[p->order.kind_count++] = (struct advice_kind){
				.model = o->model, .disks_max = o->count / set, .owned = true, .worn_gb = o->worn_gb,
			};
	}
}

static int
take_kinds(struct planned *p)
{
	struct catalogue_pool pool = { 0 };
	struct advice_kind *kinds;
	int error = limits_check(p);

	if (error == 0 && p->given->pool != NULL)
		error = read_pool(p, &pool);
	kinds = arena_alloc(&p->arena, ((size_t)pool.count + p->catalogue.count) * sizeof(*kinds));
	if (error != 0 || kinds == NULL)
		return error != 0 ? error : -ENOMEM;
	own(p, &pool, kinds);
	for (uint32_t i = 0; i < p->catalogue.count; i++) {
		uint32_t most = may_buy(p, &p->catalogue.list[i]);

		if (most > 0)
			kinds[p->order.kind_count++] = (struct advice_kind){
				.model = &p->catalogue.list[i], .disks_max = most,
			};
	}
	p->order.kinds = kinds;
	return 0;
}

/* ---- workloads ---- */

/* What comes when all is over is no part of it. */
static int
come_in_time(const struct planned *p)
{
	int error = 0;

	for (uint32_t i = 0; i < p->workloads.count; i++)
		if (p->workloads.list[i].arrival_days >= p->given->years * 365) {
			fprintf(stderr, "%s:%u: arrival_days: %s comes after %g days, and %g years are over by then: "
			    "--years\n",
			    config_shown(p->given->workloads), p->workloads.line[i], p->workloads.list[i].name,
			    p->workloads.list[i].arrival_days, p->given->years);
			error = -EINVAL;
		}
	return error;
}

static int
read_workloads(struct planned *p)
{
	struct csv_said said = { 0 };
	char *text;
	size_t bytes;
	int error = read_file(p->given->workloads, &text, &bytes);

	if (error != 0)
		return error;
	error = workloads_read(&p->workloads, &p->arena, text, bytes, &said);
	free(text);
	error = tell(p, p->given->workloads, &said, error);
	return error != 0 ? error : come_in_time(p);
}

/* All files are read to their ends, so that all that is wrong is said at once. */
int
plan_read(struct planned *p)
{
	const struct plan_given *given = p->given;
	int error, other;

	p->warnings = arena_alloc(&p->arena, 3 * CSV_SAID * sizeof(*p->warnings));
	if (p->warnings == NULL)
		return -ENOMEM;
	error = given->workloads != NULL ? read_workloads(p) : 0;
	if (error == 0 && given->trace_count > 0)
		error = plan_traces(p);
	other = read_catalogue(p);
	if (other == 0)
		other = take_kinds(p);
	if (error != 0 || other != 0)
		return error != 0 ? error : other;
	p->order.workloads = p->workloads.list;
	p->order.workload_count = p->workloads.count;
	p->order.years = given->years;
	p->order.room_max = given->room_max;
	p->order.iops_max = given->iops_max;
	p->order.set = given->set;
	p->order.raid = given->raid;
	p->order.seed = given->seed;
	return 0;
}
