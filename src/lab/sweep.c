#include "lab/sweep.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* Before the metrics: series, x, job, operation. */
enum { LABELS = 4 };

struct sweeping {
	const struct sweep *sweep;
	struct lab *lab;
	struct result *result;
	struct result_table *table, *counted; /* the latter NULL as long as no counter has grown */
	struct swept *swept;
	uint64_t failed;
};

static struct result_table *
table_make(const struct sweep *sweep, struct result *result)
{
	struct result_column columns[LABELS + LAB_METRICS] = {
		{ "series", "", 0, true }, { sweep->x.name, sweep->x.unit, 0, true }, { "job", "", 0, true },
		{ "operation", "", 0, true },
	};

	for (unsigned m = 0; m < LAB_METRICS; m++)
		columns[LABELS + m] = (struct result_column){
			lab_metrics[m].name, lab_metrics[m].unit, lab_metrics[m].decimals, false,
		};
	return result_table(result, "measured", "Measured", columns, LABELS + LAB_METRICS);
}

static void
tell(struct sweeping *s, unsigned series, double point, const struct lab_outcome *outcome)
{
	for (unsigned job = 0; job < outcome->setup->job_count; job++)
		for (unsigned op = 0; op < LAB_OPS; op++) {
			if (lab_measure_of(outcome, job, s->sweep->phase)->latency[op].count == 0)
				continue;
			result_cell_text(s->table, "%s", s->sweep->series[series]);
			result_cell_text(s->table, "%g", point);
			result_cell_text(s->table, "%s", outcome->setup->jobs[job].name);
			result_cell_text(s->table, "%s", lab_op_name(op));
			for (unsigned m = 0; m < LAB_METRICS; m++)
				result_cell_number(s->table,
				    lab_metric_of(outcome, (int)job, s->sweep->phase, (int)op, m));
		}
}

static struct result_table *
counted_make(const struct sweep *sweep, struct result *result)
{
	const struct result_column columns[] = {
		{ "series", "", 0, true }, { sweep->x.name, sweep->x.unit, 0, true }, { "device", "", 0, true },
		{ "counter", "", 0, true }, { "growth", "", 0, false },
	};

	return result_table(result, "counted", "Counted by devices", columns, 5);
}

static void
tell_counted(struct sweeping *s, unsigned series, double point, const struct lab_outcome *outcome)
{
	unsigned phase = s->sweep->phase;

	for (unsigned d = 0; d < outcome->setup->device_count; d++) {
		const struct lab_reading *reading = lab_reading_of(outcome, d, phase + 1);

		for (unsigned i = 0; i < reading->count; i++) {
			uint64_t growth = lab_counted(outcome, d, phase, reading->counters[i].name);

			if (growth == 0)
				continue;
			if (s->counted == NULL)
				s->counted = counted_make(s->sweep, s->result);
			result_cell_text(s->counted, "%s", s->sweep->series[series]);
			result_cell_text(s->counted, "%g", point);
			result_cell_text(s->counted, "%s", outcome->setup->devices[d].spec);
			result_cell_text(s->counted, "%s", reading->counters[i].name);
			result_cell_number(s->counted, (double)growth);
		}
	}
}

static void
draw(struct sweeping *s, const struct sweep_drawing *drawing, struct result_series *series, double point,
    const struct lab_outcome *outcome, double *value)
{
	unsigned phase = s->sweep->phase;
	double low, high;

	*value = drawing->value != NULL ? drawing->value(outcome) :
	    lab_metric_of(outcome, drawing->job, phase, drawing->op, drawing->metric);
	low = high = *value;
	if (drawing->spread) {
		low = lab_metric_of(outcome, drawing->job, phase, drawing->op, LAB_P50);
		high = lab_metric_of(outcome, drawing->job, phase, drawing->op, LAB_P99);
	}
	result_point_between(series, point, *value, low, high);
}

static bool
measure(struct sweeping *s, unsigned series, unsigned index, struct result_series *const *lines)
{
	const struct sweep *sweep = s->sweep;
	struct lab_setup *setup = lab_alloc(s->lab, sizeof(*setup));
	const struct lab_outcome *outcome;

	lab_setup_init(setup, sweep->rig);
	sweep->make(series, sweep->points[index], setup, sweep->arg);
	outcome = lab_run(s->lab, setup);
	if (outcome == NULL)
		return false;
	assert(sweep->phase < setup->phase_count && setup->phases[sweep->phase].measured);
	s->failed += lab_failed(outcome);
	tell(s, series, sweep->points[index], outcome);
	tell_counted(s, series, sweep->points[index], outcome);
	for (unsigned d = 0; d < sweep->drawing_count; d++)
		draw(s, &sweep->drawings[d], lines[d], sweep->points[index], outcome,
		    &s->swept->values[d][series][index]);
	return true;
}

static void
figures_make(struct sweeping *s)
{
	for (unsigned d = 0; d < s->sweep->drawing_count; d++) {
		const struct sweep_drawing *drawing = &s->sweep->drawings[d];
		const struct lab_metric_row *row = &lab_metrics[drawing->metric];
		struct result_axis y = {
			drawing->axis != NULL ? drawing->axis : row->name,
			drawing->unit != NULL ? drawing->unit : row->unit, drawing->scale,
		};

		s->swept->figures[d] = result_figure(s->result, RESULT_LINES, drawing->name, drawing->title,
		    s->sweep->x, y);
		if (s->sweep->caption != NULL)
			result_caption(s->swept->figures[d], "%s%s", s->sweep->caption,
			    drawing->spread ? " Bars reach from the median to the 99th percentile." : "");
	}
}

bool
sweep_run(const struct sweep *sweep, struct lab *lab, struct result *result, struct swept *swept)
{
	struct sweeping s = {
		.sweep = sweep, .lab = lab, .result = result, .table = table_make(sweep, result),
		.swept = swept != NULL ? swept : lab_alloc(lab, sizeof(*swept)),
	};

	assert(sweep->series_count <= SWEEP_SERIES_MAX && sweep->point_count <= SWEEP_POINTS_MAX &&
	    sweep->drawing_count <= SWEEP_DRAWINGS_MAX);
	lab_expect(lab, (uint64_t)sweep->series_count * sweep->point_count);
	figures_make(&s);
	for (unsigned series = 0; series < sweep->series_count; series++) {
		struct result_series *lines[SWEEP_DRAWINGS_MAX] = { NULL };

		for (unsigned d = 0; d < sweep->drawing_count; d++)
			lines[d] = result_series(s.swept->figures[d], sweep->series[series], false);
		for (unsigned index = 0; index < sweep->point_count; index++)
			if (!measure(&s, series, index, lines))
				return false;
	}
	result_check(result, "I/Os that failed", "", 0, (double)s.failed, RESULT_AT_MOST, 0, 0);
	return true;
}
