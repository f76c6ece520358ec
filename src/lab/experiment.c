/*
 * experiment.c - one run of an experiment, and how much its metrics depend on each constant.
 */
#include "lab/experiment.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool
experiment_run(const struct experiment *experiment, struct lab *lab, struct result *result)
{
	experiment->run(lab, result);
	if (lab->why[0] != '\0')
		return false;
	assert(lab->progress.measured == lab->progress.of);
	result->hash = lab->hash;
	result->events = lab->events;
	for (unsigned i = 0; i < lab->profile_count; i++)
		result_given(result, "profile", "%s", lab->profiles[i]);
	result_given(result, "world", "%s", lab->world);
	return true;
}

/* ---- sensitivity ---- */

enum { LESS, MORE, WAYS, DECIMALS = 2 };

#define LEAST 0.005 /* percent: less is 0.00 */
#define SEEN 0.01   /* of the largest change: less is no bar */

/* What came of one of them.  It is shared, so there is no pointer in it. */
struct repetition {
	struct lab_progress progress;
	bool ran;
	char why[2 * LAB_WHY];
	double changes[]; /* of each metric, in percent of what it is without */
};

struct varying {
	const struct experiment *experiment;
	struct lab *lab;
	const struct result *first;
	struct arena *scratch;
	struct lab_crew *crew;
	int percent;
	unsigned metrics, count; /* repetitions */
	char *repetitions;       /* one after the other, each of so many bytes */
	size_t bytes;
};

static struct repetition *
repetition_of(const struct varying *v, unsigned i)
{
	return (struct repetition *)(void *)(v->repetitions + i * v->bytes);
}

static double
change_by(const struct varying *v, unsigned constant, unsigned way, unsigned metric)
{
	return repetition_of(v, constant * WAYS + way)->changes[metric];
}

static unsigned
count_metrics(const struct result *result)
{
	unsigned count = 0;

	result_each(&result->metrics, struct result_metric, metric)
		count++;
	return count;
}

static double
change_of(double from, double to)
{
	return from != 0 ? (to - from) / fabs(from) * 100 : to == 0 ? 0 : NAN;
}

/* How far all of them are, each as it was seen last. */
static void
look(void *arg)
{
	const struct varying *v = arg;
	struct lab_progress all = v->lab->progress;

	if (v->lab->watch == NULL)
		return;
	all.of += v->count * v->lab->progress.of;
	for (unsigned i = 0; i < v->count; i++) {
		all.measured += repetition_of(v, i)->progress.measured;
		all.virtual_ns += repetition_of(v, i)->progress.virtual_ns;
	}
	v->lab->watch(v->lab->watch_arg, &all);
}

/* Of a repetition that is done here. */
struct watched {
	struct varying *varying;
	struct repetition *repetition;
};

static void
watch(void *arg, const struct lab_progress *progress)
{
	struct watched *watched = arg;

	watched->repetition->progress = *progress;
	if (watched->varying->crew == NULL)
		look(watched->varying);
}

static bool
repeat(void *arg, unsigned i)
{
	struct varying *v = arg;
	struct repetition *repetition = repetition_of(v, i);
	struct watched watched = { v, repetition };
	double *changes = repetition->changes;
	struct result result;
	struct lab again;

	lab_init(&again, v->scratch, v->lab->maker, v->lab->seed);
	again.variation = (struct lab_variation){
		v->lab->constants[i / WAYS], i % WAYS == LESS ? -v->percent : v->percent,
	};
	again.quick = v->lab->quick;
	again.workloads = v->lab->workloads;
	again.watch = watch;
	again.watch_arg = &watched;
	result_init(&result, v->scratch, v->first->name, v->first->seed);
	repetition->ran = experiment_run(v->experiment, &again, &result);
	if (repetition->ran) {
		const struct result_metric *now = result_first(&result.metrics, struct result_metric);

		result_each(&v->first->metrics, struct result_metric, was) {
			*changes++ = now != NULL ? change_of(was->value, now->value) : NAN;
			now = now != NULL ? result_next(now, struct result_metric) : NULL;
		}
	} else {
		snprintf(repetition->why, sizeof(repetition->why), "%s", again.why);
	}
	arena_drop(v->scratch);
	return repetition->ran;
}

static bool
repeat_all(struct varying *v)
{
	char why[LAB_WHY] = "";
	bool all = true;

	if (v->crew != NULL)
		all = v->crew->work(v->crew, v->count, repeat, look, v, why);
	else
		for (unsigned i = 0; i < v->count && all; i++)
			all = repeat(v, i);
	for (unsigned i = 0; i < v->count; i++)
		if (repetition_of(v, i)->why[0] != '\0')
			lab_refuse(v->lab, "with %s %+d %%: %s", v->lab->constants[i / WAYS],
			    i % WAYS == LESS ? -v->percent : v->percent, repetition_of(v, i)->why);
	if (!all)
		lab_refuse(v->lab, "%s", why);
	return all;
}

static double
reach(const struct varying *v, unsigned constant, unsigned metric)
{
	double less = change_by(v, constant, LESS, metric), more = change_by(v, constant, MORE, metric);

	return fmax(isfinite(less) ? fabs(less) : 0, isfinite(more) ? fabs(more) : 0);
}

/* Constants, what changes the metric most first. */
static void
sort(const struct varying *v, unsigned metric, unsigned order[LAB_CONSTANTS_MAX])
{
	for (unsigned i = 0; i < v->lab->constant_count; i++) {
		unsigned at = i;

		for (; at > 0 && reach(v, i, metric) > reach(v, order[at - 1], metric); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

static struct result_table *
table_make(struct result *result, const struct varying *v)
{
	const struct result_column columns[] = {
		{ "metric", "", 0, true }, { "constant", "", 0, true },
		{ "less", "%", DECIMALS, false }, { "more", "%", DECIMALS, false },
	};
	char title[128];

	snprintf(title, sizeof(title), "Change of each metric where a constant is %d %% less or more, if there is any",
	    v->percent);
	return result_table(result, "sensitivity", title, columns, 4);
}

/* Whether it is more than what is shown as zero; also where one of the two could not be had. */
static bool
is_change(const struct varying *v, unsigned constant, unsigned metric)
{
	return !isfinite(change_by(v, constant, LESS, metric)) || !isfinite(change_by(v, constant, MORE, metric)) ||
	    reach(v, constant, metric) >= LEAST;
}

static void
add_rows(struct result_table *table, const struct varying *v, const struct result_metric *metric, unsigned index)
{
	unsigned order[LAB_CONSTANTS_MAX];

	sort(v, index, order);
	for (unsigned i = 0; i < v->lab->constant_count; i++) {
		if (!is_change(v, order[i], index))
			continue;
		result_cell_text(table, "%s", metric->name);
		result_cell_text(table, "%s", v->lab->constants[order[i]]);
		result_cell_number(table, change_by(v, order[i], LESS, index));
		result_cell_number(table, change_by(v, order[i], MORE, index));
	}
}

/* How many of them are drawn: those that are seen beside the largest, and one in any case. */
static unsigned
count_drawn(const struct varying *v, const unsigned *order, unsigned metric)
{
	unsigned drawn = 0;

	while (drawn < v->lab->constant_count && reach(v, order[drawn], metric) >= LEAST &&
	    reach(v, order[drawn], metric) >= SEEN * reach(v, order[0], metric))
		drawn++;
	return drawn > 0 ? drawn : 1;
}

static void
add_bars(struct result_figure *figure, const struct varying *v, const unsigned *order, unsigned drawn, unsigned metric)
{
	for (unsigned way = 0; way < WAYS; way++) {
		char name[64];
		struct result_series *series;

		snprintf(name, sizeof(name), "%d %% %s", v->percent, way == LESS ? "less" : "more");
		series = result_series(figure, name, false);
		for (unsigned i = 0; i < drawn; i++) {
			double change = change_by(v, order[i], way, metric);

			result_bar(series, v->lab->constants[order[i]], isfinite(change) ? change : 0);
		}
	}
}

/* Of one metric: what changes it most is on top. */
static void
add_figure(struct result *result, const struct varying *v, const struct result_metric *metric, unsigned index)
{
	unsigned order[LAB_CONSTANTS_MAX], drawn, count = v->lab->constant_count;
	char name[64], title[128], others[96] = "";
	struct result_figure *figure;

	sort(v, index, order);
	drawn = count_drawn(v, order, index);
	if (drawn < count)
		snprintf(others, sizeof(others), " %u more change it by %.2f %% at most.", count - drawn,
		    reach(v, order[drawn], index));
	snprintf(name, sizeof(name), "sensitivity-%u", index + 1);
	snprintf(title, sizeof(title), "What %.90s depends on", metric->name);
	figure = result_figure(result, RESULT_BARS, name, title,
	    (struct result_axis){ metric->name, "% of change", RESULT_LINEAR },
	    (struct result_axis){ "", "", RESULT_LINEAR });
	result_caption(figure, "Each constant %d %% less and %d %% more, the others as they are.%s", v->percent,
	    v->percent, others);
	add_bars(figure, v, order, drawn, index);
}

static void
add_all(struct result *result, const struct varying *v)
{
	struct result_table *table = table_make(result, v);
	unsigned index = 0;

	result_each(&result->metrics, struct result_metric, metric) {
		add_rows(table, v, metric, index);
		add_figure(result, v, metric, index++);
	}
}

bool
experiment_vary(const struct experiment *experiment, struct lab *lab, struct result *result, int percent,
    struct arena *scratch, struct lab_crew *crew)
{
	struct varying v = {
		.experiment = experiment, .lab = lab, .first = result, .scratch = scratch, .crew = crew,
		.percent = percent, .metrics = count_metrics(result), .count = lab->constant_count * WAYS,
	};
	size_t all;
	bool ran;

	if (v.count == 0) {
		result_given(result, "sensitivity", "there is no constant that it depends on");
		return true;
	}
	v.bytes = (sizeof(struct repetition) + v.metrics * sizeof(double) + 63) / 64 * 64;
	all = v.count * v.bytes;
	v.repetitions = crew != NULL ? crew->share(crew, all) : lab_alloc(lab, all);
	if (v.repetitions == NULL) {
		lab_refuse(lab, "there is no memory for what comes of repetitions");
		return false;
	}
	look(&v);
	ran = repeat_all(&v);
	if (ran)
		add_all(result, &v);
	if (crew != NULL)
		crew->unshare(crew, v.repetitions, all);
	return ran;
}
