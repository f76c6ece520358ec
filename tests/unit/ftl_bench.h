/*
 * ftl_bench.h - a translation layer of any shape, and what its writes cost.
 */
#ifndef WEIR_TESTS_FTL_BENCH_H
#define WEIR_TESTS_FTL_BENCH_H

#include "base/rng.h"
#include "flash/ftl.h"

struct ftl_bench {
	struct arena arena;
	struct flash_geometry geometry;
	struct flash_profile profile;
	struct ftl *ftl;
	struct rng rng;
};

/* What most have: greedy collection that keeps three blocks free, rows of 8 units in pages of 4, wear is not
 * levelled. */
void ftl_bench_shape(struct ftl_bench *bench, uint32_t dies, uint32_t blocks, uint32_t block_units, uint64_t units);

/* After what was changed in it. */
void ftl_bench_open(struct ftl_bench *bench);
void ftl_bench_close(struct ftl_bench *bench);

/* Every unit once, in order. */
void ftl_bench_fill(struct ftl_bench *bench);

/* `count` writes, evenly over `units` units from `first` on. */
void ftl_bench_random(struct ftl_bench *bench, uint64_t count, uint64_t first, uint64_t units);

/* Units programmed for each that hosts wrote, by 1000, since `since`. */
uint64_t ftl_bench_permille(const struct ftl_bench *bench, const struct ftl_counts *since);

#endif
