/*
 * plan_words.c - why, in words: of a workload, of a plan, of what has no place.
 */
#include <math.h>
#include <string.h>

#include "plan.h"

const char *
plan_model(const struct planned *p, uint32_t kind)
{
	return p->order.kinds[kind].model->disk.name;
}

double
plan_drives(const struct planned *p)
{
	return p->order.set > 0 ? p->order.set : 1;
}

void
plan_what(const struct planned *p, const struct advice_plan *plan, char words[PLAN_WORDS])
{
	if (plan != p->advice.plans && advice_is_online(plan->way))
		snprintf(words, PLAN_WORDS, "the same drives");
	else if (plan->kind == ADVICE_MIXED)
		snprintf(words, PLAN_WORDS, "%s", p->order.kinds[0].owned ? "the drives there are" : "a mix of models");
	else
		snprintf(words, PLAN_WORDS, "only %s", plan_model(p, plan->kind));
}

double
plan_more_pct(const struct planned *p, const struct advice_plan *plan)
{
	return (plan->cost.usd / p->advice.plans[0].cost.usd - 1) * 100;
}

bool
plan_is_best_of_kind(const struct planned *p, const struct advice_plan *plan)
{
	for (const struct advice_plan *other = p->advice.plans; other < plan; other++)
		if (other->kind == plan->kind)
			return false;
	return true;
}

void
plan_years(double years, char words[32])
{
	if (isinf(years))
		snprintf(words, 32, "never");
	else if (years < 0.1)
		snprintf(words, 32, "%.2g days", years * 365);
	else if (years >= 100)
		snprintf(words, 32, "over 100 years");
	else
		snprintf(words, 32, "%.1f years", years);
}

uint32_t
plan_disks(const struct planned *p, uint32_t kind)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->layout.count; i++)
		count += p->layout.disks[i].kind == kind;
	return count;
}

/* ---- of a workload ---- */

/* What it takes of the disk that it is on. */
static void
say_own(const struct advice_reason *reason, FILE *out)
{
	if (reason->usd < 0.005)
		fprintf(out, "costs nothing more there");
	else
		fprintf(out, "costs %.2f USD there", reason->usd);
	fprintf(out, " (%.0f %% of a disk's life)", reason->wear * 100);
}

/* To a cent. */
static void
say_more(double usd, FILE *out)
{
	if (fabs(usd) < 0.005)
		fprintf(out, "as much");
	else
		fprintf(out, "%.2f %s", fabs(usd), usd > 0 ? "more" : "less");
}

static void
say_next(const struct planned *p, const struct advice_reason *reason, FILE *out)
{
	if (reason->next_disk != SEARCH_NOWHERE)
		fprintf(out, "; on disk %u ", reason->next_disk + 1);
	else
		fprintf(out, "; on one of its own (%s) ", plan_model(p, reason->next_kind));
	say_more(reason->next_usd - reason->usd, out);
}

static void
say_excluded(const struct advice_reason *reason, FILE *out)
{
	if (reason->full > 0)
		fprintf(out, "; no room on %u other%s", reason->full, reason->full == 1 ? "" : "s");
	if (reason->slow > 0)
		fprintf(out, "; too few I/Os on %u other%s", reason->slow, reason->slow == 1 ? "" : "s");
}

static void
say_exchange(const struct planned *p, const struct advice_reason *reason, FILE *out)
{
	const char *name;

	if (reason->exchange == SEARCH_NOWHERE)
		return;
	name = p->advice.problem.workloads[reason->exchange].name;
	fprintf(out, "; exchanged with %s ", name);
	say_more(reason->exchange_usd, out);
}

void
plan_why(const struct planned *p, uint32_t workload, char words[PLAN_WORDS])
{
	const struct advice_reason *reason = &p->reasons[workload];
	FILE *out = fmemopen(words, PLAN_WORDS - 1, "w");

	words[0] = words[PLAN_WORDS - 1] = '\0';
	if (out == NULL)
		return;
	say_own(reason, out);
	if (isinf(reason->next_usd))
		fprintf(out, "; nothing else takes it");
	else
		say_next(p, reason, out);
	say_excluded(reason, out);
	say_exchange(p, reason, out);
	fclose(out);
}

/* ---- of what has no place ---- */

void
plan_refusal(const struct planned *p, const struct advice_refused *r, char words[PLAN_WORDS])
{
	const char *model = plan_model(p, r->kind), *left = r->in_plan ? " left on the disk that is nearest" : "";

	switch (r->why) {
	case DISK_FULL:
		snprintf(words, PLAN_WORDS, "room: it takes %.6g GB, and %s has %.6g%s at %g %%: %.6g too much",
		    r->needs, model, r->has, left, p->order.room_max * 100, r->needs - r->has);
		return;
	case DISK_SLOW:
		snprintf(words, PLAN_WORDS, "IOPS: its peak takes %.0f, a write counted %.3g times, and %s has %.0f%s "
		    "at "
		    "%g %%: %.0f too many", r->needs, p->advice.models[r->kind].write_penalty, model, r->has, left,
		    p->order.iops_max * 100, r->needs - r->has);
		return;
	case DISK_WORN:
		snprintf(words, PLAN_WORDS, "worn: all the drives there are have no writes left");
		return;
	case DISK_TAKES:
		snprintf(words, PLAN_WORDS, "disks: it has a place alone, and there are not enough disks for all");
		return;
	}
}

/* ---- of a plan ---- */

/* The first workload that a plan of one kind has no place for, and what it lacks. */
static void
has_no_place(const struct planned *p, const struct advice_plan *plan, char words[PLAN_WORDS])
{
	uint32_t at = 0;
	const struct workload *w;
	const struct disk_model *model;

	while (plan->plan.disk_of[at] != SEARCH_NOWHERE)
		at++;
	w = &p->advice.problem.workloads[at];
	snprintf(words, PLAN_WORDS, "no place for %u: there are not enough disks", plan->cost.nowhere);
	if (plan->kind == ADVICE_MIXED)
		return;
	model = &p->advice.models[plan->kind];
	if (w->working_set_gb > model->capacity_gb * p->order.room_max)
		snprintf(words, PLAN_WORDS, "no place for %u: %s takes %.6g GB, and there are %.6g", plan->cost.nowhere,
		    w->name, w->working_set_gb, model->capacity_gb * p->order.room_max);
	else if (disk_iops_for(model, w) > model->iops * p->order.iops_max)
		snprintf(words, PLAN_WORDS, "no place for %u: %s takes %.0f I/Os, and there are %.0f",
		    plan->cost.nowhere, w->name, disk_iops_for(model, w), model->iops * p->order.iops_max);
}

void
plan_against(const struct planned *p, const struct advice_plan *plan, char words[PLAN_WORDS])
{
	const struct advice_plan *best = &p->advice.plans[0];
	const struct { const char *what; double usd; } parts[] = {
		{ "to buy", plan->money.bought_usd - best->money.bought_usd },
		{ "to replace", plan->money.replaced_usd - best->money.replaced_usd },
		{ "for power", plan->money.power_usd - best->money.power_usd },
		{ "for labour", plan->money.labour_usd - best->money.labour_usd },
	};

	if (plan == best) {
		snprintf(words, PLAN_WORDS, "the cheapest");
		return;
	}
	if (plan->cost.nowhere > best->cost.nowhere) {
		has_no_place(p, plan, words);
		return;
	}
	if (plan->cost.usd - best->cost.usd < 0.5) {
		snprintf(words, PLAN_WORDS, "as cheap");
		return;
	}
	snprintf(words, PLAN_WORDS, "%.0f USD more:", plan->cost.usd - best->cost.usd);
	for (unsigned i = 0; i < 4; i++)
		if (fabs(parts[i].usd) >= 0.5) {
			size_t length = strlen(words);

			snprintf(words + length, PLAN_WORDS - length, "%s %+.0f %s",
			    words[length - 1] == ':' ? "" : ",", parts[i].usd, parts[i].what);
		}
}
