/*
 * place_bench.h - pools and workloads for tests of placing, from a seed.
 */
#ifndef WEIR_TESTS_PLACE_BENCH_H
#define WEIR_TESTS_PLACE_BENCH_H

#include "base/rng.h"
#include "place/pool.h"

double bench_uniform(struct rng *rng, double from, double to);

/* Of few kinds where `kinds` is above 0, as if each of these came again and again. */
struct workload bench_workload(struct rng *rng, unsigned kinds);

enum { BENCH_MODELS = 5 };

extern const struct disk_model bench_models[BENCH_MODELS];

/* Disks by turns of each model; some with wear behind them, where `worn`. */
void bench_disks(struct disk *disks, uint32_t count, struct rng *rng, bool worn);

#endif
