/*
 * plan_json.c - a plan for programs: all that there is to know of it, as one object.  doc/placement.md has its fields.
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>

#include "plan.h"

static void
text(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, json_object_new_string(value));
}

/* Six digits are more than is known; what is infinite is null. */
static void
number(struct json_object *object, const char *key, double value)
{
	char digits[40];

	snprintf(digits, sizeof(digits), "%.8g", value);
	json_object_object_add(object, key, isfinite(value) ? json_object_new_double_s(value, digits) : NULL);
}

static void
whole(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static void
money(struct json_object *object, const struct advice_money *m)
{
	number(object, "usd", advice_usd(m));
	number(object, "bought_usd", m->bought_usd);
	number(object, "replaced_usd", m->replaced_usd);
	number(object, "power_usd", m->power_usd);
	number(object, "labour_usd", m->labour_usd);
}

/* The model, or null: of several. */
static void
model(struct json_object *object, const struct planned *p, uint32_t kind)
{
	json_object_object_add(object, "model", kind == ADVICE_MIXED ? NULL :
	    json_object_new_string(plan_model(p, kind)));
}

static struct json_object *
assumed(const struct planned *p)
{
	const struct catalogue_terms *terms = &p->given->terms;
	struct json_object *object = json_object_new_object();

	number(object, "years", p->order.years);
	number(object, "room_max_pct", p->order.room_max * 100);
	number(object, "iops_max_pct", p->order.iops_max * 100);
	number(object, "usd_per_kwh", terms->usd_per_kwh);
	number(object, "pue", terms->pue);
	number(object, "labour_usd_per_day", terms->labour_usd_per_day);
	number(object, "setup_usd", terms->setup_usd);
	json_object_object_add(object, "raid", p->order.set == 0 ? NULL :
	    json_object_new_string(raid_names[p->order.raid]));
	whole(object, "set", p->order.set > 0 ? p->order.set : 1);
	whole(object, "seed", p->order.seed);
	return object;
}

static struct json_object *
drives(const struct planned *p)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t kind = 0; kind < p->order.kind_count; kind++) {
		struct json_object *object;
		uint32_t disks = plan_disks(p, kind);

		if (disks == 0)
			continue;
		object = json_object_new_object();
		model(object, p, kind);
		json_object_object_add(object, "owned", json_object_new_boolean(p->order.kinds[kind].owned));
		whole(object, "disks", disks);
		number(object, "drives", disks * plan_drives(p));
		number(object, "usd", p->order.kinds[kind].owned ? 0 : disks * p->advice.models[kind].initial_usd);
		text(object, "estimated", p->order.kinds[kind].model->estimated);
		json_object_array_add(list, object);
	}
	return list;
}

static struct json_object *
ways(const struct planned *p)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < p->advice.plan_count; i++) {
		const struct advice_plan *plan = &p->advice.plans[i];
		struct json_object *object = json_object_new_object();
		char words[PLAN_WORDS];

		model(object, p, plan->kind);
		text(object, "placed_by", advice_way_names[plan->way]);
		whole(object, "disks", plan->cost.disks);
		whole(object, "without_a_place", plan->cost.nowhere);
		money(object, &plan->money);
		number(object, "whole_drives_usd", plan->cost.usd_whole);
		number(object, "more_pct", plan->cost.nowhere > p->advice.plans[0].cost.nowhere ? NAN :
		    plan_more_pct(p, plan));
		number(object, "first_worn_years", plan->shortest_years);
		plan_against(p, plan, words);
		text(object, "why", words);
		json_object_array_add(list, object);
	}
	return list;
}

static struct json_object *
disks(const struct planned *p)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < p->layout.count; i++) {
		const struct advice_disk *d = &p->layout.disks[i];
		struct json_object *object = json_object_new_object(), *names = json_object_new_array();

		whole(object, "disk", i + 1);
		model(object, p, d->kind);
		number(object, "room_pct", d->room * 100);
		number(object, "iops_pct", d->iops * 100);
		number(object, "write_gb_day", d->write_gb_per_day);
		number(object, "seq_ratio_pct", d->seq_ratio * 100);
		number(object, "waf", d->waf);
		number(object, "worn_out_years", (d->worn_days - d->first_days) / 365);
		number(object, "wear_pct", d->wear * 100);
		money(object, &d->money);
		for (uint32_t w = p->layout.first[i]; w < p->layout.first[i + 1]; w++)
			json_object_array_add(names, json_object_new_string(
			    p->advice.problem.workloads[p->layout.list[w]].name));
		json_object_object_add(object, "workloads", names);
		json_object_array_add(list, object);
	}
	return list;
}

static void
place(struct json_object *object, const struct planned *p, uint32_t workload)
{
	const struct advice_reason *reason = &p->reasons[workload];
	char words[PLAN_WORDS];

	number(object, "adds_usd", reason->usd);
	number(object, "adds_wear_pct", reason->wear * 100);
	number(object, "next_usd", reason->next_usd);
	json_object_object_add(object, "next_disk", reason->next_disk == SEARCH_NOWHERE ? NULL :
	    json_object_new_uint64(reason->next_disk + 1));
	json_object_object_add(object, "next_model", isinf(reason->next_usd) ? NULL :
	    json_object_new_string(plan_model(p, reason->next_kind)));
	number(object, "exchange_usd", reason->exchange_usd);
	json_object_object_add(object, "exchange_with", reason->exchange == SEARCH_NOWHERE ? NULL :
	    json_object_new_string(p->advice.problem.workloads[reason->exchange].name));
	whole(object, "disks_without_room", reason->full);
	whole(object, "disks_too_slow", reason->slow);
	plan_why(p, workload, words);
	text(object, "why", words);
}

static struct json_object *
places(const struct planned *p)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < p->advice.problem.workload_count; i++) {
		uint32_t disk = p->advice.plans[0].plan.disk_of[i];
		struct json_object *object;

		if (disk == SEARCH_NOWHERE)
			continue;
		object = json_object_new_object();
		text(object, "workload", p->advice.problem.workloads[i].name);
		whole(object, "disk", disk + 1);
		model(object, p, p->layout.disks[disk].kind);
		if (p->reasons != NULL)
			place(object, p, i);
		json_object_array_add(list, object);
	}
	return list;
}

static struct json_object *
refused(const struct planned *p)
{
	static const char *const names[] = {
		[DISK_TAKES] = "disks", [DISK_WORN] = "worn", [DISK_FULL] = "room", [DISK_SLOW] = "iops",
	};
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < p->advice.refused_count; i++) {
		const struct advice_refused *r = &p->advice.refused[i];
		struct json_object *object = json_object_new_object();
		bool known = r->why == DISK_FULL || r->why == DISK_SLOW;
		char words[PLAN_WORDS];

		text(object, "workload", r->workload->name);
		text(object, "constraint", names[r->why]);
		model(object, p, known ? r->kind : ADVICE_MIXED);
		number(object, "needs", known ? r->needs : NAN);
		number(object, "has", known ? r->has : NAN);
		plan_refusal(p, r, words);
		text(object, "why", words);
		json_object_array_add(list, object);
	}
	return list;
}

int
plan_json(const struct planned *p)
{
	struct json_object *all = json_object_new_object(), *warnings = json_object_new_array();
	const struct advice_money none = { 0 };

	json_object_object_add(all, "assumed", assumed(p));
	whole(all, "workloads", p->workloads.count);
	money(all, p->advice.plan_count > 0 ? &p->advice.plans[0].money : &none);
	json_object_object_add(all, "drives", drives(p));
	json_object_object_add(all, "ways", ways(p));
	json_object_object_add(all, "disks", disks(p));
	json_object_object_add(all, "places", places(p));
	json_object_object_add(all, "without_a_place", refused(p));
	for (unsigned i = 0; i < p->warning_count; i++)
		json_object_array_add(warnings, json_object_new_string(p->warnings[i]));
	json_object_object_add(all, "warnings", warnings);
	puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(all);
	return 0;
}
