#include "place/cost.h"

#include <math.h>

struct cost
cost_of(const struct disk *disks, size_t count)
{
	struct cost cost = { 0 };

	for (size_t i = 0; i < count; i++) {
		cost.usd += disk_tco_usd(&disks[i]);
		cost.lifetime_days += disk_lifetime_days(&disks[i]);
		cost.served_gb += disk_total_gb(&disks[i]);
	}
	return cost;
}

double
cost_usd_per_gb(const struct cost *cost)
{
	return cost->served_gb > 0 ? cost->usd / cost->served_gb : INFINITY;
}

double
cost_usd_per_day(const struct cost *cost)
{
	return cost->lifetime_days > 0 ? cost->usd / cost->lifetime_days : INFINITY;
}

double
cost_grouping_saves(const struct disk_model *model, double gb_per_day, double k, double high, double low)
{
	double mixed = waf_at(&model->waf, (high + k * low) / (1 + k));
	double a_high = waf_at(&model->waf, high), a_low = waf_at(&model->waf, low);

	return 2 * model->initial_usd / model->endurance_gb * (mixed / 2 - 1 / (1 / a_high + 1 / a_low)) +
	    model->usd_per_day * (k - 1) * (a_high - k * a_low) / (gb_per_day * k * (a_high + a_low));
}

/* What a new disk costs that has these writes alone. */
static void
add_written(struct cost *cost, const struct disk_model *model, double gb_per_day, double seq_ratio)
{
	const struct workload workload = { .write_gb_per_day = gb_per_day, .seq_ratio = seq_ratio };
	struct disk disk;
	struct cost one;

	disk_init(&disk, model, 0);
	disk_put(&disk, &workload, 0);
	one = cost_of(&disk, 1);
	cost->usd += one.usd;
	cost->served_gb += one.served_gb;
}

double
cost_grouping_saves_direct(const struct disk_model *model, double gb_per_day, double k, double high, double low)
{
	struct cost mixed = { 0 }, apart = { 0 };

	for (unsigned i = 0; i < 2; i++)
		add_written(&mixed, model, gb_per_day / 2, (high + k * low) / (1 + k));
	add_written(&apart, model, gb_per_day / (1 + k), high);
	add_written(&apart, model, gb_per_day * k / (1 + k), low);
	return cost_usd_per_gb(&mixed) - cost_usd_per_gb(&apart);
}

double
cost_utilisation(const struct disk *disk, enum cost_resource resource)
{
	return resource == COST_ROOM ? disk->used_gb / disk->model->capacity_gb : disk->used_iops / disk->model->iops;
}

enum measure { OF_ROOM, OF_IOPS, OF_WORKLOADS, OF_RATE };

static double
measure(const struct disk *disk, enum measure what)
{
	switch (what) {
	case OF_ROOM: return cost_utilisation(disk, COST_ROOM);
	case OF_IOPS: return cost_utilisation(disk, COST_IOPS);
	case OF_WORKLOADS: return disk->workloads;
	case OF_RATE: return disk->rate_gb_per_day;
	}
	return NAN;
}

static void
spread(const struct disk *disks, size_t count, enum measure what, double *mean, double *cv)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < count; i++)
		sum += measure(&disks[i], what);
	*mean = count > 0 ? sum / (double)count : 0;
	for (size_t i = 0; i < count; i++) {
		double off = measure(&disks[i], what) - *mean;

		squares += off * off;
	}
	*cv = *mean > 0 ? sqrt(squares / (double)count) / *mean : 0;
}

void
cost_balance(const struct disk *disks, size_t count, enum cost_resource resource, double *mean, double *cv)
{
	spread(disks, count, resource == COST_ROOM ? OF_ROOM : OF_IOPS, mean, cv);
}

double
cost_cv_workloads(const struct disk *disks, size_t count)
{
	double mean, cv;

	spread(disks, count, OF_WORKLOADS, &mean, &cv);
	return cv;
}

double
cost_cv_rate(const struct disk *disks, size_t count)
{
	double mean, cv;

	spread(disks, count, OF_RATE, &mean, &cv);
	return cv;
}
