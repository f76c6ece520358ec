#include "place/catalogue_read.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "place/waf_theory.h"

/* Where A(S) begins to fall, and where it ends, of drives of which only their spare space is known: as waf_default. */
static const double TURN = 0.5, SEQUENTIAL = 1.2;
/* Host writes by PBW and by DWPD: rounded figures differ by so much, and such as contradict one another by more. */
static const double DIFFER_ODD = 1.15, DIFFER_WRONG = 2;

const struct catalogue_terms catalogue_terms_usual = {
	.usd_per_kwh = 0.10, .pue = 1.58, .labour_usd_per_day = 0.14, .setup_usd = 25, .watts = 10, .duty = 0.3,
};

enum column {
	MODEL, CLASS, YEAR, SOURCE, ESTIMATED, USD, SETUP, CAPACITY, READS, WRITES, ACTIVE, IDLE, DUTY, PHYSICAL, PBW,
	DWPD, YEARS, SPARE, WAF_RANDOM, WAF_TURN, WAF_SEQUENTIAL, EPSILON, ALPHA, BETA, ETA, MU, GAMMA, COLUMNS
};

static const char *const columns[COLUMNS] = {
	[MODEL] = "model", [CLASS] = "class", [YEAR] = "year", [SOURCE] = "source", [ESTIMATED] = "estimated",
	[USD] = "usd", [SETUP] = "setup_usd", [CAPACITY] = "capacity_gb",
	[READS] = "read_iops", [WRITES] = "write_iops",
	[ACTIVE] = "active_w", [IDLE] = "idle_w", [DUTY] = "duty_pct", [PHYSICAL] = "endurance_gb",
	[PBW] = "endurance_pbw", [DWPD] = "endurance_dwpd", [YEARS] = "warranty_years", [SPARE] = "spare_pct",
	[WAF_RANDOM] = "waf_random", [WAF_TURN] = "waf_turn", [WAF_SEQUENTIAL] = "waf_sequential",
	[EPSILON] = "waf_epsilon", [ALPHA] = "waf_alpha", [BETA] = "waf_beta", [ETA] = "waf_eta", [MU] = "waf_mu",
	[GAMMA] = "waf_gamma",
};

struct reading {
	struct csv csv;
	struct arena *arena;
	const struct catalogue_terms *terms;
	bool no_memory;
};

static bool
is_given(const struct csv *csv, enum column column)
{
	return csv_text(csv, column)[0] != '\0';
}

/* A number that must be there. */
static bool
needed(struct csv *csv, enum column column, double least, double most, const char *unit, double *value)
{
	enum csv_cell cell = csv_within(csv, column, least, most, unit, value);

	if (cell == CSV_EMPTY)
		csv_wrong(csv, "%s: it is empty", columns[column]);
	return cell == CSV_GOOD;
}

/* One that need not. */
static bool
optional(struct csv *csv, enum column column, double least, double most, const char *unit, double *value)
{
	return csv_within(csv, column, least, most, unit, value) != CSV_WRONG;
}

/* ---- write amplification ---- */

static bool
by_regression(struct csv *csv, struct waf *waf)
{
	double *const into[] = { &waf->epsilon, &waf->alpha, &waf->beta, &waf->eta, &waf->mu, &waf->gamma };
	bool good = true;

	for (enum column column = EPSILON; column <= GAMMA; column++)
		good &= needed(csv, column, -1e6, 1e6, "", into[column - EPSILON]);
	return good;
}

static bool
by_shape(struct csv *csv, struct waf *waf)
{
	double random = 1, turn = TURN, sequential;
	bool good = needed(csv, WAF_RANDOM, 1, 100, "", &random);

	sequential = fmin(SEQUENTIAL, random);
	good &= optional(csv, WAF_TURN, 0, 0.99, "", &turn);
	good &= optional(csv, WAF_SEQUENTIAL, 1, 100, "", &sequential);
	if (good)
		*waf = waf_shaped(random, turn, sequential);
	return good;
}

static bool
by_spare(struct csv *csv, struct waf *waf)
{
	double spare_pct = 0, plateau;

	if (!needed(csv, SPARE, 2, 400, "%", &spare_pct))
		return false;
	plateau = waf_uniform(spare_pct / 100);
	*waf = waf_shaped(plateau, TURN, fmin(SEQUENTIAL, plateau));
	return true;
}

static bool
read_waf(struct csv *csv, struct waf *waf)
{
	bool shape = is_given(csv, WAF_RANDOM) || is_given(csv, WAF_TURN) || is_given(csv, WAF_SEQUENTIAL);
	bool spare = is_given(csv, SPARE), coefficients = false;

	for (enum column column = EPSILON; column <= GAMMA; column++)
		coefficients |= is_given(csv, column);
	if (shape + spare + coefficients > 1) {
		csv_wrong(csv, "write amplification is said in more than one way: by spare_pct, waf_random and what "
		    "belongs to it, or waf_epsilon to waf_gamma");
		return false;
	}
	*waf = waf_default;
	return shape ? by_shape(csv, waf) : spare ? by_spare(csv, waf) : coefficients ? by_regression(csv, waf) : true;
}

/* ---- endurance ---- */

/* What both say, each for itself. */
static bool
ratings_agree(struct csv *csv, double by_pbw, double by_dwpd)
{
	double ratio = fmax(by_pbw, by_dwpd) / fmin(by_pbw, by_dwpd);

	if (ratio > DIFFER_WRONG)
		csv_wrong(csv, "endurance_pbw and endurance_dwpd contradict one another: %g and %g PB", by_pbw / 1e6,
		    by_dwpd / 1e6);
	else if (ratio > DIFFER_ODD)
		csv_odd(csv, "endurance_pbw and endurance_dwpd differ: %g and %g PB; the first is taken", by_pbw / 1e6,
		    by_dwpd / 1e6);
	return ratio <= DIFFER_WRONG;
}

static bool
read_rating(struct csv *csv, double capacity_gb, double *rated_gb)
{
	double pbw = 0, dwpd = 0, years = 5, by_dwpd;
	bool good = optional(csv, PBW, 1e-3, 1e5, "PB", &pbw);

	good &= optional(csv, DWPD, 1e-3, 1000, "drive writes per day", &dwpd);
	good &= optional(csv, YEARS, 0.5, 20, "years", &years);
	if (!good)
		return false;
	by_dwpd = dwpd * capacity_gb * 365 * years;
	*rated_gb = pbw > 0 ? pbw * 1e6 : by_dwpd;
	return pbw == 0 || dwpd == 0 || ratings_agree(csv, pbw * 1e6, by_dwpd);
}

/* Capacity and write amplification are known. */
static bool
read_endurance(struct csv *csv, struct catalogue_model *m)
{
	bool rated = is_given(csv, PBW) || is_given(csv, DWPD);

	if (rated && is_given(csv, PHYSICAL)) {
		csv_wrong(csv, "endurance is said in two ways: endurance_gb is of physical writes, endurance_pbw and "
		    "endurance_dwpd of those of hosts");
		return false;
	}
	if (!rated && !is_given(csv, PHYSICAL)) {
		csv_wrong(csv, "its endurance is not said: by endurance_pbw, endurance_dwpd or endurance_gb");
		return false;
	}
	if (!rated)
		return needed(csv, PHYSICAL, 1, 1e12, "GB", &m->disk.endurance_gb);
	if (!read_rating(csv, m->disk.capacity_gb, &m->rated_gb))
		return false;
	m->disk.endurance_gb = m->rated_gb * waf_at(&m->disk.waf, 0);
	return true;
}

/* ---- the rest of a row ---- */

static bool
read_power(struct csv *csv, const struct catalogue_terms *terms, struct catalogue_model *m)
{
	double active_w = 0, idle_w = 0, duty_pct = terms->duty * 100;
	bool good = optional(csv, DUTY, 0, 100, "%", &duty_pct);

	m->watts = terms->watts;
	if (is_given(csv, ACTIVE) || is_given(csv, IDLE)) {
		good &= needed(csv, ACTIVE, 0, 1000, "W", &active_w);
		good &= needed(csv, IDLE, 0, 1000, "W", &idle_w);
		if (good && active_w < idle_w) {
			csv_wrong(csv, "it takes more power idle than active: %g and %g W", idle_w, active_w);
			return false;
		}
		if (active_w > 100)
			csv_odd(csv, "active_w: it takes more than 100 W: is that in mW?");
		m->watts = idle_w + duty_pct / 100 * (active_w - idle_w);
	}
	m->power_usd_per_day = m->watts * 24 / 1000 * terms->usd_per_kwh * terms->pue;
	m->disk.usd_per_day = m->power_usd_per_day + terms->labour_usd_per_day;
	return good;
}

static bool
read_price(struct csv *csv, const struct catalogue_terms *terms, struct catalogue_model *m)
{
	bool good = needed(csv, USD, 0, 1e7, "USD", &m->usd);

	m->setup_usd = terms->setup_usd;
	good &= optional(csv, SETUP, 0, 1e7, "USD", &m->setup_usd);
	m->disk.initial_usd = m->usd + m->setup_usd;
	return good;
}

static bool
read_rates(struct csv *csv, struct catalogue_model *m)
{
	double reads = 0, writes = 0;
	bool good = needed(csv, READS, 1, 1e9, "I/Os per second", &reads);

	good &= needed(csv, WRITES, 1, 1e9, "I/Os per second", &writes);
	if (good && writes > 4 * reads)
		csv_odd(csv, "write_iops: it writes more than four times as fast as it reads: are they exchanged?");
	m->disk.iops = reads;
	m->disk.write_penalty = reads / writes;
	m->disk.write_copies = 1;
	return good;
}

/* Each word is the name of a column. */
static void
check_estimated(struct csv *csv)
{
	const char *words = csv_text(csv, ESTIMATED);

	while (*words != '\0') {
		size_t length = strcspn(words, " ");
		int cut = csv_cut(words);
		bool known = false;

		for (unsigned i = 0; i < COLUMNS; i++)
			known |= strlen(columns[i]) == length && strncasecmp(columns[i], words, length) == 0;
		if (!known)
			csv_odd(csv, "estimated: '%.*s' is not a column", cut < (int)length ? cut : (int)length, words);
		words += length;
		words += strspn(words, " ");
	}
}

static const char *
keep(struct reading *r, enum column column)
{
	const char *text = arena_strdup(r->arena, csv_text(&r->csv, column));

	r->no_memory |= text == NULL;
	return text;
}

static bool
read_name(struct csv *csv, const struct catalogue *catalogue)
{
	const char *name = csv_text(csv, MODEL);
	const struct catalogue_model *other = catalogue_find(catalogue, name);

	if (name[0] == '\0' || strlen(name) > 100)
		csv_wrong(csv, "model: %s", name[0] == '\0' ? "it is empty" : "it is longer than 100 bytes");
	else if (other != NULL)
		csv_wrong(csv, "model: '%.*s' is on line %u too", csv_cut(name), name, other->line);
	return name[0] != '\0' && strlen(name) <= 100 && other == NULL;
}

/* All numbers of it; false: something is wrong, as has been said. */
static bool
read_figures(struct csv *csv, const struct catalogue_terms *terms, struct catalogue_model *m)
{
	double year = 0;
	bool good = optional(csv, YEAR, 1990, 2100, "", &year);

	m->year = (unsigned)year;
	good &= read_price(csv, terms, m);
	good &= needed(csv, CAPACITY, 1e-3, 1e7, "GB", &m->disk.capacity_gb);
	good &= read_rates(csv, m);
	good &= read_power(csv, terms, m);
	good &= read_waf(csv, &m->disk.waf);
	return good && read_endurance(csv, m);
}

static void
take_row(struct reading *r, struct catalogue *catalogue)
{
	struct csv *csv = &r->csv;
	struct catalogue_model m = { .line = csv->line, .disk.name = csv_text(csv, MODEL) };
	bool good = read_name(csv, catalogue);
	const char *why;

	good &= read_figures(csv, r->terms, &m);
	check_estimated(csv);
	if (!good)
		return;
	why = disk_model_wrong(&m.disk);
	if (why != NULL) {
		csv_wrong(csv, "%.*s: %s", csv_cut(m.disk.name), m.disk.name, why);
		return;
	}
	why = disk_model_odd(&m.disk);
	if (why != NULL)
		csv_odd(csv, "%.*s: %s", csv_cut(m.disk.name), m.disk.name, why);
	m.disk.name = keep(r, MODEL);
	m.class = keep(r, CLASS);
	m.source = keep(r, SOURCE);
	m.estimated = keep(r, ESTIMATED);
	catalogue->list[catalogue->count++] = m;
}

static bool
heading_good(struct csv *csv)
{
	bool good = true;

	for (unsigned i = 0; i < 5; i++) {
		static const enum column must[] = { MODEL, USD, CAPACITY, READS, WRITES };

		good &= csv_needs(csv, must[i]);
	}
	if (!csv_has(csv, PHYSICAL) && !csv_has(csv, PBW) && !csv_has(csv, DWPD)) {
		csv_wrong(csv, "there is no column 'endurance_pbw', nor 'endurance_dwpd' or 'endurance_gb'");
		good = false;
	}
	return good;
}

int
catalogue_read(struct catalogue *catalogue, struct arena *arena, const char *text, size_t bytes,
    const struct catalogue_terms *terms, struct csv_said *said)
{
	struct reading r = { .arena = arena, .terms = terms };

	*catalogue = (struct catalogue){ .list = arena_alloc(arena, CATALOGUE_MODELS * sizeof(*catalogue->list)) };
	if (catalogue->list == NULL)
		return -ENOMEM;
	if (!csv_begin(&r.csv, text, bytes, columns, COLUMNS, said) || !heading_good(&r.csv))
		return -EINVAL;
	while (!r.no_memory && csv_next(&r.csv)) {
		if (catalogue->count == CATALOGUE_MODELS) {
			csv_wrong(&r.csv, "it is one more than %d models", CATALOGUE_MODELS);
			break;
		}
		take_row(&r, catalogue);
	}
	if (r.no_memory)
		return -ENOMEM;
	if (catalogue->count == 0 && said->wrong.count == 0)
		csv_remark(&said->wrong, 0, "there are no models below the heading");
	return said->wrong.count == 0 ? 0 : -EINVAL;
}

const struct catalogue_model *
catalogue_find(const struct catalogue *catalogue, const char *name)
{
	for (uint32_t i = 0; i < catalogue->count; i++)
		if (strcasecmp(catalogue->list[i].disk.name, name) == 0)
			return &catalogue->list[i];
	return NULL;
}
