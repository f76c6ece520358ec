/*
 * qos_tuning.c - are those that the switch is compared with as good as they can be?
 *
 * Each of them has a number that is its to choose: how many I/Os are in the drive, which latency is wanted, what the
 * drive can read, how far ahead one may be.  What measuring says of it is tried beside less and more, with readers of
 * different sizes and with readers and writers.
 */
#include <math.h>

#include "experiments.h"
#include "qos_cell.h"
#include "qos_ways.h"

enum { TENANTS = 16, FACTORS = 5, POLICIES = 4, MIXES = 2 };

#define AHEAD (1024 * 1024)

static const enum qos_drive drive = QOS_DRIVE_TLC_FRAGMENTED;
static const double factors[FACTORS] = { 0.25, 0.5, 1, 2, 4 };
static const enum qos_mix_kind mixes[MIXES] = { QOS_MIX_SIZES, QOS_MIX_KINDS };

static const struct {
	const char *number;
	const struct policy_ops *policy;
} tried[POLICIES] = {
	{ "I/Os in the drive", &policy_round }, { "rate", &policy_tokens }, { "latency", &policy_window },
	{ "ahead", &policy_tags },
};

struct asked {
	struct qos_cell cells[MIXES];
};

static void
scale(struct policy_terms *terms, const struct policy_ops *policy, double factor)
{
	if (policy == &policy_round)
		terms->depth = (uint32_t)fmax(1, terms->depth * factor);
	else if (policy == &policy_tokens)
		terms->rate = (uint64_t)((double)terms->rate * factor);
	else if (policy == &policy_window)
		terms->latency_ns = (uint64_t)((double)terms->latency_ns * factor);
	else
		terms->ahead_bytes = (uint64_t)(AHEAD * factor);
}

static bool
try(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct asked *asked = arg;
	struct qos_cell cell = asked->cells[i % MIXES];
	const struct policy_ops *policy = tried[i / (MIXES * FACTORS)].policy;

	scale(&cell.terms, policy, factors[i / MIXES % FACTORS]);
	return qos_cell_run(lab, &cell, policy, 0, result);
}

static bool
know(struct lab *lab, const void *arg, unsigned i, void *result)
{
	const struct asked *asked = arg;
	struct qos_cell *cell = result;

	*cell = asked->cells[i];
	return qos_drive_terms(lab, drive, 0, &cell->terms) && qos_cell_alone(lab, cell, cell->alone);
}

static void
tell(struct result *result, const struct asked *asked, const struct qos_ran *ran)
{
	const struct result_column columns[] = {
		{ "mix", "", 0, true }, { "behind", "", 0, true }, { "its", "", 0, true }, { "times", "", 2, false },
		{ "spread", "", 2, false }, { "mean f", "", 3, false }, { "all", "MB/s", 1, false },
		{ "p99 first", "us", 0, false }, { "p99 last", "us", 0, false },
	};
	struct result_table *table = result_table(result, "tuning", "With less and more of what each chooses",
	    columns, 9);

	for (unsigned i = 0; i < POLICIES * FACTORS * MIXES; i++) {
		unsigned policy = i / (MIXES * FACTORS);
		const double numbers[] = {
			factors[i / MIXES % FACTORS], ran[i].most / ran[i].least, ran[i].mean, ran[i].bytes / 1e6,
			ran[i].p99_us[0], ran[i].p99_us[1],
		};

		result_cell_text(table, "%s", asked->cells[i % MIXES].mix->name);
		result_cell_text(table, "%s", tried[policy].policy->name);
		result_cell_text(table, "%s", tried[policy].number);
		for (unsigned n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
			result_cell_number(table, numbers[n]);
	}
}

/* A policy's spreads against its number. */
static void
draw(struct result *result, const struct asked *asked, const struct qos_ran *ran)
{
	for (unsigned mix = 0; mix < MIXES; mix++) {
		struct result_figure *figure = result_figure(result, RESULT_LINES, mix == 0 ? "sizes" : "kinds",
		    asked->cells[mix].mix->name, (struct result_axis){ "times what measuring says", "", RESULT_LOG2 },
		    (struct result_axis){ "max f / min f", "", RESULT_LOG });

		result_caption(figure, "%d tenants on tlc-plp, fragmented.", TENANTS);
		for (unsigned p = 0; p < POLICIES; p++) {
			struct result_series *series = result_series(figure, tried[p].policy->name, false);

			for (unsigned f = 0; f < FACTORS; f++) {
				const struct qos_ran *one = &ran[(p * FACTORS + f) * MIXES + mix];

				result_point(series, factors[f], one->most / one->least);
			}
		}
	}
}

static void
run(struct lab *lab, struct result *result)
{
	struct asked *asked = lab_alloc(lab, sizeof(*asked));
	struct qos_ran *ran = lab_alloc(lab, POLICIES * FACTORS * MIXES * sizeof(*ran));

	for (unsigned i = 0; i < MIXES; i++)
		asked->cells[i] = (struct qos_cell){
			.drive = drive, .mix = &qos_mixes[mixes[i]], .tenants = TENANTS,
			.settle_ns = (lab->quick ? 200 : 1000) * LAB_MS,
			.measure_ns = (lab->quick ? 200 : 2000) * LAB_MS,
		};
	if (!qos_drive_ready(lab, drive) ||
	    !lab_each(lab, MIXES, know, asked, asked->cells, sizeof(asked->cells[0])) ||
	    !lab_each(lab, POLICIES * FACTORS * MIXES, try, asked, ran, sizeof(*ran)))
		return;
	tell(result, asked, ran);
	draw(result, asked, ran);
}

const struct experiment qos_tuning = {
	.name = "qos-tuning", .group = "qos",
	.question = "are those that the switch is compared with as good as they can be?",
	.known = "Each is told what measuring the drive says; none is to lose because it was told something else.",
	.run = run,
};
