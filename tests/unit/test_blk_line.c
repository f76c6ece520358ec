/*
 * test_blk_line.c - I/Os that wait for the blocks they touch, without a device: many of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "blk/line.h"

enum { PIECE = 512, SMALL = 16, LONGS = 4, MANY = 60 * 1000 };

struct bench {
	struct arena arena;
	struct range range;
	struct line line;
	struct blk_io *ios;
};

static void
begin(struct bench *bench, uint64_t blocks, unsigned count)
{
	arena_init(&bench->arena, 0);
	assert_int_equal(range_init(&bench->range, &bench->arena, blocks, 4096, 2), 0);
	line_init(&bench->line, &bench->range, PIECE, SMALL, LONGS);
	bench->ios = calloc(count, sizeof(*bench->ios));
	assert_non_null(bench->ios);
}

static void
end(struct bench *bench)
{
	assert_int_equal(bench->line.count, 0);
	free(bench->ios);
	range_fini(&bench->range, &bench->arena);
	arena_drop(&bench->arena);
}

static struct blk_io *
begin_io(struct bench *bench, unsigned i, enum blk_op op, uint64_t lba, uint32_t blocks)
{
	struct blk_io *io = &bench->ios[i];

	*io = (struct blk_io){ .op = op, .lba = lba, .blocks = blocks };
	assert_true(line_begin(io));
	return io;
}

static uint64_t
cpu_ms(void)
{
	return (uint64_t)clock() * 1000 / CLOCKS_PER_SEC;
}

/* ---- leaving ---- */

/* A host with 128 queues may have more than these, and all of them go when it does: that a line were looked through
 * for each took half a minute. */
static void
leave_all(enum blk_op op, uint32_t blocks)
{
	struct bench bench;
	uint64_t then;

	begin(&bench, 4 * PIECE, MANY);
	assert_true(range_own(&bench.range, 0, 1, false));
	for (unsigned i = 0; i < MANY; i++)
		assert_false(line_enter(&bench.line, begin_io(&bench, i, op, 0, blocks)));
	then = cpu_ms();
	for (unsigned i = MANY; i-- > 0;)
		assert_true(line_leave(&bench.line, &bench.ios[i]));
	assert_in_range(cpu_ms() - then, 0, 1000);
	assert_false(line_leave(&bench.line, &bench.ios[0]));
	range_disown(&bench.range, 0, 1);
	assert_true(range_own(&bench.range, 0, 4 * PIECE, false));
	range_disown(&bench.range, 0, 4 * PIECE);
	end(&bench);
}

static void
tens_of_thousands_leave_at_once(void **state)
{
	leave_all(BLK_WRITE, 1);
	leave_all(BLK_WRITE_ZEROES, 4 * PIECE);
}

/* ---- those in line, and those who touch other blocks ---- */

static bool
start_one(void *owner, struct blk_io *io)
{
	struct bench *bench = owner;

	assert_false(line_next(&bench->line, io));
	line_over(&bench->line, io);
	io->owner = bench;
	return true;
}

static bool
goes_at_once(struct bench *bench, unsigned i, enum blk_op op, uint64_t lba)
{
	struct blk_io *io = begin_io(bench, i, op, lba, 1);

	if (!line_enter(&bench->line, io)) {
		assert_true(line_leave(&bench->line, io));
		return false;
	}
	line_drop(&bench->line, io);
	return true;
}

static void
many_in_line_hold_nobody_up_who_touches_other_blocks(void **state)
{
	struct bench bench;

	begin(&bench, 4 * PIECE, MANY + 1);
	assert_true(range_own(&bench.range, 0, 1, false));
	for (unsigned i = 0; i < MANY; i++)
		assert_false(line_enter(&bench.line, begin_io(&bench, i, BLK_WRITE, 0, 1)));
	assert_true(goes_at_once(&bench, MANY, BLK_READ, 100));
	assert_true(goes_at_once(&bench, MANY, BLK_WRITE, 100));
	assert_false(goes_at_once(&bench, MANY, BLK_READ, 0));
	range_disown(&bench.range, 0, 1);
	for (unsigned i = 0; i < MANY / LINE_STARTS; i++)
		line_retry(&bench.line, LINE_STARTS, start_one, &bench);
	for (unsigned i = 0; i < MANY; i++)
		assert_ptr_equal(bench.ios[i].owner, &bench);
	end(&bench);
}

/* Whoever touched more of them is gone, but somebody was always there. */
static void
blocks_that_nobody_in_line_touches_any_more_are_free(void **state)
{
	struct bench bench;
	struct blk_io *last;

	begin(&bench, 4 * PIECE, 8);
	assert_true(range_own(&bench.range, 0, 1, false));
	assert_false(line_enter(&bench.line, begin_io(&bench, 0, BLK_WRITE, 0, 1)));
	assert_false(line_enter(&bench.line, begin_io(&bench, 1, BLK_WRITE, 0, 200)));
	assert_false(line_enter(&bench.line, begin_io(&bench, 2, BLK_WRITE, 0, 1)));
	range_disown(&bench.range, 0, 1);
	line_retry(&bench.line, 2, start_one, &bench);
	assert_ptr_equal(bench.ios[1].owner, &bench);
	assert_false(goes_at_once(&bench, 4, BLK_READ, 100));
	assert_false(line_enter(&bench.line, last = begin_io(&bench, 3, BLK_WRITE, 0, 1)));
	line_retry(&bench.line, 1, start_one, &bench);
	assert_ptr_equal(bench.ios[2].owner, &bench);
	assert_true(range_own(&bench.range, 0, 1, false));
	line_retry(&bench.line, 1, start_one, &bench);
	assert_false(goes_at_once(&bench, 4, BLK_READ, 0));
	assert_true(goes_at_once(&bench, 4, BLK_READ, 100));
	assert_null(last->owner);
	range_disown(&bench.range, 0, 1);
	line_retry(&bench.line, 1, start_one, &bench);
	assert_ptr_equal(last->owner, &bench);
	end(&bench);
}

/* Of a device that keeps blocks whole by itself: who compares waits for those at his blocks, and they for him. */
static void
where_blocks_stay_whole_only_who_compares_is_alone(void **state)
{
	struct bench bench;
	struct blk_io *writes[2], *compares;

	begin(&bench, 4 * PIECE, 6);
	bench.line.whole = true;
	for (unsigned i = 0; i < 2; i++)
		assert_true(line_enter(&bench.line, writes[i] = begin_io(&bench, i, BLK_WRITE, 0, 2)));
	assert_true(goes_at_once(&bench, 4, BLK_WRITE_ZEROES, 1));
	assert_true(goes_at_once(&bench, 4, BLK_READ, 1));
	assert_false(line_enter(&bench.line, compares = begin_io(&bench, 2, BLK_COMPARE_WRITE, 1, 1)));
	assert_false(goes_at_once(&bench, 4, BLK_WRITE, 1));
	line_drop(&bench.line, writes[0]);
	line_retry(&bench.line, 1, start_one, &bench);
	assert_null(compares->owner);
	line_drop(&bench.line, writes[1]);
	line_retry(&bench.line, 1, start_one, &bench);
	assert_ptr_equal(compares->owner, &bench);
	assert_true(line_enter(&bench.line, compares = begin_io(&bench, 3, BLK_COMPARE_WRITE, 1, 1)));
	assert_false(goes_at_once(&bench, 4, BLK_READ, 1));
	assert_false(goes_at_once(&bench, 4, BLK_WRITE, 1));
	line_drop(&bench.line, compares);
	end(&bench);
}

/* ---- all of it at random ---- */

enum { ALIVE = 300, BLOCKS = 2000, STEPS = 4000, FOREIGN = 4 };

enum fate { NOWHERE, WAITING, HELD };

struct model {
	struct bench bench;
	enum fate fate[ALIVE];
	uint64_t seq[ALIVE], seq_next;
	struct blk_range foreign[FOREIGN]; /* owned by others; blocks 0: not */
};

static bool
conflict(const struct blk_io *a, const struct blk_io *b)
{
	return (a->op != BLK_READ || b->op != BLK_READ) && a->op != BLK_FLUSH && b->op != BLK_FLUSH &&
	    a->lba < b->lba + b->blocks && b->lba < a->lba + a->blocks;
}

/* It goes now: nobody who came before it waits for the same blocks, and nobody has them. */
static bool
model_start(void *owner, struct blk_io *io)
{
	struct model *m = owner;
	unsigned n = (unsigned)(io - m->bench.ios);

	for (unsigned i = 0; i < ALIVE; i++) {
		if (i == n || m->fate[i] == NOWHERE || !conflict(io, &m->bench.ios[i]))
			continue;
		assert_int_equal(m->fate[i], WAITING);
		assert_true(m->seq[i] > m->seq[n]);
	}
	m->fate[n] = HELD;
	return true;
}

static void
model_enter(struct model *m, struct rng *rng, unsigned n, uint32_t spread)
{
	static const enum blk_op ops[] = { BLK_READ, BLK_READ, BLK_WRITE, BLK_WRITE_ZEROES, BLK_FLUSH };
	struct blk_io *io = &m->bench.ios[n];
	uint32_t blocks = rng_below(rng, 8) == 0 ? 1 + (uint32_t)rng_below(rng, 400) : 1 + (uint32_t)rng_below(rng, 3);

	*io = (struct blk_io){ .op = ops[rng_below(rng, 5)], .lba = rng_below(rng, spread), .blocks = blocks };
	(void)line_begin(io);
	m->seq[n] = m->seq_next++;
	if (rng_below(rng, 4) == 0) {
		m->fate[n] = WAITING;
		line_join(&m->bench.line, io);
	} else if (line_enter(&m->bench.line, io)) {
		model_start(m, io);
	} else {
		m->fate[n] = WAITING;
	}
}

static void
model_drop(struct model *m, unsigned n)
{
	line_drop(&m->bench.line, &m->bench.ios[n]);
	line_over(&m->bench.line, &m->bench.ios[n]);
	m->fate[n] = NOWHERE;
}

static void
model_foreign(struct model *m, struct rng *rng)
{
	struct blk_range *held = &m->foreign[rng_below(rng, FOREIGN)];

	if (held->blocks > 0) {
		range_disown(&m->bench.range, held->lba, held->blocks);
		held->blocks = 0;
		return;
	}
	*held = (struct blk_range){ rng_below(rng, BLOCKS), 1 + (uint32_t)rng_below(rng, 100) };
	if (!range_own(&m->bench.range, held->lba, held->blocks, false))
		held->blocks = 0;
}

static void
model_step(struct model *m, struct rng *rng, uint32_t spread)
{
	unsigned n = (unsigned)rng_below(rng, ALIVE);

	if (rng_below(rng, 50) == 0)
		model_foreign(m, rng);
	if (m->fate[n] == NOWHERE)
		model_enter(m, rng, n, spread);
	else if (m->fate[n] == HELD)
		model_drop(m, n);
	else if (rng_below(rng, 10) == 0 && line_leave(&m->bench.line, &m->bench.ios[n]))
		m->fate[n] = NOWHERE;
	if (rng_below(rng, 3) == 0)
		line_retry(&m->bench.line, 1 + (unsigned)rng_below(rng, 8), model_start, m);
}

/* Nobody comes any more: everybody has had his turn when each could have had it. */
static void
model_drain(struct model *m)
{
	for (unsigned i = 0; i < FOREIGN; i++)
		if (m->foreign[i].blocks > 0)
			range_disown(&m->bench.range, m->foreign[i].lba, m->foreign[i].blocks);
	for (unsigned turn = 0; turn <= ALIVE; turn++) {
		for (unsigned i = 0; i < ALIVE; i++)
			if (m->fate[i] == HELD)
				model_drop(m, i);
		line_retry(&m->bench.line, LINE_STARTS, model_start, m);
	}
	for (unsigned i = 0; i < ALIVE; i++)
		assert_int_equal(m->fate[i], NOWHERE);
}

static void
of_those_that_touch_the_same_blocks_none_overtakes(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct model m = { .seq_next = 1 };
		struct rng rng;

		rng_seed(&rng, seed);
		begin(&m.bench, BLOCKS + 400, ALIVE);
		for (unsigned i = 0; i < STEPS; i++)
			model_step(&m, &rng, seed % 2 != 0 ? BLOCKS : 20);
		model_drain(&m);
		end(&m.bench);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tens_of_thousands_leave_at_once),
		cmocka_unit_test(many_in_line_hold_nobody_up_who_touches_other_blocks),
		cmocka_unit_test(blocks_that_nobody_in_line_touches_any_more_are_free),
		cmocka_unit_test(where_blocks_stay_whole_only_who_compares_is_alone),
		cmocka_unit_test(of_those_that_touch_the_same_blocks_none_overtakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
