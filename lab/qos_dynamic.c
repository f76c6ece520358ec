/*
 * qos_dynamic.c - tenants that come and go, of many sizes, and with priorities: what has each of them then?
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "qos_cell.h"

static const enum qos_drive drive = QOS_DRIVE_TLC_FRAGMENTED;

static struct lab_setup *
begin(struct lab *lab, const struct policy_ops *policy, const struct policy_terms *terms)
{
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	struct lab_device *device;

	lab_setup_init(setup, LAB_DIRECT);
	device = qos_drive_device(setup, drive, 0);
	device->policy = policy;
	device->terms = *terms;
	return setup;
}

static bool
alone(struct lab *lab, const struct qos_load *load, double *bytes)
{
	struct qos_alone found;

	if (!qos_drive_alone(lab, drive, 0, load, 500 * LAB_MS, LAB_S, &found))
		return false;
	*bytes = found.bytes;
	return true;
}

/* ---- who comes and goes ---- */

enum { KINDS = 3, JOBS = 8, PHASES = 8, WAYS = 2 };

static const struct qos_load kinds[KINDS] = {
	{ "4k reads", 100, 4096, 32 }, { "128k reads", 100, 131072, 8 }, { "4k writes", 0, 4096, 32 },
};

/* Which kind, and in which phases it is there: they come one by one, and go in that order. */
static const struct {
	unsigned kind;
	uint32_t phases;
} comers[JOBS] = {
	{ 0, 0x1f }, { 1, 0x1e }, { 2, 0x3e }, { 0, 0x3c }, { 1, 0x7c }, { 2, 0x78 }, { 0, 0xf8 }, { 2, 0xf0 },
};

static const struct policy_ops *const policies[WAYS] = { &policy_switch, &policy_fifo };

static unsigned
there(unsigned phase)
{
	unsigned count = 0;

	for (unsigned j = 0; j < JOBS; j++)
		count += comers[j].phases >> phase & 1;
	return count;
}

static const struct lab_outcome *
come_and_go(struct lab *lab, const struct policy_ops *policy, const struct policy_terms *terms)
{
	struct lab_setup *setup = begin(lab, policy, terms);

	for (unsigned j = 0; j < JOBS; j++)
		qos_load_job(setup, &kinds[comers[j].kind], j)->phases = comers[j].phases;
	for (unsigned phase = 0; phase < PHASES; phase++)
		lab_setup_phase(setup, "phase", (lab->quick ? 1 : 5) * LAB_S, true);
	lab_expect(lab, 1);
	return lab_run(lab, setup);
}

/* Answers the largest spread of a phase. */
static double
tell_phases(struct result *result, struct result_table *table, const struct lab_outcome *outcome, const char *policy,
    const double parts[KINDS])
{
	char name[64], title[96];
	struct result_figure *figure;
	double worst = 0;

	snprintf(name, sizeof(name), "come-and-go-%s", policy);
	snprintf(title, sizeof(title), "Tenants that come and go (%s)", policy);
	figure = result_figure(result, RESULT_LINES, name, title,
	    (struct result_axis){ "phase", "", RESULT_LINEAR }, (struct result_axis){ "f", "", RESULT_LINEAR });
	result_caption(figure, "tlc-plp, fragmented. f: what a tenant has, over its equal part of what it has alone.");
	for (unsigned j = 0; j < JOBS; j++) {
		struct result_series *series = result_series(figure, outcome->setup->jobs[j].name, false);

		result_cell_text(table, "%s", policy);
		result_cell_text(table, "%s", outcome->setup->jobs[j].name);
		for (unsigned phase = 0; phase < PHASES; phase++) {
			double bytes = lab_metric_of(outcome, (int)j, phase, LAB_ALL_OPS, LAB_MBPS) * 1e6;
			bool is = (comers[j].phases >> phase & 1) != 0;
			double f = is ? bytes * there(phase) / parts[comers[j].kind] : NAN;

			result_cell_number(table, f);
			result_point(series, phase + 1, f);
		}
	}
	for (unsigned phase = 0; phase < PHASES; phase++) {
		double least = INFINITY, most = 0;

		for (unsigned j = 0; j < JOBS; j++) {
			double f = lab_metric_of(outcome, (int)j, phase, LAB_ALL_OPS, LAB_MBPS) / parts[comers[j].kind];

			if ((comers[j].phases >> phase & 1) != 0) {
				least = fmin(least, f);
				most = fmax(most, f);
			}
		}
		worst = fmax(worst, most / least);
	}
	return worst;
}

/* Of all tenants together. */
static void
tell_whole(struct result_table *table, const struct lab_outcome *outcome, const char *policy)
{
	static const enum lab_metric metrics[] = { LAB_MBPS, LAB_MEAN, LAB_P99, LAB_P999 };

	for (unsigned phase = 0; phase < PHASES; phase++) {
		result_cell_text(table, "%s", policy);
		result_cell_number(table, phase + 1);
		result_cell_number(table, there(phase));
		for (unsigned m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++)
			result_cell_number(table, lab_metric_of(outcome, LAB_ALL_JOBS, phase, LAB_ALL_OPS, metrics[m]));
	}
}

static void
run_dynamic(struct lab *lab, struct result *result)
{
	const struct result_column whole_columns[] = {
		{ "behind", "", 0, true }, { "phase", "", 0, false }, { "tenants", "", 0, false },
		{ "all", "MB/s", 1, false }, { "mean", "us", 0, false }, { "p99", "us", 0, false },
		{ "p99.9", "us", 0, false },
	};
	const struct result_column columns[] = {
		{ "behind", "", 0, true }, { "tenant", "", 0, true }, { "phase 1", "", 2, false },
		{ "2", "", 2, false }, { "3", "", 2, false }, { "4", "", 2, false }, { "5", "", 2, false },
		{ "6", "", 2, false }, { "7", "", 2, false }, { "8", "", 2, false },
	};
	struct result_table *table = result_table(result, "phases", "f of each tenant, while it is there", columns,
	    10);
	struct result_table *whole = result_table(result, "whole", "All of them, in each phase", whole_columns, 7);
	struct policy_terms terms;
	double parts[KINDS], worst[WAYS];

	if (!qos_drive_terms(lab, drive, 0, &terms))
		return;
	for (unsigned k = 0; k < KINDS; k++)
		if (!alone(lab, &kinds[k], &parts[k]))
			return;
	for (unsigned w = 0; w < WAYS; w++) {
		const struct lab_outcome *outcome = come_and_go(lab, policies[w], &terms);

		if (outcome == NULL)
			return;
		worst[w] = tell_phases(result, table, outcome, policies[w]->name, parts);
		tell_whole(whole, outcome, policies[w]->name);
	}
	result_metric(result, "spread, worst phase", "", 2, worst[0]);
	result_metric(result, "spread of FIFO, worst phase", "", 2, worst[1]);
	result_check(result, "spread over FIFO's", "", 2, worst[0] / worst[1], RESULT_AT_MOST, 1, 0);
}

const struct experiment qos_dynamic = {
	.name = "qos-dynamic", .group = "qos", .question = "what has each tenant while others come and go?",
	.known = "Gimbal (SIGCOMM 2021), the dynamic workload: each has its part as soon as the others are there, or "
	    "gone.",
	.run = run_dynamic,
};

/* ---- sizes ---- */

/* A tenant that reads 4 KiB beside one of each size, as many in flight as make a MiB. */
static void
run_all_sizes(struct lab *lab, struct result *result)
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, "sizes", "4 KiB beside other sizes",
	    (struct result_axis){ "size of the other's reads", "KiB", RESULT_LOG2 },
	    (struct result_axis){ "f of 4 KiB over f of the other", "", RESULT_LOG });
	const struct result_column columns[] = {
		{ "behind", "", 0, true }, { "size of the other's", "KiB", 0, false }, { "f of 4 KiB", "", 3, false },
		{ "f of the other", "", 3, false }, { "both", "MB/s", 1, false }, { "mean of 4 KiB", "us", 0, false },
		{ "p99", "us", 0, false }, { "p99.9", "us", 0, false }, { "mean of the other", "us", 0, false },
		{ "p99", "us", 0, false }, { "p99.9", "us", 0, false },
	};
	struct result_table *table = result_table(result, "sizes", "A reader of 4 KiB beside one of each size", columns,
	    11);
	struct policy_terms terms;
	double worst = 0;

	if (!qos_drive_terms(lab, drive, 0, &terms))
		return;
	result_caption(figure, "tlc-plp, fragmented; 32 in flight of 4 KiB, as many as make 1 MiB of others, 32 at "
	    "most.");
	for (unsigned w = 0; w < WAYS; w++) {
		struct result_series *series = result_series(figure, policies[w]->name, false);

		for (unsigned s = 0; s < QOS_SIZES; s++) {
			uint32_t bytes = (uint32_t)QOS_SIZE_LEAST << s, depth = 1024 * 1024 / bytes;
			struct qos_mix mix = { "sizes", { kinds[0], { "other", 100, bytes, depth < 32 ? depth : 32 } },
				false, false };
			struct qos_cell cell = { .drive = drive, .mix = &mix, .tenants = 2, .settle_ns = 500 * LAB_MS,
				.measure_ns = LAB_S, .terms = terms };
			struct qos_ran ran;

			if (!qos_cell_alone(lab, &cell, cell.alone) || !qos_cell_run(lab, &cell, policies[w], 0, &ran))
				return;
			result_cell_text(table, "%s", policies[w]->name);
			result_cell_number(table, bytes / 1024.0);
			result_cell_number(table, ran.f[0]);
			result_cell_number(table, ran.f[1]);
			result_cell_number(table, ran.bytes / 1e6);
			for (unsigned half = 0; half < QOS_HALVES; half++) {
				result_cell_number(table, ran.mean_us[half]);
				result_cell_number(table, ran.p99_us[half]);
				result_cell_number(table, ran.p999_us[half]);
			}
			result_point(series, bytes / 1024.0, ran.f[0] / ran.f[1]);
			if (w == 0)
				worst = fmax(worst, ran.most / ran.least);
		}
	}
	result_metric(result, "spread, worst size", "", 2, worst);
	result_check(result, "spread", "", 2, worst, RESULT_AT_MOST, 1.35, 0);
}

const struct experiment qos_sizes = {
	.name = "qos-sizes", .group = "qos", .question = "has a reader of 4 KiB its part beside readers of any size?",
	.known = "What a size costs is measured, so parts are equal whatever it is.", .run = run_all_sizes,
};

/* ---- priorities ---- */

static void
run_priorities(struct lab *lab, struct result *result)
{
	const struct result_column columns[] = {
		{ "tenant", "", 0, true }, { "priority", "", 0, false }, { "IOPS", "1/s", 0, false },
		{ "mean", "us", 1, false }, { "p99", "us", 1, false }, { "p99.9", "us", 1, false },
	};
	struct result_table *table = result_table(result, "priorities", "Two tenants, each with four priorities",
	    columns, 6);
	const struct qos_load load = { "reads", 100, 4096, 64 };
	const struct lab_outcome *outcome;
	struct policy_terms terms;
	struct lab_setup *setup;
	double shares[QOS_PRIORITIES] = { 0 };

	if (!qos_drive_terms(lab, drive, 0, &terms))
		return;
	setup = begin(lab, &policy_switch, &terms);
	for (unsigned i = 0; i < 2 * QOS_PRIORITIES; i++) {
		struct lab_job *job = qos_load_job(setup, &load, i);

		job->tenant = i / QOS_PRIORITIES + 1;
		job->priority = (uint8_t)(i % QOS_PRIORITIES);
	}
	lab_setup_phase(setup, "settle", 500 * LAB_MS, false);
	lab_setup_phase(setup, "measure", 2 * LAB_S, true);
	lab_expect(lab, 1);
	outcome = lab_run(lab, setup);
	if (outcome == NULL)
		return;
	for (unsigned i = 0; i < 2 * QOS_PRIORITIES; i++) {
		static const enum lab_metric metrics[] = { LAB_IOPS, LAB_MEAN, LAB_P99, LAB_P999 };

		result_cell_text(table, "%u", i / QOS_PRIORITIES + 1);
		result_cell_number(table, i % QOS_PRIORITIES);
		for (unsigned m = 0; m < 4; m++)
			result_cell_number(table, lab_metric_of(outcome, (int)i, 1, LAB_READ, metrics[m]));
		shares[i % QOS_PRIORITIES] += lab_metric_of(outcome, (int)i, 1, LAB_READ, LAB_IOPS);
	}
	for (unsigned p = 1; p < QOS_PRIORITIES; p++) {
		char name[64];

		snprintf(name, sizeof(name), "I/Os of priority 0 for each of priority %u", p);
		result_metric(result, name, "", 2, shares[0] / shares[p]);
	}
	result_check(result, "I/Os of priority 0 for each of priority 3", "", 2, shares[0] / shares[3], RESULT_WITHIN,
	    16, 10);
}

const struct experiment qos_priorities = {
	.name = "qos-priorities", .group = "qos", .question = "how much is served of each of a tenant's priorities?",
	.known = "16, 4, 2 and 1 in turn (Gimbal, 3.5; the released code).", .run = run_priorities,
};
