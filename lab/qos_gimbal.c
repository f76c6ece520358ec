/*
 * qos_gimbal.c - the paper's questions, with what it was compared with: sizes, kinds, too many tenants, credits.
 *
 * Each is a few cells (qos_cell.h), each behind each policy, and the switch with some of it otherwise.  That of shifts
 * is in qos_shift.c.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "qos_cell.h"
#include "qos_ways.h"

enum { CELLS_MAX = 64, WAYS_MAX = 11 };

static const struct qos_way ways[WAYS_MAX] = {
	{ "FIFO", &policy_fifo, .f = 0 }, { "round robin", &policy_round, .f = 0 },
	{ "static caps", &policy_rates, .f = 1 }, { "tokens (ReFlex)", &policy_tokens, .f = 0 },
	{ "windows (PARDA)", &policy_window, .f = 0 }, { "tags (FlashFQ)", &policy_tags, .f = 0 },
	{ "switch", &policy_switch, .f = 0 }, { "switch with credits", &policy_credits, .f = 0 },
	{ "switch, alpha_T 1/16", &policy_switch, .vary = qos_way_slow_threshold },
	{ "switch, write cost fixed", &policy_switch, .vary = qos_way_fixed_cost },
	{ "ORACLE", &policy_rates, .looked_for = true },
};

enum { FIFO = 0, SWITCH = 6, CREDITS = 7 };

struct compared {
	struct qos_cell cells[CELLS_MAX];
	unsigned count;
	struct qos_ran ran[CELLS_MAX * WAYS_MAX];
};

/* ---- what is measured ---- */

static void
add(struct lab *lab, struct compared *compared, enum qos_drive drive, const struct qos_mix *mix, unsigned tenants)
{
	compared->cells[compared->count++] = (struct qos_cell){
		.drive = drive, .mix = mix, .tenants = tenants, .settle_ns = (lab->quick ? 500 : 2000) * LAB_MS,
		.measure_ns = (lab->quick ? 500 : 5000) * LAB_MS,
	};
}

static bool
know(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct compared *compared = arg;
	struct qos_cell *cell = result;

	*cell = compared->cells[i];
	return qos_drive_terms(lab, cell->drive, 0, &cell->terms) && qos_cell_alone(lab, cell, cell->alone);
}

static bool
compare_one(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct compared *compared = arg;
	const struct qos_way *way = &ways[i % WAYS_MAX];
	struct qos_cell cell = compared->cells[i / WAYS_MAX];

	cell.terms = qos_way_terms(way, &cell.terms);
	return way->looked_for ? qos_cell_oracle(lab, &cell, 1, result) :
	    qos_cell_run(lab, &cell, way->policy, way->f, result);
}

static bool
measure(struct lab *lab, struct compared *compared)
{
	for (unsigned i = 0; i < compared->count; i++)
		if (!qos_drive_ready(lab, compared->cells[i].drive))
			return false;
	return lab_each(lab, compared->count, know, compared, compared->cells, sizeof(compared->cells[0])) &&
	    lab_each(lab, compared->count * WAYS_MAX, compare_one, compared, compared->ran,
	    sizeof(compared->ran[0]));
}

/* ---- what is said of it ---- */

static void
tell(struct result *result, const struct compared *compared)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "mix", "", 0, true }, { "tenants", "", 0, false },
		{ "behind", "", 0, true }, { "f first", "", 2, false }, { "f last", "", 2, false },
		{ "spread", "", 2, false }, { "all", "MB/s", 1, false }, { "mean first", "us", 0, false },
		{ "p99 first", "us", 0, false }, { "p99.9 first", "us", 0, false }, { "mean last", "us", 0, false },
		{ "p99 last", "us", 0, false }, { "p99.9 last", "us", 0, false },
	};
	struct result_table *table = result_table(result, "compared", "The first tenant, and the last one", columns,
	    14);

	for (unsigned i = 0; i < compared->count * WAYS_MAX; i++) {
		const struct qos_cell *cell = &compared->cells[i / WAYS_MAX];
		const struct qos_ran *ran = &compared->ran[i];
		unsigned last = qos_cell_half(cell, cell->tenants - 1);
		const double numbers[] = {
			ran->f[0], ran->f[cell->tenants - 1], ran->most / ran->least, ran->bytes / 1e6,
			ran->mean_us[0], ran->p99_us[0], ran->p999_us[0],
			ran->mean_us[last], ran->p99_us[last], ran->p999_us[last],
		};

		result_cell_text(table, "%s", qos_drives[cell->drive].name);
		result_cell_text(table, "%s", cell->mix->name);
		result_cell_number(table, cell->tenants);
		result_cell_text(table, "%s", ways[i % WAYS_MAX].name);
		for (unsigned n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
			result_cell_number(table, numbers[n]);
	}
}

/* How fair each is, as bars. */
static void
draw_spreads(struct result *result, const struct compared *compared, const char *title)
{
	struct result_figure *figure = result_figure(result, RESULT_BARS, "spread", title,
	    (struct result_axis){ "max f / min f", "", RESULT_LINEAR }, (struct result_axis){ "", "", RESULT_LINEAR });

	for (unsigned c = 0; c < compared->count; c++) {
		const struct qos_cell *cell = &compared->cells[c];
		struct result_series *series = result_series(figure, qos_drives[cell->drive].name, false);

		for (unsigned w = 0; w < WAYS_MAX; w++) {
			const struct qos_ran *ran = &compared->ran[c * WAYS_MAX + w];

			result_bar(series, ways[w].name, ran->most / ran->least);
		}
	}
	result_caption(figure, "1 is fair: each tenant has as large a part of what it has alone.");
}

static const struct qos_ran *
ran_of(const struct compared *compared, unsigned cell, unsigned way)
{
	return &compared->ran[cell * WAYS_MAX + way];
}

static double
spread_of(const struct qos_ran *ran)
{
	return ran->most / ran->least;
}

/* ---- G1, G2: sizes and kinds ---- */

enum { HALVED = 16 };

static void
run_fairness(struct lab *lab, struct result *result, enum qos_mix_kind mix, const char *title)
{
	static const enum qos_drive drives[] = {
		QOS_DRIVE_TLC, QOS_DRIVE_TLC_FRAGMENTED, QOS_DRIVE_CONSUMER_FRAGMENTED, QOS_DRIVE_OPTANE,
		QOS_DRIVE_QLC_FRAGMENTED,
	};
	struct compared *compared = lab_alloc(lab, sizeof(*compared));
	double ours = 0, without = 0;

	for (unsigned d = 0; d < (lab->quick ? 2 : sizeof(drives) / sizeof(drives[0])); d++)
		add(lab, compared, drives[lab->quick ? d + 1 : d], &qos_mixes[mix], HALVED);
	if (!measure(lab, compared))
		return;
	tell(result, compared);
	draw_spreads(result, compared, title);
	for (unsigned c = 0; c < compared->count; c++) {
		ours = fmax(ours, spread_of(ran_of(compared, c, SWITCH)));
		without = fmax(without, spread_of(ran_of(compared, c, FIFO)));
	}
	result_metric(result, "spread, worst drive", "", 3, ours);
	result_metric(result, "spread of FIFO, worst drive", "", 3, without);
	result_check(result, "spread", "", 3, ours, RESULT_AT_MOST, 1.5 /* 0.8 to 1.2 */, 0);
}

static void
run_sizes(struct lab *lab, struct result *result)
{
	run_fairness(lab, result, QOS_MIX_SIZES, "Readers of 4 KiB beside readers of 128 KiB");
}

static void
run_kinds(struct lab *lab, struct result *result)
{
	run_fairness(lab, result, QOS_MIX_KINDS, "Readers beside writers, 4 KiB");
}

const struct experiment qos_g1 = {
	.name = "qos-g1", .group = "qos", .question = "have readers of 4 KiB as large a part as readers of 128 KiB?",
	.known = "Gimbal (SIGCOMM 2021): within 0.8 to 1.2 of each other; without control large ones have over 80 %.",
	.run = run_sizes,
};

const struct experiment qos_g2 = {
	.name = "qos-g2", .group = "qos", .question = "have readers as large a part as writers, on whatever drive?",
	.known = "Gimbal (SIGCOMM 2021): with a fixed write cost writers starve on a drive that is clean.",
	.run = run_kinds,
};

/* ---- G3: too many tenants ---- */

static const struct qos_mix crowd = {
	"4k reads", { { "4k reads", 100, 4096, 64 }, { "4k reads", 100, 4096, 64 } }, true, false,
};

enum { CROWDS = 7 };

static void
run_overload(struct lab *lab, struct result *result)
{
	struct compared *compared = lab_alloc(lab, sizeof(*compared));
	const struct result_axis x = { "tenants", "", RESULT_LOG2 };
	struct result_figure *tails, *rates;
	const struct qos_ran *full;
	unsigned crowds = lab->quick ? 3 : CROWDS, last = crowds - 1;
	double gained;

	for (unsigned i = 0; i < crowds; i++)
		add(lab, compared, QOS_DRIVE_TLC_FRAGMENTED, &crowd, 1U << i);
	if (!measure(lab, compared))
		return;
	tell(result, compared);
	tails = result_figure(result, RESULT_LINES, "tail", "In the drive, the more tenants there are", x,
	    (struct result_axis){ "p99 in the drive", "us", RESULT_LOG });
	rates = result_figure(result, RESULT_LINES, "rate", "Of all, the more tenants there are", x,
	    (struct result_axis){ "throughput", "MB/s", RESULT_LINEAR });
	for (unsigned w = 0; w < WAYS_MAX; w++) {
		struct result_series *tail = result_series(tails, ways[w].name, false);
		struct result_series *rate = result_series(rates, ways[w].name, false);

		for (unsigned c = 0; c < crowds; c++) {
			result_point(tail, 1U << c, ran_of(compared, c, w)->served_p99_us);
			result_point(rate, 1U << c, ran_of(compared, c, w)->bytes / 1e6);
		}
	}
	result_caption(tails, "4 KiB reads, 64 in flight each, tlc-plp, fragmented.");
	full = ran_of(compared, last, FIFO);
	gained = (1 - ran_of(compared, last, SWITCH)->served_p99_us / full->served_p99_us) * 100;
	result_metric(result, "tail in the drive, less than without control", "%", 1, gained);
	result_metric(result, "throughput over FIFO's", "", 3, ran_of(compared, last, SWITCH)->bytes / full->bytes);
	result_metric(result, "average latency, the most of all, over the greatest threshold", "", 2,
	    ran_of(compared, last, SWITCH)->latency_most_us * 1e3 /
	    compared->cells[last].terms.params.thresh_max_ns);
	result_check(result, "throughput over FIFO's", "", 3, ran_of(compared, last, SWITCH)->bytes / full->bytes,
	    RESULT_AT_LEAST, 0.9, 0);
}

const struct experiment qos_g3 = {
	.name = "qos-g3", .group = "qos", .question = "how long are I/Os in the drive, the more tenants there are?",
	.known = "Gimbal (SIGCOMM 2021): tails 62.6 % lower than without control, at 5 to 10 % less throughput at "
	    "most.",
	.run = run_overload,
};

/* ---- G5: credits ---- */

/* Each has more in flight than is granted to it. */
static const struct qos_mix deep = {
	"4k reads", { { "4k reads", 100, 4096, 256 }, { "4k reads", 100, 4096, 256 } }, true, false,
};

static void
run_credits(struct lab *lab, struct result *result)
{
	const struct result_column columns[] = {
		{ "tenants", "", 0, false }, { "behind", "", 0, true }, { "wait at the target", "I/Os", 1, false },
		{ "at most", "I/Os", 0, false }, { "all", "MB/s", 1, false }, { "p99", "us", 0, false },
		{ "p99 in the drive", "us", 0, false },
	};
	struct result_table *table = result_table(result, "credits", "Tenants that do as credits say, and others",
	    columns, 7);
	struct compared *compared = lab_alloc(lab, sizeof(*compared));
	const struct qos_ran *with, *without;
	double waiting, bytes;

	add(lab, compared, QOS_DRIVE_TLC_FRAGMENTED, &deep, 1);
	add(lab, compared, QOS_DRIVE_TLC_FRAGMENTED, &deep, 8);
	if (!measure(lab, compared))
		return;
	for (unsigned i = 0; i < compared->count * WAYS_MAX; i++) {
		const struct qos_ran *ran = &compared->ran[i];

		result_cell_number(table, compared->cells[i / WAYS_MAX].tenants);
		result_cell_text(table, "%s", ways[i % WAYS_MAX].name);
		result_cell_number(table, ran->waiting);
		result_cell_number(table, ran->waiting_most);
		result_cell_number(table, ran->bytes / 1e6);
		result_cell_number(table, ran->p99_us[0]);
		result_cell_number(table, ran->served_p99_us);
	}
	with = ran_of(compared, 1, CREDITS);
	without = ran_of(compared, 1, SWITCH);
	waiting = with->waiting / without->waiting;
	bytes = with->bytes / without->bytes;
	result_metric(result, "waiting at the target, with credits over without", "", 3, waiting);
	result_metric(result, "throughput, with credits over without", "", 3, bytes);
	result_check(result, "waiting at the target, with credits over without", "", 3, waiting, RESULT_AT_MOST, 1, 0);
	result_check(result, "throughput, with credits over without", "", 3, bytes, RESULT_AT_LEAST, 0.98, 0);
}

const struct experiment qos_g5 = {
	.name = "qos-g5", .group = "qos", .question = "do credits keep what cannot go yet out of the target?",
	.known = "Gimbal (SIGCOMM 2021, 3.6): the queue is bounded by what is granted, at the same throughput.",
	.run = run_credits,
};
