/*
 * qos_victim.c - what do another tenant's bursts of large writes do to one that reads a little?
 *
 * The victim reads 4 KiB, one at a time; the other writes 128 KiB, 32 in flight, for 100 ms of each 500.  Under the
 * ORACLE the victim is never held back, and the writer has the rate by which both have the same part of what they have
 * alone, the largest that there is.
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "qos_cell.h"

enum { VICTIM, WRITER, JOBS };
enum { ALONE, FIFO, SWITCH, ORACLE, WAYS };
enum { SEEDS = 5, SEED_STEP = 1000, TIMES = 3, LOOKS = 12 };

#define MULTIPLE_MOST 1.5

static const char *const way_names[WAYS] = { "alone", "FIFO", "switch", "ORACLE" };
static const uint32_t times[TIMES] = { 100, 70, 130 };

struct asked {
	const enum qos_drive *drives;
	unsigned drive_count, seeds;
	uint64_t measure_ns;
	struct policy_terms terms[TIMES][QOS_MATRIX_DRIVES];
};

struct ran {
	double p50_us, p99_us, p999_us, rate, written; /* of the victim; what the other wrote, bytes a second */
};

struct found {
	struct ran ways[WAYS];
};

/* ---- what is measured ---- */

static bool
run_one(struct lab *lab, const struct asked *asked, unsigned which, const struct policy_ops *policy, uint64_t rate,
    unsigned jobs, struct ran *ran)
{
	unsigned time = which / asked->drive_count, drive = which % asked->drive_count;
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	const struct lab_outcome *outcome;
	struct lab_device *device;
	struct lab_job *writer;

	lab_setup_init(setup, LAB_DIRECT);
	device = qos_drive_device(setup, asked->drives[drive], times[time]);
	device->policy = policy;
	device->terms = asked->terms[time][drive];
	if (jobs & 1 << VICTIM)
		lab_setup_job(setup, "victim", LAB_READ, 4096, 1);
	if (jobs & 1 << WRITER) {
		writer = lab_setup_job(setup, "writer", LAB_WRITE, 131072, 32);
		writer->burst_ns = 100 * LAB_MS;
		writer->every_ns = 500 * LAB_MS;
		writer->terms.rate = rate;
	}
	lab_setup_phase(setup, "settle", 2 * LAB_S, false);
	lab_setup_phase(setup, "measure", asked->measure_ns, true);
	lab_expect(lab, 1);
	outcome = lab_run(lab, setup);
	if (outcome == NULL)
		return false;
	*ran = (struct ran){
		.p50_us = lab_metric_of(outcome, 0, 1, LAB_READ, LAB_P50),
		.p99_us = lab_metric_of(outcome, 0, 1, LAB_READ, LAB_P99),
		.p999_us = lab_metric_of(outcome, 0, 1, LAB_READ, LAB_P999),
		.rate = lab_metric_of(outcome, 0, 1, LAB_READ, LAB_IOPS),
		.written = lab_metric_of(outcome, LAB_ALL_JOBS, 1, LAB_WRITE, LAB_MBPS) * 1e6,
	};
	return true;
}

/* The largest part that both can have: of what the writer has alone while it writes, and the victim. */
static bool
find_oracle(struct lab *lab, const struct asked *asked, unsigned which, const struct ran *alone, struct ran *best)
{
	double low = 0, high = 1;
	struct ran writer;

	if (!run_one(lab, asked, which, NULL, 0, 1 << WRITER, &writer))
		return false;
	for (unsigned i = 0; i < LOOKS; i++) {
		double part = i == 0 ? high : (low + high) / 2;
		struct ran ran;

		if (!run_one(lab, asked, which, &policy_rates, (uint64_t)(writer.written * 5 * part),
		    1 << VICTIM | 1 << WRITER, &ran))
			return false;
		if (ran.rate >= part * alone->rate)
			low = part;
		else
			high = part;
		if (low == part)
			*best = ran;
		if (i == 0 && low == part)
			break;
	}
	return true;
}

static bool
find(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct asked *asked = arg;
	unsigned cells = asked->drive_count * TIMES, which = i % cells, both = 1 << VICTIM | 1 << WRITER;
	struct found *found = result;

	lab->seed += i / cells * SEED_STEP;
	return run_one(lab, asked, which, NULL, 0, 1 << VICTIM, &found->ways[ALONE]) &&
	    run_one(lab, asked, which, &policy_fifo, 0, both, &found->ways[FIFO]) &&
	    run_one(lab, asked, which, &policy_switch, 0, both, &found->ways[SWITCH]) &&
	    find_oracle(lab, asked, which, &found->ways[ALONE], &found->ways[ORACLE]);
}

static bool
find_terms(struct lab *lab, const void *arg, unsigned i, void *found)
{
	const struct asked *asked = arg;

	return qos_drive_terms(lab, asked->drives[i % asked->drive_count], times[i / asked->drive_count], found);
}

/* ---- what is said of it ---- */

static double
conclude(struct result_table *table, const struct asked *asked, const struct found *found, unsigned time)
{
	double worst = 0;

	for (unsigned d = 0; d < asked->drive_count; d++)
		for (unsigned seed = 0; seed < asked->seeds; seed++) {
			const struct found *one =
			    &found[(seed * TIMES + time) * asked->drive_count + d];

			worst = fmax(worst, one->ways[SWITCH].p99_us / one->ways[ORACLE].p99_us);
			for (unsigned way = 0; way < WAYS; way++) {
				const struct ran *ran = &one->ways[way];

				result_cell_text(table, "%s", qos_drives[asked->drives[d]].name);
				result_cell_number(table, times[time]);
				result_cell_number(table, seed + 1);
				result_cell_text(table, "%s", way_names[way]);
				result_cell_number(table, ran->p50_us);
				result_cell_number(table, ran->p99_us);
				result_cell_number(table, ran->p999_us);
				result_cell_number(table, ran->rate);
				result_cell_number(table, ran->written / 1e6);
				result_cell_number(table, ran->p99_us / one->ways[ORACLE].p99_us);
				result_cell_number(table, ran->p99_us / one->ways[ALONE].p99_us);
			}
		}
	return worst;
}

static void
run(struct lab *lab, struct result *result)
{
	static const enum qos_drive drives[] = {
		QOS_DRIVE_TLC_FRAGMENTED, QOS_DRIVE_OPTANE, QOS_DRIVE_TLC, QOS_DRIVE_QLC, QOS_DRIVE_QLC_FRAGMENTED,
	};
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "times", "%", 0, false }, { "seed", "", 0, false },
		{ "behind", "", 0, true }, { "p50", "us", 1, false }, { "p99", "us", 1, false },
		{ "p99.9", "us", 1, false }, { "reads", "1/s", 0, false }, { "written", "MB/s", 1, false },
		{ "p99 over ORACLE's", "", 2, false }, { "over alone", "", 2, false },
	};
	struct result_table *table = result_table(result, "victim", "The victim's reads", columns, 11);
	struct asked *asked = lab_alloc(lab, sizeof(*asked));
	struct found *found = lab_alloc(lab, SEEDS * TIMES * QOS_MATRIX_DRIVES * sizeof(*found));
	struct policy_terms *terms = lab_alloc(lab, TIMES * QOS_MATRIX_DRIVES * sizeof(*terms));

	*asked = (struct asked){
		.drives = drives, .drive_count = lab->quick ? 2 : QOS_MATRIX_DRIVES, .seeds = lab->quick ? 1 : SEEDS,
		.measure_ns = (lab->quick ? 2 : 10) * LAB_S,
	};
	for (unsigned d = 0; d < asked->drive_count; d++)
		if (!qos_drive_ready(lab, drives[d]))
			return;
	if (!lab_each(lab, TIMES * asked->drive_count, find_terms, asked, terms, sizeof(*terms)))
		return;
	for (unsigned i = 0; i < TIMES * asked->drive_count; i++)
		asked->terms[i / asked->drive_count][i % asked->drive_count] = terms[i];
	if (!lab_each(lab, asked->seeds * TIMES * asked->drive_count, find, asked, found, sizeof(*found)))
		return;
	for (unsigned time = 0; time < TIMES; time++) {
		double worst = conclude(table, asked, found, time);
		char name[64] = "victim_p99_multiple";

		if (times[time] != 100)
			snprintf(name, sizeof(name), "victim_p99_multiple, all times %u %%", times[time]);
		result_metric(result, name, "", 3, worst);
		result_check(result, name, "", 3, worst, RESULT_AT_MOST, MULTIPLE_MOST, 0);
	}
}

const struct experiment qos_victim = {
	.name = "qos-victim", .group = "qos",
	.question = "what do another tenant's bursts of large writes do to one that reads a little?",
	.known = "The bar is 1.5 of the 99th percentile under fixed rates that are looked for; Gimbal's tails are "
	    "62.6 % lower than without control.",
	.run = run,
};
