/* drive_load.c - what is sent to the drive of drive_bench.h: whatever a host might do next. */
#include <stdint.h>

#include "drive_oracle.h"

static uint32_t
below(struct drive_bench *b, uint32_t limit)
{
	return (uint32_t)rng_below(&b->rng, limit);
}

void
drive_bench_any_mood(struct drive_bench *b)
{
	static const uint32_t depths[] = { 1, 2, 4, 8, 16, 32, 60 }, sizes[] = { 1, 1, 2, 3, 8, 24 };
	struct bench_mood *m = &b->mood;
	uint32_t units = b->unit_count;

	m->depth = depths[below(b, 7)];
	m->units_max = sizes[below(b, 6)];
	if (m->units_max > drive_bench_units_at_once(b))
		m->units_max = drive_bench_units_at_once(b);
	m->span = below(b, 3) == 0 ? units : m->units_max + below(b, 40);
	m->span = m->span < units ? m->span : units;
	m->first = below(b, units - m->span + 1);
	m->flushes = below(b, 3) == 0 ? below(b, 30) : 3;
	m->trims = below(b, 3) == 0 ? below(b, 30) : 3;
	m->reads = 5 + below(b, 30);
	m->writes = 100 - m->flushes - m->trims - m->reads;
	m->fua = below(b, 4) == 0 ? below(b, 60) : 2;
	m->sweeps = below(b, 12) == 0 ? 30 : 1;
	m->whole = below(b, 3) > 0;
	m->pause_bits = (uint8_t)(8 + below(b, 12));
}

static enum drive_op
any_op(struct drive_bench *b)
{
	const struct bench_mood *m = &b->mood;
	uint32_t at = below(b, 100);

	return at < m->writes ? DRIVE_WRITE : at < m->writes + m->trims ? DRIVE_TRIM :
	    at < m->writes + m->trims + m->reads ? DRIVE_READ : DRIVE_FLUSH;
}

/* Where it is. */
static void
any_place(struct drive_bench *b, enum drive_op op, uint64_t *first, uint64_t *sectors)
{
	const struct bench_mood *m = &b->mood;
	uint32_t most = op == DRIVE_TRIM && below(b, 100) < m->sweeps ? m->span : m->units_max;
	uint32_t units = 1 + below(b, most), unit = m->first + below(b, m->span - units + 1);

	*first = (uint64_t)unit * b->sectors;
	*sectors = (uint64_t)units * b->sectors;
	if (m->whole)
		return;
	*first += below(b, b->sectors);
	*sectors -= *first % b->sectors;
	*sectors = 1 + rng_below(&b->rng, *sectors);
}

void
drive_bench_load(struct drive_bench *b, uint32_t commands)
{
	for (uint32_t i = 0; i < commands; i++) {
		enum drive_op op = any_op(b);
		uint64_t first = 0, sectors = 0;
		bool fua = false;

		while (b->under_way >= b->mood.depth)
			drive_bench_step(b);
		if (below(b, 4) == 0)
			drive_bench_run(b, rng_below(&b->rng, UINT64_C(1) << below(b, b->mood.pause_bits)));
		if (op != DRIVE_FLUSH)
			any_place(b, op, &first, &sectors);
		if (op == DRIVE_WRITE || op == DRIVE_TRIM) {
			fua = below(b, 100) < b->mood.fua;
			if (!oracle_has_room(b, first, first + sectors))
				continue;
		}
		drive_bench_send(b, drive_bench_slot(b), op, first, sectors, fua);
	}
}

void
drive_bench_cuts(struct drive_bench *b, uint32_t cuts)
{
	while (b->cuts < cuts) {
		uint64_t kind = rng_below(&b->rng, 16);

		if (b->cuts % 32 == 0)
			drive_bench_check(b, false);
		if (b->cuts % 1024 == 0) {
			drive_bench_fill(b);
			drive_bench_read_all(b);
			drive_bench_idle(b);
		}
		if (kind > 0) { /* else right after the last one */
			drive_bench_any_mood(b);
			drive_bench_load(b, below(b, kind < 12 ? 12 : 60));
		}
		if (kind % 3 != 0)
			drive_bench_run(b, rng_below(&b->rng, UINT64_C(1) << below(b, 22)));
		drive_bench_cut(b);
	}
}
