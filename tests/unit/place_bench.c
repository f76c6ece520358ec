#include "place_bench.h"

#include <math.h>

const struct disk_model bench_models[BENCH_MODELS] = {
	{ .name = "lasting", .initial_usd = 2700, .usd_per_day = 0.18, .endurance_gb = 40e6, .capacity_gb = 1600,
		.iops = 460000, .write_penalty = 2.6, .write_copies = 1,
		.waf = { 0.5, 0, 4, -11.2, 11.2, 1.2 } },
	{ .name = "plain", .initial_usd = 900, .usd_per_day = 0.15, .endurance_gb = 6e6, .capacity_gb = 960,
		.iops = 90000, .write_penalty = 3, .write_copies = 1, .waf = { 0.4, -0.5, 5, -10, 8, 3.2 } },
	{ .name = "cheap", .initial_usd = 210, .usd_per_day = 0.05, .endurance_gb = 1.2e6, .capacity_gb = 1000,
		.iops = 5000, .write_penalty = 1, .write_copies = 1, .waf = { 0.45, 0, 7.6, -20, 18, 3.55 } },
	{ .name = "pair", .initial_usd = 1900, .usd_per_day = 0.3, .endurance_gb = 12e6, .capacity_gb = 960,
		.iops = 180000, .write_penalty = 6, .write_copies = 2, .waf = { 0.5, 0, 4, -11.2, 11.2, 1.2 } },
	{ .name = "tiny", .initial_usd = 80, .usd_per_day = 0.18, .endurance_gb = 1.5e5, .capacity_gb = 64,
		.iops = 2000, .write_penalty = 1, .write_copies = 1, .waf = { 1, 0, 1, 0, 0, 1 } },
};

double
bench_uniform(struct rng *rng, double from, double to)
{
	return from + (to - from) * (double)(rng_next(rng) >> 11) * 0x1p-53;
}

struct workload
bench_workload(struct rng *rng, unsigned kinds)
{
	struct rng own = *rng;

	if (kinds > 0)
		rng_seed(&own, 1000 + rng_below(rng, kinds));

	struct workload w = {
		.name = "w", .write_gb_per_day = exp(bench_uniform(&own, -2, 6.4)),
		.seq_ratio = rng_below(&own, 8) == 0 ? 0 : bench_uniform(&own, 0.05, 1),
		.peak_iops = bench_uniform(&own, 20, 600), .write_ratio = bench_uniform(&own, 0.05, 1),
		.working_set_gb = exp(bench_uniform(&own, 0, 3.5)),
	};

	if (rng_below(&own, 40) == 0)
		w.write_gb_per_day = w.write_ratio = 0;
	if (kinds == 0)
		*rng = own;
	return w;
}

void
bench_disks(struct disk *disks, uint32_t count, struct rng *rng, bool worn)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct disk_model *model = &bench_models[i % BENCH_MODELS];

		disk_init(&disks[i], model, !worn || rng_below(rng, 3) == 0 ? 0 :
		    bench_uniform(rng, 0, 1) * model->endurance_gb);
	}
}
