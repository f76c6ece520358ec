/*
 * catalogue_pool.c - a file of drives that are there: so many of a model of the catalogue, and how worn they are.
 */
#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "place/catalogue_read.h"

enum column { MODEL, COUNT, WORN_GB, WORN_PCT, COLUMNS };

static const char *const columns[COLUMNS] = {
	[MODEL] = "model", [COUNT] = "count", [WORN_GB] = "worn_gb", [WORN_PCT] = "worn_pct",
};

static bool
read_count(struct csv *csv, uint32_t *count)
{
	double number = 1;

	if (csv_within(csv, COUNT, 1, CATALOGUE_COUNT_MAX, "", &number) == CSV_WRONG)
		return false;
	if (number != floor(number)) {
		csv_wrong(csv, "count: %g is not a whole number", number);
		return false;
	}
	*count = (uint32_t)number;
	return true;
}

/* By drives' own counters a hundred percent is what they were made for, and some live longer; here it is the end. */
static bool
read_wear(struct csv *csv, const struct disk_model *model, double *worn_gb)
{
	double pct = 0;

	if (csv_text(csv, WORN_GB)[0] != '\0' && csv_text(csv, WORN_PCT)[0] != '\0') {
		csv_wrong(csv, "worn_gb and worn_pct say the same: one of them is enough");
		return false;
	}
	if (csv_within(csv, WORN_PCT, 0, 255, "%", &pct) == CSV_WRONG)
		return false;
	*worn_gb = pct / 100 * model->endurance_gb;
	return csv_within(csv, WORN_GB, 0, 1e12, "GB", worn_gb) != CSV_WRONG;
}

static void
take_row(struct csv *csv, const struct catalogue *catalogue, struct catalogue_pool *pool)
{
	const char *name = csv_text(csv, MODEL);
	struct catalogue_owned owned = { .model = catalogue_find(catalogue, name), .line = csv->line };
	bool good = read_count(csv, &owned.count);

	if (owned.model == NULL) {
		csv_wrong(csv, "model: '%.*s' is not in the catalogue", csv_cut(name), name);
		return;
	}
	good &= read_wear(csv, &owned.model->disk, &owned.worn_gb);
	if (!good)
		return;
	if (owned.worn_gb >= owned.model->disk.endurance_gb)
		csv_odd(csv, "%.*s: it is worn out, and takes nothing", csv_cut(name), name);
	pool->list[pool->count++] = owned;
}

int
catalogue_pool_read(struct catalogue_pool *pool, struct arena *arena, const char *text, size_t bytes,
    const struct catalogue *catalogue, struct csv_said *said)
{
	struct csv csv;

	*pool = (struct catalogue_pool){ .list = arena_alloc(arena, CATALOGUE_POOL * sizeof(*pool->list)) };
	if (pool->list == NULL)
		return -ENOMEM;
	if (!csv_begin(&csv, text, bytes, columns, COLUMNS, said) || !csv_needs(&csv, MODEL))
		return -EINVAL;
	while (csv_next(&csv)) {
		if (pool->count == CATALOGUE_POOL) {
			csv_remark(&said->wrong, csv.line, "it is one more than %d rows", CATALOGUE_POOL);
			break;
		}
		take_row(&csv, catalogue, pool);
	}
	if (pool->count == 0 && said->wrong.count == 0)
		csv_remark(&said->wrong, 0, "there are no drives below the heading");
	return said->wrong.count == 0 ? 0 : -EINVAL;
}
