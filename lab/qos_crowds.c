/*
 * qos_crowds.c - are shares equal with numbers of tenants, and on drives, that nothing was chosen by?
 *
 * What the matrix (qos_matrix.c) asks, of all four profiles, clean and fragmented, and of 1 to 64 tenants; slots are
 * chosen by two and four (qos_drive.c), and none by a consumer drive.  One seed, and less long.
 */
#include <math.h>

#include "experiments.h"
#include "qos_cell.h"

enum { COUNTS = 5, CELLS = QOS_DRIVES * QOS_MIXES * COUNTS, WITH_ORACLE = 8 };

static const unsigned counts[COUNTS] = { 1, 3, 8, 32, 64 };

struct asked {
	struct policy_terms terms[QOS_DRIVES];
	double alone[QOS_DRIVES * QOS_MIXES][QOS_HALVES];
	enum qos_drive drives[QOS_DRIVES];
	unsigned drive_count;
	uint64_t settle_ns, measure_ns;
};

struct found {
	struct qos_ran fifo, switched, oracle; /* the last with WITH_ORACLE tenants alone */
};

static unsigned cell_count(const struct asked *asked) { return asked->drive_count * QOS_MIXES * COUNTS; }

static struct qos_cell
cell_of(const struct asked *asked, unsigned i)
{
	unsigned drive = i / (QOS_MIXES * COUNTS), mix = i / COUNTS % QOS_MIXES;

	return (struct qos_cell){
		.drive = asked->drives[drive], .mix = &qos_mixes[mix], .tenants = counts[i % COUNTS],
		.settle_ns = asked->settle_ns, .measure_ns = asked->measure_ns,
		.alone = { asked->alone[i / COUNTS][0], asked->alone[i / COUNTS][1] }, .terms = asked->terms[drive],
	};
}

/* ---- what is measured ---- */

static bool
find_terms(struct lab *lab, const void *arg, unsigned i, void *found)
{
	return qos_drive_terms(lab, ((const struct asked *)arg)->drives[i], 0, found);
}

static bool
find_alone(struct lab *lab, const void *arg, unsigned i, void *found)
{
	struct qos_cell cell = cell_of(arg, i * COUNTS);

	return qos_cell_alone(lab, &cell, found);
}

/* The largest, which take longest, come first. */
static bool
find_cell(struct lab *lab, const void *arg, unsigned i, void *result)
{
	struct qos_cell cell = cell_of(arg, i);
	struct found *found = result;

	if (!qos_cell_run(lab, &cell, &policy_fifo, 0, &found->fifo) ||
	    !qos_cell_run(lab, &cell, &policy_switch, 0, &found->switched))
		return false;
	return cell.tenants != WITH_ORACLE || qos_cell_oracle(lab, &cell, found->switched.mean, &found->oracle);
}

static bool
measure(struct lab *lab, struct asked *asked, struct found *found)
{
	for (unsigned d = 0; d < asked->drive_count; d++)
		if (!qos_drive_ready(lab, asked->drives[d]))
			return false;
	return lab_each(lab, asked->drive_count, find_terms, asked, asked->terms, sizeof(asked->terms[0])) &&
	    lab_each(lab, asked->drive_count * QOS_MIXES, find_alone, asked, asked->alone, sizeof(asked->alone[0])) &&
	    lab_each(lab, cell_count(asked), find_cell, asked, found, sizeof(*found));
}

/* ---- what is said of it ---- */

static void
tell_row(struct result_table *table, const struct qos_cell *cell, const char *policy, const struct qos_ran *ran)
{
	const double numbers[] = {
		ran->most / ran->least, ran->least, ran->most, ran->bytes / 1e6,
		ran->mean_us[0], ran->p99_us[0], ran->p999_us[0], ran->mean_us[1], ran->p99_us[1], ran->p999_us[1],
	};

	result_cell_text(table, "%s", qos_drives[cell->drive].name);
	result_cell_text(table, "%s", cell->mix->name);
	result_cell_number(table, cell->tenants);
	result_cell_text(table, "%s", policy);
	for (unsigned n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
		result_cell_number(table, numbers[n]);
}

static void
tell(struct result *result, const struct asked *asked, const struct found *found)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "mix", "", 0, true }, { "tenants", "", 0, false },
		{ "behind", "", 0, true }, { "spread", "", 2, false }, { "f least", "", 2, false },
		{ "f most", "", 2, false },
		{ "all", "MB/s", 1, false }, { "mean, first half", "us", 0, false }, { "p99", "us", 0, false },
		{ "p99.9", "us", 0, false }, { "mean, second half", "us", 0, false }, { "p99", "us", 0, false },
		{ "p99.9", "us", 0, false },
	};
	struct result_table *table = result_table(result, "cells", "1 to 64 tenants, on all drives", columns, 14);

	for (unsigned c = 0; c < cell_count(asked); c++) {
		struct qos_cell cell = cell_of(asked, c);

		tell_row(table, &cell, "switch", &found[c].switched);
		tell_row(table, &cell, "FIFO", &found[c].fifo);
		if (cell.tenants == WITH_ORACLE)
			tell_row(table, &cell, "ORACLE", &found[c].oracle);
	}
}

static void
draw(struct result *result, const struct asked *asked, const struct found *found)
{
	for (unsigned mix = 0; mix < QOS_MIX_WRITES; mix++) {
		struct result_figure *figure = result_figure(result, RESULT_LINES, mix == 0 ? "sizes" : "kinds",
		    qos_mixes[mix].name, (struct result_axis){ "tenants", "", RESULT_LOG2 },
		    (struct result_axis){ "max f / min f", "", RESULT_LINEAR });

		result_caption(figure, "Behind the switch. 1 is fair.");
		for (unsigned d = 0; d < asked->drive_count; d++) {
			struct result_series *series = result_series(figure, qos_drives[asked->drives[d]].name, false);

			for (unsigned n = 1; n < COUNTS; n++) {
				const struct qos_ran *ran = &found[(d * QOS_MIXES + mix) * COUNTS + n].switched;

				result_point(series, counts[n], ran->most / ran->least);
			}
		}
	}
}

static void
conclude(struct result *result, const struct asked *asked, const struct found *found)
{
	double spread = 0, fifo = 0, utilisation = INFINITY;

	for (unsigned c = 0; c < cell_count(asked); c++) {
		spread = fmax(spread, found[c].switched.most / found[c].switched.least);
		fifo = fmax(fifo, found[c].fifo.most / found[c].fifo.least);
		if (counts[c % COUNTS] == WITH_ORACLE)
			utilisation = fmin(utilisation, found[c].switched.mean / found[c].oracle.mean);
	}
	result_metric(result, "spread, worst cell", "", 3, spread);
	result_metric(result, "spread of FIFO, worst cell", "", 2, fifo);
	result_metric(result, "utilisation of eight tenants, worst cell", "", 3, utilisation);
	result_check(result, "spread", "", 3, spread, RESULT_AT_MOST, 1.35, 0);
	result_check(result, "utilisation of eight tenants", "", 3, utilisation, RESULT_AT_LEAST, 0.95, 0);
}

static void
run(struct lab *lab, struct result *result)
{
	struct asked *asked = lab_alloc(lab, sizeof(*asked));
	struct found *found = lab_alloc(lab, CELLS * sizeof(*found));

	asked->settle_ns = (lab->quick ? 1000 : 2000) * LAB_MS;
	asked->measure_ns = (lab->quick ? 300 : 3000) * LAB_MS;
	for (enum qos_drive drive = 0; drive < QOS_DRIVES; drive++)
		if (!lab->quick || drive == QOS_DRIVE_CONSUMER)
			asked->drives[asked->drive_count++] = drive;
	if (!measure(lab, asked, found))
		return;
	qos_drive_tell(result, asked->drives, asked->terms, asked->drive_count);
	tell(result, asked, found);
	draw(result, asked, found);
	conclude(result, asked, found);
}

const struct experiment qos_crowds = {
	.name = "qos-crowds", .group = "qos",
	.question = "are shares equal with numbers of tenants, and on drives, that nothing was chosen by?",
	.known = "The bars are those of qos-matrix, which they are not stated for.", .run = run,
};
