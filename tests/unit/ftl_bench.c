#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ftl_bench.h"

void
ftl_bench_shape(struct ftl_bench *b, uint32_t dies, uint32_t blocks, uint32_t block_units, uint64_t units)
{
	*b = (struct ftl_bench){
		.geometry = { .units = units, .unit_bytes = 4096, .channels = 1, .dies = dies, .planes = 1,
			.blocks = blocks, .block_units = block_units, .row_units = 8, .page_units = 4, .unit_pages = 1,
			.block_rows = block_units / 8 },
		.profile = { .policy = FLASH_GREEDY, .gc_low = 3 },
	};
	arena_init(&b->arena, 0);
	rng_seed(&b->rng, 1);
}

void
ftl_bench_open(struct ftl_bench *b)
{
	assert_int_equal(ftl_create(&b->arena, &b->geometry, &b->profile, &b->ftl), 0);
}

void
ftl_bench_close(struct ftl_bench *b)
{
	ftl_destroy(b->ftl);
	assert_int_equal(b->arena.bytes, 0);
}

void
ftl_bench_fill(struct ftl_bench *b)
{
	for (uint32_t unit = 0; unit < b->geometry.units; unit++)
		ftl_write(b->ftl, unit);
}

void
ftl_bench_random(struct ftl_bench *b, uint64_t count, uint64_t first, uint64_t units)
{
	for (uint64_t i = 0; i < count; i++)
		ftl_write(b->ftl, (uint32_t)(first + rng_below(&b->rng, units)));
}

uint64_t
ftl_bench_permille(const struct ftl_bench *b, const struct ftl_counts *since)
{
	const struct ftl_counts *now = ftl_counts(b->ftl);
	uint64_t host = now->host_units - since->host_units;
	uint64_t all = now->gc_units + now->fold_units + now->wear_units + now->pad_units + now->host_units -
	    (since->gc_units + since->fold_units + since->wear_units + since->pad_units + since->host_units);

	return all * 1000 / host;
}
