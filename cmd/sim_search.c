/*
 * sim_search.c - `weir sim --seeds FIRST-LAST`: many seeds, side by side, and what was found.
 *
 * What is tried are items: the first seed of each scenario, then the next of each.  They are begun in this order
 * and told in this order, whoever ends first, so what is told does not depend on how many run at a time; what has
 * ended before one that comes before it waits.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "passing.h"
#include "sim.h"
#include "sim_child.h"
#include "stop.h"
#include "sys/clock.h"

enum { WINDOW = 1024, KINDS_MAX = 16, EACH_NS = 200000000 };

struct tally {
	uint64_t seeds, wrong, virtual_ns, events;
};

struct search {
	const struct order *order;
	struct report report;
	struct child *children;         /* order->jobs of them */
	uint64_t at[CHILDREN_MAX];      /* which item each plays */
	struct outcome *ended;          /* of items that have, by number modulo WINDOW */
	bool has_ended[WINDOW];
	uint64_t items, begun, told;    /* how many there are, and how far it is */
	struct plan plan;               /* of what is begun, or shortened */
	struct outcome kinds[KINDS_MAX]; /* of what was found and shortened, with the scenario of each */
	unsigned kinds_scenario[KINDS_MAX], kind_count;
	struct tally *tallies, all;     /* one for each scenario */
	struct trial_counts counts;
	uint64_t began_ns, shown_ns;
	bool failed;                    /* the world does not let us */
};

static const struct scenario *
scenario_of(const struct search *search, uint64_t item)
{
	return search->order->scenarios[item % search->order->scenario_count];
}

static uint64_t
seed_of(const struct search *search, uint64_t item)
{
	return search->order->first + item / search->order->scenario_count;
}

static uint64_t
item_count(const struct order *order)
{
	uint64_t seeds = order->last - order->first;

	if (order->last == UINT64_MAX || seeds >= UINT64_MAX / order->scenario_count - 1)
		return UINT64_MAX;
	return (seeds + 1) * order->scenario_count;
}

/* ---- what was found ---- */

/* Each thing that is wrong with a scenario is made shorter once. */
static bool
is_new_kind(struct search *search, uint64_t item, const struct outcome *outcome)
{
	unsigned scenario = (unsigned)(item % search->order->scenario_count);

	for (unsigned i = 0; i < search->kind_count; i++)
		if (search->kinds_scenario[i] == scenario && outcome_alike(&search->kinds[i], outcome))
			return false;
	if (search->kind_count == KINDS_MAX)
		return false;
	search->kinds_scenario[search->kind_count] = scenario;
	search->kinds[search->kind_count++] = *outcome;
	return true;
}

static void
tell_shortened(struct search *search, const struct scenario *scenario, const struct outcome *outcome)
{
	struct report *report = &search->report;
	struct shortened shortened;
	char command[SIM_COMMAND], left[128];

	shorten(search->order, scenario, &search->plan, outcome, &shortened);
	snprintf(left, sizeof(left), "%" PRIu32 " faults, %" PRIu32 " knobs, after %" PRIu32 " tries", shortened.faults,
	    shortened.knobs, shortened.tries);
	report_open(report, "shortened", NULL);
	report_text(report, NULL, "what is left of it", left);
	report_number(report, "faults", NULL, shortened.faults, "");
	report_number(report, "knobs", NULL, shortened.knobs, "");
	report_number(report, "tries", NULL, shortened.tries, "");
	if (shortened.path[0] != '\0') {
		order_replay(search->order, scenario, search->plan.seed, shortened.path, command);
		report_text(report, "file", NULL, shortened.path);
		report_text(report, "replay", "again, shortened", command);
	}
	report_close(report);
}

/* What takes too long is not tried again and again. */
static void
tell_finding(struct search *search, uint64_t item, const struct outcome *outcome)
{
	const struct scenario *scenario = scenario_of(search, item);
	struct report *report = &search->report;
	uint64_t seed = seed_of(search, item);
	char command[SIM_COMMAND];

	passing(NULL);
	order_replay(search->order, scenario, seed, NULL, command);
	report_open(report, NULL, "%s, seed %" PRIu64 ": %s", scenario->name, seed, outcome_text(outcome->end));
	report_text(report, "scenario", NULL, scenario->name);
	report_number(report, "seed", NULL, seed, "");
	outcome_report(report, outcome);
	report_text(report, "replay", "again", command);
	fflush(stdout);
	if (search->order->shorten && outcome->end != OUTCOME_LATE && is_new_kind(search, item, outcome)) {
		plan_draw(scenario, seed, &search->plan);
		tell_shortened(search, scenario, outcome);
	}
	report_close(report);
	fflush(stdout);
}

static void
tally(struct tally *tally, const struct outcome *outcome)
{
	tally->seeds++;
	tally->wrong += outcome->end != OUTCOME_RIGHT;
	tally->virtual_ns += outcome->result.end_ns;
	tally->events += outcome->result.events;
}

/* In order, as far as that goes. */
static void
tell(struct search *search)
{
	while (search->has_ended[search->told % WINDOW] && search->all.wrong < search->order->findings_max) {
		const struct outcome *outcome = &search->ended[search->told % WINDOW];

		search->has_ended[search->told % WINDOW] = false;
		tally(&search->tallies[search->told % search->order->scenario_count], outcome);
		tally(&search->all, outcome);
		counts_add(&search->counts, &outcome->result.counts);
		if (outcome->end != OUTCOME_RIGHT)
			tell_finding(search, search->told, outcome);
		search->told++;
	}
}

/* ---- side by side ---- */

static void
begin(struct search *search)
{
	for (unsigned i = 0; i < search->order->jobs; i++) {
		struct child *child = &search->children[i];
		int error;

		if (child->pid != 0 || search->begun == search->items || search->begun - search->told >= WINDOW)
			continue;
		plan_draw(scenario_of(search, search->begun), seed_of(search, search->begun), &search->plan);
		error = child_begin(child, search->order, &search->plan);
		if (error != 0) {
			passing(NULL);
			fprintf(stderr, "weir sim: no process for the next seed: %s\n", strerror(-error));
			search->failed = true;
			return;
		}
		search->at[i] = search->begun++;
	}
}

static void
gather(struct search *search)
{
	for (unsigned i = 0; i < search->order->jobs; i++) {
		struct child *child = &search->children[i];

		if (child->pid == 0 || !child_ended(child))
			continue;
		search->ended[search->at[i] % WINDOW] = *child->outcome;
		search->has_ended[search->at[i] % WINDOW] = true;
	}
}

static uint64_t
elapsed_ms(const struct search *search)
{
	return (clock_now_ns() - search->began_ns) / 1000000;
}

static void
show(struct search *search)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns - search->shown_ns < EACH_NS)
		return;
	search->shown_ns = now_ns;
	passing("%" PRIu64 " seeds, %" PRIu64 " wrong, %" PRIu64 " s of virtual time, at seed %" PRIu64,
	    search->all.seeds, search->all.wrong, search->all.virtual_ns / 1000000000, seed_of(search, search->told));
}

static bool
is_over(const struct search *search)
{
	return search->told == search->items || search->all.wrong >= search->order->findings_max || search->failed ||
	    elapsed_ms(search) >= search->order->time_ms || stop_asked();
}

static void
look_for(struct search *search)
{
	while (!is_over(search)) {
		begin(search);
		show(search);
		children_wait(search->children, search->order->jobs, clock_now_ns() + EACH_NS);
		gather(search);
		tell(search);
	}
	passing(NULL);
}

/* ---- at the end ---- */

static void
tell_tally(struct report *report, const struct tally *tally)
{
	report_number(report, "seeds", "seeds", tally->seeds, "");
	report_number(report, "wrong", "wrong", tally->wrong, "");
	outcome_report_time(report, tally->virtual_ns);
	report_number(report, "events", "events", tally->events, "");
}

static void
tell_scenario(struct report *report, const struct scenario *scenario, const struct tally *tally, uint64_t first)
{
	report_open(report, NULL, "%s", scenario->name);
	report_text(report, "scenario", NULL, scenario->name);
	report_number(report, "next_seed", NULL, first + tally->seeds, "");
	tell_tally(report, tally);
	report_close(report);
}

static void
tell_all(struct search *search)
{
	const struct order *order = search->order;
	uint64_t ms = elapsed_ms(search), rate = search->all.seeds * 10000 / (ms > 0 ? ms : 1);
	struct report *report = &search->report;
	char text[64];

	report_list(report, "scenarios");
	for (unsigned i = 0; i < order->scenario_count && (order->json || order->scenario_count > 1); i++)
		tell_scenario(report, order->scenarios[i], &search->tallies[i], order->first);
	report_close(report);
	counts_report(report, &search->counts);
	report_open(report, "all", "All");
	tell_tally(report, &search->all);
	snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64 " s, %" PRIu64 ".%" PRIu64 " seeds a second", ms / 1000,
	    ms % 1000, rate / 10, rate % 10);
	report_text(report, NULL, "took", text);
	report_number(report, "elapsed_ms", NULL, ms, "");
	report_close(report);
}

static int
run(struct search *search)
{
	bool left;

	report_init(&search->report, search->order->json);
	report_list(&search->report, "findings");
	look_for(search);
	report_close(&search->report);
	left = search->told < search->items && search->items != UINT64_MAX && search->all.wrong == 0;
	report_bool(&search->report, "stopped", NULL, left);
	tell_all(search);
	report_end(&search->report, true);
	if (search->all.wrong > 0 || search->failed)
		return EXIT_FAILED;
	return left ? EXIT_LEFT : EXIT_OK;
}

int
sim_search(const struct order *order)
{
	struct search *search = calloc(1, sizeof(*search));
	int code = EXIT_FAILED;

	if (search == NULL)
		return code;
	search->order = order;
	search->items = item_count(order);
	search->began_ns = clock_now_ns();
	search->tallies = calloc(order->scenario_count, sizeof(*search->tallies));
	search->children = calloc(order->jobs, sizeof(*search->children));
	search->ended = calloc(WINDOW, sizeof(*search->ended));
	for (unsigned i = 0; search->children != NULL && i < order->jobs; i++)
		search->failed |= child_init(&search->children[i]) != 0;
	stop_catch_signals();
	if (search->tallies != NULL && search->children != NULL && search->ended != NULL && !search->failed)
		code = run(search);
	else
		fprintf(stderr, "weir sim: out of memory\n");
	for (unsigned i = 0; search->children != NULL && i < order->jobs; i++)
		child_fini(&search->children[i]);
	free(search->tallies);
	free(search->children);
	free(search->ended);
	free(search);
	return code;
}
