/*
 * plan_html.c - a plan as one page, that fetches nothing and runs nothing, for a phone, at night, and on paper.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "plan.h"

enum { BARS = 40 /* of a figure */ };

/* ---- pieces ---- */

static void
cell(FILE *out, const char *class, const char *text)
{
	fprintf(out, "<td%s%s%s>", class[0] != '\0' ? " class=\"" : "", class, class[0] != '\0' ? "\"" : "");
	plan_escape(out, text);
	fputs("</td>", out);
}

/* A number, with what belongs to it; it stands right. */
static void
number(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
number(FILE *out, const char *format, ...)
{
	va_list arguments;

	fputs("<td class=\"n\">", out);
	va_start(arguments, format);
	vfprintf(out, format, arguments);
	va_end(arguments);
	fputs("</td>", out);
}

/* A heading that begins with '>' stands right. */
static void
begin_table(FILE *out, const char *const *heads, unsigned count)
{
	fputs("<div class=\"table\"><table><thead><tr>", out);
	for (unsigned i = 0; i < count; i++)
		if (heads[i][0] == '>')
			fprintf(out, "<th class=\"n\">%s</th>", heads[i] + 1);
		else
			fprintf(out, "<th>%s</th>", heads[i]);
	fputs("</tr></thead><tbody>\n", out);
}

static void
end_table(FILE *out)
{
	fputs("</tbody></table></div>\n", out);
}

static void
card(FILE *out, const char *what, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
card(FILE *out, const char *what, const char *format, ...)
{
	va_list arguments;

	fputs("<div><b>", out);
	va_start(arguments, format);
	vfprintf(out, format, arguments);
	va_end(arguments);
	fprintf(out, "</b><span>%s</span></div>\n", what);
}

/* ---- what to buy ---- */

static void
summary(FILE *out, const struct planned *p)
{
	const struct advice_plan *best = &p->advice.plans[0];
	char years[32];

	fprintf(out, "<h1>What to buy, and what goes where</h1>\n<p class=\"soft\">%u workloads, %g years. Made by "
	    "<code>weir plan</code>.</p>\n<div class=\"cards\">\n", p->workloads.count, p->order.years);
	if (p->advice.plan_count > 0) {
		card(out, "US dollars in all the years", "%.0f", best->cost.usd);
		card(out, p->order.set > 0 ? "RAID sets" : "disks", "%u", best->cost.disks);
		plan_years(best->shortest_years, years);
		card(out, "until the first is worn out", "%s", years);
	}
	card(out, "workloads without a place", "%u", p->advice.refused_count);
	fputs("</div>\n", out);
}

static void
purchase(FILE *out, const struct planned *p)
{
	static const char *const heads[] = {
		"Model", "", ">Drives", ">USD", "Class", "Estimated", "Where its figures are from"
	};

	fputs("<h2>Drives</h2>\n", out);
	begin_table(out, heads, 7);
	for (uint32_t kind = 0; kind < p->order.kind_count; kind++) {
		const struct catalogue_model *model = p->order.kinds[kind].model;
		uint32_t disks = plan_disks(p, kind);

		if (disks == 0)
			continue;
		fputs("<tr>", out);
		cell(out, "name", model->disk.name);
		cell(out, "", p->order.kinds[kind].owned ? "it is there" : "bought");
		number(out, "%.0f", disks * plan_drives(p));
		number(out, "%.2f", p->order.kinds[kind].owned ? 0 : disks * p->advice.models[kind].initial_usd);
		cell(out, "", model->class);
		cell(out, "", model->estimated[0] != '\0' ? model->estimated : "nothing");
		cell(out, "soft wide", model->source);
		fputs("</tr>\n", out);
	}
	end_table(out);
}

/* ---- against other ways ---- */

static void
drives_of(const struct planned *p, const struct advice_plan *plan, char words[PLAN_WORDS])
{
	if (plan->kind == ADVICE_MIXED)
		plan_what(p, plan, words);
	else
		snprintf(words, PLAN_WORDS, "%s", plan_model(p, plan->kind));
}

static void
ways_figure(FILE *out, const struct planned *p)
{
	static const char *const names[] = { "bought", "replaced", "power", "labour" };
	char labels[BARS][PLAN_WORDS];
	struct plan_bar bars[BARS];
	struct plan_bars all = { .unit = "USD", .names = names, .bars = bars, .limit = NAN };
	/* All with the same drives: then they differ in how these are filled. */
	bool same = p->advice.plans[0].kind == p->advice.plans[p->advice.plan_count - 1].kind;

	for (uint32_t i = 0; i < p->advice.plan_count && all.count < BARS; i++) {
		const struct advice_plan *plan = &p->advice.plans[i];
		const struct advice_money *m = &plan->money;

		if (plan->cost.nowhere > p->advice.plans[0].cost.nowhere || (!same && !plan_is_best_of_kind(p, plan)))
			continue;
		if (same)
			snprintf(labels[all.count], PLAN_WORDS, "%s", advice_way_names[plan->way]);
		else
			drives_of(p, plan, labels[all.count]);
		bars[all.count] = (struct plan_bar){ .label = labels[all.count],
			.parts = { m->bought_usd, m->replaced_usd, m->power_usd, m->labour_usd } };
		snprintf(bars[all.count].value, sizeof(bars[0].value), "%.0f", plan->cost.usd);
		all.count++;
	}
	plan_bars(out, "What each way costs", &all);
}

/* What it costs to do it so; a dash where not all have a place. */
static void
way_cell(FILE *out, const struct planned *p, uint32_t kind, enum advice_way way)
{
	for (uint32_t i = 0; i < p->advice.plan_count; i++) {
		const struct advice_plan *plan = &p->advice.plans[i];

		if (plan->kind != kind || plan->way != way || plan->cost.nowhere > p->advice.plans[0].cost.nowhere)
			continue;
		number(out, "%.0f", plan->cost.usd);
		return;
	}
	number(out, "\xe2\x80\x93");
}

static void
way_row(FILE *out, const struct planned *p, const struct advice_plan *plan)
{
	char words[PLAN_WORDS];

	fprintf(out, "<tr%s>", plan == p->advice.plans ? " class=\"best\"" : "");
	drives_of(p, plan, words);
	cell(out, "name", words);
	for (enum advice_way way = ADVICE_WAYS; way-- > 0;)
		way_cell(out, p, plan->kind, way);
	number(out, "%u", plan->cost.disks);
	plan_years(plan->shortest_years, words);
	cell(out, "name", words);
	plan_against(p, plan, words);
	cell(out, "wide", words);
	fputs("</tr>\n", out);
}

static void
ways(FILE *out, const struct planned *p)
{
	static const char *const heads[] = {
		"Drives", ">Searched", ">minTCO-Perf", ">minTCO-v3", ">Offline, grouped", ">Offline, greedy",
		">Least used", ">First fit", ">Disks", "First worn out in", "Best way against the cheapest"
	};

	fputs("<h2>What each way costs</h2>\n<p class=\"soft\">US dollars in all the years, by the drives that are "
	    "bought and by how workloads are placed on them; a dash where not all have a place. What is worn out is "
	    "replaced in proportion.</p>\n", out);
	ways_figure(out, p);
	begin_table(out, heads, 11);
	for (uint32_t i = 0; i < p->advice.plan_count; i++)
		if (plan_is_best_of_kind(p, &p->advice.plans[i]))
			way_row(out, p, &p->advice.plans[i]);
	end_table(out);
}

/* ---- disks ---- */

struct shown {
	const char *title, *unit;
	double limit;
	double (*value)(const struct planned *p, const struct advice_disk *disk);
	const char *form;
};

static double
lifetime(const struct planned *p, const struct advice_disk *d)
{
	return fmin((d->worn_days - d->first_days) / 365, 4 * p->order.years);
}

static double
room(const struct planned *p, const struct advice_disk *d)
{
	return d->room * 100;
}

static double
iops(const struct planned *p, const struct advice_disk *d)
{
	return d->iops * 100;
}

static double
sequential(const struct planned *p, const struct advice_disk *d)
{
	return d->seq_ratio * 100;
}

static void
disks_figure(FILE *out, const struct planned *p, const struct shown *what)
{
	char labels[BARS][128];
	struct plan_bar bars[BARS];
	struct plan_bars all = { .unit = what->unit, .bars = bars, .limit = what->limit };

	for (uint32_t i = 0; i < p->layout.count && all.count < BARS; i++) {
		const struct advice_disk *d = &p->layout.disks[i];
		struct plan_bar *b = &bars[all.count];

		snprintf(labels[all.count], sizeof(labels[0]), "%u  %s", i + 1, plan_model(p, d->kind));
		*b = (struct plan_bar){ .label = labels[all.count++], .parts = { what->value(p, d) } };
		if (what->value == lifetime)
			plan_years((d->worn_days - d->first_days) / 365, b->value);
		else
			snprintf(b->value, sizeof(b->value), "%.0f %%", b->parts[0]);
	}
	fprintf(out, "<h3>%s</h3>\n", what->title);
	plan_bars(out, what->title, &all);
}

static void
disks_table(FILE *out, const struct planned *p)
{
	static const char *const heads[] = {
		">Disk", "Model", ">Room", ">IOPS", ">GB a day", ">Sequential", ">WAF", ">Worn in the years", ">USD",
		"Workloads"
	};

	begin_table(out, heads, 10);
	for (uint32_t i = 0; i < p->layout.count; i++) {
		const struct advice_disk *d = &p->layout.disks[i];

		fputs("<tr>", out);
		number(out, "%u", i + 1);
		cell(out, "name", plan_model(p, d->kind));
		number(out, "%.0f %%", d->room * 100);
		number(out, "%.0f %%", d->iops * 100);
		number(out, "%.1f", d->write_gb_per_day);
		number(out, "%.0f %%", d->seq_ratio * 100);
		number(out, "%.2f", d->waf);
		number(out, "%.0f %%", d->wear * 100);
		number(out, "%.2f", advice_usd(&d->money));
		fputs("<td class=\"wide\">", out);
		for (uint32_t w = p->layout.first[i]; w < p->layout.first[i + 1]; w++) {
			fputs(w > p->layout.first[i] ? ", " : "", out);
			plan_escape(out, p->advice.problem.workloads[p->layout.list[w]].name);
		}
		fputs("</td></tr>\n", out);
	}
	end_table(out);
}

static void
disks(FILE *out, const struct planned *p)
{
	const struct shown figures[] = {
		{ .title = "Until it is worn out", .unit = "years", .limit = p->order.years, .value = lifetime },
		{ .title = "Room that is taken", .unit = "%", .limit = p->order.room_max * 100, .value = room },
		{ .title = "I/Os that peaks take", .unit = "%", .limit = p->order.iops_max * 100, .value = iops },
		{ .title = "Sequential writes", .unit = "%", .limit = NAN, .value = sequential },
	};

	fputs("<h2>Disks</h2>\n", out);
	disks_table(out, p);
	for (unsigned i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		disks_figure(out, p, &figures[i]);
	if (p->layout.count > BARS)
		fprintf(out, "<p class=\"soft\">Figures have the first %d of %u disks.</p>\n", BARS, p->layout.count);
	fputs("<h3>Wear</h3>\n<p class=\"soft\">Physical writes over what a disk bears; at 100 % it is replaced, and "
	    "the next one goes on. The most worn ones.</p>\n", out);
	plan_wear(out, p);
}

/* ---- workloads ---- */

static void
places(FILE *out, const struct planned *p)
{
	static const char *const heads[] = { "Workload", ">GB a day", ">Sequential", ">GB", ">Disk", "Model",
	    "Why there" };

	fputs("<h2>What goes where, and why</h2>\n", out);
	begin_table(out, heads, 7);
	for (uint32_t i = 0; i < p->advice.problem.workload_count; i++) {
		const struct workload *w = &p->advice.problem.workloads[i];
		uint32_t disk = p->advice.plans[0].plan.disk_of[i];
		char words[PLAN_WORDS] = "";

		if (disk == SEARCH_NOWHERE)
			continue;
		if (p->reasons != NULL)
			plan_why(p, i, words);
		fputs("<tr>", out);
		cell(out, "name", w->name);
		number(out, "%.2f", w->write_gb_per_day);
		number(out, "%.0f %%", w->seq_ratio * 100);
		number(out, "%.1f", w->working_set_gb);
		number(out, "%u", disk + 1);
		cell(out, "name", plan_model(p, p->layout.disks[disk].kind));
		cell(out, "soft wide", words);
		fputs("</tr>\n", out);
	}
	end_table(out);
}

static void
refused(FILE *out, const struct planned *p)
{
	static const char *const heads[] = { "Workload", "What stops it" };

	if (p->advice.refused_count == 0)
		return;
	fputs("<h2 class=\"bad\">Without a place</h2>\n", out);
	begin_table(out, heads, 2);
	for (uint32_t i = 0; i < p->advice.refused_count; i++) {
		char words[PLAN_WORDS];

		plan_refusal(p, &p->advice.refused[i], words);
		fputs("<tr>", out);
		cell(out, "", p->advice.refused[i].workload->name);
		cell(out, "", words);
		fputs("</tr>\n", out);
	}
	end_table(out);
}

/* ---- what is assumed ---- */

static void
assumed_row(FILE *out, const char *what, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
assumed_row(FILE *out, const char *what, const char *format, ...)
{
	char text[160];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fputs("<tr>", out);
	cell(out, "", what);
	cell(out, "", text);
	fputs("</tr>\n", out);
}

static void
assumed(FILE *out, const struct planned *p)
{
	static const char *const heads[] = { "What is assumed", "" };
	const struct catalogue_terms *t = &p->given->terms;

	fputs("<h2>What is assumed</h2>\n", out);
	begin_table(out, heads, 2);
	assumed_row(out, "Years", "%g, of 365 days; drives are worth nothing at their end", p->order.years);
	assumed_row(out, "Room that may be taken", "%g %%", p->order.room_max * 100);
	assumed_row(out, "I/Os that peaks may take", "%g %%; the peaks of all workloads of a disk at one time",
	    p->order.iops_max * 100);
	assumed_row(out, "Electricity", "%g USD per kWh, and %g W for each watt of a drive", t->usd_per_kwh, t->pue);
	assumed_row(out, "Labour", "%g USD a day for each drive", t->labour_usd_per_day);
	assumed_row(out, "To put a drive in", "%g USD, where the catalogue does not say it", t->setup_usd);
	if (p->order.set > 0)
		assumed_row(out, "Sets", "%s of %u drives", raid_names[p->order.raid], p->order.set);
	assumed_row(out, "Workloads", "each stays where it is, and writes at the same rate from when it comes");
	assumed_row(out, "Search", "seed %llu: the same numbers give the same plan", (unsigned long long)p->order.seed);
	for (unsigned i = 0; i < p->warning_count; i++) {
		fputs("<tr>", out);
		cell(out, "", "Warning");
		cell(out, "", p->warnings[i]);
		fputs("</tr>\n", out);
	}
	end_table(out);
}

void
plan_html(FILE *out, const struct planned *p)
{
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
	    "content=\"width=device-width,initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
	    "<title>What to buy, and what goes where</title>\n<style>\n", out);
	fputs(plan_page_texts[0].text, out);
	fputs("</style></head>\n<body><main>\n", out);
	summary(out, p);
	refused(out, p);
	if (p->advice.plan_count > 0) {
		purchase(out, p);
		ways(out, p);
		disks(out, p);
		places(out, p);
	}
	assumed(out, p);
	fputs("</main></body></html>\n", out);
}
