/*
 * qos_exact.c - is what an operator says what tenants have: weights, and caps?
 */
#include <math.h>
#include <stdio.h>

#include "experiments.h"
#include "qos_cell.h"

static bool
find_terms(struct lab *lab, const void *arg, unsigned i, void *found)
{
	const enum qos_drive *drives = arg;

	return qos_drive_terms(lab, drives[i], 0, found);
}

static bool
find_all_terms(struct lab *lab, const enum qos_drive *drives, unsigned count, struct policy_terms *terms)
{
	for (unsigned d = 0; d < count; d++)
		if (!qos_drive_ready(lab, drives[d]))
			return false;
	return lab_each(lab, count, find_terms, drives, terms, sizeof(*terms));
}

/* Behind the switch, by one of its policies. */
static struct lab_setup *
begin(struct lab *lab, enum qos_drive drive, const struct policy_ops *policy, const struct policy_terms *terms)
{
	struct lab_setup *setup = lab_alloc(lab, sizeof(*setup));
	struct lab_device *device;

	lab_setup_init(setup, LAB_DIRECT);
	device = qos_drive_device(setup, drive, 0);
	device->policy = policy;
	device->terms = *terms;
	return setup;
}

/* ---- weights ---- */

enum { WEIGHTED = 3, WEIGHTS_SUM = 7, LOADS = 4, SHARED_DRIVES = 4, WAYS = 2 };

#define WEIGHT_ERROR_MOST 5

static const struct qos_load loads[LOADS] = {
	{ "4k reads", 100, 4096, 512 }, { "128k reads", 100, 131072, 64 }, { "4k 70/30", 70, 4096, 512 },
	{ "32k writes", 0, 32768, 64 },
};

/* Tenants that take no notice of credits, and such that keep to them. */
static const struct policy_ops *const ways[WAYS] = { &policy_switch, &policy_credits };

static const enum qos_drive shared_drives[SHARED_DRIVES] = {
	QOS_DRIVE_TLC_FRAGMENTED, QOS_DRIVE_OPTANE, QOS_DRIVE_TLC, QOS_DRIVE_QLC,
};

struct weighted {
	struct policy_terms terms[SHARED_DRIVES];
	uint64_t measure_ns;
};

struct weighed {
	double parts[WEIGHTED];
};

static bool
weigh(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct weighted *weighted = arg;
	struct weighed *weighed = result;
	unsigned drive = i / (LOADS * WAYS);
	struct lab_setup *setup = begin(lab, shared_drives[drive], ways[i % WAYS], &weighted->terms[drive]);
	const struct lab_outcome *outcome;
	double all;

	for (unsigned t = 0; t < WEIGHTED; t++)
		qos_load_job(setup, &loads[i / WAYS % LOADS], t)->terms.weight = 1U << t;
	lab_setup_phase(setup, "settle", 2 * LAB_S, false);
	lab_setup_phase(setup, "measure", weighted->measure_ns, true);
	lab_expect(lab, 1);
	outcome = lab_run(lab, setup);
	if (outcome == NULL)
		return false;
	/* all of them do the same, so what a byte costs is the same for each */
	all = lab_metric_of(outcome, LAB_ALL_JOBS, 1, LAB_ALL_OPS, LAB_MBPS);
	for (unsigned t = 0; t < WEIGHTED; t++)
		weighed->parts[t] = lab_metric_of(outcome, (int)t, 1, LAB_ALL_OPS, LAB_MBPS) / all;
	return true;
}

static void
run_weights(struct lab *lab, struct result *result)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "each", "", 0, true }, { "behind", "", 0, true },
		{ "weight 1", "%", 2, false }, { "weight 2", "%", 2, false }, { "weight 4", "%", 2, false },
		{ "error", "%", 2, false },
	};
	struct result_table *table = result_table(result, "weights", "Parts of what was moved", columns, 7);
	unsigned drives = lab->quick ? 2 : SHARED_DRIVES;
	struct weighted weighted = { .measure_ns = (lab->quick ? 2 : 10) * LAB_S };
	struct weighed *weighed = lab_alloc(lab, SHARED_DRIVES * LOADS * WAYS * sizeof(*weighed));
	double worst = 0;

	if (!find_all_terms(lab, shared_drives, drives, weighted.terms) ||
	    !lab_each(lab, drives * LOADS * WAYS, weigh, &weighted, weighed, sizeof(*weighed)))
		return;
	for (unsigned i = 0; i < drives * LOADS * WAYS; i++) {
		double error = 0;

		result_cell_text(table, "%s", qos_drives[shared_drives[i / (LOADS * WAYS)]].name);
		result_cell_text(table, "%s", loads[i / WAYS % LOADS].name);
		result_cell_text(table, "%s", ways[i % WAYS]->name);
		for (unsigned t = 0; t < WEIGHTED; t++) {
			double expected = (double)(1U << t) / WEIGHTS_SUM;

			result_cell_number(table, weighed[i].parts[t] * 100);
			error = fmax(error, fabs(weighed[i].parts[t] / expected - 1) * 100);
		}
		result_cell_number(table, error);
		worst = fmax(worst, error);
	}
	result_metric(result, "weight_error_max_percent", "%", 2, worst);
	result_check(result, "weight_error_max_percent", "%", 2, worst, RESULT_AT_MOST, WEIGHT_ERROR_MOST, 0);
}

const struct experiment qos_weights = {
	.name = "qos-weights", .group = "qos",
	.question = "do tenants with weights of 1, 2 and 4 have one, two and four parts?",
	.known = "By what I/Os cost, over 10 s; the bar is 5 %.", .run = run_weights,
};

/* ---- caps ---- */

enum { CAPS = 7, COUNTED_LEAST = 200, CAP_DRIVES = 2 };

#define CAP_ERROR_MOST 1
#define BELOW_MOST 0.97 /* of what the device gives: at its very most it is the device that holds back */

/* I/Os a second; 0: the device's most. */
static const uint64_t caps[CAPS] = { 1, 10, 100, 1000, 10000, 100000, 0 };
static const enum qos_drive cap_drives[CAP_DRIVES] = { QOS_DRIVE_OPTANE, QOS_DRIVE_TLC };

struct capped {
	struct policy_terms terms[CAP_DRIVES];
};

struct counted {
	double cap, ios, counted;
};

/* By number, or by bytes; of reads, or writes. */
enum { BY_BYTES = 1, WRITES = 2, KINDS_OF_CAPS = 4 };

static bool
set_cap(struct lab *lab, enum qos_drive drive, const struct qos_load *load, uint64_t *cap)
{
	struct qos_alone alone;

	if (*cap > 0)
		return true;
	if (!qos_drive_alone(lab, drive, 0, load, 500 * LAB_MS, LAB_S, &alone))
		return false;
	*cap = (uint64_t)(alone.bytes / load->bytes * BELOW_MOST);
	return true;
}

static bool
count_capped(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct capped *capped = arg;
	unsigned drive = i / (CAPS * KINDS_OF_CAPS), kind = i / CAPS % KINDS_OF_CAPS;
	const struct qos_load load = { "capped", kind & WRITES ? 0 : 100, 4096, 128 };
	struct counted *counted = result;
	uint64_t cap = caps[i % CAPS], at_least_ns = (lab->quick ? 1 : 10) * LAB_S, measure_ns;
	const struct lab_outcome *outcome;
	struct lab_setup *setup;
	struct qos_limit *limit;

	if (!set_cap(lab, cap_drives[drive], &load, &cap))
		return false;
	setup = begin(lab, cap_drives[drive], &policy_switch, &capped->terms[drive]);
	limit = &qos_load_job(setup, &load, 0)->terms.caps[kind & WRITES ? QOS_WRITE : QOS_READ];
	limit->ios = kind & BY_BYTES ? 0 : cap;
	limit->bytes = kind & BY_BYTES ? cap * load.bytes : 0;
	measure_ns = COUNTED_LEAST * LAB_S / cap;
	measure_ns = measure_ns > at_least_ns ? measure_ns : at_least_ns;
	lab_setup_phase(setup, "burst", 2 * LAB_S, false);
	lab_setup_phase(setup, "measure", measure_ns, true);
	lab_expect(lab, 1);
	outcome = lab_run(lab, setup);
	if (outcome == NULL)
		return false;
	counted->cap = (double)cap;
	counted->ios = (double)cap * (double)measure_ns / 1e9;
	counted->counted = lab_metric_of(outcome, 0, 1, LAB_ALL_OPS, LAB_IOPS) * (double)measure_ns / 1e9;
	return true;
}

static void
run_caps(struct lab *lab, struct result *result)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "cap of", "", 0, true }, { "cap", "1/s", 0, false },
		{ "expected", "I/Os", 0, false }, { "counted", "I/Os", 0, false }, { "error", "%", 3, false },
	};
	struct result_table *table = result_table(result, "caps", "A tenant that always has something waiting",
	    columns, 6);
	unsigned count = (lab->quick ? 1 : CAP_DRIVES) * CAPS * KINDS_OF_CAPS;
	struct counted *counted = lab_alloc(lab, (size_t)CAP_DRIVES * CAPS * KINDS_OF_CAPS * sizeof(*counted));
	struct capped capped;
	double worst = 0;

	if (!find_all_terms(lab, cap_drives, lab->quick ? 1 : CAP_DRIVES, capped.terms) ||
	    !lab_each(lab, count, count_capped, &capped, counted, sizeof(*counted)))
		return;
	for (unsigned i = 0; i < count; i++) {
		double error = fabs(counted[i].counted / counted[i].ios - 1) * 100;
		unsigned kind = i / CAPS % KINDS_OF_CAPS;

		result_cell_text(table, "%s", qos_drives[cap_drives[i / (CAPS * KINDS_OF_CAPS)]].name);
		result_cell_text(table, "%s, by %s", kind & WRITES ? "writes" : "reads",
		    kind & BY_BYTES ? "bytes" : "number");
		result_cell_number(table, counted[i].cap);
		result_cell_number(table, counted[i].ios);
		result_cell_number(table, counted[i].counted);
		result_cell_number(table, error);
		worst = fmax(worst, error);
	}
	result_metric(result, "cap_error_max_percent", "%", 3, worst);
	result_check(result, "cap_error_max_percent", "%", 3, worst, RESULT_AT_MOST, CAP_ERROR_MOST, 0);
}

const struct experiment qos_caps = {
	.name = "qos-caps", .group = "qos",
	.question = "do caps of one I/O a second to the device's most let as much through as they say?",
	.known = "Counted over 10 s or 200 I/Os, whichever is longer, after the burst; the bar is 1 %.",
	.run = run_caps,
};
