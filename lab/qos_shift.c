/*
 * qos_shift.c - how long until all is used again, when tenants that wrote begin to read, and the other way round?
 *
 * And what writing is taken to cost meanwhile: on a drive that is clean and written a little, and on one that was
 * written all over.  G4 of the paper's questions: with beta 1, with a rate that what has ended does not lower, and
 * behind what it is compared with.  Fixed rates are not among that: which they should be depends on what there is just
 * now.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "place/stats.h"
#include "qos_cell.h"
#include "qos_ways.h"

enum {
	TENANTS = 8, DEPTH = 32, SHIFTS = 4, PHASE_S = 10, WAYS = 9, DRIVES = 2,
	BIN_MS = 10, BINS = SHIFTS * PHASE_S * 1000 / BIN_MS, BINS_PHASE = PHASE_S * 1000 / BIN_MS,
	SMOOTH = 10, /* pieces of time, of which the mean is looked at */
};

#define PEAK 0.9
#define RECOVER_MOST_MS 1000

static const struct qos_way ways[WAYS] = {
	{ "switch", &policy_switch, .f = 0 }, { "switch, beta 1", &policy_switch, .vary = qos_way_beta_1 },
	{ "switch, its rate kept", &policy_switch, .vary = qos_way_keeps_rate },
	{ "switch, alpha_T 1/16", &policy_switch, .vary = qos_way_slow_threshold }, { "FIFO", &policy_fifo, .f = 0 },
	{ "round robin", &policy_round, .f = 0 }, { "tokens (ReFlex)", &policy_tokens, .f = 0 },
	{ "windows (PARDA)", &policy_window, .f = 0 }, { "tags (FlashFQ)", &policy_tags, .f = 0 },
};

enum { SWITCH };

static const enum qos_drive drives[DRIVES] = { QOS_DRIVE_TLC_FRAGMENTED, QOS_DRIVE_TLC };

struct asked {
	struct policy_terms terms[DRIVES];
};

/* By pieces of time. */
struct shifted {
	double bytes[BINS], cost[BINS], rate[BINS];
	bool over[BINS];                /* the average of reads or of writes is above the greatest threshold */
	double p99_us[SHIFTS];
};

/* ---- what is measured ---- */

static bool
find_terms(struct lab *lab, const void *arg, unsigned i, void *found)
{
	return qos_drive_terms(lab, drives[i], 0, found);
}

static bool
shift(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct asked *asked = arg;
	struct shifted *shifted = result;
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	const struct qos_way *way = &ways[i % WAYS];
	const struct lab_outcome *outcome;
	struct lab_device *device;

	lab_setup_init(setup, LAB_DIRECT);
	device = qos_drive_device(setup, drives[i / WAYS], 0);
	device->policy = way->policy;
	device->terms = qos_way_terms(way, &asked->terms[i / WAYS]);
	for (unsigned t = 0; t < TENANTS; t++)
		for (uint32_t reads = 10; reads <= 90; reads += 80) {
			struct qos_load load = { reads == 10 ? "writes" : "reads", reads, 4096, DEPTH };
			struct lab_job *job = qos_load_job(setup, &load, t);

			job->tenant = t + 1;
			job->phases = reads == 10 ? 0x5 : 0xa;
		}
	for (unsigned phase = 0; phase < SHIFTS; phase++)
		lab_setup_phase(setup, phase % 2 == 0 ? "writes" : "reads", PHASE_S * LAB_S, true);
	setup->bin_ns = BIN_MS * LAB_MS;
	lab_expect(lab, 1);
	outcome = lab_run(lab, setup);
	if (outcome == NULL)
		return false;
	for (unsigned bin = 0; bin < BINS; bin++) {
		const struct policy_view *view = lab_view_of(outcome, 0, bin);

		for (unsigned job = 0; job < setup->job_count; job++)
			for (unsigned op = 0; op < LAB_OPS; op++)
				shifted->bytes[bin] += (double)lab_bins_of(outcome, job)[bin].bytes[op];
		shifted->cost[bin] = (double)view->write_cost / QOS_COST_ONE;
		shifted->rate[bin] = (double)view->rate;
		for (unsigned kind = 0; kind < QOS_KINDS; kind++)
			shifted->over[bin] |= view->latency_ns[kind] > device->terms.params.thresh_max_ns;
	}
	for (unsigned phase = 0; phase < SHIFTS; phase++)
		shifted->p99_us[phase] = lab_metric_of(outcome, LAB_ALL_JOBS, phase, LAB_ALL_OPS, LAB_P99);
	return true;
}

/* ---- what is said of it ---- */

/* Bytes a second, in the second half of a phase: by then it is as it stays. */
static double
peak_of(const struct shifted *shifted, unsigned phase)
{
	return stats_mean(shifted->bytes + phase * BINS_PHASE + BINS_PHASE / 2, BINS_PHASE / 2) / (BIN_MS / 1e3);
}

/* How long after a phase begins, in ms, a tenth of a second gives nearly as much as in its second half. */
static double
recovered_ms(const struct shifted *shifted, unsigned phase)
{
	double peak = peak_of(shifted, phase);

	for (unsigned bin = 0; bin + SMOOTH <= BINS_PHASE; bin++)
		if (stats_mean(shifted->bytes + phase * BINS_PHASE + bin, SMOOTH) / (BIN_MS / 1e3) >= PEAK * peak)
			return (bin + SMOOTH) * BIN_MS;
	return PHASE_S * 1000;
}

/* How long it was so in a row in a phase, in ms, at most: by looks that are BIN_MS apart. */
static double
overloaded_ms(const struct shifted *shifted, unsigned phase)
{
	unsigned most = 0, row = 0;

	for (unsigned bin = 0; bin < BINS_PHASE; bin++) {
		row = shifted->over[phase * BINS_PHASE + bin] ? row + 1 : 0;
		most = row > most ? row : most;
	}
	return most * BIN_MS;
}

static void
draw(struct result *result, const char *name, const char *title, struct result_axis y, const struct shifted *shifted,
    size_t member, double factor)
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, name, title,
	    (struct result_axis){ "time", "s", RESULT_LINEAR }, y);

	result_caption(figure, "%d tenants, 4 KiB, %d in flight each: 90 %% writes for 10 s, and then 90 %% reads, "
	    "twice. tlc-plp, fragmented.", TENANTS, DEPTH);
	for (unsigned way = 0; way < WAYS; way++) {
		struct result_series *series = result_series(figure, ways[way].name, false);
		const double *values = (const double *)(const void *)((const char *)&shifted[way] + member);

		for (unsigned bin = 0; bin + SMOOTH <= BINS; bin += SMOOTH)
			result_point(series, bin * BIN_MS / 1e3, stats_mean(values + bin, SMOOTH) * factor);
	}
}

static double
tell(struct result *result, const struct shifted *shifted)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "behind", "", 0, true }, { "then come", "", 0, true },
		{ "most", "MB/s", 1, false }, { "90 % of it after", "ms", 0, false }, { "p99", "us", 1, false },
		{ "overloaded in a row", "ms", 0, false }, { "write cost, mean", "", 2, false },
	};
	struct result_table *table = result_table(result, "shifts", "After each shift", columns, 8);
	double worst = 0;

	for (unsigned i = 0; i < DRIVES * WAYS; i++)
		for (unsigned phase = 1; phase < SHIFTS; phase++) {
			result_cell_text(table, "%s", qos_drives[drives[i / WAYS]].name);
			result_cell_text(table, "%s", ways[i % WAYS].name);
			result_cell_text(table, "%s", phase % 2 == 0 ? "writes" : "reads");
			result_cell_number(table, peak_of(&shifted[i], phase) / 1e6);
			result_cell_number(table, recovered_ms(&shifted[i], phase));
			result_cell_number(table, shifted[i].p99_us[phase]);
			result_cell_number(table, overloaded_ms(&shifted[i], phase));
			result_cell_number(table, stats_mean(shifted[i].cost + phase * BINS_PHASE, BINS_PHASE));
			if (i % WAYS == SWITCH)
				worst = fmax(worst, recovered_ms(&shifted[i], phase));
		}
	return worst;
}

static void
run_shift(struct lab *lab, struct result *result)
{
	struct asked *asked = lab_alloc(lab, sizeof(*asked));
	struct shifted *shifted = lab_alloc(lab, DRIVES * WAYS * sizeof(*shifted));
	double worst;

	for (unsigned d = 0; d < DRIVES; d++)
		if (!qos_drive_ready(lab, drives[d]))
			return;
	if (!lab_each(lab, DRIVES, find_terms, NULL, asked->terms, sizeof(asked->terms[0])) ||
	    !lab_each(lab, DRIVES * WAYS, shift, asked, shifted, sizeof(*shifted)))
		return;
	worst = tell(result, shifted);
	draw(result, "throughput", "Throughput over shifts of the load", (struct result_axis){ "throughput", "MB/s",
	    RESULT_LINEAR }, shifted, offsetof(struct shifted, bytes), 1e3 / BIN_MS / 1e6);
	draw(result, "cost", "Write cost over shifts of the load", (struct result_axis){ "write cost", "",
	    RESULT_LINEAR }, shifted, offsetof(struct shifted, cost), 1);
	draw(result, "rate", "Target rate over shifts of the load", (struct result_axis){ "target rate", "MB/s",
	    RESULT_LOG }, shifted, offsetof(struct shifted, rate), 1e-6);
	result_metric(result, "shift_recover_ms", "ms", 0, worst);
	result_check(result, "shift_recover_ms", "ms", 0, worst, RESULT_AT_MOST, RECOVER_MOST_MS, 0);
}

const struct experiment qos_shift = {
	.name = "qos-shift", .group = "qos",
	.question = "how long until all is used again, when tenants that wrote begin to read, and the other way round?",
	.known = "Gimbal (SIGCOMM 2021, 3.3) reaches the peak within a second, as the rate grows eight times as fast "
	    "while the device is underused.",
	.run = run_shift,
};

/* ---- what writing is taken to cost ---- */

enum { LIGHT, HEAVY, COSTS };

struct cost_asked {
	struct policy_terms terms[DRIVES];
	uint64_t ns;
};

struct cost_found {
	double least, most, last, worst;
};

/* A few writes beside reads on the clean drive; and as many as go on the other one. */
static bool
look_at_cost(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct cost_asked *asked = arg;
	const struct policy_terms *terms = &asked->terms[i == LIGHT ? 1 : 0];
	struct cost_found *found = result;
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	const struct lab_outcome *outcome;
	struct lab_device *device;

	lab_setup_init(setup, LAB_DIRECT);
	device = qos_drive_device(setup, drives[i == LIGHT ? 1 : 0], 0);
	device->policy = &policy_switch;
	device->terms = *terms;
	lab_setup_job(setup, "reads", LAB_READ, 4096, DEPTH);
	lab_setup_job(setup, "writes", LAB_WRITE, 4096, DEPTH)->rate = i == LIGHT ? 5000 : 0;
	lab_setup_phase(setup, "all", asked->ns, true);
	setup->bin_ns = 100 * LAB_MS;
	lab_expect(lab, 1);
	outcome = lab_run(lab, setup);
	if (outcome == NULL)
		return false;
	*found = (struct cost_found){
		.least = INFINITY, .worst = (double)terms->params.write_cost_worst / QOS_COST_ONE,
	};
	for (unsigned bin = outcome->bin_count / 2; bin < outcome->bin_count; bin++) {
		found->last = (double)lab_view_of(outcome, 0, bin)->write_cost / QOS_COST_ONE;
		found->least = fmin(found->least, found->last);
		found->most = fmax(found->most, found->last);
	}
	return true;
}

static void
run_cost(struct lab *lab, struct result *result)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "writes", "", 0, true }, { "worst", "", 2, false },
		{ "least", "", 2, false }, { "most", "", 2, false }, { "at the end", "", 2, false },
	};
	struct result_table *table = result_table(result, "cost", "Write cost in the second half", columns, 6);
	struct cost_asked *asked = lab_alloc(lab, sizeof(*asked));
	struct cost_found found[COSTS];

	asked->ns = (lab->quick ? 4 : 20) * LAB_S;
	for (unsigned d = 0; d < DRIVES; d++)
		if (!qos_drive_ready(lab, drives[d]))
			return;
	if (!lab_each(lab, DRIVES, find_terms, NULL, asked->terms, sizeof(asked->terms[0])) ||
	    !lab_each(lab, COSTS, look_at_cost, asked, found, sizeof(found[0])))
		return;
	for (unsigned i = 0; i < COSTS; i++) {
		result_cell_text(table, "%s", qos_drives[drives[i == LIGHT ? 1 : 0]].name);
		result_cell_text(table, "%s", i == LIGHT ? "5000 a second" : "as many as go");
		result_cell_number(table, found[i].worst);
		result_cell_number(table, found[i].least);
		result_cell_number(table, found[i].most);
		result_cell_number(table, found[i].last);
	}
	result_metric(result, "write cost, clean and written a little", "", 2, found[LIGHT].most);
	result_metric(result, "write cost over the worst, written all over", "", 2,
	    found[HEAVY].least / found[HEAVY].worst);
	result_check(result, "write cost on a clean drive that is written a little", "", 2, found[LIGHT].most,
	    RESULT_AT_MOST, 1, 0);
	result_check(result, "write cost over the worst, on a drive that was written all over", "", 2,
	    found[HEAVY].least / found[HEAVY].worst, RESULT_AT_LEAST, 0.9, 0);
}

const struct experiment qos_cost = {
	.name = "qos-cost", .group = "qos",
	.question = "is writing taken to cost what it costs, on a clean drive and on one that was written all over?",
	.known = "Gimbal (SIGCOMM 2021, 3.4): 1 where writes are absorbed, 9 at worst.", .run = run_cost,
};
