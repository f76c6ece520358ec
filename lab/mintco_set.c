#include "mintco_set.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mintco_text.h"
#include "place/catalogue_read.h"
#include "place/waf_theory.h"
#include "place/workloads_read.h"

const char *const mintco_curve_names[MINTCO_CURVES] = { "stated", "measured" };
const double mintco_usd_per_day[MINTCO_RATES] = { 0.04, MINTCO_USD_PER_DAY, 0.6, 1.6 };

/* What the nine have, in thousandths. */
static const unsigned spares[MINTCO_SPARES] = { 74, 280, 374 };

static const double RATE_SIGMA = 0.5, SEQ_SIGMA = 0.1;

unsigned
mintco_curves(const struct mintco_set *set)
{
	return set->curve_count > 0 ? MINTCO_CURVES : 1;
}

/* ---- what there is ---- */

static const char *
text_of(const char *name)
{
	for (unsigned i = 0; i < mintco_count; i++)
		if (strcmp(mintco_texts[i].name, name) == 0)
			return mintco_texts[i].text;
	assert(false);
	return NULL;
}

/* Its own spare is nearest to that of one of the curves; it is known by the A(0) that theory gave it. */
static const struct waf_curve *
curve_of(const struct mintco_set *set, const struct disk_model *model)
{
	const struct waf_curve *nearest = NULL;
	double least = INFINITY;

	for (unsigned i = 0; i < set->curve_count; i++) {
		double off = fabs(waf_uniform(spares[i] / 1000.0) - waf_at(&model->waf, 0));

		if (off < least) {
			least = off;
			nearest = &set->curves[i];
		}
	}
	return nearest;
}

static bool
make_models(struct lab *lab, struct mintco_set *set)
{
	const char *text = text_of("fall-2015");
	struct csv_said *said = lab_alloc(lab, sizeof(*said));
	struct catalogue catalogue;

	if (catalogue_read(&catalogue, lab->arena, text, strlen(text), &catalogue_terms_usual, said) != 0 ||
	    catalogue.count != MINTCO_MODELS) {
		lab_refuse(lab, "the drives cannot be read: line %u: %s", said->wrong.first[0].line,
		    said->wrong.first[0].why);
		return false;
	}
	for (unsigned i = 0; i < MINTCO_MODELS; i++)
		for (unsigned c = 0; c < mintco_curves(set); c++) {
			struct disk_model *model = &set->models[c][i];

			*model = catalogue.list[i].disk;
			model->usd_per_day = MINTCO_USD_PER_DAY;
			model->waf = c == MINTCO_STATED ? waf_default : waf_fitted(&curve_of(set, model)->fit);
			model->endurance_gb = catalogue.list[i].rated_gb * waf_at(&model->waf, 0);
			if (disk_model_wrong(model) != NULL)
				lab_refuse(lab, "%s: %s", model->name, disk_model_wrong(model));
		}
	return lab->why[0] == '\0';
}

static bool
make_population(struct lab *lab, struct mintco_set *set)
{
	const char *text = text_of("table-4");
	struct csv_said *said = lab_alloc(lab, sizeof(*said));
	struct workloads workloads;

	if (lab->workloads.count > 0) {
		set->population = lab->workloads;
		set->is_users = true;
		return true;
	}
	if (workloads_read(&workloads, lab->arena, text, strlen(text), said) != 0) {
		lab_refuse(lab, "Table IV cannot be read: line %u: %s", said->wrong.first[0].line,
		    said->wrong.first[0].why);
		return false;
	}
	set->population = (struct lab_workloads){ workloads.list, workloads.count, "Table IV of the minTCO paper" };
	return true;
}

bool
mintco_set_make(struct lab *lab, struct mintco_set *set)
{
	*set = (struct mintco_set){ .curve_count = lab->quick ? 0 : MINTCO_SPARES };
	if (set->curve_count > 0 && !waf_curves_measure(lab, spares, MINTCO_SPARES, set->curves))
		return false;
	return make_models(lab, set) && make_population(lab, set);
}

void
mintco_note(struct lab *lab, uint64_t hash, uint32_t workloads)
{
	lab->hash = (lab->hash ^ hash) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	lab->events += workloads;
}

/* ---- what is told of it ---- */

static void
tell_models(struct result *result, const struct mintco_set *set)
{
	const struct result_column columns[] = {
		{ "drive", "", 0, true }, { "first cost", "USD", 0, false }, { "capacity", "GB", 0, false },
		{ "reads", "1/s", 0, false }, { "writes", "1/s", 0, false }, { "stated W", "PB", 2, false },
		{ "A(0)", "", 2, false }, { "A(1)", "", 2, false }, { "measured W", "PB", 2, false },
		{ "A(0)", "", 2, false }, { "A(1)", "", 2, false },
	};
	struct result_table *table = result_table(result, "drives", "The drives, with both ways in which write "
	    "amplification falls; W is physical writes until one is worn out", columns,
	    sizeof(columns) / sizeof(columns[0]));

	for (unsigned i = 0; i < MINTCO_MODELS; i++) {
		const struct disk_model *model = &set->models[MINTCO_STATED][i];

		result_cell_text(table, "%s", model->name);
		result_cell_number(table, model->initial_usd);
		result_cell_number(table, model->capacity_gb);
		result_cell_number(table, model->iops);
		result_cell_number(table, model->iops / model->write_penalty);
		for (unsigned c = 0; c < MINTCO_CURVES; c++) {
			const struct disk_model *as = c < mintco_curves(set) ? &set->models[c][i] : NULL;

			result_cell_number(table, as ? as->endurance_gb / 1e6 : NAN);
			result_cell_number(table, as ? waf_at(&as->waf, 0) : NAN);
			result_cell_number(table, as ? waf_at(&as->waf, 1) : NAN);
		}
	}
}

static void
draw_curves(struct result *result, const struct mintco_set *set)
{
	struct result_figure *figure = result_figure(result, RESULT_LINES, "curves",
	    "Write amplification that is stated, and as it was measured", (struct result_axis){
	    "sequential share of writes", "%", RESULT_LINEAR }, (struct result_axis){ "write amplification", "",
	    RESULT_LINEAR });
	struct result_series *stated = result_series(figure, "stated", false);

	result_caption(figure, "Lines are Equation 7: as stated, and fitted to what was measured (points) on the "
	    "modelled SSD with as much spare space as the drives have.");
	for (unsigned s = 0; s <= 100; s += 2)
		result_point(stated, s, waf_at(&waf_default, s / 100.0));
	for (unsigned i = 0; i < set->curve_count; i++) {
		struct waf waf = waf_fitted(&set->curves[i].fit);
		struct result_series *line = result_series(figure, set->curves[i].name, false);

		for (unsigned s = 0; s <= 100; s += 2)
			result_point(line, s, waf_at(&waf, s / 100.0));
	}
	for (unsigned i = 0; i < set->curve_count; i++) {
		struct result_series *points = result_series(figure, "measured", true);

		for (unsigned s = 0; s < WAF_CURVE_SHARES; s++)
			result_point(points, waf_curve_shares[s], set->curves[i].amplification[s]);
	}
}

void
mintco_set_tell(struct lab *lab, struct result *result, const struct mintco_set *set)
{
	snprintf(lab->world, sizeof(lab->world), "no device and no time: what the paper's equations say");
	result_given(result, "workloads", "drawn from %s (%u)", set->population.name, set->population.count);
	result_given(result, "write amplification", "%s", set->curve_count > 0 ?
	    "stated (waf_default), and measured on the modelled SSD" : "stated (waf_default) alone (--quick)");
	tell_models(result, set);
	draw_curves(result, set);
}

void
mintco_check(struct result *result, const struct mintco_set *set, unsigned curve, const char *what, const char *unit,
    unsigned decimals, double measured, enum result_bound bound, double expected)
{
	char name[128];

	snprintf(name, sizeof(name), "%s, %s", what, mintco_curve_names[curve]);
	result_metric(result, name, unit, decimals, measured);
	if (!set->is_users)
		result_check(result, name, unit, decimals, measured, bound, expected, 0);
}

/* ---- chance ---- */

double
mintco_chance(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static double
normal(struct rng *rng)
{
	return sqrt(-2 * log(1 - mintco_chance(rng))) * cos(2 * acos(-1) * mintco_chance(rng));
}

static struct workload
varied(struct workload w, struct rng *rng)
{
	double seq = w.seq_ratio + SEQ_SIGMA * normal(rng);

	w.seq_ratio = seq < 0 ? 0 : seq > 1 ? 1 : seq;
	w.write_gb_per_day *= exp(RATE_SIGMA * normal(rng));
	w.peak_iops *= exp(RATE_SIGMA * normal(rng));
	w.working_set_gb *= exp(RATE_SIGMA * normal(rng));
	return w;
}

static void
exchange(struct workload *workloads, uint32_t i, uint32_t other)
{
	struct workload w = workloads[i];

	workloads[i] = workloads[other];
	workloads[other] = w;
}

/* Each one with the chance that the rest leaves it, and then in any order. */
static void
choose(const struct mintco_set *set, struct rng *rng, struct workload *workloads, uint32_t count)
{
	uint32_t chosen = 0;

	for (uint32_t i = 0; chosen < count; i++)
		if (rng_below(rng, set->population.count - i) < count - chosen)
			workloads[chosen++] = set->population.list[i];
	for (uint32_t i = 1; i < count; i++)
		exchange(workloads, i, (uint32_t)rng_below(rng, i + 1));
}

void
mintco_draw(const struct mintco_set *set, struct rng *rng, struct workload *workloads, uint32_t count, double days)
{
	double now_days = 0;

	if (count <= set->population.count)
		choose(set, rng, workloads, count);
	else
		for (uint32_t i = 0; i < count; i++)
			workloads[i] = varied(set->population.list[rng_below(rng, set->population.count)], rng);
	for (uint32_t i = 0; i < count; i++) {
		workloads[i].arrival_days = now_days;
		now_days -= days / count * log(1 - mintco_chance(rng));
	}
}

void
mintco_draw_models(struct rng *rng, unsigned model_of[MINTCO_DISKS])
{
	for (unsigned i = 0; i < MINTCO_DISKS; i++) {
		unsigned model = i < 2 * MINTCO_MODELS ? i % MINTCO_MODELS : (unsigned)rng_below(rng, MINTCO_MODELS);
		unsigned other = (unsigned)rng_below(rng, i + 1);

		model_of[i] = model_of[other];
		model_of[other] = model;
	}
}
