/*
 * plan_show.c - a plan for people at a terminal: what to buy, what that costs against other ways, what is where.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "plan.h"
#include "table.h"

/* Who has more disks and workloads takes the JSON or the page. */
enum { SHOWN = 60, WAYS = 12 };

static void
show_workloads(const struct planned *p)
{
	const struct workloads *all = &p->workloads;
	double room_gb = 0, rate = 0, peak = 0;

	for (uint32_t i = 0; i < all->count; i++) {
		room_gb += all->list[i].working_set_gb;
		rate += all->list[i].write_gb_per_day;
		peak += all->list[i].peak_iops;
	}
	printf("%u workload%s: %.6g GB, %.6g GB written a day, peaks of %.0f I/Os per second; %g year%s\n", all->count,
	    all->count == 1 ? "" : "s", room_gb, rate, peak, p->order.years, p->order.years == 1 ? "" : "s");
}

/* Whether it is one of words with blanks between them. */
static bool
has_word(const char *words, const char *word)
{
	size_t length = strlen(word), run;

	for (words += strspn(words, " "); *words != '\0'; words += run + strspn(words + run, " ")) {
		run = strcspn(words, " ");
		if (run == length && strncasecmp(words, word, run) == 0)
			return true;
	}
	return false;
}

/* Those that are there, or those that are bought. */
static void
show_drives(const struct planned *p, bool owned, const char *what)
{
	double drives = plan_drives(p);
	bool headed = false;

	for (uint32_t kind = 0; kind < p->order.kind_count; kind++) {
		const struct advice_kind *k = &p->order.kinds[kind];
		uint32_t disks = plan_disks(p, kind);

		if (disks == 0 || k->owned != owned)
			continue;
		if (!headed && p->order.set > 0)
			printf("\n%s in sets of %u, %s:\n", what, p->order.set, raid_names[p->order.raid]);
		else if (!headed)
			printf("\n%s:\n", what);
		headed = true;
		printf("  %3.0f x %s, ", disks * drives, plan_model(p, kind));
		if (owned)
			printf("worn by %.0f %%\n", k->worn_gb / k->model->disk.endurance_gb * 100);
		else
			printf("%.2f USD%s\n", disks * p->advice.models[kind].initial_usd,
			    has_word(k->model->estimated, "usd") ? " (price estimated)" : "");
	}
}

static void
show_purchase(const struct planned *p)
{
	const struct advice_money *money = &p->advice.plans[0].money;

	show_drives(p, true, "Use");
	show_drives(p, false, "Buy");
	printf("Cost: %.2f USD, of these %.2f to buy, %.2f to replace what is worn out, %.2f for power, %.2f for "
	    "labour\n",
	    p->advice.plans[0].cost.usd, money->bought_usd, money->replaced_usd, money->power_usd, money->labour_usd);
}

/* Of each kind its best way, of the best kind the other ways too, and what comes of it one by one. */
static int
show_ways(const struct planned *p)
{
	static const char *const heads[] = { "WAY", "PLACED BY", ">DISKS", ">USD", ">MORE", "FIRST WORN OUT", "WHY" };
	uint32_t of = p->advice.plans[0].kind;
	unsigned shown = 0, left_out = 0;
	struct table table;

	for (uint32_t i = 0; of == ADVICE_MIXED && i < p->advice.plan_count; i++)
		of = p->advice.plans[i].kind;
	table_init(&table, heads, 7);
	for (uint32_t i = 0; i < p->advice.plan_count; i++) {
		const struct advice_plan *plan = &p->advice.plans[i];
		bool all = plan->cost.nowhere == p->advice.plans[0].cost.nowhere;
		char words[PLAN_WORDS];

		bool online = advice_is_online(plan->way);

		if (!plan_is_best_of_kind(p, plan) && plan->kind != of && !online)
			continue;
		if (shown++ >= WAYS && !online) {
			left_out++;
			continue;
		}
		plan_what(p, plan, words);
		table_add(&table, "%s", words);
		table_add(&table, "%s", advice_way_names[plan->way]);
		table_add(&table, "%u", plan->cost.disks);
		table_add(&table, all ? "%.0f" : "-", plan->cost.usd);
		table_add(&table, all && i > 0 ? "%.1f %%" : "-", plan_more_pct(p, plan));
		plan_years(plan->shortest_years, words);
		table_add(&table, "%s", words);
		plan_against(p, plan, words);
		table_add(&table, "%s", words);
	}
	printf("\nAgainst other ways\n");
	if (table_end(&table, stdout) != 0)
		return -1;
	if (left_out > 0)
		printf("... and %u that are dearer, or have no place for all of them: --json and --html\n", left_out);
	return 0;
}

static int
show_disks(const struct planned *p)
{
	static const char *const heads[] = {
		">DISK", "MODEL", ">WORKLOADS", ">ROOM", ">IOPS", ">GB/DAY", ">SEQUENTIAL", ">WAF", "WORN OUT IN",
		">USD",
	};
	struct table table;

	table_init(&table, heads, 10);
	for (uint32_t i = 0; i < p->layout.count && i < SHOWN; i++) {
		const struct advice_disk *d = &p->layout.disks[i];
		char years[32];

		plan_years((d->worn_days - d->first_days) / 365, years);
		table_add(&table, "%u", i + 1);
		table_add(&table, "%s", plan_model(p, d->kind));
		table_add(&table, "%u", d->workloads);
		table_add(&table, "%.0f %%", d->room * 100);
		table_add(&table, "%.0f %%", d->iops * 100);
		table_add(&table, "%.1f", d->write_gb_per_day);
		table_add(&table, "%.0f %%", d->seq_ratio * 100);
		table_add(&table, "%.2f", d->waf);
		table_add(&table, "%s", years);
		table_add(&table, "%.0f", advice_usd(&d->money));
	}
	printf("\nDisks\n");
	if (table_end(&table, stdout) != 0)
		return -1;
	if (p->layout.count > SHOWN)
		printf("... and %u more: --json and --html have all of them\n", p->layout.count - SHOWN);
	return 0;
}

static int
show_places(const struct planned *p)
{
	static const char *const heads[] = { "WORKLOAD", ">DISK", "MODEL", "WHY" };
	const struct advice *a = &p->advice;
	bool why = p->given->why && p->reasons != NULL;
	uint32_t shown = 0, placed = a->problem.workload_count - a->plans[0].cost.nowhere;
	struct table table;

	table_init(&table, heads, why ? 4 : 3);
	for (uint32_t i = 0; i < a->problem.workload_count && (shown < SHOWN || why); i++) {
		uint32_t disk = a->plans[0].plan.disk_of[i];
		char words[PLAN_WORDS];

		if (disk == SEARCH_NOWHERE)
			continue;
		shown++;
		table_add(&table, "%s", a->problem.workloads[i].name);
		table_add(&table, "%u", disk + 1);
		table_add(&table, "%s", plan_model(p, p->layout.disks[disk].kind));
		if (!why)
			continue;
		plan_why(p, i, words);
		table_add(&table, "%s", words);
	}
	printf("\nWhat goes where\n");
	if (table_end(&table, stdout) != 0)
		return -1;
	if (placed > shown)
		printf("... and %u more: --json and --html have all of them\n", placed - shown);
	return 0;
}

static void
show_refused(const struct planned *p)
{
	printf("\nWithout a place: %u\n", p->advice.refused_count);
	for (uint32_t i = 0; i < p->advice.refused_count && i < SHOWN; i++) {
		char words[PLAN_WORDS];

		plan_refusal(p, &p->advice.refused[i], words);
		printf("  %s: %s\n", p->advice.refused[i].workload->name, words);
	}
	if (p->advice.refused_count > SHOWN)
		printf("  ... and %u more: --json has all of them\n", p->advice.refused_count - SHOWN);
}

int
plan_show(const struct planned *p)
{
	show_workloads(p);
	if (p->advice.plan_count > 0) {
		show_purchase(p);
		if (show_ways(p) != 0 || show_disks(p) != 0 || show_places(p) != 0)
			return -1;
	}
	if (p->advice.refused_count > 0)
		show_refused(p);
	return 0;
}
