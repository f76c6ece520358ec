/*
 * sim_trial.c - `weir sim --seed N`: one trial, in this process, where a debugger finds it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "cmd.h"
#include "sim.h"

static void
tell(const struct order *order, const struct plan *plan, const struct outcome *outcome)
{
	struct report report;
	char hash[17];

	snprintf(hash, sizeof(hash), "%016" PRIx64, outcome->result.hash);
	report_init(&report, order->json);
	if (!order->json)
		printf("%s, seed %" PRIu64 ": %s\n", plan->scenario, plan->seed, outcome_text(outcome->end));
	report.first = false;
	report_text(&report, "scenario", NULL, plan->scenario);
	report_number(&report, "seed", NULL, plan->seed, "");
	outcome_report(&report, outcome);
	outcome_report_time(&report, outcome->result.end_ns);
	report_number(&report, "events", "events", outcome->result.events, "");
	report_text(&report, "hash", "hash of its trace", hash);
	counts_report(&report, &outcome->result.counts);
	report_end(&report, true);
}

static int
play(const struct order *order, const struct plan *plan, struct outcome *outcome)
{
	struct trial_watch watch = { .max_events = order->max_events };
	struct trace trace = { .log = order->log };
	int rc;

	if (order->trace != NULL && trace_open(&trace, order->trace) != 0)
		return EXIT_FAILED;
	trace_watch(&trace, &watch);
	trial_run(plan, &watch, &outcome->result);
	outcome->end = outcome_end_of(&outcome->result);
	rc = trace_close(&trace);
	tell(order, plan, outcome);
	return rc == 0 && outcome->end == OUTCOME_RIGHT ? EXIT_OK : EXIT_FAILED;
}

int
sim_trial(const struct order *order)
{
	struct plan *plan = malloc(sizeof(*plan));
	struct outcome outcome = { 0 };
	int code = EXIT_FAILED;

	if (plan != NULL) {
		plan_draw(order->scenarios[0], order->first, plan);
		code = play(order, plan, &outcome);
	}
	free(plan);
	return code;
}

int
sim_show(const struct order *order)
{
	struct plan *plan = malloc(sizeof(*plan));

	if (plan == NULL)
		return EXIT_FAILED;
	plan_draw(order->scenarios[0], order->first, plan);
	plan_print(plan, stdout);
	free(plan);
	return EXIT_OK;
}
