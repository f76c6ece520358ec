/*
 * flash_published.c - is each modelled drive as fast as what is published of it says?
 *
 * Each point is measured as its source did it: on a drive in that state, with accesses of that size and so many in
 * flight.  Where the source counts I/Os a second at depth 1, the host's own time stands between one and the next.
 * Numbers that nobody publishes were chosen so that some of these points are met; the others are predictions.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments.h"
#include "place/stats.h"

enum { POINTS_MAX = 4 /* of a drive in one state: two phases for each */ };

enum { KIB = 1024, TOLERANCE = 15 /* percent */ };

enum kind { LATENCY, RATE, THROUGHPUT };

static const struct {
	const char *name, *unit;
	unsigned decimals;
	enum lab_metric metric;
} kinds[] = {
	[LATENCY] = { "mean latency", "us", 1, LAB_MEAN },
	[RATE] = { "I/Os per second", "1/s", 0, LAB_IOPS },
	[THROUGHPUT] = { "throughput", "MB/s", 0, LAB_MBPS },
};

struct point {
	const char *what, *source;
	enum kind kind;
	enum lab_op op;
	uint32_t bytes, depth;
	bool sequential;
	unsigned host_us;            /* between the end of one and the begin of the next, at depth 1 */
	unsigned settle_ms, ms;
	double published;
	bool fitted;                 /* a number of the profile was chosen by it: that it is met says less */
	const char *unheld;          /* why the model is not held to it; NULL: it is */
};

struct state {
	const char *name, *spec;
	struct point points[POINTS_MAX];
};

#define PREDICTED false, NULL
#define FITTED true, NULL

#define PM983 "PM983 data sheet"
#define GIMBAL "Gimbal, SIGCOMM 2021"
#define EVO "970 EVO data sheet"
#define ANANDTECH "AnandTech, P4800X"
#define P4800X "P4800X data sheet"
#define P5336 "D5-P5336 product brief"

static const struct state states[] = {
	{ "tlc-plp, fragmented", "flash:tlc-plp,8G,state=fragmented,data=no", {
		{ "random read, depth 1", PM983, LATENCY, LAB_READ, 4 * KIB, 1, false, 0, 1, 100, 85, FITTED },
		{ "random read, depth 128", PM983, RATE, LAB_READ, 4 * KIB, 128, false, 0, 5, 100, 400000, PREDICTED },
		{ "random read, depth 128", GIMBAL, THROUGHPUT, LAB_READ, 4 * KIB, 128, false, 0, 5, 100, 1600,
		    PREDICTED },
		{ "random read, depth 1", GIMBAL, LATENCY, LAB_READ, 128 * KIB, 1, false, 0, 5, 200, 230, PREDICTED },
	} },
	{ "tlc-plp, fragmented", "flash:tlc-plp,8G,state=fragmented,data=no", {
		{ "sequential write, depth 1", PM983, LATENCY, LAB_WRITE, 4 * KIB, 1, true, 0, 1, 50, 15, FITTED },
		{ "random write, depth 1", PM983, LATENCY, LAB_WRITE, 4 * KIB, 1, false, 0, 1, 50, 50, false,
		    "a write is answered from the buffer, wherever it goes to" },
		{ "random write, depth 128", GIMBAL, THROUGHPUT, LAB_WRITE, 4 * KIB, 128, false, 0, 1000, 2000, 180,
		    FITTED },
		{ "random write, depth 128", PM983, RATE, LAB_WRITE, 4 * KIB, 128, false, 0, 100, 2000, 40000, FITTED },
	} },
	{ "tlc-consumer, sequential", "flash:tlc-consumer,8G,state=sequential,data=no", {
		{ "random read, depth 1", EVO, RATE, LAB_READ, 4 * KIB, 1, false, 5, 1, 100, 15000, FITTED },
		{ "random read, depth 128", EVO, RATE, LAB_READ, 4 * KIB, 128, false, 0, 5, 100, 500000, PREDICTED },
		{ "sequential read, depth 32", "PM981 data sheet", THROUGHPUT, LAB_READ, 128 * KIB, 32, true, 0, 5, 100,
		    3000, PREDICTED },
	} },
	{ "tlc-consumer, new", "flash:tlc-consumer,8G,data=no", {
		{ "random write, depth 1", EVO, RATE, LAB_WRITE, 4 * KIB, 1, false, 5, 1, 50, 50000, FITTED },
		{ "random write, depth 128", EVO, RATE, LAB_WRITE, 4 * KIB, 128, false, 0, 10, 70, 450000, PREDICTED },
	} },
	{ "tlc-consumer, new", "flash:tlc-consumer,8G,data=no", {
		{ "sequential write, depth 32", "AnandTech, PM981", THROUGHPUT, LAB_WRITE, 128 * KIB, 32, true, 0, 20,
		    120, 1900, FITTED },
		{ "beyond the SLC cache", "AnandTech, 970 EVO", THROUGHPUT, LAB_WRITE, 128 * KIB, 32, true, 0, 300,
		    1000, 1200, FITTED },
	} },
	{ "optane", "flash:optane,8G,data=no", {
		{ "random read, depth 1", ANANDTECH, LATENCY, LAB_READ, 4 * KIB, 1, false, 0, 1, 50, 8.9, FITTED },
		{ "random read, depth 16", ANANDTECH, RATE, LAB_READ, 4 * KIB, 16, false, 0, 1, 50, 584800, PREDICTED },
		{ "random read, depth 16", ANANDTECH, LATENCY, LAB_READ, 4 * KIB, 16, false, 0, 1, 50, 25.5,
		    PREDICTED },
		{ "random read, depth 16", P4800X, RATE, LAB_READ, 4 * KIB, 16, false, 0, 1, 50, 550000, PREDICTED },
	} },
	{ "optane", "flash:optane,8G,data=no", {
		{ "random write, depth 16", P4800X, RATE, LAB_WRITE, 4 * KIB, 16, false, 0, 1, 50, 500000, FITTED },
		{ "sequential read, depth 16", P4800X, THROUGHPUT, LAB_READ, 128 * KIB, 16, true, 0, 5, 50, 2400,
		    FITTED },
		{ "sequential write, depth 16", P4800X, THROUGHPUT, LAB_WRITE, 128 * KIB, 16, true, 0, 5, 50, 2000,
		    FITTED },
	} },
	{ "qlc, sequential", "flash:qlc,64G,state=sequential,data=no", {
		{ "random read, depth 1", P5336, LATENCY, LAB_READ, 4 * KIB, 1, false, 0, 1, 100, 110, FITTED },
		{ "random read, depth 512", P5336, RATE, LAB_READ, 4 * KIB, 512, false, 0, 5, 50, 930000, false,
		    "of a later controller; the profile's limit is chosen" },
		{ "sequential read, depth 64", P5336, THROUGHPUT, LAB_READ, 128 * KIB, 64, true, 0, 10, 100, 7000,
		    PREDICTED },
		{ "sequential write, depth 64", P5336, THROUGHPUT, LAB_WRITE, 128 * KIB, 64, true, 0, 500, 1000,
		    3200, FITTED },
	} },
	{ "qlc, fragmented", "flash:qlc,64G,state=fragmented,data=no", {
		{ "random write of one unit", P5336 ", 16 KiB", THROUGHPUT, LAB_WRITE, 64 * KIB, 64, false, 0, 2000,
		    4000, 704, PREDICTED },
		{ "random write", P5336, THROUGHPUT, LAB_WRITE, 16 * KIB, 64, false, 0, 2000, 2000, 704, false,
		    "units of the P5336 have 16 KiB, those of the P5316 64" },
	} },
};

enum { STATES = sizeof(states) / sizeof(states[0]) };

/* ---- what is measured ---- */

static unsigned
count_of(const struct state *state)
{
	unsigned count = 0;

	while (count < POINTS_MAX && state->points[count].what != NULL)
		count++;
	return count;
}

static void
add_point(struct lab_setup *setup, unsigned index, const struct point *point)
{
	struct lab_job *job = lab_setup_job(setup, point->what, point->op, point->bytes, point->depth);

	job->sequential_percent = point->sequential ? 100 : 0;
	job->phases = UINT32_C(3) << 2 * index;
	lab_setup_phase(setup, "settle", point->settle_ms * LAB_MS, false);
	lab_setup_phase(setup, point->what, point->ms * LAB_MS, true);
}

static double
found(const struct lab_outcome *outcome, unsigned index, const struct point *point)
{
	unsigned phase = 2 * index + 1;
	int job = (int)index, op = (int)point->op;

	if (point->host_us > 0)
		return 1e6 / (lab_metric_of(outcome, job, phase, op, LAB_MEAN) + point->host_us);
	return lab_metric_of(outcome, job, phase, op, kinds[point->kind].metric);
}

static bool
measure(struct lab *lab, const struct state *state, double *values, uint64_t *failed)
{
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	const struct lab_outcome *outcome;

	lab_setup_init(setup, LAB_DIRECT);
	lab_setup_device(setup, "%s", state->spec);
	for (unsigned i = 0; i < count_of(state); i++)
		add_point(setup, i, &state->points[i]);
	outcome = lab_run(lab, setup);
	if (outcome == NULL)
		return false;
	*failed += lab_failed(outcome);
	for (unsigned i = 0; i < count_of(state); i++)
		values[i] = found(outcome, i, &state->points[i]);
	return true;
}

/* ---- what is told of it ---- */

typedef double values_of[STATES][POINTS_MAX];

static void
tell(struct result *result, const char *name, const char *title, values_of *values, bool held)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "what", "", 0, true }, { "KiB", "", 0, false }, { "of it", "", 0, true },
		{ "published", "", 1, false }, { "modelled", "", 1, false }, { "unit", "", 0, true },
		{ "error", "%", 1, false }, { "source", "", 0, true },
		{ held ? "fitted" : "why not", "", 0, true },
	};
	struct result_table *table = result_table(result, name, title, columns, 10);

	for (unsigned s = 0; s < STATES; s++)
		for (unsigned i = 0; i < count_of(&states[s]); i++) {
			const struct point *point = &states[s].points[i];

			if (held != (point->unheld == NULL))
				continue;
			result_cell_text(table, "%s", states[s].name);
			result_cell_text(table, "%s", point->what);
			result_cell_number(table, point->bytes / KIB);
			result_cell_text(table, "%s", kinds[point->kind].name);
			result_cell_number(table, point->published);
			result_cell_number(table, (*values)[s][i]);
			result_cell_text(table, "%s", kinds[point->kind].unit);
			result_cell_number(table, stats_percent_error((*values)[s][i], point->published));
			result_cell_text(table, "%s", point->source);
			result_cell_text(table, "%s", held ? (point->fitted ? "yes" : "no") : point->unheld);
		}
}

static void
draw(struct result *result, values_of *values)
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, "published", "Modelled drives beside what "
	    "is published",
	    (struct result_axis){ "published (us, or MB/s, or I/Os per second)", "", RESULT_LOG },
	    (struct result_axis){ "modelled", "", RESULT_LOG });
	static const char *const drives[] = { "tlc-plp", "tlc-consumer", "optane", "qlc" };
	static const struct { const char *name; double factor; } lines[] = {
		{ "the same", 1 }, { "15 % more", 1.15 }, { "15 % less", 0.85 },
	};

	for (unsigned l = 0; l < 3; l++) {
		struct result_series *series = result_series(figure, lines[l].name, false);

		result_point(series, 5, 5 * lines[l].factor);
		result_point(series, 1e6, 1e6 * lines[l].factor);
	}
	for (unsigned d = 0; d < 4; d++) {
		struct result_series *series = result_series(figure, drives[d], true);

		for (unsigned s = 0; s < STATES; s++)
			for (unsigned i = 0; i < count_of(&states[s]); i++)
				if (strncmp(states[s].name, drives[d], strlen(drives[d])) == 0 &&
				    states[s].points[i].unheld == NULL)
					result_point(series, states[s].points[i].published, (*values)[s][i]);
	}
	result_caption(figure, "Each point is one of the list in the figure `points`.");
}

/* The list of points: how far from each the model is. */
static void
draw_errors(struct result *result, values_of *values)
{
	struct result_figure *figure = result_figure(result, RESULT_BARS, "points", "How far modelled drives are from "
	    "what is published",
	    (struct result_axis){ "modelled over published, less one", "%", RESULT_LINEAR },
	    (struct result_axis){ "", "", RESULT_LINEAR });
	struct result_series *series = result_series(figure, "error", false);

	for (unsigned s = 0; s < STATES; s++)
		for (unsigned i = 0; i < count_of(&states[s]); i++) {
			const struct point *point = &states[s].points[i];
			double error = stats_percent_error((*values)[s][i], point->published);
			char label[160];

			if (point->unheld != NULL)
				continue;
			snprintf(label, sizeof(label), "%s: %s, %u KiB: %g %s (%s)%s", states[s].name, point->what,
			    point->bytes / KIB, point->published, kinds[point->kind].unit, point->source,
			    point->fitted ? " *" : "");
			result_bar(series, label, isfinite(error) ? error : 0);
		}
	result_caption(figure, "Each point with its source, as published. *: a number of the profile was chosen by it. "
	    "At most %d %% are allowed. No bar: it is met, or was not measured.", TOLERANCE);
}

static void
conclude(struct result *result, values_of *values)
{
	double worst = 0, worst_predicted = 0;

	for (unsigned s = 0; s < STATES; s++)
		for (unsigned i = 0; i < count_of(&states[s]); i++) {
			const struct point *point = &states[s].points[i];
			double error = stats_percent_error((*values)[s][i], point->published);
			char name[96];

			if (point->unheld == NULL)
				worst = stats_worse(worst, error);
			if (point->unheld == NULL && !point->fitted)
				worst_predicted = stats_worse(worst_predicted, error);
			snprintf(name, sizeof(name), "%s: %s, %u KiB, %s", states[s].name, point->what,
			    point->bytes / KIB, kinds[point->kind].name);
			result_metric(result, name, kinds[point->kind].unit, kinds[point->kind].decimals,
			    (*values)[s][i]);
		}
	result_check(result, "flash_error_max_percent", "%", 1, worst, RESULT_AT_MOST, TOLERANCE, 0);
	result_metric(result, "flash_error_max_percent", "%", 1, worst);
	result_metric(result, "flash_error_predicted_max_percent", "%", 1, worst_predicted);
}

static void
run(struct lab *lab, struct result *result)
{
	values_of *values = lab_alloc(lab, sizeof(*values));
	uint64_t failed = 0;

	lab_expect(lab, STATES);
	for (unsigned s = 0; s < STATES; s++)
		if (!measure(lab, &states[s], (*values)[s], &failed))
			return;
	tell(result, "points", "What is published, and what the model does", values, true);
	tell(result, "unheld", "What is published, and is not modelled", values, false);
	draw(result, values);
	draw_errors(result, values);
	conclude(result, values);
	result_check(result, "I/Os that failed", "", 0, (double)failed, RESULT_AT_MOST, 0, 0);
}

const struct experiment flash_published = {
	.name = "flash-published", .group = "flash",
	.question = "is each modelled drive as fast as what is published of it says?",
	.known = "Data sheets, papers and reviews; the source of each point stands in the table. Those of the QLC "
	    "drive are of its successor.",
	.run = run,
};
