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

enum { LESS, MORE, WAYS };

/* What one constant did: the change of each metric, in percent of what it is without. */
struct varied {
	const char *constant;
	double *changes[WAYS];
};

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

static bool
vary_once(const struct experiment *experiment, struct lab *lab, const struct result *first,
    struct lab_variation variation, struct arena *scratch, double *changes)
{
	struct lab again;
	struct result result;
	bool ran;

	lab_init(&again, scratch, lab->maker, lab->seed);
	again.variation = variation;
	result_init(&result, scratch, first->name, first->seed);
	ran = experiment_run(experiment, &again, &result);
	if (ran) {
		const struct result_metric *now = result_first(&result.metrics, struct result_metric);

		result_each(&first->metrics, struct result_metric, was) {
			*changes++ = now != NULL ? change_of(was->value, now->value) : NAN;
			now = now != NULL ? result_next(now, struct result_metric) : NULL;
		}
	} else {
		lab_refuse(lab, "with %s %+d %%: %s", variation.constant, variation.percent, again.why);
	}
	arena_drop(scratch);
	return ran;
}

static void
add_table(struct result *result, const struct varied *varied, unsigned count, int percent)
{
	const struct result_column columns[] = {
		{ "constant", "", 0, true }, { "metric", "", 0, true },
		{ "less", "%", 2, false }, { "more", "%", 2, false },
	};
	char title[96];
	struct result_table *table;

	snprintf(title, sizeof(title), "Change of each metric where a constant is %d %% less or more", percent);
	table = result_table(result, "sensitivity", title, columns, 4);
	for (unsigned i = 0; i < count; i++) {
		unsigned m = 0;

		result_each(&result->metrics, struct result_metric, metric) {
			result_cell_text(table, "%s", varied[i].constant);
			result_cell_text(table, "%s", metric->name);
			result_cell_number(table, varied[i].changes[LESS][m]);
			result_cell_number(table, varied[i].changes[MORE][m++]);
		}
	}
}

static double
reach(const struct varied *varied, unsigned metric)
{
	double less = varied->changes[LESS][metric], more = varied->changes[MORE][metric];

	return fmax(isfinite(less) ? fabs(less) : 0, isfinite(more) ? fabs(more) : 0);
}

/* Of one metric: what changes it most is on top. */
static void
add_figure(struct result *result, const struct result_metric *metric, unsigned index, const struct varied *varied,
    unsigned count, int percent)
{
	const struct varied *order[LAB_CONSTANTS_MAX];
	char name[64], title[128], caption[160];
	struct result_figure *figure;

	for (unsigned i = 0; i < count; i++) {
		unsigned at = i;

		for (; at > 0 && reach(&varied[i], index) > reach(order[at - 1], index); at--)
			order[at] = order[at - 1];
		order[at] = &varied[i];
	}
	snprintf(name, sizeof(name), "sensitivity-%u", index + 1);
	snprintf(title, sizeof(title), "What %.90s depends on", metric->name);
	figure = result_figure(result, RESULT_TORNADO, name, title,
	    (struct result_axis){ metric->name, "% of change", RESULT_LINEAR },
	    (struct result_axis){ "", "", RESULT_LINEAR });
	snprintf(caption, sizeof(caption), "Each constant %d %% less and %d %% more, the others as they are.", percent,
	    percent);
	result_caption(figure, "%s", caption);
	for (unsigned way = 0; way < WAYS; way++) {
		struct result_series *series;

		snprintf(name, sizeof(name), "%d %% %s", percent, way == LESS ? "less" : "more");
		series = result_series(figure, name, false);
		for (unsigned i = 0; i < count; i++) {
			double change = order[i]->changes[way][index];

			result_bar(series, order[i]->constant, isfinite(change) ? change : 0);
		}
	}
}

bool
experiment_vary(const struct experiment *experiment, struct lab *lab, struct result *result, int percent,
    struct arena *scratch)
{
	unsigned metrics = count_metrics(result), index = 0;
	struct varied *varied = lab_alloc(lab, (lab->constant_count + 1) * sizeof(*varied));

	for (unsigned i = 0; i < lab->constant_count; i++) {
		varied[i].constant = lab->constants[i];
		for (unsigned way = 0; way < WAYS; way++) {
			struct lab_variation variation = { lab->constants[i], way == LESS ? -percent : percent };

			varied[i].changes[way] = lab_alloc(lab, (metrics + 1) * sizeof(double));
			if (!vary_once(experiment, lab, result, variation, scratch, varied[i].changes[way]))
				return false;
		}
	}
	add_table(result, varied, lab->constant_count, percent);
	result_each(&result->metrics, struct result_metric, metric)
		add_figure(result, metric, index++, varied, lab->constant_count, percent);
	return true;
}
