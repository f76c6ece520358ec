/*
 * rio.c - what do ordered writes cost: beside writes that nobody orders, what Linux does, and Horae's way?
 *
 * One cell has bars.  Each other one differs from it in one thing, is held against what it must be (rio_form.c), and is
 * drawn as figures 10 to 12 of Rio (EuroSys 2023) are.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "place/stats.h"
#include "rio_cell.h"

enum { CELLS_MAX = 96, KIB = 1024, BARRED_TIMES = 3 };

static const uint32_t barred_times[BARRED_TIMES] = { 100, 70, 130 };

struct axis {
	enum rio_axis axis;
	uint32_t values[5];
	unsigned count, quick; /* the last so many of them with --quick */
};

static const struct axis axes[] = {
	{ RIO_STREAMS, { 2, 4, 8, 12 }, 4, 1 },
	{ RIO_TARGETS, { 2 }, 1, 1 },
	{ RIO_SSDS, { 4 }, 1, 1 },
	{ RIO_BYTES, { 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB }, 4, 1 },
	{ RIO_BATCH, { 2, 4, 8, 16, 32 }, 5, 1 },
	{ RIO_RTT, { 5, 100 }, 2, 1 },
	{ RIO_BARRIERS, { 1 }, 1, 1 },
	{ RIO_FLUSHES, { 1 }, 1, 1 },
	{ RIO_WINDOW, { 1 }, 1, 1 },
	{ RIO_PIECES, { 1024 }, 1, 1 },
};

enum { AXES = sizeof(axes) / sizeof(axes[0]) };

struct found {
	struct lab_ordered_ran ways[LAB_WAYS];
	double form[LAB_WAYS];
};

struct grid {
	struct rio_cell cells[CELLS_MAX];
	struct found found[CELLS_MAX];
	unsigned count;
	unsigned runs[CELLS_MAX * LAB_WAYS], run_count; /* cells times ways, those that are run */
	uint32_t times_percent; /* of all but the barred cells of other times */
};

/* ---- what is run ---- */

static void
add(const struct lab *lab, struct grid *grid, enum rio_drive drive, enum rio_axis axis, uint32_t value, uint32_t times)
{
	assert(grid->count < CELLS_MAX);
	grid->cells[grid->count++] = (struct rio_cell){
		.drive = drive, .axis = axis, .value = value, .times_percent = times,
		.settle_ns = (lab->quick ? 50 : 100) * LAB_MS, .measure_ns = (lab->quick ? 100 : 1000) * LAB_MS,
		.quick = lab->quick,
	};
}

static void
lay_out(const struct lab *lab, struct grid *grid)
{
	for (unsigned drive = 0; drive < RIO_DRIVES; drive++) {
		for (unsigned i = 0; i < BARRED_TIMES; i++)
			if (grid->times_percent == 100 || barred_times[i] == grid->times_percent)
				add(lab, grid, drive, RIO_NOTHING, 0, barred_times[i]);
		for (unsigned a = 0; a < AXES; a++)
			for (unsigned i = lab->quick ? axes[a].count - axes[a].quick : 0; i < axes[a].count; i++)
				add(lab, grid, drive, axes[a].axis, axes[a].values[i], grid->times_percent);
	}
}

/* Some of what differs is seen of one way alone; others are as in the barred cell. */
static bool
concerns(enum rio_axis axis, enum lab_way way)
{
	switch (axis) {
	case RIO_BARRIERS: case RIO_WINDOW: case RIO_PIECES: return way == LAB_ORDERED;
	case RIO_FLUSHES: return way == LAB_SYNC;
	case RIO_NOTHING: case RIO_STREAMS: case RIO_TARGETS: case RIO_SSDS: case RIO_BYTES: case RIO_BATCH:
	case RIO_RTT: case RIO_AXES:
		break;
	}
	return true;
}

static void
choose(struct grid *grid)
{
	for (unsigned i = 0; i < grid->count * LAB_WAYS; i++)
		if (concerns(grid->cells[i / LAB_WAYS].axis, i % LAB_WAYS))
			grid->runs[grid->run_count++] = i;
}

static bool
run_one(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct grid *grid = arg;
	struct lab_ordered told;

	rio_cell_told(&grid->cells[grid->runs[i] / LAB_WAYS], grid->runs[i] % LAB_WAYS, &told);
	return lab_ordered_run(lab, &told, result);
}

static bool
run_all(struct lab *lab, struct grid *grid)
{
	struct lab_ordered_ran *ran = lab_alloc(lab, grid->run_count * sizeof(*ran));

	if (!lab_each(lab, grid->run_count, run_one, grid, ran, sizeof(*ran)))
		return false;
	for (unsigned i = 0; i < grid->run_count; i++) {
		unsigned cell = grid->runs[i] / LAB_WAYS, way = grid->runs[i] % LAB_WAYS;

		grid->found[cell].ways[way] = ran[i];
		grid->found[cell].form[way] = rio_form(lab, &grid->cells[cell], way);
	}
	return true;
}

/* ---- what is found ---- */

static const struct found *
find(const struct grid *grid, enum rio_drive drive, enum rio_axis axis, uint32_t value, uint32_t times)
{
	for (unsigned i = 0; i < grid->count; i++) {
		const struct rio_cell *cell = &grid->cells[i];

		if (cell->drive == drive && cell->axis == axis && (axis == RIO_NOTHING || cell->value == value) &&
		    cell->times_percent == times)
			return &grid->found[i];
	}
	return NULL;
}

/* How many times as many there are in order as by another way. */
static double
over(const struct found *found, enum lab_way way)
{
	return found->ways[LAB_ORDERED].writes / found->ways[way].writes;
}

static void
tell_cells(struct result *result, const struct grid *grid)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "cell", "", 0, true }, { "way", "", 0, true },
		{ "writes", "1/s", 0, false }, { "of orderless", "", 3, false },
		{ "closed form", "1/s", 0, false }, { "off", "%", 1, false },
		{ "mean", "us", 1, false }, { "p99", "us", 1, false }, { "commands", "each", 4, false },
		{ "sent", "messages each", 3, false }, { "sent", "bytes each", 0, false },
		{ "received", "messages each", 3, false }, { "received", "bytes each", 1, false },
		{ "flushes", "1/s", 0, false },
	};
	struct result_table *table = result_table(result, "cells", "Each cell; latency is of a group, until it is "
	    "told; messages and bytes are the host's, for each write, and what it sends the targets receive", columns,
	    sizeof(columns) / sizeof(columns[0]));

	for (unsigned run = 0; run < grid->run_count; run++) {
		unsigned i = grid->runs[run];
		const struct rio_cell *cell = &grid->cells[i / LAB_WAYS];
		const struct found *found = &grid->found[i / LAB_WAYS], *beside = found;
		const struct lab_ordered_ran *ran = &found->ways[i % LAB_WAYS];
		double form = found->form[i % LAB_WAYS];
		char name[RIO_CELL_NAME];

		if (!concerns(cell->axis, LAB_ORDERLESS))
			beside = find(grid, cell->drive, RIO_NOTHING, 0, cell->times_percent);
		const double numbers[] = {
			ran->writes, ran->writes / beside->ways[LAB_ORDERLESS].writes, form,
			stats_percent_error(form, ran->writes), ran->mean_us, ran->p99_us, ran->commands,
			ran->sent_messages, ran->sent_bytes, ran->received_messages, ran->received_bytes, ran->flushes,
		};

		rio_cell_name(cell, name);
		result_cell_text(table, "%s", rio_drives[cell->drive].name);
		result_cell_text(table, "%s", name);
		result_cell_text(table, "%s", lab_ways[i % LAB_WAYS]);
		for (unsigned n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
			result_cell_number(table, numbers[n]);
	}
}

/* ---- as the paper's figures ---- */

struct drawn {
	enum rio_drive drive;
	enum rio_axis axis;
	uint32_t barred;          /* the value of the barred cell */
	uint32_t unit;            /* of x */
	const char *name, *title;
	struct result_axis x;
};

static const struct drawn drawn[] = {
	{ RIO_FLASH, RIO_STREAMS, 1, 1, "figure-10a", "Writes over streams, flash without PLP",
	    { "streams", "", RESULT_LINEAR } },
	{ RIO_OPTANE, RIO_STREAMS, 1, 1, "figure-10b", "Writes over streams, Optane",
	    { "streams", "", RESULT_LINEAR } },
	{ RIO_FLASH, RIO_SSDS, 1, 1, "figure-10c", "Writes over drives of one target, flash without PLP",
	    { "drives", "", RESULT_LINEAR } },
	{ RIO_OPTANE, RIO_SSDS, 1, 1, "figure-10c-optane", "Writes over drives of one target, Optane",
	    { "drives", "", RESULT_LINEAR } },
	{ RIO_FLASH, RIO_TARGETS, 1, 1, "figure-10d", "Writes over targets, flash without PLP",
	    { "targets", "", RESULT_LINEAR } },
	{ RIO_OPTANE, RIO_TARGETS, 1, 1, "figure-10d-optane", "Writes over targets, Optane",
	    { "targets", "", RESULT_LINEAR } },
	{ RIO_FLASH, RIO_BYTES, 4 * KIB, KIB, "figure-11a", "Bytes over size of write, flash without PLP",
	    { "size of a write", "KiB", RESULT_LOG2 } },
	{ RIO_OPTANE, RIO_BYTES, 4 * KIB, KIB, "figure-11b", "Bytes over size of write, Optane",
	    { "size of a write", "KiB", RESULT_LOG2 } },
	{ RIO_FLASH, RIO_BATCH, 1, 1, "figure-12a", "Writes over group, merged, flash without PLP",
	    { "writes of 4 KiB in a group", "", RESULT_LOG2 } },
	{ RIO_OPTANE, RIO_BATCH, 1, 1, "figure-12b", "Writes over group, merged, Optane",
	    { "writes of 4 KiB in a group", "", RESULT_LOG2 } },
	{ RIO_FLASH, RIO_RTT, 20, 1, "round-trip-flash", "Writes over round trip, flash without PLP",
	    { "round trip", "us", RESULT_LOG } },
	{ RIO_OPTANE, RIO_RTT, 20, 1, "round-trip-optane", "Writes over round trip, Optane",
	    { "round trip", "us", RESULT_LOG } },
};

static void
draw_way(const struct grid *grid, const struct drawn *of, struct result_series *series, enum lab_way way)
{
	const struct found *barred = find(grid, of->drive, RIO_NOTHING, 0, grid->times_percent);
	bool placed = false;

	for (unsigned i = 0; i < grid->count; i++) {
		const struct rio_cell *cell = &grid->cells[i];
		double each = of->axis == RIO_BYTES ? cell->value / 1e6 : 1;

		if (cell->drive != of->drive || cell->axis != of->axis)
			continue;
		if (!placed && cell->value > of->barred) {
			result_point(series, (double)of->barred / of->unit, barred->ways[way].writes *
			    (of->axis == RIO_BYTES ? of->barred / 1e6 : 1));
			placed = true;
		}
		result_point(series, (double)cell->value / of->unit, grid->found[i].ways[way].writes * each);
	}
}

static void
draw(struct result *result, const struct grid *grid)
{
	for (unsigned i = 0; i < sizeof(drawn) / sizeof(drawn[0]); i++) {
		const struct drawn *of = &drawn[i];
		struct result_axis writes = { "writes", "1/s", RESULT_LOG }, bytes = { "written", "MB/s", RESULT_LOG };
		struct result_figure *figure = result_figure(result, RESULT_LINES, of->name, of->title, of->x,
		    of->axis == RIO_BYTES ? bytes : writes);

		result_caption(figure, "All else as in the barred cell: one stream, one drive, single writes of 4 KiB, "
		    "64 commands under way, 20 us there and back.");
		for (unsigned way = 0; way < LAB_WAYS; way++)
			draw_way(grid, of, result_series(figure, lab_ways[way], false), way);
	}
}

/* ---- what it comes to ---- */

static const char *
with_times(const char *what, uint32_t times, char name[96])
{
	if (times == 100)
		snprintf(name, 96, "%s", what);
	else
		snprintf(name, 96, "%s, all times %u %%", what, times);
	return name;
}

static void
bar(struct result *result, const char *what, uint32_t times, unsigned decimals, double measured, double least)
{
	char name[96];

	with_times(what, times, name);
	result_metric(result, name, "", decimals, measured);
	result_check(result, name, "", decimals, measured, RESULT_AT_LEAST, least, 0);
}

static void
tell_bars(struct result *result, const struct grid *grid, uint32_t times)
{
	const struct found *flash = find(grid, RIO_FLASH, RIO_NOTHING, 0, times);
	const struct found *optane = find(grid, RIO_OPTANE, RIO_NOTHING, 0, times);

	bar(result, "ordered_vs_orderless_min", times, 3, fmin(over(flash, LAB_ORDERLESS), over(optane, LAB_ORDERLESS)),
	    0.95);
	bar(result, "vs_sync_flash", times, 1, over(flash, LAB_SYNC), 50);
	bar(result, "vs_sync_optane", times, 2, over(optane, LAB_SYNC), 9);
}

/* The paper's numbers are means over how many threads there are. */
static double
over_streams(const struct grid *grid, enum rio_drive drive, enum lab_way way)
{
	double sum = over(find(grid, drive, RIO_NOTHING, 0, grid->times_percent), way);
	unsigned count = 1;

	for (unsigned i = 0; i < grid->count; i++)
		if (grid->cells[i].drive == drive && grid->cells[i].axis == RIO_STREAMS) {
			sum += over(&grid->found[i], way);
			count++;
		}
	return sum / count;
}

static void
tell_paper(struct result *result, const struct grid *grid)
{
	const struct result_column columns[] = {
		{ "ordered writes over", "", 0, true }, { "drive", "", 0, true }, { "barred", "", 2, false },
		{ "mean over streams", "", 2, false }, { "Rio (EuroSys 2023), mean over threads", "", 1, false },
	};
	static const struct {
		enum lab_way way;
		enum rio_drive drive;
		double paper; /* NAN: "two orders of magnitude" */
	} rows[] = {
		{ LAB_HORAE, RIO_FLASH, 2.8 }, { LAB_HORAE, RIO_OPTANE, 3.3 }, { LAB_SYNC, RIO_FLASH, NAN },
		{ LAB_SYNC, RIO_OPTANE, 9.4 },
	};
	struct result_table *table = result_table(result, "paper", "Beside what Rio's paper has, over RDMA", columns,
	    5);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		result_cell_text(table, "%s", lab_ways[rows[i].way]);
		result_cell_text(table, "%s", rio_drives[rows[i].drive].name);
		result_cell_number(table, over(find(grid, rows[i].drive, RIO_NOTHING, 0, grid->times_percent),
		    rows[i].way));
		result_cell_number(table, over_streams(grid, rows[i].drive, rows[i].way));
		result_cell_number(table, rows[i].paper);
	}
	result_metric(result, "vs_horae_flash", "", 2, over(find(grid, RIO_FLASH, RIO_NOTHING, 0,
	    grid->times_percent), LAB_HORAE));
	result_metric(result, "vs_horae_optane", "", 2, over(find(grid, RIO_OPTANE, RIO_NOTHING, 0,
	    grid->times_percent), LAB_HORAE));
}

/* Of all cells of which there is a closed form, and of groups that were merged. */
static void
tell_forms(struct result *result, const struct grid *grid)
{
	double off = 0, merged = 0;
	uint64_t failed = 0;

	for (unsigned run = 0; run < grid->run_count; run++) {
		const struct rio_cell *cell = &grid->cells[grid->runs[run] / LAB_WAYS];
		const struct found *found = &grid->found[grid->runs[run] / LAB_WAYS];
		unsigned way = grid->runs[run] % LAB_WAYS;

		failed += found->ways[way].failed;
		if (!isnan(found->form[way]))
			off = stats_worse(off, stats_percent_error(found->form[way], found->ways[way].writes));
		if (cell->axis == RIO_BATCH && way == LAB_ORDERED)
			merged = stats_worse(merged, (found->ways[way].commands * cell->value - 1) * 100);
	}
	result_metric(result, "closed_form_off_max", "%", 1, off);
	result_check(result, "closed_form_off_max", "%", 1, off, RESULT_AT_MOST, 15, 0);
	result_check(result, "commands of n merged writes, off n/batch at most", "%", 1, merged, RESULT_AT_MOST, 5, 0);
	result_check(result, "commands that failed", "", 0, (double)failed, RESULT_AT_MOST, 0, 0);
}

static void
run_times(struct lab *lab, struct result *result, uint32_t times)
{
	struct grid *grid = lab_alloc(lab, sizeof(*grid));

	grid->times_percent = times;
	lay_out(lab, grid);
	choose(grid);
	if (!run_all(lab, grid))
		return;
	for (unsigned i = 0; i < BARRED_TIMES; i++)
		if (times == 100 || barred_times[i] == times)
			tell_bars(result, grid, barred_times[i]);
	tell_forms(result, grid);
	tell_cells(result, grid);
	tell_paper(result, grid);
	draw(result, grid);
	result_given(result, "ordered", "log of 65536 entries of 64 bytes in a modelled persistent memory: 20 ns a "
	    "line and 600 ns a barrier; 65536 pieces held; %u ms after %u; the first 32 GiB of each drive%s",
	    (unsigned)(grid->cells[0].measure_ns / LAB_MS), (unsigned)(grid->cells[0].settle_ns / LAB_MS),
	    lab->quick ? " (--quick: the end of each axis)" : "");
}

static void
run(struct lab *lab, struct result *result)
{
	run_times(lab, result, 100);
}

static void
run_faster(struct lab *lab, struct result *result)
{
	run_times(lab, result, 70);
}

static void
run_slower(struct lab *lab, struct result *result)
{
	run_times(lab, result, 130);
}

#define KNOWN "Rio (EuroSys 2023) comes close to orderless, has 2.8 (flash) and 3.3 times (Optane) what Horae has, " \
	"and 9.4 times what Linux has on Optane, two orders of magnitude on flash. The bars are 0.95, 50 and 9."

const struct experiment rio = {
	.name = "rio", .group = "order",
	.question = "what do ordered writes cost, beside orderless ones, Horae's way, and waiting for each?",
	.known = KNOWN, .run = run,
};

const struct experiment rio_faster = {
	.name = "rio-faster", .group = "order",
	.question = "and on drives of which all times are 0.7 of what they are?", .known = KNOWN, .run = run_faster,
};

const struct experiment rio_slower = {
	.name = "rio-slower", .group = "order",
	.question = "and on drives of which all times are 1.3 of what they are?", .known = KNOWN, .run = run_slower,
};
