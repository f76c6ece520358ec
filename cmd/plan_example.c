/*
 * plan_example.c - workloads that could be: databases, logs, pages that are read, builds and backups, from a seed.
 */
#include <math.h>

#include "base/rng.h"
#include "plan.h"

struct span {
	double from, to;
};

static const struct sort {
	const char *name;
	unsigned count;
	struct span seq_pct, write_gb_day, peak_iops, write_pct, room_gb;
} sorts[] = {
	{ "database", 8, { 5, 25 }, { 100, 900 }, { 800, 9000 }, { 50, 85 }, { 60, 400 } },
	{ "log", 6, { 88, 99 }, { 300, 2500 }, { 300, 2000 }, { 95, 100 }, { 50, 300 } },
	{ "web", 6, { 20, 60 }, { 0.5, 20 }, { 1000, 12000 }, { 0.5, 8 }, { 150, 600 } },
	{ "build", 4, { 35, 65 }, { 200, 1200 }, { 1500, 8000 }, { 40, 70 }, { 80, 250 } },
	{ "backup", 4, { 95, 100 }, { 500, 3000 }, { 150, 600 }, { 80, 95 }, { 250, 640 } },
};

/* Evenly by its logarithm: as many small ones as large ones. */
static double
draw(struct rng *rng, struct span span)
{
	double chance = (double)(rng_next(rng) >> 11) * 0x1p-53;

	return span.from * pow(span.to / span.from, chance);
}

void
plan_example(FILE *out, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	fputs("name,seq_ratio_pct,write_rate_gb_day,peak_iops,write_ratio_pct,working_set_gb,arrival_days\n", out);
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		for (unsigned n = 1; n <= sorts[i].count; n++) {
			const struct sort *s = &sorts[i];
			double seq = draw(&rng, s->seq_pct), rate = draw(&rng, s->write_gb_day);
			double peak = draw(&rng, s->peak_iops), writes = draw(&rng, s->write_pct);
			double room = draw(&rng, s->room_gb);

			fprintf(out, "%s-%u,%.1f,%.1f,%.0f,%.1f,%.0f,%d\n", s->name, n, seq, rate, peak, writes, room,
			    (int)rng_below(&rng, 90));
		}
}
